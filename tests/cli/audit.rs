//! Audit records on the command line.

use feedwarden::demo::web::SiteBehaviour;
use serde_json::{Value, json};

use super::{Console, seen, start};

#[test]
fn changes_are_listed_with_their_caller_newest_first() {
    let list = r#"<opml version="2.0"><body><outline xmlUrl="http://b.example/"/></body></opml>"#;
    // Imported by a command that uses the database itself, before the daemon starts.
    let console = Console::started_by(&[SiteBehaviour::Healthy], |directory| {
        std::fs::write(directory.join("list.opml"), list).unwrap();
        let proxy = ["--set", "http.proxy=http://127.0.0.1:9"];
        let once =
            super::feedwarden(directory, &["run", "--once", "--opml", "list.opml"]).args(proxy).output().unwrap();
        assert_eq!(once.status.code(), Some(0), "{}", seen(&once));
        start(directory, &[])
    });
    console.works(&["source", "add", &console.url(SiteBehaviour::Healthy), "--title", "Old"]);
    console.works(&["source", "edit", "2", "--title", "New"]);
    console.works(&["log-level", "debug"]);
    let records = console.json(&["audit"])["items"].as_array().unwrap().clone();
    let actions: Vec<&str> = records.iter().map(|record| record["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["log.level", "source.edit", "source.add", "source.import"]);
    let uid = json!(format!("uid:{}", rustix::process::getuid().as_raw()));
    assert!(records.iter().all(|record| record["who"] == uid), "{records:?}");
    assert_eq!(records[0]["before"], json!({ "level": "info" }));
    assert_eq!((&records[3]["after"]["added"], &records[3]["target_id"]), (&json!(1), &Value::Null));

    let text = console.works(&["audit", "--source", "2"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "a heading and two records: {text}");
    assert!(lines[1].contains("source.edit") && lines[1].contains(r#"title: "New", was title: "Old""#), "{text}");
    let none = console.run(&["audit", "--who", "token:eve"]);
    assert!(seen(&none).contains("nothing matches these options"), "{}", seen(&none));
}
