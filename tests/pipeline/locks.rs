//! Another session of the database locks a row: everything that it does not concern goes on.

use std::time::Duration;

use feedwarden::demo::web::SiteBehaviour;
use feedwarden::rules::minutes;
use feedwarden::store::settings::EngineSettings;

use super::outage::{add_apart, failures, impatient};
use super::{World, run};
use crate::store::{Engine, connect};

async fn hold(world: &World, statement: &str) -> tokio_postgres::Client {
    let EngineSettings::Postgres(settings) = &world.store.settings.engine else { unreachable!() };
    let holder = connect(&settings.url).await;
    holder.batch_execute(&format!("BEGIN; {statement}")).await.unwrap();
    holder
}

#[test]
fn a_locked_source_waits_and_all_others_are_settled() {
    run(async || {
        // All on one host: the locked one must not keep the host either.
        let mut world = World::on_one_host(Engine::Postgres, &[SiteBehaviour::Healthy; 6]).await;
        let ids = world.start_and_poll_all().await;
        let locked = [ids[1], ids[2], ids[3]];
        let holder = hold(
            &world,
            &format!("SELECT 1 FROM sources WHERE id IN ({}, {}, {}) FOR UPDATE", ids[1].0, ids[2].0, ids[3].0),
        )
        .await;
        for round in 1..=2 {
            world.advance(minutes(60));
            world.settled_so_far(6 + 3 * round).await;
        }
        world.told("source row locked").await;
        world.until("all locked ones wait", async || world.handle().locked_sources() == 3).await;
        for id in locked {
            let explained = world.service().explain(id).await.unwrap();
            assert!(explained.summary.contains("another session of the database locks its row"), "{explained:?}");
        }
        let asked = [1, 2, 3].map(|site| world.asked(site).len());
        assert_eq!(asked, [2; 3], "their publisher is asked once, not again and again");
        assert_eq!(world.service().store_trouble().await, None);
        holder.batch_execute("ROLLBACK").await.unwrap();
        // The three polls that waited; the sources are due again meanwhile.
        world.until("all are settled", async || world.handle().locked_sources() == 0).await;
        world.quiet().await;
        for id in ids {
            assert!(world.source(id).await.state.last_polled > Some(world.now() - minutes(61)));
        }
        world.stop().await;
        assert_eq!(world.records.of("store unavailable"), Vec::<serde_json::Value>::new());
        assert_eq!(world.records.of("source row free again").len(), world.records.of("source row locked").len());
        assert_eq!(world.records.at("error"), Vec::<serde_json::Value>::new());
    });
}

#[test]
fn a_locked_host_keeps_no_poll_from_being_settled() {
    run(async || {
        let mut world = World::of(Engine::Postgres, &[SiteBehaviour::Healthy; 3]).await;
        world.start_and_poll_all().await;
        let host = world.stored_host(1).await.unwrap().host;
        let holder = hold(&world, &format!("SELECT 1 FROM hosts WHERE host = '{host}' FOR UPDATE")).await;
        for round in 1..=2 {
            world.advance(minutes(60));
            world.settled(3 + 3 * round).await;
        }
        world.told("host row locked").await;
        holder.batch_execute("ROLLBACK").await.unwrap();
        world.advance(minutes(60));
        world.settled(12).await;
        assert_eq!(world.stored_host(1).await.unwrap().last_asked_at, Some(world.now()), "it is written again");
        world.told("host row free again").await;
        world.stop().await;
        assert_eq!(world.records.at("error"), Vec::<serde_json::Value>::new());
    });
}

#[test]
fn a_locked_table_suspends_polling_and_says_so() {
    run(async || {
        let mut world = World::of(Engine::Postgres, &[SiteBehaviour::Healthy; 2]).await;
        world.start_and_poll_all().await;
        let holder = hold(&world, "LOCK TABLE sources IN ACCESS EXCLUSIVE MODE").await;
        world.advance(minutes(60));
        world.told("store unavailable").await;
        let said = world.handle().store_trouble().unwrap();
        assert!(said.contains("locks a whole table"), "{said}");
        holder.batch_execute("ROLLBACK").await.unwrap();
        world.settled(4).await;
        world.stop().await;
    });
}

#[test]
fn a_flood_of_slow_requests_of_the_api_delays_no_poll() {
    run(async || {
        let directory = tempfile::tempdir().unwrap();
        let mut settings = Engine::Postgres.settings(&directory).await;
        let EngineSettings::Postgres(postgres) = &mut settings.engine else { unreachable!() };
        // The requests are to be slow for longer than this test takes.
        postgres.lock_timeout = Duration::from_secs(60);
        let store = crate::store::TestStore::open(settings, directory).await;
        let mix = feedwarden::demo::web::Mix::InTurn(vec![SiteBehaviour::Healthy]);
        let web = feedwarden::demo::web::WebSettings { hosts: 5, sites: 5, mix, ..Default::default() };
        let mut world = World::around(store, web);
        world.start_and_poll_all().await;
        let holder = hold(&world, "LOCK TABLE users IN ACCESS EXCLUSIVE MODE").await;
        let service = world.service();
        let flood: Vec<_> = (0..40)
            .map(|_| {
                let service = service.clone();
                actix_rt::spawn(async move { service.users(None, 10).await })
            })
            .collect();
        let EngineSettings::Postgres(postgres) = &world.store.settings.engine else { unreachable!() };
        let watcher = connect(&postgres.url).await;
        let slow =
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let slow = async || watcher.query_one(slow, &[]).await.unwrap().get::<_, i64>(0);
        world.until("the flood is on", async || slow().await >= 4).await;
        for round in 1..=3 {
            world.advance(minutes(60));
            world.settled(5 + 5 * round).await;
        }
        assert_eq!(world.service().store_trouble().await, None, "the daemon is ready");
        assert!(slow().await >= 4, "the flood is still on");
        holder.batch_execute("ROLLBACK").await.unwrap();
        for request in flood {
            // Those that found no connection in time were refused.
            let _ = request.await.unwrap();
        }
        world.stop().await;
        assert_eq!(world.records.at("error"), Vec::<serde_json::Value>::new());
    });
}

#[test]
fn p31_a_failure_that_waits_for_its_row_is_taken_back_if_an_outage_explains_it() {
    run(async || {
        let mut world = impatient(Engine::Postgres, &[SiteBehaviour::Healthy; 3]).await;
        let apart = Duration::from_secs(7);
        let ids = add_apart(&mut world, apart).await;
        world.web.set_network_down(true).unwrap();
        let holder = hold(&world, &format!("SELECT 1 FROM sources WHERE id = {} FOR UPDATE", ids[0].0)).await;
        world.advance(minutes(60) - apart * 3);
        world.until("the first failure waits", async || world.handle().locked_sources() == 1).await;
        world.advance(apart);
        world.settled_so_far(4).await;
        world.advance(apart);
        world.told("outage begun").await;
        world.until("the second one is taken back", async || failures(&world, &ids[1..]).await == [0; 2]).await;
        assert_eq!(world.handle().locked_sources(), 1);
        holder.batch_execute("ROLLBACK").await.unwrap();
        world.until("the first one is written", async || world.handle().locked_sources() == 0).await;
        let reverted = |id| world.records.of("failure reverted").iter().any(|record| record["source_id"] == id);
        world.until("it is taken back", async || reverted(ids[0].0)).await;
        let state = world.source(ids[0]).await.state;
        assert_eq!((state.failures.consecutive, state.enabled), (0, true));
        assert_eq!(world.stored_host(0).await.unwrap().breaker, Default::default());
        world.stop().await;
    });
}
