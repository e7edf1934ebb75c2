//! Writes finished polls, many in one transaction. While one write is under way the next batch gathers.

use std::collections::VecDeque;
use std::sync::Arc;

use slog::{Logger, debug, error, info, warn};

use super::locked::settle_when_free;
use super::outcome::{Decision, PollResult, PollTimes, decide};
use super::record::{self, WrittenPoll};
use crate::actors::context::PipelineContext;
use crate::actors::messages::{Completion, Deferral};
use crate::actors::poll::Poll;
use crate::clock::Stopwatch;
use crate::model::{
    EntryQuery, EventType, FailureCause, FailureKind, FailureReport, HostState, KnownEntries, NewEvent, Settled,
    Settlement, Source, SourceId, SourceState, Timestamp,
};
use crate::rules::budget::Demand;
use crate::rules::change::relocate;
use crate::rules::classify::classify;
use crate::rules::events::of_source;
use crate::rules::push;
use crate::rules::shown_url::shown_url;
use crate::store::{Saved, StoreError};

/// The most polls in one transaction.
const BATCH_POLLS_MAX: usize = 256;
/// About the most bytes in one transaction, unless a single poll has more.
const BATCH_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How often a poll is computed again because its source was changed meanwhile.
const ROUNDS_MAX: usize = 5;

/// Finished polls that wait to be written.
#[derive(Default)]
pub(super) struct SettleBatcher {
    waiting: VecDeque<FinishedPoll>,
    is_writing: bool,
}

pub(super) struct FinishedPoll {
    pub(super) poll: Box<Poll>,
    pub(super) result: PollResult,
}

/// What tells a poll from all others: its source and when its first request was allowed. No step of the clock moves it.
pub(super) type PollKey = (SourceId, Option<Timestamp>);

/// A failure of the network that is counted in the store, with the states of its source around it.
pub(super) struct StoredFailure {
    pub(super) key: PollKey,
    pub(super) before: SourceState,
    pub(super) after: SourceState,
}

impl StoredFailure {
    fn of(poll: &Poll, decision: &Decision) -> Option<StoredFailure> {
        let (classified, _) = decision.failure.as_ref()?;
        (classified.kind == FailureKind::Network).then(|| StoredFailure {
            key: poll_key(poll),
            before: poll.source.state.clone(),
            after: decision.source.state.clone(),
        })
    }
}

pub(super) fn poll_key(poll: &Poll) -> PollKey {
    (poll.source.id, poll.in_flight.began_at())
}

impl SettleBatcher {
    /// Adds a poll. The number of polls in flight bounds the queue.
    pub(super) fn push(&mut self, finished: FinishedPoll) {
        self.waiting.push_back(finished);
    }

    /// Whether polls in flight may soon join the next batch.
    pub(super) fn is_worth_waiting(&self, under_way: usize) -> bool {
        !self.is_writing && !self.waiting.is_empty() && self.waiting.len() < under_way.min(BATCH_POLLS_MAX)
    }

    /// The next batch, if there is one and no write is under way.
    pub(super) fn begin(&mut self) -> Option<Vec<FinishedPoll>> {
        if self.is_writing || self.waiting.is_empty() {
            return None;
        }
        let mut bytes = 0;
        let fits = |finished: &&FinishedPoll| {
            bytes += finished.result.bytes();
            bytes <= BATCH_BYTES_MAX
        };
        let count = self.waiting.iter().take(BATCH_POLLS_MAX).take_while(fits).count().max(1);
        self.is_writing = true;
        Some(self.waiting.drain(..count).collect())
    }

    /// Changes polls that wait to be written; returns the number for which `change` returned true.
    pub(super) fn change_waiting(&mut self, change: impl FnMut(&mut FinishedPoll) -> bool) -> usize {
        self.waiting.iter_mut().map(change).filter(|is_changed| *is_changed).count()
    }

    pub(super) fn is_writing(&self) -> bool {
        self.is_writing
    }

    pub(super) fn end(&mut self) {
        self.is_writing = false;
    }
}

/// What became of a batch.
#[derive(Default)]
pub(super) struct WrittenBatch {
    /// Failures that were counted.
    pub(super) stored: Vec<StoredFailure>,
    /// Polls that were not written, because other sessions of the database lock their rows.
    pub(super) locked: Vec<FinishedPoll>,
}

