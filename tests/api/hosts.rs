//! Hosts through the listeners.

use std::time::Duration;

use feedwarden::demo::web::SiteBehaviour;
use rstest::rstest;
use serde_json::{Value, json};

use super::ApiWorld;
use crate::pipeline::run;
use crate::store::Engine::{self, Postgres, Sqlite};

#[rstest]
fn a_host_is_held_by_a_person_and_released(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let host = api.world.web.hosts()[0].clone();
        let host = host.split(':').next().unwrap().to_owned();
        let hold = json!({ "seconds": 3600, "reason": "they asked by mail" });
        let held = api.tell("POST", &format!("/hosts/{host}/hold"), hold).await;
        assert_eq!((held.status, held.json()["state"].as_str()), (200, Some("held")), "{held:?}");
        let created = api.tell("POST", "/sources", json!({ "url": api.url(0) })).await.json();
        let id = created["source"]["id"].as_i64().unwrap();
        let asked = api.tell("POST", &format!("/sources/{id}/poll?wait=1"), Value::Null).await;
        assert_eq!(asked.status, 202, "{asked:?}");
        assert!(asked.json()["reason"].as_str().unwrap().contains("they asked by mail"), "{asked:?}");
        assert_eq!(api.world.web.journal().len(), 0);
        assert_eq!(api.get("/hosts").await.json()["items"][0]["state"], "held");
        let released = api.tell("POST", &format!("/hosts/{host}/release"), Value::Null).await;
        assert_eq!(released.json()["state"], "available");
        api.world.settled(1).await;
        api.tell("POST", &format!("/sources/{id}/disable"), json!({ "reason": "noise" })).await;
        let enabled = api.tell("POST", &format!("/hosts/{host}/enable-sources"), Value::Null).await.json();
        assert_eq!(enabled["enabled"], 1);
        api.tell("POST", "/hosts/a.example/hold", json!({ "reason": "x" })).await.is_problem(
            400,
            "invalid",
            Some("until"),
        );
        api.get("/hosts/nobody.example").await.is_problem(404, "not-found", None);
        api.stop().await;
    });
}

#[rstest]
fn a_host_that_nobody_had_to_do_with_is_held_and_nothing_else(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let verbs = ["release", "reset-breaker", "enable-sources"];
        for verb in verbs {
            let answer = api.tell("POST", &format!("/hosts/nobody.example/{verb}"), Value::Null).await;
            answer.is_problem(404, "not-found", None);
        }
        assert_eq!(api.get("/hosts").await.json()["items"], json!([]), "asking left no host behind");
        // A source is enough, although no request was sent yet.
        api.add_quiet("http://a.example/feed").await;
        // One may hold a host before there is anything to ask it.
        let hold = json!({ "seconds": 60, "reason": "before the move" });
        assert_eq!(api.tell("POST", "/hosts/b.example/hold", hold).await.status, 200);
        for (host, verb) in ["a.example", "b.example"].into_iter().flat_map(|host| verbs.map(|verb| (host, verb))) {
            let answer = api.tell("POST", &format!("/hosts/{host}/{verb}"), Value::Null).await;
            assert_eq!(answer.status, 200, "{host} {verb}: {answer:?}");
        }
        api.stop().await;
    });
}

#[test]
fn a_hold_that_cannot_be_is_refused_by_its_field() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let week = 7 * 24 * 3600;
        for (field, value) in [
            ("until", json!("2999-01-01T00:00:00Z")),
            ("seconds", json!(week + 1)),
            ("seconds", json!(999_999_999_999_u64)),
            ("seconds", json!(u64::MAX)),
            ("seconds", json!(0)),
            ("until", json!("2020-01-01T00:00:00Z")),
        ] {
            let hold = json!({ field: value, "reason": "x" });
            let refused = api.tell("POST", "/hosts/a.example/hold", hold).await;
            refused.is_problem(400, "invalid", Some(field));
            let is_too_long = refused.body.contains("a host is held for 604800 seconds, until ");
            assert!(is_too_long || refused.body.contains("this time is in the past"), "{refused:?}");
        }
        let longest = json!({ "seconds": week, "reason": "x" });
        assert_eq!(api.tell("POST", "/hosts/a.example/hold", longest).await.status, 200);
        api.stop().await;
    });
}

#[rstest]
fn the_last_requests_and_the_queue_of_a_host_are_shown(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let host = api.world.web.hosts()[0].split(':').next().unwrap().to_owned();
        let path = format!("/hosts/{host}/requests");
        api.get(&path).await.is_problem(404, "not-found", None);
        let created = api.tell("POST", "/sources", json!({ "url": api.url(0) })).await.json();
        let id = created["source"]["id"].clone();
        api.world.settled(1).await;
        let found = api.get(&path).await.json();
        let requests = found["items"].as_array().unwrap();
        assert_eq!(requests.len(), 1, "{found}");
        let request = &requests[0];
        assert_eq!((&request["purpose"], &request["source_id"]), (&json!("poll"), &id), "{found}");
        assert_eq!((&request["status_code"], &request["error_type"]), (&json!(200), &Value::Null), "{found}");
        let queue = api.get(&format!("/hosts/{host}")).await.json()["queue"].clone();
        assert_eq!(queue, json!({ "sources": 1, "waiting": 0, "under_way": [] }));
        api.get(&format!("{path}?limit=201")).await.is_problem(400, "invalid", Some("limit"));
        let service = api.world.service();
        assert_eq!(service.host_requests(&host, 10).await.unwrap().len(), 1, "no poll is listed twice");
        api.stop().await;
    });
}

#[test]
fn hosts_that_take_no_requests_are_listed_worst_first() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        for (host, seconds) in [("a.example", 60), ("b.example", 7200), ("c.example", 3600)] {
            let hold = json!({ "seconds": seconds, "reason": "x" });
            assert_eq!(api.tell("POST", &format!("/hosts/{host}/hold"), hold).await.status, 200);
        }
        // Idle hosts lose their entries after a minute, unless they are held.
        for _ in 0..20 {
            api.world.advance(Duration::from_secs(10));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let hosts = async |query: &str| {
            let found = api.get(&format!("/hosts?{query}")).await.json();
            let names = found["items"].as_array().unwrap().iter().map(|host| host["host"].as_str().unwrap().to_owned());
            names.collect::<Vec<_>>()
        };
        assert_eq!(hosts("state=held").await, ["b.example", "c.example"]);
        assert_eq!(hosts("state=held&limit=1").await, ["b.example"]);
        assert_eq!(hosts("state=breaker_open").await, Vec::<String>::new());
        let troubled = api.world.service().troubled_hosts(10);
        assert_eq!(troubled.iter().map(|status| status.host.as_str()).collect::<Vec<_>>(), ["b.example", "c.example"]);
        api.get("/hosts?state=available").await.is_problem(400, "invalid", Some("state"));
        api.stop().await;
    });
}
