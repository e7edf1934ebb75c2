//! What a monitoring system sees: counters that are true, and readiness that is not there while nothing is polled.

use std::collections::BTreeMap;
use std::time::Duration;

use feedwarden::actors::FaultSettings;
use feedwarden::api::settings::{ApiLimits, TokenKey};
use feedwarden::api::tokens::TokenScope;
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::SourceId;
use feedwarden::rules::minutes;
use rstest::rstest;
use serde_json::{Value, json};

use super::ApiWorld;
use super::client::ask;
use super::world::SECRET;
use crate::pipeline::{Receiver, World, run};
use crate::store::Engine::{self, Postgres, Sqlite};
use crate::store::post;

/// Every sample by its name and labels. Each metric has its help and type before its samples.
async fn scrape(api: &ApiWorld) -> BTreeMap<String, f64> {
    let answer = ask(api.socket().await, "GET", "/metrics", &[], b"").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert!(!answer.body.contains("# EOF"), "{}", answer.body);
    samples(&answer.body, |line, announced| line.starts_with(announced))
}

fn samples(page: &str, belongs: impl Fn(&str, &str) -> bool) -> BTreeMap<String, f64> {
    let mut samples = BTreeMap::new();
    let mut announced = String::new();
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            announced = rest.split(' ').next().unwrap().to_owned();
        } else if !line.starts_with('#') {
            assert!(belongs(line, &announced), "{line} stands below {announced}");
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(samples.insert(name.to_owned(), value.parse().unwrap()).is_none(), "{name} is there twice");
        }
    }
    samples
}

#[test]
fn each_client_gets_the_text_format_that_it_accepts() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        // A page counts the requests before it, and has the same series as the next ones from then on.
        scrape(&api).await;
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let open = ask(api.socket().await, "GET", "/metrics", &[("Accept", prometheus)], b"").await;
        assert_eq!(open.header("content-type"), Some("application/openmetrics-text; version=1.0.0; charset=utf-8"));
        assert!(open.body.ends_with("\n# EOF\n"), "{}", open.body);
        assert!(open.body.contains("# TYPE feedwarden_polls counter\n"), "{}", open.body);
        let of_metric = |line: &str, name: &str| line.starts_with(name);
        let plain = ask(api.socket().await, "GET", "/metrics", &[("Accept", "text/plain")], b"").await;
        for line in ["# TYPE feedwarden_polls_total counter", "# TYPE feedwarden_ready gauge"] {
            assert!(plain.body.contains(line), "{}", plain.body);
        }
        let (open, plain) = (samples(&open.body, of_metric), samples(&plain.body, of_metric));
        assert_eq!(open.keys().collect::<Vec<_>>(), plain.keys().collect::<Vec<_>>());
        api.stop().await;
    });
}

async fn ready(api: &ApiWorld) -> (u16, String) {
    let answer = ask(api.socket().await, "GET", "/readyz", &[], b"").await;
    (answer.status, answer.body)
}

/// Whether it says that it is ready, and when something last succeeded.
async fn judged(api: &ApiWorld) -> (f64, f64) {
    let samples = scrape(api).await;
    (samples["feedwarden_ready"], samples["feedwarden_last_success_timestamp_seconds"])
}

#[rstest]
#[case::fails_from_the_start(SiteBehaviour::NotFound, 0.0)]
#[case::one_healthy_source_an_hour(SiteBehaviour::Healthy, 1.0)]
fn readiness_tells_a_daemon_that_only_fails_from_one_that_is_seldom_due(
    #[case] behaviour: SiteBehaviour,
    #[case] is_ready: f64,
) {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[behaviour]).await;
        let ids = api.world.add_all().await;
        api.world.handle().sources_changed(ids);
        api.world.settled(1).await;
        api.world.quiet().await;
        let (_, last_success) = judged(&api).await;
        assert_eq!(last_success > 0.0, is_ready > 0.0);
        // Past the quarter of an hour that readiness waits, and short of the next poll.
        api.world.pass(minutes(50), 5).await;
        assert_eq!(api.world.web.journal().len(), 1, "nothing was due meanwhile");
        assert_eq!(judged(&api).await, (is_ready, last_success));
        api.stop().await;
    });
}

#[rstest]
fn a_new_source_waits_since_it_was_added_and_a_removed_one_does_not(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::NotFound]).await;
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
        let none_scheduled = async || {
            let now = scheduler().await;
            ["scheduled", "waiting", "under_way"].iter().all(|place| now[place] == 0)
        };
        api.world.until("no source is scheduled", none_scheduled).await;
        api.stop().await;
    });
}

