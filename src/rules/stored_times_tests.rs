//! Tests of `stored_times`.

use proptest::prelude::*;

use super::*;
use crate::model::{Breaker, FailureKind, Hints, HostKey, NewSource, SourceId, SourceSettings, SourceType};
use crate::rules::due::{NextPoll, Wait, next_poll};
use crate::rules::turn::{Turn, turn};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const DAYS_30: Duration = hours(30 * 24);

/// A source that was polled then, with an hour of freshness.
fn polled(at: Timestamp) -> Source {
    let settings = SourceSettings::new(SourceType::Rss, "http://a.example/feed");
    let mut source = Source::fresh(SourceId(1), NewSource { settings, created_at: NOW - hours(999) });
    source.state.first_polled_at = Some(NOW - hours(900));
    source.state.last_polled = Some(at);
    source.state.last_success_at = Some(at);
    source.state.hints.fresh_until = Some(at + hours(1));
    source.state.validators.etag = Some("\"1\"".into());
    source
}

fn corrected(mut source: Source, step: Option<ClockStep>) -> SourceState {
    assert!(correct_source(&mut source, &Policy::default(), NOW, step));
    assert!(!correct_source(&mut source, &Policy::default(), NOW, step), "once is enough");
    source.state
}

#[test]
fn a_source_that_was_polled_in_the_future_is_due_now_and_its_row_is_corrected_once() {
    for ahead in [hours(6), DAYS_30, hours(999_999)] {
        let mut source = polled(NOW + ahead);
        let next = next_poll(&source, None, &Policy::default(), NOW);
        assert_eq!(next, NextPoll::At { at: source.created_at, because: Wait::Unknown }, "{ahead:?}");
        source.state = corrected(source.clone(), None);
        assert_eq!((source.state.last_polled, source.state.last_success_at), (None, Some(NOW)));
        assert!(next_poll(&source, None, &Policy::default(), NOW).is_due(NOW));
    }
}

#[test]
fn a_request_that_was_granted_is_not_made_again_because_its_poll_has_moved() {
    // Requested an hour ago by the present clock, granted an hour before the step, by the clock before it.
    let step = ClockStep { from: NOW + hours(20), to: NOW };
    let mut source = polled(NOW + hours(19));
    source.state.poll_requested_at = Some(NOW - minutes(30));
    source.state = corrected(source.clone(), Some(step));
    assert_eq!(source.state.last_polled, Some(NOW - hours(1)));
    assert!(!crate::rules::due::is_requested(&source));
}

#[test]
fn a_row_without_times_in_the_future_stays_as_it_is() {
    for ago in [Duration::ZERO, minutes(1), hours(24)] {
        let mut source = polled(NOW - ago);
        source.state.hints.retry_after = Some(NOW - ago + hours(24 * 7));
        source.state.rest = Some(Rest { since: NOW, cause: RestCause::Failures(FailureKind::Gone) });
        // A poll that was lost is repeated a minute later.
        source.state.poll_requested_at = Some(NOW + minutes(1));
        let before = source.clone();
        assert!(!correct_source(&mut source, &Policy::default(), NOW, None));
        assert_eq!(source, before);
    }
    let mut skewed = polled(NOW + minutes(1));
    assert!(!correct_source(&mut skewed, &Policy::default(), NOW, None), "another machine's clock");
}

#[test]
fn a_step_back_that_explains_the_time_keeps_every_wait_as_long_as_it_was() {
    let step = ClockStep { from: NOW + hours(6), to: NOW };
    let mut source = polled(NOW + hours(6) - minutes(10));
    source.state.hints.retry_after = Some(NOW + hours(7));
    source.state.rest = Some(Rest { since: NOW + hours(5), cause: RestCause::Failures(FailureKind::NotFound) });
    let state = corrected(source, Some(step));
    assert_eq!(state.last_polled, Some(NOW - minutes(10)));
    assert_eq!(state.hints.fresh_until, Some(NOW + minutes(50)));
    assert_eq!(state.hints.retry_after, Some(NOW + hours(1)));
    assert_eq!(state.rest.unwrap().since, NOW - hours(1));
    assert!(state.validators.etag.is_some(), "six hours lose no entry");
}

#[test]
fn a_time_beyond_the_step_is_unknown_all_the_same() {
    let step = ClockStep { from: NOW + hours(6), to: NOW };
    assert_eq!(corrected(polled(NOW + hours(7)), Some(step)).last_polled, None);
    let ahead = ClockStep { from: NOW - hours(6), to: NOW };
    assert_eq!(corrected(polled(NOW + hours(1)), Some(ahead)).last_polled, None);
}

#[test]
fn p10_a_retry_after_of_an_unknown_time_counts_from_now_unless_it_is_beyond_its_ceiling() {
    let asking = |ahead: Duration, wait: Duration| {
        let mut source = polled(NOW + ahead);
        source.state.hints.retry_after = Some(NOW + ahead + wait);
        corrected(source, None).hints.retry_after
    };
    assert_eq!(asking(hours(6), hours(1)), Some(NOW + hours(1)));
    assert_eq!(asking(DAYS_30, hours(1)), None);
}

#[test]
fn a_rest_that_began_in_the_future_is_over_unless_only_a_person_ends_it() {
    let resting = |cause: RestCause| {
        let mut source = polled(NOW - hours(1));
        source.state.rest = Some(Rest { since: NOW + DAYS_30, cause });
        let next = next_poll(&source, None, &Policy::default(), NOW);
        (corrected(source, None).rest.map(|rest| rest.since), next)
    };
    let (rest, next) = resting(RestCause::Failures(FailureKind::NotFound));
    assert_eq!((rest, next.is_due(NOW)), (None, true), "before the row is corrected, too");
    let (rest, next) = resting(RestCause::Reported(FailureKind::Gone));
    assert_eq!((rest, next.at()), (Some(NOW), Some(NOW + hours(72))), "what a person reported is of now");
    let (rest, next) = resting(RestCause::Person("quiet".into()));
    assert_eq!((rest, next.at()), (Some(NOW), None));
}

