//! What a person reads when something cannot be done, and how the program ends then.

use feedwarden::demo::web::Character;

use super::{Desk, feedwarden, seen, snapshot};

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
    let mut desk = Desk::new(&[Character::Healthy]);
    desk.works(&["status"]);
    desk.daemon.kill().unwrap();
    desk.daemon.wait().unwrap();
    desk.check("dead_daemon", &["status"]);
}

#[test]
fn every_refusal_has_its_words_and_its_exit_code() {
    let desk = Desk::new(&[Character::Healthy]);
    let url = desk.url(Character::Healthy);
    desk.works(&["source", "add", &url]);
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
        &["post", "list", "--since", "yesterday"],
        &["host", "hold", "a.example", "--seconds", "60"],
        &["host", "hold", "a.example", "--until", "2020-01-01T00:00:00Z", "--reason", "late"],
        &["log-level", "loud"],
        &["import", "missing.opml"],
        &["status", "--socket", "a", "--url", "http://127.0.0.1:1"],
        &["status", "--url", "ftp://127.0.0.1:1"],
        &["token"],
    ] {
        let line = desk.same_every_time(&words.join(" "));
        told += &format!("$ feedwarden {line}\n{}\n", desk.session(words));
    }
    snapshot("refusals", &told);
}

#[test]
fn programs_get_the_problem_as_json_too() {
    let desk = Desk::new(&[Character::NotFound]);
    let output = desk.run(&["source", "add", &desk.url(Character::NotFound), "--json"]);
    let problem: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &problem["status"]), (Some(6), &serde_json::json!(422)));
    assert_eq!(problem["context"]["poll"]["status_code"], 404);
}
