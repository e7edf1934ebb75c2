//! What the listeners take for each list and each page of the dashboard, beside a bare actix-web handler that answers as
//! many bytes from memory.
//!
//! `tests/with-postgres cargo bench --bench api` has 10,000 sources on 500 hosts, with both engines (without a server,
//! SQLite alone); `-- million` has 1,000,000 on 50,000. `pages` leaves the lists of the API out; `open` also measures
//! what an open page of the dashboard costs, a minute for each. The daemon is a process of its own, with its pipeline
//! running; the bare handler is in the same process, with as many threads and on a socket of the same sort, and the two
//! take turns. Ends with an error if a bar is missed: fifty times the bare handler for the API, a hundred times for
//! pages, memory that asking adds, and a hundredth of a core for an open page.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on has nothing better to do than to end")]

mod client;
mod dashboard;
mod population;
mod serve;

use std::path::Path;
use std::process::ExitCode;

use feedwarden::clock::Stopwatch;

use client::{Client, median_micros};
use dashboard::{Browser, PAGES};
use population::{Engine, Population};
use serve::{Daemon, memory_mb};

/// Each figure is the median of this many requests.
const ROUNDS: usize = 60;
const API_RATIO_MAX: f64 = 50.0;
const PAGE_RATIO_MAX: f64 = 100.0;
/// What all of the asking may add to the memory of the process.
const GROWTH_MB_MAX: f64 = 64.0;

fn main() -> ExitCode {
    if let Some(engine) = serve::own_role() {
        serve::serve(&engine);
        return ExitCode::SUCCESS;
    }
    let population = match is_asked("million") {
        true => Population { sources: 1_000_000, hosts: 50_000 },
        false => Population { sources: 10_000, hosts: 500 },
    };
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut is_good = compare(Engine::Sqlite { path: directory.path().join("feeds.db") }, population, directory.path());
    match std::env::var("FEEDWARDEN_TEST_POSTGRES") {
        Ok(server) => is_good &= compare(population::fresh_database(&server), population, directory.path()),
        Err(_) => println!("\nPostgreSQL: not measured; run tests/with-postgres cargo bench --bench api"),
    }
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn is_asked(word: &str) -> bool {
    std::env::args().any(|argument| argument == word)
}

/// Measures one engine, and says how the bars fare.
fn compare(engine: Engine, population: Population, directory: &Path) -> bool {
    population.fill(&engine);
    let daemon = Daemon::start(&engine, directory);
    let before = memory_mb(daemon.id(), "VmRSS");
    println!(
        "\n{}: {} sources on {} hosts; the median of {ROUNDS} requests in turns",
        engine.name(),
        population.sources,
        population.hosts
    );
    let mut is_good = true;
    if !is_asked("pages") {
        let (mut ours, mut bare) = (Client::connect(&daemon.socket), Client::connect(&daemon.bare));
        is_good &= compare_paths(&mut ours, &mut bare, population.questions(), API_RATIO_MAX);
    }
    let browser = Browser::enter(&daemon);
    let (mut ours, mut bare) = (browser.connect(), Client::connect_tcp(&daemon.bare_address, None));
    let pages = PAGES.map(|page| format!("/dashboard{page}"));
    is_good &= compare_paths(&mut ours, &mut bare, pages.to_vec(), PAGE_RATIO_MAX);
    let (after, peak) = (memory_mb(daemon.id(), "VmRSS"), memory_mb(daemon.id(), "VmHWM"));
    let is_bounded = after - before <= GROWTH_MB_MAX;
    println!(
        "resident: {before:.0} MB before, {after:.0} MB after, {peak:.0} MB at the most{}",
        if is_bounded { "" } else { " MISSED" }
    );
    if is_asked("open") {
        is_good &= browser.measure_open(&daemon);
    }
    is_good && is_bounded
}

/// Prints a row for each path, and tells whether all are within the bar.
fn compare_paths(ours: &mut Client, bare: &mut Client, paths: Vec<String>, ratio_max: f64) -> bool {
    println!("\n| asked | bytes | first: µs | µs | bare handler: µs | ratio (bar {ratio_max}) |");
    println!("|---|---|---|---|---|---|");
    let mut is_good = true;
    for path in paths {
        // The first one shows how long the answer is, and fills what is filled once.
        let watch = Stopwatch::start();
        let bytes = ours.ask(&path);
        let first = watch.elapsed().as_secs_f64() * 1e6;
        let bare_path = format!("/{bytes}");
        bare.ask(&bare_path);
        let (mut our_times, mut bare_times) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            our_times.push(ours.time(&path));
            bare_times.push(bare.time(&bare_path));
        }
        let (our_median, bare_median) = (median_micros(our_times), median_micros(bare_times));
        let ratio = our_median / bare_median;
        let verdict = if ratio <= ratio_max { "" } else { " MISSED" };
        is_good &= ratio <= ratio_max;
        println!("| `{path}` | {bytes} | {first:.0} | {our_median:.0} | {bare_median:.0} | {ratio:.1} |{verdict}");
    }
    is_good
}
