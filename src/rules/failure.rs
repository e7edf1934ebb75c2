//! The state of a source after a failure: counted, and after enough failures resting or disabled.

use std::fmt;
use std::time::Duration;

use crate::model::{
    FailureCause, FailureClass, FailureKind, FailureReport, FailureRun, FailureState, LastFailure, Rest, RestCause,
    Source, SourceState, Timestamp,
};

use super::classify::{Classified, classify};
use super::interval::interval;
use super::{Policy, minutes};

/// Wait before a poll that was lost to a fault of our own is made again.
const REPEAT_AFTER: Duration = minutes(1);

/// Result of the failure rule.
#[derive(Clone, Debug, PartialEq)]
pub struct FailureDecision {
    /// New state of the source.
    pub state: SourceState,
    /// Kind and class of the failure.
    pub classified: Classified,
    /// Decision about the source.
    pub step: FailureStep,
}

/// Decision about a source that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureStep {
    /// A fault of our own, which is not counted.
    NotBlamed,
    /// Counted: the source backs off.
    Counted {
        /// Failures in a row.
        consecutive: u32,
    },
    Rests {
        /// Kind of the failures.
        kind: FailureKind,
        /// Failures of that kind in a row.
        run: u32,
        /// Duration of the rest.
        cooldown: Duration,
    },
    /// The source is disabled; the text is its `disabled_reason`.
    Disabled(String),
}

/// The state after a failure.
pub fn after_failure(source: &Source, report: &FailureReport, policy: &Policy, now: Timestamp) -> FailureDecision {
    let classified = classify(report.cause);
    let mut state = record(&source.state, report, now);
    let step = if classified.kind == FailureKind::Internal {
        state.poll_requested_at = repeated_at(source, report.cause, policy, now).or(state.poll_requested_at);
        FailureStep::NotBlamed
    } else {
        let max_failures = source.settings.max_failures.unwrap_or(policy.max_failures);
        decide(&mut state, report.cause, max_failures, policy, now)
    };
    FailureDecision { state, classified, step }
}

/// What every failure changes, including faults of our own (s204).
fn record(state: &SourceState, report: &FailureReport, now: Timestamp) -> SourceState {
    let mut next = state.clone();
    next.first_polled_at = state.first_polled_at.or(Some(now));
    next.last_polled = Some(now);
    next.hints.retry_after = report.retry_after;
    next.failures = failures_after(&state.failures, report);
    next
}

/// The failures of a source once this one is among them. A fault of our own is noted and not counted.
pub fn failures_after(before: &FailureState, report: &FailureReport) -> FailureState {
    let classified = classify(report.cause);
    let mut failures = before.clone();
    failures.last = Some(LastFailure { class: classified.class, kind: classified.kind, error: report.error.clone() });
    if classified.kind != FailureKind::Internal {
        count(&mut failures, before.last.as_ref(), report, classified);
    }
    failures
}

/// When a poll that was lost to a fault of our own is made again: about a minute later. A poll that was lost in a crash
/// is made again once, so that a source whose every poll crashes does not do so every minute (s509). A poll that failed
/// during an outage waits for its end anyway (p31).
fn repeated_at(source: &Source, cause: FailureCause, policy: &Policy, now: Timestamp) -> Option<Timestamp> {
    let last = source.state.failures.last.as_ref();
    let is_first = last.is_none_or(|last| last.kind != FailureKind::Internal);
    let is_repeated = cause == FailureCause::Outage || (cause == FailureCause::Lost && is_first);
    is_repeated.then(|| now + interval(source, policy).min(REPEAT_AFTER))
}

fn count(failures: &mut FailureState, last: Option<&LastFailure>, report: &FailureReport, classified: Classified) {
    failures.consecutive = failures.consecutive.saturating_add(1);
    failures.consecutive_permanent = match classified.class {
        FailureClass::Permanent => failures.consecutive_permanent.saturating_add(1),
        FailureClass::Transient => 0,
    };
    // A refusal by robots.txt or for lack of a key has the kind of a 403 or 401, but is none (s401).
    let is_status = |error: &str| error.starts_with("HTTP ");
    let is_alike =
        last.is_none_or(|last| last.kind != classified.kind || is_status(&last.error) == is_status(&report.error));
    let before = failures.run.filter(|run| run.kind == classified.kind && is_alike).map_or(0, |run| run.length);
    // A server that sends Retry-After is not broken: its failures do not count towards a rest (p18).
    let asked_to_wait = classified.kind == FailureKind::UpstreamFailure && report.retry_after.is_some();
    let length = if asked_to_wait { before } else { before.saturating_add(1) };
    failures.run = Some(FailureRun { kind: classified.kind, length });
}

/// Disabling wins over resting (s409). A rest or disabling by a person stays as it is.
fn decide(
    state: &mut SourceState,
    cause: FailureCause,
    max_failures: u32,
    policy: &Policy,
    now: Timestamp,
) -> FailureStep {
    let counted = FailureStep::Counted { consecutive: state.failures.consecutive };
    if !state.enabled {
        return counted;
    }
    if state.failures.consecutive_permanent >= max_failures.max(1) {
        let reason = disabled_reason(state, cause, max_failures);
        state.enabled = false;
        state.disabled_reason = Some(reason.clone());
        state.rest = None;
        return FailureStep::Disabled(reason);
    }
    let is_held = state.rest.as_ref().is_some_and(|rest| rest.cause.is_open_ended());
    let Some(FailureRun { kind, length: run }) = state.failures.run.filter(|_| !is_held) else {
        return counted;
    };
    match policy.rests.for_kind(kind) {
        Some(rule) if rule.is_reached(run) => {
            state.rest = Some(Rest { since: now, cause: RestCause::Failures(kind) });
            FailureStep::Rests { kind, run, cooldown: rule.cooldown }
        }
        _ => counted,
    }
}

/// Says "N consecutive 404 errors" only if all of the last N were 404.
fn disabled_reason(state: &SourceState, cause: FailureCause, max_failures: u32) -> String {
    let failures = &state.failures;
    let (permanent, last) = (failures.consecutive_permanent, permanent_name(cause));
    if let Some(run) = failures.run.filter(|run| run.length >= max_failures) {
        let count = run.length.min(permanent);
        return format!("Auto-disabled after {count} consecutive {last} errors");
    }
    format!("Auto-disabled after {permanent} consecutive permanent errors, the last a {last} error")
}

/// Name of a permanent failure in `disabled_reason` (s401): its status, if it has one.
fn permanent_name(cause: FailureCause) -> String {
    match cause {
        FailureCause::Status(status) => status.to_string(),
        FailureCause::Dns | FailureCause::ResolverFailed => "DNS".to_owned(),
        FailureCause::Robots => "robots.txt".to_owned(),
        FailureCause::Credentials => "authorization".to_owned(),
        other => classify(other).kind.name().to_owned(),
    }
}

impl fmt::Display for FailureStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FailureStep::NotBlamed => write!(formatter, "internal fault: not counted"),
            FailureStep::Counted { consecutive } => write!(formatter, "failure {consecutive} in a row: backs off"),
            FailureStep::Rests { kind, run, cooldown } => {
                write!(formatter, "rests for {} h after {run} {kind} in a row", cooldown.as_secs() / 3600)
            }
            FailureStep::Disabled(reason) => formatter.write_str(reason),
        }
    }
}

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
