//! What a failure does to a source: counted, and after enough of them a rest or the end of polling.

use std::fmt;
use std::time::Duration;

use crate::model::{
    FailureClass, FailureKind, FailureReport, FailureRun, LastFailure, Rest, RestCause, Source, SourceState, Timestamp,
};

use super::Policy;
use super::classify::{Classified, classify};

/// What follows from a failed poll.
#[derive(Clone, Debug, PartialEq)]
pub struct FailureDecision {
    /// The source's state from now on.
    pub state: SourceState,
    /// The name of the failure.
    pub classified: Classified,
    /// What was decided, and why.
    pub step: FailureStep,
}

/// What was decided about a source that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureStep {
    /// It was our own fault: nothing is counted.
    NotBlamed,
    /// It was counted; backoff does the rest.
    Counted {
        /// Failures in a row.
        consecutive: u32,
    },
    /// A rest begins.
    Rests {
        /// The kind that ran.
        kind: FailureKind,
        /// How often in a row.
        run: u32,
        /// How long the rest lasts.
        cooldown: Duration,
    },
    /// It is disabled, for the reason that is now its `disabled_reason`.
    Disabled(String),
}

/// The state after a failure.
pub fn after_failure(source: &Source, report: &FailureReport, policy: &Policy, now: Timestamp) -> FailureDecision {
    let classified = classify(report.cause);
    let mut state = record(&source.state, report, classified, now);
    let step = if classified.kind == FailureKind::Internal {
        FailureStep::NotBlamed
    } else {
        count(&mut state, report, classified);
        decide(&mut state, source.settings.max_failures.unwrap_or(policy.max_failures), policy, now)
    };
    FailureDecision { state, classified, step }
}

/// What holds for every failure, ours included: it was a poll, and this is what went wrong (s204).
fn record(state: &SourceState, report: &FailureReport, classified: Classified, now: Timestamp) -> SourceState {
    let mut next = state.clone();
    next.first_polled_at = state.first_polled_at.or(Some(now));
    next.last_polled = Some(now);
    next.hints.retry_after = report.retry_after;
    next.failures.last =
        Some(LastFailure { class: classified.class, kind: classified.kind, error: report.error.clone() });
    next
}

fn count(state: &mut SourceState, report: &FailureReport, classified: Classified) {
    let failures = &mut state.failures;
    failures.consecutive = failures.consecutive.saturating_add(1);
    failures.consecutive_permanent = match classified.class {
        FailureClass::Permanent => failures.consecutive_permanent.saturating_add(1),
        FailureClass::Transient => 0,
    };
    let before = failures.run.filter(|run| run.kind == classified.kind).map_or(0, |run| run.length);
    // A server that says when to come back is not broken: it does not get closer to a rest (p18).
    let asked_to_wait = classified.kind == FailureKind::UpstreamFailure && report.retry_after.is_some();
    let length = if asked_to_wait { before } else { before.saturating_add(1) };
    failures.run = Some(FailureRun { kind: classified.kind, length });
}

/// Disabling wins over resting (s409). What a person decided meanwhile stays as it is.
fn decide(state: &mut SourceState, max_failures: u32, policy: &Policy, now: Timestamp) -> FailureStep {
    let counted = FailureStep::Counted { consecutive: state.failures.consecutive };
    if !state.enabled {
        return counted;
    }
    if state.failures.consecutive_permanent >= max_failures.max(1) {
        let reason = disabled_reason(state, max_failures);
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

/// Claims "N consecutive 404 errors" only where all of the last N were that (design, traps).
fn disabled_reason(state: &SourceState, max_failures: u32) -> String {
    let failures = &state.failures;
    let permanent = failures.consecutive_permanent;
    if let Some(run) = failures.run.filter(|run| run.length >= max_failures) {
        let count = run.length.min(permanent);
        return format!("Auto-disabled after {count} consecutive {} errors", permanent_name(run.kind));
    }
    let last = failures.last.as_ref().map_or("unknown", |last| permanent_name(last.kind));
    format!("Auto-disabled after {permanent} consecutive permanent errors, the last a {last} error")
}

/// What people call a permanent failure of this kind; the only permanent failure of the network is DNS. A refusal comes
/// as a 403 or by robots.txt: the kind does not say which, the last error does.
fn permanent_name(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::NotFound => "404",
        FailureKind::Gone => "410",
        FailureKind::Unauthorized => "authorization",
        FailureKind::Network => "DNS",
        other => other.name(),
    }
}

impl fmt::Display for FailureStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FailureStep::NotBlamed => write!(formatter, "our own fault: not counted against the source"),
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
