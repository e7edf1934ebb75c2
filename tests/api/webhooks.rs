//! Webhooks through the listeners.

use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::{EventType, NewEvent};
use rstest::rstest;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::ApiWorld;
use crate::pipeline::{Receiver, run};
use crate::store::Engine::{self, Postgres, Sqlite};

const SECRET: &str = "0123456789abcdef";

#[rstest]
fn webhooks_are_added_switched_and_removed(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        for (body, field) in [
            (json!({ "url": "ftp://hook.example/", "secret": SECRET }), "url"),
            (json!({ "url": format!("http://hook.example/{}", "x".repeat(4096)) }), "url"),
            (json!({ "url": "http://hook.example/", "secret": "short" }), "secret"),
            (json!({ "url": "http://hook.example/", "secret": "x".repeat(257), "format": "classic" }), "secret"),
            (json!({ "url": "http://hook.example/", "label": " " }), "label"),
            (json!({ "url": "http://hook.example/", "secret": SECRET }), "secret"),
            (json!({ "url": "http://hook.example/", "format": "matrix" }), "secret"),
            (json!({ "url": "http://hook.example/", "format": "classic", "events": ["source.gap"] }), "events"),
        ] {
            api.tell("POST", "/webhooks", body).await.is_problem(400, "invalid", Some(field));
        }
        let body = json!({
            "url": "http://ann:word@hook.example/", "secret": SECRET, "label": "news", "format": "classic"
        });
        let created = api.tell("POST", "/webhooks", body).await;
        assert_eq!(created.status, 201, "{created:?}");
        let place = created.header("location").unwrap().to_owned();
        let created = created.json();
        assert_eq!((&created["url"], &created["label"]), (&json!("http://hook.example/"), &json!("news")));
        assert!(!created.to_string().contains(SECRET));
        let path = format!("/webhooks/{}", created["id"]);
        assert_eq!(place, format!("/api/v1{path}"));
        let disabled = api.tell("POST", &format!("{path}/disable"), Value::Null).await.json();
        assert_eq!((&disabled["enabled"], &disabled["disabled_reason"]), (&json!(false), &json!("by an operator")));
        let disabled = api.tell("POST", &format!("{path}/disable"), json!({ "reason": "it moves" })).await.json();
        assert_eq!(disabled["disabled_reason"], "it moves");
        let enabled = api.tell("POST", &format!("{path}/enable"), Value::Null).await.json();
        assert_eq!(enabled, created);
        assert_eq!(api.get("/webhooks").await.json(), json!({ "items": [created], "next_cursor": null }));
        assert_eq!(api.get(&path).await.json(), created);
        assert_eq!(api.tell("DELETE", &path, Value::Null).await.status, 204);
        for (method, path) in [
            ("GET", path.clone()),
            ("PATCH", path.clone()),
            ("DELETE", path.clone()),
            ("POST", format!("{path}/enable")),
            ("POST", format!("{path}/test")),
        ] {
            api.tell(method, &path, Value::Null).await.is_problem(404, "not-found", None);
        }
        api.stop().await;
    });
}

#[rstest]
fn webhooks_are_listed_page_by_page(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        for number in 1..=3 {
            let created = api.tell("POST", "/webhooks", json!({ "url": format!("http://{number}.example/") })).await;
            assert_eq!(created.status, 201, "{created:?}");
        }
        let first = api.get("/webhooks?limit=2").await.json();
        let next =
            api.get(&format!("/webhooks?limit=2&cursor={}", first["next_cursor"].as_str().unwrap())).await.json();
        let urls = |page: &Value| -> Vec<String> {
            page["items"].as_array().unwrap().iter().map(|one| one["url"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!((urls(&first).len(), urls(&next)), (2, vec!["http://3.example/".to_owned()]));
        assert_eq!(next["next_cursor"], Value::Null);
        api.get("/webhooks?cursor=x").await.is_problem(400, "invalid", Some("cursor"));
        api.stop().await;
    });
}

#[rstest]
fn a_webhook_is_changed_and_a_secret_that_is_made_is_shown_once(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let created = api
            .tell("POST", "/webhooks", json!({ "url": "http://a.example/", "label": "news", "format": "classic" }))
            .await
            .json();
        let made = created["secret"].as_str().unwrap().to_owned();
        assert_eq!(made.len(), 64, "{made}");
        let path = format!("/webhooks/{}", created["id"]);
        let id = feedwarden::model::WebhookId(created["id"].as_i64().unwrap());
        let kept = async || api.world.store.webhook_target(id).await.unwrap().unwrap();
        assert_eq!(kept().await.secrets.current.expose_secret(), made);
        assert!(!api.get(&path).await.body.contains(&made), "never again");
        let moved = api.tell("PATCH", &path, json!({ "url": "http://b.example/" })).await.json();
        assert_eq!((&moved["url"], &moved["label"]), (&json!("http://b.example/"), &json!("news")));
        assert_eq!(moved["secret"], Value::Null);
        assert_eq!(
            (kept().await.url.as_str(), kept().await.secrets.current.expose_secret()),
            ("http://b.example/", made.as_str())
        );
        let all = api.tell("PATCH", &path, json!({ "label": null, "secret": SECRET })).await.json();
        assert_eq!((&all["label"], &all["secret"]), (&Value::Null, &Value::Null));
        assert_eq!(kept().await.secrets.current.expose_secret(), SECRET);
        let rotated = api.tell("PATCH", &path, json!({ "secret": null })).await.json();
        assert_eq!(rotated["secret"], kept().await.secrets.current.expose_secret());
        assert_ne!(rotated["secret"], made);
        for (body, field) in
            [(json!({ "url": "x" }), "url"), (json!({ "secret": "x" }), "secret"), (json!({ "a": 1 }), "a")]
        {
            api.tell("PATCH", &path, body).await.is_problem(400, "invalid", Some(field));
        }
        api.stop().await;
    });
}

