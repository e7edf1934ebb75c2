//! The host actor: sends requests to one host, one at a time and spaced, in the order in which the sources fell due.
//!
//! - `table`: the hosts that have an entry, and what outlives their actors
//! - `permit`: the wait for a request permit
//! - `robots`: what a poll needs before its request, such as robots.txt or a key
//! - `response`: what follows from an answer, or from none
//! - `request_log`: the last requests
//! - `document`: documents that are fetched outside of polls, at the turns of the same hosts

mod document;
mod permit;
mod request_log;
mod response;
mod robots;
mod table;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix::fut::WrapFuture;
use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, SpawnHandle};
use slog::{Logger, debug, error, o};

use super::context::PipelineContext;
use super::messages::{Completion, Deferral, FetchFinished, FetchOutcome, FetchSource, PollFailed, PollSource};
use super::poll::{Poll, RequestPermit};
use crate::fetch::Trace;
use crate::model::{FailureCause, FailureReport, HostKey, SourceId, Timestamp};
use crate::rules::delay::delay;
use crate::rules::shown_url::shown_url;
use crate::rules::spread;
pub(super) use document::{DocumentFetcher, HostTurn, NoTurn};
use permit::is_spaced;
pub(super) use permit::{PermitRequest, WaitEnd, wait_for_permit};
pub(super) use request_log::RequestLog;
use robots::{Prepared, prepare};
pub use table::HostCounts;
use table::WeakHostTable;
pub(super) use table::{HostEntry, HostTable, Presence, correct_all};

/// The most polls that wait at one host; further ones go back to the scheduler.
const QUEUE_MAX: usize = 1024;

/// Order of the polls in the queue of a host, first to last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum QueuePriority {
    Forced,
    /// Made a request already, and was redirected or had to read robots.txt first.
    Begun,
    DueAt(Timestamp),
}

pub(super) struct HostActor {
    host_entry: Arc<HostEntry>,
    context: Arc<PipelineContext>,
    table: WeakHostTable,
    queue: BTreeMap<(QueuePriority, SourceId), Box<Poll>>,
    /// Set while the actor waits for a permit for the first poll in the queue.
    waiting: Option<SpawnHandle>,
    log: Logger,
}

impl HostActor {
    /// Name in fault rules.
    const NAME: &'static str = "host";

    fn new(host_entry: Arc<HostEntry>, context: Arc<PipelineContext>, table: WeakHostTable) -> HostActor {
        let log = context.log.new(o!("host" => host_entry.key.as_ref().map(HostKey::to_string)));
        HostActor { host_entry, context, table, queue: BTreeMap::new(), waiting: None, log }
    }

    fn enqueue(&mut self, poll: Box<Poll>, ctx: &mut Context<HostActor>) {
        if self.queue.len() >= QUEUE_MAX {
            let until = self.context.clock.now() + self.context.settings.scheduler.tick;
            return self.send_back(poll, until, None, "too many wait for it");
        }
        let priority = priority(&poll);
        if matches!(priority, QueuePriority::Forced | QueuePriority::Begun)
            && let Some(waiting) = self.waiting.take()
        {
            // The wait for the poll that was first may be longer: for the host, or for a drain that never ends.
            ctx.cancel_future(waiting);
        }
        self.queue.insert((priority, poll.source.id), poll);
        self.wait(ctx);
    }

    /// Waits for a permit for the first poll in the queue, unless the actor already waits.
    fn wait(&mut self, ctx: &mut Context<HostActor>) {
        if self.waiting.is_some() {
            return;
        }
        self.give_up_lost();
        let Some(first) = self.queue.values().next() else { return };
        let state = &first.source.state;
        let request = PermitRequest {
            pause: self.pause(first),
            has_begun: first.in_flight.began_at().is_some(),
            is_forced: first.in_flight.is_forced(),
            is_healthy: state.failures.consecutive == 0 && state.last_success_at.is_some(),
        };
        let waiting = wait_for_permit(self.host_entry.clone(), self.context.clone(), request);
        let handle = ctx.spawn(waiting.into_actor(self).map(|end, host, ctx| {
            host.waiting = None;
            match end {
                WaitEnd::Permitted(permit) => host.begin_request(permit, ctx),
                WaitEnd::Closed { until, because } => {
                    let closed = host.host_entry.key.clone().map(|key| (key, until));
                    host.send_all_back(until, host.context.policy().spread, closed, &because);
                }
                WaitEnd::AfterOutage => {
                    let window = host.context.admission.spread_after_outage(host.context.policy().spread);
                    host.send_all_back(host.context.clock.now(), window, None, "our own network was down");
                }
            }
            host.wait(ctx);
        }));
        self.waiting = Some(handle);
    }

    /// Ends polls that have not begun and whose shard is another node's by now, or is to be.
    fn give_up_lost(&mut self) {
        let is_lost = |poll: &Poll| poll.in_flight.began_at().is_none() && !poll.in_flight.claim().is_usable();
        while let Some(first) = self.queue.first_entry().filter(|first| is_lost(first.get())) {
            first.remove().in_flight.end(Completion::OtherNode);
        }
    }

