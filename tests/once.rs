//! The daemon at work as a process: one round and its summary, a drain, and one process per database.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use feedwarden::clock::SystemClock;
use feedwarden::demo::web::{Mix, SiteBehaviour, Web, WebSettings};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// A web of these behaviours on hosts of their own, and a directory with a list of its sites.
fn web(behaviours: &[SiteBehaviour], change: impl FnOnce(&mut WebSettings)) -> (Web, TempDir) {
    let count = behaviours.len();
    let mix = Mix::InTurn(behaviours.to_vec());
    let mut settings = WebSettings { hosts: count, sites: count, mix, ..WebSettings::default() };
    change(&mut settings);
    let web = Web::start(settings, Arc::new(SystemClock)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let outlines: String =
        web.sites().iter().map(|site| format!("<outline text=\"a site\" xmlUrl=\"{}\"/>", site.url)).collect();
    fs::write(directory.path().join("list.opml"), format!("<opml version=\"2.0\"><body>{outlines}</body></opml>"))
        .unwrap();
    (web, directory)
}

fn feedwarden(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_feedwarden"));
    crate::in_directory(&mut command, directory);
    command.arg("run").args(arguments).args(["--set", "http.allow-private-networks=true"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn once(directory: &Path, arguments: &[&str]) -> Output {
    feedwarden(directory, &[&["--once"], arguments].concat()).output().unwrap()
}

fn summary(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The records of a log, those of a message.
fn told(bytes: &[u8], message: &str) -> Vec<Value> {
    let lines = std::str::from_utf8(bytes).unwrap().lines().filter(|line| line.starts_with('{'));
    lines.map(|line| serde_json::from_str(line).unwrap()).filter(|record: &Value| record["msg"] == message).collect()
}

#[test]
fn a_round_adds_a_list_polls_what_is_due_once_and_says_what_became_of_it() {
    let behaviours = [
        SiteBehaviour::Healthy,
        SiteBehaviour::Healthy,
        SiteBehaviour::NotFound,
        SiteBehaviour::Dead,
        SiteBehaviour::Gone,
    ];
    let (web, directory) = web(&behaviours, |_| {});
    let output = once(directory.path(), &["--opml", "list.opml", "--json"]);
    let first = summary(&output);
    assert_eq!([&first["imported"], &first["due"], &first["polled"]], [5, 5, 5], "{first}");
    assert_eq!([&first["read"], &first["new_posts"], &first["failed"]], [2, 2, 3]);
    assert_eq!(first["failed_by_kind"], serde_json::json!({ "not_found": 1, "gone": 1, "network": 1 }));
    assert_eq!(told(&output.stderr, "source polled").len() + told(&output.stderr, "feed poll failed").len(), 5);
    // Nothing is due a moment later, and nothing is imported twice, however it is spelled.
    let list = fs::read_to_string(directory.path().join("list.opml")).unwrap();
    fs::write(directory.path().join("list.opml"), list.replace("http://", "HTTP://")).unwrap();
    let second = summary(&once(directory.path(), &["--opml", "list.opml", "--json"]));
    assert_eq!([&second["imported"], &second["duplicates"], &second["due"]], [0, 5, 0]);
    assert_eq!(web.journal().len(), 4);
    // Everything can be wished for; what was changed since is all that is new.
    web.publish(0, 3);
    let third = summary(&once(directory.path(), &["--all", "--json"]));
    assert_eq!([&third["polled"], &third["new_posts"], &third["unchanged"], &third["failed"]], [5, 3, 1, 3]);
    let people = once(directory.path(), &["--all"]);
    let text = String::from_utf8(people.stdout).unwrap();
    assert!(
        text.starts_with("polled      5 of 5 due sources\nnew posts   0\nunchanged   2\nfailed      3 ("),
        "{text}"
    );
    assert!(text.contains("not_found 1") && text.contains("\nelapsed "), "{text}");
}

#[test]
fn p20_a_round_over_everything_still_obeys_retry_after() {
    let refusal = SiteBehaviour::RateLimited(feedwarden::demo::web::RetryAfter::Seconds(600));
    let (web, directory) = web(&[refusal], |_| {});
    let first = summary(&once(directory.path(), &["--opml", "list.opml", "--json"]));
    assert_eq!([&first["polled"], &first["failed_by_kind"]["rate_limited"]], [1, 1]);
    let second = summary(&once(directory.path(), &["--all", "--json"]));
    assert_eq!([&second["due"], &second["polled"]], [0, 0]);
    assert_eq!(web.journal().len(), 1);
}

#[test]
fn a_list_that_is_none_is_refused_and_one_with_mistakes_is_taken_without_them() {
    let (_web, directory) = web(&[SiteBehaviour::Healthy], |_| {});
    fs::write(directory.path().join("not.opml"), "{\"sources\": []}").unwrap();
    let refused = once(directory.path(), &["--opml", "not.opml"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.starts_with("feedwarden: not.opml: not an OPML document"), "{said}");
    let missing = once(directory.path(), &["--opml", "missing.opml"]);
    assert_eq!(missing.status.code(), Some(2));
    let list = fs::read_to_string(directory.path().join("list.opml")).unwrap();
    let damaged = list.replace("<body>", "<body><outline text=\"x\" type=\"rss\" xmlUrl=\"ftp://a.example/\"/>");
    fs::write(directory.path().join("list.opml"), damaged).unwrap();
    let output = once(directory.path(), &["--opml", "list.opml", "--json"]);
    assert_eq!(summary(&output)["imported"], 1);
    assert!(String::from_utf8(output.stderr).unwrap().contains("list.opml: line 1:"));
}

#[test]
fn words_that_belong_to_a_round_are_refused_without_it() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in [&["--all"][..], &["--opml", "x"], &["--json"]] {
        let output = feedwarden(directory.path(), arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

/// A daemon that runs, and the records that it writes.
struct Daemon {
    process: Child,
    records: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Daemon {
    fn start(directory: &Path, arguments: &[&str]) -> Daemon {
        let mut process = feedwarden(directory, arguments).spawn().unwrap();
        let records = BufReader::new(process.stdout.take().unwrap()).lines();
        Daemon { process, records }
    }

    fn wait_for(&mut self, message: &str) -> Value {
        for line in self.records.by_ref() {
            let record: Value = serde_json::from_str(&line.unwrap()).unwrap();
            if record["msg"] == message {
                return record;
            }
        }
        panic!("the log ended without {message:?}");
    }

    fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    fn finish(&mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.process.wait().unwrap().code(), said)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A daemon in a round over one site that takes its time, with the request under way.
fn in_the_middle_of_a_poll(slow: Duration) -> (Web, TempDir, Daemon) {
    let (web, directory) = web(&[SiteBehaviour::Slow], |settings| settings.slow = slow);
    let log = ["--once", "--opml", "list.opml", "--json", "--set", "logging.file=log.json"];
    let daemon = Daemon::start(directory.path(), &log);
    let is_asked = || web.load().iter().any(|host| host.requests > 0);
    for _ in 0..3000 {
        if is_asked() {
            return (web, directory, daemon);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("no request was sent");
}

#[test]
fn a_signal_lets_what_is_under_way_end_and_be_settled() {
    let (_web, directory, mut daemon) = in_the_middle_of_a_poll(Duration::from_millis(700));
    daemon.send(Signal::TERM);
    let (code, said) = daemon.finish();
    assert_eq!(code, Some(1), "a round that was ended before its time says so");
    assert!(said.contains("a signal ended the round before its time"), "{said}");
    let log = fs::read(directory.path().join("log.json")).unwrap();
    assert_eq!(told(&log, "source polled").len(), 1);
    assert_eq!(told(&log, "daemon stopped").len(), 1);
    assert!(told(&log, "polls abandoned").is_empty());
}

#[test]
fn a_second_signal_hurries_and_loses_only_what_was_under_way() {
    let (_web, directory, mut daemon) = in_the_middle_of_a_poll(Duration::from_secs(20));
    daemon.send(Signal::TERM);
    let log = directory.path().join("log.json");
    for _ in 0..3000 {
        if !told(&fs::read(&log).unwrap(), "signal received").is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    daemon.send(Signal::TERM);
    daemon.finish();
    let log = fs::read(log).unwrap();
    assert_eq!(told(&log, "polls abandoned")[0]["reason"], "a second signal came");
    assert_eq!(told(&log, "polls abandoned")[0]["count"], 1);
    // It is polled again: due as it was.
    let again = summary(&once(directory.path(), &["--json", "--set", "http.deadline-seconds=1"]));
    assert_eq!(again["due"], 1);
}

#[test]
fn a_second_daemon_on_the_same_file_is_refused_and_the_first_one_goes_on() {
    let (_web, directory) = web(&[SiteBehaviour::Healthy], |_| {});
    let mut first = Daemon::start(directory.path(), &[]);
    first.wait_for("daemon ready");
    let mut second = Daemon::start(directory.path(), &[]);
    assert_eq!(second.wait_for("daemon failed")["level"], "critical");
    let (code, said) = second.finish();
    assert_eq!(code, Some(1));
    let process = first.process.id();
    assert!(said.contains(&format!("another feedwarden (process {process}) works on feedwarden.db")), "{said}");
    assert_eq!(once(directory.path(), &[]).status.code(), Some(1), "a round is refused, too");
    first.send(Signal::TERM);
    assert_eq!(first.finish().0, Some(0));
    // The lock file of a killed process does no harm.
    let mut third = Daemon::start(directory.path(), &[]);
    third.wait_for("daemon ready");
    third.send(Signal::KILL);
    third.finish();
    let mut fourth = Daemon::start(directory.path(), &[]);
    fourth.wait_for("daemon ready");
}

#[test]
fn parts_that_crash_too_often_end_the_daemon_with_its_own_exit_code() {
    let (_web, directory) = web(&[SiteBehaviour::Healthy], |_| {});
    assert_eq!(once(directory.path(), &["--opml", "list.opml"]).status.code(), Some(0));
    let faults = ["--set", "faults.enabled=true", "--set", "faults.rules=post-sink/*=panic@1"];
    let mut daemon = Daemon::start(directory.path(), &[&faults[..], &["--set", "supervision.restarts-max=0"]].concat());
    assert_eq!(daemon.wait_for("actor crashed")["actor"], "post-sink");
    daemon.wait_for("daemon failed");
    let (code, said) = daemon.finish();
    assert_eq!(code, Some(70), "{said}");
    assert!(said.contains("a part of the daemon crashed too often"), "{said}");
}

#[test]
fn a_round_keeps_the_folders_of_the_list_as_labels() {
    let (web, directory) = web(&[SiteBehaviour::Healthy], |_| {});
    let outline =
        format!("<outline text=\"News\"><outline text=\"a site\" xmlUrl=\"{}\"/></outline>", web.sites()[0].url);
    let list = format!("<opml version=\"2.0\"><body>{outline}</body></opml>");
    fs::write(directory.path().join("list.opml"), list).unwrap();
    summary(&once(directory.path(), &["--opml", "list.opml", "--json"]));
    let database = rusqlite::Connection::open(directory.path().join("feedwarden.db")).unwrap();
    let label: String = database.query_row("SELECT label FROM source_labels", [], |row| row.get(0)).unwrap();
    assert_eq!(label, "News");
}
