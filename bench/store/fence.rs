//! What the fence of a settle costs: the same polls settled with the claims of their shards and without.

use std::sync::Arc;

use feedwarden::model::{Settled, Settlement};
use feedwarden::store::settings::StoreSettings;
use feedwarden::store::{self, Store};

use crate::cost::Cost;
use crate::fleet_node::FleetNode;
use crate::load::{self, Case, NOW, POLLS, settlements};
use crate::raw::connect;
use crate::{cheaper, measure, postgres};

const RATIO_MAX: f64 = 1.15;
/// Each figure is the cheapest of this many runs, with and without the fence taking turns.
const RUNS: usize = 15;

/// Prints the ratios, and says whether the bar is kept.
pub(crate) async fn compare(url: &str, server: u32) -> bool {
    let (engine, empty) = (postgres(url.to_owned()), connect(url).await);
    let store = store::open(&StoreSettings { engine, encryption_key: None }, NOW).await.unwrap();
    load::add_sources(store.as_ref()).await;
    let node = FleetNode::join(store.as_ref(), "fence", 1).await;
    println!("Fence: CPU of this process and of the server; the cheapest of {RUNS} alternating runs\n");
    println!(
        "| case | batch | polls a run | with the fence: CPU µs/poll | without: CPU µs/poll | ratio (bar {RATIO_MAX}) \
         | with: µs/poll | without: µs/poll | ratio of times |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut is_good = true;
    for (case, group, passes) in
        [(Case::NotModified, 1, 2), (Case::NotModified, 50, 20), (Case::AllNew, 1, 1), (Case::AllNew, 50, 1)]
    {
        let (mut fenced, mut plain): (Vec<Cost>, Vec<Cost>) = (Vec::new(), Vec::new());
        for run in 0..RUNS {
            // Which one comes first alternates, too.
            for is_fenced in [run % 2 == 0, run % 2 != 0] {
                node.renew().await;
                empty.batch_execute("TRUNCATE posts CASCADE").await.unwrap();
                let mut polls = settlements(store.as_ref(), case).await;
                if is_fenced {
                    polls = polls.into_iter().map(|poll| node.claimed(poll)).collect();
                }
                let cost = measure(Some(server), settle(&store, polls, group, passes)).await;
                if is_fenced { &mut fenced } else { &mut plain }.push(cost);
            }
        }
        let count = POLLS * passes;
        let cpu = |costs: &[Cost]| costs.iter().copied().fold(None, |least, cost| cheaper(cost, least)).unwrap();
        let micros = |costs: &[Cost]| {
            costs.iter().map(|cost| cost.wall_seconds).fold(f64::INFINITY, f64::min) * 1e6 / count as f64
        };
        let (fenced_cpu, plain_cpu) = (cpu(&fenced).cpu_micros(count), cpu(&plain).cpu_micros(count));
        println!(
            "| {} | {group} | {count} | {fenced_cpu:.1} | {plain_cpu:.1} | {:.2} | {:.1} | {:.1} | {:.2} |",
            case.name(),
            fenced_cpu / plain_cpu,
            micros(&fenced),
            micros(&plain),
            micros(&fenced) / micros(&plain),
        );
        is_good &= fenced_cpu / plain_cpu <= RATIO_MAX;
    }
    println!(
        "\na settle with the fence at most {RATIO_MAX} times one without: {}\n",
        if is_good { "kept" } else { "MISSED" }
    );
    node.leave().await;
    store.close().await;
    is_good
}

/// Settles these polls so many times.
async fn settle(store: &Arc<dyn Store>, mut polls: Vec<Settlement>, group: usize, passes: usize) {
    for pass in 1..=passes {
        for batch in polls.chunks_mut(group) {
            let answers = store.settle(batch.to_vec()).await.unwrap();
            for (poll, answer) in batch.iter_mut().zip(answers) {
                let Settled::Written { version, .. } = answer else { panic!("pass {pass}: not written: {answer:?}") };
                poll.version = version;
            }
        }
    }
}
