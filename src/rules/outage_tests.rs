//! Tests of `outage`.

use super::*;
use crate::model::{FailureClass, FailureKind, FailureState, NewSource, Rest, RestCause, Source, SourceId};
use crate::model::{SourceSettings, SourceType};
use crate::rules::failure::after_failure;
use crate::rules::{Policy, hours, minutes};
use proptest::collection::vec;
use proptest::prelude::*;

const START: i64 = 1_800_000_000;
const INTERVAL: Duration = minutes(60);
/// More hosts than begin an outage.
const MANY: usize = 100;

fn at(second: u64) -> Timestamp {
    Timestamp::from_seconds(START) + Duration::from_secs(second)
}

fn host(number: u64) -> HostKey {
    HostKey::from_canonical(&format!("{number}.example"))
}

fn outage() -> Outage {
    Outage::new(OutagePolicy::default(), INTERVAL, at(0))
}

/// A silence of a source that was well before, among so many hosts.
fn silent(outage: &mut Outage, number: u64, hosts_polled: usize, second: u64) -> Option<OutageStep> {
    outage.silent(
        Silence { host: &host(number), is_local: false, failures: 0, hosts_polled, began_at: at(second) },
        at(second),
    )
}

/// Different hosts that are silent one after the other, and what the last silence began.
fn silent_hosts(outage: &mut Outage, hosts: std::ops::Range<u64>, second: u64) -> Option<OutageStep> {
    hosts.map(|number| silent(outage, number, MANY, second)).last().flatten()
}

/// An outage that five hosts began in this second.
fn begun(second: u64) -> Outage {
    let mut outage = outage();
    assert_eq!(silent_hosts(&mut outage, 0..5, second), Some(OutageStep::Begun { hosts: 5, is_confirmed: false }));
    outage
}

#[test]
fn p31_five_silent_hosts_without_an_answer_are_an_outage_of_our_own() {
    let mut outage = outage();
    assert_eq!(silent_hosts(&mut outage, 0..4, 7), None);
    assert!(!outage.is_on());
    assert_eq!(
        silent(&mut outage, 4, MANY, 9999),
        Some(OutageStep::Begun { hosts: 5, is_confirmed: false }),
        "however much later"
    );
    assert_eq!(silent(&mut outage, 5, MANY, 9999), None, "it begins once");
}

#[test]
fn p31_one_host_is_one_host_however_often_it_is_silent() {
    let mut outage = outage();
    for second in 0..50 {
        assert_eq!(silent(&mut outage, 1, 1, second), None);
    }
}

#[test]
fn p31_s104_where_there_is_one_host_a_resolver_that_does_not_answer_is_enough() {
    let one = host(1);
    let step = |hosts_polled| {
        outage().silent(Silence { host: &one, is_local: true, failures: 0, hosts_polled, began_at: at(1) }, at(1))
    };
    assert_eq!(step(1), Some(OutageStep::Begun { hosts: 1, is_confirmed: false }));
    assert_eq!(step(2), None);
}

#[test]
fn p31_it_works_for_three_hosts_as_for_three_thousand() {
    for (hosts_polled, needed) in [(0, 2), (1, 2), (2, 2), (3, 3), (4, 4), (5, 5), (8, 5), (3000, 5)] {
        let mut outage = outage();
        let begins = (0..10).position(|number| silent(&mut outage, number, hosts_polled, 1).is_some());
        assert_eq!(begins, Some(needed - 1), "{hosts_polled} hosts");
    }
}

#[test]
fn p31_where_most_hosts_are_dead_those_that_answer_are_enough() {
    let mut outage = outage();
    let hour = INTERVAL.as_secs();
    for second in [0, hour] {
        (0..2).for_each(|number| assert_eq!(outage.answered(&host(number), at(second)), None));
    }
    assert_eq!(silent(&mut outage, 0, 8, hour + 1), None);
    assert_eq!(silent(&mut outage, 1, 8, hour + 2), Some(OutageStep::Begun { hosts: 2, is_confirmed: false }));
}

