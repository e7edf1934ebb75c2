//! Explanations and hosts as they are shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PollRecord;
use crate::model::{SourceId, Timestamp};
use crate::service::{self, HostStatus};

/// Why a source is or is not polled.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// Id of the source.
    pub source_id: SourceId,
    /// Version of the source, for `If-Match`.
    pub version: i64,
    /// State of the source: active, backing_off, resting or disabled.
    pub state: String,
    /// The answer in one sentence.
    pub summary: String,
    /// When the source itself is due; null if it is not polled at all.
    pub next_poll_at: Option<Timestamp>,
    /// Whether that time has come.
    pub is_due: bool,
    /// Interval between two polls without backoff, in seconds.
    pub interval_seconds: u64,
    /// Everything that makes the source wait; the latest term decides.
    pub terms: Vec<TermView>,
    /// Pause between two requests to the host.
    pub delay: DelayView,
    /// Host of the source; null if it has none.
    pub host: Option<HostView>,
    /// Position of the source in the scheduler; null if the scheduler does not have it.
    pub scheduled: Option<ScheduledView>,
    /// What suspends all polling: a pause, an outage of our own network, an unavailable store, the daemon's end.
    pub held_up_by: Vec<String>,
    /// Whether a login or headers of its own are sent with its requests.
    pub has_access: bool,
    /// What the source needs to be read and does not have, such as an X key, and how to give it.
    pub lacks: Option<String>,
    /// Failures since the last success.
    pub consecutive_failures: u32,
    /// Last polls, newest first, since the daemon started.
    pub last_polls: Vec<PollRecord>,
}

/// One thing that makes a source wait.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TermView {
    /// End of the wait.
    pub until: Timestamp,
    /// Cause of the wait.
    pub reason: String,
    /// Whether this is the latest term.
    pub decides: bool,
}

/// Pause between two requests to a host.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DelayView {
    /// Length of the pause in seconds.
    pub seconds: u64,
    /// Setting that decides it.
    pub layer: String,
}

/// Host with its current state.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HostView {
    /// Name of the host.
    pub host: String,
    /// State of the host: free, held or silent.
    pub state: String,
    /// When the last request to it ended.
    pub last_asked_at: Option<Timestamp>,
    /// No request to it before this time.
    pub held_until: Option<Timestamp>,
    /// Reason for the hold.
    pub held_reason: Option<String>,
    /// Requests without an answer since the last answer.
    pub silent_requests: u32,
    /// While its breaker is open: no request before this time.
    pub breaker_open_until: Option<Timestamp>,
    /// Whether a request may be made now, in words.
    pub turn: String,
}

/// Position of a source in the scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduledView {
    /// When it is or was due.
    pub at: Timestamp,
    /// `scheduled`, `waiting` for its host, or `under_way`.
    pub place: String,
}

impl From<service::Explanation> for Explanation {
    fn from(explained: service::Explanation) -> Explanation {
        let term = |term: service::WaitTerm| TermView { until: term.until, reason: term.reason, decides: term.decides };
        let delay = explained.delay;
        Explanation {
            source_id: explained.source_id,
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
            last_polls: explained.last_polls.into_iter().map(PollRecord::from).collect(),
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
        }
    }
}
