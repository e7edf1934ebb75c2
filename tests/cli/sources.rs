//! `feedwarden source`: adding costs one request and uses what it finds; everything else is told in words.

use feedwarden::clock::{Clock, SystemClock};
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::rules::hours;
use serde_json::json;

use super::{Console, seen, snapshot};
use crate::http::server::{Act, Server, ok};

const PAGE: &str = r#"<html><head><title>Page</title>
    <link rel="alternate" type="application/rss+xml" title="News" href="/news.xml">
    <link rel="alternate" type="application/atom+xml" href="/all.atom?a=1&amp;b=2"></head><body><p>Hello.</p></body></html>"#;

#[test]
fn p08_adding_a_source_costs_exactly_one_request_and_keeps_what_it_found() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    let url = console.url(SiteBehaviour::Healthy);
    console.check("source_add", &["source", "add", &url, "--title", "A site", "--label", "news"]);
    let served = console.web.served_entries_of(0).len();
    assert_eq!(served, 1);
    assert_eq!(console.json(&["post", "list"])["items"].as_array().unwrap().len(), served);
    // A second request would have been made by then.
    console.until_scheduled(1);
    assert_eq!(console.json(&["source", "explain", &url])["is_due"], false);
    assert_eq!(console.web.journal().len(), 1, "{:?}", console.web.journal());
}

#[test]
fn p08_adding_many_sources_costs_exactly_one_request_each() {
    let console = Console::new(&[SiteBehaviour::Healthy; 20]);
    for site in console.web.sites() {
        console.works(&["source", "add", &site.url]);
    }
    console.until_scheduled(20);
    let mut asked: Vec<_> = console.web.journal().iter().map(|exchange| exchange.site.unwrap()).collect();
    asked.sort_unstable();
    assert_eq!(asked, (0..20).collect::<Vec<_>>());
}

#[test]
fn a_source_that_does_not_work_is_refused_with_the_reason_unless_it_is_wanted_anyway() {
    let console = Console::new(&[SiteBehaviour::NotFound, SiteBehaviour::Dead, SiteBehaviour::BrokenXml]);
    for (behaviour, name) in [
        (SiteBehaviour::NotFound, "source_add_not_found"),
        (SiteBehaviour::Dead, "source_add_dead"),
        (SiteBehaviour::BrokenXml, "source_add_broken"),
    ] {
        console.check(name, &["source", "add", &console.url(behaviour)]);
    }
    assert_eq!(console.json(&["source", "list"])["items"], json!([]));
    console.check("source_add_anyway", &["source", "add", &console.url(SiteBehaviour::NotFound), "--anyway"]);
    let added = &console.json(&["source", "list"])["items"][0];
    assert_eq!((&added["state"], &added["last_error_type"]), (&json!("backing_off"), &json!("not_found")));
}

#[tokio::test]
async fn a_page_without_a_feed_offers_the_feeds_it_links_to() {
    let server = Server::play(vec![Act::Read, ok(PAGE)]).await;
    let url = server.url("/");
    let place = server.url("");
    let (text, items) = tokio::task::spawn_blocking(move || {
        let console = Console::new(&[SiteBehaviour::Healthy]);
        let text = console.session(&["source", "add", &url]);
        (text, console.json(&["source", "list"])["items"].clone())
    })
    .await
    .unwrap();
    snapshot("source_add_page", &text.replace(&place, "http://127.0.0.1:00000"));
    assert_eq!(items, json!([]));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_source_whose_host_is_held_is_added_and_it_is_said_when_it_is_polled() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    console.works(&["host", "hold", &console.web.sites()[0].host, "--seconds", "3600", "--reason", "be kind"]);
    console.check("source_add_held", &["source", "add", &console.url(SiteBehaviour::Healthy)]);
    assert_eq!(console.web.journal().len(), 0);
}

#[test]
fn who_wants_a_poll_while_polling_is_paused_is_told_so() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    console.works(&["pause"]);
    let mut told = console.session(&["source", "add", &console.url(SiteBehaviour::Healthy)]);
    told += &console.session(&["source", "poll", "1"]);
    told += &console.session(&["source", "poll", "1", "--force"]);
    console.until(&["status"], |status| status["scheduler"]["waiting"] == 1);
    told += &console.session(&["status"]).lines().filter(|line| line.starts_with("scheduler")).collect::<String>();
    snapshot("source_add_paused", &told);
    assert_eq!(console.web.journal().len(), 0);
}

#[test]
fn a_source_can_be_added_unseen() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    console.works(&["pause"]);
    console.check(
        "source_add_unseen",
        &["source", "add", &console.url(SiteBehaviour::Healthy), "--unseen", "--type", "rss"],
    );
    assert_eq!(console.web.journal().len(), 0);
}

