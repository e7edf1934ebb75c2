//! What is told about a settled poll: one record, the counters, and those who watch.

use std::time::Duration;

use slog::{Level, Logger, error, info, warn};

use super::context::PipelineContext;
use super::history::{PollOutcome, PollRecord};
use super::outcome::{Decision, Verdict};
use super::statistics::PipelineEvent;
use crate::fetch::{Answer, Trace};
use crate::model::{FailureKind, FailureReport, Severity, Source};
use crate::rules::due::NextPoll;
use crate::rules::failure::FailureStep;
use crate::rules::shown_url::shown_url;

/// How many of the feeds that a page links to are remembered.
const LINKED_FEEDS_MAX: usize = 20;

/// A poll that is in the store.
pub(super) struct Written<'a> {
    /// The source as it stands now.
    pub(super) source: &'a Source,
    /// How the poll ended.
    pub(super) verdict: &'a Verdict,
    /// What followed from it.
    pub(super) decision: &'a Decision,
    /// Posts that were not known before.
    pub(super) new_posts: usize,
    /// How long its requests took together.
    pub(super) asking: Duration,
    /// When it is polled next.
    pub(super) next: NextPoll,
}

/// Tells it.
pub(super) fn tell(context: &PipelineContext, log: &Logger, written: &Written<'_>) {
    let url = shown_url(&written.source.settings.url);
    context.statistics.count_wire_bytes(written.verdict.trace().wire_bytes);
    let success_at = written.decision.failure.is_none().then_some(written.source.updated_at);
    context.statistics.note_poll(written.asking, written.verdict.trace().reading, success_at);
    match (&written.decision.failure, written.verdict) {
        (Some((classified, step)), Verdict::Failed { report, is_explained, .. }) => {
            context.statistics.count_failed(classified.kind);
            let level = match classified.severity {
                // The outage itself was the one thing to be loud about (p31).
                _ if *is_explained => Level::Info,
                Severity::Warn => Level::Warning,
                Severity::Error => Level::Error,
            };
            tell_failure(log, written, &url, level, classified.kind, step, report);
            tell_step(context, log, written, &url, step);
        }
        _ => {
            let is_read =
                matches!(written.verdict, Verdict::Answered(fetched) if matches!(fetched.answer, Answer::Read(_)));
            if is_read {
                context.statistics.count_read(written.new_posts);
            } else {
                context.statistics.count_unchanged();
            }
            tell_success(log, written, &url);
        }
    }
    context.history.add(written.source.id, remembered(written));
    context.end_force(written.source.id);
    context.statistics.emit(|| PipelineEvent::Polled {
        source_id: written.source.id,
        url,
        new_posts: written.new_posts,
        failure: written.decision.failure.as_ref().map(|(classified, _)| classified.kind),
    });
}

/// The poll as people see it afterwards.
fn remembered(written: &Written<'_>) -> PollRecord {
    let trace = written.verdict.trace();
    let (error_type, error) = match (&written.decision.failure, written.verdict) {
        (Some((classified, _)), Verdict::Failed { report, .. }) => (Some(classified.kind), Some(report.error.clone())),
        _ => (None, None),
    };
    let outcome = match written.verdict {
        Verdict::Failed { .. } => PollOutcome::Failed,
        Verdict::Answered(fetched) if matches!(fetched.answer, Answer::Read(_)) => PollOutcome::Read,
        Verdict::Answered(_) => PollOutcome::Unchanged,
    };
    PollRecord {
        at: written.source.updated_at,
        outcome,
        status_code: trace.status,
        error_type,
        error,
        new_posts: written.new_posts,
        bytes: trace.wire_bytes,
        duration_ms: milliseconds(written.asking),
        next: written.next.to_string(),
        linked_feeds: trace.linked_feeds.iter().take(LINKED_FEEDS_MAX).map(|feed| feed.url.to_string()).collect(),
    }
}

fn tell_success(log: &Logger, written: &Written<'_>, url: &str) {
    let trace = written.verdict.trace();
    info!(log, "source polled";
        "source_id" => written.source.id.0,
        "url" => url,
        "status_code" => trace.status,
        "duration_ms" => milliseconds(written.asking),
        "bytes" => trace.wire_bytes,
        "new_posts" => written.new_posts,
        "next_poll_at" => next_poll_at(written.next),
        "reason" => written.next.to_string());
}

/// One record per failed poll, as loud as its kind deserves (s205).
fn tell_failure(
    log: &Logger,
    written: &Written<'_>,
    url: &str,
    level: Level,
    kind: FailureKind,
    step: &FailureStep,
    report: &FailureReport,
) {
    let trace = written.verdict.trace();
    let keys = slog::o!(
        "source_id" => written.source.id.0,
        "url" => url.to_owned(),
        "error_type" => kind.name(),
        "status_code" => status_code(kind, report, trace),
        "error" => report.error.clone(),
        "consecutive_failures" => written.source.state.failures.consecutive,
        "decision" => step.to_string(),
        "duration_ms" => milliseconds(written.asking),
        "bytes" => trace.wire_bytes,
        "new_posts" => 0,
        "next_poll_at" => next_poll_at(written.next),
        "reason" => written.next.to_string());
    match level {
        Level::Error => error!(log, "feed poll failed"; keys),
        Level::Warning => warn!(log, "feed poll failed"; keys),
        _ => info!(log, "feed poll failed"; keys),
    }
}

/// 0 where there was no HTTP answer, or no whole one (s205).
fn status_code(kind: FailureKind, report: &FailureReport, trace: &Trace) -> u16 {
    match kind {
        FailureKind::Network => 0,
        _ => report.status_code().or(trace.status).unwrap_or(0),
    }
}

/// A rest or the end of polling is told apart, once (s413).
fn tell_step(context: &PipelineContext, log: &Logger, written: &Written<'_>, url: &str, step: &FailureStep) {
    let keys = slog::o!(
        "source_id" => written.source.id.0,
        "url" => url.to_owned(),
        "consecutive_failures" => written.source.state.failures.consecutive);
    let is_disabled = match step {
        FailureStep::NotBlamed | FailureStep::Counted { .. } => return,
        FailureStep::Rests { kind, .. } => {
            warn!(log, "feed disabled"; "reason" => kind.name(), "decision" => step.to_string(), keys);
            false
        }
        FailureStep::Disabled(reason) => {
            warn!(log, "source disabled"; "reason" => reason, keys);
            true
        }
    };
    context.statistics.emit(|| PipelineEvent::Silenced { url: url.to_owned(), reason: step.to_string(), is_disabled });
}

fn next_poll_at(next: NextPoll) -> Option<String> {
    next.at().map(|at| at.to_string())
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