#[rstest]
fn the_counters_say_what_was_done(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy, SiteBehaviour::NotFound]).await;
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
            ("feedwarden_sources{state=\"active\"}", 1.0),
            ("feedwarden_sources{state=\"backing_off\"}", 1.0),
            ("feedwarden_hosts{state=\"available\"}", 2.0),
            ("feedwarden_fetch_duration_seconds_count", 2.0),
            ("feedwarden_parse_duration_seconds_count", 1.0),
            ("feedwarden_scheduled", 2.0),
            ("feedwarden_due_backlog", 0.0),
            ("feedwarden_restarts_total{actor=\"host\"}", 0.0),
            ("feedwarden_mailbox_depth{actor=\"post-sink\"}", 0.0),
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
fn a_host_that_is_called_scheduler_counts_as_a_host() {
    run(async || {
        let mut world = World::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let faults = vec!["host/PollSource=panic@1".parse().unwrap()];
        world.settings.faults = FaultSettings { is_enabled: true, seed: 1, limit: Some(1), faults };
        let api = ApiWorld::around(world, TokenKey::Secret(SECRET.into()), ApiLimits::default());
        api.world.quiet().await;
        api.world.add_feed("http://scheduler/feed.xml").await;
        api.world.until("its host restarts", async || api.world.handle().statistics().view().restarts == 1).await;
        let crashed = api.world.records.of("actor crashed");
        assert_eq!(crashed[0]["actor"], "scheduler", "the actor of a host has the name of its host");
        let samples = scrape(&api).await;
        assert_eq!(samples["feedwarden_restarts_total{actor=\"host\"}"], 1.0);
        assert_eq!(samples["feedwarden_restarts_total{actor=\"scheduler\"}"], 0.0);
        api.stop().await;
    });
}

#[test]
fn a_daemon_that_polls_nothing_successfully_is_not_ready() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        // What is added before everything is loaded would be loaded with it, and polled.
        api.world.quiet().await;
        let ids = api.world.add_all().await;
        assert_eq!(ready(&api).await.0, 200, "nothing was to be polled yet");
        assert_eq!(judged(&api).await, (1.0, 0.0), "nothing has succeeded, and nothing had to");
        api.world.handle().sources_changed(ids);
        api.world.settled(1).await;
        assert_eq!(ready(&api).await.0, 200);
        // Its publisher is away; for a while that is no reason.
        api.world.web.set_behaviour(0, SiteBehaviour::Broken(500)).unwrap();
        api.world.pass(minutes(60), 6).await;
        api.world.settled(2).await;
        let (status, body) = ready(&api).await;
        assert_eq!(status, 503, "{body}");
        assert!(body.contains("no poll has succeeded since"), "{body}");
        assert_eq!(judged(&api).await.0, 0.0, "the alert of docs/operations.md fires");
        assert_eq!(ask(api.socket().await, "GET", "/healthz", &[], b"").await.status, 200, "the process is fine");
        api.stop().await;
    });
}

#[test]
fn health_needs_no_token_and_metrics_do() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        for (path, status) in [("/healthz", 200), ("/readyz", 200), ("/metrics", 401)] {
            assert_eq!(ask(api.tcp().await, "GET", path, &[], b"").await.status, status, "{path}");
        }
        let authorization = format!("Bearer {}", api.token(TokenScope::Read));
        let headers = [("Authorization", authorization.as_str())];
        assert_eq!(ask(api.tcp().await, "GET", "/metrics", &headers, b"").await.status, 200);
        api.stop().await;
    });
}

