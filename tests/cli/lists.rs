//! Hosts, posts and lists for other readers.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use feedwarden::demo::web::{EntryHabit, SiteBehaviour};
use serde_json::{Value, json};

use super::{Console, fed, seen, snapshot, start};

#[test]
fn an_empty_list_says_what_to_do() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    let said = |words: &[&str]| {
        let output = console.feedwarden(words).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(said(&["source", "list"]).contains("`feedwarden source add URL` adds one"));
    assert!(said(&["post", "list", "--all"]).contains("no posts yet"));
    assert_eq!(said(&["source", "list", "--label", "news"]), "feedwarden: nothing matches these options\n");
    assert_eq!(said(&["source", "list", "--json"]), "");
    console.works(&["source", "add", &console.url(SiteBehaviour::Healthy)]);
    assert_eq!(said(&["source", "list"]), "");
}

#[test]
fn hosts_are_listed_held_and_released() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    console.works(&["source", "add", &console.url(SiteBehaviour::Healthy)]);
    console.check("host_list", &["host", "list"]);
    let host = console.web.sites()[0].host.clone();
    console.check("host_hold", &["host", "hold", &host, "--seconds", "3600", "--reason", "be kind"]);
    console.until_scheduled(1);
    console.check_beginning("source_explain_held", &["source", "explain", "1"]);
    console.check("host_release", &["host", "release", &host]);
    console.works(&["source", "disable", "1"]);
    assert_eq!(console.works(&["host", "enable-sources", &host]), "1 sources are enabled\n");
    assert_eq!(console.json(&["host", "reset-breaker", &host])["state"], "available");
}

#[test]
fn posts_are_listed_from_the_newest_and_shown() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    console.works(&["source", "add", &console.url(SiteBehaviour::Healthy)]);
    console.web.publish(0, 3);
    console.works(&["source", "poll", "1", "--force"]);
    let ids = |page: &Value| -> Vec<i64> {
        page["items"].as_array().unwrap().iter().map(|post| post["id"].as_i64().unwrap()).collect()
    };
    let newest = ids(&console.json(&["post", "list"]));
    let mut oldest =
        ids(&console.json(&["post", "list", "--oldest", "--source", &console.url(SiteBehaviour::Healthy)]));
    assert!(newest.len() >= 3 && newest.is_sorted_by(|one, other| one > other), "{newest:?}");
    oldest.reverse();
    assert_eq!(newest, oldest);
    let lines = console.works(&["post", "list", "--all", "--json"]);
    let all: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(all.len(), newest.len());
    let since = console.json(&["post", "list", "--since", "2000-01-01T00:00:00Z", "--limit", "2"]);
    assert_eq!((ids(&since).len(), since["next_cursor"].is_string()), (2, true));
    let shown = console.works(&["post", "show", &newest[0].to_string()]);
    assert!(shown.starts_with(&format!("post       {}\nsource     1, Site 0, http://", newest[0])), "{shown}");
    assert!(shown.contains("\nguid       "), "{shown}");
    let title = all[0]["title"].as_str().unwrap().to_uppercase();
    let found = console.json(&["post", "list", "--text", &title]);
    assert_eq!(found["items"][0]["title"], all[0]["title"], "{found:#}");
    console.works(&["source", "edit", "1", "--label", "news"]);
    assert_eq!(ids(&console.json(&["post", "list", "--label", "news"])), newest);
    assert_eq!(console.json(&["post", "list", "--label", "none"])["items"], json!([]));
    assert_eq!(ids(&console.json(&["post", "list", "--label", "news", "--since", "1h"])), newest);
    assert_eq!(ids(&console.json(&["post", "list", "--since", "1h"])), newest);
    let mut oldest = newest.clone();
    oldest.reverse();
    assert_eq!(ids(&console.json(&["post", "list", "--since", "1h", "--oldest"])), oldest);
    assert_eq!(ids(&console.json(&["post", "list", "--text", &title, "--since", "today", "--label", "news"])).len(), 1);
    for none in [&["--since", "now"][..], &["--until", "1h"]] {
        let found = console.json(&[&["post", "list", "--label", "news"], none].concat());
        assert_eq!(found["items"], json!([]), "{none:?}");
    }
}

#[test]
fn previous_revisions_of_an_edited_post_are_shown() {
    let console = Console::of_habit(EntryHabit::EditsNewest);
    console.works(&["source", "add", &console.url(SiteBehaviour::Healthy)]);
    console.web.publish(0, 3);
    console.works(&["source", "poll", "1", "--force"]);
    console.works(&["source", "poll", "1", "--force"]);
    let posts = console.json(&["post", "list"]);
    let posts = posts["items"].as_array().unwrap();
    let edited = posts.iter().find(|post| post["revision"] != 0).unwrap_or_else(|| panic!("none in {posts:#?}"));
    let id = edited["id"].to_string();
    let revisions = console.json(&["post", "revisions", &id]);
    let newest = &revisions["items"][0];
    assert_eq!(newest["revision"].as_u64(), edited["revision"].as_u64().map(|revision| revision - 1));
    assert_ne!(newest["text"], edited["text"]);
    let shown = console.works(&["post", "revisions", &id]);
    assert!(shown.starts_with(&format!("revision   {}\ntitle      ", newest["revision"])), "{shown}");
    assert!(shown.contains(newest["text"].as_str().unwrap()), "{shown}");
    let unedited = posts.iter().find(|post| post["revision"] == 0).unwrap()["id"].to_string();
    let output = console.feedwarden(&["post", "revisions", &unedited]).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    assert!(String::from_utf8(output.stderr).unwrap().contains("no previous revisions of this post are kept"));
    let missing = console.feedwarden(&["post", "revisions", "4711"]).output().unwrap();
    assert!(String::from_utf8(missing.stderr).unwrap().contains("there is no post 4711"));
}

