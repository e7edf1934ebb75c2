//! Sinks through the listeners.

use std::path::Path;

use feedwarden::api::settings::{ApiLimits, TokenKey};
use feedwarden::api::tokens::TokenScope;
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::WebhookId;
use rstest::rstest;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::{ApiWorld, SECRET};
use crate::pipeline::{World, run};
use crate::store::Engine::{self, Postgres, Sqlite};

async fn world(engine: Engine, directory: &Path) -> ApiWorld {
    let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
    world.settings.sinks.directory = Some(directory.to_owned());
    ApiWorld::around(world, TokenKey::Secret(SECRET.into()), ApiLimits::default())
}

#[rstest]
fn the_password_of_a_sink_is_kept_apart_and_never_shown(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let directory = tempfile::tempdir().unwrap();
        let api = world(engine, directory.path()).await;
        let url = "redis://ann:hidden-word@127.0.0.1:9/2?stream=feeds&maxlen=1000";
        let created = api.tell("POST", "/webhooks", json!({ "url": url, "events": ["source.disabled"] })).await;
        assert_eq!(created.status, 201, "{created:?}");
        assert!(!created.body.contains("hidden") && !created.body.contains("secret"), "{}", created.body);
        let path = format!("/webhooks/{}", created.json()["id"]);
        assert_eq!(created.json()["url"], "redis://127.0.0.1:9/2?stream=feeds&maxlen=1000");
        let id = WebhookId(created.json()["id"].as_i64().unwrap());
        let kept = async || {
            let target = api.world.store.webhook_target(id).await.unwrap().unwrap();
            (target.url, target.secrets.current.expose_secret().to_owned())
        };
        let stored = "redis://ann@127.0.0.1:9/2?stream=feeds&maxlen=1000".to_owned();
        assert_eq!(kept().await, (stored.clone(), "hidden-word".to_owned()));
        // The password stays when another field or the URL without it is changed.
        let moved = api.tell("PATCH", &path, json!({ "url": "redis://ann@127.0.0.1:9?stream=other" })).await;
        assert_eq!(moved.status, 200, "{moved:?}");
        assert_eq!(kept().await, ("redis://ann@127.0.0.1:9?stream=other".to_owned(), "hidden-word".to_owned()));
        api.tell("PATCH", &path, json!({ "secret": "p@ss w/rd" })).await;
        assert_eq!(kept().await.1, "p@ss w/rd");
        api.tell("PATCH", &path, json!({ "secret": null })).await;
        assert_eq!(kept().await.1, "");
        let tested = api.tell("POST", &format!("{path}/test"), Value::Null).await.json();
        assert_eq!(tested["is_taken"], false);
        assert!(tested["error"].as_str().unwrap().starts_with("Redis at 127.0.0.1:9: "), "{tested}");
        assert_eq!(api.tell("POST", &format!("{path}/rotate"), json!({})).await.status, 409);
        assert!(!api.get("/audit").await.body.contains("hidden"));
        api.stop().await;
    });
}

#[rstest]
fn what_a_sink_cannot_be_is_refused_with_its_reason(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let directory = tempfile::tempdir().unwrap();
        let api = world(engine, directory.path()).await;
        let below = directory.path().display();
        let redis = "redis://127.0.0.1?stream=feeds";
        for (body, field) in [
            (json!({ "url": "redis://127.0.0.1" }), "url"),
            (json!({ "url": "redis://127.0.0.1?stream=feeds&color=red" }), "url"),
            (json!({ "url": "kafka://127.0.0.1?topic=feeds" }), "url"),
            (json!({ "url": redis, "format": "slack" }), "format"),
            (json!({ "url": "redis://:one@127.0.0.1?stream=feeds", "secret": "two" }), "secret"),
            (json!({ "url": "file:/etc/events.ndjson" }), "url"),
            (json!({ "url": format!("file:{below}/../events.ndjson") }), "url"),
            (json!({ "url": format!("file:{below}/missing/events.ndjson") }), "url"),
            (json!({ "url": format!("file:{below}") }), "url"),
        ] {
            api.tell("POST", "/webhooks", body).await.is_problem(400, "invalid", Some(field));
        }
        // Files and brokers are for the operator, not for everyone who has a token.
        let token = api.token(TokenScope::Write);
        let body = json!({ "url": redis }).to_string();
        let refused = api.tell_tcp("POST", "/webhooks", &body, Some(&token)).await;
        refused.is_problem(403, "forbidden", None);
        let file = format!("file:{below}/events.ndjson?bytes-max=1000000&files-max=5");
        let created = api.tell("POST", "/webhooks", json!({ "url": file, "format": "cloudevents" })).await;
        assert_eq!((created.status, &created.json()["url"]), (201, &json!(file)), "{created:?}");
        let path = format!("/webhooks/{}", created.json()["id"]);
        assert_eq!(api.tell("POST", &format!("{path}/test"), Value::Null).await.json()["is_taken"], true);
        for url in ["https://hook.example/", "file:/etc/events.ndjson"] {
            api.tell("PATCH", &path, json!({ "url": url })).await.is_problem(400, "invalid", Some("url"));
        }
        let moved = api.tell_tcp("PATCH", &path, &json!({ "url": file }).to_string(), Some(&token)).await;
        moved.is_problem(403, "forbidden", None);
        let labelled = api.tell_tcp("PATCH", &path, &json!({ "label": "news" }).to_string(), Some(&token)).await;
        assert_eq!((labelled.status, &labelled.json()["label"]), (200, &json!("news")), "{labelled:?}");
        let hook = api.tell("POST", "/webhooks", json!({ "url": "https://hook.example/" })).await.json();
        let path = format!("/webhooks/{}", hook["id"]);
        api.tell("PATCH", &path, json!({ "url": redis })).await.is_problem(400, "invalid", Some("url"));
        api.stop().await;
    });
}
