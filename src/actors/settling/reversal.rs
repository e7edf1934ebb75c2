//! Failures that were counted since the last answer of any host. If an outage of our own network explains them they are
//! taken back (p31).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use slog::{Logger, error, info};

use super::batcher::{PollKey, StoredFailure, WrittenFailures, poll_key};
use crate::actors::context::PipelineContext;
use crate::actors::host::Presence;
use crate::actors::messages::SourcesChanged;
use crate::actors::poll::Poll;
use crate::model::{Breaker, FailureKind, FailureReport, HostState, NewEvent, SourceId, SourceState};
use crate::rules::classify::classify;
use crate::rules::events::source_events;
use crate::rules::outage::{is_about_source, take_back};
use crate::rules::shown_url::shown_url;
use crate::store::{Saved, StoreError};

/// The most failures that can be taken back; older ones stay counted.
const REMEMBERED_MAX: usize = 1024;
/// How often a source is computed again because it was changed meanwhile.
const ROUNDS_MAX: usize = 5;

#[derive(Default)]
pub(super) struct FailureReversal {
    /// Failures that may have to be taken back.
    counted: VecDeque<CountedFailure>,
    /// Failures that are taken back once they are stored.
    reversed: Vec<CountedFailure>,
}

pub(super) struct CountedFailure {
    key: PollKey,
    url: String,
    /// Whether it waits for its row, which another session of the database locks.
    is_locked: bool,
    /// The states of its source before and after it, once it is stored.
    stored: Option<(SourceState, SourceState)>,
    report: FailureReport,
    /// The host, which stays in the table: another entry would not get its breaker back.
    host: Option<(Presence, Breaker)>,
}

impl CountedFailure {
    /// None if no outage could explain the failure.
    pub(super) fn of(poll: &Poll, report: &FailureReport) -> Option<CountedFailure> {
        let is_network = classify(report.cause).kind == FailureKind::Network && !is_about_source(report);
        let presence = poll.permit.as_ref().map(|permit| Presence::at(&permit.host_entry));
        is_network.then(|| CountedFailure {
            key: poll_key(poll),
            url: shown_url(&poll.source.settings.url),
            is_locked: false,
            stored: None,
            report: report.clone(),
            host: presence.zip(poll.breaker_before),
        })
    }

    /// Whether the breaker of the host has counted it.
    pub(super) fn has_moved_breaker(&self, poll: &Poll) -> bool {
        let after = poll.host.as_ref().map(|host| host.breaker);
        self.host.as_ref().map(|(_, before)| *before) != after
    }
}

impl FailureReversal {
    /// Takes back this failure with the next `apply`.
    pub(super) fn take_back_later(&mut self, failure: CountedFailure) {
        self.reversed.push(failure);
    }

    /// Keeps a failure until a host answers.
    pub(super) fn remember(&mut self, failure: CountedFailure) {
        if self.counted.len() >= REMEMBERED_MAX {
            self.counted.pop_front();
        }
        self.counted.push_back(failure);
    }

    /// Keeps the stored states of failures that are in the store by now, and which of them wait for their rows.
    pub(super) fn note_written(&mut self, WrittenFailures { stored, locked }: WrittenFailures) {
        stored.into_iter().for_each(|stored| self.note_settled(stored.key, Some(stored)));
        for key in locked {
            self.known(key).for_each(|failure| failure.is_locked = failure.stored.is_none());
        }
    }

    /// Notes that a failure is settled; it may have waited for its row.
    pub(super) fn note_settled(&mut self, key: PollKey, stored: Option<StoredFailure>) {
        if let Some(failure) = self.known(key).next_back() {
            failure.is_locked = false;
            failure.stored = stored.map(|StoredFailure { before, after, .. }| (before, after));
        }
    }

    fn known(&mut self, key: PollKey) -> impl DoubleEndedIterator<Item = &mut CountedFailure> {
        self.counted.iter_mut().chain(&mut self.reversed).filter(move |known| known.key == key)
    }

    /// A host has answered: failures before stay counted.
    pub(super) fn forget(&mut self) {
        self.counted.clear();
    }

    /// Takes back all failures since the last answer with the next `apply`; returns their number.
    pub(super) fn take_back_all(&mut self) -> usize {
        let before = self.reversed.len();
        self.reversed.extend(self.counted.drain(..));
        self.reversed.len() - before
    }

