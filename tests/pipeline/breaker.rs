//! Hosts that are down are left alone (p32, p33).

use std::collections::BTreeSet;
use std::sync::Arc;

use feedwarden::demo::web::SiteBehaviour;
use feedwarden::dice::SeededDice;
use feedwarden::model::{FailureKind, SourceId};
use feedwarden::rules::minutes;
use rstest::rstest;
use serde_json::Value;

use super::{World, run};
use crate::store::Engine::{self, Postgres, Sqlite};

/// A host with eight sources that have all been polled, whose breaker opens after three silences for five minutes.
async fn one_host(engine: Engine) -> (World, Vec<SourceId>) {
    let mut world = World::on_one_host(engine, &[SiteBehaviour::Healthy; 8]).await;
    world.policy.breaker.after = 3;
    let ids = world.start_and_poll_all().await;
    (world, ids)
}

/// How many failures in a row each source has.
async fn failures(world: &World, ids: &[SourceId]) -> Vec<u32> {
    let mut counts = Vec::new();
    for id in ids {
        counts.push(world.source(*id).await.state.failures.consecutive);
    }
    counts
}

fn network_failures(world: &World) -> u64 {
    let network = FailureKind::ALL.iter().position(|kind| *kind == FailureKind::Network).unwrap();
    world.handle().statistics().view().failed[network]
}

fn warnings(world: &World, message: &str) -> Vec<Value> {
    world.records.at("warn").into_iter().filter(|record| record["msg"] == message).collect()
}

#[rstest]
fn p32_a_host_that_is_down_is_left_alone_but_for_one_probe_at_a_time(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let (mut world, ids) = one_host(engine).await;
        let host = world.web.sites()[0].host.clone();
        world.web.set_down(&host, true).unwrap();
        world.advance(minutes(60));
        world.settled_so_far(11).await;
        world.quiet().await;
        assert_eq!(failures(&world, &ids).await, [1, 1, 1, 0, 0, 0, 0, 0], "the others are skipped, and not blamed");
        let opened = warnings(&world, "host breaker opened");
        assert_eq!(
            (opened.len(), opened[0]["host"].as_str(), opened[0]["failures"].as_u64()),
            (1, Some(&*host), Some(3))
        );
        // After five minutes one of them is the probe, and the pause doubles.
        world.advance(minutes(5));
        world.settled_so_far(12).await;
        world.quiet().await;
        assert_eq!(failures(&world, &ids).await, [1, 1, 1, 1, 0, 0, 0, 0]);
        world.pass(minutes(9), 3).await;
        world.quiet().await;
        assert_eq!(network_failures(&world), 4);
        // A killed process forgets nothing of that.
        world.kill_and_start().await;
        world.quiet().await;
        assert_eq!(network_failures(&world), 0, "still left alone");
        world.advance(minutes(1));
        world.settled_so_far(1).await;
        world.quiet().await;
        assert_eq!(failures(&world, &ids).await, [1, 1, 1, 1, 1, 0, 0, 0]);
        assert!(warnings(&world, "host breaker opened").is_empty(), "one warning for each opening");
        // The probe that gets an answer ends it.
        world.web.set_down(&host, false).unwrap();
        world.pass(minutes(20), 4).await;
        world.told("host breaker closed").await;
        world.until("the others are polled", async || world.handle().statistics().view().unchanged >= 3).await;
        world.quiet().await;
        assert_eq!(world.stored_host(0).await.unwrap().breaker, Default::default());
        assert_eq!(failures(&world, &ids[5..]).await, [0, 0, 0]);
        world.stop().await;
    });
}

#[rstest]
fn p33_the_sources_of_a_host_that_is_back_return_spread_out(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::on_one_host(engine, &[SiteBehaviour::Healthy; 40]).await;
        world.dice = Arc::new(SeededDice::new(11));
        let ids = world.start_and_poll_all().await;
        let host = world.web.sites()[0].host.clone();
        world.web.set_down(&host, true).unwrap();
        world.advance(minutes(60));
        world.told("host breaker opened").await;
        world.quiet().await;
        let opened = world.now();
        assert_eq!(failures(&world, &ids).await.iter().sum::<u32>(), 5);
        world.web.set_down(&host, false).unwrap();
        world.pass(minutes(16), 32).await;
        world.quiet().await;
        let came: Vec<u64> = world.seconds_since(opened).into_iter().skip(40).collect();
        assert_eq!(came.len(), 35, "the five that failed wait for their backoff");
        assert!(came.iter().all(|at| (300..=930).contains(at)), "{came:?}");
        assert!(came.iter().copied().collect::<BTreeSet<u64>>().len() >= 12, "{came:?}");
        world.stop().await;
    });
}
