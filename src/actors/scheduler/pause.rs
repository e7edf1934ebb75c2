//! The pause of all polling. It is stored, so it outlives crashes of the scheduler and of the process. The scheduler
//! hands out nothing before it has read that there is no pause.

use actix::fut::WrapFuture;
use actix::{ActorFutureExt, AsyncContext, Context, Handler};
use slog::{error, info, warn};

use super::SchedulerActor;
use crate::actors::host::correct_all;
use crate::actors::messages::{PausePolling, ResumePolling};
use crate::actors::topology::Scope;
use crate::model::Timestamp;

/// Whether the scheduler hands out sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PauseState {
    /// Not read from the store yet: no.
    Unknown,
    /// Not since this moment.
    Paused(Timestamp),
    Running,
}

impl PauseState {
    pub(super) fn paused_since(self) -> Option<Timestamp> {
        match self {
            PauseState::Paused(since) => Some(since),
            PauseState::Unknown | PauseState::Running => None,
        }
    }
}

impl SchedulerActor {
    /// Reads from the store whether polling is paused, and which time was trusted last, and corrects the times of hosts.
    /// A single run polls in spite of a pause.
    pub(super) fn read_pause(&mut self, ctx: &mut Context<SchedulerActor>) {
        let (context, scope) = (self.context.clone(), self.scope);
        let reading = async move {
            context.timeline.read_trust(&*context.store, &context.store_watch).await?;
            correct_all(&context).await?;
            match scope {
                Scope::Daemon => context.store_watch.retry_while_unavailable(|| context.store.paused_since()).await,
                Scope::Once { .. } => Ok(None),
            }
        };
        ctx.spawn(reading.into_actor(self).map(|paused_since, scheduler, ctx| {
            // A pause or resume that came meanwhile is newer.
            if scheduler.polling != PauseState::Unknown {
                return;
            }
            match paused_since {
                Ok(None) => scheduler.polling = PauseState::Running,
                Ok(Some(since)) => {
                    warn!(scheduler.log, "polling is paused"; "since" => %since);
                    scheduler.polling = PauseState::Paused(since);
                }
                Err(cause) => {
                    error!(scheduler.log, "pause not read"; "error" => %cause);
                    scheduler.loading_error = Some(cause.to_string());
                    let again = scheduler.context.clock.now() + scheduler.context.settings.scheduler.tick;
                    let waiting = scheduler.context.clock.until(again).into_actor(scheduler);
                    ctx.spawn(waiting.map(|(), scheduler, ctx| scheduler.read_pause(ctx)));
                }
            }
            scheduler.wake(ctx);
        }));
    }
}

impl Handler<PausePolling> for SchedulerActor {
    type Result = ();

    fn handle(&mut self, PausePolling { since }: PausePolling, _: &mut Context<SchedulerActor>) {
        self.polling = PauseState::Paused(since);
        info!(self.log, "polling paused");
    }
}

impl Handler<ResumePolling> for SchedulerActor {
    type Result = ();

    fn handle(&mut self, _: ResumePolling, ctx: &mut Context<SchedulerActor>) {
        self.polling = PauseState::Running;
        info!(self.log, "polling resumed");
        self.check_due(ctx);
    }
}
