//! What a monitoring system sees: counters that are true, and readiness that is not there while nothing is polled.

use std::collections::BTreeMap;
use std::time::Duration;

use feedwarden::api::tokens::Scope as Allowed;
use feedwarden::demo::web::Character;
use feedwarden::rules::minutes;
use rstest::rstest;
use serde_json::{Value, json};

use super::ApiWorld;
use super::client::ask;
use crate::pipeline::run;
use crate::store::Engine::{self, Postgres, Sqlite};

/// Every sample by its name and labels. Each metric has its help and type before its samples.
async fn scrape(api: &ApiWorld) -> BTreeMap<String, f64> {
    let answer = ask(api.socket().await, "GET", "/metrics", &[], b"").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let mut samples = BTreeMap::new();
    let mut announced = String::new();
    for line in answer.body.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            announced = rest.split(' ').next().unwrap().to_owned();
        } else if !line.starts_with('#') {
            assert!(line.starts_with(&announced), "{line} stands below {announced}");
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(samples.insert(name.to_owned(), value.parse().unwrap()).is_none(), "{name} is there twice");
        }
    }
    samples
}

async fn ready(api: &ApiWorld) -> (u16, String) {
    let answer = ask(api.socket().await, "GET", "/readyz", &[], b"").await;
    (answer.status, answer.body)
}

#[rstest]
fn a_new_source_waits_since_it_was_added_and_a_removed_one_does_not(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[Character::NotFound]).await;
        let scheduler = async || api.get("/scheduler").await.json();
        let added_at = api.world.now();
        let id = api.add_quiet("http://a.example/feed").await;
        api.world.until("it waits", async || scheduler().await["waiting"] == 1).await;
        assert_eq!(scheduler().await["oldest_due_at"], added_at.to_string());
        api.world.advance(Duration::from_secs(60));
        assert_eq!(scrape(&api).await["feedwarden_due_lag_seconds"], 60.0);
        api.tell("DELETE", &format!("/sources/{id}"), Value::Null).await;
        api.world.until("it is forgotten", async || scheduler().await["waiting"] == 0).await;
        assert_eq!(scheduler().await["oldest_due_at"], Value::Null);
        assert_eq!(scrape(&api).await["feedwarden_due_lag_seconds"], 0.0);
        // One that is taken back after its first poll is under way while it is removed.
        api.tell("POST", "/scheduler/resume", Value::Null).await;
        let refused = api.tell("POST", "/sources", json!({ "url": api.url(0), "first_poll": true })).await;
        refused.is_problem(422, "source-does-not-work", Some("url"));
        let nobody = async || {
            let now = scheduler().await;
            ["scheduled", "waiting", "under_way"].iter().all(|place| now[place] == 0)
        };
        api.world.until("nobody is scheduled", nobody).await;
        api.stop().await;
    });
}

#[rstest]
fn the_counters_say_what_was_done(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[Character::Healthy, Character::NotFound]).await;
        let ids = api.world.add_all().await;
        api.world.handle().sources_changed(ids);
        api.world.settled(2).await;
        api.world.quiet().await;
        let samples = scrape(&api).await;
        for (name, wanted) in [
            ("feedwarden_polls_total{outcome=\"read\"}", 1.0),
            ("feedwarden_polls_total{outcome=\"not_found\"}", 1.0),
            ("feedwarden_polls_total{outcome=\"network\"}", 0.0),
            ("feedwarden_new_posts_total", 1.0),
            ("feedwarden_sources{state=\"healthy\"}", 1.0),
            ("feedwarden_sources{state=\"backing_off\"}", 1.0),
            ("feedwarden_hosts{state=\"active\"}", 2.0),
            ("feedwarden_fetch_duration_seconds_count", 2.0),
            ("feedwarden_parse_duration_seconds_count", 1.0),
            ("feedwarden_scheduled", 2.0),
            ("feedwarden_due_backlog", 0.0),
            ("feedwarden_restarts_total{actor=\"host\"}", 0.0),
            ("feedwarden_mailbox_depth{actor=\"post sink\"}", 0.0),
            ("feedwarden_store_up", 1.0),
            ("feedwarden_log_dropped_total{reason=\"queue_full\"}", 0.0),
        ] {
            assert_eq!(samples.get(name), Some(&wanted), "{name}: {samples:#?}");
        }
        assert!(samples["feedwarden_settle_duration_seconds_count"] >= 1.0);
        assert!(samples["feedwarden_wire_bytes_total"] > 100.0);
        assert_eq!(
            samples["feedwarden_fetch_duration_seconds_bucket{le=\"+Inf\"}"],
            samples["feedwarden_fetch_duration_seconds_count"]
        );
        api.stop().await;
    });
}

#[test]
fn a_daemon_that_polls_nothing_successfully_is_not_ready() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[Character::Healthy]).await;
        let ids = api.world.add_all().await;
        assert_eq!(ready(&api).await.0, 200, "nothing was to be polled yet");
        api.world.handle().sources_changed(ids);
        api.world.settled(1).await;
        assert_eq!(ready(&api).await.0, 200);
        // Its publisher is away; for a while that is no reason.
        api.world.web.set_character(0, Character::Broken(500)).unwrap();
        api.world.pass(minutes(60), 6).await;
        api.world.settled(2).await;
        let (status, body) = ready(&api).await;
        assert_eq!(status, 503, "{body}");
        assert!(body.contains("no poll has succeeded since"), "{body}");
        assert_eq!(ask(api.socket().await, "GET", "/healthz", &[], b"").await.status, 200, "the process is fine");
        api.stop().await;
    });
}

#[test]
fn health_needs_no_token_and_metrics_do() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[Character::Healthy]).await;
        for (path, status) in [("/healthz", 200), ("/readyz", 200), ("/metrics", 401)] {
            assert_eq!(ask(api.tcp().await, "GET", path, &[], b"").await.status, status, "{path}");
        }
        let authorization = format!("Bearer {}", api.token(Allowed::Read));
        let headers = [("Authorization", authorization.as_str())];
        assert_eq!(ask(api.tcp().await, "GET", "/metrics", &headers, b"").await.status, 200);
        api.stop().await;
    });
}
