//! The daemon itself: status, tree, pause, reload, log level, live view.

use std::fs::Permissions;
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use feedwarden::clock::SystemClock;
use feedwarden::demo::web::{Mix, SiteBehaviour, Web, WebSettings};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use url::Position;

use super::{Console, seen, snapshot, start};

#[test]
fn the_daemon_tells_how_it_does() {
    let console = Console::new(&[SiteBehaviour::Healthy, SiteBehaviour::NotFound]);
    console.works(&["pause"]);
    let paused = console.works(&["resume"]);
    assert!(paused.starts_with("scheduler running"), "{paused}");
    console.works(&["source", "add", &console.url(SiteBehaviour::Healthy)]);
    console.works(&["source", "add", &console.url(SiteBehaviour::NotFound), "--anyway"]);
    console.until_scheduled(2);
    console.check("status", &["status"]);
    let status = console.json(&["status"]);
    assert_eq!((&status["statistics"]["read"], &status["statistics"]["polls"]), (&json!(1), &json!(2)));
    let tree = console.works(&["tree"]);
    let names: Vec<&str> =
        tree.lines().skip(1).map_while(|line| line.split("  ").find(|word| !word.is_empty())).collect();
    assert!(["feedwarden", "scheduler", "hosts", "post-sink"].iter().all(|name| names.contains(name)), "{tree}");
}

#[test]
fn a_file_says_where_the_daemon_is_at_every_level() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    let directory = console.directory.path();
    std::fs::rename(directory.join("feedwarden.sock"), directory.join("own.sock")).unwrap();
    std::fs::write(directory.join("own.yaml"), "api:\n  socket: own.sock\n").unwrap();
    assert_eq!(console.run(&["status"]).status.code(), Some(3), "no daemon has the default socket");
    for words in [
        ["--config", "own.yaml", "source", "list"],
        ["source", "--config", "own.yaml", "list"],
        ["source", "list", "--config", "own.yaml"],
    ] {
        console.works(&words);
    }
    console.works(&["status", "--config", "own.yaml"]);
    assert_eq!(console.run(&["--config", "own.yaml", "status", "--config", "other.yaml"]).status.code(), Some(2));
}

#[test]
fn polling_pauses_and_goes_on() {
    let mut console = Console::new(&[SiteBehaviour::Healthy]);
    console.check("pause", &["pause"]);
    assert_eq!(console.json(&["status"])["scheduler"]["is_paused"], true);
    console.daemon.kill().unwrap();
    console.daemon.wait().unwrap();
    console.daemon = start(console.directory.path(), &[]);
    console.until(&["status"], |status| status["scheduler"]["paused_since"].is_string());
    console.check("resume", &["resume"]);
    assert_eq!(console.json(&["status"])["scheduler"]["is_paused"], false);
}