#[test]
fn a_source_is_named_by_its_number_or_its_url_and_shown_in_words() {
    let console = Console::new(&[SiteBehaviour::Healthy, SiteBehaviour::NotFound]);
    let url = console.url(SiteBehaviour::Healthy);
    console.works(&["source", "add", &url]);
    console.works(&["source", "add", &console.url(SiteBehaviour::NotFound), "--anyway", "--title", "Not there"]);
    console.check("source_list", &["source", "list"]);
    console.check("source_list_some", &["source", "list", "--limit", "1"]);
    console.check("source_show", &["source", "show", "1"]);
    assert_eq!(console.session(&["source", "show", &url]), console.session(&["source", "show", "1"]));
    console.until_scheduled(2);
    console.check_beginning("source_explain", &["source", "explain", "2"]);
    let history = console.works(&["source", "history", "2"]);
    let words: Vec<&str> = history.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(words[3..6], ["failed", "404", "0"], "{history}");
    assert!(history.ends_with("HTTP 404 Not Found\n"), "{history}");
}

#[test]
fn a_source_is_changed_rests_wakes_and_goes() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    console.works(&["source", "add", &console.url(SiteBehaviour::Healthy), "--label", "old"]);
    let edit = ["source", "edit", "1", "--title", "New", "--interval-minutes", "30", "--label", "a", "--label", "b"];
    let edited = console.json(&edit);
    assert_eq!(
        (&edited["title"], &edited["poll_interval_minutes"], &edited["labels"]),
        (&json!("New"), &json!(30), &json!(["a", "b"]))
    );
    let unset =
        console.json(&["source", "edit", "1", "--unset", "title", "--unset", "interval-minutes", "--unset", "labels"]);
    assert_eq!(
        (&unset["title"], &unset["poll_interval_minutes"], &unset["labels"]),
        (&json!(null), &json!(null), &json!([]))
    );
    let mut told = String::new();
    for words in [
        &["source", "rest", "1", "--reason", "be quiet"][..],
        &["source", "poll", "1"],
        &["source", "wake", "1"],
        &["source", "disable", "1", "--reason", "no more"],
        &["source", "poll", "1"],
        &["source", "show", "1"],
        &["source", "reset", "1"],
        &["source", "remove", "1"],
        &["source", "show", "1"],
    ] {
        told += &format!("$ feedwarden {}\n{}", words.join(" "), console.session(words));
    }
    snapshot("source_life", &without_versions(&told));
}

