//! What the API asks of the scheduler and tells it.

use actix::{Context, Handler, MessageResult};

use super::SchedulerActor;
use super::pause::PauseState;
use crate::actors::messages::{
    AskHost, AskScheduler, AskSource, ReadSourcesAgain, ScheduledSource, SchedulerStatus, ShardsChanged, SourcesChanged,
};

impl Handler<SourcesChanged> for SchedulerActor {
    type Result = ();

    fn handle(&mut self, SourcesChanged(ids): SourcesChanged, ctx: &mut Context<SchedulerActor>) {
        if self.context.faults.inject(SchedulerActor::NAME, "SourcesChanged", ctx) {
            return;
        }
        self.changed.extend(ids);
        self.refresh(ctx);
    }
}

impl Handler<ReadSourcesAgain> for SchedulerActor {
    type Result = ();

    fn handle(&mut self, _: ReadSourcesAgain, ctx: &mut Context<SchedulerActor>) {
        self.load_by_other_rules(ctx);
    }
}

impl Handler<ShardsChanged> for SchedulerActor {
    type Result = ();

    fn handle(&mut self, changed: ShardsChanged, ctx: &mut Context<SchedulerActor>) {
        let ShardsChanged { gained, left } = changed;
        self.leave_shards(&left);
        if !gained.is_empty() {
            self.load_shards(gained, ctx);
        }
    }
}

impl Handler<AskSource> for SchedulerActor {
    type Result = Option<ScheduledSource>;

    fn handle(&mut self, AskSource(id): AskSource, _: &mut Context<SchedulerActor>) -> Option<ScheduledSource> {
        let (at, state) = self.index.find(id)?;
        Some(ScheduledSource { at, state })
    }
}

impl Handler<AskHost> for SchedulerActor {
    type Result = MessageResult<AskHost>;

    fn handle(&mut self, AskHost(host): AskHost, _: &mut Context<SchedulerActor>) -> MessageResult<AskHost> {
        MessageResult(self.index.queue_of(&Some(host)))
    }
}

impl SchedulerActor {
    fn not_loaded_because(&self) -> Option<String> {
        let is_ready = self.is_loaded && self.polling != PauseState::Unknown;
        let unknown = || "the database has not answered yet".to_owned();
        (!is_ready).then(|| self.loading_error.clone().unwrap_or_else(unknown))
    }
}

impl Handler<AskScheduler> for SchedulerActor {
    type Result = SchedulerStatus;

    fn handle(&mut self, _: AskScheduler, _: &mut Context<SchedulerActor>) -> SchedulerStatus {
        let (scheduled, waiting, under_way) = self.index.counts();
        let monotonic = self.context.clock.monotonic();
        SchedulerStatus {
            is_loaded: self.is_loaded,
            not_loaded_because: self.not_loaded_because(),
            paused_since: self.polling.paused_since(),
            scheduled,
            waiting,
            under_way,
            oldest_due_at: self.index.oldest_waiting_at(),
            last_tick_at: self.last_tick_at,
            overdue: self.index.oldest_ready_at().map(|at| self.context.clock.now().since(at)),
            since_last_tick: self.last_tick.map(|tick| monotonic.saturating_sub(tick)),
        }
    }
}
