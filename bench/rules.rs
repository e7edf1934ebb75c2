//! What it costs to decide when each of a million sources is due, beside the least that any such loop has to do: add an
//! interval to a stored time and compare. Prints figures and a ratio; `cargo bench --bench rules`.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on has nothing better to do than to end")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use feedwarden::model::FailureKind;
use feedwarden::model::{
    FailureRun, NewSource, Rest, RestCause, Source, SourceId, SourceSettings, SourceType, Timestamp, Validators,
};
use feedwarden::rules::{Policy, due};

const SOURCES: i64 = 1_000_000;
const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const RUNS: usize = 5;

fn main() {
    let before = resident_bytes();
    let sources: Vec<Source> = (0..SOURCES).map(source).collect();
    let each = (resident_bytes() - before) as f64 / SOURCES as f64;
    let policy = Policy::default();
    let decide =
        best(|| sources.iter().filter(|source| due::next_poll(source, None, &policy, NOW).is_due(NOW)).count());
    let bare = best(|| {
        let is_due = |source: &&Source| source.state.last_polled.is_some_and(|polled| polled + policy.interval <= NOW);
        sources.iter().filter(is_due).count()
    });
    println!("{SOURCES} sources in memory: {each:.0} bytes each, {} of them the struct itself", size_of::<Source>());
    println!("| loop | ns/source | due |\n|---|---|---|");
    println!("| due decision | {:.1} | {} |", nanos(decide.0), decide.1);
    println!("| bare comparison | {:.1} | {} |", nanos(bare.0), bare.1);
    println!("ratio {:.2}", decide.0.as_secs_f64() / bare.0.as_secs_f64());
}

/// One in ten fails, one in a hundred rests, the others are healthy, and their last polls lie within two hours.
fn source(number: i64) -> Source {
    let settings =
        SourceSettings::new(SourceType::Rss, format!("https://host{}.example/feed/{number}.xml", number % 50_000));
    let mut source = Source::fresh(SourceId(number), NewSource { settings, created_at: NOW });
    source.state.last_polled = Some(NOW - Duration::from_secs((number.unsigned_abs() * 7919) % 7200));
    source.state.validators = Validators { etag: Some(format!("\"{number:032x}\"")), last_modified: None };
    if number % 10 == 0 {
        source.state.failures.consecutive = u32::try_from(number % 7).unwrap();
        source.state.failures.run = Some(FailureRun { kind: FailureKind::Network, length: 1 });
    }
    if number % 100 == 0 {
        source.state.rest = Some(Rest { since: NOW, cause: RestCause::Failures(FailureKind::NotFound) });
    }
    source
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures the real clock")]
fn best(work: impl Fn() -> usize) -> (Duration, usize) {
    let once = || {
        let started = Instant::now();
        let count = black_box(work());
        (started.elapsed(), count)
    };
    (0..RUNS).map(|_| once()).min().unwrap()
}

fn nanos(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9 / SOURCES as f64
}

fn resident_bytes() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}
