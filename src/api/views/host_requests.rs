//! Requests to hosts, and lists of hosts, as they are shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{FailureKind, HostQueueStatus, HostRequest, SourceId, Timestamp};

/// Request to a host that is over.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HostRequestView {
    /// Start of the request.
    pub started_at: Timestamp,
    /// Duration of the request; of a poll from before the start of the process, that of all its requests.
    pub duration_ms: u64,
    /// What the request was made for: `poll`, `robots_txt`, `entry_page` or `backfill`.
    #[schemars(extend("enum" = ["poll", "robots_txt", "entry_page", "backfill"]))]
    pub purpose: String,
    /// Id of the source that was polled; null if the request was not part of a poll.
    pub source_id: Option<SourceId>,
    /// HTTP status of the response; null without one.
    pub status_code: Option<u16>,
    /// Kind of the failure; null if the response could be used.
    pub error_type: Option<FailureKind>,
}

/// Sources of a host in the scheduler of the node that polls them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HostQueueView {
    /// Number of sources that are polled, now or later.
    pub sources: usize,
    /// Number of sources that are due and wait for the host.
    pub waiting: usize,
    /// Ids of the sources whose polls are in flight: at most the one that is asked for and the next one, apart from
    /// polls that wait for a lock of the database.
    pub under_way: Vec<SourceId>,
}

/// Size of a list of requests.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostRequestsQuery {
    /// Maximum number of items, 1 to 200 (default 50).
    #[schemars(range(min = 1, max = 200))]
    pub limit: Option<usize>,
}

/// Which hosts to list.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostsQuery {
    /// `next_cursor` of the previous page.
    pub cursor: Option<String>,
    /// Maximum number of items, 1 to 1000 (default 100).
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<usize>,
    /// `held` or `breaker_open`: hosts in this state that the node has in memory, latest end first, without further
    /// pages.
    #[schemars(extend("enum" = ["held", "breaker_open"]))]
    pub state: Option<String>,
}

impl From<HostRequest> for HostRequestView {
    fn from(request: HostRequest) -> HostRequestView {
        HostRequestView {
            started_at: request.started_at,
            duration_ms: u64::try_from(request.duration.as_millis()).unwrap_or(u64::MAX),
            purpose: request.purpose.name().to_owned(),
            source_id: request.source_id,
            status_code: request.status_code,
            error_type: request.error_type,
        }
    }
}

impl From<HostQueueStatus> for HostQueueView {
    fn from(queue: HostQueueStatus) -> HostQueueView {
        HostQueueView { sources: queue.sources, waiting: queue.waiting, under_way: queue.in_flight }
    }
}
