//! Nodes that join, renew, expire each other, take, release and write at the same time, with the statements of the
//! product and a lease of a fraction of a second. Triggers and the writers themselves report every shard that is taken
//! from a live node and every write that commits after its shard changed hands.

mod node;
mod statements;

use std::sync::Arc;
use std::time::Duration;

use feedwarden::clock::Stopwatch;

use crate::store::Engine;
use node::{Arena, Totals, live};
use rstest::rstest;
use statements::{FenceShape, Statements};

/// Nodes that contend at the same time, each with one connection for its lease and one for its writes.
const NODES: usize = 16;
/// Length of a round.
const ROUND: Duration = Duration::from_secs(5);
/// Rounds in which the race without its lock must show a late write.
const CONTROL_ROUNDS: usize = 4;

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn p28_no_shard_is_taken_from_a_live_node_and_no_late_write_is_stored(
    #[values(FenceShape::Alone, FenceShape::WithSources)] fence_shape: FenceShape,
) {
    let (totals, faults) = race(Statements::product(fence_shape), ROUND).await;
    assert_eq!(faults, Vec::<String>::new(), "{totals:?}");
    assert_eq!(totals.late_writes, 0, "{totals:?}");
    // A race in which nothing happened proves nothing.
    assert!(totals.writes > 500 && totals.takes > 200 && totals.expired > 5 && totals.fenced > 5, "{totals:?}");
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_race_finds_late_writes_if_the_fence_takes_no_lock(
    #[values(FenceShape::Alone, FenceShape::WithSources)] fence_shape: FenceShape,
) {
    for round in 1..=CONTROL_ROUNDS {
        let (totals, _) = race(Statements::without_lock(fence_shape), ROUND).await;
        if totals.late_writes > 0 {
            return;
        }
        println!("no late write in round {round}");
    }
    panic!("{CONTROL_ROUNDS} rounds without the lock showed no late write: the race proves nothing");
}

/// Runs a round on an empty database; returns what happened and what the triggers complain about.
async fn race(statements: Statements, length: Duration) -> (Totals, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let settings = Engine::Postgres.settings(&directory).await;
    let arena = Arc::new(Arena::prepare(&settings, statements).await);
    let watch = Stopwatch::start();
    let nodes: Vec<_> = (0..NODES).map(|number| tokio::spawn(live(arena.clone(), number, watch, length))).collect();
    for node in nodes {
        node.await.unwrap();
    }
    let totals = arena.totals();
    println!("race of {NODES} nodes for {:?}: {totals:?}", watch.elapsed());
    (totals, arena.faults().await)
}
