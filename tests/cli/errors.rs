//! What a person reads when something cannot be done, and how the program ends then.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;

use feedwarden::demo::web::SiteBehaviour;

use super::{Console, feedwarden, seen, snapshot};

#[test]
fn without_a_daemon_it_is_said_how_to_start_one() {
    let directory = tempfile::tempdir().unwrap();
    let name = directory.path().display().to_string();
    for (words, file) in [
        (&["status"][..], "no_daemon"),
        (&["source", "list", "--socket", "elsewhere.sock"], "no_daemon_at_socket"),
        (&["status", "--url", "http://127.0.0.1:1"], "no_daemon_at_url"),
    ] {
        let text = seen(&feedwarden(directory.path(), words).output().unwrap());
        snapshot(file, &text.replace(&name, "DIRECTORY"));
    }
}

#[test]
fn a_socket_of_a_dead_daemon_is_no_daemon() {
    let mut console = Console::new(&[SiteBehaviour::Healthy]);
    console.works(&["status"]);
    console.daemon.kill().unwrap();
    console.daemon.wait().unwrap();
    console.check("dead_daemon", &["status"]);
}

#[test]
fn every_refusal_has_its_words_and_its_exit_code() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    let url = console.url(SiteBehaviour::Healthy);
    console.works(&["source", "add", &url]);
    let mut told = String::new();
    for words in [
        &["source", "show", "99"][..],
        &["source", "show", "http://nowhere.example/"],
        &["post", "show", "99"],
        &["host", "show", "nowhere.example"],
        &["host", "release", "nowhere.example"],
        &["post", "list", "--source", "99"],
        &["post", "tail", "--source", "99"],
        &["source", "add", "https://x.com/nasa/status/1"],
        &["source", "add", &url],
        &["source", "add", "ftp://a.example/"],
        &["source", "edit", "1"],
        &["source", "edit", "1", "--interval-minutes", "0"],
        &["source", "edit", "1", "--title", "a", "--unset", "title"],
        &["source", "edit", "1", "--title", "a", "--if-version", "0"],
        &["source", "list", "--state", "asleep"],
        &["source", "list", "--cursor", "x"],
        &["post", "list", "--since", "some day"],
        &["host", "hold", "a.example", "--seconds", "60"],
        &["host", "hold", "a.example", "--until", "2020-01-01T00:00:00Z", "--reason", "late"],
        &["log-level", "loud"],
        &["source", "add", "http://127.1.0.1:99999/"],
        &["source", "add", "http://[::1"],
        &["import", "missing.opml"],
        &["import", "."],
        &["export", "--json"],
        &["user", "remove", "zed", "--json"],
        &["status", "--socket", "a", "--url", "http://127.0.0.1:1"],
        &["status", "--url", "ftp://127.0.0.1:1"],
        &["token"],
    ] {
        let line = console.same_every_time(&words.join(" "));
        told += &format!("$ feedwarden {line}\n{}\n", console.session(words));
    }
    snapshot("refusals", &told);
}

#[test]
fn a_user_who_may_not_use_the_socket_is_told_so() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("feedwarden.sock");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let ask = |mode| {
        std::fs::set_permissions(directory.path(), Permissions::from_mode(mode)).unwrap();
        let mut command = feedwarden(Path::new("/"), &["status", "--json", "--socket", socket.to_str().unwrap()]);
        if rustix::process::geteuid().is_root() {
            command.uid(65_534);
        }
        let output = command.output().unwrap();
        std::fs::set_permissions(directory.path(), Permissions::from_mode(0o700)).unwrap();
        output
    };
    std::fs::set_permissions(&socket, Permissions::from_mode(0o000)).unwrap();
    let (seen_socket, hidden) = (ask(0o755), ask(0o000));
    let owner = format!("sudo -u '#{}'", std::fs::metadata(&socket).unwrap().uid());
    for (output, hint) in [(&seen_socket, owner.as_str()), (&hidden, "sudo -u USER")] {
        let text = seen(output);
        assert!(output.status.code() == Some(6) && text.contains("Permission denied") && text.contains(hint), "{text}");
        let problem: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(problem["status"], 403);
    }
}

#[test]
fn what_is_removed_and_what_is_right_is_told_to_programs() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    console.works(&["source", "add", &console.url(SiteBehaviour::Healthy)]);
    assert_eq!(console.json(&["source", "remove", "1"])["removed"], "/sources/1");
    assert_eq!(console.json(&["config", "check"])["ok"], true);
    assert!(console.json(&["token", "--set", super::JWT_SECRET_FILE])["token"].is_string());
}

#[test]
fn programs_get_the_problem_as_json_too() {
    let console = Console::new(&[SiteBehaviour::NotFound]);
    let output = console.run(&["source", "add", &console.url(SiteBehaviour::NotFound), "--json"]);
    let problem: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &problem["status"]), (Some(6), &serde_json::json!(422)));
    assert_eq!(problem["context"]["poll"]["status_code"], 404);
}
