//! Knows what is due, and hands it to the hosts. Never waits for them.

mod forced;
mod pause;
mod queries;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use actix::fut::WrapFuture;
use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, SpawnHandle};
use slog::{Logger, error, info, o};

use super::admission::PollingBlockers;
use super::context::PipelineContext;
use super::due_index::DueIndex;
use super::host_table::HostTable;
use super::in_flight::InFlightPolls;
use super::loading::{self, Scheduled};
use super::messages::{CleanUp, Completion, Deferral, PollCompleted};
use super::poll::Poll;
use super::topology::Scope;
use crate::model::{HostKey, SourceId, SourceToPoll, Timestamp};
use crate::rules::due::{NextPoll, Wait, interval};
use crate::rules::shown_url::shown_url;
use crate::rules::spread::spread;
use crate::store::StoreError;

pub(super) use forced::ForcedPoll;
use pause::Polling;

/// How many sources are read from the store at once to be handed out.
const HAND_OUT_MAX: usize = 256;
/// Fewer than this are not read at once if others may join them.
const HAND_OUT_FEW: usize = 64;
/// How long they wait for those: a host that is being asked has another source with it already.
const GATHER: std::time::Duration = std::time::Duration::from_millis(5);
/// A host nobody had anything to do with for this long leaves.
const HOST_LINGER: std::time::Duration = std::time::Duration::from_secs(60);
/// How long a source waits that was lost before its publisher was asked.
const TRY_AGAIN: std::time::Duration = std::time::Duration::from_secs(60);

/// Hands out what is due.
pub(super) struct SchedulerActor {
    pub(super) context: Arc<PipelineContext>,
    pub(super) scope: Scope,
    table: HostTable,
    in_flight_polls: InFlightPolls,
    index: DueIndex,
    /// Called when a run that ends by itself has ended.
    finished: Arc<tokio::sync::Notify>,
    pub(super) is_loaded: bool,
    polling: Polling,
    /// Sources that somebody changed and that have not been read since.
    pub(super) changed: HashSet<SourceId>,
    /// While changed sources are being read.
    pub(super) is_refreshing: bool,
    /// Sources that were changed before all of them were read.
    pub(super) changed_while_loading: HashSet<SourceId>,
    /// Sources that came back lost the last time: one that is lost again waits for the interval (s509).
    lost: HashSet<SourceId>,
    /// Orders to force a poll, each for a source that is not in flight by that order.
    forced: HashMap<SourceId, ForcedPoll>,
    /// While what is too old is removed: polls come after it (s901).
    is_cleaning: bool,
    /// While sources are being read to be handed out.
    is_reading: bool,
    /// While a few wait for others to be read with.
    is_gathering: bool,
    last_tick_at: Option<Timestamp>,
    looked_at: Timestamp,
    alarm: Option<(Timestamp, SpawnHandle)>,
    pub(super) log: Logger,
}

impl SchedulerActor {
    /// What the fault injection calls it.
    const NAME: &'static str = "scheduler";

    pub(super) fn new(
        context: Arc<PipelineContext>,
        scope: Scope,
        table: HostTable,
        in_flight_polls: InFlightPolls,
        finished: Arc<tokio::sync::Notify>,
    ) -> SchedulerActor {
        let log = context.log.new(o!("actor" => "scheduler"));
        SchedulerActor {
            context,
            scope,
            table,
            in_flight_polls,
            index: DueIndex::default(),
            finished,
            is_loaded: false,
            polling: Polling::Unknown,
            changed: HashSet::new(),
            is_refreshing: false,
            changed_while_loading: HashSet::new(),
            lost: HashSet::new(),
            forced: HashMap::new(),
            is_cleaning: false,
            is_reading: false,
            is_gathering: false,
            last_tick_at: None,
            looked_at: Timestamp::MIN,
            alarm: None,
            log,
        }
    }

