//! The scheduler: knows when each source is due, and hands due sources to their hosts. It never waits for them.
//!
//! - `budget`: how many requests all sources make together
//! - `due_index`: the schedule as plain data
//! - `loading`: reads sources from the store, all at the start and changed ones later
//! - `hand_out`: reads due sources and sends them to their hosts
//! - `clock_steps`: follows the system's time when it is set
//! - `completion`: schedules a source again when its poll is over
//! - `forced`: orders to poll a source in spite of holds
//! - `pause`: the stored pause of all polling
//! - `quarantine`: rows of the database that cannot be read
//! - `queries`: what the API asks and tells

mod budget;
mod clock_steps;
mod completion;
mod due_index;
mod forced;
mod hand_out;
mod loading;
mod pause;
mod quarantine;
mod queries;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use actix::fut::WrapFuture;
use actix::{Actor, ActorFutureExt, AsyncContext, Context, SpawnHandle};
use slog::{Logger, o};

use super::admission::PollingBlockers;
use super::context::PipelineContext;
use super::host::HostTable;
use super::in_flight::InFlightPolls;
use super::messages::CleanUp;
use super::topology::Scope;
use crate::model::{SourceId, Timestamp};
use crate::rules::spread::spread;

use budget::RequestBudget;
use due_index::DueIndex;
pub(super) use forced::ForcedPoll;
use pause::PauseState;

/// A host without polls for this long loses its entry and its actor.
const HOST_LINGER: Duration = Duration::from_secs(60);

pub(super) struct SchedulerActor {
    context: Arc<PipelineContext>,
    scope: Scope,
    table: HostTable,
    in_flight_polls: InFlightPolls,
    index: DueIndex,
    budget: RequestBudget,
    /// Notified when a run that ends by itself has ended.
    finished: Arc<tokio::sync::Notify>,
    is_loaded: bool,
    /// Last error of loading, or of reading the pause.
    loading_error: Option<String>,
    polling: PauseState,
    /// Sources that were changed and have not been read since.
    changed: HashSet<SourceId>,
    /// True while changed sources are being read.
    is_refreshing: bool,
    /// Number of readings of all sources that are under way: at the start, and after steps of the clock.
    loads: usize,
    /// Sources that were changed before all sources were read.
    changed_while_loading: HashSet<SourceId>,
    /// Sources whose last poll was lost: one that is lost again waits for the interval (s509).
    lost: HashSet<SourceId>,
    /// Orders to force a poll, each for a source that is not in flight by that order.
    forced: HashMap<SourceId, ForcedPoll>,
    /// True while the post sink removes old posts: polls come after it (s901).
    is_cleaning: bool,
    /// Steps of the clock whose waits are being moved in the store: polls come after that.
    moving_waits: usize,
    /// True while sources are being read to be handed out.
    is_reading: bool,
    /// True while a few due sources wait for others to be read with.
    is_gathering: bool,
    last_tick_at: Option<Timestamp>,
    /// Time of the last tick by the monotonic clock.
    last_tick: Option<Duration>,
    /// The last rows in quarantine that were read again.
    quarantine_checked: quarantine::CheckedUpTo,
    checked_at: Timestamp,
    alarm: Option<(Timestamp, SpawnHandle)>,
    log: Logger,
}