/// Failures of a batch, for those who may have to take them back.
#[derive(Default)]
pub(super) struct WrittenFailures {
    /// Failures that were counted.
    pub(super) stored: Vec<StoredFailure>,
    /// Polls that wait for their rows; the failure tracker is told when each is over.
    pub(super) locked: Vec<PollKey>,
}

/// Writes a batch, however long that takes, and completes every poll in it; those whose rows are locked, later.
pub(super) async fn write(context: Arc<PipelineContext>, log: Logger, polls: Vec<FinishedPoll>) -> WrittenFailures {
    let WrittenBatch { stored, locked: waiting } = write_batch(&context, &log, polls).await;
    let locked = waiting.iter().map(|finished| poll_key(&finished.poll)).collect();
    waiting.into_iter().for_each(|finished| settle_when_free(&context, &log, finished));
    WrittenFailures { stored, locked }
}

/// Writes a batch once.
pub(super) async fn write_batch(
    context: &Arc<PipelineContext>,
    log: &Logger,
    mut polls: Vec<FinishedPoll>,
) -> WrittenBatch {
    let mut written = WrittenBatch::default();
    for FinishedPoll { poll, result } in &mut polls {
        if let Some(step) = context.timeline.step_since(poll.ended_at) {
            poll.ended_at = step.moved(poll.ended_at);
            result.follow(step);
        }
    }
    let mut batches = VecDeque::from([(polls, ROUNDS_MAX)]);
    while let Some((batch, rounds)) = batches.pop_front() {
        match try_write(context, &batch).await {
            Ok((answers, decisions)) => {
                let mut again = Vec::new();
                for ((finished, settled), decision) in batch.into_iter().zip(answers).zip(decisions) {
                    match settled {
                        Settled::Locked => written.locked.push(finished),
                        settled => {
                            again
                                .extend(conclude(context, log, finished, settled, decision, &mut written.stored).await);
                        }
                    }
                }
                match rounds.checked_sub(1) {
                    _ if again.is_empty() => {}
                    Some(rounds) => batches.push_back((again, rounds)),
                    None => again.into_iter().for_each(|finished| finished.poll.in_flight.end(Completion::Superseded)),
                }
            }
            // A poll that the store refuses, or that waits for a lock, must not keep the others from being written.
            Err(_) if batch.len() > 1 => batches.extend(batch.into_iter().map(|finished| (vec![finished], rounds))),
            Err(StoreError::Locked(_)) => written.locked.extend(batch),
            Err(cause) => {
                batches.extend(batch.into_iter().filter_map(|finished| refused(context, log, finished, &cause)))
            }
        }
        log_locked_hosts(context, log);
    }
    written
}

/// The state of a host whose row is locked stays in memory, and the next poll of the host writes it.
fn log_locked_hosts(context: &PipelineContext, log: &Logger) {
    for (host, is_locked) in context.store.health().take_lock_news() {
        match is_locked {
            true => warn!(log, "host row locked"; "host" => host.as_str(),
                "reason" => "another session of the database holds a lock on the row; end its transaction"),
            false => info!(log, "host row free again"; "host" => host.as_str()),
        }
    }
}

async fn try_write(
    context: &PipelineContext,
    batch: &[FinishedPoll],
) -> Result<(Vec<Settled>, Vec<Decision>), StoreError> {
    let mut known = known_entries(context, batch).await?.into_iter();
    let policy = context.policy();
    let settle = |FinishedPoll { poll, result }: &FinishedPoll| {
        let has_entries = result.entry_query(poll.source.id).is_some();
        let known = if has_entries { known.next().unwrap_or_default() } else { KnownEntries::default() };
        let ages_at = context.timeline.ages_at(poll.ended_at);
        let began_at = poll.in_flight.began_at().unwrap_or(poll.ended_at);
        let (ended_at, request_time) = (poll.ended_at, poll.request_time);
        let times = PollTimes { ages_at, began_at, ended_at, request_time };
        let (mut settlement, decision) = decide(&poll.source, result, &known, host_now(poll), &policy, times);
        if context.trials.contains(poll.source.id) {
            // A source on trial is not added yet.
            settlement.events.clear();
        }
        settlement.events.extend(poll.events.iter().cloned());
        (Settlement { claim: poll.in_flight.claim().owned(), ..settlement }, decision)
    };
    let (settlements, decisions): (Vec<Settlement>, Vec<Decision>) = batch.iter().map(settle).unzip();
    // Decided once: what is repeated after a lost answer is recognised by the store, because it is the same.
    let has_events = settlements.iter().any(|settlement| !settlement.events.is_empty());
    let answers = context
        .store_watch
        .retry_while_unavailable(|| {
            let settling = context.store.settle(settlements.clone());
            async {
                let watch = Stopwatch::start();
                let answers = settling.await;
                context.statistics.note_settle(watch.elapsed());
                match answers {
                    // The others in the batch need not wait for the lock.
                    Err(locked @ StoreError::Locked(_)) => Ok(Err(locked)),
                    answers => answers.map(Ok),
                }
            }
        })
        .await??;
    if has_events {
        context.events.note_arrival();
    }
    Ok((answers, decisions))
}

