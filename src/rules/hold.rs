//! Hold of a whole host after a 429 or 503 (p15 to p17), or after any answer that leaves no requests (p38).

use crate::model::{FailureCause, FailureReport, FailureState, RateLimit, Timestamp};

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

/// The hold that follows from an answer, or from a request that failed: the later of what its status asks for and of the
/// reset of its rate limit, if no requests are left. `failures` are those of the source, with this one among them.
pub fn hold(
    failure: Option<&FailureReport>,
    rate_limit: Option<RateLimit>,
    failures: &FailureState,
    policy: &Policy,
    now: Timestamp,
) -> Option<Hold> {
    let by_status = failure.and_then(|report| by_status(report, rate_limit, failures, policy, now));
    let by_limit = rate_limit
        .filter(|limit| limit.is_used_up && by_status.is_none_or(|(until, _)| until < limit.resets_at))
        .map(|limit| (limit.resets_at, "no requests left in the rate limit"));
    let (asked, said) = by_limit.or(by_status)?;
    let until = asked.min(now + policy.retry_after_max);
    let cut = if until < asked { ", cut to the configured ceiling" } else { "" };
    (until > now).then(|| Hold { until, reason: format!("{said}{cut}") })
}

/// A 429 holds its host with or without `Retry-After`, a 503 only with it: without, the server is broken, which is for
/// the breaker. What the answer asks for may be the reset of its rate limit.
fn by_status(
    report: &FailureReport,
    rate_limit: Option<RateLimit>,
    failures: &FailureState,
    policy: &Policy,
    now: Timestamp,
) -> Option<(Timestamp, &'static str)> {
    let is_reset = report.retry_after.is_some() && report.retry_after == rate_limit.map(|limit| limit.resets_at);
    match (report.cause, report.retry_after) {
        (FailureCause::Status(429), None) => {
            let pause = rate_limit_pause(failures, policy.max_backoff).unwrap_or(RATE_LIMIT_PAUSE_MIN);
            Some((now + pause, "HTTP 429 without Retry-After"))
        }
        (FailureCause::Status(429), Some(until)) if is_reset => {
            Some((until, "HTTP 429, until the reset of the rate limit"))
        }
        (FailureCause::Status(429), Some(until)) => Some((until, "HTTP 429 with Retry-After")),
        (FailureCause::Status(503), Some(until)) if !is_reset => Some((until, "HTTP 503 with Retry-After")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{failure, hours, minutes};
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
        hold(Some(&report), None, &source.state.failures, policy, NOW)
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
        let past = report(Some(NOW - hours(1)));
        assert_eq!(hold(Some(&past), None, &FailureState::default(), &Policy::default(), NOW), None);
    }

    const NONE_LEFT: &str = "no requests left in the rate limit";

    /// A rate limit that is reset after so many minutes.
    fn limit(is_used_up: bool, reset: u32) -> Option<RateLimit> {
        Some(RateLimit { is_used_up, resets_at: NOW + minutes(reset) })
    }

    /// Status, `Retry-After` and the limit, all in minutes; the hold that follows.
    fn check_limit(
        status: Option<u16>,
        retry_after: Option<u32>,
        rate_limit: Option<RateLimit>,
        expected: Option<(u32, &str)>,
    ) {
        let retry_after = retry_after.map(|wait| NOW + minutes(wait));
        let report =
            status.map(|status| FailureReport { cause: FailureCause::Status(status), error: "x".into(), retry_after });
        let found = hold(report.as_ref(), rate_limit, &FailureState::default(), &Policy::default(), NOW);
        let expected = expected.map(|(wait, reason)| Hold { until: NOW + minutes(wait), reason: reason.into() });
        assert_eq!(found, expected, "{status:?} {retry_after:?} {rate_limit:?}");
    }

    #[test]
    fn p38_an_answer_that_leaves_no_requests_holds_its_host_until_the_reset() {
        for status in [None, Some(403), Some(404), Some(410), Some(500), Some(503)] {
            check_limit(status, None, limit(true, 7), Some((7, NONE_LEFT)));
            check_limit(status, None, limit(false, 7), None);
            check_limit(status, None, None, None);
        }
    }

    #[test]
    fn p38_the_later_of_retry_after_and_reset_counts() {
        check_limit(Some(429), Some(7), limit(false, 7), Some((7, "HTTP 429, until the reset of the rate limit")));
        check_limit(Some(429), Some(7), limit(true, 7), Some((7, "HTTP 429, until the reset of the rate limit")));
        check_limit(Some(429), Some(9), limit(true, 7), Some((9, "HTTP 429 with Retry-After")));
        check_limit(Some(429), Some(9), limit(false, 7), Some((9, "HTTP 429 with Retry-After")));
        check_limit(Some(503), Some(9), limit(true, 7), Some((9, "HTTP 503 with Retry-After")));
        check_limit(Some(503), Some(7), limit(true, 7), Some((7, NONE_LEFT)));
    }

    #[test]
    fn p38_the_ceiling_of_retry_after_cuts_a_reset_and_says_so() {
        let week = 7 * 24 * 60;
        check_limit(None, None, limit(true, week), Some((week, NONE_LEFT)));
        let cut = format!("{NONE_LEFT}, cut to the configured ceiling");
        check_limit(None, None, limit(true, week + 1), Some((week, &cut)));
        check_limit(None, None, limit(true, u32::MAX), Some((week, &cut)));
        check_limit(None, None, limit(true, 0), None);
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

        #[test]
        fn p38_a_rate_limit_only_lengthens_a_hold_and_stays_within_the_ceiling(
            status in prop::option::of(prop::sample::select(vec![404u16, 429, 500, 503])),
            asked in prop::option::of(any::<i64>().prop_map(Timestamp::from_micros)),
            is_used_up in any::<bool>(),
            resets_at in any::<i64>().prop_map(Timestamp::from_micros),
        ) {
            let (policy, failures) = (Policy::default(), FailureState::default());
            let report = status.map(|status| FailureReport {
                cause: FailureCause::Status(status),
                error: "x".into(),
                retry_after: asked,
            });
            let without = hold(report.as_ref(), None, &failures, &policy, NOW);
            let with = hold(report.as_ref(), Some(RateLimit { is_used_up, resets_at }), &failures, &policy, NOW);
            let end = |hold: &Option<Hold>| hold.as_ref().map_or(NOW, |hold| hold.until);
            prop_assert!(end(&with) >= end(&without) || status == Some(503));
            prop_assert!(end(&with) <= NOW + policy.retry_after_max);
            prop_assert!(!is_used_up || end(&with) >= resets_at.min(NOW + policy.retry_after_max));
        }
    }
}