#[test]
fn s703_a_post_shows_its_author_and_its_byline() {
    let console = Console::new(&[SiteBehaviour::Website]);
    console.works(&["source", "add", &console.url(SiteBehaviour::Website), "--type", "website"]);
    console.works(&["source", "poll", "1", "--force"]);
    let listed = console.json(&["post", "list"]);
    let post = &listed["items"][0];
    assert_eq!((&post["author"], &post["byline"]), (&"Site 0".into(), &"Ada Moss".into()), "{listed:#}");
    let shown = console.works(&["post", "show", &post["id"].to_string()]);
    assert!(shown.contains("\nauthor     Site 0\nbyline     Ada Moss\n"), "{shown}");
}

#[test]
fn posts_are_followed_without_gaps_or_repeats_over_a_restart_of_the_daemon() {
    let mut console = Console::new(&[SiteBehaviour::Healthy]);
    console.works(&["source", "add", &console.url(SiteBehaviour::Healthy)]);
    let before = console.json(&["post", "list"])["items"].as_array().unwrap().len();
    let count = (before + 3).to_string();
    let mut command = console.feedwarden(&["post", "tail", "--after", "0", "--count", &count, "--json"]);
    let mut tail = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    let mut id = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap()["id"].as_i64().unwrap();
    let mut ids: Vec<i64> = (0..before).map(|_| id()).collect();
    console.web.publish(0, 2);
    console.works(&["source", "poll", "1", "--force"]);
    ids.extend([id(), id()]);
    console.daemon.kill().unwrap();
    console.daemon.wait().unwrap();
    console.daemon = start(console.directory.path(), &[]);
    console.web.publish(0, 1);
    console.works(&["source", "poll", "1", "--force"]);
    ids.push(id());
    assert_eq!(tail.wait().unwrap().code(), Some(0));
    assert!(ids.is_sorted_by(|one, other| one < other), "{ids:?}");
    let stored: Vec<Value> = console
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
    let console = Console::new(&[SiteBehaviour::Healthy]);
    console.works(&["pause"]);
    std::fs::write(console.directory.path().join("list.opml"), LIST).unwrap();
    console.check("import", &["import", "list.opml"]);
    console.check("import_again", &["import", "list.opml"]);
    let report: Value =
        serde_json::from_slice(&fed(console.feedwarden(&["import", "-", "--json"]), LIST).stdout).unwrap();
    assert_eq!((&report["added"], &report["duplicates"], &report["rejected"]), (&json!(0), &json!(3), &json!(1)));
    console.check("export", &["export"]);
    console.works(&["export", "--output", "out.opml"]);
    assert_eq!(std::fs::read_to_string(console.directory.path().join("out.opml")).unwrap(), console.works(&["export"]));
    let output = fed(console.feedwarden(&["import", "-"]), "this is no list");
    snapshot("import_nonsense", &seen(&output));
}

#[test]
fn a_list_of_thousands_is_imported_and_listed_to_its_end() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    console.works(&["pause"]);
    let outlines: String = (0..3000).map(|number| format!("<outline xmlUrl=\"http://h{number}.invalid/\"/>")).collect();
    std::fs::write(console.directory.path().join("list.opml"), format!("<opml><body>{outlines}</body></opml>"))
        .unwrap();
    assert_eq!(console.json(&["import", "list.opml"])["added"], 3000);
    let listed = console.works(&["source", "list", "--all"]);
    assert_eq!(listed.lines().count(), 3001, "one line each, below one line of headings");
    assert_eq!(console.works(&["source", "list", "--all", "--json", "--text", "h29"]).lines().count(), 111);
    // The daemon looks at 200 sources for a page, and these are far behind the first ones.
    let rare = console.works(&["source", "list", "--text", "h2999."]);
    assert!(rare.lines().count() == 2 && rare.contains("http://h2999.invalid/"), "{rare}");
    let first = console.json(&["source", "list", "--text", "h29", "--limit", "2"]);
    assert_eq!(first["items"].as_array().unwrap().len(), 2);
    let cursor = first["next_cursor"].as_str().unwrap();
    let rest = console.json(&["source", "list", "--text", "h29", "--limit", "1000", "--cursor", cursor]);
    assert_eq!((rest["items"].as_array().unwrap().len(), &rest["next_cursor"]), (109, &Value::Null));
    let none = console.run(&["source", "list", "--text", "nowhere"]);
    assert!(!seen(&none).contains("--cursor") && seen(&none).lines().count() == 3, "headings, reason: {}", seen(&none));
}
