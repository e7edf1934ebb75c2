//! Faults of the database, as an operator meets them: rows that cannot be read, a full disk.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use feedwarden::demo::web::SiteBehaviour;
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use super::{Console, seen, start_command};

/// The status code of `/readyz`, and what it says.
fn readiness(console: &Console) -> (u16, String) {
    let mut stream = UnixStream::connect(console.directory.path().join("feedwarden.sock")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    (answer[9..12].parse().unwrap(), answer)
}

#[test]
fn a_row_that_cannot_be_read_is_shown_and_can_be_removed() {
    let console = Console::new(&[SiteBehaviour::Healthy, SiteBehaviour::Healthy]);
    for site in console.web.sites() {
        console.works(&["source", "add", &site.url]);
    }
    console.until_scheduled(2);
    let database = rusqlite::Connection::open(console.directory.path().join("feedwarden.db")).unwrap();
    database.busy_timeout(Duration::from_secs(5)).unwrap();
    let damage = |kind: &str| database.execute("UPDATE sources SET type = ?1 WHERE id = 1", [kind]).unwrap();
    damage("gopher");
    for command in ["show", "explain", "poll", "disable"] {
        let output = console.run(&["source", command, "1"]);
        let said = seen(&output);
        assert_ne!(output.status.code(), Some(0), "{said}");
        assert!(said.contains("row 1 of the table sources cannot be read: column type holds gopher"), "{said}");
        assert!(said.contains("correct the value in the database, or remove the row"), "{said}");
    }
    assert!(!console.works(&["source", "list"]).contains("gopher"));
    assert!(console.works(&["export"]).contains("</opml>"));
    let status = console.works(&["status"]);
    assert!(status.contains("1 row of the database cannot be read: `feedwarden quarantine`"), "{status}");
    let status = console.json(&["status"]);
    assert_eq!((&status["quarantined_sources"], &status["quarantined_rows"]), (&1.into(), &1.into()));
    let listed = console.json(&["quarantine"]);
    assert_eq!(listed["total"], 1);
    let row = &listed["rows"][0];
    assert_eq!((&row["table"], &row["key"], &row["column"]), (&"sources".into(), &"1".into(), &"type".into()));
    assert_eq!(row["url"], console.web.sites()[0].url.as_str());
    let table = console.works(&["quarantine"]);
    assert!(table.contains("gopher") && table.contains("feedwarden source remove ID"), "{table}");
    assert_eq!(readiness(&console).0, 200, "all others are polled");
    damage("rss");
    console.works(&["source", "show", "1"]);
    assert_eq!(console.json(&["status"])["quarantined_rows"], 0);
    damage("gopher");
    console.works(&["source", "remove", "1"]);
    assert_eq!(console.works(&["quarantine"]), "all rows can be read\n");
    assert_eq!(console.json(&["status"])["quarantined_rows"], 0);
}

#[test]
fn a_full_disk_that_only_a_request_has_met_makes_the_daemon_not_ready_at_once() {
    // A limit on the size of files fails writes the way a full disk does, once the signal for it is ignored.
    let console = Console::started_by(&[SiteBehaviour::Healthy], |directory| {
        let mut command = Command::new("sh");
        let script = "trap '' XFSZ; exec \"$0\" \"$@\"";
        command.args(["-c", script, env!("CARGO_BIN_EXE_feedwarden")]).env_clear().current_dir(directory);
        start_command(command, directory, &[])
    });
    assert_eq!(readiness(&console).0, 200);
    let pid = Pid::from_child(&console.daemon);
    let limit =
        |bytes: Option<u64>| prlimit(Some(pid), Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
    limit(Some(4096));
    let refused = console.run(&["user", "add", "ada"]);
    assert_ne!(refused.status.code(), Some(0), "{}", seen(&refused));
    let (code, said) = readiness(&console);
    assert_eq!(code, 503, "{said}");
    assert!(said.contains("the database is not available"), "{said}");
    let status = console.json(&["status"]);
    assert!(status["store_trouble"].is_string() && status["held_up_by"][0].is_string(), "{status}");
    assert_eq!(readiness(&console).0, 503, "and stays so");
    limit(None);
    console.until(&["status"], |status| {
        status["store_trouble"].is_null() && status["held_up_by"] == serde_json::json!([])
    });
    assert_eq!(readiness(&console).0, 200);
    console.works(&["user", "add", "ada"]);
}
