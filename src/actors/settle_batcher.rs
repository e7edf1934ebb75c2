//! Writes what polls left behind, many in one transaction: while one write is under way the next batch gathers, and a
//! moment longer as long as others are under way that may join it.

use std::collections::VecDeque;
use std::sync::Arc;

use slog::{Logger, debug, error, info, warn};

use super::context::PipelineContext;
use super::messages::{Completion, Deferral};
use super::outcome::{Decision, Verdict, decide};
use super::poll::Poll;
use super::record::{self, Written};
use crate::clock::Stopwatch;
use crate::model::{
    FailureCause, FailureKind, FailureReport, HostState, Settled, Settlement, Source, SourceId, SourceState, Timestamp,
};
use crate::rules::change::relocate;
use crate::rules::classify::classify;
use crate::rules::shown_url::shown_url;
use crate::store::{Saved, StoreError};

/// No transaction holds more polls than this.
const BATCH_POLLS_MAX: usize = 256;
/// No transaction holds more than about this much, unless a single poll does.
const BATCH_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How often a poll is computed anew because its source was changed meanwhile.
const ROUNDS_MAX: usize = 5;

/// Polls that wait to be written.
#[derive(Default)]
pub(super) struct SettleBatcher {
    waiting: VecDeque<Entry>,
    is_writing: bool,
}

/// A poll that ended.
pub(super) struct Entry {
    pub(super) poll: Box<Poll>,
    pub(super) verdict: Verdict,
}

/// A failure of the network that is counted in the store, with the states of its source around it.
pub(super) struct StoredFailure {
    pub(super) source_id: SourceId,
    pub(super) polled_at: Timestamp,
    pub(super) before: SourceState,
    pub(super) after: SourceState,
}

impl StoredFailure {
    fn of(before: &Source, decision: &Decision) -> Option<StoredFailure> {
        let (classified, _) = decision.failure.as_ref()?;
        (classified.kind == FailureKind::Network).then(|| StoredFailure {
            source_id: before.id,
            polled_at: decision.source.updated_at,
            before: before.state.clone(),
            after: decision.source.state.clone(),
        })
    }
}

impl SettleBatcher {
    /// Takes a poll. How many there can be is bounded by the polls under way.
    pub(super) fn push(&mut self, entry: Entry) {
        self.waiting.push_back(entry);
    }

    /// Whether more polls are under way that may join the next batch.
    pub(super) fn is_worth_waiting(&self, under_way: usize) -> bool {
        !self.is_writing && !self.waiting.is_empty() && self.waiting.len() < under_way.min(BATCH_POLLS_MAX)
    }

    /// The next batch, if there is one and no write is under way.
    pub(super) fn begin(&mut self) -> Option<Vec<Entry>> {
        if self.is_writing || self.waiting.is_empty() {
            return None;
        }
        let mut bytes = 0;
        let fits = |entry: &&Entry| {
            bytes += entry.verdict.bytes();
            bytes <= BATCH_BYTES_MAX
        };
        let count = self.waiting.iter().take(BATCH_POLLS_MAX).take_while(fits).count().max(1);
        self.is_writing = true;
        Some(self.waiting.drain(..count).collect())
    }

    /// Changes polls that wait to be written; returns how many were.
    pub(super) fn change_waiting(&mut self, change: impl FnMut(&mut Entry) -> bool) -> usize {
        self.waiting.iter_mut().map(change).filter(|is_changed| *is_changed).count()
    }

    /// Whether a write is under way.
    pub(super) fn is_writing(&self) -> bool {
        self.is_writing
    }

    /// The write is over.
    pub(super) fn end(&mut self) {
        self.is_writing = false;
    }
}

/// Writes a batch, however long that takes, and completes every poll in it. Returns the failures that were counted.
pub(super) async fn write(context: Arc<PipelineContext>, log: Logger, entries: Vec<Entry>) -> Vec<StoredFailure> {
    let mut stored = Vec::new();
    let mut batches = VecDeque::from([(entries, ROUNDS_MAX)]);
    while let Some((batch, rounds)) = batches.pop_front() {
        match try_write(&context, &batch).await {
            Ok((answers, decisions)) => {
                let mut again = Vec::new();
                for ((entry, settled), decision) in batch.into_iter().zip(answers).zip(decisions) {
                    again.extend(conclude(&context, &log, entry, settled, decision, &mut stored).await);
                }
                match rounds.checked_sub(1) {
                    _ if again.is_empty() => {}
                    Some(rounds) => batches.push_back((again, rounds)),
                    None => again.into_iter().for_each(|entry| entry.poll.in_flight.end(Completion::Superseded)),
                }
            }
            // One that the store will not have must not take the others with it.
            Err(_) if batch.len() > 1 => batches.extend(batch.into_iter().map(|entry| (vec![entry], rounds))),
            Err(cause) => batches.extend(batch.into_iter().filter_map(|entry| refused(&context, &log, entry, &cause))),
        }
    }
    stored
}

