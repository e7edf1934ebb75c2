//! Tests of `outage`.

use super::*;
use crate::rules::hours;
use proptest::collection::vec;
use proptest::prelude::*;

const START: i64 = 1_800_000_000;
const DOUBT: u64 = 20;

fn at(second: u64) -> Timestamp {
    Timestamp::from_seconds(START) + Duration::from_secs(second)
}

fn host(number: u64) -> HostKey {
    HostKey::from_canonical(&format!("{number}.example"))
}

fn outage() -> Outage {
    Outage::new(OutagePolicy::default())
}

/// Different hosts that fall silent in the same second.
fn silent_hosts(outage: &mut Outage, hosts: u64, second: u64) -> Vec<(Opinion, Option<OutageStep>)> {
    (0..hosts).map(|number| outage.silent(&host(number), at(second), at(second))).collect()
}

/// An outage that began in this second.
fn begun(second: u64) -> Outage {
    let mut outage = outage();
    silent_hosts(&mut outage, 5, second);
    assert!(outage.is_on());
    outage
}

fn doubt(second: u64) -> Opinion {
    Opinion::Doubt { until: at(second + DOUBT) }
}

#[test]
fn p31_five_silent_hosts_without_an_answer_are_an_outage_of_our_own() {
    let mut outage = outage();
    let opinions = silent_hosts(&mut outage, 5, 7);
    assert_eq!(opinions[..4], [(doubt(7), None); 4]);
    assert_eq!(opinions[4], (Opinion::OwnFault, Some(OutageStep::Begun { hosts: 5 })));
    assert_eq!(outage.review(at(7), at(7 + DOUBT), at(8)), Opinion::OwnFault, "those in doubt as well");
    assert_eq!(outage.silent(&host(9), at(8), at(9)), (Opinion::OwnFault, None), "and it begins once");
}

#[test]
fn p31_one_host_is_one_host_however_often_it_is_silent() {
    let mut outage = outage();
    for second in 0..50 {
        assert_eq!(outage.silent(&host(1), at(second), at(second)), (doubt(second), None));
    }
    assert!(!outage.is_on());
}

#[test]
fn a_host_is_blamed_if_anybody_answered_since_its_poll_began() {
    let mut outage = outage();
    assert_eq!(outage.answered(at(5)), None);
    assert_eq!(outage.silent(&host(1), at(4), at(6)), (Opinion::Blame, None));
    assert_eq!(outage.silent(&host(1), at(5), at(6)), (Opinion::Blame, None));
    assert_eq!(outage.silent(&host(1), at(6), at(6)), (doubt(6), None));
}

#[test]
fn an_answer_ends_every_doubt() {
    let mut outage = outage();
    silent_hosts(&mut outage, 4, 0);
    outage.answered(at(1));
    assert_eq!(outage.review(at(0), at(DOUBT), at(1)), Opinion::Blame);
    assert_eq!(outage.silent(&host(9), at(2), at(2)), (doubt(2), None), "the count starts over");
}

#[test]
fn a_doubt_that_is_over_is_blame_and_counts_no_longer() {
    let mut outage = outage();
    silent_hosts(&mut outage, 4, 0);
    assert_eq!(outage.review(at(0), at(DOUBT), at(DOUBT - 1)), doubt(0));
    assert_eq!(outage.review(at(0), at(DOUBT), at(DOUBT)), Opinion::Blame);
    assert_eq!(outage.silent(&host(9), at(DOUBT), at(DOUBT)), (doubt(DOUBT), None));
}

#[test]
fn p31_any_answer_ends_an_outage_once() {
    let mut outage = begun(10);
    assert_eq!(outage.answered(at(322)), Some(OutageStep::Ended { lasted: Duration::from_secs(312) }));
    assert_eq!(outage.answered(at(323)), None);
    assert!(!outage.is_on());
    assert_eq!(outage.next_probe(), None);
}

#[test]
fn p31_what_began_during_an_outage_is_not_blamed_after_its_end() {
    let mut outage = begun(10);
    outage.answered(at(100));
    assert_eq!(outage.silent(&host(1), at(99), at(120)), (Opinion::OwnFault, None));
    assert_eq!(outage.silent(&host(1), at(100), at(120)), (Opinion::Blame, None));
    assert_eq!(outage.silent(&host(1), at(101), at(120)), (doubt(120), None));
}

