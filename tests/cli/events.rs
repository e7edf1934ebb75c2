//! `feedwarden events`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use feedwarden::demo::web::SiteBehaviour;
use serde_json::Value;

use super::{Console, start};

fn types(lines: &str) -> Vec<String> {
    let event_type = |line: &str| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().to_owned();
    lines.lines().map(event_type).collect()
}

#[test]
fn events_are_listed_and_followed_over_a_restart_of_the_daemon() {
    let mut console = Console::new(&[SiteBehaviour::Healthy]);
    console.works(&["source", "add", &console.url(SiteBehaviour::Healthy)]);
    let posts = console.json(&["post", "list"])["items"].as_array().unwrap().len();
    let count = (posts + 3).to_string();
    let mut command = console.feedwarden(&["events", "--follow", "--after", "0", "--count", &count, "--json"]);
    let mut following = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    let mut next = || types(&lines.next().unwrap().unwrap()).remove(0);
    for _ in 0..posts {
        assert_eq!(next(), "post.created");
    }
    console.works(&["source", "disable", "1", "--reason", "too loud"]);
    assert_eq!(next(), "source.disabled");
    console.daemon.kill().unwrap();
    console.daemon.wait().unwrap();
    console.daemon = start(console.directory.path(), &[]);
    console.works(&["source", "enable", "1"]);
    assert_eq!(next(), "source.recovered");
    let host = console.web.sites()[0].host.clone();
    console.works(&["host", "hold", &host, "--for", "1h", "--reason", "calm"]);
    assert_eq!(next(), "host.held");
    assert_eq!(following.wait().unwrap().code(), Some(0));
    let listed = console.works(&["events", "--type", "source.disabled", "--type", "host.held"]);
    let table: Vec<&str> = listed.lines().collect();
    assert!(table[0].starts_with("NUMBER") && table.len() == 3, "{listed}");
    assert!(table[1].contains("source.disabled") && table[1].contains("too loud"), "{listed}");
    assert!(table[2].contains("host.held") && table[2].contains(&host) && table[2].contains("calm"), "{listed}");
    let all = types(&console.works(&["events", "--all", "--json"]));
    assert_eq!(all.len(), posts + 3, "{all:?}");
    assert_eq!(all[posts..], ["source.disabled", "source.recovered", "host.held"]);
    assert_eq!(types(&console.works(&["events", "--all", "--source", "1", "--json"])).len(), posts + 2);
    let later = console.works(&["events", "--all", "--since", "2099-01-01", "--json"]);
    assert_eq!(types(&later), Vec::<String>::new());
}