    fn pause(&self, poll: &Poll) -> Duration {
        if poll.in_flight.is_forced() {
            return Duration::ZERO;
        }
        delay(&poll.source.settings, self.host_entry.key.as_ref(), &self.context.policy().delays).pause
    }

    /// Makes the request of the poll that is first in the queue now.
    fn begin_request(&mut self, permit: RequestPermit, ctx: &mut Context<HostActor>) {
        self.give_up_lost();
        let Some((key, mut poll)) = self.queue.pop_first() else { return };
        if !poll.in_flight.is_forced() && !is_spaced(&self.host_entry, self.pause(&poll), &self.context) {
            // This poll fell due earlier than the one that the permit was for, and its source asks for a longer pause.
            self.queue.insert(key, poll);
            return;
        }
        poll.in_flight.begin_requests(self.context.clock.now());
        // A host that asks for pauses gets a new connection each time: one that broke meanwhile would need another
        // request at once.
        poll.keeps_connection = self.queue.values().next().is_some_and(|next| self.pause(next).is_zero());
        poll.permit = Some(permit);
        let preparing = prepare(poll, self.context.clone());
        ctx.spawn(preparing.into_actor(self).map(|prepared, host, ctx| match prepared {
            Prepared::Ready(poll) => {
                host.context.fetcher().do_send(FetchSource { poll, host: ctx.address() });
            }
            Prepared::Refused(mut poll, report) => {
                poll.ended_at = host.context.clock.now();
                host.fail(poll, report, Trace::default());
            }
            Prepared::Unreadable(poll, error) => {
                let until = host.context.clock.now() + host.context.settings.scheduler.tick;
                error!(host.log, "poll not prepared"; "source_id" => poll.source.id.0,
                    "url" => shown_url(&poll.source.settings.url), "error" => error);
                defer(*poll, until, None, "the store refused what the poll needs", &host.context);
            }
        }));
    }

    /// Sends all polls in the queue back, to come again at different moments within the window (p19, p33).
    fn send_all_back(
        &mut self,
        freed_at: Timestamp,
        window: Duration,
        closed: Option<(HostKey, Timestamp)>,
        because: &str,
    ) {
        let now = self.context.clock.now();
        for poll in std::mem::take(&mut self.queue).into_values() {
            // It is due; by a clock that was set back meanwhile it may seem to be due later.
            let until = spread::spread(freed_at, poll.due_at.min(now), window, self.context.dice.roll());
            self.send_back(poll, until, closed.clone(), because);
        }
    }

    /// Sends a poll back to the scheduler. A poll that has made a request ends in a record instead, as an internal
    /// failure that counts against no source.
    fn send_back(&self, poll: Box<Poll>, until: Timestamp, closed: Option<(HostKey, Timestamp)>, because: &str) {
        if poll.in_flight.began_at().is_none() {
            return defer(*poll, until, closed, because, &self.context);
        }
        let host = self.host_entry.key.as_ref().map(HostKey::to_string).unwrap_or_default();
        let error = format!("its next request goes to {host}, which gets none before {until}: {because}");
        let report = FailureReport { cause: FailureCause::Internal, error, retry_after: None };
        let trace = Box::new(Trace::default());
        self.context.failure_tracker.do_send(PollFailed { poll, report, trace, is_explained: true });
    }
}

fn priority(poll: &Poll) -> QueuePriority {
    match poll.in_flight.began_at() {
        _ if poll.in_flight.is_forced() => QueuePriority::Forced,
        Some(_) => QueuePriority::Begun,
        None => QueuePriority::DueAt(poll.due_at),
    }
}

/// Sends a poll that made no request back to the scheduler.
fn defer(poll: Poll, until: Timestamp, closed: Option<(HostKey, Timestamp)>, because: &str, context: &PipelineContext) {
    context.statistics.count_deferred();
    debug!(context.log, "source deferred"; "source_id" => poll.source.id.0,
        "url" => shown_url(&poll.source.settings.url), "until" => %until, "reason" => because);
    poll.in_flight.end(Completion::Deferred(Deferral { until, closed }));
}

impl Actor for HostActor {
    type Context = Context<HostActor>;
}

impl Handler<PollSource> for HostActor {
    type Result = ();

    fn handle(&mut self, PollSource(poll): PollSource, ctx: &mut Context<HostActor>) {
        if self.context.faults.inject(HostActor::NAME, "PollSource", ctx) {
            return;
        }
        self.enqueue(poll, ctx);
    }
}

impl Handler<FetchFinished> for HostActor {
    type Result = ();

    fn handle(&mut self, finished: FetchFinished, ctx: &mut Context<HostActor>) {
        if self.context.faults.inject(HostActor::NAME, "FetchFinished", ctx) {
            return;
        }
        let FetchFinished { mut poll, mut outcome } = finished;
        if let Some(step) = self.context.timeline.step_since(poll.ended_at) {
            poll.ended_at = step.moved(poll.ended_at);
            match &mut outcome {
                FetchOutcome::Document(fetched) => fetched.follow(step),
                FetchOutcome::Robots(fetched) => fetched.follow(step),
            }
        }
        match outcome {
            FetchOutcome::Document(fetched) => self.document_finished(poll, fetched, ctx),
            FetchOutcome::Robots(fetched) => self.robots_finished(poll, *fetched, ctx),
        }
    }
}
