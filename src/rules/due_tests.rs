//! The scenarios of `rules::due`.

use std::time::Duration;

use super::*;
use crate::model::{
    FailureKind, FailureRun, FailureState, Hints, HostKey, NewSource, Rest, SourceId, SourceSettings, SourceType,
};
use crate::rules::RestRule;

/// A Friday, 08:00.
const POLLED: Timestamp = Timestamp::from_seconds(1_800_000_000);

fn source() -> Source {
    let settings = SourceSettings::new(SourceType::Rss, "http://a.example/feed");
    let mut source = Source::fresh(SourceId(1), NewSource { settings, created_at: Timestamp::EPOCH });
    source.state.first_polled_at = Some(POLLED);
    source.state.last_polled = Some(POLLED);
    source
}

/// Rules with a fixed interval; the adaptive one is tested in `rules::interval`.
fn fixed() -> Policy {
    Policy { adaptive: None, ..Policy::default() }
}

fn failing(consecutive: u32) -> Source {
    let mut source = source();
    source.state.failures.consecutive = consecutive;
    source
}

fn check(source: &Source, at: Timestamp, because: Wait) {
    assert_eq!(next_poll(source, None, &fixed(), POLLED + hours(1)), NextPoll::At { at, because });
}

#[test]
fn s305_the_sources_own_ceiling_wins() {
    let mut source = failing(10);
    source.settings.max_backoff_hours = Some(6);
    check(&source, POLLED + hours(6), Wait::Backoff(BackoffReason::Ceiling(10)));
    source.settings.max_backoff_hours = Some(100);
    check(&source, POLLED + hours(100), Wait::Backoff(BackoffReason::Ceiling(10)));
}

#[test]
fn s507_a_first_poll_that_jitter_put_there_says_so() {
    let mut source = source();
    source.state.first_polled_at = None;
    check(&source, POLLED + fixed().interval, Wait::Spread);
    let text = next_poll(&source, None, &fixed(), POLLED).to_string();
    assert!(text.ends_with(": first polls are spread over time"), "{text}");
    source.state.poll_requested_at = Some(POLLED + minutes(1));
    check(&source, POLLED + minutes(1), Wait::Requested);
}

#[test]
fn s414_a_resting_source_is_not_due_before_its_cooldown_is_over() {
    let mut source = failing(3);
    source.state.rest = Some(Rest { since: POLLED, cause: RestCause::Failures(FailureKind::NotFound) });
    check(&source, POLLED + hours(48), Wait::Rest(FailureKind::NotFound));
    let next = next_poll(&source, None, &fixed(), POLLED);
    assert!(!next.is_due(POLLED + hours(48) - Duration::from_micros(1)));
    assert!(next.is_due(POLLED + hours(48)));
}

#[test]
fn s415_after_a_rest_the_later_of_cooldown_and_backoff_decides() {
    let mut source = failing(10);
    source.state.rest = Some(Rest { since: POLLED, cause: RestCause::Failures(FailureKind::UpstreamFailure) });
    check(&source, POLLED + hours(24), Wait::Backoff(BackoffReason::Ceiling(10)));
}

#[test]
fn s417_a_rest_that_a_person_asked_for_has_no_end() {
    let mut source = source();
    source.state.rest = Some(Rest { since: POLLED, cause: RestCause::Person("holiday".into()) });
    let next = next_poll(&source, None, &fixed(), POLLED);
    assert_eq!(next, NextPoll::Never(Never::Resting));
    assert!(!next.is_due(Timestamp::MAX));
}

#[test]
fn s417_a_report_waits_for_its_cooldown_also_where_runs_of_its_kind_start_no_rest() {
    let mut source = source();
    source.state.rest = Some(Rest { since: POLLED, cause: RestCause::Reported(FailureKind::Unauthorized) });
    check(&source, POLLED + hours(24), Wait::Reported(FailureKind::Unauthorized));
    let mut policy = fixed();
    policy.rests.set(FailureKind::Unauthorized, RestRule { after: 0, cooldown: hours(2) });
    assert_eq!(next_poll(&source, None, &policy, POLLED).at(), Some(POLLED + hours(2)), "as configured now");
}