    /// The heartbeat: idle hosts leave, what was lost is found, old posts go, and then what is due is looked at.
    fn tick(&mut self, ctx: &mut Context<SchedulerActor>) {
        let now = self.context.clock.now();
        self.last_tick_at = Some(now);
        self.table.forget_idle(now - HOST_LINGER);
        let lost: Vec<SourceId> =
            self.index.out().filter(|id| !self.is_reading && !self.in_flight_polls.contains(*id)).collect();
        for id in lost {
            self.index.reschedule(id, now);
        }
        let cleaning = self.context.post_sink.send(CleanUp);
        self.is_cleaning = true;
        ctx.spawn(cleaning.into_actor(self).map(|_, scheduler, ctx| {
            scheduler.is_cleaning = false;
            scheduler.look(ctx);
        }));
        let next = self.context.clock.until(now + self.context.settings.scheduler.tick);
        ctx.spawn(next.into_actor(self).map(|(), scheduler, ctx| scheduler.tick(ctx)));
    }

    /// Hands out what is due, and sets the alarm for what is due next.
    fn look(&mut self, ctx: &mut Context<SchedulerActor>) {
        if self.last_tick_at.is_none() {
            return;
        }
        let now = self.context.clock.now();
        self.looked_at = now;
        for _ in 0..self.index.fall_due(now) {
            self.context.statistics.count_due();
        }
        // In a run that ends by itself sources leave one by one, and what was polled counts.
        let hosts = self.index.hosts_up_to(self.context.policy().outage.hosts as usize);
        if self.scope == Scope::Daemon || hosts > self.context.hosts_polled() {
            self.context.note_hosts_polled(hosts);
        }
        self.hand_out(ctx);
        self.set_alarm(ctx);
        self.finish_if_done();
    }

    fn set_alarm(&mut self, ctx: &mut Context<SchedulerActor>) {
        let soonest = self.looked_at + self.context.settings.scheduler.look_gap;
        let next = self.index.next_at().map(|at| at.max(soonest));
        if self.alarm.as_ref().map(|(at, _)| *at) == next {
            return;
        }
        if let Some((_, handle)) = self.alarm.take() {
            ctx.cancel_future(handle);
        }
        if let Some(at) = next {
            let alarm = self.context.clock.until(at).into_actor(self).map(|(), scheduler, ctx| {
                scheduler.alarm = None;
                scheduler.look(ctx);
            });
            self.alarm = Some((at, ctx.spawn(alarm)));
        }
    }

    /// Hands out the next sources, perhaps a moment later.
    fn hand_out(&mut self, ctx: &mut Context<SchedulerActor>) {
        if self.is_gathering {
            return;
        }
        if self.is_reading || !self.index.has_ready() || !self.index.has_few_ready(HAND_OUT_FEW) {
            return self.hand_out_now(ctx);
        }
        self.is_gathering = true;
        ctx.run_later(GATHER, |scheduler, ctx| {
            scheduler.is_gathering = false;
            scheduler.hand_out_now(ctx);
        });
    }

    /// Reads the next sources and hands them out, unless that is being done.
    fn hand_out_now(&mut self, ctx: &mut Context<SchedulerActor>) {
        if self.is_reading || self.is_cleaning || self.polling != Polling::Running || !self.index.has_ready() {
            return;
        }
        let taken = self.index.take_ready(HAND_OUT_MAX);
        self.is_reading = true;
        let (context, table) = (self.context.clone(), self.table.clone());
        let reading = async move {
            let found = read(&context, &table, taken.iter().map(|(id, _)| *id).collect()).await;
            (taken, found)
        };
        ctx.spawn(reading.into_actor(self).map(|(taken, found), scheduler, ctx| {
            scheduler.is_reading = false;
            match found {
                Ok(found) => scheduler.send_out(&taken, found),
                Err(cause) => {
                    error!(scheduler.log, "due sources not read"; "error" => %cause, "count" => taken.len());
                    let again = scheduler.context.clock.now() + scheduler.context.settings.scheduler.tick;
                    for (id, _) in taken {
                        scheduler.index.reschedule(id, again);
                    }
                }
            }
            scheduler.look(ctx);
        }));
    }

