//! Wire types for events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::delivery::EventMessage;
use crate::model::Timestamp;

/// Selects events.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EventQuery {
    /// Only these types, separated by commas, such as `post.created,source.gap`.
    #[serde(rename = "type")]
    pub types: Option<String>,
    /// Only events of this source.
    pub source_id: Option<i64>,
    /// Only events of sources with this label.
    pub label: Option<String>,
    /// Only events at or after this time. A page can be short or empty and still have a next one.
    pub since: Option<Timestamp>,
    /// Only events with numbers above this one.
    pub after: Option<i64>,
    /// `next_cursor` of the previous page.
    pub cursor: Option<String>,
    /// Maximum number of items, 1 to 1000 (default 100).
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<usize>,
}

/// Selects the events of a stream.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EventStreamQuery {
    /// Only these types, separated by commas, such as `post.created,source.gap`.
    #[serde(rename = "type")]
    pub types: Option<String>,
    /// Only events of this source.
    pub source_id: Option<i64>,
    /// Only events of sources with this label.
    pub label: Option<String>,
    /// Start after this number; without it, with the next event. `Last-Event-ID` takes precedence.
    pub after: Option<i64>,
}

/// Page of events, in the order of their numbers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EventList<'a> {
    /// Events of this page.
    pub items: Vec<EventMessage<'a>>,
    /// `cursor` of the next page; null on the last page. A short page can have a next one.
    pub next_cursor: Option<String>,
    /// Everything up to this number is on this page, on an earlier one, or not selected: where to go on later (`after`).
    pub reached: i64,
    /// If events after the cursor were removed before they could be read (`events.days`, `events.max`): the highest
    /// number of them; else null.
    pub removed_up_to: Option<i64>,
}

/// Data of an event `missed` in a stream: events that the clean-up removed before they were sent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MissedEvents {
    /// Highest number of a removed event.
    pub removed_up_to: i64,
}