#[test]
fn p31_an_answer_in_between_starts_over() {
    let mut outage = outage();
    silent_hosts(&mut outage, 0..4, 1);
    outage.answered(&host(9), at(2));
    assert_eq!(silent_hosts(&mut outage, 0..4, 3), None);
    assert_eq!(silent(&mut outage, 4, MANY, 4), Some(OutageStep::Begun { hosts: 5, is_confirmed: false }));
}

#[test]
fn p31_sources_that_are_known_to_fail_are_no_evidence() {
    let mut outage = outage();
    for number in 0..50 {
        let silence = Silence {
            host: &host(number),
            is_local: true,
            failures: FAILURES_KNOWN,
            hosts_polled: MANY,
            began_at: at(1),
        };
        assert_eq!(outage.silent(silence, at(1)), None);
    }
}

#[test]
fn p31_hosts_that_stay_silent_after_an_outage_are_blamed_and_begin_no_other() {
    let mut outage = begun(10);
    outage.answered(&host(9), at(20));
    assert!(outage.counts(at(20), at(30)));
    assert_eq!(silent_hosts(&mut outage, 0..5, 30), None, "they are dead, and the network is not");
    // One that answers is as good as any other.
    outage.answered(&host(0), at(40));
    assert_eq!(silent_hosts(&mut outage, 5..9, 50), None);
    assert_eq!(silent(&mut outage, 0, MANY, 50), Some(OutageStep::Begun { hosts: 5, is_confirmed: false }));
}

#[test]
fn p31_any_number_of_hosts_that_stay_silent_begins_no_outage_again() {
    let mut outage = begun(10);
    silent_hosts(&mut outage, 5..900, 11);
    outage.answered(&host(999), at(20));
    assert_eq!(silent_hosts(&mut outage, 0..900, 30), None);
    // Another outage adds to what is known.
    assert_eq!(silent_hosts(&mut outage, 900..905, 40), Some(OutageStep::Begun { hosts: 5, is_confirmed: false }));
    outage.answered(&host(999), at(50));
    assert_eq!(silent_hosts(&mut outage, 0..905, 60), None);
}

#[test]
fn p31_the_hosts_that_are_known_to_be_silent_are_bounded() {
    let mut outage = begun(10);
    silent_hosts(&mut outage, 5..5000, 11);
    outage.answered(&host(9999), at(20));
    assert_eq!(outage.suspects.len(), SUSPECTS_MAX);
}

#[test]
fn p31_any_answer_ends_an_outage_once() {
    let mut outage = begun(10);
    assert_eq!(outage.answered(&host(0), at(322)), Some(OutageStep::Ended { lasted: Duration::from_secs(312) }));
    assert_eq!(outage.answered(&host(0), at(323)), None);
    assert_eq!((outage.is_on(), outage.next_probe()), (false, None));
}

