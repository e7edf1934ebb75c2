//! Files and brokers as receivers: one cursor, at least once, across restarts and kills.

use std::time::Duration;

use feedwarden::actors::Scope;
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::{DeliveryFormat, EventType, NewWebhook, SourceId, Webhook, WebhookId};
use rstest::rstest;
use serde_json::Value;

use super::{World, run};
use crate::sinks::redis;
use crate::store::Engine::{self, Postgres, Sqlite};
use crate::store::{post, rss};

impl World {
    async fn sink(&self, url: &str, format: DeliveryFormat, event_types: &[EventType]) -> WebhookId {
        let (url, label, event_types) = (url.to_owned(), None, event_types.to_vec());
        let new = NewWebhook { url, secret: "".into(), label, format, event_types, created_at: self.now() };
        self.store.add_webhook(new).await.unwrap()
    }

    async fn quiet_source(&self) -> SourceId {
        let source = self.store.add(rss("http://127.0.0.1:9/")).await;
        self.store.raw("UPDATE sources SET enabled = NOT enabled").await;
        source.id
    }

    async fn sink_state(&self, id: WebhookId) -> Webhook {
        self.store.webhook(id).await.unwrap().unwrap()
    }

    async fn all_stored(&self, id: WebhookId) {
        let last = self.store.last_change_number().await.unwrap();
        self.until("everything stored", async || self.sink_state(id).await.progress.last_change_number >= last).await;
    }
}

fn bodies(events: impl IntoIterator<Item = String>) -> Vec<String> {
    let read = |event: String| serde_json::from_str::<Value>(&event).unwrap();
    let body = |event: Value| event["data"]["post"]["body"].as_str().unwrap().to_owned();
    events.into_iter().map(read).map(body).collect()
}

fn numbers(range: std::ops::RangeInclusive<i32>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}

#[rstest]
fn a_file_gets_every_event_once_across_restarts(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("events.ndjson");
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.settings.sinks.directory = Some(directory.path().to_owned());
        let source = world.quiet_source().await;
        world.store.find(source, vec![post("before")]).await;
        let id = world.sink(&format!("file:{}", file.display()), DeliveryFormat::Standard, &[]).await;
        let clouds = format!("file:{}", directory.path().join("clouds.ndjson").display());
        world.sink(&clouds, DeliveryFormat::CloudEvents, &[EventType::PostCreated]).await;
        let lines = || std::fs::read_to_string(&file).unwrap().lines().map(str::to_owned).collect::<Vec<_>>();
        world.store.find(source, numbers(1..=120).iter().map(|body| post(body)).collect()).await;
        world.start(Scope::Daemon);
        world.all_stored(id).await;
        assert_eq!(bodies(lines()), numbers(1..=120));
        world.restart().await;
        world.store.find(source, numbers(121..=130).iter().map(|body| post(body)).collect()).await;
        world.advance(Duration::from_secs(15));
        world.all_stored(id).await;
        assert_eq!(bodies(lines()), numbers(1..=130));
        let first: Value = serde_json::from_str(&lines()[0]).unwrap();
        assert_eq!(first["type"], "post.created");
        assert!(first["data"]["number"].is_i64() && first["data"]["source"]["url"].is_string(), "{first}");
        world.stop().await;
        let clouds = std::fs::read_to_string(directory.path().join("clouds.ndjson")).unwrap();
        let first: Value = serde_json::from_str(clouds.lines().next().unwrap()).unwrap();
        assert_eq!((&first["specversion"], &first["type"]), (&"1.0".into(), &"feedwarden.post.created".into()));
    });
}

#[rstest]
fn a_sink_that_cannot_be_written_is_retried_and_says_why(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let directory = tempfile::tempdir().unwrap();
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.settings.sinks.directory = Some(directory.path().to_owned());
        world.policy.webhooks.failures_max = 3;
        let source = world.quiet_source().await;
        let place = directory.path().join("later");
        let file = place.join("events.ndjson");
        let id = world.sink(&format!("file:{}", file.display()), DeliveryFormat::Standard, &[]).await;
        world.store.find(source, vec![post("1")]).await;
        world.start(Scope::Daemon);
        world.until("a failure", async || world.sink_state(id).await.progress.failures == 1).await;
        let error = world.sink_state(id).await.progress.last_error.unwrap();
        assert!(error.contains("/later cannot be opened"), "{error}");
        std::fs::create_dir(&place).unwrap();
        world.advance(Duration::from_secs(10));
        world.all_stored(id).await;
        assert_eq!(bodies(std::fs::read_to_string(&file).unwrap().lines().map(str::to_owned)), ["1"]);
        std::fs::remove_file(&file).unwrap();
        std::fs::remove_dir(&place).unwrap();
        world.store.find(source, vec![post("2")]).await;
        world.advance(Duration::from_secs(15));
        for _ in 0..3 {
            world.advance(Duration::from_secs(60));
            world.breathe().await;
        }
        world.until("disabled", async || !world.sink_state(id).await.enabled).await;
        assert_eq!(world.records.of("webhook disabled").len(), 1);
        world.stop().await;
    });
}

#[rstest]
fn a_broker_that_is_killed_gets_everything_when_it_is_back(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let Some(mut server) = redis::start(&[]).await else { return };
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        let source = world.quiet_source().await;
        let url = format!("redis://127.0.0.1:{}?stream=feeds", server.port);
        let id = world.sink(&url, DeliveryFormat::Standard, &[]).await;
        world.store.find(source, numbers(1..=30).iter().map(|body| post(body)).collect()).await;
        world.start(Scope::Daemon);
        world.all_stored(id).await;
        server.kill();
        world.store.find(source, numbers(31..=60).iter().map(|body| post(body)).collect()).await;
        world.advance(Duration::from_secs(15));
        world.until("a failure", async || world.sink_state(id).await.progress.failures == 1).await;
        let error = world.sink_state(id).await.progress.last_error.unwrap();
        assert!(error.starts_with("Redis at 127.0.0.1:"), "{error}");
        // The daemon is killed, too; the cursor is in the store.
        world.kill_and_start().await;
        server.restart().await;
        redis::loaded(&server).await;
        world.advance(Duration::from_secs(15));
        world.all_stored(id).await;
        assert_eq!(bodies(redis::payloads(&server, "feeds").await), numbers(1..=60));
        world.stop().await;
    });
}