    /// Takes back failures. To be called when the failures themselves are in the store; those that wait for their rows
    /// are taken back with the first call after that.
    pub(super) fn apply(&mut self, context: &Arc<PipelineContext>, log: &Logger) {
        if self.reversed.is_empty() {
            return;
        }
        let mut reversed = std::mem::take(&mut self.reversed);
        // Now, also of those that wait: a breaker that opens later has its own reasons.
        let breakers: Vec<(Presence, Breaker)> =
            reversed.iter_mut().filter_map(|failure| failure.host.take()).collect();
        (self.reversed, reversed) = reversed.into_iter().partition(|failure| failure.is_locked);
        if reversed.is_empty() && breakers.is_empty() {
            return;
        }
        let (context, log) = (context.clone(), log.clone());
        // A task of its own: it goes on if the actor crashes meanwhile.
        actix_rt::spawn(async move {
            let mut changed = Vec::new();
            for failure in &runs(&reversed) {
                match take_back_one(&context, &log, failure).await {
                    Ok(true) => changed.push(failure.source_id),
                    Ok(false) => {}
                    Err(cause) => error!(log, "failure not reverted"; "source_id" => failure.source_id.0,
                        "url" => failure.url, "error" => %cause),
                }
            }
            let hosts = close_breakers(&breakers);
            if let Err(cause) =
                context.store_watch.retry_while_unavailable(|| context.store.record_hosts(hosts.clone())).await
            {
                error!(log, "host states not stored"; "error" => %cause);
            }
            context.scheduler.do_send(SourcesChanged(changed));
        });
    }
}

/// Failures of one source in a row.
struct CountedRun<'a> {
    source_id: SourceId,
    url: &'a str,
    /// The last of them.
    report: &'a FailureReport,
    before: &'a SourceState,
    after: &'a SourceState,
}

/// The stored failures by source, from the state before the first to the state after the last: a source that is polled
/// often may have failed several times before the outage was recognised.
fn runs(failures: &[CountedFailure]) -> Vec<CountedRun<'_>> {
    let mut runs: Vec<CountedRun<'_>> = Vec::new();
    let mut places: HashMap<SourceId, usize> = HashMap::new();
    for failure in failures {
        let Some((before, after)) = &failure.stored else { continue };
        let CountedFailure { key: (source_id, _), url, report, .. } = failure;
        let known = places.get(source_id).copied();
        // Something else changed the failures in between: only what came later can be taken back.
        let first =
            known.filter(|place| runs[*place].after.failures == before.failures).map(|place| runs[place].before);
        let run = CountedRun { source_id: *source_id, url, report, before: first.unwrap_or(before), after };
        match known {
            Some(place) => runs[place] = run,
            None => {
                places.insert(*source_id, runs.len());
                runs.push(run);
            }
        }
    }
    runs
}

/// Takes the failures of one source back, unless it was polled or changed since.
async fn take_back_one(context: &PipelineContext, log: &Logger, failure: &CountedRun<'_>) -> Result<bool, StoreError> {
    let CountedRun { before, after, .. } = failure;
    for _ in 0..ROUNDS_MAX {
        let reading = context.store_watch.retry_while_unavailable(|| context.store.source(failure.source_id)).await?;
        let Some(mut source) = reading else { return Ok(false) };
        let now = context.clock.now();
        let failed = source.clone();
        if !take_back(&mut source.state, before, after, failure.report, context.timeline.last_step(), now) {
            return Ok(false);
        }
        let events = source_events(&failed, &source, &context.policy(), now).into_iter();
        let store = context.store.telling(events.map(explained_by_outage).collect());
        match context.store_watch.retry_while_unavailable(|| store.save_source(source.clone(), now)).await? {
            Saved::Written(_) => {
                info!(log, "failure reverted"; "source_id" => failure.source_id.0, "url" => failure.url,
                    "error" => &failure.report.error);
                return Ok(true);
            }
            Saved::Gone | Saved::Duplicate(_) => return Ok(false),
            Saved::Stale(_) => {}
        }
    }
    Ok(false)
}

fn explained_by_outage(event: NewEvent) -> NewEvent {
    NewEvent { reason: Some("an outage of our own network explains the failures".to_owned()), ..event }
}

/// Restores the breakers of the hosts, latest failure first.
fn close_breakers(breakers: &[(Presence, Breaker)]) -> Vec<HostState> {
    let mut hosts: Vec<HostState> = Vec::new();
    for (presence, before) in breakers.iter().rev() {
        let Some(state) = presence.host_entry().change(|state| state.breaker = *before) else { continue };
        hosts.retain(|known| known.host != state.host);
        hosts.push(state);
    }
    hosts
}
