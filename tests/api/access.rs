//! Logins and headers of sources through the listeners.

use std::time::Duration;

use feedwarden::demo::web::SiteBehaviour;
use rstest::rstest;
use serde_json::{Value, json};

use super::ApiWorld;
use crate::http::server::{Server, answers};
use crate::pipeline::run;
use crate::store::Engine::{self, Postgres, Sqlite};

const FEED: &str = "<rss version=\"2.0\"><channel><title>Private</title></channel></rss>";

fn feed() -> String {
    format!("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: {}\r\n\r\n{FEED}", FEED.len())
}

fn login() -> Value {
    json!({ "login": { "name": "ann", "password": "canary-word" } })
}

/// Polls a source now and returns what became of it.
async fn poll(api: &ApiWorld, id: &Value) -> Value {
    api.world.advance(Duration::from_secs(1));
    let polled = api.tell("POST", &format!("/sources/{id}/poll?wait=20&force=true"), Value::Null).await;
    assert_eq!(polled.status, 200, "{polled:?}");
    polled.json()["poll"].clone()
}

#[rstest]
fn a_login_is_kept_told_by_its_names_and_forgotten(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let id = api.add_quiet("http://a.example/feed").await;
        let path = format!("/sources/{id}/access");
        api.get(&path).await.is_problem(404, "not-found", None);
        api.tell("DELETE", &path, Value::Null).await.is_problem(404, "not-found", None);
        api.tell("PUT", "/sources/99/access", login()).await.is_problem(404, "not-found", None);
        for (body, field) in [
            (json!({}), "login"),
            (json!({ "login": "canary" }), "login"),
            (json!({ "login": { "name": "a:b", "password": "canary" } }), "login.name"),
            (json!({ "headers": { "Host": "canary" } }), "headers.Host"),
            (json!({ "headers": { "If-None-Match": "canary" } }), "headers.If-None-Match"),
            (json!({ "headers": { "X-Token": "canary\r\nX: 1" } }), "headers.X-Token"),
            (json!({ "headers": ["canary"] }), "headers"),
        ] {
            let refused = api.tell("PUT", &path, body).await;
            refused.is_problem(400, "invalid", Some(field));
            assert!(!refused.body.contains("canary"), "{refused:?}");
        }
        let before = api.get(&format!("/sources/{id}")).await;
        assert_eq!(before.json()["has_access"], false);
        let body = json!({ "headers": { "X-Token": "canary-token" }, "login": login()["login"] });
        let kept = api.tell_if("PUT", &path, body, before.header("etag")).await;
        assert_eq!(kept.status, 200, "{kept:?}");
        assert_eq!(kept.json(), json!({ "headers": ["X-Token"], "login": "ann", "origin": "http://a.example" }));
        assert_ne!(kept.header("etag"), before.header("etag"));
        let late = api.tell_if("PUT", &path, login(), before.header("etag")).await;
        late.is_problem(412, "conflict", None);
        let told = api.get(&path).await;
        assert_eq!((told.json(), told.header("etag")), (kept.json(), kept.header("etag")));
        assert_eq!(api.get(&format!("/sources/{id}/explain")).await.json()["has_access"], true);
        let listed = api.get("/sources").await;
        assert_eq!(listed.json()["items"][0]["has_access"], true);
        let late = api.tell_if("DELETE", &path, Value::Null, before.header("etag")).await;
        late.is_problem(412, "conflict", None);
        assert_eq!(api.tell_if("DELETE", &path, Value::Null, kept.header("etag")).await.status, 204);
        assert_eq!(api.get(&format!("/sources/{id}")).await.json()["has_access"], false);
        api.stop().await;
    });
}

#[rstest]
fn the_first_request_is_made_with_the_login_and_a_change_counts_from_the_next_one(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let server = Server::play(answers(&[feed(), feed(), feed(), feed()])).await;
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let body = json!({ "url": server.url("/"), "access": login(), "labels": ["mine"], "first_poll": true });
        let created = api.tell("POST", "/sources", body).await;
        assert_eq!(created.status, 201, "{created:?}");
        let source = created.json()["source"].clone();
        assert_eq!((&source["has_access"], &source["labels"]), (&json!(true), &json!(["mine"])));
        let path = format!("/sources/{}/access", source["id"]);
        poll(&api, &source["id"]).await;
        let headers = json!({ "headers": { "X-Token": "canary-token" } });
        assert_eq!(api.tell("PUT", &path, headers).await.status, 200);
        poll(&api, &source["id"]).await;
        assert_eq!(api.tell("DELETE", &path, Value::Null).await.status, 204);
        poll(&api, &source["id"]).await;
        let seen = server.requests();
        let has = |place: usize, text: &str| seen[place].contains(text);
        // Validators of a response to other credentials are not sent.
        let found: Vec<_> = (0..4)
            .map(|place| {
                [has(place, "Basic YW5uOmNhbmFyeS13b3Jk"), has(place, "canary-token"), has(place, "If-None-Match")]
            })
            .collect();
        assert_eq!(
            found,
            [[true, false, false], [true, false, true], [false, true, false], [false, false, false]],
            "{seen:#?}"
        );
        api.stop().await;
    });
}

#[rstest]
fn p23_a_source_that_moved_elsewhere_does_not_take_its_login_along(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let (home, elsewhere) = (Server::play(answers(&[feed()])).await, Server::play(answers(&[feed()])).await);
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let body = json!({ "url": home.url("/"), "access": login(), "first_poll": true });
        let id = api.tell("POST", "/sources", body).await.json()["source"]["id"].clone();
        api.tell("POST", "/scheduler/pause", Value::Null).await;
        let moved = api.tell("PATCH", &format!("/sources/{id}"), json!({ "url": elsewhere.url("/") })).await;
        assert_eq!(moved.status, 200, "{moved:?}");
        api.tell("POST", "/scheduler/resume", Value::Null).await;
        let polled = poll(&api, &id).await;
        let error = polled["error"].as_str().unwrap();
        assert!(
            error.starts_with(&format!("the source's login and headers were given for {}", home.url(""))),
            "{error}"
        );
        assert!(elsewhere.requests().is_empty());
        api.tell("PUT", &format!("/sources/{id}/access"), login()).await;
        assert_eq!(poll(&api, &id).await["outcome"], "read");
        assert_eq!(elsewhere.requests().len(), 1);
        api.stop().await;
    });
}

#[rstest]
fn a_login_comes_with_one_source_and_never_with_an_x_account(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        api.tell("POST", "/scheduler/pause", Value::Null).await;
        let x = json!({ "url": "somebody", "type": "twitter", "access": login() });
        api.tell("POST", "/sources", x).await.is_problem(400, "invalid", Some("access.login"));
        let wrong = json!({ "url": "http://a.example/", "access": { "headers": { "Host": "x" } } });
        api.tell("POST", "/sources", wrong).await.is_problem(400, "invalid", Some("access.headers.Host"));
        let bulk = json!({ "sources": [{ "url": "http://a.example/", "access": login() }, { "url": "http://b.example/" },
                { "url": "http://c.example/", "first_poll": true }, { "url": "http://d.example/", "anyway": true }] });
        let report = api.tell("POST", "/sources/bulk", bulk).await.json();
        assert_eq!((&report["added"], &report["rejected"]), (&json!(1), &json!(3)), "{report}");
        api.stop().await;
    });
}
