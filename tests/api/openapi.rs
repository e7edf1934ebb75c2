//! The OpenAPI document says everything there is, and nothing that is not.

use feedwarden::demo::web::Character;
use serde_json::Value;

use super::ApiWorld;
use super::client::ask;
use crate::pipeline::run;
use crate::store::Engine::Sqlite;

#[test]
fn every_documented_route_answers_and_every_reference_leads_somewhere() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[Character::Healthy]).await;
        let document = api.get("/openapi.json").await.json();
        assert_eq!(document, feedwarden::api::openapi_document());
        assert_eq!(document["openapi"], "3.1.0");
        let mut ids = Vec::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                ids.push(operation["operationId"].as_str().unwrap());
                assert!(!operation["summary"].as_str().unwrap().is_empty());
                assert!(operation["responses"].as_object().unwrap().len() > 1, "{method} {path} answers something");
                if path.ends_with("/stream") {
                    continue;
                }
                let place = path.replace("{host}", "a.example").replace("{id}", "1").replace("{post_id}", "1");
                let answer = ask(api.socket().await, &method.to_uppercase(), &place, &[], b"").await;
                let is_routed = answer.status != 405 && !answer.body.contains("there is nothing at this path");
                assert!(is_routed && answer.status < 500, "{method} {place}: {answer:?}");
                let said = operation["responses"].as_object().unwrap();
                let is_said = said.contains_key(&answer.status.to_string()) || answer.status >= 400;
                assert!(is_said, "{method} {path} answered {} without saying so", answer.status);
            }
        }
        ids.sort_unstable();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count, "every operation has a name of its own");
        assert!(count > 40, "{count} operations");
        check_references(&document, &document);
        api.stop().await;
    });
}

fn check_references(value: &Value, document: &Value) {
    match value {
        Value::Object(fields) => {
            if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                let place = reference.strip_prefix('#').unwrap();
                assert!(document.pointer(place).is_some(), "{reference} leads nowhere");
            }
            fields.values().for_each(|value| check_references(value, document));
        }
        Value::Array(values) => values.iter().for_each(|value| check_references(value, document)),
        _ => {}
    }
}
