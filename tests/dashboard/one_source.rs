//! What a user does with one source, and how sources come and go.

use std::time::Duration;

use feedwarden::api::tokens::TokenScope;
use rstest::rstest;
use serde_json::{Value, json};

use super::DashboardWorld;
use crate::pipeline::publisher::{answer, feed, publisher};
use crate::pipeline::run;
use crate::store::Engine::{self, Postgres, Sqlite};

#[rstest]
fn every_action_of_the_page_has_its_effect(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let world = DashboardWorld::of(engine).await;
        let visit = world.sign_in(TokenScope::Write).await;
        let id = world.sources[0];
        let here = format!("/sources/{id}");
        visit.open(&here).await;
        let field = async |name: &str| world.source(id).await[name].clone();
        for button in ["Force a poll", "Poll now"] {
            world.api.world.advance(Duration::from_secs(1));
            visit.press_button(button).await;
            visit.wait_for_text(".notice", "Polled: ").await;
        }
        visit.fill("#disable-reason", "moves").await;
        visit.press_button("Disable").await;
        visit.wait_for_text(".notice", "The source is disabled.").await;
        assert_eq!(field("enabled").await, false);
        visit.wait_for_text("#source .problem", "moves").await;
        visit.press_button("Enable").await;
        visit.wait_for_text(".notice", "The source is enabled.").await;
        assert_eq!(field("enabled").await, true);
        visit.fill("#rest-reason", "night").await;
        visit.press_button("Rest").await;
        visit.wait_for_text(".notice", "The source rests.").await;
        assert_eq!(field("state").await, "resting");
        visit.press_button("Wake (end the rest)").await;
        visit.wait_for_text(".notice", "The rest is over.").await;
        assert_eq!(field("state").await, "active");
        visit.fill("#add-label", "press & more").await;
        visit.press_button("Add label").await;
        visit.wait_for_text(".notice", "The source has the label press & more.").await;
        assert_eq!(field("labels").await, json!(["press & more"]));
        visit.click("button[aria-label='Remove the label press & more']").await;
        visit.wait_for_text(".notice", "The source no longer has the label press & more.").await;
        assert_eq!(field("labels").await, json!([]));
        // It waits for the turn of its host.
        let clock = world.api.world.clock.clone();
        let passing = actix_rt::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(50)).await;
                clock.advance(Duration::from_secs(1));
            }
        });
        visit.press_button("Backfill").await;
        visit.wait_for_text(".notice", "pages read").await;
        passing.abort();
        visit.fill("#set-title", "A title").await;
        visit.fill("#set-poll_interval_minutes", "45").await;
        visit.press_button("Save settings").await;
        visit.wait_for_text(".notice", "The settings are saved.").await;
        assert_eq!((field("title").await, field("poll_interval_minutes").await), (json!("A title"), json!(45)));
        assert_eq!(visit.text("h1").await, "A title");
        visit.fill("#set-poll_interval_minutes", "x").await;
        visit.press_button("Save settings").await;
        visit.wait_for_text(".problem", "is not a whole number").await;
        assert_eq!(field("poll_interval_minutes").await, 45);
        visit.open(&here).await;
        visit.click("#access summary").await;
        visit.fill("#login-name", "ann").await;
        visit.fill("#login-password", "canary").await;
        visit.fill("#headers", "X-Key: 1").await;
        visit.press_button("Set").await;
        visit.wait_for_text(".notice", "Login and headers are set.").await;
        assert_eq!(field("has_access").await, true);
        assert!(!visit.source().await.contains("canary"), "the page never shows it");
        visit.click("#access summary").await;
        visit.press_button("Remove login and headers").await;
        visit.wait_for_text(".notice", "are removed").await;
        assert_eq!(field("has_access").await, false);
        let url = world.api.url(0).replace("/feed", "/other");
        visit.fill("#set-url", &url).await;
        visit.press_button("Change URL").await;
        visit.wait_for_text(".notice", "The URL is changed.").await;
        assert_eq!(field("url").await, url);
        visit.click("#remove summary").await;
        visit.click("#remove input[name=sure]").await;
        visit.press_button("Remove").await;
        visit.wait_for_text(".notice", &format!("Source {id} is removed with its posts.")).await;
        assert_eq!(world.api.get(&here).await.status, 404);
        let actions = world.audited_by_browser().await;
        for action in
            ["poll", "disable", "enable", "rest", "wake", "edit", "backfill", "access", "access-remove", "remove"]
        {
            assert!(actions.contains(&format!("source.{action}")), "{action}: {actions:?}");
        }
        drop(visit);
        world.api.stop().await;
    });
}

