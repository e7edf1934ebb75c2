//! What settling polls costs, beside the same rows written plainly through the bare driver in the same run.
//!
//! `tests/with-postgres cargo bench --bench store` measures both engines; without a server, SQLite alone. Set
//! `FEEDWARDEN_TEST_PG_FSYNC=on` for a server that commits to disk. Never asserts on time: prints figures and ratios.
//!
//! `tests/with-postgres cargo bench --bench store -- fleet` measures what sharing one PostgreSQL costs: the fence of a
//! settle, several writers, a writer that is frozen, and an idle node; `fence`, `writers`, `freeze` or `idle` instead of
//! `fleet` measures one of them. Ends with an error if a bar is missed.
//!
//! `tests/with-postgres cargo bench --bench store -- history` measures what the history of polls adds to a 304.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on has nothing better to do than to end")]

#[path = "../pipeline/cost.rs"]
#[expect(dead_code, reason = "the pipeline bench measures memory, too")]
mod cost;
mod fence;
mod fleet_node;
mod freeze;
mod history;
mod idle_node;
mod load;
mod raw;
mod writers;

use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use feedwarden::store::settings::{EngineSettings, PostgresSettings, SqliteSettings, StoreSettings, Synchronous};
use feedwarden::store::{self, Store};

use cost::{Cost, Meter};
use load::{Case, NOW, POLLS, query, settlements};
use raw::Raw;

/// Each figure is the cheapest of this many runs, ours and the baseline taking turns.
const RUNS: usize = 3;
const FLEET_PARTS: [&str; 4] = ["fence", "writers", "freeze", "idle"];

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    if let Some(task) = writers::own_task() {
        writers::write(task).await;
        return ExitCode::SUCCESS;
    }
    let is_wanted = |part: &str| std::env::args().any(|argument| argument == "fleet" || argument == part);
    if FLEET_PARTS.into_iter().any(is_wanted) {
        return measure_fleet(is_wanted).await;
    }
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let sqlite = EngineSettings::Sqlite(SqliteSettings {
        path: directory.path().join("bench.db"),
        synchronous: Synchronous::Full,
        readers: 1,
        busy_timeout: Duration::from_secs(5),
    });
    if std::env::args().any(|argument| argument == "history") {
        history::print_heading();
        history::compare(sqlite, None).await;
        if let Ok(url) = std::env::var("FEEDWARDEN_TEST_POSTGRES") {
            let (url, server) = raw::fresh_database(&url).await;
            history::compare(postgres(url), Some(server)).await;
        }
        return ExitCode::SUCCESS;
    }
    println!("{POLLS} polls a run, {} entries with 1 KB of text each; the cheapest of {RUNS} runs", load::POSTS);
    println!(
        "settle: what the daemon does, the lookup of the entries included; raw: an insert or update by the driver"
    );
    println!("CPU: user and system time of this process and, for PostgreSQL, of the server\n");
    println!("| engine | case | group | settle: CPU µs/poll | raw: CPU µs/poll | ratio | settle: µs/poll | polls/s |");
    println!("|---|---|---|---|---|---|---|---|");
    compare(sqlite, None).await;
    match std::env::var("FEEDWARDEN_TEST_POSTGRES") {
        Ok(url) => {
            let (url, server) = raw::fresh_database(&url).await;
            compare(postgres(url), Some(server)).await;
        }
        Err(_) => println!("\nPostgreSQL: not measured; run tests/with-postgres cargo bench --bench store"),
    }
    ExitCode::SUCCESS
}

fn postgres(url: String) -> EngineSettings {
    EngineSettings::Postgres(PostgresSettings {
        pool_size: 2,
        statement_timeout: Duration::from_secs(60),
        response_timeout: Duration::from_secs(65),
        ..PostgresSettings::new(url.into())
    })
}