/// What the store knows of the entries of a batch, for each poll that has entries. A source that changes before they are
/// written makes its settlement stale.
async fn known_entries(context: &PipelineContext, batch: &[FinishedPoll]) -> Result<Vec<KnownEntries>, StoreError> {
    let query = |finished: &FinishedPoll| finished.result.entry_query(finished.poll.source.id);
    let queries: Vec<EntryQuery> = batch.iter().filter_map(query).collect();
    if queries.is_empty() {
        return Ok(Vec::new());
    }
    context.store_watch.retry_while_unavailable(|| context.store.known_entries(queries.clone())).await
}

/// The current state of the host: it may have been held since it answered.
fn host_now(poll: &Poll) -> Option<HostState> {
    let asked = poll.host.as_ref()?;
    let host_entry = poll
        .permit
        .as_ref()
        .map(|permit| &permit.host_entry)
        .filter(|host_entry| host_entry.key.as_ref() == Some(&asked.host));
    host_entry.and_then(|host_entry| host_entry.state()).or_else(|| poll.host.clone())
}

/// Ends one poll, or returns it to be computed again with the current row of its source.
async fn conclude(
    context: &PipelineContext,
    log: &Logger,
    mut finished: FinishedPoll,
    settled: Settled,
    decision: Decision,
    stored: &mut Vec<StoredFailure>,
) -> Option<FinishedPoll> {
    match settled {
        Settled::Written { version, new_posts } => {
            let FinishedPoll { poll, result } = finished;
            let settled = WrittenPoll {
                result: &result,
                decision: &decision,
                new_posts: new_posts.len(),
                request_time: poll.request_time,
            };
            record::record(context, log, &settled);
            stored.extend(StoredFailure::of(&poll, &decision));
            note_push(context, &poll, &decision);
            let Decision { source, next, believed_url, .. } = decision;
            // The clock was set back while the poll was being written: the next poll is a time of the old clock.
            let is_ahead = source.updated_at > context.clock.now();
            if let Some(url) = believed_url {
                move_source(context, log, Source { version, ..source }, url).await;
                poll.in_flight.end(Completion::Superseded);
            } else if is_ahead {
                poll.in_flight.end(Completion::Superseded);
            } else {
                poll.in_flight.end(Completion::Settled { next, demand: Demand::of(&source) });
            }
            None
        }
        Settled::Gone | Settled::Locked => {
            context.statistics.count_superseded();
            finished.poll.in_flight.end(Completion::Gone);
            None
        }
        Settled::Fenced => {
            context.statistics.count_fenced();
            info!(log, "poll fenced"; "source_id" => finished.poll.source.id.0,
                "url" => shown_url(&finished.poll.source.settings.url),
                "reason" => "another node has the source by now, and polls it; nothing of this poll was stored");
            finished.poll.in_flight.end(Completion::OtherNode);
            None
        }
        Settled::Stale(fresh) => {
            let began_at = finished.poll.in_flight.began_at();
            let is_settled = began_at.is_some() && fresh.state.last_polled >= began_at;
            let is_elsewhere = fresh.settings.url != finished.poll.source.settings.url
                || fresh.settings.source_type != finished.poll.source.settings.source_type;
            let has_new_access = !is_settled && !is_elsewhere && has_new_access(context, &finished).await;
            if is_settled || is_elsewhere || has_new_access {
                // The poll was settled before and only its completion was lost, or the answer belongs to another URL or
                // to another login: its validators would get the new login a 304 for ever.
                context.statistics.count_superseded();
                debug!(log, "poll superseded"; "source_id" => fresh.id.0, "url" => shown_url(&fresh.settings.url),
                    "is_settled" => is_settled, "has_new_access" => has_new_access);
                finished.poll.in_flight.end(Completion::Superseded);
                return None;
            }
            finished.poll.source = *fresh;
            Some(finished)
        }
    }
}