#[rstest]
fn webhooks_are_counted_by_what_they_do(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let source = SourceId(api.add_quiet("http://a.example/feed").await);
        let hook =
            async |url: &str| api.tell("POST", "/webhooks", json!({ "url": url })).await.json()["id"].as_i64().unwrap();
        let taking = hook(&Receiver::start(&[]).await.url()).await;
        let broken = hook("http://127.0.0.1:9/").await;
        let disabled = hook("http://127.0.0.1:9/disabled").await;
        api.tell("POST", &format!("/webhooks/{disabled}/disable"), Value::Null).await;
        let samples = scrape(&api).await;
        assert_eq!(samples["feedwarden_webhooks{state=\"working\"}"], 2.0);
        assert_eq!(samples["feedwarden_webhook_lag_seconds"], 0.0);
        api.world.store.find(source, vec![post("1"), post("2")]).await;
        let stored_at = api.world.store.list_posts(None, None, 1).await.unwrap()[0].created_at;
        api.world.advance(Duration::from_secs(3600));
        let counted = async || {
            let samples = scrape(&api).await;
            samples["feedwarden_webhook_posts_total"] == 2.0
                && samples["feedwarden_webhook_deliveries_total{outcome=\"taken\"}"] == 1.0
                && samples["feedwarden_webhook_deliveries_total{outcome=\"failed\"}"] == 1.0
                && samples["feedwarden_webhooks{state=\"failing\"}"] == 1.0
        };
        api.world.until("both were asked", counted).await;
        let samples = scrape(&api).await;
        assert_eq!(samples["feedwarden_webhooks{state=\"working\"}"], 1.0);
        assert_eq!(samples["feedwarden_webhooks{state=\"disabled\"}"], 1.0);
        let behind = api.world.now().since(stored_at).as_secs_f64();
        assert!(behind > 0.0 && samples["feedwarden_webhook_lag_seconds"] == behind, "the broken one is behind");
        for id in [taking, broken] {
            api.tell("DELETE", &format!("/webhooks/{id}"), Value::Null).await;
        }
        assert_eq!(scrape(&api).await["feedwarden_webhook_lag_seconds"], 0.0, "a disabled webhook has no lag");
        api.stop().await;
    });
}

#[test]
fn requests_are_counted_by_route_and_never_by_path() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let id = api.add_quiet("http://a.example/feed").await;
        for path in [format!("/sources/{id}"), "/sources/77".to_owned(), "/sources/78".to_owned()] {
            api.get(&path).await;
        }
        for path in ["/nothing/1", "/nothing/2", "/feeds/all.atom", "/feeds/news.json", "/readyz"] {
            ask(api.socket().await, "GET", path, &[], b"").await;
        }
        for method in ["POST", "BREW", "STIR"] {
            ask(api.socket().await, method, "/healthz", &[], b"").await;
        }
        // What the guard refuses counts, too.
        assert_eq!(ask(api.tcp().await, "GET", "/api/v1/sources/5", &[], b"").await.status, 401);
        let samples = scrape(&api).await;
        let of = |name: &str| samples.keys().filter(|key| key.starts_with(name)).collect::<Vec<_>>();
        for (labels, wanted) in [
            ("method=\"POST\",route=\"/api/v1/sources\",code=\"201\"", 1.0),
            ("method=\"GET\",route=\"/api/v1/sources/{id}\",code=\"200\"", 1.0),
            ("method=\"GET\",route=\"/api/v1/sources/{id}\",code=\"404\"", 2.0),
            ("method=\"GET\",route=\"/api/v1/sources/{id}\",code=\"401\"", 1.0),
            ("method=\"GET\",route=\"none\",code=\"404\"", 2.0),
            ("method=\"GET\",route=\"/feeds/{name}.{format}\",code=\"200\"", 1.0),
            ("method=\"GET\",route=\"/feeds/{name}.{format}\",code=\"404\"", 1.0),
            ("method=\"other\",route=\"/healthz\",code=\"405\"", 2.0),
        ] {
            let name = format!("feedwarden_api_requests_total{{{labels}}}");
            assert_eq!(samples.get(&name), Some(&wanted), "{name}: {:#?}", of("feedwarden_api_requests_total"));
        }
        let durations = "feedwarden_api_request_duration_seconds_count{method=\"GET\",route=\"/api/v1/sources/{id}\"}";
        assert_eq!(samples.get(durations), Some(&4.0), "{:#?}", of("feedwarden_api_request_duration_seconds_count"));
        let buckets = of("feedwarden_api_request_duration_seconds_bucket").len();
        assert_eq!(buckets, 8 * of("feedwarden_api_request_duration_seconds_count").len());
        api.stop().await;
    });
}

#[test]
fn the_process_is_measured_under_the_usual_names() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let started_at = api.world.now().as_micros() as f64 / 1e6;
        let before = scrape(&api).await;
        assert_eq!(before["process_start_time_seconds"], started_at);
        assert!(before["process_resident_memory_bytes"] > 1e6);
        assert!(before["process_virtual_memory_bytes"] >= before["process_resident_memory_bytes"]);
        assert!(before["process_open_fds"] > 3.0 && before["process_open_fds"] < before["process_max_fds"]);
        api.world.advance(Duration::from_secs(60));
        let after = scrape(&api).await;
        assert!(after["process_cpu_seconds_total"] > before["process_cpu_seconds_total"]);
        assert_eq!(after["process_start_time_seconds"], started_at, "it does not move with the clock");
        api.stop().await;
    });
}