#[rstest]
fn a_test_says_whether_anybody_takes_it(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        // Nothing listens on port 9.
        for (url, is_taken) in [(Receiver::start(&[]).await.url(), true), ("http://127.0.0.1:9/".to_owned(), false)] {
            let id = api.tell("POST", "/webhooks", json!({ "url": url })).await.json()["id"].clone();
            let tested = api.tell("POST", &format!("/webhooks/{id}/test"), Value::Null).await;
            assert_eq!((tested.status, &tested.json()["is_taken"]), (200, &json!(is_taken)), "{tested:?}");
            assert_eq!(tested.json()["error"].is_string(), !is_taken);
        }
        api.stop().await;
    });
}

#[rstest]
fn a_secret_is_rotated_and_a_format_changed(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let created = api.tell("POST", "/webhooks", json!({ "url": "http://a.example/", "format": "classic" })).await;
        let path = format!("/webhooks/{}", created.json()["id"]);
        api.tell("POST", &format!("{path}/rotate"), json!({})).await.is_problem(409, "refused", None);
        // A signature by the specification needs a secret of its form, which is made.
        let change = json!({ "format": "standard", "events": ["source.gap", "post.created"] });
        let changed = api.tell("PATCH", &path, change).await.json();
        assert_eq!(changed["events"], json!(["post.created", "source.gap"]));
        let first = changed["secret"].as_str().unwrap().to_owned();
        assert!(first.starts_with("whsec_"), "{changed}");
        api.tell("POST", &format!("{path}/end-rotation"), Value::Null).await.is_problem(409, "refused", None);
        let rotated = api.tell("POST", &format!("{path}/rotate"), json!({})).await.json();
        let second = rotated["secret"].as_str().unwrap().to_owned();
        assert!(rotated["rotated_at"].is_string() && second != first, "{rotated}");
        api.tell("POST", &format!("{path}/rotate"), json!({})).await.is_problem(409, "refused", None);
        let id = feedwarden::model::WebhookId(created.json()["id"].as_i64().unwrap());
        let kept = async || {
            let secrets = api.world.store.webhook_target(id).await.unwrap().unwrap().secrets;
            let text = |secret: &secrecy::SecretString| secret.expose_secret().to_owned();
            (text(&secrets.current), secrets.previous.as_ref().map(text))
        };
        assert_eq!(kept().await, (second.clone(), Some(first)));
        let ended = api.tell("POST", &format!("{path}/end-rotation"), Value::Null).await.json();
        assert_eq!((&ended["rotated_at"], kept().await), (&Value::Null, (second, None)));
        api.stop().await;
    });
}

#[rstest]
fn events_are_listed_and_streamed_by_type_label_and_source(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let source = api.world.store.add(crate::store::rss("http://127.0.0.1:9/quiet")).await.id;
        let labels = vec![(source, vec!["news".to_owned()])];
        api.world.store.add_labels(labels, api.world.now()).await.unwrap();
        let held = NewEvent { host: Some("a.example".into()), ..NewEvent::new(EventType::HostHeld, api.world.now()) };
        let gap = NewEvent { source_id: Some(source), ..NewEvent::new(EventType::SourceGap, api.world.now()) };
        api.world.store.add_events(vec![held, gap]).await.unwrap();
        let found = async |query: &str| -> Vec<String> {
            let page = api.get(&format!("/events?{query}")).await.json();
            let items = page["items"].as_array().unwrap_or_else(|| panic!("{page}")).clone();
            items.iter().map(|one| one["type"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(found("type=host.held,source.gap").await, ["host.held", "source.gap"]);
        assert_eq!(found("type=host.held,source.gap&label=news").await, ["source.gap"]);
        assert_eq!(found(&format!("type=host.held,source.gap&source_id={source}")).await, ["source.gap"]);
        assert_eq!(found("type=source.moved").await, [""; 0]);
        let page = api.get("/events?type=host.held,source.gap&limit=1").await.json();
        let next = format!("type=host.held,source.gap&cursor={}", page["next_cursor"].as_str().unwrap());
        assert_eq!(found(&next).await, ["source.gap"]);
        api.get("/events?type=post.deleted").await.is_problem(400, "invalid", Some("type"));
        api.get("/events/stream?type=post.deleted").await.is_problem(400, "invalid", Some("type"));
        api.stop().await;
    });
}