#[test]
fn s406_a_source_is_disabled_and_enabled_by_an_edit() {
    let console = Console::new(&[SiteBehaviour::NotFound]);
    console.works(&["source", "add", &console.url(SiteBehaviour::NotFound), "--anyway"]);
    console.until_scheduled(1);
    let disabled = console.json(&["source", "edit", "1", "--enabled", "false", "--title", "Off"]);
    assert_eq!((&disabled["enabled"], &disabled["state"]), (&json!(false), &json!("disabled")));
    assert_eq!((&disabled["title"], &disabled["consecutive_failures"]), (&json!("Off"), &json!(1)));
    let version = disabled["version"].to_string();
    let enabled = console.json(&["source", "edit", "1", "--enabled", "true", "--if-version", &version]);
    assert_eq!((&enabled["enabled"], &enabled["consecutive_failures"]), (&json!(true), &json!(0)));
    assert_eq!(enabled["version"], json!(disabled["version"].as_i64().unwrap() + 1));
    // Due at once: it fails for the first time again.
    console.until(&["source", "show", "1"], |source| source["consecutive_failures"] == 1);
    assert_eq!(console.web.journal().len(), 2);
    let stale = console.run(&["source", "edit", "1", "--enabled", "false", "--if-version", &version]);
    assert_eq!(stale.status.code(), Some(5), "{}", seen(&stale));
    let wrong = console.run(&["source", "edit", "1", "--enabled", "maybe"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(seen(&wrong).contains("[possible values: true, false]"), "{}", seen(&wrong));
}

#[test]
fn s417_a_rest_for_a_kind_of_failure_says_until_when() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    console.works(&["source", "add", &console.url(SiteBehaviour::Healthy)]);
    console.until_scheduled(1);
    let mut told = String::new();
    for words in [
        &["source", "rest", "1", "--reason", "not_found"][..],
        &["source", "show", "1"],
        &["source", "list", "--state", "resting"],
        &["source", "rest", "1", "--reason", "rate_limited"],
        &["source", "show", "1"],
        &["source", "wake", "1"],
    ] {
        told += &format!("$ feedwarden {}\n{}", words.join(" "), console.session(words));
    }
    snapshot("source_rest_kinds", &without_versions(&told));
    console.works(&["source", "rest", "1", "--reason", "gone"]);
    let explained = console.works(&["source", "explain", "1"]);
    assert!(explained.starts_with("source 1 is resting: next poll at 20"), "{explained}");
    assert!(explained.contains("it rests because gone was reported (feed-disable)"), "{explained}");
}

/// Each change and each poll makes a version, and how many polls there were is not told here.
fn without_versions(text: &str) -> String {
    let kept =
        text.lines().filter(|line| !["version", "last poll", "last success"].iter().any(|name| line.starts_with(name)));
    kept.map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_poll_is_waited_for_and_told() {
    let console = Console::new(&[SiteBehaviour::Healthy, SiteBehaviour::NotFound]);
    console.works(&["source", "add", &console.url(SiteBehaviour::Healthy)]);
    console.works(&["source", "add", &console.url(SiteBehaviour::NotFound), "--anyway"]);
    console.check("source_poll", &["source", "poll", "1"]);
    console.check("source_poll_failed", &["source", "poll", "2", "--force"]);
    let output = console.run(&["source", "poll", "1", "--wait", "0", "--json"]);
    assert!(seen(&output).contains("\"answer\": \"requested\""), "{}", seen(&output));
}

#[test]
fn two_people_who_change_a_source_do_not_lose_an_update() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    console.works(&["source", "add", &console.url(SiteBehaviour::Healthy)]);
    let version = console.json(&["source", "show", "1"])["version"].to_string();
    console.works(&["source", "edit", "1", "--title", "Mine", "--if-version", &version]);
    let output = console.run(&["source", "edit", "1", "--title", "Yours", "--if-version", &version]);
    assert_eq!(output.status.code(), Some(5), "{}", seen(&output));
    assert_eq!(console.json(&["source", "show", "1"])["title"], "Mine");
}

/// A feed whose entries are older than any source that a test adds, and within the age limit.
fn old_feed() -> String {
    let yesterday = SystemClock.now() - hours(24);
    let item = |id: &str| {
        format!(
            "<item><guid>{id}</guid><title>{id}</title><description>{id}.</description><pubDate>{yesterday}</pubDate></item>"
        )
    };
    let items = [item("One"), item("Two")].concat();
    format!(r#"<?xml version="1.0"?><rss version="2.0"><channel><title>Old news</title>{items}</channel></rss>"#)
}

#[tokio::test]
async fn entries_older_than_the_source_are_told_and_kept_if_they_are_wanted() {
    let server = Server::play(vec![Act::Read, ok(&old_feed()), Act::NextConnection, Act::Read, ok(&old_feed())]).await;
    let urls = [server.url("/skipped"), server.url("/wanted")];
    tokio::task::spawn_blocking(move || {
        let console = Console::new(&[SiteBehaviour::Healthy]);
        let sentence = "2 entries: 0 new, 2 skipped (older than the source; --backlog keeps them)";
        let told = console.works(&["source", "add", &urls[0], "--delay-seconds", "0"]);
        assert!(told.contains(&format!("read, {sentence}\n")), "{told}");
        let history = console.works(&["source", "history", "1"]);
        assert!(history.contains(sentence), "{history}");
        let explained = console.works(&["source", "explain", "1"]);
        assert!(explained.contains(sentence), "{explained}");
        let poll = console.json(&["source", "explain", "1"])["last_polls"][0].clone();
        assert_eq!((&poll["entries_text"], &poll["entries"]["before_source"]), (&json!(sentence), &json!(2)));
        let list = console.works(&["source", "list"]);
        assert!(list.contains("Old news"), "{list}");

        let told = console.works(&["source", "add", &urls[1], "--delay-seconds", "0", "--backlog"]);
        assert!(told.contains("read, 2 entries: 2 new\n"), "{told}");
        let posts = console.json(&["post", "list", "--source", "2", "--oldest"])["items"].clone();
        assert_eq!(posts.as_array().unwrap().len(), 2, "{posts}");
        assert_eq!(console.json(&["source", "show", "2"])["backlog"], "keep");
        let source = console.json(&["source", "edit", "2", "--backlog=all", "--full-text", "when-short"]);
        assert_eq!((&source["backlog"], &source["full_text"]), (&json!("all"), &json!("when-short")));
        let unset = console.json(&["source", "edit", "2", "--unset", "backlog", "--unset", "full-text"]);
        assert_eq!((&unset["backlog"], &unset["full_text"]), (&json!(null), &json!(null)));
        let agent = "reader/1.0 (+https://a.example)";
        let source = console.json(&["source", "edit", "2", "--user-agent", agent, "--proxy", "none"]);
        assert_eq!((&source["user_agent"], &source["proxy"]), (&json!(agent), &json!("none")));
        let shown = console.works(&["source", "show", "2"]);
        assert!(shown.contains(agent) && shown.contains("proxy"), "{shown}");
        for proxy in ["socks5://ann:hidden@a.example", "ftp://hidden.example"] {
            let refused = console.run(&["source", "edit", "2", "--proxy", proxy]);
            let told = String::from_utf8_lossy(&refused.stderr);
            assert!(!refused.status.success() && told.contains("proxy") && !told.contains("hidden"), "{told}");
        }
        let unset = console.json(&["source", "edit", "2", "--unset", "user-agent", "--unset", "proxy"]);
        assert_eq!((&unset["user_agent"], &unset["proxy"]), (&json!(null), &json!(null)));
    })
    .await
    .unwrap();
}
