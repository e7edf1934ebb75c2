//! Laws that hold for every source, every answer and every number.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use super::backoff::backoff;
use super::failure::{FailureStep, after_failure};
use super::success::{ReadAnswer, SourceAnswer, after_success};
use super::{Policy, due, hours, minutes};
use crate::model::{
    FailureCause, FailureClass, FailureReport, FailureState, NewSource, Source, SourceId, SourceSettings, SourceType,
    Timestamp, Validators,
};

const START: Timestamp = Timestamp::from_seconds(1_800_000_000);

fn source() -> Source {
    let settings = SourceSettings::new(SourceType::Rss, "http://a.example/feed");
    Source::fresh(SourceId(1), NewSource { settings, created_at: START })
}

fn any_cause() -> impl Strategy<Value = FailureCause> {
    prop_oneof![
        3 => prop::sample::select(vec![401u16, 403, 404, 410, 418, 429, 500, 503]).prop_map(FailureCause::Status),
        1 => any::<u16>().prop_map(FailureCause::Status),
        4 => prop::sample::select(vec![
            FailureCause::Dns,
            FailureCause::ResolverFailed,
            FailureCause::Connection,
            FailureCause::Unreadable,
            FailureCause::Credentials,
            FailureCause::Robots,
            FailureCause::Redirect,
            FailureCause::AddressRefused,
            FailureCause::SourceProxy,
            FailureCause::Internal,
            FailureCause::Other,
        ]),
    ]
}

fn class_of(cause: FailureCause) -> FailureClass {
    super::classify::classify(cause).class
}

fn report(cause: FailureCause) -> FailureReport {
    FailureReport { cause, error: "x".into(), retry_after: None }
}

fn read() -> SourceAnswer {
    SourceAnswer::Read(ReadAnswer::default())
}

/// Fails the source with each cause, an hour apart, and hands every step to `watch`.
fn fail(source: &mut Source, causes: &[FailureCause], mut watch: impl FnMut(usize, &Source, &FailureStep)) {
    for (index, cause) in causes.iter().enumerate() {
        let now = START + hours(u32::try_from(index).unwrap_or(u32::MAX));
        let decision = after_failure(source, &report(*cause), &Policy::default(), now);
        source.state = decision.state;
        watch(index, source, &decision.step);
    }
}

proptest! {
    #[test]
    fn s303_backoff_is_monotone_capped_and_never_overflows(
        interval_seconds in 0u64..=u64::from(u32::MAX),
        failures in any::<u32>(),
        ceiling_hours in 0u32..=100_000,
    ) {
        let interval = Duration::from_secs(interval_seconds);
        let ceiling = hours(ceiling_hours);
        let here = backoff(interval, failures, ceiling).delay;
        let next = backoff(interval, failures.saturating_add(1), ceiling).delay;
        prop_assert!(here <= next, "monotone");
        prop_assert!(here <= ceiling.max(interval), "capped");
        prop_assert!(here >= interval, "never sooner than a healthy source");
    }

    #[test]
    fn s306_the_next_poll_never_precedes_the_healthy_interval(
        causes in vec(any_cause(), 0..40),
        interval_minutes in 1u32..100_000,
        skip_hours in 0u32..(1 << 24),
        skip_days in 0u8..(1 << 7),
        fresh_for_seconds in prop::option::of(0u64..10_000_000),
    ) {
        let mut source = source();
        source.settings.poll_interval_minutes = Some(interval_minutes);
        source.state = after_success(&source.state, read(), START, START);
        fail(&mut source, &causes, |_, _, _| ());
        source.state.hints.skip_hours = skip_hours;
        source.state.hints.skip_days = skip_days;
        source.state.hints.fresh_until = fresh_for_seconds.map(|seconds| START + Duration::from_secs(seconds));
        let last_polled = source.state.last_polled.unwrap();
        if let Some(at) = due::next_poll(&source, None, &Policy::default(), Timestamp::MAX).at() {
            prop_assert!(at >= last_polled + minutes(interval_minutes));
        }
    }

    #[test]
    fn s403_no_sequence_of_transient_failures_disables(causes in vec(any_cause(), 0..200)) {
        let transient: Vec<_> = causes.into_iter().filter(|cause| class_of(*cause) == FailureClass::Transient).collect();
        let mut source = source();
        fail(&mut source, &transient, |_, source, _| assert!(source.state.enabled));
    }

    #[test]
    fn s404_disabling_needs_exactly_n_permanent_failures_in_a_row(
        causes in vec(any_cause(), 0..60),
        max_failures in 1u32..8,
    ) {
        let mut source = source();
        source.settings.max_failures = Some(max_failures);
        let mut run = 0;
        let mut disabled = false;
        fail(&mut source, &causes, |index, source, step| {
            run = match (causes[index], class_of(causes[index])) {
                (FailureCause::Internal, _) => run,
                (_, FailureClass::Permanent) => run + 1,
                (_, FailureClass::Transient) => 0,
            };
            let disables_now = !disabled && run >= max_failures;
            assert_eq!(matches!(step, FailureStep::Disabled(_)), disables_now, "{step} with a run of {run}");
            disabled |= disables_now;
            assert_eq!(source.state.enabled, !disabled);
        });
    }

    #[test]
    fn s203_a_success_always_returns_to_the_initial_state(causes in vec(any_cause(), 0..60), modified in any::<bool>()) {
        let mut source = source();
        fail(&mut source, &causes, |_, _, _| ());
        let enabled = source.state.enabled;
        let answer = if modified { read() } else {
            SourceAnswer::NotModified { validators: Validators::default(), fresh_until: None }
        };
        let after = after_success(&source.state, answer, START, START);
        prop_assert_eq!(&after.failures, &FailureState::default());
        prop_assert_eq!((&after.rest, after.enabled), (&None, enabled));
    }

    #[test]
    fn s202_every_failure_but_our_own_adds_one(causes in vec(any_cause(), 0..60)) {
        let blamed = causes.iter().filter(|cause| **cause != FailureCause::Internal).count();
        let mut source = source();
        fail(&mut source, &causes, |_, _, _| ());
        prop_assert_eq!(source.state.failures.consecutive as usize, blamed);
    }
}
