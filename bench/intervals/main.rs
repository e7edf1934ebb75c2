//! How late entries are found, for a number of requests: with fixed intervals, with Miniflux's entry-frequency formula,
//! with ours, and with the optimum for rates that are known. `cargo bench --bench intervals [SOURCES]`
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on has nothing better to do than to end")]

mod publishers;
mod simulation;

use feedwarden::dice::SeededDice;

use publishers::{DAY, Habit, Publisher, WEEK_HOURS, generated};
use simulation::{DAYS, adaptive, base, entry_frequency, fixed, optimum, requests_of};

const BUDGETS_MINUTES: [u32; 3] = [30, 60, 240];
const SOURCES: usize = 1000;

fn main() {
    let sources = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(SOURCES);
    let dice = SeededDice::new(1);
    let made = |habits: &[Habit]| generated(habits, sources, DAYS, &dice);
    let all = [Habit::Poisson, Habit::Bursty, Habit::Weekday];
    println!("| publishers | requests as every | ours: requests | fixed: delay | entry frequency | ours | optimum |");
    println!("|---|---|---|---|---|---|---|");
    for (name, publishers) in [
        ("Poisson", made(&all[..1])),
        ("bursty", made(&all[1..2])),
        ("weekdays and hours", made(&all[2..])),
        ("mixed", made(&all)),
        ("real releases", real(include_str!("histories.txt"), DAYS)),
    ] {
        BUDGETS_MINUTES.into_iter().for_each(|budget| print_row(name, &publishers, budget));
    }
}

/// Real histories: on each line a name and the seconds since the beginning at which something was published. What is
/// known of their rates is the mean since then.
fn real(text: &str, days: f64) -> Vec<Publisher> {
    let publisher = |line: &str| {
        let entries: Vec<f64> =
            line.split(' ').skip(1).filter_map(|at| at.parse().ok()).filter(|at| *at < days * DAY).collect();
        let published = entries.iter().filter(|at| **at >= 0.0).count();
        let rate = published.max(1) as f64 / (days * DAY);
        Publisher { entries, rates: [rate; WEEK_HOURS] }
    };
    text.lines().filter(|line| !line.starts_with('#')).map(publisher).collect()
}

/// Everything beside our rule makes as many requests as that has made.
fn print_row(name: &str, publishers: &[Publisher], budget_minutes: u32) {
    let dice = SeededDice::new(2);
    let ours = adaptive(publishers, base(budget_minutes), &dice);
    let fixed = fixed(publishers, ours.requests, &dice);
    let best = optimum(publishers, ours.requests, &dice);
    let relative = |delay: f64| format!("{:.1} min ({:.2})", delay / 60.0, delay / fixed.delay);
    println!(
        "| {name} | {budget_minutes} min | {:.3} | {:.1} min | {} | {} | {}, ours {:.2} of it |",
        ours.requests / requests_of(publishers, base(budget_minutes)),
        fixed.delay / 60.0,
        relative(entry_frequency(publishers, ours.requests, &dice).delay),
        relative(ours.delay),
        relative(best.delay),
        ours.delay / best.delay,
    );
}
