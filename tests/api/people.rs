//! Users, podcasts and keys through the listeners.

use feedwarden::api::tokens::TokenScope;
use feedwarden::demo::web::SiteBehaviour;
use rstest::rstest;
use serde_json::{Value, json};

use super::ApiWorld;
use crate::pipeline::run;
use crate::store::Engine::{self, Postgres, Sqlite};

const KEY: &str = "AAAA-canary-key";

/// A user with a podcast.
async fn owner(api: &ApiWorld, name: &str) -> (Value, Value) {
    let user = api.tell("POST", "/users", json!({ "name": name })).await;
    assert_eq!(user.status, 201, "{user:?}");
    let user = user.json()["id"].clone();
    let podcast = api.tell("POST", "/podcasts", json!({ "user_id": user, "title": "News" })).await;
    assert_eq!(podcast.status, 201, "{podcast:?}");
    assert_eq!(podcast.header("location"), Some(format!("/api/v1/podcasts/{}", podcast.json()["id"]).as_str()));
    (user, podcast.json()["id"].clone())
}

#[rstest]
fn users_are_added_found_listed_renamed_and_removed(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        for (name, field) in
            [("", "name"), ("  ", "name"), ("12", "name"), ("a\nb", "name"), (&"x".repeat(101), "name")]
        {
            let refused = api.tell("POST", "/users", json!({ "name": name })).await;
            refused.is_problem(400, "invalid", Some(field));
        }
        for name in [" ada ", "bob", "eve"] {
            assert_eq!(api.tell("POST", "/users", json!({ "name": name })).await.status, 201);
        }
        api.tell("POST", "/users", json!({ "name": "ada" })).await.is_problem(409, "duplicate", Some("name"));
        api.tell("PATCH", "/users/2", json!({ "name": "ada" })).await.is_problem(409, "duplicate", Some("name"));
        let found = api.get("/users?name=ada").await.json();
        assert_eq!((&found["items"][0]["id"], &found["next_cursor"]), (&json!(1), &Value::Null));
        assert_eq!(api.get("/users?name=nobody").await.json()["items"], json!([]));
        let first = api.get("/users?limit=2").await.json();
        let rest = api.get(&format!("/users?limit=2&cursor={}", first["next_cursor"].as_str().unwrap())).await.json();
        assert_eq!((&first["items"][1]["name"], &rest["items"][0]["name"]), (&json!("bob"), &json!("eve")));
        assert_eq!(rest["next_cursor"], Value::Null);
        assert_eq!(api.tell("PATCH", "/users/3", json!({ "name": "Eve" })).await.json()["name"], "Eve");
        assert_eq!(api.tell("DELETE", "/users/3", Value::Null).await.status, 204);
        for (method, body) in [("GET", Value::Null), ("PATCH", json!({ "name": "x" })), ("DELETE", Value::Null)] {
            api.tell(method, "/users/3", body).await.is_problem(404, "not-found", None);
        }
        api.stop().await;
    });
}

#[rstest]
fn podcasts_are_changed_and_nothing_is_removed_that_something_belongs_to(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let (ada, podcast) = owner(&api, "ada").await;
        let (bob, other) = owner(&api, "bob").await;
        let path = format!("/podcasts/{podcast}");
        for (body, field) in
            [(json!({ "user_id": 99, "title": "x" }), "user_id"), (json!({ "user_id": ada, "title": "" }), "title")]
        {
            api.tell("POST", "/podcasts", body.clone()).await.is_problem(400, "invalid", Some(field));
            api.tell("PATCH", &path, body).await.is_problem(400, "invalid", Some(field));
        }
        let changed = api.tell("PATCH", &path, json!({ "title": "Olds" })).await.json();
        assert_eq!((&changed["title"], &changed["user_id"]), (&json!("Olds"), &ada));
        assert_eq!(api.get(&format!("/podcasts?user_id={bob}")).await.json()["items"][0]["id"], other);
        api.tell("POST", "/scheduler/pause", Value::Null).await;
        let source = json!({ "url": "http://a.example/", "podcast_id": podcast });
        let source = api.tell("POST", "/sources", source).await.json()["source"]["id"].clone();
        for wrong in [
            api.tell("POST", "/sources", json!({ "url": "http://b.example/", "podcast_id": 99 })).await,
            api.tell("PATCH", &format!("/sources/{source}"), json!({ "podcast_id": 99 })).await,
        ] {
            wrong.is_problem(400, "invalid", Some("podcast_id"));
        }
        api.tell("DELETE", &path, Value::Null).await.is_problem(409, "refused", None);
        api.tell("DELETE", &format!("/users/{ada}"), Value::Null).await.is_problem(409, "refused", None);
        let moved = api.tell("PATCH", &format!("/sources/{source}"), json!({ "podcast_id": other })).await;
        assert_eq!(moved.json()["podcast_id"], other);
        assert_eq!(api.tell("DELETE", &path, Value::Null).await.status, 204);
        api.tell("DELETE", &path, Value::Null).await.is_problem(404, "not-found", None);
        assert_eq!(api.tell("DELETE", &format!("/users/{ada}"), Value::Null).await.status, 204);
        api.stop().await;
    });
}

