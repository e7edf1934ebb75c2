//! Circuit breaker of a host: after enough requests without an answer only single probes are made (p32).

use std::fmt;

use crate::model::{Breaker, FailureCause, FailureReport, Timestamp};

use super::BreakerPolicy;
use super::backoff::backoff;

/// What a poll says about its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The host answered, if only with a refusal.
    Answer,
    /// No answer, or the error of a gateway that got none.
    Silence,
}

/// Change of a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerStep {
    Opened {
        /// Time of the first probe.
        until: Timestamp,
        /// Requests without an answer.
        failures: u32,
    },
    /// A probe got no answer: the breaker stays open.
    Reopened {
        /// Time of the next probe.
        until: Timestamp,
    },
    /// The host answered: the breaker is closed.
    Closed,
}

/// What a finished poll says about its host, if anything. Without a failure the poll succeeded.
pub fn heard(failure: Option<&FailureReport>) -> Option<Heard> {
    let Some(report) = failure else { return Some(Heard::Answer) };
    match report.cause {
        FailureCause::NoNetwork | FailureCause::NoRoute | FailureCause::Unreachable => Some(Heard::Silence),
        FailureCause::Connection | FailureCause::Stalled => Some(Heard::Silence),
        // The resolver has answered; no request reached the host, and each of its sources is counted (s401).
        FailureCause::Dns | FailureCause::ResolverFailed => None,
        // Content networks answer 52x and 530 for a host that gave them no answer.
        FailureCause::Status(502 | 504 | 520..=527 | 530) => Some(Heard::Silence),
        // A server that sends Retry-After is up.
        FailureCause::Status(503) if report.retry_after.is_none() => Some(Heard::Silence),
        FailureCause::Status(_) | FailureCause::RateLimited(_) => Some(Heard::Answer),
        FailureCause::Unreadable | FailureCause::Redirect => Some(Heard::Answer),
        FailureCause::MemoryShort => Some(Heard::Answer),
        FailureCause::Credentials | FailureCause::KeyMissing | FailureCause::Robots => None,
        FailureCause::AddressRefused | FailureCause::SourceProxy | FailureCause::Other => None,
        FailureCause::Internal | FailureCause::Lost | FailureCause::Outage => None,
    }
}

/// The breaker after a poll, and its change.
pub fn after(
    breaker: &Breaker,
    heard: Heard,
    policy: &BreakerPolicy,
    now: Timestamp,
) -> (Breaker, Option<BreakerStep>) {
    if heard == Heard::Answer {
        return (Breaker::default(), (breaker.openings > 0).then_some(BreakerStep::Closed));
    }
    let counted = Breaker { failures: breaker.failures.saturating_add(1), ..*breaker };
    let is_open = breaker.openings > 0;
    // A forced poll, and one that was in flight when the breaker opened, is no probe.
    let may_open = if is_open { open_until(breaker, policy, now).is_none() } else { counted.failures >= policy.after };
    if !may_open {
        return (counted, None);
    }
    let until = now + backoff(policy.pause_first, breaker.openings, policy.pause_max).delay;
    let opened = Breaker { openings: breaker.openings.saturating_add(1), open_until: Some(until), ..counted };
    let step = if is_open {
        BreakerStep::Reopened { until }
    } else {
        BreakerStep::Opened { until, failures: counted.failures }
    };
    (opened, Some(step))
}

/// Until when the breaker allows no request; none if it allows one, if only a probe. A moment further ahead than the
/// longest pause was written by a clock that was ahead, and is ignored.
pub fn open_until(breaker: &Breaker, policy: &BreakerPolicy, now: Timestamp) -> Option<Timestamp> {
    let longest = policy.pause_max.max(policy.pause_first);
    breaker.open_until.filter(|until| breaker.openings > 0 && *until > now && *until <= now + longest)
}

