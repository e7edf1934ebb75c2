//! One row that cannot be read stops nothing: it is named once, everything else is polled, and it is polled again as
//! soon as it is corrected.

use std::time::Duration;

use feedwarden::actors::Scope;
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::{DeliveryFormat, HostKey, HostState, NewWebhook, SourceId};
use feedwarden::rules::minutes;
use rstest::rstest;

use super::{World, run};
use crate::store::Engine::{self, Postgres, Sqlite};

async fn set_type(world: &World, id: SourceId, name: &str) {
    world.store.raw(&format!("UPDATE sources SET type = '{name}' WHERE id = {}", id.0)).await;
}

#[rstest]
fn a_bad_row_at_the_start_is_named_and_skipped_and_comes_back(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy; 3]).await;
        let ids = world.add_all().await;
        set_type(&world, ids[1], "gopher").await;
        world.start(Scope::Daemon);
        world.told("sources loaded").await;
        world.told("row quarantined").await;
        world.advance(minutes(60));
        world.settled(2).await;
        assert_eq!(world.asked(1), [], "it is not polled");
        let status = world.handle().scheduler_status().await.unwrap();
        assert!(status.is_loaded);
        assert_eq!(world.service().not_ready_because(Some(&status)).await, Vec::<String>::new());
        let told = world.records.of("row quarantined");
        assert_eq!(told.len(), 1);
        let record = &told[0];
        assert_eq!((&record["table"], &record["key"]), (&"sources".into(), &ids[1].0.to_string().into()));
        assert_eq!((&record["column"], &record["value"]), (&"type".into(), &"gopher".into()));
        assert_eq!(world.service().quarantined_rows(10).sources, 1);
        set_type(&world, ids[1], "rss").await;
        world.advance(minutes(1));
        world.told("row readable again").await;
        world.advance(minutes(60));
        world.until("it is polled", async || !world.asked(1).is_empty()).await;
        assert_eq!(world.service().quarantined_rows(10).total, 0);
        world.quiet().await;
        world.stop().await;
        assert_eq!(world.records.of("row quarantined").len(), 1, "named once");
        assert_eq!(world.records.at("error"), Vec::<serde_json::Value>::new());
    });
}

#[rstest]
fn a_row_that_goes_bad_later_leaves_the_schedule_and_the_others_go_on(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy; 3]).await;
        let ids = world.start_and_poll_all().await;
        set_type(&world, ids[2], "gopher").await;
        for round in 1..=2 {
            world.advance(minutes(60));
            world.settled(3 + 2 * round).await;
        }
        world.told("row quarantined").await;
        assert_eq!(world.asked(2).len(), 1);
        set_type(&world, ids[2], "rss").await;
        world.advance(minutes(1));
        world.until("it is polled", async || world.asked(2).len() == 2).await;
        world.quiet().await;
        world.stop().await;
    });
}

#[rstest]
fn a_source_that_is_removed_leaves_the_quarantine(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy; 2]).await;
        let ids = world.add_all().await;
        set_type(&world, ids[0], "gopher").await;
        set_type(&world, ids[1], "gopher").await;
        world.start(Scope::Daemon);
        world.until("both are known", async || world.service().quarantined_rows(0).sources == 2).await;
        world.service().remove_source(ids[0], None).await.unwrap();
        assert_eq!(world.service().quarantined_rows(0).sources, 1);
        world.store.raw(&format!("DELETE FROM sources WHERE id = {}", ids[1].0)).await;
        world.advance(minutes(1));
        world.until("both are gone", async || world.service().quarantined_rows(0).sources == 0).await;
        world.stop().await;
    });
}

