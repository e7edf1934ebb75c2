//! Schedules a source again when its poll is over.

use std::time::Duration;

use actix::{Context, Handler};
use slog::error;

use super::{ForcedPoll, SchedulerActor};
use crate::actors::messages::{Completion, Deferral, PollCompleted, PollHeldByLock};
use crate::actors::topology::Scope;
use crate::model::{HostKey, SourceId, Timestamp};
use crate::rules::due::{NextPoll, Wait};
use crate::rules::shown_url::shown_url;
use crate::rules::spread::spread;

/// Wait of a source whose poll was lost before its publisher was asked.
const RETRY_LOST_AFTER: Duration = Duration::from_secs(60);

impl SchedulerActor {
    fn complete(&mut self, completed: PollCompleted, ctx: &mut Context<SchedulerActor>) {
        let PollCompleted { source_id: id, what, mut forced } = completed;
        let now = self.context.clock.now();
        let was_lost = self.lost.remove(&id);
        match what {
            Completion::Settled { next, demand } => {
                self.index.set_demand(id, demand);
                let next = if self.index.shares_host(id) { self.behind_siblings(next) } else { next };
                self.schedule(id, next);
                forced.take().into_iter().for_each(ForcedPoll::end);
            }
            Completion::Gone => {
                self.forget([id]);
                // It may be there and only not readable.
                self.changed.insert(id);
                self.refresh(ctx);
                forced.take().into_iter().for_each(ForcedPoll::end);
            }
            Completion::OtherNode => {
                self.forget([id]);
                // It may have become ours again.
                self.changed.insert(id);
                self.refresh(ctx);
                forced.take().into_iter().for_each(ForcedPoll::end);
            }
            Completion::Deferred(Deferral { until, closed }) => {
                if self.scope == Scope::Daemon {
                    // An order that came while the poll was in flight does not wait for what the poll was deferred for.
                    let until = if self.forced.contains_key(&id) { now } else { until };
                    self.index.reschedule(id, until);
                } else {
                    self.index.remove(id);
                }
                if let Some((host, until)) = closed {
                    self.defer_waiting(&Some(host), until);
                }
            }
            Completion::Superseded => {
                self.index.reschedule(id, now);
            }
            Completion::Lost { url, interval } => {
                self.lost.insert(id);
                let again = now + if was_lost { interval } else { interval.min(RETRY_LOST_AFTER) };
                error!(self.log, "poll lost"; "source_id" => id.0, "url" => shown_url(&url), "until" => %again,
                    "reason" => "the part of this program that held it crashed before its publisher was asked");
                self.index.reschedule(id, again);
            }
        }
        forced.into_iter().for_each(|order| self.keep_forced(order));
        self.wake(ctx);
    }

    /// Schedules a source that is in the index, or removes it.
    pub(super) fn schedule(&mut self, id: SourceId, next: NextPoll) {
        match next.at() {
            Some(at) if self.scope == Scope::Daemon => {
                self.index.reschedule(id, at);
            }
            _ => self.index.remove(id),
        }
    }

    /// Puts a source whose answer got the host held behind the other sources of that host: asked first, it would get
    /// the host held again before any of them is asked (p17, p19).
    fn behind_siblings(&self, next: NextPoll) -> NextPoll {
        match next {
            NextPoll::At { at, because: because @ (Wait::RetryAfter(_) | Wait::RateLimited | Wait::HostHeld) } => {
                NextPoll::At { at: at + self.context.policy().spread, because }
            }
            next => next,
        }
    }

    /// Reschedules the sources that wait for a host that takes no requests: the host would only send them back. Forced
    /// polls keep waiting, since the host takes them.
    fn defer_waiting(&mut self, host: &Option<HostKey>, until: Timestamp) {
        if self.scope != Scope::Daemon {
            return;
        }
        let window = self.context.policy().spread;
        let (forced, dice, now) = (&self.forced, &self.context.dice, self.context.clock.now());
        self.index.reschedule_waiting(host, |id, due_at| {
            (!forced.contains_key(&id)).then(|| spread(until, due_at.min(now), window, dice.roll()))
        });
    }
}

impl Handler<PollHeldByLock> for SchedulerActor {
    type Result = ();

    fn handle(&mut self, PollHeldByLock(id): PollHeldByLock, ctx: &mut Context<SchedulerActor>) {
        self.index.leave_host(id);
        self.wake(ctx);
    }
}

impl Handler<PollCompleted> for SchedulerActor {
    type Result = ();

    fn handle(&mut self, completed: PollCompleted, ctx: &mut Context<SchedulerActor>) {
        if self.context.faults.inject(SchedulerActor::NAME, "PollCompleted", ctx) {
            return;
        }
        self.complete(completed, ctx);
    }
}