async fn try_write(context: &PipelineContext, batch: &[Entry]) -> Result<(Vec<Settled>, Vec<Decision>), StoreError> {
    let mut decisions = Vec::new();
    let answers = context
        .store_watch
        .retry_while_unavailable(|| {
            let policy = context.policy();
            let settle =
                |Entry { poll, verdict }: &Entry| decide(&poll.source, verdict, host_now(poll), &policy, poll.ended_at);
            let settlements: Vec<Settlement>;
            (settlements, decisions) = batch.iter().map(settle).unzip();
            let settling = context.store.settle(settlements);
            async {
                let watch = Stopwatch::start();
                let answers = settling.await;
                context.statistics.note_settle(watch.elapsed());
                answers
            }
        })
        .await?;
    Ok((answers, decisions))
}

/// The host as it is known by now: a person may have held it since it answered.
fn host_now(poll: &Poll) -> Option<HostState> {
    let asked = poll.host.as_ref()?;
    let host_entry = poll
        .turn
        .as_ref()
        .map(|turn| &turn.host_entry)
        .filter(|host_entry| host_entry.key.as_ref() == Some(&asked.host));
    host_entry.and_then(|host_entry| host_entry.state()).or_else(|| poll.host.clone())
}

/// Ends one poll, or hands it back to be computed anew on what its source has become.
async fn conclude(
    context: &PipelineContext,
    log: &Logger,
    mut entry: Entry,
    settled: Settled,
    decision: Decision,
    stored: &mut Vec<StoredFailure>,
) -> Option<Entry> {
    match settled {
        Settled::Written { version, new_posts } => {
            let Entry { poll, verdict } = entry;
            let written =
                Written { verdict: &verdict, decision: &decision, new_posts: new_posts.len(), asking: poll.asking };
            record::tell(context, log, &written);
            stored.extend(StoredFailure::of(&poll.source, &decision));
            let Decision { source, next, believed_url, .. } = decision;
            if let Some(url) = believed_url {
                move_source(context, log, Source { version, ..source }, url).await;
                poll.in_flight.end(Completion::Superseded);
            } else {
                poll.in_flight.end(Completion::Settled(next));
            }
            None
        }
        Settled::Gone => {
            context.statistics.count_superseded();
            entry.poll.in_flight.end(Completion::Gone);
            None
        }
        Settled::Stale(fresh) => {
            let began_at = entry.poll.in_flight.began_at();
            let is_settled = began_at.is_some() && fresh.state.last_polled >= began_at;
            let is_elsewhere = fresh.settings.url != entry.poll.source.settings.url
                || fresh.settings.source_type != entry.poll.source.settings.source_type;
            if is_settled || is_elsewhere {
                // It was settled although its end was lost on the way, or what was found belongs to another URL.
                context.statistics.count_superseded();
                debug!(log, "poll superseded"; "source_id" => fresh.id.0, "url" => shown_url(&fresh.settings.url),
                    "is_settled" => is_settled);
                entry.poll.in_flight.end(Completion::Superseded);
                return None;
            }
            entry.poll.source = *fresh;
            Some(entry)
        }
    }
}

/// The store will not have this poll as it is. What it found cannot be kept, but that it was made can.
fn refused(
    context: &PipelineContext,
    log: &Logger,
    mut entry: Entry,
    cause: &StoreError,
) -> Option<(Vec<Entry>, usize)> {
    error!(log, "poll not stored"; "source_id" => entry.poll.source.id.0,
        "url" => shown_url(&entry.poll.source.settings.url), "error" => %cause);
    if let Verdict::Failed { report, .. } = &entry.verdict
        && classify(report.cause).kind == FailureKind::Internal
    {
        let until = context.clock.now() + context.policy().interval;
        entry.poll.in_flight.end(Completion::Deferred(Deferral { until, closed: None }));
        return None;
    }
    let trace = Box::new(entry.verdict.trace().clone());
    let error = format!("what was found could not be stored: {cause}");
    let report = FailureReport { cause: FailureCause::Internal, error, retry_after: None };
    entry.verdict = Verdict::Failed { report, trace, is_explained: false };
    Some((vec![entry], ROUNDS_MAX))
}

/// Gives a source the URL that its publisher has led us to often enough (p22).
async fn move_source(context: &PipelineContext, log: &Logger, mut source: Source, url: String) {
    let from = shown_url(&source.settings.url);
    let now = context.clock.now();
    relocate(&mut source, url.clone());
    let id = source.id;
    match context.store_watch.retry_while_unavailable(|| context.store.save_source(source.clone(), now)).await {
        Ok(Saved::Written(_)) => {
            info!(log, "source moved"; "source_id" => id.0, "url" => shown_url(&url), "from" => from);
        }
        Ok(Saved::Duplicate(other)) => {
            warn!(log, "source not moved"; "source_id" => id.0, "url" => from, "to" => shown_url(&url),
                "reason" => "another source is there already", "other_source_id" => other.0);
        }
        // Whoever was faster decides; the next poll will find the redirect again.
        Ok(Saved::Stale(_) | Saved::Gone) => {}
        Err(cause) => error!(log, "source not moved"; "source_id" => id.0, "url" => from, "error" => %cause),
    }
}