#[test]
fn who_waits_for_a_poll_when_the_daemon_ends_is_answered() {
    let mix = Mix::InTurn(vec![SiteBehaviour::Slow, SiteBehaviour::Healthy]);
    // Longer than open connections are kept at shutdown unless they wait for a poll.
    let web = WebSettings { hosts: 2, sites: 2, mix, slow: Duration::from_secs(4), ..WebSettings::default() };
    let web = Web::start(web, Arc::new(SystemClock)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let daemon = start(directory.path(), &[]);
    let mut console = Console { web, directory, daemon };
    console.works(&["source", "add", &console.url(SiteBehaviour::Healthy)]);
    console.works(&["source", "edit", "1", "--delay-seconds", "40"]);
    let typed = |words: &[&str]| {
        console.feedwarden(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap().wait_with_output()
    };
    let (url, web) = (console.url(SiteBehaviour::Slow), &console.web);
    let (added, polled, asked) = std::thread::scope(|scope| {
        let added = scope.spawn(|| typed(&["source", "add", &url]).unwrap());
        let polled = scope.spawn(|| typed(&["source", "poll", "1"]).unwrap());
        console.until(&["source", "show", "1"], |source| !source["poll_requested_at"].is_null());
        console.until(&["status"], |status| status["statistics"]["under_way"] == 1);
        kill_process(Pid::from_child(&console.daemon), Signal::TERM).unwrap();
        (added.join().unwrap(), polled.join().unwrap(), web.journal().len())
    });
    assert!(seen(&added).contains("read, 1 entry: 1 new") && added.status.success(), "{}", seen(&added));
    assert_eq!(seen(&polled), "will be polled later: the daemon is ending\nexit 0\n");
    assert_eq!((console.daemon.wait().unwrap().code(), asked), (Some(0), 2));
}

#[test]
fn the_configuration_is_read_anew_or_left_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("feedwarden.yaml");
    std::fs::write(&file, "source:\n  max-failures: 5\n").unwrap();
    let console = Console::with(&[SiteBehaviour::Healthy], &["--config", file.to_str().unwrap()]);
    let mut told = console.session(&["reload"]);
    std::fs::write(&file, "source:\n  max-failures: 6\nfetch:\n  threads: 3\n").unwrap();
    told += &console.session(&["reload"]);
    std::fs::write(&file, "source:\n  max-failures: many\n").unwrap();
    told += &console.session(&["reload"]);
    snapshot("reload", &told.replace(&directory.path().display().to_string(), "ELSEWHERE"));
}

#[test]
fn the_log_level_is_told_and_changed() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    assert_eq!(console.works(&["log-level"]), "info\n");
    assert_eq!(console.works(&["log-level", "debug"]), "debug\n");
    assert_eq!(console.json(&["log-level"]), json!({ "level": "debug" }));
}

#[test]
fn top_draws_as_often_as_it_is_told() {
    let console = Console::new(&[SiteBehaviour::Healthy, SiteBehaviour::NotFound]);
    console.works(&["source", "add", &console.url(SiteBehaviour::NotFound), "--anyway"]);
    console.works(&["source", "add", &console.url(SiteBehaviour::Healthy)]);
    console.until_scheduled(2);
    console.check("top", &["top", "--count", "1"]);
    let twice = console.works(&["top", "--count", "2"]);
    assert!(twice.contains("0.0 polls per second"), "{twice}");
    assert_eq!(console.works(&["top", "--count", "2", "--json"]).lines().count(), 2);
}

#[test]
fn the_dashboard_is_opened_with_a_link_that_signs_one_browser_in() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    let link = console.works(&["dashboard", "--no-open"]);
    let url = url::Url::parse(link.trim()).unwrap();
    assert_eq!((url.host_str(), url.path()), (Some("127.0.0.1"), "/dashboard/enter"));
    let enter = || {
        let mut stream = TcpStream::connect(("127.0.0.1", url.port().unwrap())).unwrap();
        let path = &url[Position::BeforePath..];
        let host = &url[Position::BeforeHost..Position::AfterPort];
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        std::io::read_to_string(stream).unwrap()
    };
    let answer = enter();
    assert!(answer.starts_with("HTTP/1.1 303") && answer.contains("HttpOnly; SameSite=Strict"), "{answer}");
    assert!(enter().starts_with("HTTP/1.1 401"), "the link is good once");

    let programs = console.directory.path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    let output = console.feedwarden(&["dashboard"]).env("PATH", &programs).output().unwrap();
    assert!(seen(&output).contains("No program to open it was found"), "{output:?}");
    std::fs::write(programs.join("xdg-open"), "#!/bin/sh\necho \"$1\" >opening && /bin/mv opening opened\n").unwrap();
    std::fs::set_permissions(programs.join("xdg-open"), Permissions::from_mode(0o755)).unwrap();
    let output =
        console.feedwarden(&["dashboard", "--port", &url.port().unwrap().to_string()]).env("PATH", &programs).output();
    let printed = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(printed.starts_with(&link[..link.find("/dashboard").unwrap()]) && printed != link, "{printed}");
    let opened = console.directory.path().join("opened");
    while !opened.exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(std::fs::read_to_string(opened).unwrap(), printed);
}
