//! Sixty days of a small fleet of publishers in seconds: with steps of the clock both ways, suspends, outages of our
//! network, of hosts and of the store, restarts, kills, a restore from a backup and changes of the configuration, at
//! moments that follow from a seed. What must be stored, and when each source must have been asked, is computed from what
//! was published.
//!
//! Every test run plays a few seeds. Hours of it: `tests/time-lapse HOURS [SEED]`.

mod oracle;
mod plan;
mod run;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use feedwarden::clock::Stopwatch;

use crate::store::Engine;
use oracle::Intervals;

/// Seeds that are played at once.
const AT_ONCE: usize = 5;

#[test]
fn sixty_days_lose_nothing_and_bother_no_publisher_on_sqlite() {
    play(Engine::Sqlite, Intervals::Fixed, 10);
}

#[test]
fn sixty_days_lose_nothing_and_bother_no_publisher_on_postgresql() {
    play(Engine::Postgres, Intervals::Fixed, 2);
}

#[test]
fn s512_sixty_days_with_adaptive_intervals_keep_them_within_their_bounds_on_sqlite() {
    play(Engine::Sqlite, Intervals::Adaptive, 5);
}

#[test]
fn s512_sixty_days_with_adaptive_intervals_keep_them_within_their_bounds_on_postgresql() {
    play(Engine::Postgres, Intervals::Adaptive, 1);
}

/// Plays this many seeds, or as many as fit into the hours that are asked for.
fn play(engine: Engine, intervals: Intervals, count: u64) {
    let number = |name: &str| std::env::var(name).ok().map(|value| value.parse::<f64>().unwrap());
    let first = number("FEEDWARDEN_TIME_LAPSE_SEED").map_or(1, |seed| seed as u64);
    let within = number("FEEDWARDEN_TIME_LAPSE_HOURS").map(|hours| Duration::from_secs_f64(hours * 3600.0));
    let (watch, next, failed) = (Stopwatch::start(), AtomicU64::new(first), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let is_over = match within {
                        Some(within) => watch.elapsed() >= within,
                        None => seed >= first + count,
                    };
                    if is_over {
                        return;
                    }
                    let complaints = run::play(engine, intervals, seed);
                    println!(
                        "time lapse on {}, {intervals:?}, seed {seed}: {} complaints",
                        engine.name(),
                        complaints.len()
                    );
                    complaints.iter().for_each(|complaint| println!("  seed {seed}: {complaint}"));
                    if !complaints.is_empty() {
                        let is_told = |event: &plan::Event| !matches!(event, plan::Event::Publish(..));
                        for (hour, event) in plan::plan(seed).into_iter().filter(|(_, event)| is_told(event)) {
                            println!("  seed {seed}: on day {}, hour {}: {event:?}", hour / 24, hour % 24);
                        }
                    }
                    failed.fetch_add(complaints.len() as u64, Ordering::Relaxed);
                }
            });
        }
    });
    let played = (next.load(Ordering::Relaxed) - first).saturating_sub(AT_ONCE as u64);
    println!("{played} seeds of {} days on {} in {:?}", plan::DAYS, engine.name(), watch.elapsed());
    assert_eq!(failed.load(Ordering::Relaxed), 0, "complaints; play one seed alone with FEEDWARDEN_TIME_LAPSE_SEED");
}