#[test]
fn s417_a_report_of_the_future_is_believed_to_be_of_now() {
    let mut source = source();
    source.state.rest = Some(Rest { since: POLLED + hours(900), cause: RestCause::Reported(FailureKind::Gone) });
    assert_eq!(next_poll(&source, None, &fixed(), POLLED).at(), Some(POLLED + hours(72)));
}

#[test]
fn s417_a_source_that_was_reported_before_its_first_poll_waits_too() {
    let mut source = source();
    (source.state.first_polled_at, source.state.last_polled) = (None, None);
    source.state.rest = Some(Rest { since: POLLED, cause: RestCause::Reported(FailureKind::Network) });
    check(&source, POLLED + hours(12), Wait::Reported(FailureKind::Network));
}

#[test]
fn s418_a_rest_whose_rule_was_switched_off_is_over() {
    let mut source = failing(1);
    source.state.rest = Some(Rest { since: POLLED, cause: RestCause::Failures(FailureKind::Gone) });
    let mut policy = fixed();
    policy.rests.set(FailureKind::Gone, RestRule { after: 0, cooldown: hours(72) });
    assert_eq!(next_poll(&source, None, &policy, POLLED).at(), Some(POLLED + hours(2)));
}

#[test]
fn s501_a_source_is_due_exactly_when_its_interval_has_elapsed() {
    let mut source = source();
    for (own_minutes, wait) in [(None, hours(1)), (Some(5), minutes(5)), (Some(10_000), minutes(10_000))] {
        source.settings.poll_interval_minutes = own_minutes;
        let next = next_poll(&source, None, &fixed(), POLLED);
        assert!(!next.is_due(POLLED + wait - Duration::from_micros(1)));
        assert!(next.is_due(POLLED + wait));
    }
}

#[test]
fn s501_failures_stretch_the_interval() {
    check(&failing(2), POLLED + minutes(240), Wait::Backoff(BackoffReason::Doubled(2)));
}

#[test]
fn s502_a_disabled_source_is_never_due() {
    let mut source = source();
    source.state.enabled = false;
    source.state.poll_requested_at = Some(POLLED + hours(1));
    assert_eq!(next_poll(&source, None, &fixed(), POLLED), NextPoll::Never(Never::Disabled));
}

#[test]
fn s508_a_source_that_was_never_polled_is_due_at_once() {
    let mut source = source();
    (source.state.first_polled_at, source.state.last_polled) = (None, None);
    let next = next_poll(&source, None, &fixed(), POLLED);
    assert_eq!(next.at(), Some(source.created_at), "since it was added");
    source.created_at = POLLED + hours(1);
    assert!(next_poll(&source, None, &fixed(), POLLED).is_due(POLLED), "whatever the clock said then");
    assert_eq!(next.to_string(), "due at once: it has never been polled");
}

#[test]
fn s508_a_poll_asked_for_by_hand_is_due_at_once_and_only_once() {
    let mut source = failing(9);
    let asked = POLLED + minutes(1);
    source.state.poll_requested_at = Some(asked);
    check(&source, asked, Wait::Requested);
    source.state.last_polled = Some(asked + minutes(1));
    check(&source, asked + minutes(1) + hours(24), Wait::Backoff(BackoffReason::Ceiling(9)));
}

#[test]
fn p11_a_fresh_answer_is_not_asked_for_again() {
    let mut source = source();
    source.state.hints.fresh_until = Some(POLLED + hours(3));
    check(&source, POLLED + hours(3), Wait::Fresh(false));
    source.state.hints.fresh_until = Some(POLLED + minutes(3));
    check(&source, POLLED + hours(1), Wait::Backoff(BackoffReason::Active));
}

#[test]
fn p13_a_wait_cut_by_the_ceiling_says_so() {
    let mut source = source();
    source.state.hints.fresh_until = Some(POLLED + hours(24 * 365));
    check(&source, POLLED + hours(24), Wait::Fresh(true));
    source.state.hints = Hints { retry_after: Some(POLLED + hours(24 * 365)), ..Hints::default() };
    let next = next_poll(&source, None, &fixed(), POLLED);
    assert_eq!(next.at(), Some(POLLED + hours(7 * 24)));
    assert!(
        next.to_string()
            .ends_with("the publisher asked for this wait (Retry-After or rate limit), cut to the configured ceiling"),
        "{next}"
    );
}

