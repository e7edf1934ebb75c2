//! Problems name the field that is wrong, and answers show what is stored.

use feedwarden::demo::web::SiteBehaviour;
use rstest::rstest;
use serde_json::{Value, json};

use super::ApiWorld;
use super::client::ask;
use crate::pipeline::run;
use crate::store::Engine::{self, Postgres, Sqlite};

#[test]
fn a_wrong_parameter_or_field_is_named() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let id = api.add_quiet("http://a.example/feed").await;
        for (path, field) in [
            ("/posts/stream?after=abc", "after"),
            ("/posts?since=yesterday", "since"),
            ("/sources?feed_active=maybe", "feed_active"),
            ("/sources?type=radio", "type"),
            ("/sources?limit=-1", "limit"),
            ("/sources?state=active&state=disabled", "state"),
            ("/sources?colour=red", "colour"),
        ] {
            api.get(path).await.is_problem(400, "invalid", Some(field));
        }
        let poll = api.tell("POST", &format!("/sources/{id}/poll?wait=abc"), Value::Null).await;
        poll.is_problem(400, "invalid", Some("wait"));
        let json = [("Content-Type", "application/json")];
        for (body, field) in [
            (r#"{"url": "http://b.example/", "url": "http://c.example/"}"#, "url"),
            (r#"{"url": "http://b.example/", "access": {"login": null, "login": null}}"#, "access.login"),
        ] {
            let twice = ask(api.socket().await, "POST", "/api/v1/sources", &json, body.as_bytes()).await;
            twice.is_problem(400, "invalid", Some(field));
        }
        api.stop().await;
    });
}

#[rstest]
fn an_article_for_a_podcast_that_is_not_there_is_refused_by_its_field(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let article = json!({ "podcast_id": 99, "title": "T", "body": "B" });
        let refused = api.tell("POST", "/articles", article).await;
        refused.is_problem(400, "invalid", Some("podcast_id"));
        assert_eq!(refused.json()["detail"], "there is no podcast 99");
        api.stop().await;
    });
}

#[rstest]
fn a_change_is_answered_with_what_is_stored(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let path = format!("/sources/{}", api.add_quiet("http://a.example/feed").await);
        // No engine keeps U+0000 in a text.
        let changed = api.tell("PATCH", &path, json!({ "title": "a\u{0}b" })).await;
        assert_eq!(changed.json()["title"], "ab");
        let disabled = api.tell("POST", &format!("{path}/disable"), json!({ "reason": "be\u{0}cause" })).await;
        assert_eq!(disabled.json()["disabled_reason"], "because");
        let read = api.get(&path).await;
        assert_eq!((disabled.json(), disabled.header("etag")), (read.json(), read.header("etag")));
        api.stop().await;
    });
}