    /// What is in the store counts: a source that is not due after all is scheduled anew.
    fn send_out(&mut self, taken: &[(SourceId, Timestamp)], found: Vec<(SourceToPoll, Option<HostKey>)>) {
        let mut missing: HashSet<SourceId> = taken.iter().map(|(id, _)| *id).collect();
        let due_at: HashMap<SourceId, Timestamp> = taken.iter().copied().collect();
        for (ready, host) in found {
            let id = ready.source.id;
            missing.remove(&id);
            let next = loading::next_poll(&ready.source, self.scope, &self.context);
            self.index.rehost(id, host.clone());
            // Asked after the sum was made: "now" may be its result.
            let now = self.context.clock.now();
            if !next.is_due(now) {
                self.schedule(id, next);
                continue;
            }
            // One that is still under way for a scheduler that crashed comes back by itself.
            let Some(mut in_flight) =
                self.in_flight_polls.begin(&ready.source, interval(&ready.source, &self.context.policy()))
            else {
                continue;
            };
            match self.forced.remove(&id) {
                Some(order) if order.applies_to(&ready.source) => in_flight.force(order),
                order => order.into_iter().for_each(ForcedPoll::end),
            }
            let poll = Poll::new(in_flight, ready, due_at.get(&id).copied().unwrap_or(now));
            self.table.send(&host, Box::new(poll), &self.context);
        }
        self.forget(missing);
    }

    /// Whoever got its host held comes back behind the others: asked first, it would get the host held again before any of
    /// them had its turn (p17, p19).
    fn behind_the_others(&self, next: NextPoll) -> NextPoll {
        match next {
            NextPoll::At { at, because: because @ (Wait::RetryAfter(_) | Wait::RateLimited | Wait::HostHeld) } => {
                NextPoll::At { at: at + self.context.policy().spread, because }
            }
            next => next,
        }
    }

    /// Schedules a source that is known, or forgets it.
    fn schedule(&mut self, id: SourceId, next: NextPoll) {
        match next.at() {
            Some(at) if self.scope == Scope::Daemon => {
                self.index.reschedule(id, at);
            }
            _ => self.index.remove(id),
        }
    }

    /// Takes sources that were read.
    pub(super) fn learn(&mut self, scheduled: Vec<Scheduled>, ctx: &mut Context<SchedulerActor>) {
        for Scheduled { id, host, next } in scheduled {
            if self.index.is_out(id) {
                continue;
            }
            match next.at() {
                Some(at) if self.scope == Scope::Daemon || at <= self.context.clock.now() => {
                    self.index.schedule(id, host, at);
                }
                _ => self.index.remove(id),
            }
        }
        self.wake(ctx);
    }

    /// Forgets sources that are gone. One that is still under way comes back to nothing.
    pub(super) fn forget(&mut self, gone: impl IntoIterator<Item = SourceId>) {
        for id in gone {
            self.index.remove(id);
            self.end_forced(id);
        }
    }

    /// All sources have been read.
    pub(super) fn loaded(&mut self, count: usize, ctx: &mut Context<SchedulerActor>) {
        self.is_loaded = true;
        info!(self.log, "sources loaded"; "count" => count, "scheduled" => self.index.counts().0);
        self.changed.extend(self.changed_while_loading.drain());
        self.refresh(ctx);
        self.look(ctx);
    }

    /// Looks at once if something is due and the last look was long enough ago; otherwise the alarm is set.
    fn wake(&mut self, ctx: &mut Context<SchedulerActor>) {
        let now = self.context.clock.now();
        let soonest = self.looked_at + self.context.settings.scheduler.look_gap;
        if soonest <= now && self.index.next_at().is_some_and(|at| at <= now) {
            self.look(ctx);
        } else if self.last_tick_at.is_some() {
            self.hand_out(ctx);
            self.set_alarm(ctx);
            self.finish_if_done();
        }
    }

    fn finish_if_done(&mut self) {
        let is_once = self.scope != Scope::Daemon;
        if is_once && self.is_loaded && !self.is_reading && self.index.is_empty() && self.in_flight_polls.len() == 0 {
            self.finished.notify_one();
        }
    }

