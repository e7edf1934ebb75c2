//! The OpenAPI document says everything there is, and nothing that is not.

use std::path::Path;

use feedwarden::demo::web::SiteBehaviour;
use serde_json::Value;

use super::ApiWorld;
use super::client::ask;
use crate::pipeline::run;
use crate::store::Engine::Sqlite;

#[test]
fn every_documented_route_answers_and_every_reference_leads_somewhere() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
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
                let place = path.replace("{host}", "a.example").replace("{name}.{format}", "all.atom");
                let place = place.replace("{id}", "1").replace("{post_id}", "1");
                let answer = ask(api.socket().await, &method.to_uppercase(), &place, &[], b"").await;
                if method == "get" {
                    let head = ask(api.socket().await, "HEAD", &place, &[], b"").await;
                    assert_eq!((head.status, head.body.as_str()), (answer.status, ""), "HEAD {place}");
                    for name in ["content-type", "etag", "cache-control", "content-disposition", "transfer-encoding"] {
                        assert_eq!(head.header(name), answer.header(name), "HEAD {place}");
                    }
                    assert_eq!(head.header("content-length").is_some(), answer.header("content-length").is_some());
                }
                let is_routed = answer.status != 405 && !answer.body.contains("there is nothing at this path");
                assert!(is_routed && answer.status < 500, "{method} {place}: {answer:?}");
                let said = operation["responses"].as_object().unwrap();
                let is_said = said.contains_key(&answer.status.to_string()) || answer.status >= 400;
                assert!(is_said, "{method} {path} answered {} without saying so", answer.status);
            }
        }
        let endless = ask(api.socket().await, "HEAD", "/api/v1/posts/stream", &[], b"").await;
        assert_eq!((endless.status, endless.header("allow")), (405, Some("GET")), "the stream is not read to its end");
        ids.sort_unstable();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count, "every operation has a name of its own");
        assert!(count > 40, "{count} operations");
        for (path, needs_token) in [("/feeds/{name}.{format}", true), ("/metrics", true), ("/healthz", false)] {
            assert_eq!(document["paths"][path]["get"]["security"].is_null(), needs_token, "{path}");
        }
        let feed = &document["paths"]["/feeds/{name}.{format}"]["get"]["responses"]["200"]["content"];
        let types = ["application/atom+xml", "application/feed+json"].map(|kind| &feed[kind]["schema"]["type"]);
        assert_eq!(types, ["string", "object"]);
        check_references(&document, &document);
        api.stop().await;
    });
}

/// Document and routes come from the table of endpoints; a route registered elsewhere would be missing.
#[test]
fn nothing_is_served_that_is_not_in_the_document() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for word in [".route(", ".service(", ".configure(", "web::resource(", "web::scope("] {
                let file = path.file_name().unwrap().to_str().unwrap().to_owned();
                found.extend(text.matches(word).map(|_| format!("{file}: {word}")));
            }
        }
    }
    found.sort_unstable();
    let wanted = [
        // Requests from inside the daemon, of the dashboard, to the routes of the table.
        "local.rs: .configure(",
        "routes.rs: .route(",
        "routes.rs: .service(",
        "routes.rs: web::resource(",
        // The routes of the table, and the dashboard.
        "server.rs: .configure(",
        "server.rs: .configure(",
    ];
    assert_eq!(found, wanted);
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

#[test]
fn the_roots_link_to_the_document_and_tell_strangers_nothing() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        for path in ["/", "/api/v1"] {
            let index = ask(api.socket().await, "GET", path, &[], b"").await;
            assert_eq!((index.status, &index.json()["openapi"]), (200, &"/api/v1/openapi.json".into()), "{index:?}");
            assert_eq!(index.header("link"), Some("</api/v1/openapi.json>; rel=\"service-desc\""));
            let stranger = ask(api.tcp().await, "GET", path, &[], b"").await;
            stranger.is_problem(401, "unauthorized", None);
            let told = format!("{}{}", stranger.head, stranger.body).to_lowercase();
            assert!(!told.contains(env!("CARGO_PKG_VERSION")) && !told.contains("openapi"), "{told}");
        }
        api.stop().await;
    });
}

/// What openapi-spec-validator and redocly lint check too (`tests/openapi`), without them.
#[test]
fn every_schema_is_used_and_every_default_is_allowed() {
    let document = feedwarden::api::openapi_document();
    let text = document.to_string();
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(text.contains(&format!("\"#/components/schemas/{name}\"")), "{name} is never used");
    }
    check_enums(&document);
}

fn check_enums(value: &Value) {
    match value {
        Value::Object(fields) => {
            if let (Some(allowed), Some(default)) =
                (fields.get("enum").and_then(Value::as_array), fields.get("default"))
            {
                assert!(allowed.contains(default), "{value}");
            }
            fields.values().for_each(check_enums);
        }
        Value::Array(values) => values.iter().for_each(check_enums),
        _ => {}
    }
}