#[test]
fn p31_what_began_during_an_outage_is_not_counted_after_its_end() {
    let mut outage = begun(10);
    assert!(!outage.counts(at(5), at(11)) && !outage.counts(at(11), at(12)));
    outage.answered(&host(9), at(100));
    assert!(!outage.counts(at(99), at(120)));
    assert!(outage.counts(at(100), at(120)));
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
fn without_an_outage_there_are_no_probes() {
    let mut outage = outage();
    outage.probe_sent(at(0));
    assert_eq!((outage.next_probe(), outage.is_probe_due(at(99))), (None, false));
}

#[test]
fn a_clock_that_was_put_back_stops_neither_probes_nor_counting() {
    let mut outage = begun(3_000);
    let wait = outage.next_probe().unwrap().since(at(3_000));
    outage.follow_clock(ClockStep { from: at(3_000), to: at(0) });
    assert_eq!(outage.next_probe(), Some(at(0) + wait), "as long as it was");
    assert!(outage.is_probe_due(at(0) + wait) && !outage.is_probe_due(at(0)));
    let step = outage.answered(&host(1), at(60));
    assert_eq!(step, Some(OutageStep::Ended { lasted: Duration::from_secs(60) }));
    assert!(!outage.counts(at(59), at(61)) && outage.counts(at(60), at(61)));
    outage.follow_clock(ClockStep { from: at(61), to: at(7_200) });
    assert!(outage.counts(at(7_200), at(7_201)));
}

#[test]
fn p31_only_silence_is_evidence_and_a_refusal_is_an_answer() {
    let says = |cause| evidence(Some(&report(cause)));
    assert_eq!(evidence(None), Evidence::Answer);
    for status in [301, 404, 429, 500, 502, 503, 504, 522] {
        assert_eq!(says(FailureCause::Status(status)), Evidence::Answer);
    }
    let answers = [FailureCause::Unreadable, FailureCause::Connection, FailureCause::Redirect];
    assert_eq!(answers.map(says), [Evidence::Answer; 3]);
    let silences = [FailureCause::NoNetwork, FailureCause::Unreachable, FailureCause::ResolverFailed];
    assert_eq!(silences.map(says), [Evidence::Silence; 3]);
    let others = [
        FailureCause::Dns,
        FailureCause::Stalled,
        FailureCause::NoRoute,
        FailureCause::Internal,
        FailureCause::Lost,
        FailureCause::Outage,
        FailureCause::Credentials,
        FailureCause::KeyMissing,
        FailureCause::Robots,
        FailureCause::AddressRefused,
        FailureCause::SourceProxy,
        FailureCause::Other,
    ];
    assert_eq!(others.map(says), [Evidence::None; 12]);
}

fn report(cause: FailureCause) -> FailureReport {
    FailureReport { cause, error: "timed out".into(), retry_after: None }
}

/// A source that has been silent nine times, and its state after the tenth silence, which is a rest.
fn tenth_silence() -> (Source, SourceState) {
    let settings = SourceSettings::new(SourceType::Rss, "http://a.example/feed");
    let mut source = Source::fresh(SourceId(1), NewSource { settings, created_at: at(0) });
    for second in 1..=9 {
        source.state = after(&source, second);
    }
    let after = after(&source, 10);
    assert_eq!(after.rest, Some(Rest { since: at(10), cause: RestCause::Failures(FailureKind::Network) }));
    (source, after)
}

fn after(source: &Source, second: u64) -> SourceState {
    after_failure(source, &report(FailureCause::Unreachable), &Policy::default(), at(second)).state
}

#[test]
fn p31_a_failure_is_taken_back_with_what_followed_from_it() {
    let (source, after) = tenth_silence();
    let mut state = after.clone();
    assert!(take_back(&mut state, &source.state, &after, &report(FailureCause::Unreachable), None, at(20)));
    assert_eq!((state.failures.consecutive, state.failures.run), (9, source.state.failures.run));
    assert_eq!((&state.rest, state.last_polled), (&None, Some(at(10))));
    let last = state.failures.last.clone().unwrap();
    assert_eq!((last.class, last.kind), (FailureClass::Transient, FailureKind::Internal));
    assert_eq!(last.error, "our own network or name server seems to be down: timed out");
    let source = Source { state, ..source };
    let next = crate::rules::due::next_poll(&source, None, &Policy::default(), at(20));
    assert_eq!(next.at(), Some(at(21)), "it is polled again, without backoff");
    assert!(next.to_string().ends_with("the last poll was lost to an internal fault and is repeated"), "{next}");
}

#[test]
fn p31_a_failure_is_taken_back_also_after_a_step_of_the_clock() {
    let (source, after) = tenth_silence();
    let step = ClockStep { from: at(15), to: at(5) };
    let rest = after.rest.clone().map(|rest| Rest { since: step.moved(rest.since), ..rest });
    let mut state =
        SourceState { last_polled: after.last_polled.map(|polled| step.moved(polled)), rest, ..after.clone() };
    let failure = report(FailureCause::Unreachable);
    assert!(!take_back(&mut state.clone(), &source.state, &after, &failure, None, at(10)), "another poll");
    assert!(take_back(&mut state, &source.state, &after, &failure, Some(step), at(10)));
    assert_eq!((state.failures.consecutive, &state.rest, state.last_polled), (9, &None, Some(at(0))));
}

#[test]
fn p31_several_failures_in_a_row_are_taken_back_together_also_after_a_poll_that_the_outage_explains() {
    let (source, after) = tenth_silence();
    let healthy = Source::fresh(SourceId(1), NewSource { settings: source.settings.clone(), created_at: at(0) }).state;
    let mut state = after.clone();
    state.last_polled = Some(at(15));
    let explained = LastFailure { class: FailureClass::Transient, kind: FailureKind::Internal, error: "x".into() };
    state.failures.last = Some(explained);
    assert!(take_back(&mut state, &healthy, &after, &report(FailureCause::Unreachable), None, at(20)));
    assert_eq!((state.failures.consecutive, state.failures.run, state.rest), (0, None, None));
}

#[test]
fn p31_a_name_that_does_not_exist_is_about_its_source_whatever_the_network_does() {
    assert!(
        [FailureCause::Dns, FailureCause::Connection, FailureCause::Status(404)]
            .map(report)
            .iter()
            .all(is_about_source)
    );
    let others =
        [FailureCause::ResolverFailed, FailureCause::NoNetwork, FailureCause::Unreachable, FailureCause::Stalled];
    assert!(!others.map(report).iter().any(is_about_source));
}

/// An outage that is decided by a neutral probe.
fn with_probe() -> Outage {
    let probe_url = Some("http://probe.example/".parse().unwrap());
    Outage::new(OutagePolicy { probe_url, ..OutagePolicy::default() }, INTERVAL, at(0))
}

#[test]
fn p31_with_a_neutral_probe_one_silent_host_is_enough_to_ask_it_and_it_decides() {
    for hosts_polled in [1, 3, 8, 800] {
        let mut outage = with_probe();
        assert_eq!(silent(&mut outage, 1, hosts_polled, 10), None, "hosts are not counted");
        assert!(outage.is_probe_due(at(10)) && !outage.is_on());
        outage.probe_sent(at(10));
        assert!(!outage.is_probe_due(at(10)));
        assert_eq!(outage.network_works(at(11)), None, "it answers: the host is down");
        assert_eq!(silent(&mut outage, 1, hosts_polled, 20), None);
        assert_eq!(outage.next_probe(), Some(at(40)), "half a minute after the last");
        outage.probe_sent(at(40));
        assert_eq!(outage.network_fails(at(40), at(41)), Some(OutageStep::Begun { hosts: 1, is_confirmed: true }));
        assert_eq!(outage.network_fails(at(40), at(41)), None, "it begins once");
        assert_eq!(outage.next_probe(), Some(at(71)));
        assert_eq!(outage.network_works(at(80)), Some(OutageStep::Ended { lasted: Duration::from_secs(39) }));
    }
}

#[test]
fn p31_with_a_neutral_probe_any_number_of_silent_hosts_waits_for_its_verdict() {
    let mut outage = with_probe();
    assert_eq!(silent_hosts(&mut outage, 0..50, 10), None);
    assert_eq!(outage.network_fails(at(10), at(11)), Some(OutageStep::Begun { hosts: 50, is_confirmed: true }));
}

#[test]
fn p31_the_neutral_probe_is_not_asked_if_a_host_has_answered_since_the_silent_poll_began() {
    let mut outage = with_probe();
    outage.answered(&host(9), at(15));
    outage.silent(Silence { host: &host(1), is_local: false, failures: 0, hosts_polled: 9, began_at: at(10) }, at(20));
    assert_eq!(outage.next_probe(), None);
    // An answer while the probe is under way decides before it does.
    silent(&mut outage, 1, 9, 30);
    outage.probe_sent(at(30));
    outage.answered(&host(9), at(32));
    assert_eq!(outage.network_fails(at(30), at(40)), None);
}

#[test]
fn p31_another_policy_is_followed_at_once() {
    let mut outage = begun(0);
    (0..6).for_each(|_| outage.probe_sent(at(0)));
    assert_eq!(outage.next_probe(), Some(at(300)));
    let policy = OutagePolicy {
        probe_first: Duration::from_secs(2),
        probe_max: Duration::from_secs(20),
        ..OutagePolicy::default()
    };
    outage.follow(&policy, at(10));
    assert_eq!(outage.next_probe(), Some(at(30)));
    outage.answered(&host(9), at(30));
    outage.follow(&OutagePolicy { hosts: 2, ..policy }, at(31));
    assert_eq!(silent_hosts(&mut outage, 20..22, 32), Some(OutageStep::Begun { hosts: 2, is_confirmed: false }));
}

#[test]
fn p31_nothing_is_taken_back_from_a_source_that_has_been_polled_or_reset_since() {
    let (source, after) = tenth_silence();
    let polled = SourceState { last_polled: Some(at(15)), ..after.clone() };
    let reset = SourceState { failures: FailureState::default(), ..after.clone() };
    for state in [polled, reset] {
        let mut kept = state.clone();
        assert!(!take_back(&mut kept, &source.state, &after, &report(FailureCause::Unreachable), None, at(20)));
        assert_eq!(kept, state);
    }
}

#[test]
fn p31_what_a_person_decided_meanwhile_stays() {
    let (source, after) = tenth_silence();
    let by_person = Some(Rest { since: at(12), cause: RestCause::Person("moved".into()) });
    let mut state = SourceState {
        enabled: false,
        disabled_reason: Some("a person's".into()),
        rest: by_person.clone(),
        ..after.clone()
    };
    assert!(take_back(&mut state, &source.state, &after, &report(FailureCause::Unreachable), None, at(20)));
    assert_eq!((state.failures.consecutive, state.enabled, state.rest), (9, false, by_person));
    assert_eq!(state.disabled_reason.as_deref(), Some("a person's"));
}

#[test]
fn steps_are_told_in_words() {
    let begun = |is_confirmed| OutageStep::Begun { hosts: 5, is_confirmed }.to_string();
    assert!(begun(false).starts_with("no host answers, and 5 cannot be reached: our own network or name server"));
    assert!(begun(true).starts_with("no host answers, and 5 cannot be reached, nor can outage.probe-url: our own"));
    let ended = OutageStep::Ended { lasted: Duration::from_secs(312) };
    assert_eq!(ended.to_string(), "the network is back after 312 s; polling resumes");
}

proptest! {
    #[test]
    fn p31_begins_and_ends_alternate_and_memory_is_bounded(
        events in vec((0u64..12, prop::bool::weighted(0.1), 0u32..5, 0u64..hours(1).as_secs()), 0..300),
        hosts in 2u32..8,
        hosts_polled in 0usize..12,
    ) {
        let policy = OutagePolicy { hosts, ..OutagePolicy::default() };
        let mut outage = Outage::new(policy, INTERVAL, at(0));
        let (mut now, mut is_on) = (0, false);
        for (number, is_answer, failures, pause) in events {
            now += pause;
            let host = host(number);
            let step = match is_answer {
                true => outage.answered(&host, at(now)),
                false => {
                    let is_local = hosts_polled > 1 && failures == 1;
                    outage.silent(Silence { host: &host, is_local, failures, hosts_polled, began_at: at(now) }, at(now))
                }
            };
            match step {
                Some(OutageStep::Begun { hosts: counted, .. }) => {
                    prop_assert!(!is_on && !is_answer && failures < FAILURES_KNOWN);
                    prop_assert!((2..=hosts as usize).contains(&counted));
                }
                Some(OutageStep::Ended { .. }) => prop_assert!(is_on && is_answer),
                None => {}
            }
            is_on ^= step.is_some();
            prop_assert_eq!(outage.is_on(), is_on);
            prop_assert!(!is_on || !is_answer, "no outage outlives an answer");
            prop_assert!(outage.counts(at(now), at(now)) != is_on);
            prop_assert!(is_on || outage.silent.len() < hosts as usize);
            prop_assert!(outage.silent.len() + outage.suspects.len() <= 12, "each host once");
            prop_assert!(outage.answering.len() <= hosts as usize);
        }
    }
}
