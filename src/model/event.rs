//! Events: what happens to posts, sources, hosts and the daemon, in one order.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Post, SourceId, Timestamp};

/// Type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum EventType {
    /// A post was stored.
    #[serde(rename = "post.created")]
    PostCreated,
    /// A stored post got new content.
    #[serde(rename = "post.updated")]
    PostUpdated,
    /// A source began to rest.
    #[serde(rename = "source.resting")]
    SourceResting,
    /// A source was disabled.
    #[serde(rename = "source.disabled")]
    SourceDisabled,
    /// A source that rested or was disabled is polled again.
    #[serde(rename = "source.recovered")]
    SourceRecovered,
    /// A source got the URL that permanent redirects lead to.
    #[serde(rename = "source.moved")]
    SourceMoved,
    /// Nothing new came of a source for `source.silent-days`, although its polls succeed.
    #[serde(rename = "source.silent")]
    SourceSilent,
    /// Every entry of a feed was unknown: entries may be missing.
    #[serde(rename = "source.gap")]
    SourceGap,
    /// A host is not asked for a while.
    #[serde(rename = "host.held")]
    HostHeld,
    /// The daemon, or a node of a fleet, does not do its work.
    #[serde(rename = "daemon.not_ready")]
    DaemonNotReady,
}

impl EventType {
    pub const ALL: [EventType; 10] = [
        EventType::PostCreated,
        EventType::PostUpdated,
        EventType::SourceResting,
        EventType::SourceDisabled,
        EventType::SourceRecovered,
        EventType::SourceMoved,
        EventType::SourceSilent,
        EventType::SourceGap,
        EventType::HostHeld,
        EventType::DaemonNotReady,
    ];
    /// What a receiver gets that names no types.
    pub const POSTS: [EventType; 2] = [EventType::PostCreated, EventType::PostUpdated];

    pub const fn name(self) -> &'static str {
        match self {
            EventType::PostCreated => "post.created",
            EventType::PostUpdated => "post.updated",
            EventType::SourceResting => "source.resting",
            EventType::SourceDisabled => "source.disabled",
            EventType::SourceRecovered => "source.recovered",
            EventType::SourceMoved => "source.moved",
            EventType::SourceSilent => "source.silent",
            EventType::SourceGap => "source.gap",
            EventType::HostHeld => "host.held",
            EventType::DaemonNotReady => "daemon.not_ready",
        }
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The name of no event type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownEventType(String);

impl fmt::Display for UnknownEventType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = EventType::ALL.map(EventType::name).join(", ");
        write!(formatter, "{:?} is no event type; there are {names}", self.0)
    }
}

impl std::error::Error for UnknownEventType {}

impl FromStr for EventType {
    type Err = UnknownEventType;

    fn from_str(name: &str) -> Result<EventType, UnknownEventType> {
        let known = EventType::ALL.into_iter().find(|event| event.name() == name);
        known.ok_or_else(|| UnknownEventType(name.to_owned()))
    }
}

/// An event that is about to be stored; those of posts are the posts themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    pub event_type: EventType,
    pub at: Timestamp,
    pub source_id: Option<SourceId>,
    /// URL of the source, without credentials.
    pub url: Option<String>,
    /// URL that the source has from now on, without credentials.
    pub new_url: Option<String>,
    pub host: Option<String>,
    /// Node of the fleet, if the event is about one.
    pub node: Option<String>,
    pub reason: Option<String>,
    /// End of a rest or hold.
    pub until: Option<Timestamp>,
}

impl NewEvent {
    /// An event about nothing yet.
    pub fn new(event_type: EventType, at: Timestamp) -> NewEvent {
        let (source_id, url, new_url, host) = (None, None, None, None);
        NewEvent { event_type, at, source_id, url, new_url, host, node: None, reason: None, until: None }
    }
}

/// An event of the stream, with its number. Numbers are given by the sequence of the ids of posts and become visible in
/// ascending order, so the highest number read is all that a reader has to remember.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamEvent {
    pub number: i64,
    pub what: EventSubject,
}

#[derive(Clone, Debug, PartialEq)]
pub enum EventSubject {
    /// A post that was stored, as it is now; its number is its id.
    Created(Arc<Post>),
    /// A post after its last change; its number is its change number.
    Updated(Arc<Post>),
    Other(Box<NewEvent>),
}

impl StreamEvent {
    pub fn event_type(&self) -> EventType {
        match &self.what {
            EventSubject::Created(_) => EventType::PostCreated,
            EventSubject::Updated(_) => EventType::PostUpdated,
            EventSubject::Other(event) => event.event_type,
        }
    }

    pub fn at(&self) -> Timestamp {
        match &self.what {
            EventSubject::Created(post) => post.created_at,
            EventSubject::Updated(post) => post.changed_at.unwrap_or(post.created_at),
            EventSubject::Other(event) => event.at,
        }
    }

    pub fn source_id(&self) -> Option<SourceId> {
        match &self.what {
            EventSubject::Created(post) | EventSubject::Updated(post) => Some(post.source_id),
            EventSubject::Other(event) => event.source_id,
        }
    }

    pub fn post(&self) -> Option<&Post> {
        match &self.what {
            EventSubject::Created(post) | EventSubject::Updated(post) => Some(post),
            EventSubject::Other(_) => None,
        }
    }
}

/// Which events to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSelection {
    /// Only numbers above this one.
    pub after: i64,
    pub source: Option<SourceId>,
    pub types: Vec<EventType>,
}

/// Events in the order of their numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventPage {
    pub events: Vec<StreamEvent>,
    /// Everything up to this number is on the page or not selected.
    pub reached: i64,
    /// Whether the page ended at one of its bounds, so that there may be more.
    pub has_more: bool,
    /// Events above the cursor that the clean-up has removed, whatever their type: the highest number of them.
    pub removed_up_to: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_written() {
        for event in EventType::ALL {
            assert_eq!(event.name().parse(), Ok(event));
            assert_eq!(serde_json::to_value(event).unwrap(), event.name());
        }
        let error = "post.deleted".parse::<EventType>().unwrap_err().to_string();
        assert!(error.starts_with("\"post.deleted\" is no event type; there are post.created, "), "{error}");
    }
}
