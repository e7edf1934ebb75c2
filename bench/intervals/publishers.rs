//! Publishers with known habits, and real ones.

use std::time::Duration;

use feedwarden::dice::Dice;
use feedwarden::model::Timestamp;

/// Begin of all histories: a Monday, 00:00.
pub(crate) const BEGIN: Timestamp = Timestamp::from_seconds(1_800_230_400 - 86_400 * 7 * 10);
pub(crate) const HOUR: f64 = 3600.0;
pub(crate) const DAY: f64 = 86_400.0;
pub(crate) const WEEK_HOURS: usize = 168;

/// What a source publishes, in seconds since [`BEGIN`].
pub(crate) struct Publisher {
    pub(crate) entries: Vec<f64>,
    /// Entries per second, by hour of the week.
    pub(crate) rates: [f64; WEEK_HOURS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Habit {
    /// At any time, independently.
    Poisson,
    /// About five entries within half an hour, then nothing for long.
    Bursty,
    /// On working days from 8 to 18 o'clock, at most other times rarely.
    Weekday,
}

/// Publishers whose rates are spread evenly over their logarithms, from one entry in 50 days to 100 a day.
pub(crate) fn generated(habits: &[Habit], count: usize, days: f64, dice: &dyn Dice) -> Vec<Publisher> {
    let publisher = |number: usize| {
        let per_day = 0.02 * (5000f64).powf(dice.roll());
        one(habits[number % habits.len()], per_day / DAY, days * DAY, dice)
    };
    (0..count).map(publisher).collect()
}

fn one(habit: Habit, rate: f64, end: f64, dice: &dyn Dice) -> Publisher {
    const BURST: f64 = 5.0;
    let mut rates = [rate; WEEK_HOURS];
    let mut entries = Vec::new();
    match habit {
        Habit::Poisson => entries = poisson(rate, end, dice),
        Habit::Bursty => {
            for begin in poisson(rate / BURST, end, dice) {
                // A geometric number with this mean.
                let count = 1 + ((1.0 - dice.roll()).ln() / (1.0 - 1.0 / BURST).ln()) as usize;
                entries.extend((0..count).map(|_| begin + 0.5 * HOUR * dice.roll()));
            }
        }
        Habit::Weekday => {
            let weight = |hour: usize| if hour / 24 < 5 && (8..18).contains(&(hour % 24)) { 1.0 } else { 0.03 };
            let mean = (0..WEEK_HOURS).map(weight).sum::<f64>() / WEEK_HOURS as f64;
            rates = std::array::from_fn(|hour| rate * weight(hour) / mean);
            let most = rate / mean;
            entries = poisson(most, end, dice);
            entries.retain(|at| dice.roll() < rates[hour_of_week(*at)] / most);
        }
    }
    entries.sort_by(f64::total_cmp);
    entries.retain(|at| *at < end);
    Publisher { entries, rates }
}

fn poisson(rate: f64, end: f64, dice: &dyn Dice) -> Vec<f64> {
    let pauses = std::iter::repeat_with(|| -(1.0 - dice.roll()).ln() / rate);
    let times = pauses.scan(0.0, |at, pause| {
        *at += pause;
        Some(*at)
    });
    times.take_while(|at| *at < end).collect()
}

impl Publisher {
    /// Those published in this time.
    pub(crate) fn between(&self, after: f64, until: f64) -> &[f64] {
        let place = |at: f64| self.entries.partition_point(|entry| *entry <= at);
        &self.entries[place(after)..place(until).max(place(after))]
    }
}

pub(crate) fn hour_of_week(at: f64) -> usize {
    (at / HOUR) as usize % WEEK_HOURS
}

pub(crate) fn time(at: f64) -> Timestamp {
    let distance = Duration::from_secs_f64(at.abs());
    if at < 0.0 { BEGIN - distance } else { BEGIN + distance }
}