#[test]
fn after_weeks_ahead_the_whole_document_is_read_again() {
    assert_eq!(corrected(polled(NOW + DAYS_30), None).validators, Validators::default());
    let step = ClockStep { from: NOW + DAYS_30, to: NOW };
    let state = corrected(polled(NOW + DAYS_30 - minutes(5)), Some(step));
    assert_eq!((state.validators, state.last_polled), (Validators::default(), Some(NOW - minutes(5))));
}

fn host(asked: Option<Timestamp>, held: Option<Timestamp>, open: Option<Timestamp>) -> HostState {
    HostState {
        last_asked_at: asked,
        held_until: held,
        breaker: Breaker { failures: 5, openings: 1, open_until: open },
        ..HostState::new(HostKey::from_canonical("a.example"))
    }
}

fn check_host(mut found: HostState, step: Option<ClockStep>, expected: HostState) {
    assert!(correct_host(&mut found, &Policy::default(), NOW, step));
    assert_eq!(found, expected);
    assert!(!correct_host(&mut found, &Policy::default(), NOW + hours(1), step), "once is enough");
}

#[test]
fn p28_a_host_that_was_asked_in_the_future_gets_one_pause_and_its_hold_is_as_long_as_it_was() {
    let at = |duration| Some(NOW + duration);
    let unknown = host(at(hours(6)), at(hours(7)), at(hours(6) + minutes(5)));
    check_host(unknown.clone(), None, host(Some(NOW), at(hours(1)), None));
    let step = ClockStep { from: NOW + hours(6) + minutes(1), to: NOW };
    let ago = |duration| Some(NOW - duration);
    check_host(unknown, Some(step), host(ago(minutes(1)), at(hours(1) - minutes(1)), at(minutes(4))));
    check_host(host(at(DAYS_30), at(DAYS_30 + hours(1)), None), None, host(Some(NOW), None, None));
}

#[test]
fn a_hold_and_a_breaker_last_no_longer_than_their_ceilings() {
    let policy = Policy::default();
    let far = Some(NOW + hours(99_999));
    check_host(
        host(None, far, far),
        None,
        host(None, Some(NOW + policy.retry_after_max), Some(NOW + policy.breaker.pause_max)),
    );
}

#[test]
fn a_retry_beyond_the_longest_wait_is_due_now() {
    assert_eq!(corrected_retry(NOW + hours(3), hours(3), NOW), NOW + hours(3));
    assert_eq!(corrected_retry(NOW + hours(4), hours(3), NOW), NOW);
    assert_eq!(corrected_retry(NOW - hours(4), hours(3), NOW), NOW - hours(4));
}

fn any_moment() -> impl Strategy<Value = Timestamp> {
    (-1_000_000i64..4_000_000).prop_map(|offset| Timestamp::from_seconds(NOW.as_seconds() + offset))
}

proptest! {
    /// Whatever a clock has written, a source is polled within the longest wait that could be honest.
    #[test]
    fn no_source_waits_for_the_true_time_to_catch_up(
        last_polled in prop::option::of(any_moment()),
        retry_after in prop::option::of(any_moment()),
        fresh_until in prop::option::of(any_moment()),
        requested in prop::option::of(any_moment()),
        since in prop::option::of(any_moment()),
        stepped in prop::option::of(any_moment()),
    ) {
        let policy = Policy::default();
        let mut source = polled(NOW);
        source.state.last_polled = last_polled;
        source.state.hints = Hints { retry_after, fresh_until, ..Hints::default() };
        source.state.poll_requested_at = requested;
        source.state.rest = since.map(|since| Rest { since, cause: RestCause::Failures(FailureKind::NotFound) });
        let step = stepped.map(|from| ClockStep { from, to: NOW });
        correct_source(&mut source, &policy, NOW, step);
        let at = next_poll(&source, None, &policy, NOW).at().unwrap();
        let longest = policy.retry_after_max.max(policy.freshness_max).max(hours(48)) + TOLERANCE;
        prop_assert!(at <= NOW + longest, "{at} by {:?}", source.state);
        let is_unknown = last_polled.is_some_and(|polled| is_unknown(polled, NOW));
        if is_unknown && retry_after.is_none() && since.is_none() && step.is_none() {
            prop_assert!(at <= NOW + TOLERANCE, "due now: {at}");
        }
    }

    #[test]
    fn p28_no_correction_shortens_the_pause_of_a_host(
        asked in prop::option::of(any_moment()), held in prop::option::of(any_moment()), delay in 0u64..10_000,
    ) {
        let policy = Policy::default();
        let mut state = host(asked, held, None);
        let (delay, long_ago) = (Duration::from_secs(delay), NOW - hours(9_999));
        let honest = turn(&state, delay, long_ago, &policy, NOW);
        correct_host(&mut state, &policy, NOW, None);
        if asked.is_some_and(|asked| is_unknown(asked, NOW)) && state.held_until.is_none() && !delay.is_zero() {
            prop_assert_eq!(turn(&state, delay, long_ago, &policy, NOW), Turn::At(NOW + delay));
        } else if asked.is_none_or(|asked| asked <= NOW) && held.is_none() {
            prop_assert_eq!(turn(&state, delay, long_ago, &policy, NOW), honest);
        }
    }
}
