//! What the whole daemon costs, beside its raw parts measured in the same run.
//!
//! `tests/with-postgres cargo bench --bench pipeline` refreshes 2,000 feeds on 500 loopback hosts, all new and then all
//! unchanged, with both engines (without a server, SQLite alone); `cargo bench --bench pipeline -- million` starts and
//! idles with a million sources. The simulated web, the parts and every refresh are separate processes. Ends with an
//! error if a bar is missed: 1.6 times the parts for new feeds, twice the bare request for unchanged ones, 1.4 times a
//! request on a resumed session and a settle for unchanged ones over TLS, 150 MB, and 600 MB with a million sources.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on has nothing better to do than to end")]

mod bare;
mod cost;
mod idle;
mod insert;
mod process;
mod refresh;
mod tls_front;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use feedwarden::clock::{Clock, SystemClock};
use feedwarden::model::{NewSource, SourceSettings, SourceType};
use feedwarden::store;
use mimalloc::MiMalloc;

use bare::{PartCosts, TlsCosts};
use process::{Engine, Role, WebProcess, WebSize, run};
use refresh::{RefreshOrder, Refreshed};
use tls_front::TlsWeb;

/// As in the program.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const WEB: WebSize = WebSize { hosts: 500, sites: 2_000, entries_min: 10, entries_max: 50, entry_bytes: 700 };
/// Each figure is the cheapest of this many runs, the daemon and its parts taking turns.
const RUNS: usize = 5;
/// Of the sum of the parts.
const NEW_RATIO_MAX: f64 = 1.6;
/// Of the bare conditional request.
const UNCHANGED_RATIO_MAX: f64 = 2.0;
/// Of the bare conditional request on a resumed session and the settle.
const TLS_RATIO_MAX: f64 = 1.4;
const PEAK_MB_MAX: f64 = 150.0;
const RESIDENT_MB_MAX: f64 = 600.0;

fn main() -> ExitCode {
    match process::own_role() {
        Some(role) => {
            play(role);
            return ExitCode::SUCCESS;
        }
        None if std::env::args().any(|argument| argument == "million") => {
            return exit_code(idle::compare(RESIDENT_MB_MAX));
        }
        None => {}
    }
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let web = WebProcess::start(WEB);
    let mut is_good = compare("sqlite", directory.path(), &web);
    match std::env::var_os("FEEDWARDEN_TEST_POSTGRES") {
        Some(_) => is_good &= compare("postgres", directory.path(), &web),
        None => println!("\nPostgreSQL: not measured; run tests/with-postgres cargo bench --bench pipeline"),
    }
    exit_code(is_good)
}