impl SchedulerActor {
    /// Name in fault rules.
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
            budget: RequestBudget::default(),
            finished,
            is_loaded: false,
            loading_error: None,
            polling: PauseState::Unknown,
            changed: HashSet::new(),
            is_refreshing: false,
            loads: 0,
            changed_while_loading: HashSet::new(),
            lost: HashSet::new(),
            forced: HashMap::new(),
            is_cleaning: false,
            moving_waits: 0,
            is_reading: false,
            is_gathering: false,
            last_tick_at: None,
            last_tick: None,
            quarantine_checked: quarantine::CheckedUpTo::default(),
            checked_at: Timestamp::MIN,
            alarm: None,
            log,
        }
    }

    /// Drops idle hosts, reschedules sources that are in flight no more, has old posts removed, then checks what is
    /// due.
    fn tick(&mut self, ctx: &mut Context<SchedulerActor>) {
        let now = self.context.clock.now();
        self.last_tick_at = Some(now);
        let monotonic = self.context.clock.monotonic();
        self.last_tick = Some(monotonic);
        self.table.forget_idle(monotonic.saturating_sub(HOST_LINGER), self.context.clock.now());
        let lost: Vec<SourceId> =
            self.index.in_flight().filter(|id| !self.is_reading && !self.in_flight_polls.contains(*id)).collect();
        for id in lost {
            self.index.reschedule(id, now);
        }
        self.count_all_sources(ctx);
        self.follow_budget();
        self.follow_quarantine(ctx);
        self.check_quarantine(ctx);
        self.refresh(ctx);
        let cleaning = self.context.post_sink.send(CleanUp);
        self.is_cleaning = true;
        ctx.spawn(cleaning.into_actor(self).map(|_, scheduler, ctx| {
            scheduler.is_cleaning = false;
            scheduler.check_due(ctx);
        }));
        let next = self.context.clock.until(now + self.context.settings.scheduler.tick);
        ctx.spawn(next.into_actor(self).map(|(), scheduler, ctx| scheduler.tick(ctx)));
    }

    /// Hands out what is due, and sets the alarm for what is due next.
    fn check_due(&mut self, ctx: &mut Context<SchedulerActor>) {
        if self.last_tick_at.is_none() {
            return;
        }
        let now = self.context.clock.now();
        self.checked_at = now;
        for _ in 0..self.index.fall_due(now) {
            self.context.statistics.count_due();
        }
        // In a run that ends by itself sources leave the index one by one, so the largest count is kept.
        let hosts = self.index.hosts_up_to(self.context.policy().outage.hosts as usize);
        if self.scope == Scope::Daemon || hosts > self.context.hosts_polled() {
            self.context.note_hosts_polled(hosts);
        }
        self.hand_out(ctx);
        self.set_alarm(ctx);
        self.finish_if_done();
    }

    fn set_alarm(&mut self, ctx: &mut Context<SchedulerActor>) {
        let soonest = self.checked_at + self.context.settings.scheduler.look_gap;
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
                scheduler.check_due(ctx);
            });
            self.alarm = Some((at, ctx.spawn(alarm)));
        }
    }

    /// Checks what is due at once if the last check was long enough ago; otherwise sets the alarm.
    fn wake(&mut self, ctx: &mut Context<SchedulerActor>) {
        let now = self.context.clock.now();
        let soonest = self.checked_at + self.context.settings.scheduler.look_gap;
        if soonest <= now && self.index.next_at().is_some_and(|at| at <= now) {
            self.check_due(ctx);
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

    /// Spreads the waiting sources over a window after an outage of our own network (p19).
    fn follow_blockers(&mut self, blockers: PollingBlockers, was_outage: bool, ctx: &mut Context<SchedulerActor>) {
        if was_outage && !blockers.is_outage {
            let (now, dice) = (self.context.clock.now(), self.context.dice.clone());
            let window = self.context.admission.spread_after_outage(self.context.policy().spread);
            if self.scope == Scope::Daemon {
                self.index.reschedule_all_waiting(|due_at| spread(now, due_at.min(now), window, dice.roll()));
            }
            self.wake(ctx);
        }
        let mut watch = self.context.admission.watch();
        let changing = async move {
            match watch.wait_for(|now| now.is_outage != blockers.is_outage).await {
                Ok(now) => *now,
                // The sender lives as long as the pipeline.
                Err(_) => std::future::pending().await,
            }
        };
        ctx.spawn(changing.into_actor(self).map(move |now, scheduler, ctx| {
            scheduler.follow_blockers(now, blockers.is_outage, ctx);
        }));
    }
}

impl Actor for SchedulerActor {
    type Context = Context<SchedulerActor>;

    fn started(&mut self, ctx: &mut Context<SchedulerActor>) {
        self.read_pause(ctx);
        self.load(ctx);
        self.follow_blockers(PollingBlockers::default(), false, ctx);
        self.tick(ctx);
        self.watch_clock(ctx);
    }
}
