//! Hold of a whole host after a 429 or 503 (p15 to p17).

use crate::model::{FailureCause, FailureReport, FailureState, Timestamp};

use super::Policy;
use super::backoff::{RATE_LIMIT_PAUSE_MIN, rate_limit_pause};

/// No request to the host before a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// End of the hold.
    pub until: Timestamp,
    /// Reason for people.
    pub reason: String,
}

/// The hold that follows from a failed poll of a source; `failures` are the source's, with this one among them.
///
/// A 429 holds its host with or without `Retry-After`, a 503 only with it: without, the server is broken, which is for
/// the breaker.
pub fn hold(report: &FailureReport, failures: &FailureState, policy: &Policy, now: Timestamp) -> Option<Hold> {
    let (asked, said) = match (report.cause, report.retry_after) {
        (FailureCause::Status(429), None) => {
            let pause = rate_limit_pause(failures, policy.max_backoff).unwrap_or(RATE_LIMIT_PAUSE_MIN);
            (now + pause, "HTTP 429 without Retry-After")
        }
        (FailureCause::Status(429), Some(until)) => (until, "HTTP 429 with Retry-After"),
        (FailureCause::Status(503), Some(until)) => (until, "HTTP 503 with Retry-After"),
        _ => return None,
    };
    let until = asked.min(now + policy.retry_after_max);
    let cut = if until < asked { ", cut to the configured ceiling" } else { "" };
    (until > now).then(|| Hold { until, reason: format!("{said}{cut}") })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{failure, hours};
    use super::*;
    use crate::model::{NewSource, Source, SourceId, SourceSettings, SourceType};
    use proptest::prelude::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    /// The hold after this many such answers in a row.
    fn held(cause: FailureCause, retry_after: Option<Timestamp>, times: u32, policy: &Policy) -> Option<Hold> {
        let settings = SourceSettings::new(SourceType::Rss, "http://a.example/feed");
        let mut source = Source::fresh(SourceId(1), NewSource { settings, created_at: NOW });
        let report = FailureReport { cause, error: "x".into(), retry_after };
        for _ in 0..times {
            source.state = failure::after_failure(&source, &report, policy, NOW).state;
        }
        hold(&report, &source.state.failures, policy, NOW)
    }

    fn check(status: u16, retry_after: Option<Duration>, times: u32, expected: Option<(Duration, &str)>) {
        let expected = expected.map(|(pause, reason)| Hold { until: NOW + pause, reason: reason.into() });
        let asked = retry_after.map(|pause| NOW + pause);
        assert_eq!(held(FailureCause::Status(status), asked, times, &Policy::default()), expected);
    }

    #[test]
    fn p17_retry_after_holds_the_host_exactly_that_long() {
        let pause = Duration::from_secs(90);
        check(429, Some(pause), 1, Some((pause, "HTTP 429 with Retry-After")));
        check(503, Some(pause), 1, Some((pause, "HTTP 503 with Retry-After")));
    }

    #[test]
    fn p16_a_bare_429_holds_the_host_as_long_as_it_holds_its_source() {
        for (times, pause_hours) in [(1, 1), (2, 2), (3, 4), (5, 16), (6, 24), (99, 24)] {
            check(429, None, times, Some((hours(pause_hours), "HTTP 429 without Retry-After")));
        }
    }

    #[test]
    fn p15_a_ceiling_cuts_and_says_so() {
        let cut = ", cut to the configured ceiling";
        let week = hours(7 * 24);
        check(429, Some(week), 1, Some((week, "HTTP 429 with Retry-After")));
        check(429, Some(week + hours(1)), 1, Some((week, &format!("HTTP 429 with Retry-After{cut}"))));
        check(503, Some(hours(u32::MAX)), 1, Some((week, &format!("HTTP 503 with Retry-After{cut}"))));
        let policy = Policy { max_backoff: hours(999), retry_after_max: hours(24), ..Policy::default() };
        let found = held(FailureCause::Status(429), None, 9, &policy).unwrap();
        assert_eq!(found, Hold { until: NOW + hours(24), reason: format!("HTTP 429 without Retry-After{cut}") });
    }

    #[test]
    fn p17_no_other_failure_holds_a_host() {
        check(503, None, 1, None);
        for status in (0..=u16::MAX).filter(|status| ![429, 503].contains(status)) {
            check(status, Some(hours(1)), 1, None);
        }
        for cause in [FailureCause::Connection, FailureCause::Dns, FailureCause::Unreadable, FailureCause::Robots] {
            assert_eq!(held(cause, Some(NOW + hours(1)), 1, &Policy::default()), None, "{cause:?}");
        }
    }

    #[test]
    fn p15_a_moment_that_has_passed_holds_no_host() {
        check(429, Some(Duration::ZERO), 1, None);
        let report = |retry_after| FailureReport { cause: FailureCause::Status(503), error: "x".into(), retry_after };
        assert_eq!(hold(&report(Some(NOW - hours(1))), &FailureState::default(), &Policy::default(), NOW), None);
    }

    proptest! {
        #[test]
        fn p17_a_hold_lies_ahead_and_within_the_ceiling(
            status in prop::sample::select(vec![429u16, 503]),
            asked in prop::option::of(any::<i64>().prop_map(Timestamp::from_micros)),
            times in 0u32..20,
        ) {
            let policy = Policy::default();
            if let Some(found) = held(FailureCause::Status(status), asked, times, &policy) {
                prop_assert!(found.until > NOW && found.until <= NOW + policy.retry_after_max);
                prop_assert!(asked.is_none_or(|asked| found.until <= asked));
            }
        }
    }
}
