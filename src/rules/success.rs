//! The state of a source after a success: counters reset, rest over, new validators and watermark.

use super::push::{self, PolledFeed};
use crate::model::{FailureState, Hints, HubOffer, LastSeen, SourceState, Timestamp, Validators};

/// A 200 or a 304, as far as the source's state is concerned.
#[derive(Clone, Debug, PartialEq)]
pub enum SourceAnswer {
    /// 200: entries were read.
    Read(ReadAnswer),
    /// 304: nothing changed.
    NotModified {
        /// Validators of the answer, which replace the stored ones of the same kind (p05).
        validators: Validators,
        /// End of the freshness of the answer.
        fresh_until: Option<Timestamp>,
    },
}

/// What a 200 says about its source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadAnswer {
    /// Validators of the answer; a 200 without any clears the stored ones (p04).
    pub validators: Validators,
    /// Hints of the answer and its feed about the next poll.
    pub hints: Hints,
    /// Watermark after this answer.
    pub last_seen: Option<LastSeen>,
    /// Whether entries with different keys were seen to share a body, now or before.
    pub bodies_repeat: bool,
    /// Whether no entry was known although the feed was read before.
    pub is_gap: bool,
    /// Title that the document gives itself.
    pub title: Option<String>,
    /// Whether entries are new.
    pub has_new: bool,
    /// Hubs that the feed names.
    pub offer: Option<HubOffer>,
}