impl fmt::Display for BreakerStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BreakerStep::Opened { until, failures } => {
                write!(formatter, "no response to {failures} requests in a row: no requests before {until}")
            }
            BreakerStep::Reopened { until } => {
                write!(formatter, "still no response: no requests before {until}")
            }
            BreakerStep::Closed => write!(formatter, "the host answers again"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{hours, minutes};
    use super::*;
    use FailureCause::{
        Connection, Credentials, Dns, Internal, KeyMissing, Lost, NoNetwork, Other, Outage, Robots, Stalled, Status,
        Unreachable, Unreadable,
    };
    use Heard::{Answer, Silence};
    use proptest::collection::vec;
    use proptest::prelude::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn hears(causes: impl IntoIterator<Item = FailureCause>, retry_after: bool, expected: Option<Heard>) {
        for cause in causes {
            let report = FailureReport { cause, error: "x".into(), retry_after: retry_after.then_some(NOW) };
            assert_eq!(heard(Some(&report)), expected, "{cause:?}");
        }
    }

    /// Silences one second apart, beginning now.
    fn silent(count: u64) -> (Breaker, Option<BreakerStep>) {
        let second = |number| NOW + Duration::from_secs(number);
        (0..count).fold((Breaker::default(), None), |(breaker, _), number| {
            after(&breaker, Silence, &BreakerPolicy::default(), second(number))
        })
    }

    #[test]
    fn p32_what_is_silence_and_what_is_an_answer() {
        assert_eq!(heard(None), Some(Answer));
        hears([NoNetwork, Unreachable, Connection, Stalled], false, Some(Silence));
        hears([502, 503, 504, 520, 521, 522, 523, 524, 525, 526, 527, 530].map(Status), false, Some(Silence));
        hears([Status(503), Status(429)], true, Some(Answer));
        hears([401, 403, 404, 410, 429, 500, 501, 505, 599].map(Status), false, Some(Answer));
        hears([Unreadable], false, Some(Answer));
        hears([Dns, Internal, Lost, Outage, Credentials, KeyMissing, Robots, Other], false, None);
    }

    #[test]
    fn p32_it_opens_after_five_silences_and_says_so_once() {
        assert_eq!(silent(4), (Breaker { failures: 4, openings: 0, open_until: None }, None));
        let until = NOW + Duration::from_secs(4) + minutes(5);
        let open = Breaker { failures: 5, openings: 1, open_until: Some(until) };
        assert_eq!(silent(5), (open, Some(BreakerStep::Opened { until, failures: 5 })));
        assert_eq!(silent(6), (Breaker { failures: 6, ..open }, None), "no probe, so no second word");
    }

    #[test]
    fn p32_an_answer_in_between_starts_over() {
        let (four, _) = silent(4);
        assert_eq!(after(&four, Answer, &BreakerPolicy::default(), NOW), (Breaker::default(), None));
    }

    #[test]
    fn p32_each_probe_without_an_answer_doubles_the_pause_up_to_its_ceiling() {
        let (mut breaker, _) = silent(5);
        let mut pauses = Vec::new();
        for _ in 0..9 {
            let now = breaker.open_until.unwrap();
            let (next, step) = after(&breaker, Silence, &BreakerPolicy::default(), now);
            assert_eq!(step, Some(BreakerStep::Reopened { until: next.open_until.unwrap() }));
            pauses.push(next.open_until.unwrap().since(now).as_secs() / 60);
            breaker = next;
        }
        assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 360, 360, 360]);
    }

    #[test]
    fn p32_an_answer_closes_it_whenever_it_comes() {
        let (open, _) = silent(5);
        for now in [NOW, open.open_until.unwrap(), NOW + hours(99)] {
            let closed = after(&open, Answer, &BreakerPolicy::default(), now);
            assert_eq!(closed, (Breaker::default(), Some(BreakerStep::Closed)));
        }
    }

    #[test]
    fn a_moment_beyond_every_pause_is_not_believed() {
        let policy = BreakerPolicy::default();
        for (ahead, believed) in [(minutes(1), true), (hours(6), true), (hours(7), false), (hours(99_999), false)] {
            let until = NOW + ahead;
            let breaker = Breaker { failures: 5, openings: 1, open_until: Some(until) };
            assert_eq!(open_until(&breaker, &policy, NOW), believed.then_some(until));
            let (_, step) = after(&breaker, Silence, &policy, NOW);
            assert_eq!(step.is_none(), believed);
        }
    }

    #[test]
    fn a_first_pause_beyond_the_longest_is_kept() {
        let policy = BreakerPolicy { after: 1, pause_first: hours(9), pause_max: hours(1) };
        let (breaker, _) = after(&Breaker::default(), Silence, &policy, NOW);
        assert_eq!(open_until(&breaker, &policy, NOW), Some(NOW + hours(9)));
    }

    #[test]
    fn steps_are_told_in_words() {
        let until = NOW;
        for (step, words) in [
            (
                BreakerStep::Opened { until, failures: 5 },
                "no response to 5 requests in a row: no requests before 2027-01-15T08:00:00Z",
            ),
            (BreakerStep::Reopened { until }, "still no response: no requests before 2027-01-15T08:00:00Z"),
            (BreakerStep::Closed, "the host answers again"),
        ] {
            assert_eq!(step.to_string(), words);
        }
    }

    proptest! {
        #[test]
        fn p32_openings_and_closings_alternate_and_every_pause_is_within_bounds(
            polls in vec((prop::bool::weighted(0.2), 0u64..40_000), 0..200),
            after_failures in 1u32..8,
        ) {
            let policy = BreakerPolicy { after: after_failures, ..BreakerPolicy::default() };
            let (mut breaker, mut now, mut is_open, mut run) = (Breaker::default(), NOW, false, 0);
            for (answers, seconds) in polls {
                now = now + Duration::from_secs(seconds);
                let (next, step) = after(&breaker, if answers { Answer } else { Silence }, &policy, now);
                run = if answers { 0 } else { run + 1 };
                match step {
                    Some(BreakerStep::Opened { failures, .. }) => {
                        prop_assert!(!is_open && failures == run && run == after_failures);
                    }
                    Some(BreakerStep::Reopened { .. }) => prop_assert!(is_open && !answers),
                    Some(BreakerStep::Closed) => prop_assert!(is_open && answers),
                    None => {}
                }
                is_open = next.openings > 0;
                prop_assert_eq!(is_open, next.open_until.is_some());
                prop_assert_eq!(is_open, run >= after_failures);
                prop_assert!(next.open_until.is_none_or(|until| until <= now + policy.pause_max));
                breaker = next;
            }
        }
    }
}