#[rstest]
fn a_key_is_checked_kept_never_shown_and_forgotten(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        owner(&api, "ada").await;
        let path = "/users/1/keys/x";
        api.get(path).await.is_problem(404, "not-found", None);
        for key in ["", "two words", "{\"token\": \"canary\"}", &"x".repeat(16 * 1024 + 1)] {
            let refused = api.tell("PUT", path, json!({ "key": key })).await;
            refused.is_problem(400, "invalid", Some("key"));
            assert!(!refused.body.contains("canary"), "{refused:?}");
        }
        let wrong_type = api.tell("PUT", path, json!({ "key": [KEY] })).await;
        wrong_type.is_problem(400, "invalid", Some("key"));
        let missing = api.tell("PUT", "/users/9/keys/x", json!({ "key": KEY })).await;
        missing.is_problem(404, "not-found", None);
        let kept = api.tell("PUT", path, json!({ "key": KEY })).await;
        assert_eq!((kept.status, &kept.json()["provider"]), (200, &json!("x")));
        assert_eq!(api.get(path).await.json(), kept.json());
        assert_eq!(api.get("/users/1").await.json()["x_key_at"], kept.json()["updated_at"]);
        let reader = api.token(TokenScope::Read);
        let refused = api.tell_tcp("PUT", path, &json!({ "key": "other" }).to_string(), Some(&reader)).await;
        refused.is_problem(403, "forbidden", None);
        for seen in [kept, wrong_type, missing, api.get(path).await, api.get("/users").await, api.get("/users/1").await]
        {
            assert!(!seen.body.contains("canary"), "{seen:?}");
        }
        assert_eq!(api.tell("DELETE", path, Value::Null).await.status, 204);
        api.tell("DELETE", path, Value::Null).await.is_problem(404, "not-found", None);
        api.stop().await;
    });
}

#[rstest]
fn s510_an_x_account_without_a_key_is_refused_with_what_is_missing(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let (_, podcast) = owner(&api, "ada").await;
        let body = json!({ "url": "somebody", "type": "twitter", "first_poll": true });
        let refused = api.tell("POST", "/sources", body.clone()).await;
        refused.is_problem(422, "source-does-not-work", Some("podcast_id"));
        assert!(refused.body.contains("the source has no podcast"), "{refused:?}");
        let mut owned = body;
        owned["podcast_id"] = podcast;
        let refused = api.tell("POST", "/sources", owned.clone()).await;
        assert!(refused.body.contains("the owner of podcast 1 has no X key"), "{refused:?}");
        assert_eq!(api.get("/sources").await.json()["items"], json!([]));
        api.tell("POST", "/scheduler/pause", Value::Null).await;
        owned["first_poll"] = json!(false);
        let added = api.tell("POST", "/sources", owned).await.json();
        assert!(added["lacks"].as_str().unwrap().starts_with("the owner of podcast 1"), "{added}");
        let explain = format!("/sources/{}/explain", added["source"]["id"]);
        assert_eq!(api.get(&explain).await.json()["lacks"], added["lacks"]);
        api.tell("PUT", "/users/1/keys/x", json!({ "key": KEY })).await;
        assert_eq!(api.get(&explain).await.json()["lacks"], Value::Null);
        api.stop().await;
    });
}
