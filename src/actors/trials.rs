//! Sources that are kept only if their first poll succeeds. If it fails, the source was never added: the poll is no failed
//! poll of a source, and has a log record of its own.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::model::SourceId;

/// The sources on trial; as many as there are requests that await one.
#[derive(Clone, Default)]
pub(super) struct Trials(Arc<Mutex<HashSet<SourceId>>>);

/// A source is on trial until this is dropped.
pub struct Trial {
    trials: Trials,
    id: SourceId,
}

impl Trials {
    pub(super) fn begin(&self, id: SourceId) -> Trial {
        self.0.lock().insert(id);
        Trial { trials: self.clone(), id }
    }

    pub(super) fn contains(&self, id: SourceId) -> bool {
        self.0.lock().contains(&id)
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        self.trials.0.lock().remove(&self.id);
    }
}
