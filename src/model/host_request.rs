//! Requests to a host: finished ones, and the sources that wait for theirs.

use std::time::Duration;

use super::{FailureKind, SourceId, Timestamp};

/// A request to a host that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRequest {
    pub started_at: Timestamp,
    pub duration: Duration,
    pub purpose: RequestPurpose,
    /// The source that was polled; none if the request was not part of a poll.
    pub source_id: Option<SourceId>,
    /// HTTP status of the response; none without one.
    pub status_code: Option<u16>,
    /// Kind of the failure; none if the response could be used.
    pub error_type: Option<FailureKind>,
}

/// Sources of a host, as the scheduler of this node has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostQueueStatus {
    /// Sources that are polled, now or later.
    pub sources: usize,
    /// Sources that are due and wait for the host.
    pub waiting: usize,
    /// Sources that were handed to the host: the one that is asked for, and the next one.
    pub in_flight: Vec<SourceId>,
}

/// What a request was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum RequestPurpose {
    /// The document of a source.
    Poll,
    RobotsTxt,
    /// The page of an entry, for its full text.
    EntryPage,
    /// An older page of a feed.
    Backfill,
    /// A subscription at a hub, or its end.
    Hub,
}

impl RequestPurpose {
    /// Name in the API.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
