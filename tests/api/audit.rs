//! Every change leaves one audit record, with its caller; what is refused leaves none.

use std::collections::BTreeSet;
use std::time::Duration;

use feedwarden::api::tokens::{Signer, TokenScope};
use feedwarden::demo::web::SiteBehaviour;
use rstest::rstest;
use serde_json::{Value, json};

use super::ApiWorld;
use super::client::ask;
use super::world::SECRET;
use crate::pipeline::run;
use crate::store::Engine::{self, Postgres, Sqlite};

/// Routes that are no GET and leave no record, with the reason.
const EXEMPT: &[(&str, &str, &str)] = &[
    ("PUT", "/faults", "fault injection is not enabled in this world, so the route answers 404"),
    ("POST", "/jobs", "it changes nothing before it is started"),
    ("POST", "/jobs/{id}/start", "each change of a source has a record of its own"),
    ("POST", "/jobs/{id}/cancel", "what was done has its records"),
];

/// Method, path as documented, path as requested, body, expected action.
type Step = (&'static str, &'static str, String, Value, &'static str);

fn step(method: &'static str, path: &'static str, body: Value, action: &'static str) -> Step {
    let asked = path.replace("{id}", "1").replace("{post_id}", "1").replace("{host}", "127.0.0.1");
    (method, path, asked, body, action)
}

fn steps(api: &ApiWorld) -> Vec<Step> {
    let url = api.url(0);
    let host = url::Url::parse(&url).unwrap();
    let host = format!("{}:{}", host.host_str().unwrap(), host.port().unwrap());
    let at_host = |path: &'static str, body, action| {
        let (method, path, _, body, action) = step("POST", path, body, action);
        (method, path, path.replace("{host}", &host), body, action)
    };
    let many = json!({ "sources": [{ "url": "http://a.example/1" }, { "url": "http://a.example/2" }] });
    let login = json!({ "login": { "name": "ann", "password": "canary-password" } });
    let opml = r#"<opml version="2.0"><body><outline xmlUrl="http://b.example/"/></body></opml>"#;
    let webhook =
        json!({ "url": "http://127.0.0.1:1/canary-path", "secret": "whsec_Y2FuYXJ5LXNlY3JldC0wMTIzNDU2Nzg5" });
    let article = json!({ "title": "Title", "body": "Body", "post_ids": [1] });
    vec![
        step("POST", "/sources", json!({ "url": url, "labels": ["news"] }), "source.add"),
        step("POST", "/sources/{id}/poll", Value::Null, "source.poll"),
        step("POST", "/sources/bulk", many, "source.add-many"),
        step("PATCH", "/sources/{id}", json!({ "title": "New", "labels": ["x"] }), "source.edit"),
        step("PUT", "/sources/{id}/access", login, "source.access"),
        step("DELETE", "/sources/{id}/access", Value::Null, "source.access-remove"),
        step("PATCH", "/sources/{id}/feed-disable", json!({ "reason": "too loud" }), "source.rest"),
        step("PATCH", "/sources/{id}/feed-enable", Value::Null, "source.wake"),
        step("POST", "/sources/{id}/disable", json!({ "reason": "why not" }), "source.disable"),
        step("POST", "/sources/{id}/enable", Value::Null, "source.enable"),
        step("POST", "/sources/{id}/reset", Value::Null, "source.reset"),
        step("POST", "/sources/{id}/backfill", json!({ "pages": 1 }), "source.backfill"),
        step("POST", "/opml", json!(opml), "source.import"),
        step("POST", "/users", json!({ "name": "ada" }), "user.add"),
        step("PATCH", "/users/{id}", json!({ "name": "Ada" }), "user.rename"),
        step("PUT", "/users/{id}/keys/x", json!({ "key": "canary-key" }), "user.key"),
        step("DELETE", "/users/{id}/keys/x", Value::Null, "user.key-remove"),
        step("POST", "/podcasts", json!({ "user_id": 1, "title": "News" }), "podcast.add"),
        step("PATCH", "/podcasts/{id}", json!({ "title": "Olds" }), "podcast.edit"),
        step("DELETE", "/podcasts/{id}", Value::Null, "podcast.remove"),
        step("DELETE", "/users/{id}", Value::Null, "user.remove"),
        at_host("/hosts/{host}/hold", json!({ "seconds": 60, "reason": "a test" }), "host.hold"),
        at_host("/hosts/{host}/release", Value::Null, "host.release"),
        at_host("/hosts/{host}/reset-breaker", Value::Null, "host.reset-breaker"),
        at_host("/hosts/{host}/enable-sources", Value::Null, "host.enable-sources"),
        step("POST", "/webhooks", webhook, "webhook.add"),
        step("PATCH", "/webhooks/{id}", json!({ "url": "http://127.0.0.1:1/canary-other" }), "webhook.edit"),
        step("POST", "/webhooks/{id}/rotate", json!({}), "webhook.rotate"),
        step("POST", "/webhooks/{id}/end-rotation", Value::Null, "webhook.end-rotation"),
        step("POST", "/webhooks/{id}/disable", Value::Null, "webhook.disable"),
        step("POST", "/webhooks/{id}/enable", Value::Null, "webhook.enable"),
        step("POST", "/webhooks/{id}/test", Value::Null, "webhook.test"),
        step("DELETE", "/webhooks/{id}", Value::Null, "webhook.remove"),
        step("POST", "/articles", article, "article.add"),
        step("PUT", "/articles/{id}/posts/{post_id}", Value::Null, "article.link"),
        step("POST", "/articles/{id}/processed", Value::Null, "article.processed"),
        step("POST", "/scheduler/pause", Value::Null, "polling.pause"),
        step("POST", "/scheduler/resume", Value::Null, "polling.resume"),
        step("POST", "/configuration/reload", Value::Null, "settings.reload"),
        step("POST", "/dashboard", json!({}), "dashboard.open"),
        step("PUT", "/log-level", json!({ "level": "debug" }), "log.level"),
        step("DELETE", "/sources/{id}", Value::Null, "source.remove"),
    ]
}

