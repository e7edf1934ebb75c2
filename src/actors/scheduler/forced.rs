//! A forced poll: made in spite of holds, `Retry-After` and the pause between two requests (p20).

use std::fmt;

use actix::{Context, Handler, Recipient};

use super::SchedulerActor;
use crate::actors::messages::ForcePoll;
use crate::model::{Source, SourceId, Timestamp};
use crate::rules::due::is_requested;

/// The order to force the next poll of a source.
///
/// One value for each order. It waits with the scheduler, travels with the poll, and returns with the completed poll.
/// If it is dropped before [`ForcedPoll::end`], because an actor crashed or a message was lost, it goes back to the
/// scheduler: the order stands until a poll of the source is settled, the source is removed, or the process ends.
pub(in crate::actors) struct ForcedPoll {
    source_id: SourceId,
    ordered_at: Timestamp,
    /// None once the order is over.
    scheduler: Option<Recipient<ForcePoll>>,
}

impl ForcedPoll {
    pub(in crate::actors) fn new(
        source_id: SourceId,
        ordered_at: Timestamp,
        scheduler: Recipient<ForcePoll>,
    ) -> ForcedPoll {
        ForcedPoll { source_id, ordered_at, scheduler: Some(scheduler) }
    }

    /// Whether the order still holds for this row of the source. It does not if the row is newer than the order and
    /// asks for no poll: the source was polled or put to rest since.
    pub(super) fn applies_to(&self, source: &Source) -> bool {
        is_requested(source) || source.updated_at <= self.ordered_at
    }

    pub(super) fn end(mut self) {
        self.scheduler = None;
    }
}

impl Drop for ForcedPoll {
    fn drop(&mut self) {
        // A scheduler that is gone would drop the order again, and so on without end.
        if let Some(scheduler) = self.scheduler.take().filter(Recipient::connected) {
            let order = ForcedPoll::new(self.source_id, self.ordered_at, scheduler.clone());
            scheduler.do_send(ForcePoll(order));
        }
    }
}

impl fmt::Debug for ForcedPoll {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ForcedPoll { source_id, ordered_at, .. } = self;
        formatter.debug_struct("ForcedPoll").field("source_id", source_id).field("ordered_at", ordered_at).finish()
    }
}

impl SchedulerActor {
    /// Keeps an order until its source is handed out. A newer order for the same source replaces an older one.
    pub(super) fn keep_forced(&mut self, order: ForcedPoll) {
        match self.forced.remove(&order.source_id) {
            Some(known) if known.ordered_at > order.ordered_at => {
                order.end();
                self.forced.insert(known.source_id, known);
            }
            known => {
                known.into_iter().for_each(ForcedPoll::end);
                self.forced.insert(order.source_id, order);
            }
        }
    }

    /// Ends the order for a source that is gone.
    pub(super) fn end_forced(&mut self, id: SourceId) {
        self.forced.remove(&id).into_iter().for_each(ForcedPoll::end);
    }
}

impl Handler<ForcePoll> for SchedulerActor {
    type Result = ();

    /// The change of the source that comes with an order makes the source due; `SourcesChanged` follows.
    fn handle(&mut self, ForcePoll(order): ForcePoll, _: &mut Context<SchedulerActor>) {
        self.keep_forced(order);
    }
}