#[test]
fn p31_probes_come_at_growing_pauses() {
    let mut outage = begun(0);
    let mut now = at(0);
    let mut pauses = Vec::new();
    for _ in 0..6 {
        let next = outage.next_probe().unwrap();
        pauses.push(next.since(now).as_secs());
        assert!(!outage.is_probe_due(next - Duration::from_secs(1)) && outage.is_probe_due(next));
        now = next;
        outage.probe_sent(now);
        assert!(!outage.is_probe_due(now), "one at a time");
    }
    assert_eq!(pauses, [30, 60, 120, 240, 300, 300]);
}

#[test]
fn without_an_outage_nobody_is_probed() {
    let mut outage = outage();
    outage.probe_sent(at(0));
    assert_eq!((outage.next_probe(), outage.is_probe_due(at(99))), (None, false));
}

#[test]
fn a_clock_that_was_put_back_blames_nobody_for_long_and_stops_no_probe() {
    let mut outage = outage();
    outage.answered(at(0) + hours(99));
    assert_eq!(outage.silent(&host(1), at(0), at(0)), (doubt(0), None));
    let mut ahead = begun(999_999);
    assert!(ahead.is_probe_due(at(0)));
    ahead.answered(at(999_999));
    assert_eq!(ahead.silent(&host(1), at(0), at(0)), (doubt(0), None));
}

#[test]
fn p31_what_speaks_for_the_network_and_what_against_it() {
    let hears = |cause| heard(Some(&FailureReport { cause, error: "x".into(), retry_after: None }));
    assert_eq!(heard(None), Some(Heard::Answer));
    for status in [301, 404, 429, 500, 502, 503, 504, 522] {
        assert_eq!(hears(FailureCause::Status(status)), Some(Heard::Answer));
    }
    assert_eq!(hears(FailureCause::Unreadable), Some(Heard::Answer));
    assert_eq!([FailureCause::Connection, FailureCause::Dns].map(hears), [Some(Heard::Silence); 2]);
    let mute = [FailureCause::Internal, FailureCause::Credentials, FailureCause::Robots, FailureCause::Other];
    assert_eq!(mute.map(hears), [None; 4]);
}

#[test]
fn steps_and_opinions_are_told_in_words() {
    let begun = OutageStep::Begun { hosts: 5 }.to_string();
    assert!(begun.starts_with("5 hosts gave no answer and none did: our own network or name server seems"), "{begun}");
    let ended = OutageStep::Ended { lasted: Duration::from_secs(312) };
    assert_eq!(ended.to_string(), "the network is back after 312 s; polling resumes");
    assert_eq!(Opinion::OwnFault.to_string(), "our own network is down: nobody is blamed");
}

proptest! {
    #[test]
    fn p31_begins_and_ends_alternate_and_memory_is_bounded(
        events in vec((prop::option::weighted(0.9, 0u64..12), 0u64..15, 0u64..30), 0..300),
        hosts in 2u32..8,
    ) {
        let mut outage = Outage::new(OutagePolicy { hosts, ..OutagePolicy::default() });
        let (mut now, mut is_on, mut answered_at) = (0, false, None);
        for (silent, pause, took) in events {
            now += pause;
            let began_at = at(now) - Duration::from_secs(took);
            let step = match silent {
                None => {
                    answered_at = Some(at(now));
                    outage.answered(at(now))
                }
                Some(number) => {
                    let (opinion, step) = outage.silent(&host(number), began_at, at(now));
                    match opinion {
                        Opinion::Blame => prop_assert!(answered_at.is_some_and(|answer| answer >= began_at)),
                        Opinion::Doubt { until } => {
                            prop_assert_eq!(until, at(now + DOUBT));
                            prop_assert!(answered_at.is_none_or(|answer| answer < began_at));
                        }
                        Opinion::OwnFault => {}
                    }
                    step
                }
            };
            match step {
                Some(OutageStep::Begun { hosts: counted }) => prop_assert!(!is_on && counted == hosts),
                Some(OutageStep::Ended { .. }) => prop_assert!(is_on && silent.is_none()),
                None => {}
            }
            is_on ^= step.is_some();
            prop_assert_eq!(outage.is_on(), is_on);
            prop_assert!(!is_on || silent.is_some(), "no outage outlives an answer");
            prop_assert!(outage.doubts.len() < hosts as usize);
        }
    }
}
