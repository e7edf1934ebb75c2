//! The JSON of an event: what webhooks, sinks, the stream and the list of events contain.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::post::SentPost;
use crate::model::{EventSubject, PostSource, StreamEvent, Timestamp};

/// Event of a post, a source, a host or the daemon.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EventMessage<'a> {
    /// Type of the event, such as `post.created`.
    #[serde(rename = "type")]
    pub event_type: &'static str,
    /// When it happened.
    pub timestamp: Timestamp,
    /// What happened. Fields without a value are absent.
    pub data: EventData<'a>,
}

/// What happened. Fields without a value are absent.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct EventData<'a> {
    /// Position in the stream of events; later events have larger numbers.
    pub number: i64,
    /// Source that the event is about; absent if it was removed meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'a PostSource>,
    /// Id of that source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_id: Option<i64>,
    /// Stored or changed post, as it is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post: Option<Box<SentPost<'a>>>,
    /// URL of the source at that time, without credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<&'a str>,
    /// URL that a moved source has from then on, without credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_url: Option<&'a str>,
    /// Host that the event is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<&'a str>,
    /// Node of the fleet that the event is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<&'a str>,
    /// Why it happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    /// End of a rest or hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl<'a> EventMessage<'a> {
    /// The event with its source.
    pub fn new(event: &'a StreamEvent, source: Option<&'a PostSource>) -> EventMessage<'a> {
        let source_id = event.source_id().map(|id| id.0);
        let base = EventData { number: event.number, source, source_id, ..EventData::default() };
        let data = match &event.what {
            EventSubject::Created(post) | EventSubject::Updated(post) => {
                EventData { post: Some(Box::new(SentPost::new(post))), ..base }
            }
            EventSubject::Other(event) => EventData {
                url: event.url.as_deref(),
                new_url: event.new_url.as_deref(),
                host: event.host.as_deref(),
                node: event.node.as_deref(),
                reason: event.reason.as_deref(),
                until: event.until,
                ..base
            },
        };
        EventMessage { event_type: event.event_type().name(), timestamp: event.at(), data }
    }

    /// What a test sends.
    pub fn test(at: Timestamp) -> EventMessage<'static> {
        let data = EventData { reason: Some("test of the webhook"), ..EventData::default() };
        EventMessage { event_type: "webhook.test", timestamp: at, data }
    }

    /// Names the event for receivers that ignore repeats: the same one however often it is sent.
    pub fn id(&self) -> String {
        match self.event_type {
            "webhook.test" => format!("evt_test_{}", self.timestamp.as_micros()),
            _ => format!("evt_{}", self.data.number),
        }
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// CloudEvents 1.0, structured mode.
    pub fn to_cloud_event(&self) -> Value {
        let subject = self.data.source_id.map(|id| format!("sources/{id}"));
        let subject = subject.or_else(|| self.data.host.map(|host| format!("hosts/{host}")));
        let mut event = json!({
            "specversion": "1.0",
            "id": self.id(),
            "source": "/feedwarden",
            "type": format!("feedwarden.{}", self.event_type),
            "time": self.timestamp,
            "datacontenttype": "application/json",
            "data": self.data,
        });
        if let Some(subject) = subject {
            event["subject"] = subject.into();
        }
        event
    }
}
