//! Backoff of a failing source: its interval, doubled with every failure, up to a ceiling.

use std::fmt;
use std::time::Duration;

use crate::model::{FailureKind, FailureState};

use super::hours;

/// Beyond this many doublings any interval of a microsecond or more has passed every ceiling that can be configured.
const DOUBLINGS_MAX: u32 = 43;

/// Least wait after a 429 without `Retry-After` (p16).
pub(super) const RATE_LIMIT_PAUSE_MIN: Duration = hours(1);

/// Wait between two polls, with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Wait between two polls.
    pub delay: Duration,
    /// Reason for its length.
    pub reason: BackoffReason,
}

/// Why a wait is as long as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackoffReason {
    /// No failure since the last success.
    Active,
    /// The interval was doubled this many times.
    Doubled(u32),
    /// Doubling this many times went past the ceiling.
    Ceiling(u32),
    /// The interval itself is longer than the ceiling: a failing source is never polled sooner than an active one.
    Interval(u32),
}

/// The wait after this many failures in a row.
pub fn backoff(interval: Duration, failures: u32, ceiling: Duration) -> Backoff {
    if failures == 0 {
        return Backoff { delay: interval, reason: BackoffReason::Active };
    }
    if interval >= ceiling {
        return Backoff { delay: interval, reason: BackoffReason::Interval(failures) };
    }
    match doubled(interval, failures) {
        Some(delay) if delay <= ceiling => Backoff { delay, reason: BackoffReason::Doubled(failures) },
        _ => Backoff { delay: ceiling, reason: BackoffReason::Ceiling(failures) },
    }
}

/// Least wait after 429 answers without `Retry-After`: an hour, doubled with each further one.
pub fn rate_limit_pause(failures: &FailureState, ceiling: Duration) -> Option<Duration> {
    let run = failures.run.filter(|run| run.kind == FailureKind::RateLimited)?;
    let ceiling = ceiling.max(RATE_LIMIT_PAUSE_MIN);
    Some(backoff(RATE_LIMIT_PAUSE_MIN, run.length.saturating_sub(1), ceiling).delay)
}

/// The interval times two to the power of `times`; none if that is beyond every ceiling.
fn doubled(interval: Duration, times: u32) -> Option<Duration> {
    let micros = if times <= DOUBLINGS_MAX { interval.as_micros() << times } else { return None };
    u64::try_from(micros).ok().map(Duration::from_micros)
}

impl fmt::Display for BackoffReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BackoffReason::Active => write!(formatter, "the interval of an active source"),
            BackoffReason::Doubled(failures) => {
                write!(formatter, "the interval doubled with every failure, failures in a row: {failures}")
            }
            BackoffReason::Ceiling(failures) => {
                write!(formatter, "the longest backoff, failures in a row: {failures}")
            }
            BackoffReason::Interval(failures) => {
                write!(formatter, "the interval itself, which backoff never shortens, failures in a row: {failures}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::minutes;
    use super::*;
    use crate::model::FailureRun;

    fn check(interval_minutes: u32, failures: u32, ceiling_hours: u32, delay_minutes: u32) {
        let found = backoff(minutes(interval_minutes), failures, hours(ceiling_hours));
        assert_eq!(
            found.delay,
            minutes(delay_minutes),
            "{interval_minutes} min, {failures} failures: {}",
            found.reason
        );
    }

    #[test]
    fn s301_without_failures_the_interval_applies() {
        check(60, 0, 24, 60);
    }

    #[test]
    fn s302_each_failure_doubles_the_interval() {
        for (failures, delay) in [(1, 120), (2, 240), (3, 480), (4, 960)] {
            check(60, failures, 24, delay);
        }
    }

    #[test]
    fn s303_the_ceiling_holds_for_any_number_of_failures() {
        for failures in [5, 6, 31, 32, 33, 43, 44, 63, 64, 65, 1000, u32::MAX] {
            check(60, failures, 24, 1440);
        }
    }

    #[test]
    fn s304_the_ceiling_is_a_setting() {
        check(60, 10, 6, 360);
    }

    #[test]
    fn s306_an_interval_beyond_the_ceiling_is_kept() {
        for failures in [0, 1, 10, u32::MAX] {
            check(48 * 60, failures, 24, 48 * 60);
        }
    }

    #[test]
    fn p16_a_bare_429_costs_an_hour_then_doubles() {
        let pause = |kind, length| {
            let failures = FailureState { run: Some(FailureRun { kind, length }), ..FailureState::default() };
            rate_limit_pause(&failures, hours(24))
        };
        assert_eq!(pause(FailureKind::RateLimited, 1), Some(hours(1)));
        assert_eq!(pause(FailureKind::RateLimited, 2), Some(hours(2)));
        assert_eq!(pause(FailureKind::RateLimited, 5), Some(hours(16)));
        assert_eq!(pause(FailureKind::RateLimited, u32::MAX), Some(hours(24)));
        assert_eq!(pause(FailureKind::Network, 3), None);
    }
}
