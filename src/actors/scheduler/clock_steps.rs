//! Compares the clock with the system's time. When that was set, all times in memory move with it, waits in the store
//! follow, and the schedule is built again.

use std::time::Duration;

use actix::fut::WrapFuture;
use actix::{ActorFutureExt, AsyncContext, Context};
use slog::{error, warn};

use super::SchedulerActor;
use crate::actors::messages::ClockStepped;
use crate::model::{ClockStep, HostKey, HostState};
use crate::rules::stored_times::moved_polls;

/// Time between two comparisons.
const COMPARE_EVERY: Duration = Duration::from_secs(5);

impl SchedulerActor {
    /// Compares the clocks, now and every few seconds.
    pub(super) fn watch_clock(&mut self, ctx: &mut Context<SchedulerActor>) {
        if let Some(step) = self.context.clock.follow_step() {
            self.follow_step(step, ctx);
        }
        let clock = &self.context.clock;
        let next = clock.until(clock.now() + COMPARE_EVERY);
        ctx.spawn(next.into_actor(self).map(|(), scheduler, ctx| scheduler.watch_clock(ctx)));
    }

    fn follow_step(&mut self, step: ClockStep, ctx: &mut Context<SchedulerActor>) {
        let direction = if step.is_back() { "back" } else { "ahead" };
        warn!(self.log, "clock stepped"; "direction" => direction, "step_seconds" => step.size().as_secs(),
            "from" => %step.from, "to" => %step.to,
            "reason" => "the system's time was set; running waits keep their length, and the schedule is built again");
        self.context.statistics.count_clock_step();
        let polls = moved_polls(step, self.context.timeline.continuous_since());
        self.context.timeline.note_step(step);
        self.context.timeline.begin_move();
        let hosts = self.table.follow(step, self.context.clock.now());
        self.context.failure_tracker.do_send(ClockStepped(step));
        self.checked_at = step.moved(self.checked_at);
        self.last_tick_at = self.last_tick_at.map(|at| step.moved(at));
        let (context, log) = (self.context.clone(), self.log.clone());
        // A task of its own: it goes on if the actor crashes meanwhile.
        let moving = actix_rt::spawn(async move {
            let in_memory: Vec<HostKey> = hosts.iter().filter_map(|host| host.key.clone()).collect();
            let shards = context.fleet.shards();
            let moving = || context.store.move_waits(step, polls, in_memory.clone(), shards.clone());
            let moved = context.store_watch.retry_while_unavailable(moving).await;
            let states: Vec<HostState> = hosts.iter().filter_map(|host| host.state()).collect();
            let storing = || context.store.correct_hosts(states.clone());
            let stored = context.store_watch.retry_while_unavailable(storing).await;
            if let Err(cause) = moved.and(stored) {
                error!(log, "waits not moved"; "error" => %cause);
            }
            context.timeline.end_move();
            context.full_texts.wake();
            context.events.note_arrival();
        });
        // A hold that is not moved yet could seem to be over.
        self.moving_waits += 1;
        ctx.spawn(moving.into_actor(self).map(|_, scheduler, ctx| {
            scheduler.moving_waits -= 1;
            scheduler.load(ctx);
        }));
    }
}
