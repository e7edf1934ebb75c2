//! Commands for several sources, sources by a part of their name, and labels one by one.

use std::process::Stdio;

use feedwarden::demo::web::SiteBehaviour;
use serde_json::{Value, json};

use super::{Console, seen};

/// A console with these sources, which are never polled.
fn with_sources(sources: &[(&str, &str, &[&str])]) -> Console {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    console.works(&["pause"]);
    for (url, title, labels) in sources {
        let mut words = vec!["source", "add", url, "--unseen", "--title", title];
        labels.iter().for_each(|label| words.extend(["--label", label]));
        console.works(&words);
    }
    console
}

fn three() -> Console {
    with_sources(&[
        ("http://a.invalid/feed", "Apples and pears", &["news", "fruit"]),
        ("http://b.invalid/feed", "Bananas", &["news"]),
        ("http://c.invalid/feed2", "Cherries", &[]),
    ])
}

fn states(console: &Console) -> Vec<String> {
    let listed = console.json(&["source", "list"]);
    let items = listed["items"].as_array().unwrap();
    items.iter().map(|source| source["state"].as_str().unwrap().to_owned()).collect()
}

fn lines(output: &std::process::Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn several_sources_are_disabled_enabled_and_removed_by_one_command() {
    let console = three();
    assert_eq!(console.works(&["source", "disable", "1", "3", "1"]), "source 1 is disabled\nsource 3 is disabled\n");
    assert_eq!(states(&console), ["disabled", "active", "disabled"]);
    console.works(&["source", "enable", "--state", "disabled"]);
    assert_eq!(states(&console), ["active"; 3]);
    console.works(&["source", "rest", "--label", "news", "--reason", "later"]);
    assert_eq!(states(&console), ["resting", "resting", "active"]);
    console.works(&["source", "wake", "--host", "b.invalid"]);
    assert_eq!(states(&console), ["resting", "active", "active"]);
    console.works(&["source", "edit", "1", "2", "--interval", "90m"]);
    let listed = console.json(&["source", "list", "--label", "news"]);
    assert_eq!(
        (&listed["items"][0]["poll_interval_minutes"], &listed["items"][1]["poll_interval_minutes"]),
        (&json!(90), &json!(90))
    );
    console.works(&["source", "remove", "--all"]);
    assert_eq!(states(&console), [""; 0]);
}

#[test]
fn every_result_is_told_and_the_worst_decides_the_exit_code() {
    let console = three();
    let output = console.run(&["source", "disable", "1", "99", "2"]);
    let text = seen(&output);
    assert_eq!(output.status.code(), Some(4), "{text}");
    for line in [
        "source 1 is disabled\n",
        "source 2 is disabled\n",
        "! feedwarden: source 99: there is no source 99\n",
        "! feedwarden: 1 of 3 sources failed\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert_eq!(states(&console), ["disabled", "disabled", "active"]);
    let output = console.run(&["source", "poll", "1", "98", "99", "--json"]);
    let told = lines(&output);
    assert_eq!(output.status.code(), Some(6), "disabled is worse than missing: {told:?}");
    let ids: Vec<&Value> = told.iter().map(|line| &line["source_id"]).collect();
    assert_eq!(ids, [&json!(1), &json!(98), &json!(99)], "in the order of the command");
    assert_eq!((&told[0]["ok"], &told[0]["problem"]["status"]), (&json!(false), &json!(409)));
    assert_eq!(told[1]["problem"]["status"], 404);
    let output = console.run(&["source", "enable", "--label", "news", "--json"]);
    let told = lines(&output);
    assert_eq!((told.len(), &told[0]["ok"], &told[0]["result"]["state"]), (2, &json!(true), &json!("active")));
    assert_eq!(console.json(&["source", "enable", "1"])["id"], 1, "one source is answered with itself");
}

#[test]
fn a_selection_without_sources_is_told() {
    let console = three();
    for (words, what) in [
        (&["source", "poll", "--label", "none"][..], "no source matches --label none"),
        (
            &["source", "wake", "--state", "resting", "--label", "news"],
            "no source matches --label news --state resting",
        ),
        (&["label", "remove", "none", "--all"], "no source has the label none"),
    ] {
        let output = console.run(words);
        assert!(output.status.code() == Some(4) && seen(&output).contains(what), "{}", seen(&output));
    }
    for words in [
        &["source", "disable"][..],
        &["source", "disable", "1", "--all"],
        &["source", "disable", "--all", "--label", "news"],
        &["source", "disable", "1", "2", "--if-version", "1"],
        &["source", "edit", "1", "2", "--move-to", "http://d.invalid/"],
    ] {
        assert_eq!(console.run(words).status.code(), Some(2), "{words:?}");
    }
    assert_eq!(states(&console), ["active"; 3]);
}

#[test]
fn several_sources_are_polled_together() {
    let console = Console::new(&[SiteBehaviour::Healthy, SiteBehaviour::NotFound, SiteBehaviour::Healthy]);
    for site in console.web.sites() {
        console.works(&["source", "add", &site.url, "--anyway", "--label", "all"]);
    }
    console.until_scheduled(3);
    let output = console.run(&["source", "poll", "--label", "all", "--force"]);
    let text = seen(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("source 2: failed: HTTP 404 Not Found\n"), "{text}");
    assert!(text.contains("source 1: ") && text.contains("source 3: "), "{text}");
    assert_eq!(console.web.journal().len(), 6);
}

#[test]
fn a_source_is_named_by_a_part_that_no_other_has() {
    let console = three();
    assert_eq!(console.json(&["source", "show", "apples"])["id"], 1);
    assert_eq!(console.json(&["source", "show", "b.invalid"])["id"], 2);
    assert_eq!(console.json(&["post", "list", "--source", "cherries"])["items"], json!([]));
    let output = console.run(&["source", "disable", "BANAN"]);
    let text = seen(&output);
    assert!(
        text.contains("BANAN is source 2, http://b.invalid/feed (Bananas)") && text.contains("source 2 is disabled"),
        "{text}"
    );
    let output = console.run(&["source", "disable", "invalid"]);
    let text = seen(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    for line in [
        "is a part of several sources",
        "1, http://a.invalid/feed (Apples and pears)",
        "3, http://c.invalid/feed2 (Cherries)",
    ] {
        assert!(text.contains(line), "{text}");
    }
    // A complete URL is no part: the source that was meant may be gone.
    let output = console.run(&["source", "remove", "http://c.invalid/feed"]);
    assert_eq!(output.status.code(), Some(4), "{}", seen(&output));
    let output = console.run(&["source", "disable", "1", "nothing of the kind", "invalid"]);
    let text = seen(&output);
    assert!(output.status.code() == Some(2) && text.contains("nothing was changed"), "{text}");
    assert!(text.contains("no source has nothing of the kind in its URL or title"), "{text}");
    assert_eq!(states(&console), ["active", "disabled", "active"]);
    assert_eq!(console.run(&["source", "show", " "]).status.code(), Some(2));
}

#[test]
fn an_ambiguous_name_lists_ten_candidates() {
    let many: Vec<String> = (0..12).map(|number| format!("http://h{number}.invalid/")).collect();
    let many: Vec<(&str, &str, &[&str])> = many.iter().map(|url| (url.as_str(), "One of many", &[][..])).collect();
    let console = with_sources(&many);
    let text = seen(&console.run(&["source", "remove", "one of"]));
    assert_eq!(text.matches("(One of many)").count(), 10, "{text}");
    assert!(text.contains("and more"), "{text}");
    assert_eq!(states(&console).len(), 12);
}

#[test]
fn labels_are_added_removed_renamed_and_counted_one_by_one() {
    let console = three();
    let edited =
        console.json(&["source", "edit", "1", "--add-label", "new", "--add-label", "news", "--remove-label", "fruit"]);
    assert_eq!(edited["labels"], json!(["news", "new"]));
    assert_eq!(
        console.works(&["label", "add", "red", "1", "cherries"]),
        "source 1 has the labels news, new, red\nsource 3 has the labels red\n"
    );
    let version = console.json(&["source", "show", "3"])["version"].clone();
    console.works(&["label", "add", "red", "3"]);
    assert_eq!(console.json(&["source", "show", "3"])["version"], version, "a label that is there changes nothing");
    console.works(&["label", "remove", "new", "1"]);
    console.works(&["label", "rename", "news", "press"]);
    assert_eq!(console.json(&["source", "show", "1"])["labels"], json!(["press", "red"]), "it keeps its place");
    let counts: Vec<(Value, Value)> = console.json(&["label", "list"])["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|label| (label["label"].clone(), label["sources"].clone()))
        .collect();
    assert_eq!(counts, [(json!("press"), json!(2)), (json!("red"), json!(2))]);
    console.works(&["label", "remove", "press", "--all"]);
    assert_eq!(console.json(&["label", "list"])["items"].as_array().unwrap().len(), 1);
    for (words, code) in [
        (&["label", "rename", "none", "other"][..], 4),
        (&["source", "edit", "1", "--add-label", "a", "--remove-label", "a"], 2),
        (&["source", "edit", "1", "--add-label", "a", "--label", "b"], 2),
        (&["label", "add", " ", "1"], 2),
    ] {
        let output = console.run(words);
        assert_eq!(output.status.code(), Some(code), "{}", seen(&output));
    }
    let many: Vec<String> = (0..17).map(|number| format!("l{number}")).collect();
    let mut words = vec!["source", "edit", "2"];
    many.iter().for_each(|label| words.extend(["--add-label", label]));
    assert!(seen(&console.run(&words)).contains("at most 16 labels"));
}

#[test]
fn labels_that_are_added_at_the_same_time_are_all_kept() {
    let console = three();
    let labels: Vec<String> = (0..8).map(|number| format!("at-once-{number}")).collect();
    let adding: Vec<_> = labels
        .iter()
        .map(|label| console.feedwarden(&["label", "add", label, "3"]).stdout(Stdio::null()).spawn().unwrap())
        .collect();
    for mut process in adding {
        assert!(process.wait().unwrap().success());
    }
    let source = console.json(&["source", "show", "3"]);
    let mut found: Vec<&str> =
        source["labels"].as_array().unwrap().iter().map(|label| label.as_str().unwrap()).collect();
    found.sort_unstable();
    assert_eq!(found, labels);
}

#[test]
fn a_renamed_label_is_renamed_at_webhooks_too() {
    let console = Console::with(&[SiteBehaviour::Healthy], &["--set", super::ENCRYPTION_KEY_FILE]);
    console.works(&["pause"]);
    console.works(&["source", "add", "http://a.invalid/", "--unseen", "--label", "news"]);
    console.works(&["webhook", "add", "http://127.0.0.1:1/", "--label", "news"]);
    let told = console.works(&["label", "rename", "news", "press"]);
    assert!(told.contains("webhook 1 has the label press"), "{told}");
    let webhook = console.json(&["webhook", "show", "1"]);
    assert_eq!((&webhook["label"], &webhook["enabled"]), (&json!("press"), &json!(true)));
}

#[test]
fn times_are_taken_as_people_write_them() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    console.works(&["source", "add", &console.url(SiteBehaviour::Healthy)]);
    let count = |words: &[&str]| console.json(&[&["post", "list"], words].concat())["items"].as_array().unwrap().len();
    let all = count(&[]);
    assert!(all > 0);
    for since in ["1h", "2 days ago", "yesterday", "2026-01-01", "1d12h", "2000-01-01T00:00:00Z"] {
        assert_eq!(count(&["--since", since]), all, "{since}");
    }
    assert_eq!(count(&["--until", "1h"]), 0);
    let output = console.run(&["post", "list", "--since", "some day"]);
    assert!(output.status.code() == Some(2) && seen(&output).contains("write 1h, 90m, 1d12h"), "{}", seen(&output));
    let held = console.works(&["host", "hold", "a.example", "--for", "2h", "--reason", "calm"]);
    assert!(held.contains("held"), "{held}");
    for wrong in ["soon", "0s", "5"] {
        let output = console.run(&["host", "hold", "a.example", "--for", wrong, "--reason", "calm"]);
        assert!(output.status.code() == Some(2) && seen(&output).contains("write 30s, 90m, 2h"), "{}", seen(&output));
    }
}

#[test]
fn times_are_local_for_people_and_universal_for_programs() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    console.works(&["source", "add", &console.url(SiteBehaviour::Healthy)]);
    let in_zone = |words: &[&str]| {
        let output = console.feedwarden(words).env("TZ", "XYZ-9").output().unwrap();
        assert!(output.status.success(), "{}", seen(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let universal = regex::Regex::new(r"\dT\d\d:\d\d").unwrap();
    let listed = in_zone(&["source", "list"]);
    assert!(listed.lines().next().unwrap().contains("LAST POLL (XYZ)"), "{listed}");
    for words in [
        &["source", "show", "1"][..],
        &["source", "explain", "1"],
        &["status"],
        &["source", "history", "1"],
        &["host", "show", &console.web.sites()[0].host],
    ] {
        let text = in_zone(words);
        assert!(text.contains(" XYZ") && !text.contains(" UTC"), "{words:?}: {text}");
        assert!(!universal.is_match(&text), "{words:?}: {text}");
    }
    let source: Value = serde_json::from_str(&in_zone(&["source", "show", "1", "--json"])).unwrap();
    let polled = source["last_polled"].as_str().unwrap();
    assert!(polled.ends_with('Z'), "{polled}");
    let hour: u32 = polled[11..13].parse().unwrap();
    let shown = in_zone(&["source", "show", "1"]);
    assert!(shown.contains(&format!(" {:02}{} XYZ", (hour + 9) % 24, &polled[13..19])), "{shown}");
}
