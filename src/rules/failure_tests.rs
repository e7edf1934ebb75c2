//! The scenarios of `rules::failure`: tables of answers and what is true of the source after the last one.

use super::*;
use crate::model::{FailureCause, NewSource, SourceId, SourceSettings, SourceType};
use crate::rules::{RestRule, hours};
use FailureCause::{
    Connection, Credentials, Dns, Internal, KeyMissing, Lost, Other, Robots, Stalled, Status, Unreachable, Unreadable,
};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

fn source() -> Source {
    let settings = SourceSettings::new(SourceType::Rss, "http://a.example/feed");
    Source::fresh(SourceId(1), NewSource { settings, created_at: Timestamp::EPOCH })
}

fn report(cause: FailureCause) -> FailureReport {
    FailureReport { cause, error: format!("{cause:?}"), retry_after: None }
}

/// Fails the source with each cause in turn, and returns it with what the last one led to.
fn fail(mut source: Source, policy: &Policy, causes: &[FailureCause]) -> (Source, FailureStep) {
    let mut step = FailureStep::NotBlamed;
    for cause in causes {
        let decision = after_failure(&source, &report(*cause), policy, NOW);
        source.state = decision.state;
        step = decision.step;
    }
    (source, step)
}

fn rests_after(causes: &[FailureCause]) -> Option<(FailureKind, Duration)> {
    let (source, step) = fail(source(), &Policy::default(), causes);
    match step {
        FailureStep::Rests { kind, cooldown, .. } => {
            assert_eq!(source.state.rest, Some(Rest { since: NOW, cause: RestCause::Failures(kind) }));
            assert!(source.state.enabled);
            Some((kind, cooldown))
        }
        _ => None,
    }
}

fn disabled_after(causes: &[FailureCause]) -> Option<String> {
    let (source, step) = fail(source(), &Policy::default(), causes);
    match step {
        FailureStep::Disabled(reason) => {
            assert_eq!((source.state.enabled, source.state.disabled_reason.as_ref()), (false, Some(&reason)));
            assert_eq!(source.state.rest, None);
            Some(reason)
        }
        _ => {
            assert!(source.state.enabled);
            None
        }
    }
}

#[test]
fn the_number_of_an_account_outlives_every_failure() {
    let mut source = source();
    source.state.account_id = Some("2244994945".into());
    let (after, _) = fail(source.clone(), &Policy::default(), &[Status(429), Status(401), Internal]);
    assert_eq!(after.state.account_id, source.state.account_id);
}

#[test]
fn s111_our_own_fault_counts_for_nothing_and_breaks_no_run() {
    let policy = Policy::default();
    let (before, _) = fail(source(), &policy, &[Status(404), Status(404)]);
    let (after, step) = fail(before.clone(), &policy, &[Internal]);
    assert_eq!(step, FailureStep::NotBlamed);
    assert_eq!(after.state.failures.consecutive, 2);
    assert_eq!(after.state.failures.run, before.state.failures.run);
    assert_eq!(after.state.failures.last.as_ref().map(|last| last.kind), Some(FailureKind::Internal));
    let (_, step) = fail(after, &policy, &[Status(404)]);
    assert!(matches!(step, FailureStep::Rests { run: 3, .. }), "{step}");
}

#[test]
fn s201_the_first_failure_is_counted_with_its_class() {
    let (source, step) = fail(source(), &Policy::default(), &[Connection]);
    assert_eq!(step, FailureStep::Counted { consecutive: 1 });
    assert_eq!(source.state.failures.last.map(|last| last.class), Some(FailureClass::Transient));
}

#[test]
fn s202_a_further_failure_adds_one() {
    let mut source = source();
    source.state.failures.consecutive = 3;
    assert_eq!(fail(source.clone(), &Policy::default(), &[Status(500)]).0.state.failures.consecutive, 4);
    source.state.failures.consecutive = u32::MAX;
    assert_eq!(fail(source, &Policy::default(), &[Status(500)]).0.state.failures.consecutive, u32::MAX);
}

#[test]
fn s204_every_failure_stores_its_error_its_kind_and_the_poll() {
    for cause in [Status(404), Status(500), Dns, Connection, Unreadable, Other, Internal] {
        let (source, _) = fail(source(), &Policy::default(), &[cause]);
        let last = source.state.failures.last.unwrap();
        assert_eq!((last.error, last.kind), (format!("{cause:?}"), classify(cause).kind));
        assert_eq!((source.state.last_polled, source.state.first_polled_at), (Some(NOW), Some(NOW)));
        assert_eq!(source.state.last_success_at, None);
    }
}

#[test]
fn s401_five_404_in_a_row_disable_with_the_reason_of_the_specification() {
    assert_eq!(disabled_after(&[Status(404); 4]), None);
    assert_eq!(disabled_after(&[Status(404); 5]).as_deref(), Some("Auto-disabled after 5 consecutive 404 errors"));
}

