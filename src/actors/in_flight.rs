//! Polls in flight: sources that the scheduler has handed out.
//!
//! A poll in flight returns to the scheduler exactly once, when it is dropped: with its completion, or as lost if an
//! actor crashed with it before its first request. If an actor crashes later, the poll goes to the failure tracker
//! first, so that every poll ends in a record. So no crash loses a source, and no source is in flight twice.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix::Recipient;
use parking_lot::Mutex;

use super::fleet::ShardClaim;
use super::messages::{Completion, PollCompleted, PollLost};
use super::scheduler::ForcedPoll;
use crate::model::{Source, SourceId, Timestamp};

/// All polls in flight. Clones share the same set.
#[derive(Clone)]
pub(super) struct InFlightPolls(Arc<InFlightState>);

struct InFlightState {
    /// Outlives the scheduler: one that was started again does not hand out a source that is still in flight.
    sources: Mutex<HashSet<SourceId>>,
    /// Number of polls that have begun their requests.
    begun: AtomicUsize,
    scheduler: Recipient<PollCompleted>,
    failure_tracker: Recipient<PollLost>,
}

pub(super) struct InFlightPoll {
    source_id: SourceId,
    url: String,
    /// Interval of the source: its wait if it is lost twice in a row (s509).
    interval: Duration,
    began_at: Option<Timestamp>,
    end: Option<Completion>,
    forced: Option<ForcedPoll>,
    /// The right by which it is made.
    claim: ShardClaim,
    in_flight_polls: InFlightPolls,
}

impl InFlightPolls {
    pub(super) fn new(scheduler: Recipient<PollCompleted>, failure_tracker: Recipient<PollLost>) -> InFlightPolls {
        let (sources, begun) = (Mutex::default(), AtomicUsize::new(0));
        InFlightPolls(Arc::new(InFlightState { sources, begun, scheduler, failure_tracker }))
    }

    /// None if a poll of the source is in flight already.
    pub(super) fn begin(&self, source: &Source, interval: Duration, claim: ShardClaim) -> Option<InFlightPoll> {
        let (source_id, url) = (source.id, &source.settings.url);
        let is_free = self.0.sources.lock().insert(source_id);
        is_free.then(|| InFlightPoll {
            source_id,
            url: url.clone(),
            interval,
            began_at: None,
            end: None,
            forced: None,
            claim,
            in_flight_polls: self.clone(),
        })
    }

    pub(super) fn contains(&self, source_id: SourceId) -> bool {
        self.0.sources.lock().contains(&source_id)
    }

    pub(super) fn len(&self) -> usize {
        self.0.sources.lock().len()
    }

    /// Number of polls that have begun their requests and are not settled.
    pub(super) fn asked(&self) -> usize {
        self.0.begun.load(Ordering::Acquire)
    }
}

impl InFlightPoll {
    pub(super) fn source_id(&self) -> SourceId {
        self.source_id
    }

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

    /// Notes the moment of the first request; later calls change nothing.
    pub(super) fn begin_requests(&mut self, now: Timestamp) {
        if self.began_at.is_none() {
            self.began_at = Some(now);
            self.in_flight_polls.0.begun.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Moment of the first request.
    pub(super) fn began_at(&self) -> Option<Timestamp> {
        self.began_at
    }

    /// The right by which it is made.
    pub(super) fn claim(&self) -> &ShardClaim {
        &self.claim
    }

    /// Returns to the scheduler.
    pub(super) fn end(mut self, end: Completion) {
        self.end = Some(end);
    }
}

impl Drop for InFlightPoll {
    fn drop(&mut self) {
        let (source_id, began_at, interval) = (self.source_id, self.began_at, self.interval);
        let url = std::mem::take(&mut self.url);
        let InFlightState { begun, scheduler, failure_tracker, .. } = &*self.in_flight_polls.0;
        // A tracker that is gone would drop the poll again, and so on without end.
        if self.end.is_none() && began_at.is_some() && failure_tracker.connected() {
            let in_flight_polls = self.in_flight_polls.clone();
            // The order, if there is one, is dropped and so goes back to the scheduler: the poll that replaces this one
            // is forced, too.
            let claim = self.claim.clone();
            let in_flight =
                InFlightPoll { source_id, url, interval, began_at, end: None, forced: None, claim, in_flight_polls };
            return failure_tracker.do_send(PollLost { in_flight });
        }
        self.in_flight_polls.0.sources.lock().remove(&source_id);
        if began_at.is_some() {
            begun.fetch_sub(1, Ordering::AcqRel);
        }
        // Not bounded by the mailbox, but by the number of polls in flight.
        let (what, forced) = (self.end.take().unwrap_or(Completion::Lost { url, interval }), self.forced.take());
        scheduler.do_send(PollCompleted { source_id, what, forced });
    }
}
