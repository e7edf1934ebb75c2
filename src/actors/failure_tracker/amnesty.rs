//! Failures that were counted since the last answer of any host, to be taken back if an outage of our own explains them
//! (p31).

use std::collections::VecDeque;
use std::sync::Arc;

use slog::{Logger, error, info};

use super::super::context::PipelineContext;
use super::super::host_table::HostEntry;
use super::super::messages::SourcesChanged;
use super::super::poll::Poll;
use crate::model::{Breaker, FailureKind, FailureReport, HostState, SourceId, SourceState, Timestamp};
use crate::rules::classify::classify;
use crate::rules::failure::after_failure;
use crate::rules::outage::{Evidence, evidence, take_back};
use crate::rules::shown_url::shown_url;
use crate::store::{Saved, StoreError};

/// More failures than this are not remembered; the oldest stay counted.
const REMEMBERED_MAX: usize = 1024;
/// How often a source is computed anew that is changed meanwhile.
const ROUNDS_MAX: usize = 5;

/// What can be taken back, and what is to be.
#[derive(Default)]
pub(super) struct Amnesty {
    counted: VecDeque<CountedFailure>,
    declared: Vec<CountedFailure>,
}

/// A failure that was counted.
pub(super) struct CountedFailure {
    source_id: SourceId,
    url: String,
    before: SourceState,
    report: FailureReport,
    polled_at: Timestamp,
    host: Option<(Arc<HostEntry>, Breaker)>,
}

impl CountedFailure {
    /// What there is to remember of a poll that failed like this; nothing if no outage could explain it.
    pub(super) fn of(poll: &Poll, report: &FailureReport) -> Option<CountedFailure> {
        let is_network = classify(report.cause).kind == FailureKind::Network;
        let host_entry = poll.turn.as_ref().map(|turn| turn.host_entry.clone());
        (is_network && evidence(Some(report)) != Evidence::Answer).then(|| CountedFailure {
            source_id: poll.source.id,
            url: shown_url(&poll.source.settings.url),
            before: poll.source.state.clone(),
            report: report.clone(),
            polled_at: poll.ended_at,
            host: host_entry.zip(poll.breaker_before),
        })
    }

    /// Whether the breaker of the poll's host has counted it.
    pub(super) fn has_moved_breaker(&self, poll: &Poll) -> bool {
        let after = poll.host.as_ref().map(|host| host.breaker);
        self.host.as_ref().map(|(_, before)| *before) != after
    }
}

impl Amnesty {
    /// Takes back what follows from this failure, with the next ones.
    pub(super) fn take_back_later(&mut self, failure: CountedFailure) {
        self.declared.push(failure);
    }

    /// Remembers a failure until a host answers.
    pub(super) fn remember(&mut self, failure: CountedFailure) {
        if self.counted.len() >= REMEMBERED_MAX {
            self.counted.pop_front();
        }
        self.counted.push_back(failure);
    }

    /// A host has answered: what failed before stays counted.
    pub(super) fn forget(&mut self) {
        self.counted.clear();
    }

    /// An outage explains what is remembered; returns how many failures that are.
    pub(super) fn declare(&mut self) -> usize {
        let before = self.declared.len();
        self.declared.extend(self.counted.drain(..));
        self.declared.len() - before
    }

    /// Takes back what was declared. To be called when the failures themselves have been written.
    pub(super) fn carry_out(&mut self, context: &Arc<PipelineContext>, log: &Logger) {
        if self.declared.is_empty() {
            return;
        }
        let (declared, context, log) = (std::mem::take(&mut self.declared), context.clone(), log.clone());
        // A task of its own: should the actor crash meanwhile, it is done all the same.
        actix_rt::spawn(async move {
            let mut changed = Vec::new();
            for failure in &declared {
                match take_back_one(&context, &log, failure).await {
                    Ok(true) => changed.push(failure.source_id),
                    Ok(false) => {}
                    Err(cause) => error!(log, "failure not reverted"; "source_id" => failure.source_id.0,
                        "url" => &failure.url, "error" => %cause),
                }
            }
            let hosts = close_breakers(&declared);
            if let Err(cause) =
                context.store_watch.retry_while_unavailable(|| context.store.record_hosts(hosts.clone())).await
            {
                error!(log, "host states not stored"; "error" => %cause);
            }
            context.scheduler.do_send(SourcesChanged(changed));
        });
    }
}

/// Takes one failure back, if nothing has happened to its source since.
async fn take_back_one(context: &PipelineContext, log: &Logger, failure: &CountedFailure) -> Result<bool, StoreError> {
    for _ in 0..ROUNDS_MAX {
        let reading = context.store_watch.retry_while_unavailable(|| context.store.source(failure.source_id)).await?;
        let Some(mut source) = reading else { return Ok(false) };
        let mut failed = source.clone();
        failed.state = failure.before.clone();
        let after = after_failure(&failed, &failure.report, &context.policy(), failure.polled_at).state;
        let now = context.clock.now();
        if !take_back(&mut source.state, &failure.before, &after, &failure.report, now) {
            return Ok(false);
        }
        match context.store_watch.retry_while_unavailable(|| context.store.save_source(source.clone(), now)).await? {
            Saved::Written(_) => {
                info!(log, "failure reverted"; "source_id" => failure.source_id.0, "url" => &failure.url,
                    "error" => &failure.report.error);
                return Ok(true);
            }
            Saved::Gone | Saved::Duplicate(_) => return Ok(false),
            Saved::Stale(_) => {}
        }
    }
    Ok(false)
}

/// The hosts get back the breakers that they had before; the latest failure comes off first.
fn close_breakers(failures: &[CountedFailure]) -> Vec<HostState> {
    let mut hosts: Vec<HostState> = Vec::new();
    for (host_entry, before) in failures.iter().rev().filter_map(|failure| failure.host.as_ref()) {
        let Some(state) = host_entry.change(|state| state.breaker = *before) else { continue };
        hosts.retain(|known| known.host != state.host);
        hosts.push(state);
    }
    hosts
}
