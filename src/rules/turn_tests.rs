//! Tests of `turn`.

use super::*;
use crate::model::{Breaker, HostKey};
use crate::rules::minutes;
use crate::rules::stored_times::correct_host;
use proptest::prelude::*;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const LONG_AGO: Timestamp = Timestamp::from_seconds(1_700_000_000);

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn host() -> HostState {
    HostState::new(HostKey::from_canonical("a.example"))
}

fn asked(at: Timestamp) -> HostState {
    HostState { last_asked_at: Some(at), ..host() }
}

fn held(until: Timestamp) -> HostState {
    HostState { held_until: Some(until), held_reason: Some("HTTP 429 with Retry-After".into()), ..host() }
}

fn open(until: Timestamp) -> HostState {
    HostState { breaker: Breaker { failures: 5, openings: 1, open_until: Some(until) }, ..host() }
}

fn by_hold(until: Timestamp) -> Turn {
    Turn::NotBefore { until, because: Closed::Held("HTTP 429 with Retry-After".into()) }
}

fn by_breaker(until: Timestamp) -> Turn {
    Turn::NotBefore { until, because: Closed::BreakerOpen { failures: 5 } }
}

fn check(host: &HostState, delay_seconds: u64, started_at: Timestamp, expected: &Turn) {
    assert_eq!(&turn(host, seconds(delay_seconds), started_at, &Policy::default(), NOW), expected);
}

#[test]
fn p28_the_pause_counts_from_the_end_of_the_last_request() {
    check(&asked(NOW - seconds(1)), 2, LONG_AGO, &Turn::At(NOW + seconds(1)));
    check(&asked(NOW - seconds(2)), 2, LONG_AGO, &Turn::Now);
    check(&asked(NOW), 0, LONG_AGO, &Turn::Now);
    check(&host(), 2, LONG_AGO, &Turn::Now);
}

#[test]
fn p28_a_restart_counts_as_a_request_to_every_host() {
    for known in [host(), asked(LONG_AGO), asked(NOW - seconds(9))] {
        check(&known, 5, NOW, &Turn::At(NOW + seconds(5)));
        check(&known, 5, NOW - seconds(3), &Turn::At(NOW + seconds(2)));
        check(&known, 5, NOW - seconds(5), &Turn::Now);
        check(&known, 0, NOW, &Turn::Now);
    }
    check(&asked(NOW - seconds(1)), 5, NOW - seconds(4), &Turn::At(NOW + seconds(4)));
}

#[test]
fn p17_a_hold_wins_over_spacing_until_it_is_over() {
    let busy = |until| HostState { last_asked_at: Some(NOW), ..held(until) };
    check(&busy(NOW + minutes(5)), 600, LONG_AGO, &by_hold(NOW + minutes(5)));
    check(&busy(NOW), 2, LONG_AGO, &Turn::At(NOW + seconds(2)));
    check(&held(NOW - minutes(1)), 2, LONG_AGO, &Turn::Now);
}

#[test]
fn p32_an_open_breaker_allows_no_request_before_the_probe() {
    check(&open(NOW + minutes(5)), 0, LONG_AGO, &by_breaker(NOW + minutes(5)));
    check(&open(NOW), 0, LONG_AGO, &Turn::Now);
    check(&HostState { last_asked_at: Some(NOW), ..open(NOW) }, 2, LONG_AGO, &Turn::At(NOW + seconds(2)));
}

#[test]
fn of_a_hold_and_a_breaker_the_later_one_counts() {
    let both = |hold, breaker| HostState { breaker: open(NOW + breaker).breaker, ..held(NOW + hold) };
    check(&both(minutes(5), minutes(6)), 0, LONG_AGO, &by_breaker(NOW + minutes(6)));
    check(&both(minutes(7), minutes(6)), 0, LONG_AGO, &by_hold(NOW + minutes(7)));
    check(&both(minutes(6), minutes(6)), 0, LONG_AGO, &by_hold(NOW + minutes(6)));
}

#[test]
fn a_hold_without_words_is_still_a_hold() {
    let silent = HostState { held_reason: None, ..held(NOW + minutes(1)) };
    let because = Closed::Held("for a reason that was not written down".into());
    check(&silent, 0, LONG_AGO, &Turn::NotBefore { until: NOW + minutes(1), because });
}

#[test]
fn turns_are_told_in_words() {
    for (turn, words) in [
        (Turn::Now, "the host is available now"),
        (Turn::At(NOW), "the host is available at 2027-01-15T08:00:00Z, after the pause between requests"),
        (by_hold(NOW), "the host gets no requests before 2027-01-15T08:00:00Z: held, HTTP 429 with Retry-After"),
        (by_breaker(NOW), "the host gets no requests before 2027-01-15T08:00:00Z: no response to 5 requests in a row"),
    ] {
        assert_eq!(turn.to_string(), words);
    }
}

fn any_moment() -> impl Strategy<Value = Timestamp> {
    prop_oneof![
        4 => (-1_000_000i64..1_000_000).prop_map(|offset| Timestamp::from_seconds(NOW.as_seconds() + offset)),
        1 => any::<i64>().prop_map(Timestamp::from_micros),
    ]
}

/// The start of the process is never in the future: it moves with the clock.
fn past_moment() -> impl Strategy<Value = Timestamp> {
    any_moment().prop_map(|moment| moment.min(NOW))
}

fn any_host() -> impl Strategy<Value = HostState> {
    let moment = || prop::option::of(any_moment());
    (moment(), moment(), moment(), 0u32..3).prop_map(|(last_asked_at, held_until, open_until, openings)| HostState {
        last_asked_at,
        held_until,
        breaker: Breaker { failures: 9, openings, open_until },
        ..host()
    })
}

proptest! {
    /// A request is allowed after the hold or breaker, and then after the pause.
    #[test]
    fn no_request_waits_for_ever(mut host in any_host(), started_at in past_moment(), delay_seconds in 0u64..10_000) {
        let policy = Policy::default();
        correct_host(&mut host, &policy, NOW, None);
        let mut now = NOW;
        for _ in 0..3 {
            match turn(&host, seconds(delay_seconds), started_at, &policy, now) {
                Turn::Now => return Ok(()),
                Turn::At(at) | Turn::NotBefore { until: at, .. } => {
                    prop_assert!(at > now);
                    now = at;
                }
            }
        }
        prop_assert_eq!(turn(&host, seconds(delay_seconds), started_at, &policy, now), Turn::Now);
    }

    #[test]
    fn p28_now_is_never_sooner_than_the_pause_after_the_last_request(
        mut host in any_host(), started_at in past_moment(), delay_seconds in 0u64..10_000,
    ) {
        let policy = Policy::default();
        correct_host(&mut host, &policy, NOW, None);
        if turn(&host, seconds(delay_seconds), started_at, &policy, NOW) == Turn::Now {
            prop_assert!(host.last_asked_at.is_none_or(|at| at + seconds(delay_seconds) <= NOW));
            prop_assert!(started_at + seconds(delay_seconds) <= NOW);
            prop_assert!(host.held_until.is_none_or(|until| until <= NOW));
            prop_assert!(host.breaker.openings == 0 || host.breaker.open_until.is_none_or(|until| until <= NOW));
        }
    }
}