/// The state after a success.
///
/// A rest that only a person ends stays, and a disabled source stays disabled. The requests of the poll began at
/// `began_at`.
pub fn after_success(state: &SourceState, answer: SourceAnswer, began_at: Timestamp, now: Timestamp) -> SourceState {
    let mut next = SourceState {
        failures: FailureState::default(),
        first_polled_at: state.first_polled_at.or(Some(now)),
        last_polled: Some(now),
        last_success_at: Some(now),
        rest: state.rest.clone().filter(|rest| rest.cause.is_open_ended()),
        ..state.clone()
    };
    let polled = match &answer {
        SourceAnswer::Read(read) => PolledFeed { began_at, has_new: read.has_new, offer: Some(read.offer.clone()) },
        SourceAnswer::NotModified { .. } => PolledFeed { began_at, has_new: false, offer: None },
    };
    next.push = push::after_poll(&state.push, &polled);
    match answer {
        SourceAnswer::Read(read) => {
            next.last_read_at = Some(now);
            next.last_seen = read.last_seen;
            next.validators = read.validators;
            next.hints = read.hints;
            next.bodies_repeat = read.bodies_repeat;
            next.feed_title = read.title.or(next.feed_title);
            if read.is_gap {
                next.gaps = next.gaps.saturating_add(1);
                next.last_gap_at = Some(now);
            }
        }
        SourceAnswer::NotModified { validators, fresh_until } => {
            next.validators.etag = validators.etag.or(next.validators.etag);
            next.validators.last_modified = validators.last_modified.or(next.validators.last_modified);
            next.hints.retry_after = None;
            next.hints.fresh_until = fresh_until;
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FailureClass, FailureKind, FailureRun, LastFailure, Rest, RestCause};

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn validators(etag: Option<&str>, last_modified: Option<&str>) -> Validators {
        Validators { etag: etag.map(Into::into), last_modified: last_modified.map(Into::into) }
    }

    fn read() -> SourceAnswer {
        SourceAnswer::Read(ReadAnswer::default())
    }

    fn not_modified() -> SourceAnswer {
        SourceAnswer::NotModified { validators: Validators::default(), fresh_until: None }
    }

    fn failing() -> SourceState {
        SourceState {
            failures: FailureState {
                consecutive: 3,
                consecutive_permanent: 2,
                run: Some(FailureRun { kind: FailureKind::NotFound, length: 2 }),
                last: Some(LastFailure {
                    class: FailureClass::Permanent,
                    kind: FailureKind::NotFound,
                    error: "HTTP 404".into(),
                }),
            },
            rest: Some(Rest { since: Timestamp::EPOCH, cause: RestCause::Failures(FailureKind::NotFound) }),
            ..SourceState::default()
        }
    }

    #[test]
    fn s112_s203_s416_any_success_clears_failures_and_rest() {
        for answer in [read(), not_modified()] {
            let after = after_success(&failing(), answer, NOW, NOW);
            assert_eq!(after.failures, FailureState::default());
            assert_eq!(after.rest, None);
            assert_eq!((after.last_polled, after.last_success_at), (Some(NOW), Some(NOW)));
        }
    }

    #[test]
    fn s203_a_success_resets_the_counter_and_forgets_the_error() {
        let after = after_success(&failing(), read(), NOW, NOW);
        assert_eq!((after.failures.consecutive, after.failures.last), (0, None));
    }

    #[test]
    fn s416_a_success_ends_a_rest() {
        assert_eq!(after_success(&failing(), not_modified(), NOW, NOW).rest, None);
    }

    #[test]
    fn s417_a_success_does_not_end_a_rest_that_a_person_asked_for() {
        let reported = Rest { since: NOW, cause: RestCause::Reported(FailureKind::Gone) };
        let state = SourceState { rest: Some(reported), ..failing() };
        assert_eq!(after_success(&state, read(), NOW, NOW).rest, None, "a report is refuted by an answer");
        let rest = Rest { since: Timestamp::EPOCH, cause: RestCause::Person("moving house".into()) };
        let state = SourceState { rest: Some(rest.clone()), ..SourceState::default() };
        assert_eq!(after_success(&state, read(), NOW, NOW).rest, Some(rest));
    }

    #[test]
    fn a_success_does_not_enable_what_was_disabled_while_it_was_under_way() {
        let state = SourceState { enabled: false, disabled_reason: Some("tired".into()), ..SourceState::default() };
        let after = after_success(&state, read(), NOW, NOW);
        assert_eq!((after.enabled, after.disabled_reason.as_deref()), (false, Some("tired")));
    }

    #[test]
    fn the_first_poll_is_remembered_once() {
        let first = after_success(&SourceState::default(), read(), NOW, NOW);
        let second = after_success(&first, read(), NOW, NOW + std::time::Duration::from_secs(60));
        assert_eq!(second.first_polled_at, Some(NOW));
    }

    #[test]
    fn the_number_of_an_account_outlives_every_success() {
        let state = SourceState { account_id: Some("2244994945".into()), ..SourceState::default() };
        for answer in [read(), not_modified()] {
            assert_eq!(after_success(&state, answer, NOW, NOW).account_id, state.account_id);
        }
    }

    #[test]
    fn p04_a_200_replaces_both_validators_and_clears_the_missing() {
        let state = SourceState { validators: validators(Some("\"a\""), Some("Mon")), ..SourceState::default() };
        for fresh in [validators(Some("W/\"b\""), Some("Mon")), validators(None, Some("Tue")), validators(None, None)] {
            let answer = SourceAnswer::Read(ReadAnswer { validators: fresh.clone(), ..ReadAnswer::default() });
            assert_eq!(after_success(&state, answer, NOW, NOW).validators, fresh);
        }
    }

    #[test]
    fn p05_a_304_replaces_only_the_validators_that_it_carries() {
        let state = SourceState { validators: validators(Some("\"a\""), Some("Mon")), ..SourceState::default() };
        for (carried, kept) in [
            (validators(None, None), validators(Some("\"a\""), Some("Mon"))),
            (validators(Some("\"b\""), None), validators(Some("\"b\""), Some("Mon"))),
            (validators(None, Some("Tue")), validators(Some("\"a\""), Some("Tue"))),
        ] {
            let answer = SourceAnswer::NotModified { validators: carried, fresh_until: None };
            assert_eq!(after_success(&state, answer, NOW, NOW).validators, kept);
        }
    }

    #[test]
    fn gaps_are_counted_and_the_title_of_the_feed_is_kept() {
        let read = |is_gap, title: Option<&str>| {
            SourceAnswer::Read(ReadAnswer { is_gap, title: title.map(Into::into), ..ReadAnswer::default() })
        };
        let first = after_success(&SourceState::default(), read(true, Some("News")), NOW, NOW);
        assert_eq!((first.gaps, first.last_gap_at, first.feed_title.as_deref()), (1, Some(NOW), Some("News")));
        let later = NOW + std::time::Duration::from_secs(60);
        let second = after_success(&first, read(false, None), later, later);
        assert_eq!((second.gaps, second.last_gap_at, second.feed_title.as_deref()), (1, Some(NOW), Some("News")));
    }

    #[test]
    fn a_304_leaves_the_reading_of_the_feed_alone() {
        let state = SourceState {
            last_read_at: Some(Timestamp::EPOCH),
            last_seen: Some(LastSeen::Published(Timestamp::EPOCH)),
            hints: Hints { skip_hours: 7, update_period_minutes: Some(90), ..Hints::default() },
            ..SourceState::default()
        };
        let after = after_success(&state, not_modified(), NOW, NOW);
        assert_eq!((after.last_read_at, after.last_seen), (state.last_read_at, state.last_seen));
        assert_eq!(after.hints, state.hints);
    }
}
