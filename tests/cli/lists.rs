//! Hosts, posts and lists for other readers.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use feedwarden::demo::web::Character;
use serde_json::{Value, json};

use super::{Desk, fed, seen, snapshot, start};

#[test]
fn hosts_are_listed_held_and_released() {
    let desk = Desk::new(&[Character::Healthy]);
    desk.works(&["source", "add", &desk.url(Character::Healthy)]);
    desk.check("host_list", &["host", "list"]);
    let host = desk.web.sites()[0].host.clone();
    desk.check("host_hold", &["host", "hold", &host, "--seconds", "3600", "--reason", "be kind"]);
    desk.until_scheduled(1);
    desk.check_beginning("source_explain_held", &["source", "explain", "1"]);
    desk.check("host_release", &["host", "release", &host]);
    desk.works(&["source", "disable", "1"]);
    assert_eq!(desk.works(&["host", "enable-sources", &host]), "1 sources are enabled\n");
    assert_eq!(desk.json(&["host", "reset-breaker", &host])["state"], "free");
}

#[test]
fn posts_are_listed_from_the_newest_and_shown() {
    let desk = Desk::new(&[Character::Healthy]);
    desk.works(&["source", "add", &desk.url(Character::Healthy)]);
    desk.web.publish(0, 3);
    desk.works(&["source", "poll", "1", "--force"]);
    let ids = |page: &Value| -> Vec<i64> {
        page["items"].as_array().unwrap().iter().map(|post| post["id"].as_i64().unwrap()).collect()
    };
    let newest = ids(&desk.json(&["post", "list"]));
    let mut oldest = ids(&desk.json(&["post", "list", "--oldest", "--source", &desk.url(Character::Healthy)]));
    assert!(newest.len() >= 3 && newest.is_sorted_by(|one, other| one > other), "{newest:?}");
    oldest.reverse();
    assert_eq!(newest, oldest);
    let lines = desk.works(&["post", "list", "--all", "--json"]);
    let all: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(all.len(), newest.len());
    let since = desk.json(&["post", "list", "--since", "2000-01-01T00:00:00Z", "--limit", "2"]);
    assert_eq!((ids(&since).len(), since["next_cursor"].is_string()), (2, true));
    let shown = desk.works(&["post", "show", &newest[0].to_string()]);
    assert!(shown.starts_with(&format!("post       {}\nsource     1\n", newest[0])), "{shown}");
}

#[test]
fn s703_a_post_shows_its_author_and_its_byline() {
    let desk = Desk::new(&[Character::Website]);
    desk.works(&["source", "add", &desk.url(Character::Website), "--type", "website"]);
    desk.works(&["source", "poll", "1", "--force"]);
    let listed = desk.json(&["post", "list"]);
    let post = &listed["items"][0];
    assert_eq!((&post["author"], &post["byline"]), (&"Site 0".into(), &"Ada Moss".into()), "{listed:#}");
    let shown = desk.works(&["post", "show", &post["id"].to_string()]);
    assert!(shown.contains("\nauthor     Site 0\nbyline     Ada Moss\n"), "{shown}");
}

#[test]
fn posts_are_followed_without_gaps_or_repeats_over_a_restart_of_the_daemon() {
    let mut desk = Desk::new(&[Character::Healthy]);
    desk.works(&["source", "add", &desk.url(Character::Healthy)]);
    let before = desk.json(&["post", "list"])["items"].as_array().unwrap().len();
    let count = (before + 3).to_string();
    let mut command = desk.feedwarden(&["post", "tail", "--after", "0", "--count", &count, "--json"]);
    let mut tail = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    let mut id = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap()["id"].as_i64().unwrap();
    let mut ids: Vec<i64> = (0..before).map(|_| id()).collect();
    desk.web.publish(0, 2);
    desk.works(&["source", "poll", "1", "--force"]);
    ids.extend([id(), id()]);
    desk.daemon.kill().unwrap();
    desk.daemon.wait().unwrap();
    desk.daemon = start(desk.directory.path(), &[]);
    desk.web.publish(0, 1);
    desk.works(&["source", "poll", "1", "--force"]);
    ids.push(id());
    assert_eq!(tail.wait().unwrap().code(), Some(0));
    assert!(ids.is_sorted_by(|one, other| one < other), "{ids:?}");
    let stored: Vec<Value> = desk
        .works(&["post", "list", "--all", "--oldest", "--json"])
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(stored.iter().map(|post| post["id"].as_i64().unwrap()).collect::<Vec<_>>(), ids);
}

const LIST: &str = r#"<opml version="2.0"><body><outline text="News">
    <outline text="One" xmlUrl="http://one.invalid/feed"/><outline text="Again" xmlUrl="http://one.invalid/feed"/></outline>
    <outline text="Two" xmlUrl="http://two.invalid/feed"/><outline text="Bad" xmlUrl="mailto:ann@three.invalid"/></body></opml>"#;

#[test]
fn a_list_is_imported_with_its_mistakes_told_and_exported_again() {
    let desk = Desk::new(&[Character::Healthy]);
    desk.works(&["pause"]);
    std::fs::write(desk.directory.path().join("list.opml"), LIST).unwrap();
    desk.check("import", &["import", "list.opml"]);
    desk.check("import_again", &["import", "list.opml"]);
    let report: Value = serde_json::from_slice(&fed(desk.feedwarden(&["import", "-", "--json"]), LIST).stdout).unwrap();
    assert_eq!((&report["added"], &report["duplicates"], &report["rejected"]), (&json!(0), &json!(3), &json!(1)));
    desk.check("export", &["export"]);
    desk.works(&["export", "--output", "out.opml"]);
    assert_eq!(std::fs::read_to_string(desk.directory.path().join("out.opml")).unwrap(), desk.works(&["export"]));
    let output = fed(desk.feedwarden(&["import", "-"]), "this is no list");
    snapshot("import_nonsense", &seen(&output));
}

#[test]
fn a_list_of_thousands_is_imported_and_listed_to_its_end() {
    let desk = Desk::new(&[Character::Healthy]);
    desk.works(&["pause"]);
    let outlines: String = (0..3000).map(|number| format!("<outline xmlUrl=\"http://h{number}.invalid/\"/>")).collect();
    std::fs::write(desk.directory.path().join("list.opml"), format!("<opml><body>{outlines}</body></opml>")).unwrap();
    assert_eq!(desk.json(&["import", "list.opml"])["added"], 3000);
    let listed = desk.works(&["source", "list", "--all"]);
    assert_eq!(listed.lines().count(), 3001, "one line each, below one line of headings");
    assert_eq!(desk.works(&["source", "list", "--all", "--json", "--text", "h29"]).lines().count(), 111);
    // The daemon looks at 200 sources for a page, and these are far behind the first ones.
    let rare = desk.works(&["source", "list", "--text", "h2999."]);
    assert!(rare.lines().count() == 2 && rare.contains("http://h2999.invalid/"), "{rare}");
    let first = desk.json(&["source", "list", "--text", "h29", "--limit", "2"]);
    assert_eq!(first["items"].as_array().unwrap().len(), 2);
    let cursor = first["next_cursor"].as_str().unwrap();
    let rest = desk.json(&["source", "list", "--text", "h29", "--limit", "1000", "--cursor", cursor]);
    assert_eq!((rest["items"].as_array().unwrap().len(), &rest["next_cursor"]), (109, &Value::Null));
    let none = desk.run(&["source", "list", "--text", "nowhere"]);
    assert_eq!(seen(&none).lines().count(), 2, "headings and no hint: {}", seen(&none));
}
