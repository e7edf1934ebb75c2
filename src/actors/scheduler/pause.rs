//! Whether polling is paused. A pause is a stored fact: it outlives crashes of the scheduler and of the process, and nothing is
//! handed out before it is known that there is none.

use actix::fut::WrapFuture;
use actix::{ActorFutureExt, AsyncContext, Context, Handler};
use slog::{error, info, warn};

use super::super::messages::{PausePolling, ResumePolling};
use super::super::topology::Scope;
use super::SchedulerActor;
use crate::model::Timestamp;

/// Whether anything is handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Polling {
    /// Nobody has asked the store yet.
    Unknown,
    /// Since then nothing is.
    Paused(Timestamp),
    /// Everything is that is due.
    Running,
}

impl Polling {
    /// When the pause began, if there is one.
    pub(super) fn paused_since(self) -> Option<Timestamp> {
        match self {
            Polling::Paused(since) => Some(since),
            Polling::Unknown | Polling::Running => None,
        }
    }
}

impl SchedulerActor {
    /// Asks the store whether polling is paused. A single round is an order to poll, and asks nobody.
    pub(super) fn learn_of_pause(&mut self, ctx: &mut Context<SchedulerActor>) {
        if self.scope != Scope::Daemon {
            self.polling = Polling::Running;
            return;
        }
        let context = self.context.clone();
        let reading = async move { context.store_watch.retry_while_unavailable(|| context.store.paused_since()).await };
        ctx.spawn(reading.into_actor(self).map(|paused_since, scheduler, ctx| {
            // What a person has said meanwhile is newer.
            if scheduler.polling != Polling::Unknown {
                return;
            }
            match paused_since {
                Ok(None) => scheduler.polling = Polling::Running,
                Ok(Some(since)) => {
                    warn!(scheduler.log, "polling is paused"; "since" => %since);
                    scheduler.polling = Polling::Paused(since);
                }
                Err(cause) => {
                    error!(scheduler.log, "pause not read"; "error" => %cause);
                    let again = scheduler.context.clock.now() + scheduler.context.settings.scheduler.tick;
                    let waiting = scheduler.context.clock.until(again).into_actor(scheduler);
                    ctx.spawn(waiting.map(|(), scheduler, ctx| scheduler.learn_of_pause(ctx)));
                }
            }
            scheduler.wake(ctx);
        }));
    }
}

impl Handler<PausePolling> for SchedulerActor {
    type Result = ();

    fn handle(&mut self, PausePolling { since }: PausePolling, _: &mut Context<SchedulerActor>) {
        self.polling = Polling::Paused(since);
        info!(self.log, "polling paused");
    }
}

impl Handler<ResumePolling> for SchedulerActor {
    type Result = ();

    fn handle(&mut self, _: ResumePolling, ctx: &mut Context<SchedulerActor>) {
        self.polling = Polling::Running;
        info!(self.log, "polling resumed");
        self.look(ctx);
    }
}
