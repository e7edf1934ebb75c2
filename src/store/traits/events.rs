//! Events of sources, hosts and the daemon, and the stream that posts and they share.

use std::sync::Arc;

use async_trait::async_trait;

use crate::model::{EventPage, EventSelection, NewEvent, Source, Timestamp};

use super::super::{PageBounds, Result, Store};

/// [`SourceStore::settle`](crate::store::SourceStore::settle) stores the events of polls.
/// [`Store::clean`](crate::store::Store::clean) removes old ones.
#[async_trait]
pub trait EventStore: Send + Sync {
    /// The same store, whose changes store these events in their own transaction if they take effect. To be used for one
    /// change: of a source or of hosts.
    fn telling(&self, events: Vec<NewEvent>) -> Arc<dyn Store>;

    /// Stores events that have no other change.
    async fn add_events(&self, events: Vec<NewEvent>) -> Result<()>;

    /// Events in the order of their numbers. Each post is one of its creation, numbered by its id, with its content of
    /// now; a changed post is one of its last change, too.
    async fn events_page(&self, selection: EventSelection, bounds: PageBounds) -> Result<EventPage>;

    /// Number of the first event at this time or later, those of posts aside. Reads all of them.
    async fn first_event_since(&self, since: Timestamp) -> Result<Option<i64>>;

    /// The silent sources, as [`SourceStore::silent_sources`](crate::store::SourceStore::silent_sources) lists them, whose
    /// silence was not noted yet.
    async fn new_silent_sources(&self, before: Timestamp, limit: u32) -> Result<Vec<(Source, Timestamp)>>;

    /// Forgets the silence of sources of which something new came, and notes that of the sources of these events with
    /// the events; those whose silence is noted already are left out.
    async fn note_silences(&self, events: Vec<NewEvent>, now: Timestamp) -> Result<()>;
}