#[test]
fn s401_other_kinds_are_named_as_truthfully() {
    for (cause, name) in [
        (Status(410), "410"),
        (Status(403), "403"),
        (Robots, "robots.txt"),
        (Status(401), "401"),
        (Credentials, "authorization"),
        (Dns, "DNS"),
    ] {
        let reason = format!("Auto-disabled after 5 consecutive {name} errors");
        assert_eq!(disabled_after(&[cause; 5]), Some(reason));
    }
}

#[test]
fn s402_mixed_permanent_failures_do_not_claim_to_be_one_kind() {
    let mixed = [Status(404), Status(403), Status(404), Status(410), Status(403)];
    assert_eq!(
        disabled_after(&mixed).as_deref(),
        Some("Auto-disabled after 5 consecutive permanent errors, the last a 403 error")
    );
    let dns_after_timeouts = [Connection, Connection, Connection, Connection, Status(404), Dns, Dns, Dns, Dns];
    assert_eq!(
        disabled_after(&dns_after_timeouts).as_deref(),
        Some("Auto-disabled after 5 consecutive permanent errors, the last a DNS error")
    );
}

#[test]
fn s403_ten_timeouts_leave_it_enabled() {
    for timeout in [Unreachable, Stalled] {
        let (source, _) = fail(source(), &Policy::default(), &[timeout; 10]);
        assert!(source.state.enabled, "{timeout:?}");
        assert_eq!(source.state.failures.consecutive, 10, "{timeout:?}");
    }
}

#[test]
fn s404_a_transient_failure_breaks_the_run_but_not_the_count() {
    let broken =
        [Status(404), Status(403), Status(401), Connection, Status(404), Status(403), Status(401), Status(403)];
    let (source, step) = fail(source(), &Policy::default(), &broken);
    assert_eq!(step, FailureStep::Counted { consecutive: 8 });
    let (source, step) = fail(source, &Policy::default(), &[Status(401)]);
    assert!(matches!(step, FailureStep::Disabled(_)), "{step}");
    assert_eq!(source.state.failures.consecutive, 9);
}

#[test]
fn s405_the_number_is_a_setting_and_the_sources_own_number_wins() {
    let policy = Policy { max_failures: 3, ..Policy::default() };
    let disables_at = |source: &Source, policy: &Policy| {
        (1..20).find(|count| matches!(fail(source.clone(), policy, &vec![Dns; *count]).1, FailureStep::Disabled(_)))
    };
    let mut source = source();
    assert_eq!(disables_at(&source, &Policy::default()), Some(5));
    assert_eq!(disables_at(&source, &policy), Some(3));
    source.settings.max_failures = Some(7);
    assert_eq!(disables_at(&source, &policy), Some(7));
}

#[test]
fn s407_three_404_running_rest_for_48_hours() {
    assert_eq!(rests_after(&[Status(404); 2]), None);
    assert_eq!(rests_after(&[Status(404); 3]), Some((FailureKind::NotFound, hours(48))));
    assert_eq!(rests_after(&[Connection, Connection, Status(404)]), None);
    assert_eq!(rests_after(&[Status(404), Status(404), Connection, Status(404)]), None);
}

#[test]
fn s408_one_410_rests_for_72_hours() {
    assert_eq!(rests_after(&[Status(410)]), Some((FailureKind::Gone, hours(72))));
}

#[test]
fn s409_five_403_are_disabled_and_rest_only_where_disabling_is_further_off() {
    assert!(disabled_after(&[Status(403); 5]).is_some());
    let mut patient = source();
    patient.settings.max_failures = Some(6);
    let (_, step) = fail(patient.clone(), &Policy::default(), &[Status(403); 4]);
    assert_eq!(step, FailureStep::Counted { consecutive: 4 });
    let (_, step) = fail(patient, &Policy::default(), &[Status(403); 5]);
    assert_eq!(step, FailureStep::Rests { kind: FailureKind::Forbidden, run: 5, cooldown: hours(24) });
}

#[test]
fn s410_ten_server_or_network_failures_running_rest() {
    assert_eq!(rests_after(&[Status(503); 9]), None);
    assert_eq!(rests_after(&[Status(503); 10]), Some((FailureKind::UpstreamFailure, hours(6))));
    assert_eq!(rests_after(&[Connection; 9]), None);
    assert_eq!(rests_after(&[Connection; 10]), Some((FailureKind::Network, hours(12))));
}

#[test]
fn s411_five_parse_errors_running_rest_for_24_hours() {
    assert_eq!(rests_after(&[Unreadable; 4]), None);
    assert_eq!(rests_after(&[Unreadable; 5]), Some((FailureKind::ParseError, hours(24))));
}

#[test]
fn s412_rate_limits_the_unexpected_and_our_own_faults_never_rest() {
    for cause in [Status(429), Status(418), Other, Internal] {
        let (source, _) = fail(source(), &Policy::default(), &[cause; 100]);
        assert!(source.state.enabled && source.state.rest.is_none(), "{cause:?}");
    }
}

#[test]
fn s413_a_rest_begins_once_for_each_failure_that_earns_one() {
    let (source, step) = fail(source(), &Policy::default(), &[Status(404); 3]);
    assert_eq!(step.to_string(), "rests for 48 h after 3 not_found in a row");
    let (_, step) = fail(source, &Policy::default(), &[Connection]);
    assert_eq!(step, FailureStep::Counted { consecutive: 4 });
}

