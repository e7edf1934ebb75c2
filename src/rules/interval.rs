//! The interval of a source without failures: its own, the configured one, or one that follows from how often it
//! publishes.
//!
//! The mean delay of all entries is least, for a number of requests, if each source is polled in proportion to the square
//! root of its rate. The factor is the same for all sources (`rules::budget`), and bounds apply to each.

use std::fmt;
use std::time::Duration;

use crate::model::{PublishingHistory, Source, Timestamp};

use super::publishing::{self, PRIOR_PER_SECOND, PublishingRate};
use super::{AdaptivePolicy, Policy, minutes};

const HOUR_SECONDS: f64 = 3600.0;

/// What turns rates into frequencies of polls, so that all together keep to the budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Polls per second of a source that publishes one entry per second, without bounds.
    pub per_root: f64,
    /// Requests that all sources without an interval of their own may make.
    pub budget_per_hour: f64,
}

/// An interval that follows from how often a source publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdaptiveInterval {
    /// Its mean over the week.
    pub interval: Duration,
    /// New entries in 10,000 days; none if nothing is known yet.
    entries_in_10000_days: Option<u64>,
    bound: Option<IntervalBound>,
    has_pattern: bool,
    /// None until the first budget was computed.
    budget_per_hour: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IntervalBound {
    Shortest,
    Longest,
}

/// Interval of a source without backoff: the mean over the week if weekdays and hours are clear. Backoff doubles it.
pub fn interval(source: &Source, policy: &Policy) -> Duration {
    match (source.settings.poll_interval_minutes, &policy.adaptive) {
        (Some(own), _) => minutes(own),
        (None, None) => policy.interval,
        (None, Some(adaptive)) => adaptive.mean_interval(publishing::rate_of(source).as_ref(), policy.interval),
    }
}

/// The adaptive interval of a source, and the wait after a poll at this time; none if the source has another interval.
pub fn adaptive_wait(source: &Source, policy: &Policy, polled: Timestamp) -> Option<(Duration, AdaptiveInterval)> {
    let adaptive = policy.adaptive.as_ref().filter(|_| source.settings.poll_interval_minutes.is_none())?;
    let rate = publishing::rate_of(source);
    let interval = adaptive.mean_interval(rate.as_ref(), policy.interval);
    let has_pattern = rate.as_ref().is_some_and(|rate| rate.pattern.is_some());
    let wait = rate.as_ref().filter(|_| has_pattern).map(|rate| adaptive.wait(rate, policy.interval, polled));
    let bound = match interval {
        shortest if shortest <= adaptive.interval_min => Some(IntervalBound::Shortest),
        longest if longest >= adaptive.interval_max => Some(IntervalBound::Longest),
        _ => None,
    };
    let explained = AdaptiveInterval {
        interval,
        entries_in_10000_days: rate.map(|rate| (rate.per_day() * 1e4).round() as u64),
        bound,
        has_pattern,
        budget_per_hour: adaptive.scale.map(|scale| scale.budget_per_hour.round() as u64),
    };
    Some((wait.unwrap_or(interval), explained))
}

/// What is known of a source after a gap, when more was published than its document holds: its rate becomes the one with
/// which the interval is half as long.
pub fn after_gap(
    source: &Source,
    publishing: &PublishingHistory,
    policy: &Policy,
    now: Timestamp,
) -> PublishingHistory {
    let (Some(adaptive), Some(counts)) = (&policy.adaptive, publishing.counts()) else { return publishing.clone() };
    let before = adaptive.mean_interval(publishing::rate_of(source).as_ref(), policy.interval);
    let rate = publishing::rate(counts, now);
    let mean = rate.mean_root() / rate.per_second.sqrt();
    let root = 2.0 / before.as_secs_f64() / adaptive.per_root(policy.interval) / mean;
    PublishingHistory::Known(Box::new(publishing::at_least(counts, root * root, now)))
}

