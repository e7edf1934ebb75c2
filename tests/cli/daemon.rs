//! The daemon itself: status, tree, pause, reload, log level, live view.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use feedwarden::clock::SystemClock;
use feedwarden::demo::web::{Character, Mix, Web, WebSettings};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{Desk, seen, snapshot, start};

#[test]
fn the_daemon_tells_how_it_does() {
    let desk = Desk::new(&[Character::Healthy, Character::NotFound]);
    desk.works(&["pause"]);
    let paused = desk.works(&["resume"]);
    assert!(paused.starts_with("scheduler running"), "{paused}");
    desk.works(&["source", "add", &desk.url(Character::Healthy)]);
    desk.works(&["source", "add", &desk.url(Character::NotFound), "--anyway"]);
    desk.until_scheduled(2);
    desk.check("status", &["status"]);
    let status = desk.json(&["status"]);
    assert_eq!((&status["statistics"]["read"], &status["statistics"]["polls"]), (&json!(1), &json!(2)));
    let tree = desk.works(&["tree"]);
    let names: Vec<&str> =
        tree.lines().skip(1).map_while(|line| line.split("  ").find(|word| !word.is_empty())).collect();
    assert!(["feedwarden", "scheduler", "hosts", "post sink"].iter().all(|name| names.contains(name)), "{tree}");
}

#[test]
fn a_file_says_where_the_daemon_is_at_every_level() {
    let desk = Desk::new(&[Character::Healthy]);
    let directory = desk.directory.path();
    std::fs::rename(directory.join("feedwarden.sock"), directory.join("own.sock")).unwrap();
    std::fs::write(directory.join("own.yaml"), "api:\n  socket: own.sock\n").unwrap();
    assert_eq!(desk.run(&["status"]).status.code(), Some(3), "nobody is where the defaults look");
    for words in [
        ["--config", "own.yaml", "source", "list"],
        ["source", "--config", "own.yaml", "list"],
        ["source", "list", "--config", "own.yaml"],
    ] {
        desk.works(&words);
    }
    desk.works(&["status", "--config", "own.yaml"]);
    assert_eq!(desk.run(&["--config", "own.yaml", "status", "--config", "other.yaml"]).status.code(), Some(2));
}

#[test]
fn polling_pauses_and_goes_on() {
    let mut desk = Desk::new(&[Character::Healthy]);
    desk.check("pause", &["pause"]);
    assert_eq!(desk.json(&["status"])["scheduler"]["is_paused"], true);
    desk.daemon.kill().unwrap();
    desk.daemon.wait().unwrap();
    desk.daemon = start(desk.directory.path(), &[]);
    desk.until(&["status"], |status| status["scheduler"]["paused_since"].is_string());
    desk.check("resume", &["resume"]);
    assert_eq!(desk.json(&["status"])["scheduler"]["is_paused"], false);
}

#[test]
fn who_waits_for_a_poll_when_the_daemon_ends_is_answered() {
    let mix = Mix::InTurn(vec![Character::Slow, Character::Healthy]);
    // Longer than the doors are kept open for whoever does not wait for a poll.
    let web = WebSettings { hosts: 2, sites: 2, mix, slow: Duration::from_secs(4), ..WebSettings::default() };
    let web = Web::start(web, Arc::new(SystemClock)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let daemon = start(directory.path(), &[]);
    let mut desk = Desk { web, directory, daemon };
    desk.works(&["source", "add", &desk.url(Character::Healthy)]);
    desk.works(&["source", "edit", "1", "--delay-seconds", "40"]);
    let typed = |words: &[&str]| {
        desk.feedwarden(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap().wait_with_output()
    };
    let (url, web) = (desk.url(Character::Slow), &desk.web);
    let (added, polled, asked) = std::thread::scope(|scope| {
        let added = scope.spawn(|| typed(&["source", "add", &url]).unwrap());
        let polled = scope.spawn(|| typed(&["source", "poll", "1"]).unwrap());
        desk.until(&["source", "show", "1"], |source| !source["poll_requested_at"].is_null());
        desk.until(&["status"], |status| status["statistics"]["under_way"] == 1);
        kill_process(Pid::from_child(&desk.daemon), Signal::TERM).unwrap();
        (added.join().unwrap(), polled.join().unwrap(), web.journal().len())
    });
    assert!(seen(&added).contains("read, new posts: ") && added.status.success(), "{}", seen(&added));
    assert_eq!(seen(&polled), "will be polled later: the daemon is ending\nexit 0\n");
    assert_eq!((desk.daemon.wait().unwrap().code(), asked), (Some(0), 2));
}

#[test]
fn the_configuration_is_read_anew_or_left_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("feedwarden.yaml");
    std::fs::write(&file, "source:\n  max-failures: 5\n").unwrap();
    let desk = Desk::with(&[Character::Healthy], &["--config", file.to_str().unwrap()]);
    let mut told = desk.session(&["reload"]);
    std::fs::write(&file, "source:\n  max-failures: 6\nfetch:\n  threads: 3\n").unwrap();
    told += &desk.session(&["reload"]);
    std::fs::write(&file, "source:\n  max-failures: many\n").unwrap();
    told += &desk.session(&["reload"]);
    snapshot("reload", &told.replace(&directory.path().display().to_string(), "ELSEWHERE"));
}

#[test]
fn the_log_level_is_told_and_changed() {
    let desk = Desk::new(&[Character::Healthy]);
    assert_eq!(desk.works(&["log-level"]), "info\n");
    assert_eq!(desk.works(&["log-level", "debug"]), "debug\n");
    assert_eq!(desk.json(&["log-level"]), json!({ "level": "debug" }));
}

#[test]
fn top_draws_as_often_as_it_is_told() {
    let desk = Desk::new(&[Character::Healthy, Character::NotFound]);
    desk.works(&["source", "add", &desk.url(Character::NotFound), "--anyway"]);
    desk.works(&["source", "add", &desk.url(Character::Healthy)]);
    desk.until_scheduled(2);
    desk.check("top", &["top", "--count", "1"]);
    let twice = desk.works(&["top", "--count", "2"]);
    assert!(twice.contains("0.0 polls a second"), "{twice}");
    assert_eq!(desk.works(&["top", "--count", "2", "--json"]).lines().count(), 2);
}
