//! What the API asks of the scheduler and tells it.

use actix::{Context, Handler};

use super::SchedulerActor;
use crate::actors::messages::{
    AskScheduler, AskSource, ReadSourcesAgain, ScheduledSource, SchedulerStatus, SourcesChanged,
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
        self.load(ctx);
    }
}

impl Handler<AskSource> for SchedulerActor {
    type Result = Option<ScheduledSource>;

    fn handle(&mut self, AskSource(id): AskSource, _: &mut Context<SchedulerActor>) -> Option<ScheduledSource> {
        let (at, state) = self.index.find(id)?;
        Some(ScheduledSource { at, state })
    }
}

impl Handler<AskScheduler> for SchedulerActor {
    type Result = SchedulerStatus;

    fn handle(&mut self, _: AskScheduler, _: &mut Context<SchedulerActor>) -> SchedulerStatus {
        let (scheduled, waiting, under_way) = self.index.counts();
        SchedulerStatus {
            is_loaded: self.is_loaded,
            paused_since: self.polling.paused_since(),
            scheduled,
            waiting,
            under_way,
            oldest_due_at: self.index.oldest_waiting_at(),
            last_tick_at: self.last_tick_at,
        }
    }
}
