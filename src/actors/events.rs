//! What happens in the pipeline, as it happens, for those parts of the program that show it or wait for it.

use std::sync::Arc;

use tokio::sync::{broadcast, watch};

use crate::model::{SettledPoll, SourceId};

/// Events that a slow listener may be behind before it misses the oldest.
const EVENTS_KEPT: usize = 1024;

/// Something worth showing as it happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PipelineEvent {
    /// A poll is settled.
    Polled {
        /// The source that was polled.
        source_id: SourceId,
        /// Its URL, without credentials.
        url: String,
        poll: Arc<SettledPoll>,
    },
    /// No entry of a feed that was read before is known: entries may be missing.
    Gap {
        source_id: SourceId,
        /// Its URL, without credentials.
        url: String,
    },
    /// A source rests, or is disabled.
    Silenced {
        /// Its URL, without credentials.
        url: String,
        reason: String,
        /// Whether only a person can enable it again.
        is_disabled: bool,
    },
    /// A host is held, or its breaker opened or closed.
    Host { host: String, what: String },
    Crashed {
        name: String,
        /// The message of the panic.
        message: String,
    },
    /// An actor is started again.
    Restarted { name: String },
}

/// Sends events to those that listen at the moment.
#[derive(Debug)]
pub struct PipelineEvents {
    events: broadcast::Sender<PipelineEvent>,
    /// Grows with everything new that is stored.
    arrivals: watch::Sender<u64>,
}

impl Default for PipelineEvents {
    fn default() -> PipelineEvents {
        PipelineEvents { events: broadcast::Sender::new(EVENTS_KEPT), arrivals: watch::Sender::new(0) }
    }
}

impl PipelineEvents {
    /// Receives all events from now on. A receiver that falls too far behind misses the oldest.
    pub fn listen(&self) -> broadcast::Receiver<PipelineEvent> {
        self.events.subscribe()
    }

    /// Changes whenever new posts or events are stored.
    pub fn arrivals(&self) -> watch::Receiver<u64> {
        self.arrivals.subscribe()
    }

    /// Sends an event. It is made only if there is a listener.
    pub(super) fn emit(&self, event: impl FnOnce() -> PipelineEvent) {
        if self.events.receiver_count() > 0 {
            let _ = self.events.send(event());
        }
    }

    /// New posts or events are stored.
    pub fn note_arrival(&self) {
        self.arrivals.send_modify(|count| *count += 1);
    }
}
