//! Webhooks through the doors.

use feedwarden::demo::web::Character;
use rstest::rstest;
use serde_json::{Value, json};

use super::ApiWorld;
use crate::pipeline::run;
use crate::store::Engine::{self, Postgres, Sqlite};

#[rstest]
fn webhooks_are_added_switched_and_removed(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[Character::Healthy]).await;
        let secret = "0123456789abcdef";
        for (body, field) in [
            (json!({ "url": "ftp://hook.example/", "secret": secret }), "url"),
            (json!({ "url": "http://hook.example/", "secret": "short" }), "secret"),
        ] {
            let refused = api.tell("POST", "/webhooks", body).await;
            assert_eq!((refused.status, refused.json()["field"].as_str()), (400, Some(field)), "{refused:?}");
        }
        let body = json!({ "url": "http://ann:word@hook.example/", "secret": secret, "label": "news" });
        let created = api.tell("POST", "/webhooks", body).await;
        assert_eq!(created.status, 201, "{created:?}");
        let created = created.json();
        assert_eq!((&created["url"], &created["label"]), (&json!("http://hook.example/"), &json!("news")));
        assert!(!created.to_string().contains(secret));
        let path = format!("/webhooks/{}", created["id"]);
        let disabled = api.tell("POST", &format!("{path}/disable"), Value::Null).await.json();
        assert_eq!((&disabled["enabled"], &disabled["disabled_reason"]), (&json!(false), &json!("by a person")));
        let enabled = api.tell("POST", &format!("{path}/enable"), Value::Null).await.json();
        assert_eq!(enabled, created);
        assert_eq!(api.get("/webhooks").await.json(), json!([created]));
        assert_eq!(api.tell("DELETE", &path, Value::Null).await.status, 204);
        for (method, path) in [("DELETE", path.clone()), ("POST", format!("{path}/enable"))] {
            assert_eq!(api.tell(method, &path, Value::Null).await.status, 404);
        }
        api.stop().await;
    });
}