impl AdaptivePolicy {
    /// Polls per second for this square root of a rate.
    pub(super) fn frequency(&self, per_root: f64, root: f64) -> f64 {
        let [longest, shortest] = [self.interval_max, self.interval_min].map(|interval| 1.0 / interval.as_secs_f64());
        (per_root * root).clamp(longest.min(shortest), shortest)
    }

    /// The scale in force. Until there is one, a source that the prior describes is polled at the base interval.
    fn per_root(&self, base: Duration) -> f64 {
        self.scale.map_or_else(|| 1.0 / base.as_secs_f64() / PRIOR_PER_SECOND.sqrt(), |scale| scale.per_root)
    }

    /// Mean interval at this rate: within the bounds the base interval if the rate is not known.
    fn mean_interval(&self, rate: Option<&PublishingRate>, base: Duration) -> Duration {
        let interval = match rate {
            Some(rate) => Duration::from_secs_f64(1.0 / self.frequency(self.per_root(base), rate.mean_root())),
            None => base,
        };
        self.within(interval)
    }

    /// The wait after a poll: until the frequencies of the hours since then add up to one poll.
    fn wait(&self, rate: &PublishingRate, base: Duration, polled: Timestamp) -> Duration {
        let per_root = self.per_root(base);
        let begin = polled.as_micros() as f64 / 1e6;
        let (mut at, mut polls) = (begin, 0.0);
        let mut hour = polled.as_seconds().div_euclid(3600);
        loop {
            let frequency = self.frequency(per_root, rate.root_in(hour));
            let end = (hour + 1) as f64 * HOUR_SECONDS;
            let needed = (1.0 - polls) / frequency;
            if at + needed <= end {
                let wait = Duration::from_secs_f64((at + needed - begin).max(0.0));
                return self.within(wait);
            }
            polls += (end - at) * frequency;
            (at, hour) = (end, hour + 1);
        }
    }
}

impl fmt::Display for AdaptiveInterval {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "polled every {}", Span(self.interval))?;
        match self.bound {
            Some(IntervalBound::Shortest) => write!(formatter, " (source.interval-min-minutes)")?,
            Some(IntervalBound::Longest) => write!(formatter, " (source.interval-max-minutes)")?,
            None => {}
        }
        match self.entries_in_10000_days {
            None => write!(formatter, ": how often it publishes is not known yet")?,
            Some(entries) => write!(formatter, ": {}", Often(entries))?,
        }
        if self.has_pattern {
            write!(formatter, ", more often on the weekdays and at the hours when it publishes")?;
        }
        match self.budget_per_hour {
            Some(budget) => write!(formatter, "; budget {} requests an hour", Thousands(budget)),
            None => Ok(()),
        }
    }
}

/// `42 min`, `5 h 10 min`.
struct Span(Duration);

impl fmt::Display for Span {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minutes = self.0.as_secs().saturating_add(30) / 60;
        match (minutes / 60, minutes % 60) {
            _ if minutes == 0 => write!(formatter, "{} s", self.0.as_secs()),
            (0 | 1, _) => write!(formatter, "{minutes} min"),
            (hours, 0) => write!(formatter, "{hours} h"),
            (hours, minutes) => write!(formatter, "{hours} h {minutes} min"),
        }
    }
}

/// `about 3.1 new entries a day`, from the number in 10,000 days.
struct Often(u64);

impl fmt::Display for Often {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            many @ 100_000.. => write!(formatter, "about {} new entries a day", Thousands(many.div_ceil(10_000))),
            some @ 9_500.. => {
                let tenths = (some + 500) / 1000;
                write!(formatter, "about {}.{} new entries a day", tenths / 10, tenths % 10)
            }
            0 => write!(formatter, "no new entries"),
            few => write!(formatter, "about one new entry in {} days", Thousands((10_000 + few / 2) / few)),
        }
    }
}

/// `1,000`.
struct Thousands(u64);

impl fmt::Display for Thousands {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (place, digit) in digits.chars().enumerate() {
            let comma = if place > 0 && (digits.len() - place).is_multiple_of(3) { "," } else { "" };
            write!(formatter, "{comma}{digit}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "interval_tests.rs"]
mod tests;