/// Measures what several nodes on one PostgreSQL cost.
async fn measure_fleet(is_wanted: impl Fn(&str) -> bool) -> ExitCode {
    let Ok(server_url) = std::env::var("FEEDWARDEN_TEST_POSTGRES") else {
        eprintln!("no PostgreSQL; run tests/with-postgres cargo bench --bench store -- fleet");
        return ExitCode::FAILURE;
    };
    let mut is_good = true;
    if is_wanted("fence") {
        let (url, server) = raw::fresh_database(&server_url).await;
        is_good &= fence::compare(&url, server).await;
    }
    if is_wanted("writers") {
        writers::compare(&raw::fresh_database(&server_url).await.0).await;
    }
    if is_wanted("freeze") {
        is_good &= freeze::compare(&server_url).await;
    }
    if is_wanted("idle") {
        is_good &= idle_node::compare(&server_url).await;
    }
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Measures one engine. `server` is the first process of its server, if it has one.
async fn compare(engine: EngineSettings, server: Option<u32>) {
    let settings = StoreSettings { engine, encryption_key: None };
    let store = store::open(&settings, NOW).await.unwrap();
    load::add_sources(store.as_ref()).await;
    let mut raw = Raw::open(&settings.engine).await;
    let mut poll_costs = Vec::new();
    for case in [Case::AllNew, Case::AllNewWithHtml, Case::KnownEntries, Case::NotModified] {
        for group in [1, 50] {
            let mut ours: Option<Cost> = None;
            let mut bare: Option<Cost> = None;
            for _ in 0..RUNS {
                bare = cheaper(run_raw(&mut raw, store.as_ref(), case, group, server).await, bare);
                ours = cheaper(run_settle(&store, case, group, server).await, ours);
            }
            let (ours, bare) = (ours.unwrap(), bare.unwrap());
            let (ours_each, bare_each) = (ours.cpu_micros(POLLS), bare.cpu_micros(POLLS));
            println!(
                "| {} | {} | {group} | {ours_each:.1} | {bare_each:.1} | {:.2} | {:.1} | {:.0} |",
                store.about().engine,
                case.name(),
                ours_each / bare_each,
                ours.wall_seconds * 1e6 / POLLS as f64,
                POLLS as f64 / ours.wall_seconds,
            );
            poll_costs.push((case, group, ours_each));
        }
    }
    let cost = |wanted, grouped| {
        poll_costs
            .iter()
            .find(|(case, group, _)| *case == wanted && *group == grouped)
            .map_or(f64::NAN, |(.., cost)| *cost)
    };
    println!(
        "| {} | a 304 in a group of 50 costs 1/{:.0} of a poll with {} new posts | | | | | | |",
        store.about().engine,
        cost(Case::AllNewWithHtml, 50) / cost(Case::NotModified, 50),
        load::POSTS,
    );
    store.close().await;
}

async fn run_settle(store: &Arc<dyn Store>, case: Case, group: usize, server: Option<u32>) -> Cost {
    let polls = settlements(store.as_ref(), case).await;
    let batches: Vec<Vec<_>> = polls.chunks(group).map(<[_]>::to_vec).collect();
    measure(server, async {
        for mut batch in batches {
            if !case.is_not_modified() {
                let known = store.known_entries(batch.iter().map(query).collect()).await.unwrap();
                assert!(known.iter().all(|known| known.by_key.is_empty() == (case != Case::KnownEntries)));
            }
            if case == Case::KnownEntries {
                batch.iter_mut().for_each(|settlement| settlement.posts.clear());
            }
            store.settle(batch).await.unwrap();
        }
    })
    .await
}

async fn run_raw(raw: &mut Raw, store: &dyn Store, case: Case, group: usize, server: Option<u32>) -> Cost {
    let polls = settlements(store, case).await;
    measure(server, async {
        for batch in polls.chunks(group) {
            raw.write(batch, case).await;
        }
    })
    .await
}

async fn measure(server: Option<u32>, work: impl Future<Output = ()>) -> Cost {
    let meter = Meter::start(server);
    work.await;
    meter.read()
}

fn cheaper(cost: Cost, other: Option<Cost>) -> Option<Cost> {
    Some(other.filter(|other| other.cpu_seconds < cost.cpu_seconds).unwrap_or(cost))
}
