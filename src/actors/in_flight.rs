//! A source that was handed out, on its way through the pipeline and back.
//!
//! A poll in flight comes back to the scheduler exactly once, when it is dropped: with what became of it, or as lost if whoever
//! held it crashed before the publisher was asked. If that happens afterwards it goes to the failure tracker first, so that
//! every poll ends in a record. So no crash can make anybody forget a source, and no source is under way twice.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix::Recipient;
use parking_lot::Mutex;

use super::messages::{Completion, PollCompleted, PollLost};
use super::scheduler::ForcedPoll;
use crate::model::{Source, SourceId, Timestamp};

/// Everything that is under way. Clones are the same.
#[derive(Clone)]
pub(super) struct InFlightPolls(Arc<Inner>);

struct Inner {
    /// Outlives the scheduler, so that one that was started again does not hand out what is still under way.
    under_way: Mutex<HashSet<SourceId>>,
    /// How many of them have been asked for.
    asked: AtomicUsize,
    scheduler: Recipient<PollCompleted>,
    failure_tracker: Recipient<PollLost>,
}

/// One source under way.
pub(super) struct InFlightPoll {
    source_id: SourceId,
    url: String,
    /// How often the source is polled: what it waits for if it is lost twice in a row (s509).
    interval: Duration,
    began_at: Option<Timestamp>,
    end: Option<Completion>,
    forced: Option<ForcedPoll>,
    in_flight_polls: InFlightPolls,
}

impl InFlightPolls {
    /// Polls that come back to this scheduler.
    pub(super) fn new(scheduler: Recipient<PollCompleted>, failure_tracker: Recipient<PollLost>) -> InFlightPolls {
        let (under_way, asked) = (Mutex::default(), AtomicUsize::new(0));
        InFlightPolls(Arc::new(Inner { under_way, asked, scheduler, failure_tracker }))
    }

    /// Sends a source on its way, unless it is already.
    pub(super) fn begin(&self, source: &Source, interval: Duration) -> Option<InFlightPoll> {
        let (source_id, url) = (source.id, &source.settings.url);
        let is_free = self.0.under_way.lock().insert(source_id);
        is_free.then(|| InFlightPoll {
            source_id,
            url: url.clone(),
            interval,
            began_at: None,
            end: None,
            forced: None,
            in_flight_polls: self.clone(),
        })
    }

    /// Whether a source is under way.
    pub(super) fn contains(&self, source_id: SourceId) -> bool {
        self.0.under_way.lock().contains(&source_id)
    }

    /// How many are.
    pub(super) fn len(&self) -> usize {
        self.0.under_way.lock().len()
    }

    /// How many publishers were asked whose polls are not settled yet.
    pub(super) fn asked(&self) -> usize {
        self.0.asked.load(Ordering::Acquire)
    }
}

impl InFlightPoll {
    /// Which source it is.
    pub(super) fn source_id(&self) -> SourceId {
        self.source_id
    }

    /// Its URL, as it is stored.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Makes this the poll that the order asks for.
    pub(super) fn force(&mut self, order: ForcedPoll) {
        self.forced = Some(order);
    }

    /// Whether holds, `Retry-After` and pauses do not delay this poll.
    pub(super) fn is_forced(&self) -> bool {
        self.forced.is_some()
    }

    /// Notes that the publisher is being asked from now on. The first time counts.
    pub(super) fn begin_asking(&mut self, now: Timestamp) {
        if self.began_at.is_none() {
            self.began_at = Some(now);
            self.in_flight_polls.0.asked.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// When the publisher was first asked.
    pub(super) fn began_at(&self) -> Option<Timestamp> {
        self.began_at
    }

    /// Goes back to the scheduler with what became of it.
    pub(super) fn end(mut self, end: Completion) {
        self.end = Some(end);
    }
}

impl Drop for InFlightPoll {
    fn drop(&mut self) {
        let (source_id, began_at, interval) = (self.source_id, self.began_at, self.interval);
        let url = std::mem::take(&mut self.url);
        let Inner { asked, scheduler, failure_tracker, .. } = &*self.in_flight_polls.0;
        // A tracker that is gone would drop the poll again, and so on without end.
        if self.end.is_none() && began_at.is_some() && failure_tracker.connected() {
            let in_flight_polls = self.in_flight_polls.clone();
            // The order, if there is one, is dropped and so goes back to the scheduler: the poll that replaces this one is
            // forced, too.
            let in_flight =
                InFlightPoll { source_id, url, interval, began_at, end: None, forced: None, in_flight_polls };
            return failure_tracker.do_send(PollLost { in_flight });
        }
        self.in_flight_polls.0.under_way.lock().remove(&source_id);
        if began_at.is_some() {
            asked.fetch_sub(1, Ordering::AcqRel);
        }
        // Not bounded by the mailbox, but by the number of polls in flight.
        let (what, forced) = (self.end.take().unwrap_or(Completion::Lost { url, interval }), self.forced.take());
        scheduler.do_send(PollCompleted { source_id, what, forced });
    }
}
