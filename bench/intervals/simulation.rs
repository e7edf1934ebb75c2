//! Polls publishers for some weeks by several rules, with a clock that is only a number.

use std::collections::BinaryHeap;
use std::time::Duration;

use feedwarden::dice::Dice;
use feedwarden::model::{NewSource, PublishingHistory, Source, SourceId, SourceSettings, SourceType};
use feedwarden::rules::budget::{Demand, Demands};
use feedwarden::rules::publishing::{self, Observed};
use feedwarden::rules::{AdaptivePolicy, Policy, due, minutes};

use super::publishers::{BEGIN, DAY, HOUR, Publisher, WEEK_HOURS, hour_of_week, time};

/// Days before the first poll, of which a first document shows the last entries.
pub(crate) const BEFORE_DAYS: f64 = 63.0;
/// Days of polls that do not count: what is known at the first poll is the document only.
const LEARNING_DAYS: f64 = 14.0;
const MEASURED_DAYS: f64 = 42.0;
/// Days of all histories; entries of the last two do not count, so that each is found.
pub(crate) const DAYS: f64 = BEFORE_DAYS + LEARNING_DAYS + MEASURED_DAYS + 2.0;
/// Entries of a document.
const DOCUMENT: usize = 20;

const SHORTEST: f64 = 15.0 * 60.0;
const LONGEST: f64 = DAY;

/// What polling cost, and what it gained.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) requests: f64,
    /// Mean seconds from publication to the poll that finds it.
    pub(crate) delay: f64,
}

/// Decides how long to wait after a poll.
trait Waits {
    fn wait(&mut self, number: usize, publisher: &Publisher, polled: f64, previous: Option<f64>) -> f64;

    /// Called once an hour.
    fn tick(&mut self) {}
}

/// Intervals that follow from what was published, by the rules of the daemon.
pub(crate) fn adaptive(publishers: &[Publisher], base: Duration, dice: &dyn Dice) -> Outcome {
    let policy = Policy { interval: base, adaptive: Some(AdaptivePolicy::default()), ..Policy::default() };
    let source = |number: usize| {
        let settings = SourceSettings::new(SourceType::Rss, "http://a.example/feed");
        Source::fresh(SourceId(number as i64), NewSource { settings, created_at: BEGIN })
    };
    let sources: Vec<Source> = (0..publishers.len()).map(source).collect();
    let mut demands = Demands::default();
    sources.iter().for_each(|source| demands.add(Demand::of(source)));
    play(publishers, &mut Adaptive { sources, demands, policy }, base.as_secs_f64(), dice)
}

struct Adaptive {
    sources: Vec<Source>,
    demands: Demands,
    policy: Policy,
}

impl Waits for Adaptive {
    fn wait(&mut self, number: usize, publisher: &Publisher, polled: f64, previous: Option<f64>) -> f64 {
        let (source, now) = (&mut self.sources[number], time(polled));
        self.demands.remove(Demand::of(source));
        source.state.first_polled_at.get_or_insert(now);
        source.state.last_polled = Some(now);
        source.state.last_success_at = Some(now);
        let counts = match (source.state.publishing.counts().copied(), previous) {
            (Some(counts), Some(previous)) => {
                let dated: Vec<_> = publisher.between(previous, polled).iter().map(|at| time(*at)).collect();
                publishing::after_new(&counts, &Observed { dated, undated: 0 }, now)
            }
            _ => {
                let seen = publisher.between(f64::MIN, polled);
                let document = &seen[seen.len().saturating_sub(DOCUMENT)..];
                publishing::first(document.iter().map(|at| time(*at)), now)
            }
        };
        source.state.publishing = PublishingHistory::Known(Box::new(counts));
        self.demands.add(Demand::of(source));
        let next = due::next_poll(source, None, &self.policy, now).at().expect("the source is active");
        next.since(now).as_secs_f64()
    }

    fn tick(&mut self) {
        let adaptive = self.policy.adaptive.as_mut().expect("intervals are adaptive");
        let scale = self.demands.scale(adaptive, self.policy.interval, 1.0);
        if adaptive.scale.is_none_or(|present| present.differs_from(scale)) {
            adaptive.scale = Some(scale);
        }
    }
}

/// The same interval for all.
pub(crate) fn fixed(publishers: &[Publisher], requests: f64, dice: &dyn Dice) -> Outcome {
    struct Fixed(f64);
    impl Waits for Fixed {
        fn wait(&mut self, _: usize, _: &Publisher, _: f64, _: Option<f64>) -> f64 {
            self.0
        }
    }
    let interval = publishers.len() as f64 * MEASURED_DAYS * DAY / requests;
    play(publishers, &mut Fixed(interval), interval, dice)
}