    fn take_back(&mut self, completed: PollCompleted, ctx: &mut Context<SchedulerActor>) {
        let PollCompleted { source_id: id, what, mut forced } = completed;
        let now = self.context.clock.now();
        let was_lost = self.lost.remove(&id);
        match what {
            Completion::Settled(next) => {
                let next = if self.index.has_siblings(id) { self.behind_the_others(next) } else { next };
                self.schedule(id, next);
                forced.take().into_iter().for_each(ForcedPoll::end);
            }
            Completion::Gone => {
                self.forget([id]);
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
                    self.close_line(&Some(host), until);
                }
            }
            Completion::Superseded => {
                self.index.reschedule(id, now);
            }
            Completion::Lost { url, interval } => {
                self.lost.insert(id);
                let again = now + if was_lost { interval } else { interval.min(TRY_AGAIN) };
                slog::error!(self.log, "poll lost"; "source_id" => id.0, "url" => shown_url(&url), "until" => %again,
                    "reason" => "the part of this program that held it crashed before its publisher was asked");
                self.index.reschedule(id, again);
            }
        }
        forced.into_iter().for_each(|order| self.keep_forced(order));
        self.wake(ctx);
    }

    /// Nobody who waits for this host needs to be read and sent there just to be sent back.
    fn close_line(&mut self, host: &Option<HostKey>, until: Timestamp) {
        if self.scope != Scope::Daemon {
            return;
        }
        let window = self.context.policy().spread;
        let (forced, dice) = (&self.forced, &self.context.dice);
        self.index.clear_line(host, |id, due_at| {
            (!forced.contains_key(&id)).then(|| spread(until, due_at, window, dice.roll()))
        });
    }

    /// After an outage of our own, those who wait come back spread out (p19).
    fn follow_blockers(&mut self, blockers: PollingBlockers, was_outage: bool, ctx: &mut Context<SchedulerActor>) {
        if was_outage && !blockers.is_outage {
            let (now, dice) = (self.context.clock.now(), self.context.dice.clone());
            let window = self.context.admission.spread_after_outage(self.context.policy().spread);
            if self.scope == Scope::Daemon {
                self.index.clear_lines(|due_at| spread(now, due_at, window, dice.roll()));
            }
            self.wake(ctx);
        }
        let mut watch = self.context.admission.watch();
        let changing = async move {
            match watch.wait_for(|now| now.is_outage != blockers.is_outage).await {
                Ok(now) => *now,
                // The sender is gone only when everything is.
                Err(_) => std::future::pending().await,
            }
        };
        ctx.spawn(changing.into_actor(self).map(move |now, scheduler, ctx| {
            scheduler.follow_blockers(now, blockers.is_outage, ctx);
        }));
    }
}

/// Reads sources and opens the entries of their hosts.
async fn read(
    context: &PipelineContext,
    table: &HostTable,
    ids: Vec<SourceId>,
) -> Result<Vec<(SourceToPoll, Option<HostKey>)>, StoreError> {
    let found = context.store_watch.retry_while_unavailable(|| context.store.sources_to_poll(ids.clone())).await?;
    let with_host = |ready: SourceToPoll| {
        let host = loading::host_of(&ready.source, context);
        (ready, host)
    };
    let found: Vec<_> = found.into_iter().map(with_host).collect();
    table.open(found.iter().map(|(_, host)| host.clone()).collect(), context).await?;
    Ok(found)
}

impl Actor for SchedulerActor {
    type Context = Context<SchedulerActor>;

    fn started(&mut self, ctx: &mut Context<SchedulerActor>) {
        self.learn_of_pause(ctx);
        self.load(ctx);
        self.follow_blockers(PollingBlockers::default(), false, ctx);
        self.tick(ctx);
    }
}

impl Handler<PollCompleted> for SchedulerActor {
    type Result = ();

    fn handle(&mut self, completed: PollCompleted, ctx: &mut Context<SchedulerActor>) {
        if self.context.faults.inject(SchedulerActor::NAME, "PollCompleted", ctx) {
            return;
        }
        self.take_back(completed, ctx);
    }
}