#[rstest]
fn a_daemon_that_cannot_load_its_sources_is_not_ready_after_a_minute(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.add_all().await;
        world.store.raw("ALTER TABLE sources RENAME TO hidden").await;
        world.start(Scope::Daemon);
        let service = world.service();
        world.told("sources not read").await;
        let reasons = async || {
            let status = world.handle().scheduler_status().await;
            service.not_ready_because(status.as_ref()).await
        };
        assert_eq!(reasons().await, Vec::<String>::new(), "it has a minute");
        world.advance(Duration::from_secs(61));
        world.until("it is tried again", async || world.records.of("sources not read").len() == 2).await;
        let said = reasons().await.join("; ");
        assert!(said.contains("not all sources are loaded 61 s after the start") && said.contains("sources"), "{said}");
        world.store.raw("ALTER TABLE hidden RENAME TO sources").await;
        world.advance(minutes(1));
        world.told("sources loaded").await;
        world.until("it is ready", async || reasons().await.is_empty()).await;
        world.advance(minutes(60));
        world.settled(1).await;
        world.stop().await;
    });
}

#[rstest]
fn a_bad_post_is_named_and_its_source_is_polled_on(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::NoValidators]).await;
        let ids = world.start_and_poll_all().await;
        let bad = world.store.list_posts(Some(ids[0]), None, 1).await.unwrap()[0].id;
        // Its content is another one than the publisher's, so that the poll reads the row.
        world
            .store
            .raw(&format!("UPDATE posts SET revision = -1, content_hash = {} WHERE id = {bad}", engine.zeros(32)))
            .await;
        world.web.publish(0, 2);
        world.advance(minutes(60));
        world.settled(2).await;
        assert_eq!(world.records.of("poll not stored"), Vec::<serde_json::Value>::new());
        let state = world.source(ids[0]).await.state;
        assert_eq!((state.failures.consecutive, state.failures.last), (0, None));
        assert_eq!(world.store.bodies(ids[0]).await.len(), 2, "what is new is stored");
        world.advance(minutes(1));
        world.told("row quarantined").await;
        let told = &world.records.of("row quarantined")[0];
        assert_eq!((&told["table"], &told["key"]), (&"posts".into(), &bad.to_string().into()));
        assert_eq!((&told["column"], &told["value"]), (&"revision".into(), &"-1".into()));
        world.store.raw(&format!("UPDATE posts SET revision = 0 WHERE id = {bad}")).await;
        world.advance(minutes(1));
        world.told("row readable again").await;
        world.stop().await;
        assert_eq!(world.records.at("error"), Vec::<serde_json::Value>::new());
    });
}

#[rstest]
fn rows_that_are_removed_by_hand_leave_the_quarantine(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy; 2]).await;
        let ids = world.start_and_poll_all().await;
        for name in ["a", "b"] {
            let url = format!("http://{name}.example/hook");
            let new = NewWebhook {
                url,
                secret: "0123456789abcdef".into(),
                label: None,
                format: DeliveryFormat::Classic,
                event_types: Vec::new(),
                created_at: world.now(),
            };
            world.store.add_webhook(new).await.unwrap();
        }
        // Of a host that is not polled, so that no poll writes it anew.
        world.store.record_hosts(vec![HostState::new(HostKey::from_canonical("old.example"))]).await.unwrap();
        world.store.raw("UPDATE posts SET revision = -1").await;
        world.store.raw("UPDATE webhooks SET failures = -1").await;
        world.store.raw("UPDATE hosts SET breaker_failures = -1 WHERE host = 'old.example'").await;
        world.store.list_hosts(None, 100).await.unwrap();
        world.store.list_posts(Some(ids[0]), None, 10).await.unwrap();
        world.store.list_webhooks(None, 10).await.unwrap();
        assert_eq!(world.service().quarantined_rows(0).total, 4);
        world.advance(minutes(1));
        world.told("row quarantined").await;
        assert_eq!(world.service().quarantined_rows(0).total, 4, "they are still there");
        world.store.raw("DELETE FROM posts").await;
        world.store.raw("DELETE FROM webhooks").await;
        world.store.raw("DELETE FROM hosts WHERE host = 'old.example'").await;
        world.advance(minutes(1));
        world.until("the quarantine is empty", async || world.service().quarantined_rows(0).total == 0).await;
        world.stop().await;
    });
}
