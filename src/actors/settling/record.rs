//! Log record, counters and event of a settled poll.

use std::sync::Arc;
use std::time::Duration;

use slog::{Level, Logger, error, info, warn};

use super::outcome::{Decision, PollResult};
use crate::actors::context::PipelineContext;
use crate::actors::events::PipelineEvent;
use crate::fetch::{Answer, Trace};
use crate::model::{FailureKind, FailureReport, Severity};
use crate::rules::due::NextPoll;
use crate::rules::failure::FailureStep;
use crate::rules::shown_url::shown_url;

/// A poll that is in the store.
pub(super) struct WrittenPoll<'a> {
    pub(super) result: &'a PollResult,
    pub(super) decision: &'a Decision,
    /// Posts that were not known before.
    pub(super) new_posts: usize,
    /// Duration of all its requests.
    pub(super) request_time: Duration,
}

pub(super) fn record(context: &PipelineContext, log: &Logger, settled: &WrittenPoll<'_>) {
    let url = shown_url(&settled.decision.source.settings.url);
    if is_refused_addition(context, settled) {
        log_refused_addition(log, settled, &url);
        return conclude(context, settled, url);
    }
    context.statistics.count_wire_bytes(settled.result.trace().wire_bytes);
    context.poll_hours.add(&settled.decision.poll, context.clock.now());
    let is_success = settled.decision.failure.is_none();
    let success = is_success.then(|| (settled.decision.source.updated_at, context.clock.monotonic()));
    context.statistics.note_poll(settled.request_time, settled.result.trace().reading, success);
    match (&settled.decision.failure, settled.result) {
        (Some((classified, step)), PollResult::Failed { report, is_explained, .. }) => {
            context.statistics.count_failed(classified.kind);
            let level = match classified.severity {
                // The outage itself has a warning of its own (p31).
                _ if *is_explained => Level::Info,
                Severity::Warn => Level::Warning,
                Severity::Error => Level::Error,
            };
            log_failure(log, settled, &url, level, classified.kind, step, report);
            log_step(context, log, settled, &url, step);
        }
        _ => {
            let is_read =
                matches!(settled.result, PollResult::Answered(fetched) if matches!(fetched.answer, Answer::Read(_)));
            if is_read {
                context.statistics.count_read(settled.new_posts);
                context.statistics.count_entries(&settled.decision.counts, settled.decision.is_gap);
                if settled.new_posts > 0 || settled.decision.counts.updated > 0 {
                    context.events.note_arrival();
                }
                if settled.decision.pages > 0 {
                    context.full_texts.wake();
                }
            } else {
                context.statistics.count_unchanged();
            }
            log_success(log, settled, &url);
        }
    }
    conclude(context, settled, url);
}

/// Tells those that wait for the poll.
fn conclude(context: &PipelineContext, settled: &WrittenPoll<'_>, url: String) {
    if settled.decision.is_gap {
        context.events.emit(|| PipelineEvent::Gap { source_id: settled.decision.source.id, url: url.clone() });
    }
    context.events.emit(|| PipelineEvent::Polled {
        source_id: settled.decision.source.id,
        url,
        poll: Arc::new(settled.decision.poll.clone()),
    });
}

/// Whether the source was on trial and is removed again because of this poll.
fn is_refused_addition(context: &PipelineContext, settled: &WrittenPoll<'_>) -> bool {
    settled.decision.failure.is_some() && context.trials.contains(settled.decision.source.id)
}

/// The poll of a source that is not kept is no failed poll: it has a record of its own, and no counter.
fn log_refused_addition(log: &Logger, settled: &WrittenPoll<'_>, url: &str) {
    let (Some((classified, _)), PollResult::Failed { report, trace, .. }) = (&settled.decision.failure, settled.result)
    else {
        return;
    };
    info!(log, "source not added";
        "url" => url,
        "error_type" => classified.kind.name(),
        "status_code" => status_code(classified.kind, report, trace),
        "error" => &report.error,
        "duration_ms" => milliseconds(settled.request_time),
        "reason" => "its first poll failed, and it was to be added only if that succeeds");
}

fn log_success(log: &Logger, settled: &WrittenPoll<'_>, url: &str) {
    let trace = settled.result.trace();
    let is_read = matches!(settled.result, PollResult::Answered(fetched) if matches!(fetched.answer, Answer::Read(_)));
    if settled.decision.is_gap {
        warn!(log, "entries may be missing"; "source_id" => settled.decision.source.id.0, "url" => url,
            "reason" => "no entry of the feed is known: more were published since the last poll than the feed holds",
            "gaps" => settled.decision.source.state.gaps);
    }
    if settled.decision.is_publishing_lost {
        warn!(log, "publication rate lost"; "source_id" => settled.decision.source.id.0, "url" => url,
            "reason" => "the stored value makes no sense; how often the source publishes is learned again");
    }
    info!(log, "source polled";
        "source_id" => settled.decision.source.id.0,
        "url" => url,
        "status_code" => trace.status,
        "duration_ms" => milliseconds(settled.request_time),
        "bytes" => trace.wire_bytes,
        "new_posts" => settled.new_posts,
        "updated_posts" => settled.decision.counts.updated,
        "entries" => is_read.then(|| settled.decision.counts.to_string()),
        "next_poll_at" => next_poll_at(settled.decision.next),
        "reason" => settled.decision.next.to_string());
}

/// One log record per failed poll, at the level of its kind (s205).
fn log_failure(
    log: &Logger,
    settled: &WrittenPoll<'_>,
    url: &str,
    level: Level,
    kind: FailureKind,
    step: &FailureStep,
    report: &FailureReport,
) {
    let trace = settled.result.trace();
    let keys = slog::o!(
        "source_id" => settled.decision.source.id.0,
        "url" => url.to_owned(),
        "error_type" => kind.name(),
        "status_code" => status_code(kind, report, trace),
        "error" => report.error.clone(),
        "consecutive_failures" => settled.decision.source.state.failures.consecutive,
        "decision" => step.to_string(),
        "duration_ms" => milliseconds(settled.request_time),
        "bytes" => trace.wire_bytes,
        "new_posts" => 0,
        "next_poll_at" => next_poll_at(settled.decision.next),
        "reason" => settled.decision.next.to_string());
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

/// A rest or disabling has a log record of its own, once (s413).
fn log_step(context: &PipelineContext, log: &Logger, settled: &WrittenPoll<'_>, url: &str, step: &FailureStep) {
    let keys = slog::o!(
        "source_id" => settled.decision.source.id.0,
        "url" => url.to_owned(),
        "consecutive_failures" => settled.decision.source.state.failures.consecutive);
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
    context.events.emit(|| PipelineEvent::Silenced { url: url.to_owned(), reason: step.to_string(), is_disabled });
}

fn next_poll_at(next: NextPoll) -> Option<String> {
    next.at().map(|at| at.to_string())
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
