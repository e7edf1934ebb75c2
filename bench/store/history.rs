//! What the history of polls costs: a settle of polls without news (304), with and without a row in the history.

use std::sync::Arc;

use feedwarden::model::{Settled, Settlement};
use feedwarden::store::settings::{EngineSettings, StoreSettings};
use feedwarden::store::{self, Store};

use crate::cost::Cost;
use crate::load::{self, Case, NOW, POLLS, settlements};
use crate::{cheaper, measure};

/// Runs of each kind; the cheapest counts.
const RUNS: usize = 7;
/// Settles of every source in a run.
const PASSES: usize = 5;

/// Prints the ratio for one engine. `server` is the first process of its server, if it has one.
pub(crate) async fn compare(engine: EngineSettings, server: Option<u32>) {
    let store = store::open(&StoreSettings { engine, encryption_key: None }, NOW).await.unwrap();
    load::add_sources(store.as_ref()).await;
    for group in [1, 50] {
        let (mut with, mut without): (Option<Cost>, Option<Cost>) = (None, None);
        for run in 0..RUNS {
            // Which one comes first alternates.
            for is_recorded in [run % 2 == 0, run % 2 != 0] {
                let case = if is_recorded { Case::NotModifiedRecorded } else { Case::NotModified };
                let polls = settlements(store.as_ref(), case).await;
                let cost = measure(server, settle(&store, polls, group)).await;
                let least = if is_recorded { &mut with } else { &mut without };
                *least = cheaper(cost, *least);
            }
        }
        let count = POLLS * PASSES;
        let (with, without) = (with.unwrap(), without.unwrap());
        let micros = |cost: Cost| cost.wall_seconds * 1e6 / count as f64;
        println!(
            "| {} | {group} | {:.1} | {:.1} | {:.2} | {:.1} | {:.1} | {:.2} |",
            store.about().engine,
            with.cpu_micros(count),
            without.cpu_micros(count),
            with.cpu_micros(count) / without.cpu_micros(count),
            micros(with),
            micros(without),
            micros(with) / micros(without),
        );
    }
    store.close().await;
}

pub(crate) fn print_heading() {
    println!(
        "History: {POLLS} sources settled {PASSES} times without news; CPU of this process and of the server; the cheapest \
         of {RUNS} alternating runs\n"
    );
    println!(
        "| engine | batch | with history: CPU µs/poll | without: CPU µs/poll | ratio | with: µs/poll | without: µs/poll \
         | ratio of times |"
    );
    println!("|---|---|---|---|---|---|---|---|");
}

async fn settle(store: &Arc<dyn Store>, mut polls: Vec<Settlement>, group: usize) {
    for _ in 0..PASSES {
        for batch in polls.chunks_mut(group) {
            let answers = store.settle(batch.to_vec()).await.unwrap();
            for (poll, answer) in batch.iter_mut().zip(answers) {
                let Settled::Written { version, .. } = answer else { panic!("not written: {answer:?}") };
                poll.version = version;
            }
        }
    }
}