/// The scheduler `entry_frequency` of Miniflux: the week divided by the entries of the last seven days and by a factor,
/// within bounds. The factor is the one that makes this number of requests.
pub(crate) fn entry_frequency(publishers: &[Publisher], requests: f64, dice: &dyn Dice) -> Outcome {
    struct EntryFrequency {
        factor: f64,
    }
    impl Waits for EntryFrequency {
        fn wait(&mut self, _: usize, publisher: &Publisher, polled: f64, _: Option<f64>) -> f64 {
            match publisher.between(polled - 7.0 * DAY, polled).len() {
                0 => LONGEST,
                week => (7.0 * DAY / (week as f64 * self.factor)).clamp(SHORTEST, LONGEST),
            }
        }
    }
    let play_with = |factor: f64| play(publishers, &mut EntryFrequency { factor }, HOUR, dice);
    fitted(requests, play_with)
}

/// The optimum if rates are known: frequencies in proportion to the square root of the rate in each hour.
pub(crate) fn optimum(publishers: &[Publisher], requests: f64, dice: &dyn Dice) -> Outcome {
    struct Optimum<'a> {
        scale: f64,
        roots: &'a [[f64; WEEK_HOURS]],
    }
    impl Waits for Optimum<'_> {
        fn wait(&mut self, number: usize, _: &Publisher, polled: f64, _: Option<f64>) -> f64 {
            let (mut at, mut polls) = (polled, 0.0);
            loop {
                let root = self.roots[number][hour_of_week(at)];
                let frequency = (self.scale * root).clamp(1.0 / LONGEST, 1.0 / SHORTEST);
                let end = ((at / HOUR).floor() + 1.0) * HOUR;
                if at + (1.0 - polls) / frequency <= end {
                    return at + (1.0 - polls) / frequency - polled;
                }
                polls += (end - at) * frequency;
                at = end;
            }
        }
    }
    let roots: Vec<_> = publishers.iter().map(|publisher| publisher.rates.map(f64::sqrt)).collect();
    fitted(requests, |scale| play(publishers, &mut Optimum { scale, roots: &roots }, HOUR, dice))
}

/// The outcome with the parameter that makes this number of requests, which grows with it.
fn fitted(requests: f64, play_with: impl Fn(f64) -> Outcome) -> Outcome {
    let (mut low, mut high) = (-12.0f64, 12.0f64);
    for _ in 0..14 {
        let middle = (low + high) / 2.0;
        if play_with(middle.exp()).requests < requests { low = middle } else { high = middle }
    }
    play_with(((low + high) / 2.0).exp())
}

fn play(publishers: &[Publisher], waits: &mut impl Waits, spread: f64, dice: &dyn Dice) -> Outcome {
    let start = BEFORE_DAYS * DAY;
    let measured = start + LEARNING_DAYS * DAY;
    let (end, last) = (measured + MEASURED_DAYS * DAY, DAYS * DAY);
    // Times in whole milliseconds order the polls.
    let at = |seconds: f64| std::cmp::Reverse((seconds * 1e3) as u64);
    let first = |number| (at(start + spread * dice.roll()), number);
    let mut due: BinaryHeap<_> = (0..publishers.len()).map(first).collect();
    let mut polled: Vec<Option<f64>> = vec![None; publishers.len()];
    let (mut ticked, mut requests, mut entries, mut delay) = (start, 0u64, 0u64, 0.0);
    while let Some((std::cmp::Reverse(milliseconds), number)) = due.pop() {
        let now = milliseconds as f64 / 1e3;
        if now > last {
            break;
        }
        while ticked <= now {
            waits.tick();
            ticked += HOUR;
        }
        let publisher = &publishers[number];
        if let Some(previous) = polled[number] {
            for entry in publisher.between(previous, now).iter().filter(|entry| (measured..end).contains(*entry)) {
                entries += 1;
                delay += now - entry;
            }
        }
        requests += u64::from((measured..end).contains(&now));
        let wait = waits.wait(number, publisher, now, polled[number]);
        polled[number] = Some(now);
        due.push((at(now + wait), number));
    }
    Outcome { requests: requests as f64, delay: delay / entries.max(1) as f64 }
}

/// Requests of a fixed interval within the time that is measured.
pub(crate) fn requests_of(publishers: &[Publisher], base: Duration) -> f64 {
    publishers.len() as f64 * MEASURED_DAYS * DAY / base.as_secs_f64()
}

/// A budget as the interval that would make it.
pub(crate) fn base(base_minutes: u32) -> Duration {
    minutes(base_minutes)
}