fn exit_code(is_good: bool) -> ExitCode {
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn play(role: Role) {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match role {
        Role::Web(size) => process::serve(size),
        Role::Parts { engine, urls } => process::answer(&runtime().block_on(bare::measure(&engine, &urls))),
        Role::TlsParts(web) => process::answer(&runtime().block_on(bare::measure_tls(&web))),
        Role::Refresh(order) => process::answer(&refresh::refresh(&order)),
        Role::Idle(population) => process::answer(&idle::idle(&population)),
    }
}

/// Measures one engine, and says how the bars fare.
fn compare(name: &str, directory: &Path, web: &WebProcess) -> bool {
    let mut parts: Vec<PartCosts> = Vec::new();
    let mut cold: Vec<Refreshed> = Vec::new();
    let mut warm: Vec<Refreshed> = Vec::new();
    let mut without_html: Vec<Refreshed> = Vec::new();
    let mut tls_parts: Vec<TlsCosts> = Vec::new();
    let mut over_tls: Vec<Refreshed> = Vec::new();
    let log = directory.join("log");
    let order = |engine: &Engine| RefreshOrder {
        engine: engine.clone(),
        log: log.clone(),
        keeps_html: true,
        tls: None,
        is_repeated: false,
    };
    for _ in 0..RUNS {
        let engine = fresh_store(name, directory, &web.urls);
        parts.push(run(&Role::Parts { engine, urls: web.urls.clone() }));
        let engine = fresh_store(name, directory, &web.urls);
        cold.push(run(&Role::Refresh(order(&engine))));
        warm.push(run(&Role::Refresh(order(&engine))));
        let engine = fresh_store(name, directory, &web.urls);
        without_html.push(run(&Role::Refresh(RefreshOrder { keeps_html: false, ..order(&engine) })));
        tls_parts.push(run(&Role::TlsParts(web.tls.clone())));
        let engine = fresh_store(name, directory, &web.tls.urls);
        let tls: Option<TlsWeb> = Some(web.tls.clone());
        over_tls.push(run(&Role::Refresh(RefreshOrder { tls, is_repeated: true, ..order(&engine) })));
    }
    let feeds = WEB.sites as u64;
    let posts = parts[0].posts;
    assert!(
        cold.iter().chain(&without_html).all(|run| (run.read, run.new_posts) == (feeds, posts)),
        "every feed is read whole"
    );
    assert!(warm.iter().chain(&over_tls).all(|run| run.unchanged == feeds), "every feed is unchanged");
    assert!(
        cold.iter().chain(&warm).chain(&without_html).chain(&over_tls).all(|run| run.records == WEB.sites),
        "every poll is in the log"
    );

    let part = |cost: fn(&PartCosts) -> cost::Cost| cheapest(parts.iter().map(|parts| cost(parts).cpu_seconds));
    println!(
        "\n{name}: {feeds} feeds, {:.1} KB in the middle, {posts} posts, {} hosts; cheapest of {RUNS} runs",
        parts[0].median_bytes as f64 / 1e3,
        WEB.hosts
    );
    println!("| case | daemon: CPU ms/feed | parts: CPU ms/feed | ratio | bar | feeds/s | peak MB |");
    println!("|---|---|---|---|---|---|---|");
    let cold_parts = [("fetch", part(|p| p.fetch)), ("parse", part(|p| p.parse)), ("insert", part(|p| p.insert))];
    let warm_parts = [("conditional fetch", part(|p| p.conditional_fetch))];
    let settle = part(|p| p.settle);
    let over_tls_parts = |cost: fn(&TlsCosts) -> cost::Cost| cheapest(tls_parts.iter().map(|p| cost(p).cpu_seconds));
    let resumed_parts = [("resumed", over_tls_parts(|p| p.resumed)), ("settle", settle)];
    let full_parts = [("full handshake", over_tls_parts(|p| p.full)), ("settle", settle)];
    let are_good = [
        print("all new", &cold, &cold_parts, NEW_RATIO_MAX),
        print("all new, without HTML", &without_html, &cold_parts, NEW_RATIO_MAX),
        print("all 304", &warm, &warm_parts, UNCHANGED_RATIO_MAX),
        print("all 304 over TLS", &over_tls, &resumed_parts, TLS_RATIO_MAX),
        print("the same", &over_tls, &full_parts, TLS_RATIO_MAX),
    ];
    println!("settle alone: {:.3} ms", settle * 1e3 / WEB.sites as f64);
    are_good.into_iter().all(|is_good| is_good)
}

fn print(case: &str, runs: &[Refreshed], parts: &[(&str, f64)], ratio_max: f64) -> bool {
    let each = |seconds: f64| seconds * 1e3 / WEB.sites as f64;
    let cpu = cheapest(runs.iter().map(|run| run.cost.cpu_seconds));
    let wall = cheapest(runs.iter().map(|run| run.cost.wall_seconds));
    let peak = runs.iter().map(|run| run.peak_mb).fold(0.0, f64::max);
    let sum: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
    let named = parts.iter().map(|(name, seconds)| format!("{name} {:.3}", each(*seconds))).collect::<Vec<_>>();
    let is_good = cpu / sum <= ratio_max && peak <= PEAK_MB_MAX;
    println!(
        "| {case} | {:.3} | {:.3} ({}) | {:.2} | {ratio_max:.1} | {:.0} | {peak:.0} | {}",
        each(cpu),
        each(sum),
        named.join(" + "),
        cpu / sum,
        WEB.sites as f64 / wall,
        if is_good { "" } else { "MISSED" }
    );
    is_good
}

fn cheapest(figures: impl Iterator<Item = f64>) -> f64 {
    figures.fold(f64::INFINITY, f64::min)
}

/// A store with all feeds in it, none of them polled. They were added a day ago, so that all their entries count.
fn fresh_store(name: &str, directory: &Path, urls: &[String]) -> Engine {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let engine = match name {
            "sqlite" => {
                let path = tempfile::tempdir_in(directory).unwrap().keep().join("feeds.db");
                Engine::Sqlite { path }
            }
            _ => {
                let (url, server) = insert::fresh_database(&std::env::var("FEEDWARDEN_TEST_POSTGRES").unwrap()).await;
                Engine::Postgres { url, server }
            }
        };
        let created_at = SystemClock.now() - Duration::from_secs(24 * 3600);
        let new = |url: &String| NewSource { settings: SourceSettings::new(SourceType::Rss, url.as_str()), created_at };
        let store = store::open(&engine.settings(), SystemClock.now()).await.unwrap();
        store.add_sources(urls.iter().map(new).collect()).await.unwrap();
        store.close().await;
        engine
    })
}
