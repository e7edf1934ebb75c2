//! The stream of events, as clients read it.

use std::collections::{HashMap, HashSet};

use super::{Result, Service};
use crate::model::{EventSelection, EventType, PostSource, SourceId, StreamEvent, Timestamp};
use crate::rules::shown_url::shown_url;
use crate::store::PageBounds;

/// Texts and HTML on a page of events.
const PAGE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Numbers do not quite follow the times: nodes store at the same time, and clocks are set.
const NUMBERS_BEFORE: i64 = 20_000;

/// Which events to find. An absent field matches every event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// All types if empty.
    pub types: Vec<EventType>,
    pub source: Option<SourceId>,
    /// Label of the source: events without a source have none.
    pub label: Option<String>,
    /// At this time or later.
    pub since: Option<Timestamp>,
}

/// Events that match, with their sources.
#[derive(Clone, Debug, Default)]
pub struct FoundEvents {
    pub events: Vec<StreamEvent>,
    /// The sources that still exist, with their labels and without credentials in their URLs.
    pub sources: HashMap<SourceId, PostSource>,
    /// Where the next page begins. A page can be short, or empty, and still have a next one.
    pub reached: i64,
    pub has_more: bool,
    /// Events behind the cursor were removed before they were read, up to this number.
    pub removed_up_to: Option<i64>,
}

impl Service {
    /// The events that match, in the order of their numbers, behind this one.
    pub async fn events(&self, filter: &EventFilter, after: i64, rows: u32) -> Result<FoundEvents> {
        let types = if filter.types.is_empty() { EventType::ALL.to_vec() } else { filter.types.clone() };
        let selection = EventSelection { after, source: filter.source, types };
        let page = self.store.events_page(selection, PageBounds { rows, bytes: PAGE_BYTES_MAX }).await?;
        let ids: HashSet<SourceId> = page.events.iter().filter_map(StreamEvent::source_id).collect();
        let ids: Vec<SourceId> = ids.into_iter().collect();
        let mut labels = self.labels_by_source(ids.clone()).await?;
        let sources = self.store.sources_of_posts(ids).await?.into_iter();
        let complete = |source: PostSource| PostSource {
            url: shown_url(&source.url),
            labels: labels.remove(&source.id).unwrap_or_default(),
            ..source
        };
        let sources: HashMap<SourceId, PostSource> = sources.map(complete).map(|source| (source.id, source)).collect();
        let has_label = |event: &StreamEvent| {
            let source = event.source_id().and_then(|id| sources.get(&id));
            filter.label.as_ref().is_none_or(|label| source.is_some_and(|source| source.labels.contains(label)))
        };
        let is_since = |event: &StreamEvent| filter.since.is_none_or(|since| event.at() >= since);
        let events = page.events.into_iter().filter(|event| has_label(event) && is_since(event)).collect();
        let (reached, has_more, removed_up_to) = (page.reached, page.has_more, page.removed_up_to);
        Ok(FoundEvents { events, sources, reached, has_more, removed_up_to })
    }

    /// A number before all events at this time or later.
    pub async fn event_number_before(&self, since: Timestamp) -> Result<i64> {
        let first = [self.first_id_at(Some(since)).await?.map(|id| id.0), self.store.first_event_since(since).await?];
        let first = match first.into_iter().flatten().min() {
            Some(first) => first,
            None => self.last_change_number().await?,
        };
        Ok(first.saturating_sub(NUMBERS_BEFORE).max(0))
    }
}