/// Tells the subscriptions at hubs what a poll of a feed with hubs found.
fn note_push(context: &PipelineContext, poll: &Poll, decision: &Decision) {
    let (before, after) = (&poll.source.state.push, &decision.source.state.push);
    if before.offer != after.offer {
        context.websub.wake();
    }
    if after.offer.is_some() && decision.counts.new > 0 && poll.source.state.first_polled_at.is_some() {
        let began_at = poll.in_flight.began_at().unwrap_or(poll.ended_at);
        context.websub.note_find(poll.source.id, push::is_followed(before, began_at));
    }
}

/// Whether the source has another login or other headers by now than the poll was made with. A login that changes after
/// this look changes the version of the source, too, so that the next attempt to settle leads here again.
async fn has_new_access(context: &PipelineContext, FinishedPoll { poll, result }: &FinishedPoll) -> bool {
    if matches!(result, PollResult::Failed { report, .. } if report.cause == FailureCause::Lost) {
        // Nothing is known of its request; it is made again with the login of then.
        return false;
    }
    let id = poll.source.id;
    let read = context.store_watch.retry_while_unavailable(|| context.store.sources_to_poll(vec![id])).await;
    match read.map(|found| found.into_iter().next().map(|ready| ready.access)) {
        Ok(Some(Ok(access))) => !access.is_same(&poll.access),
        // Without the login of the poll, or with one that cannot be opened, nothing vouches for the answer.
        Ok(Some(Err(_))) | Err(_) => true,
        Ok(None) => false,
    }
}

/// Makes a poll that the store refuses an internal failure, which keeps the record that the poll was made.
fn refused(
    context: &PipelineContext,
    log: &Logger,
    mut finished: FinishedPoll,
    cause: &StoreError,
) -> Option<(Vec<FinishedPoll>, usize)> {
    error!(log, "poll not stored"; "source_id" => finished.poll.source.id.0,
        "url" => shown_url(&finished.poll.source.settings.url), "error" => %cause);
    if let PollResult::Failed { report, .. } = &finished.result
        && classify(report.cause).kind == FailureKind::Internal
    {
        let until = context.clock.now() + context.policy().interval;
        finished.poll.in_flight.end(Completion::Deferred(Deferral { until, closed: None }));
        return None;
    }
    let trace = Box::new(finished.result.trace().clone());
    let error = format!("what was found could not be stored: {cause}");
    let report = FailureReport { cause: FailureCause::Internal, error, retry_after: None };
    finished.result = PollResult::Failed { report, trace, is_explained: false };
    Some((vec![finished], ROUNDS_MAX))
}

/// Gives a source the URL that permanent redirects have led to often enough (p22).
async fn move_source(context: &PipelineContext, log: &Logger, mut source: Source, url: String) {
    let from = shown_url(&source.settings.url);
    let now = context.clock.now();
    relocate(&mut source, url.clone());
    let id = source.id;
    let moved = NewEvent {
        url: Some(from.clone()),
        new_url: Some(shown_url(&url)),
        reason: Some("permanent redirects have led there often enough".to_owned()),
        ..of_source(&source, EventType::SourceMoved, now)
    };
    let store = context.store.telling(vec![moved]);
    match context.store_watch.retry_while_unavailable(|| store.save_source(source.clone(), now)).await {
        Ok(Saved::Written(_)) => {
            context.events.note_arrival();
            info!(log, "source moved"; "source_id" => id.0, "url" => shown_url(&url), "from" => from);
        }
        Ok(Saved::Duplicate(other)) => {
            warn!(log, "source not moved"; "source_id" => id.0, "url" => from, "to" => shown_url(&url),
                "reason" => "another source is there already", "other_source_id" => other.0);
        }
        // The other change stands; the next poll finds the redirect again.
        Ok(Saved::Stale(_) | Saved::Gone) => {}
        Err(cause) => error!(log, "source not moved"; "source_id" => id.0, "url" => from, "error" => %cause),
    }
}
