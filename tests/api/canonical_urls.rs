//! Every spelling of a URL is the same source, through every listener.

use feedwarden::api::tokens::TokenScope;
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::{NewSource, SourceId, SourceSettings, SourceType};
use rstest::rstest;
use serde_json::{Value, json};

use super::ApiWorld;
use super::client::ask;
use crate::pipeline::run;
use crate::store::Engine::{self, Postgres, Sqlite};

const SPELLINGS: [&str; 5] = [
    "HTTP://a.example/feed?A=b",
    "http://A.EXAMPLE/feed?A=b",
    "http://a.example:80/feed?A=b",
    "http://a.example/x/.././feed?A=b",
    " http://a.example/feed?A=b#top ",
];

#[rstest]
fn another_spelling_is_no_other_source(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let id = api.add_quiet(SPELLINGS[0]).await;
        assert_eq!(api.get(&format!("/sources/{id}")).await.json()["url"], "http://a.example/feed?A=b");
        for url in SPELLINGS {
            let again = api.tell("POST", "/sources", json!({ "url": url })).await;
            again.is_problem(409, "duplicate", Some("url"));
            assert_eq!(again.json()["context"]["source_id"], id);
            let found = api.get(&format!("/sources?url={}", escaped(url))).await.json();
            assert_eq!(found["items"][0]["id"], id, "{url}");
        }
        let many: Vec<Value> = SPELLINGS.iter().map(|url| json!({ "url": url })).collect();
        let bulk = api.tell("POST", "/sources/bulk", json!({ "sources": many })).await.json();
        assert_eq!((&bulk["added"], &bulk["duplicates"]), (&json!(0), &json!(5)));
        let list = format!(r#"<opml><body><outline xmlUrl="{}"/></body></opml>"#, SPELLINGS[1]);
        let list = ask(api.socket().await, "POST", "/api/v1/opml", &[], list.as_bytes()).await.json();
        assert_eq!((&list["added"], &list["duplicates"]), (&json!(0), &json!(1)));
        let other = api.add_quiet("http://b.example/feed").await;
        let moved = api.tell("PATCH", &format!("/sources/{other}"), json!({ "url": SPELLINGS[3] })).await;
        moved.is_problem(409, "duplicate", Some("url"));
        let moved = api.tell("PATCH", &format!("/sources/{other}"), json!({ "url": "HTTP://c.example#x" })).await;
        assert_eq!(moved.json()["url"], "http://c.example/");
        api.stop().await;
    });
}

#[rstest]
fn what_was_stored_under_another_spelling_stays_and_is_found(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        api.tell("POST", "/scheduler/pause", Value::Null).await;
        let settings = SourceSettings::new(SourceType::Rss, "HTTP://Old.example/feed");
        let old = NewSource { settings, created_at: api.world.now() };
        api.world.store.add_sources(vec![old]).await.unwrap();
        let again = api.tell("POST", "/sources", json!({ "url": "HTTP://Old.example/feed" })).await;
        again.is_problem(409, "duplicate", Some("url"));
        assert_eq!(api.get("/sources?url=HTTP://Old.example/feed").await.json()["items"][0]["id"], 1);
        let mut source = api.world.source(SourceId(1)).await;
        source.state.validators.etag = Some("\"a\"".into());
        api.world.store.save_source(source, api.world.now()).await.unwrap();
        let same = json!({ "url": "http://old.example/feed", "title": "Old" });
        assert_eq!(api.tell("PATCH", "/sources/1", same).await.json()["url"], "HTTP://Old.example/feed");
        let source = api.world.source(SourceId(1)).await;
        assert!(source.state.validators.etag.is_some(), "it did not start afresh");
        api.stop().await;
    });
}

#[test]
fn an_account_is_one_source_and_what_names_none_is_refused() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let id = api.add_quiet("https://twitter.com/NASA/").await;
        let source = api.get(&format!("/sources/{id}")).await.json();
        assert_eq!((&source["url"], &source["type"]), (&json!("https://x.com/nasa"), &json!("twitter")));
        for name in ["nasa", "@Nasa", "https://x.com/nasa?s=20", "http://www.twitter.com/NASA"] {
            let again = api.tell("POST", "/sources", json!({ "url": name, "type": "twitter" })).await;
            again.is_problem(409, "duplicate", Some("url"));
            assert_eq!(api.get(&format!("/sources?url={}", escaped(name))).await.json()["items"][0]["id"], id);
        }
        for wrong in [
            json!({ "url": "bad name!", "type": "twitter" }),
            json!({ "url": "https://x.com/nasa/status/123", "type": "twitter" }),
            json!({ "url": "https://x.com/nasa/status/123" }),
            json!({ "url": "https://x.com/" }),
        ] {
            let refused = api.tell("POST", "/sources", wrong).await;
            refused.is_problem(400, "invalid", Some("url"));
            assert!(refused.body.contains("not an X account"), "{refused:?}");
        }
        let path = format!("/sources/{id}");
        api.tell("PATCH", &path, json!({ "url": "bad name!" })).await.is_problem(400, "invalid", Some("url"));
        let page = json!({ "url": "https://x.com/nasa/status/123", "type": "website" });
        assert_eq!(api.tell("POST", "/sources", page).await.status, 201, "who says so means it");
        api.stop().await;
    });
}

#[test]
fn a_password_cannot_be_guessed_by_looking_for_it() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        api.add_quiet("http://ann:word@a.example/feed").await;
        api.add_quiet("http://b.example/feed").await;
        let (reader, writer) = (api.token(TokenScope::Read), api.token(TokenScope::Write));
        for (token, url, count) in [
            (&writer, "http://ann:word@a.example/feed", 1),
            (&reader, "http://ann:word@a.example/feed", 0),
            (&reader, "http://ann:guess@a.example/feed", 0),
            (&reader, "HTTP://b.example/feed", 1),
        ] {
            let path = format!("/sources?url={}", escaped(url));
            let found = api.tell_tcp("GET", &path, "", Some(token)).await.json();
            assert_eq!(found["items"].as_array().unwrap().len(), count, "{url}");
        }
        api.stop().await;
    });
}

fn escaped(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