#[test]
fn p14_a_feed_is_not_polled_faster_than_it_says() {
    let mut source = source();
    source.state.hints.update_period_minutes = Some(180);
    check(&source, POLLED + hours(3), Wait::UpdatePeriod);
    source.state.hints.update_period_minutes = Some(u32::MAX);
    check(&source, POLLED + hours(24), Wait::UpdatePeriod);
}

#[test]
fn p14_skipped_hours_and_days_are_left_out() {
    assert_eq!(POLLED.to_string(), "2027-01-15T08:00:00Z");
    let mut source = source();
    source.state.hints.skip_hours = 0b111 << 9;
    check(&source, POLLED + hours(4), Wait::Skipped);
    source.state.hints = Hints { skip_days: 1 << 4, ..Hints::default() };
    check(&source, "2027-01-16T00:00:00Z".parse().unwrap(), Wait::Skipped);
    source.state.hints = Hints { skip_days: 0b111_0000, skip_hours: 1, ..Hints::default() };
    check(&source, "2027-01-18T01:00:00Z".parse().unwrap(), Wait::Skipped);
    source.state.hints = Hints { skip_hours: 0xff_ffff, skip_days: 0x7f, ..Hints::default() };
    check(&source, POLLED + hours(1), Wait::Backoff(BackoffReason::Active));
}

#[test]
fn p15_retry_after_is_obeyed() {
    let mut source = failing(1);
    source.state.hints.retry_after = Some(POLLED + hours(5));
    check(&source, POLLED + hours(5), Wait::RetryAfter(false));
}

#[test]
fn p16_a_bare_429_is_not_tried_again_within_the_hour() {
    let mut source = failing(1);
    source.settings.poll_interval_minutes = Some(5);
    source.state.failures = FailureState {
        consecutive: 1,
        run: Some(FailureRun { kind: FailureKind::RateLimited, length: 1 }),
        ..FailureState::default()
    };
    check(&source, POLLED + hours(1), Wait::RateLimited);
}

#[test]
fn p17_a_held_host_holds_its_sources() {
    let mut host = HostState::new(HostKey::from_canonical("a.example"));
    host.held_until = Some(POLLED + hours(9));
    let next = next_poll(&source(), Some(&host), &fixed(), POLLED);
    assert_eq!(next, NextPoll::At { at: POLLED + hours(9), because: Wait::HostHeld });
}

#[test]
fn p20_a_person_cannot_hurry_past_retry_after_or_the_host() {
    let mut source = source();
    source.state.poll_requested_at = Some(POLLED + minutes(1));
    source.state.hints = Hints { retry_after: Some(POLLED + hours(2)), skip_hours: 0xff_fffe, ..Hints::default() };
    check(&source, POLLED + hours(2), Wait::RetryAfter(false));
    let mut host = HostState::new(HostKey::from_canonical("a.example"));
    host.held_until = Some(POLLED + hours(3));
    assert_eq!(next_poll(&source, Some(&host), &fixed(), POLLED).at(), Some(POLLED + hours(3)));
}

#[test]
fn a_clock_that_was_ahead_does_not_silence_a_source_once_it_is_right() {
    let mut source = failing(3);
    source.state.rest = Some(Rest { since: POLLED, cause: RestCause::Failures(FailureKind::NotFound) });
    source.state.first_polled_at = Some(POLLED);
    let right = POLLED - hours(24 * 365);
    let next = next_poll(&source, None, &fixed(), right);
    assert_eq!(next, NextPoll::At { at: source.created_at.min(right), because: Wait::Unknown }, "due now");
}

#[test]
fn every_wait_has_words() {
    let next = next_poll(&failing(3), None, &fixed(), POLLED);
    assert_eq!(
        next.to_string(),
        "next poll at 2027-01-15T16:00:00Z: the interval doubled with every failure, failures in a row: 3"
    );
}
