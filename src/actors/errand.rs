//! A source that was handed out, on its way through the pipeline and back.
//!
//! An errand comes back to the scheduler exactly once, when it is dropped: with what became of it, or as lost if whoever
//! held it crashed. So no crash can make the scheduler forget a source, and no source is under way twice.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard};

use actix::Recipient;

use super::messages::{ErrandReturned, Return};
use crate::model::{SourceId, Timestamp};

/// Everything that is under way. Clones are the same.
#[derive(Clone)]
pub(super) struct Errands(Arc<Inner>);

struct Inner {
    /// Outlives the scheduler, so that one that was started again does not hand out what is still under way.
    under_way: Mutex<HashSet<SourceId>>,
    scheduler: Recipient<ErrandReturned>,
}

/// One source under way.
pub(super) struct Errand {
    source_id: SourceId,
    began_at: Option<Timestamp>,
    end: Option<Return>,
    errands: Errands,
}

impl Errands {
    /// Errands that come back to this scheduler.
    pub(super) fn new(scheduler: Recipient<ErrandReturned>) -> Errands {
        Errands(Arc::new(Inner { under_way: Mutex::default(), scheduler }))
    }

    /// Sends a source on its way, unless it is already.
    pub(super) fn begin(&self, source_id: SourceId) -> Option<Errand> {
        let is_free = self.lock().insert(source_id);
        is_free.then(|| Errand { source_id, began_at: None, end: None, errands: self.clone() })
    }

    /// Whether a source is under way.
    pub(super) fn contains(&self, source_id: SourceId) -> bool {
        self.lock().contains(&source_id)
    }

    /// How many are.
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<SourceId>> {
        // A crash while the lock was held leaves the set usable: it must not spread.
        self.0.under_way.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Errand {
    /// Notes that the publisher is being asked from now on. The first time counts.
    pub(super) fn begin_asking(&mut self, now: Timestamp) {
        self.began_at.get_or_insert(now);
    }

    /// When the publisher was first asked.
    pub(super) fn began_at(&self) -> Option<Timestamp> {
        self.began_at
    }

    /// Goes back to the scheduler with what became of it.
    pub(super) fn end(mut self, end: Return) {
        self.end = Some(end);
    }
}

impl Drop for Errand {
    fn drop(&mut self) {
        self.errands.lock().remove(&self.source_id);
        let what = self.end.take().unwrap_or(Return::Lost { began_at: self.began_at });
        // Not bounded by the mailbox, but by the number of errands.
        self.errands.0.scheduler.do_send(ErrandReturned { source_id: self.source_id, what });
    }
}