#[test]
fn a_failing_source_says_why_and_what_follows_and_its_counters_are_reset() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let visit = world.sign_in(TokenScope::Write).await;
        visit.open(&format!("/sources/{}", world.sources[2])).await;
        visit.wait_for_text("#source", "1 failure in a row").await;
        assert!(visit.text("#source").await.contains("not found"));
        assert_eq!(visit.count("svg.chart rect.failed").await, 1);
        visit.press_button("Reset failures").await;
        visit.wait_for_text(".notice", "The failure counters are reset.").await;
        assert_eq!(world.source(world.sources[2]).await["consecutive_failures"], 0);
        drop(visit);
        world.api.stop().await;
    });
}

#[test]
fn the_next_poll_counts_down() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let visit = world.sign_in(TokenScope::Read).await;
        visit.open(&format!("/sources/{}", world.sources[0])).await;
        let first = visit.text(".countdown").await;
        visit.wait_until(".countdown", |text| text != first && text.contains(':')).await;
        drop(visit);
        world.api.stop().await;
    });
}

#[test]
fn a_source_is_added_and_the_feeds_of_a_page_are_offered() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let page = |path: &str| {
            let html = format!(
                "<html><head><title>News</title><link rel=alternate type=application/rss+xml href={path}></head><body><p>News</body></html>"
            );
            answer("200 OK", &["Content-Type: text/html", "Connection: close"], &html)
        };
        let server = publisher(&[page("/feed.xml"), feed(&["Connection: close"], &["One", "Two"])]).await;
        let visit = world.sign_in(TokenScope::Write).await;
        visit.open("/sources").await;
        visit.click("a.button[href$='/sources/new']").await;
        visit.wait_for_text("h1", "Add a source").await;
        visit.fill("#url", &format!("http://{}/", server.address)).await;
        visit.fill("#labels", "press, daily").await;
        visit.click("input[name=backlog]").await;
        visit.press_button("Add and poll").await;
        visit.wait_for_text("h2", "Feeds of this page").await;
        assert_eq!(world.api.get("/sources").await.json()["items"].as_array().unwrap().len(), world.sources.len());
        visit.press_button("Add this feed").await;
        visit.wait_for_text(".notice", "is added. Its first poll:").await;
        let added = world.api.get("/sources?label=daily").await.json()["items"][0].clone();
        assert_eq!((&added["labels"], &added["feed_title"]), (&json!(["press", "daily"]), &json!("A feed")), "{added}");
        // Once more: it is known, and the page leads to it.
        visit.open("/sources/new").await;
        visit.fill("#url", added["url"].as_str().unwrap()).await;
        visit.press_button("Add and poll").await;
        visit.wait_for_text("main", &format!("Show source {}", added["id"])).await;
        drop(visit);
        world.api.stop().await;
    });
}

#[test]
fn a_list_is_imported_by_dropping_its_file_and_exported() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        world.api.tell("POST", "/scheduler/pause", Value::Null).await;
        let visit = world.sign_in(TokenScope::Write).await;
        visit.open("/opml").await;
        let list = format!(
            "<opml version=\"2.0\"><body><outline text=\"Press\"><outline xmlUrl=\"http://a.example/feed\" text=\"<A>\"/>\
             <outline xmlUrl=\"{}\"/><outline xmlUrl=\"gopher://x\"/></outline></body></opml>",
            world.api.url(0)
        );
        let drop_it = format!(
            "const data = new DataTransfer(); \
             data.items.add(new File([{list:?}], 'list.opml', {{ type: 'text/x-opml' }})); \
             const event = (name) => new DragEvent(name, {{ dataTransfer: data, bubbles: true, cancelable: true }}); \
             const area = document.querySelector('.drop'); area.dispatchEvent(event('dragover')); \
             const isMarked = area.classList.contains('over'); area.dispatchEvent(event('drop')); return isMarked"
        );
        assert_eq!(visit.script(&drop_it).await, true, "the area shows that it takes the file");
        visit.wait_for_text(".notice", "1 source added, 1 known already, 1 invalid.").await;
        visit.wait_for_text("main li", "neither http nor https").await;
        let added = world.api.get("/sources?label=Press").await.json();
        let urls: Vec<&Value> = added["items"].as_array().unwrap().iter().map(|source| &source["url"]).collect();
        assert!(urls.contains(&&json!("http://a.example/feed")), "{added}");
        visit.open("/sources").await;
        let export = "const link = document.querySelector(\"a[href$='/opml/export']\"); \
                      return fetch(link.href).then(async (answer) => [answer.headers.get('content-type'), \
                      answer.headers.get('content-disposition'), await answer.text()])";
        let exported = visit.script(export).await;
        assert!(exported[2].as_str().unwrap().contains("http://a.example/feed"), "{exported}");
        assert!(exported[0].as_str().unwrap().contains("opml"), "{exported}");
        assert!(exported[1].as_str().unwrap().contains("attachment"), "{exported}");
        drop(visit);
        world.api.stop().await;
    });
}