impl ApiWorld {
    /// Audit records, newest first.
    async fn audit(&self, query: &str) -> Vec<Value> {
        let answer = self.get(&format!("/audit{query}")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["items"].as_array().unwrap().clone()
    }

    async fn make(&self, (method, _, path, body, _): &Step) {
        let answer = match body {
            Value::String(opml) => {
                let headers = [("Content-Type", "text/x-opml")];
                ask(self.socket().await, method, &format!("/api/v1{path}"), &headers, opml.as_bytes()).await
            }
            body => self.tell(method, path, body.clone()).await,
        };
        assert!(answer.status < 300, "{method} {path}: {answer:?}");
    }
}

/// A route that is not in the list of steps and not exempt fails this test.
#[rstest]
fn every_route_that_changes_something_leaves_one_record(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let steps = steps(&api);
        let document = feedwarden::api::openapi_document();
        let routes = document["paths"].as_object().unwrap().iter().flat_map(|(path, methods)| {
            let path = path.strip_prefix("/api/v1").unwrap_or(path);
            methods.as_object().unwrap().keys().map(move |method| (method.to_uppercase(), path.to_owned()))
        });
        let changing: BTreeSet<_> = routes.filter(|(method, _)| method != "GET").collect();
        let exempt = EXEMPT.iter().map(|(method, path, _)| ((*method).to_owned(), (*path).to_owned()));
        let covered = steps.iter().map(|(method, path, ..)| ((*method).to_owned(), (*path).to_owned())).chain(exempt);
        assert_eq!(covered.collect::<BTreeSet<_>>(), changing, "routes with a step, and routes of the document");

        let mut known = 0;
        for step in &steps {
            if step.1 == "/sources/bulk" {
                // The article needs a post.
                api.world.until("a post", async || !api.get("/posts").await.json()["items"][0].is_null()).await;
            }
            let passing = async {
                loop {
                    api.world.pass_waiting(Duration::from_secs(1), 1).await;
                }
            };
            // A backfill waits for the turn of the host, by the held clock.
            match step.4 {
                "source.backfill" => tokio::select! { () = api.make(step) => {}, () = passing => {} },
                _ => api.make(step).await,
            }
            let records = api.audit("").await;
            let actions: Vec<&str> = records.iter().map(|record| record["action"].as_str().unwrap()).collect();
            assert_eq!(records.len(), known + 1, "{} {}: {actions:?}", step.0, step.1);
            assert_eq!(actions[0], step.4, "{} {}", step.0, step.1);
            known += 1;
        }
        let all = json!(api.audit("").await).to_string();
        let log = json!(api.world.records.all()).to_string();
        assert!(!all.contains("canary"), "no record has a secret: {all}");
        assert!(!log.contains("canary"), "no log record has a secret");
        assert_eq!(api.world.records.of("change").len(), known, "one log record each: {log}");
        api.stop().await;
    });
}

