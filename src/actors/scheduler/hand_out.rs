//! Reads due sources from the store in batches and sends them to their hosts.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use actix::fut::WrapFuture;
use actix::{ActorFutureExt, AsyncContext, Context};
use slog::error;

use super::pause::PauseState;
use super::{ForcedPoll, SchedulerActor, loading};
use crate::actors::context::PipelineContext;
use crate::actors::host::HostTable;
use crate::actors::poll::Poll;
use crate::model::{HostKey, Shard, SourceId, SourceToPoll, Timestamp};
use crate::rules::interval::interval;
use crate::store::StoreError;

/// The most sources that are read from the store at once.
const BATCH_MAX: usize = 256;
/// Fewer sources than this wait a moment for others to be read with.
const BATCH_FEW: usize = 64;
/// Length of that moment. It delays no host: a host has a second source with it while the first is asked for.
const GATHER: Duration = Duration::from_millis(5);

impl SchedulerActor {
    /// Hands out the next sources, perhaps a moment later.
    pub(super) fn hand_out(&mut self, ctx: &mut Context<SchedulerActor>) {
        if self.is_gathering {
            return;
        }
        if self.is_reading || !self.index.has_ready() || !self.index.has_few_ready(BATCH_FEW) {
            return self.hand_out_now(ctx);
        }
        self.is_gathering = true;
        ctx.run_later(GATHER, |scheduler, ctx| {
            scheduler.is_gathering = false;
            scheduler.hand_out_now(ctx);
        });
    }

    /// Reads the next sources and sends them to their hosts, one batch at a time.
    fn hand_out_now(&mut self, ctx: &mut Context<SchedulerActor>) {
        let is_busy = self.is_reading || self.is_cleaning || self.moving_waits > 0;
        if is_busy || self.polling != PauseState::Running || !self.index.has_ready() {
            return;
        }
        let taken = self.index.take_ready(BATCH_MAX);
        self.is_reading = true;
        let (context, table) = (self.context.clone(), self.table.clone());
        let reading = async move {
            let moves = context.timeline.until_moved().await;
            let found = read(&context, &table, taken.iter().map(|(id, _)| *id).collect()).await;
            (taken, found, moves)
        };
        ctx.spawn(reading.into_actor(self).map(|(taken, found, moves), scheduler, ctx| {
            scheduler.is_reading = false;
            match found {
                Ok(_) if scheduler.has_stepped_since(moves) => {
                    let now = scheduler.context.clock.now();
                    for (id, _) in taken {
                        scheduler.index.reschedule(id, now);
                    }
                }
                Ok(found) => {
                    scheduler.send_to_hosts(&taken, found);
                    scheduler.follow_quarantine(ctx);
                }
                Err(cause) => {
                    error!(scheduler.log, "due sources not read"; "error" => %cause, "count" => taken.len());
                    let again = scheduler.context.clock.now() + scheduler.context.settings.scheduler.tick;
                    for (id, _) in taken {
                        scheduler.index.reschedule(id, again);
                    }
                }
            }
            scheduler.check_due(ctx);
        }));
    }

    /// Sends sources to their hosts. The row in the store decides: a source that is not due after all is rescheduled.
    fn send_to_hosts(&mut self, taken: &[(SourceId, Timestamp)], mut found: Vec<(SourceToPoll, Option<HostKey>)>) {
        let mut missing: HashSet<SourceId> = taken.iter().map(|(id, _)| *id).collect();
        let due_at: HashMap<SourceId, Timestamp> = taken.iter().copied().collect();
        // The store returns the rows in any order; the source that has been due for longest gets the first free slot.
        found.sort_by_key(|(ready, _)| (due_at.get(&ready.source.id).copied(), ready.source.id));
        for (ready, host) in found {
            let id = ready.source.id;
            missing.remove(&id);
            let next = loading::next_poll(&ready.source, self.scope, &self.context);
            self.index.move_to_host(id, host.clone());
            // The clock is read after the computation, whose result may be the moment of the computation itself.
            let now = self.context.clock.now();
            if !next.is_due(now) {
                self.schedule(id, next);
                continue;
            }
            let Some(claim) = self.context.fleet.claim(Shard::of_source(&ready.source.settings)) else {
                self.forget([id]);
                continue;
            };
            // A poll that is still in flight for a scheduler that crashed comes back by itself.
            let Some(mut in_flight) =
                self.in_flight_polls.begin(&ready.source, interval(&ready.source, &self.context.policy()), claim)
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
}

/// Reads sources and opens the entries of their hosts.
async fn read(
    context: &PipelineContext,
    table: &HostTable,
    ids: Vec<SourceId>,
) -> Result<Vec<(SourceToPoll, Option<HostKey>)>, StoreError> {
    let mut found = context.store_watch.retry_while_unavailable(|| context.store.sources_to_poll(ids.clone())).await?;
    loading::correct(context, found.iter_mut().map(|ready| &mut ready.source)).await?;
    let with_host = |ready: SourceToPoll| {
        let host = loading::host_of(&ready.source, context);
        (ready, host)
    };
    let found: Vec<_> = found.into_iter().map(with_host).collect();
    table.open(found.iter().map(|(_, host)| host.clone()).collect(), context).await?;
    Ok(found)
}
