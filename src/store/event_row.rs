//! The row of an event, and the page that events and posts share.

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::{EventPage, EventSelection, EventSubject, EventType, NewEvent, Post, PostId, SourceId, StreamEvent};

use super::post_pages::PageBounds;
use super::rows::{ColumnSpec, Columns, Value, required};
use super::{Result, StoreError};

pub(super) const EVENT: [ColumnSpec; 9] = [
    ("type", "text"),
    ("at", "timestamptz"),
    ("source_id", "bigint"),
    ("url", "text"),
    ("new_url", "text"),
    ("host", "text"),
    ("node", "text"),
    ("reason", "text"),
    ("until", "timestamptz"),
];

pub(super) fn event_values(event: &NewEvent) -> [Value<'_>; EVENT.len()] {
    [
        Value::text(Some(event.event_type.name())),
        Value::Time(Some(event.at)),
        Value::Integer(event.source_id.map(|id| id.0)),
        Value::text(event.url.as_deref()),
        Value::text(event.new_url.as_deref()),
        Value::text(event.host.as_deref()),
        Value::text(event.node.as_deref()),
        Value::text(event.reason.as_deref()),
        Value::Time(event.until),
    ]
}

/// None for a type that this version does not know.
pub(super) fn read_event(row: &mut impl Columns) -> Result<Option<StreamEvent>> {
    read_event_columns(row).map_err(|error| error.of_table("events"))
}

fn read_event_columns(row: &mut impl Columns) -> Result<Option<StreamEvent>> {
    let number = required(row.integer()?)?;
    let event_type = required(row.text()?)?.parse::<EventType>().ok();
    let event = NewEvent {
        event_type: event_type.unwrap_or(EventType::PostCreated),
        at: required(row.time()?)?,
        source_id: row.integer()?.map(SourceId),
        url: row.text()?,
        new_url: row.text()?,
        host: row.text()?,
        node: row.text()?,
        reason: row.text()?,
        until: row.time()?,
    };
    Ok(event_type.map(|_| StreamEvent { number, what: EventSubject::Other(Box::new(event)) }))
}

/// What an entry of a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryKind {
    Created,
    Updated,
    Other,
}

/// An entry of a page before its post or event is read.
pub(super) struct EventPlace {
    kind: EntryKind,
    number: i64,
    id: i64,
    bytes: i64,
}

pub(super) fn read_place(row: &mut impl Columns) -> Result<EventPlace> {
    let kind = match row.integer()? {
        Some(0) => EntryKind::Created,
        Some(1) => EntryKind::Updated,
        Some(2) => EntryKind::Other,
        kind => return Err(StoreError::damaged(format!("there is no kind {kind:?} of events"))),
    };
    let (number, id) = (required(row.integer()?)?, required(row.integer()?)?);
    Ok(EventPlace { kind, number, id, bytes: required(row.integer()?)? })
}

/// What a selection of types asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct WantedKinds {
    pub(super) created: bool,
    pub(super) updated: bool,
    pub(super) others: bool,
}

pub(super) fn wanted_kinds(selection: &EventSelection) -> WantedKinds {
    let is_other = |one: &EventType| !EventType::POSTS.contains(one);
    WantedKinds {
        created: selection.types.contains(&EventType::PostCreated),
        updated: selection.types.contains(&EventType::PostUpdated),
        others: selection.types.iter().any(is_other),
    }
}

/// The entries of a page, found before their posts and events are read.
pub(super) struct EventPlaces {
    places: Vec<EventPlace>,
    has_more: bool,
}

impl EventPlaces {
    /// The first of these that fit on a page: one at least.
    pub(super) fn new(mut found: Vec<EventPlace>, bounds: PageBounds) -> EventPlaces {
        let is_full = found.len() >= bounds.rows as usize;
        let count = found.len();
        let mut total = 0_u64;
        let fits = |(place, entry): (usize, &EventPlace)| {
            total = total.saturating_add(u64::try_from(entry.bytes).unwrap_or(0));
            place == 0 || total <= bounds.bytes
        };
        let kept = found.iter().enumerate().map(fits).take_while(|fits| *fits).count();
        found.truncate(kept);
        EventPlaces { has_more: is_full || kept < count, places: found }
    }

    /// Ids of the posts, each once.
    pub(super) fn posts(&self) -> Vec<i64> {
        let of_posts = self.places.iter().filter(|place| place.kind != EntryKind::Other);
        let mut ids: Vec<i64> = of_posts.map(|place| place.id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Lowest and highest number of the events that are no posts.
    pub(super) fn others(&self) -> Option<(i64, i64)> {
        let mut numbers = self.places.iter().filter(|place| place.kind == EntryKind::Other).map(|place| place.number);
        let first = numbers.next()?;
        Some((first, numbers.next_back().unwrap_or(first)))
    }

    /// The page. What cannot be read is left out, and passed.
    pub(super) fn page(
        self,
        selection: &EventSelection,
        posts: Vec<Post>,
        others: Vec<StreamEvent>,
        removed_to: Option<i64>,
    ) -> EventPage {
        let posts: HashMap<PostId, Arc<Post>> = posts.into_iter().map(|post| (post.id, Arc::new(post))).collect();
        let mut others: HashMap<i64, StreamEvent> = others.into_iter().map(|event| (event.number, event)).collect();
        let reached = self.places.last().map_or(selection.after, |place| place.number);
        let event = |EventPlace { kind, number, id, .. }: EventPlace| {
            let post = || posts.get(&PostId(id)).cloned();
            let event = match kind {
                EntryKind::Created => StreamEvent { number, what: EventSubject::Created(post()?) },
                EntryKind::Updated => StreamEvent { number, what: EventSubject::Updated(post()?) },
                EntryKind::Other => others.remove(&number)?,
            };
            selection.types.contains(&event.event_type()).then_some(event)
        };
        let events = self.places.into_iter().filter_map(event).collect();
        let removed_up_to = removed_to.filter(|number| *number > selection.after);
        EventPage { events, reached, has_more: self.has_more, removed_up_to }
    }
}