#[rstest]
fn a_record_says_who_what_before_and_after(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let id = api.add_quiet("http://ann:canary@a.example/feed").await;
        let token = api.token_of("bob", TokenScope::Write, &Signer::Secret(SECRET.into()));
        let body = json!({ "title": "Title", "poll_interval_minutes": 5, "labels": ["a", "b"] }).to_string();
        let edited = api.tell_tcp("PATCH", &format!("/sources/{id}"), &body, Some(&token)).await;
        assert_eq!(edited.status, 200, "{edited:?}");
        // Only the credentials of the URL change.
        let body = json!({ "url": "http://ann:canary2@a.example/feed" });
        assert_eq!(api.tell("PATCH", &format!("/sources/{id}"), body).await.status, 200);

        let records = api.audit(&format!("?target=source&target_id={id}")).await;
        let [url, edit, add] = records.as_slice() else { panic!("{records:?}") };
        assert_eq!((&edit["who"], &edit["address"]), (&json!("token:bob"), &json!("127.0.0.1")));
        assert_eq!((&edit["action"], &edit["target"]), (&json!("source.edit"), &json!("source")));
        assert_eq!(
            (&edit["target_id"], &edit["target_name"]),
            (&json!(id.to_string()), &json!("http://a.example/feed"))
        );
        assert_eq!(edit["before"], json!({ "labels": [], "poll_interval_minutes": null, "title": null }));
        assert_eq!(edit["after"], json!({ "labels": ["a", "b"], "poll_interval_minutes": 5, "title": "Title" }));
        let uid = rustix::process::getuid().as_raw();
        assert_eq!((&add["who"], &add["address"]), (&json!(format!("uid:{uid}")), &Value::Null));
        assert_eq!(add["after"], json!({ "type": "rss", "url": "http://a.example/feed" }));
        assert_eq!(url["after"], json!({ "url": "changed" }));

        for (query, wanted) in [
            ("?who=token:bob", vec!["source.edit"]),
            ("?action=source.add", vec!["source.add"]),
            ("?target=polling", vec!["polling.pause"]),
            ("?since=2100-01-01T00:00:00Z", vec![]),
            ("?who=%00", vec![]),
        ] {
            let found = api.audit(query).await;
            let found: Vec<&str> = found.iter().map(|record| record["action"].as_str().unwrap()).collect();
            assert_eq!(found, wanted, "{query}");
        }
        let first = api.get("/audit?limit=3").await.json();
        let cursor = first["next_cursor"].as_str().unwrap();
        let rest = api.get(&format!("/audit?limit=3&cursor={cursor}")).await.json();
        assert_eq!((rest["items"].as_array().unwrap().len(), &rest["next_cursor"]), (1, &Value::Null));
        api.get("/audit?target_id=1").await.is_problem(400, "invalid", Some("target"));
        let reader = api.token(TokenScope::Read);
        api.tell_tcp("GET", "/audit", "", Some(&reader)).await.is_problem(403, "forbidden", None);
        api.stop().await;
    });
}

#[rstest]
fn what_is_refused_or_changes_nothing_leaves_no_record(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::NotFound]).await;
        let failing = api.tell("POST", "/sources", json!({ "url": api.url(0), "first_poll": true })).await;
        assert_eq!(failing.status, 422, "{failing:?}");
        assert_eq!(api.audit("").await, Vec::<Value>::new(), "a source that was tried and not kept");

        let id = api.add_quiet("http://a.example/feed").await;
        let known = api.audit("").await.len();
        let path = format!("/sources/{id}");
        let refused = [
            (409, api.tell("POST", "/sources", json!({ "url": "http://a.example/feed", "labels": ["x"] })).await),
            (412, api.tell_if("PATCH", &path, json!({ "title": "T" }), Some("\"99\"")).await),
            (412, api.tell_if("DELETE", &path, Value::Null, Some("\"99\"")).await),
            (400, api.tell("PATCH", &path, json!({ "poll_interval_minutes": 0 })).await),
            (404, api.tell("DELETE", "/sources/999", Value::Null).await),
            (404, api.tell("DELETE", "/webhooks/999", Value::Null).await),
            (405, api.tell("POST", &format!("{path}/access"), Value::Null).await),
            (200, api.tell("POST", &format!("{path}/enable"), Value::Null).await),
            (200, api.tell("PATCH", &path, json!({ "labels": [] })).await),
        ];
        for (place, (status, answer)) in refused.iter().enumerate() {
            assert_eq!(answer.status, *status, "{place}: {answer:?}");
        }
        assert_eq!(api.audit("").await.len(), known);
        let told = api.world.records.of("change refused");
        let told: Vec<Value> = told.iter().map(|record| json!([record["status"], record["method"]])).collect();
        let wanted = json!([[422, "POST"], [409, "POST"], [412, "PATCH"], [412, "DELETE"]]);
        assert_eq!(json!(told), wanted, "refusals are in the log");
        api.stop().await;
    });
}

/// The owner of a host makes the change; the record names the caller of the other node.
#[test]
fn a_forwarded_request_keeps_its_caller() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let actor = r#"{"who":"token:b\u00f6b","user_name":null,"address":"192.0.2.7"}"#;
        let headers = [("feedwarden-forwarded", "write"), ("feedwarden-actor", actor)];
        let paused = ask(api.socket().await, "POST", "/api/v1/scheduler/pause", &headers, b"").await;
        assert_eq!(paused.status, 200, "{paused:?}");
        // A client over TCP cannot claim to be another one.
        let authorization = format!("Bearer {}", api.token(TokenScope::Write));
        let headers = [headers[0], headers[1], ("Authorization", authorization.as_str())];
        let resumed = ask(api.tcp().await, "POST", "/api/v1/scheduler/resume", &headers, b"").await;
        assert_eq!(resumed.status, 200, "{resumed:?}");
        let records = api.audit("").await;
        let who: Vec<_> = records.iter().map(|record| (&record["who"], &record["address"])).collect();
        assert_eq!(who[0], (&json!("token:ada"), &json!("127.0.0.1")));
        assert_eq!(who[1], (&json!("token:böb"), &json!("192.0.2.7")));
        api.stop().await;
    });
}
