//! What nodes write to each other, as JSON in the table of messages.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::{Actor, Breaker, HostKey, HostState, Timestamp};

/// Body of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MessageBody {
    /// These sources were added, changed or removed. The store writes it in the transaction of the change.
    SourcesChanged(Vec<i64>),
    /// To the owner of a host: the sender wants to send one request to it.
    Borrow {
        turn: u64,
        host: String,
        pause_ms: u64,
        is_forced: bool,
    },
    /// The sender may send its request now.
    Granted {
        turn: u64,
        state: WireHost,
    },
    /// The host gets no request before a time, in microseconds since 1970.
    Refused {
        turn: u64,
        until: i64,
        because: String,
    },
    /// The request is over, and this is known of the host.
    Returned {
        turn: u64,
        state: WireHost,
    },
    /// A request of the API that this node answers for another one.
    Call {
        call: u64,
        request: FleetRequest,
    },
    Answer {
        call: u64,
        answer: FleetAnswer,
    },
}

/// A request of the API for another node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetRequest {
    pub method: String,
    /// Path with query.
    pub path: String,
    pub content_type: Option<String>,
    pub body: String,
    /// Conditions of the request, such as a version of a source.
    pub if_match: Option<String>,
    /// Whether the caller may see credentials.
    pub sees_secrets: bool,
    /// Who makes the request; nodes of earlier versions do not say.
    #[serde(default)]
    pub actor: Option<Actor>,
}

/// What the other node answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetAnswer {
    /// Name of the node.
    pub node: String,
    pub status: u16,
    pub content_type: Option<String>,
    pub etag: Option<String>,
    pub location: Option<String>,
    pub body: String,
}

/// State of a host. Times are microseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WireHost {
    host: String,
    last_asked_at: Option<i64>,
    held_until: Option<i64>,
    held_reason: Option<String>,
    failures: u32,
    openings: u32,
    open_until: Option<i64>,
}

impl From<&HostState> for WireHost {
    fn from(state: &HostState) -> WireHost {
        WireHost {
            host: state.host.to_string(),
            last_asked_at: state.last_asked_at.map(Timestamp::as_micros),
            held_until: state.held_until.map(Timestamp::as_micros),
            held_reason: state.held_reason.clone(),
            failures: state.breaker.failures,
            openings: state.breaker.openings,
            open_until: state.breaker.open_until.map(Timestamp::as_micros),
        }
    }
}

impl From<WireHost> for HostState {
    fn from(wire: WireHost) -> HostState {
        HostState {
            host: HostKey::from_canonical(&wire.host),
            last_asked_at: wire.last_asked_at.map(Timestamp::from_micros),
            held_until: wire.held_until.map(Timestamp::from_micros),
            held_reason: wire.held_reason,
            breaker: Breaker {
                failures: wire.failures,
                openings: wire.openings,
                open_until: wire.open_until.map(Timestamp::from_micros),
            },
        }
    }
}

/// What a node tells the others about itself with every renewal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeReport {
    /// Sources on its schedule.
    pub sources: usize,
    /// Sources that are due and wait.
    pub waiting: usize,
    /// Polls in flight.
    pub under_way: usize,
    /// How long the source that waits longest has been due.
    pub lag_seconds: f64,
    pub polls_per_second: f64,
    /// Polls since its start that were read, unchanged and failed.
    pub read: u64,
    pub unchanged: u64,
    pub failed: u64,
    pub new_posts: u64,
    pub updated_posts: u64,
    /// Polls whose result was not stored because their shard was another node's by then.
    pub fenced: u64,
    /// By how much its clock is ahead of the database's.
    pub clock_offset_seconds: f64,
    pub is_paused: bool,
    pub shards_draining: usize,
}

impl NodeReport {
    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| "{}".to_owned())
    }

    /// What a node of any version has reported.
    pub fn read(json: &str) -> NodeReport {
        serde_json::from_str(json).unwrap_or_default()
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p28_the_message_that_the_database_writes_can_be_read() {
        let read: MessageBody = serde_json::from_str(r#"{"sources_changed" : [3, 7]}"#).unwrap();
        assert_eq!(read, MessageBody::SourcesChanged(vec![3, 7]));
    }

    #[test]
    fn p28_the_state_of_a_host_arrives_as_it_was_sent() {
        let state = HostState {
            last_asked_at: Some(Timestamp::from_micros(1_800_000_000_123_456)),
            held_until: Some(Timestamp::from_seconds(1_800_000_600)),
            held_reason: Some("asked to wait".into()),
            breaker: Breaker { failures: 3, openings: 1, open_until: Some(Timestamp::from_seconds(1_800_000_100)) },
            ..HostState::new(HostKey::from_canonical("feeds.example"))
        };
        let sent = serde_json::to_string(&WireHost::from(&state)).unwrap();
        assert_eq!(HostState::from(serde_json::from_str::<WireHost>(&sent).unwrap()), state);
    }

    #[test]
    fn a_report_of_another_version_is_read_as_far_as_possible() {
        let report = NodeReport::read(r#"{"sources": 5, "something_new": [1]}"#);
        assert_eq!(report, NodeReport { sources: 5, ..NodeReport::default() });
        assert_eq!(NodeReport::read("no JSON"), NodeReport::default());
    }
}
