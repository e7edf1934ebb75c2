//! Explanations and hosts as they are shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{HostQueueView, PollRecord};
use crate::model::{SourceId, Timestamp};
use crate::service::{self, HostStatus};

/// Why a source is or is not polled.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// Id of the source.
    pub source_id: SourceId,
    /// Node of the fleet that polls the source; null if the daemon has its database to itself, or no node has it.
    #[serde(default)]
    pub node: Option<String>,
    /// Version of the source, for `If-Match`.
    pub version: i64,
    /// State: `active`, `backing_off`, `resting` or `disabled`.
    #[schemars(extend("enum" = ["active", "backing_off", "resting", "disabled"]))]
    pub state: String,
    /// Explanation in one sentence.
    pub summary: String,
    /// Time of the next poll; null if the source is not polled.
    pub next_poll_at: Option<Timestamp>,
    /// Whether the source is due.
    pub is_due: bool,
    /// Seconds between polls while the source does not fail.
    pub interval_seconds: u64,
    /// All reasons to wait; the latest one decides.
    pub terms: Vec<TermView>,
    /// Pause between two requests to the host.
    pub delay: DelayView,
    /// Host of the source; null if it has none.
    pub host: Option<HostView>,
    /// State in the scheduler; null if the scheduler does not have the source.
    pub scheduled: Option<ScheduledView>,
    /// What suspends all polling: a pause, an outage of our own network, an unavailable database, a shutdown.
    pub held_up_by: Vec<String>,
    /// Whether requests for the source carry a login or headers.
    pub has_access: bool,
    /// What is missing to poll the source, such as an X key, and how to provide it.
    pub lacks: Option<String>,
    /// Failures since the last success.
    pub consecutive_failures: u32,
    /// Last polls since the start of the process, newest first.
    pub last_polls: Vec<PollRecord>,
}

/// Reason to wait.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TermView {
    /// End of the wait.
    pub until: Timestamp,
    /// Cause of the wait.
    pub reason: String,
    /// Whether this reason decides.
    pub decides: bool,
}

/// Pause between two requests to a host.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DelayView {
    /// Length of the pause in seconds.
    pub seconds: u64,
    /// Setting that determines the pause.
    pub layer: String,
}

/// Host with its current state.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HostView {
    /// Name of the host.
    pub host: String,
    /// State: `available`, `held` or `breaker_open`.
    #[schemars(extend("enum" = ["available", "held", "breaker_open"]))]
    pub state: String,
    /// End of the last request.
    pub last_asked_at: Option<Timestamp>,
    /// End of the hold.
    pub held_until: Option<Timestamp>,
    /// Reason for the hold.
    pub held_reason: Option<String>,
    /// Consecutive requests without a response.
    pub silent_requests: u32,
    /// Time of the next probe while the breaker is open.
    pub breaker_open_until: Option<Timestamp>,
    /// When the next request is possible, as text.
    pub turn: String,
    /// Sources of the host in the scheduler. Only in the response to `GET /hosts/{host}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<HostQueueView>,
}

/// State of a source in the scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduledView {
    /// Due time.
    pub at: Timestamp,
    /// `scheduled`, `waiting` for its host, or `under_way` (in flight).
    pub place: String,
}

impl Explanation {
    pub(in crate::api) fn new(explained: service::SourceExplanation, sees_secrets: bool) -> Explanation {
        let term = |term: service::WaitTerm| TermView { until: term.until, reason: term.reason, decides: term.decides };
        let delay = explained.delay;
        Explanation {
            source_id: explained.source_id,
            node: explained.node,
            version: explained.version,
            state: explained.status.to_string(),
            summary: explained.summary,
            next_poll_at: explained.next_poll_at,
            is_due: explained.is_due,
            interval_seconds: explained.interval_seconds,
            terms: explained.terms.into_iter().map(term).collect(),
            delay: DelayView { seconds: delay.pause.as_secs(), layer: delay.layer.to_string() },
            host: explained.host.map(HostView::from),
            scheduled: explained
                .scheduled
                .map(|scheduled| ScheduledView { at: scheduled.at, place: scheduled.state.name().to_owned() }),
            held_up_by: explained.blockers,
            has_access: explained.has_access,
            lacks: explained.lacks,
            consecutive_failures: explained.consecutive_failures,
            last_polls: explained
                .last_polls
                .into_iter()
                .map(|stored| PollRecord::new(stored.poll, sees_secrets))
                .collect(),
        }
    }
}

impl From<HostStatus> for HostView {
    fn from(status: HostStatus) -> HostView {
        HostView {
            host: status.host.to_string(),
            state: status.condition.name().to_owned(),
            last_asked_at: status.last_asked_at,
            held_until: status.held_until,
            held_reason: status.held_reason,
            silent_requests: status.unanswered_requests,
            breaker_open_until: status.breaker_open_until,
            turn: status.turn,
            queue: None,
        }
    }
}