#[test]
fn s417_a_failure_does_not_shorten_a_rest_that_a_person_asked_for() {
    let mut source = source();
    let rest = Rest { since: Timestamp::EPOCH, cause: RestCause::Person("broken until May".into()) };
    source.state.rest = Some(rest.clone());
    assert_eq!(fail(source, &Policy::default(), &[Status(410)]).0.state.rest, Some(rest));
}

#[test]
fn s417_failures_after_a_report_are_counted_and_may_start_a_rest_of_their_own() {
    let mut source = source();
    let rest = Rest { since: Timestamp::EPOCH, cause: RestCause::Reported(FailureKind::NotFound) };
    source.state.rest = Some(rest.clone());
    let (source, step) = fail(source, &Policy::default(), &[Status(404); 2]);
    assert_eq!((source.state.rest.clone(), step), (Some(rest), FailureStep::Counted { consecutive: 2 }));
    let (source, _) = fail(source, &Policy::default(), &[Status(404)]);
    assert_eq!(source.state.rest, Some(Rest { since: NOW, cause: RestCause::Failures(FailureKind::NotFound) }));
}

#[test]
fn s418_thresholds_and_cooldowns_are_settings() {
    let mut policy = Policy::default();
    policy.rests.set(FailureKind::NotFound, RestRule { after: 2, cooldown: hours(1) });
    policy.rests.set(FailureKind::Gone, RestRule { after: 0, cooldown: hours(72) });
    let (_, step) = fail(source(), &policy, &[Status(404); 2]);
    assert_eq!(step, FailureStep::Rests { kind: FailureKind::NotFound, run: 2, cooldown: hours(1) });
    let (_, step) = fail(source(), &policy, &[Status(410); 4]);
    assert_eq!(step, FailureStep::Counted { consecutive: 4 });
}

#[test]
fn p18_a_503_that_says_when_to_come_back_brings_no_rest_nearer() {
    let mut source = source();
    let polite = FailureReport { retry_after: Some(NOW + hours(1)), ..report(Status(503)) };
    for _ in 0..50 {
        source.state = after_failure(&source, &polite, &Policy::default(), NOW).state;
    }
    assert_eq!((source.state.rest, source.state.enabled), (None, true));
    assert_eq!(source.state.failures.consecutive, 50);
}

#[test]
fn a_source_that_a_person_disabled_meanwhile_keeps_the_persons_reason() {
    let mut source = source();
    source.state.enabled = false;
    source.state.disabled_reason = Some("not needed".into());
    let (source, _) = fail(source, &Policy::default(), &[Status(404); 9]);
    assert_eq!(source.state.disabled_reason.as_deref(), Some("not needed"));
}

#[test]
fn s113_an_x_source_without_a_key_is_never_disabled_for_it() {
    let (source, step) = fail(source(), &Policy::default(), &[KeyMissing; 50]);
    assert_eq!(step, FailureStep::Counted { consecutive: 50 });
    assert!(source.state.enabled && source.state.rest.is_none());
}

#[test]
fn s509_a_poll_that_was_lost_is_made_again_after_a_minute_once() {
    let lost = |source| fail(source, &Policy::default(), &[Lost]);
    let requested = |source: &Source| source.state.poll_requested_at.map(|at| at.since(NOW));
    let (once, step) = lost(source());
    assert_eq!((step, requested(&once)), (FailureStep::NotBlamed, Some(Duration::from_secs(60))));
    let (mut twice, _) = lost(once);
    twice.state.last_polled = Some(NOW + hours(1));
    let next = crate::rules::due::next_poll(&twice, None, &Policy::default(), NOW + hours(1));
    assert_eq!(next.at(), Some(NOW + hours(2)), "it waits for its interval");
    // A failure of the publisher's in between starts over.
    let (other, _) = fail(twice, &Policy::default(), &[Status(500)]);
    let (again, _) = lost(other);
    assert_eq!(requested(&again), Some(Duration::from_secs(60)));
}

#[test]
fn s509_an_interval_shorter_than_a_minute_is_not_stretched() {
    let policy = Policy { interval: Duration::from_secs(5), adaptive: None, ..Policy::default() };
    let (source, _) = fail(source(), &policy, &[Lost]);
    assert_eq!(source.state.poll_requested_at, Some(NOW + Duration::from_secs(5)));
}

#[test]
fn s401_s402_refusals_by_robots_txt_are_not_claimed_to_be_403() {
    let mut source = source();
    let refusals = [(Robots, "robots.txt: /private is disallowed"), (Status(403), "HTTP 403 Forbidden")];
    for (cause, error) in refusals.into_iter().cycle().take(5) {
        let report = FailureReport { error: error.into(), ..report(cause) };
        source.state = after_failure(&source, &report, &Policy::default(), NOW).state;
    }
    let reason = source.state.disabled_reason.as_deref();
    assert_eq!(reason, Some("Auto-disabled after 5 consecutive permanent errors, the last a robots.txt error"));
}
