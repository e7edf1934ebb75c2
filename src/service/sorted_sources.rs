//! Sources in another order than that of their ids, and the ids of all sources that match a filter. Sorting takes place in
//! memory and is bounded; every call of the store reads one page.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use super::sort_cache::SortedList;
use super::{Result, Service, ServiceError, SourceDetails, SourceFilter};
use crate::clock::Stopwatch;
use crate::model::{Source, SourceId, Timestamp};
use crate::rules::due;
use crate::rules::shown_url::shown_url;
use crate::rules::status::status;

/// The most sources that are sorted.
pub const SORTED_MAX: usize = 10_000;
/// The most sources that are examined for a sorted page.
pub const SORT_EXAMINED_MAX: usize = 100_000;
/// The most ids that [`Service::collect_source_ids`] returns.
pub const COLLECTED_MAX: usize = 1_000_000;
/// Sources that are read at once.
const PAGE: u32 = 500;

/// Order of a list of sources. Sources with equal keys are in the order of their ids; those without a key, such as a
/// title, come last in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceSort {
    pub key: SourceSortKey,
    pub descending: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourceSortKey {
    #[default]
    Id,
    /// As it is shown, without secrets.
    Url,
    /// The title that a user gave, or else that of the feed, case-insensitive.
    Title,
    /// Active, backing off, resting, disabled.
    State,
    LastPolled,
    /// Failures since the last success.
    Failures,
    /// Time of the next poll as it follows from the row; none for sources that are not polled.
    NextPoll,
}

/// A page of sources in a chosen order.
#[derive(Clone, Debug)]
pub struct SortedSources {
    pub sources: Vec<SourceDetails>,
    /// Whether there is a next page.
    pub has_more: bool,
    /// Number of matching sources among those that were examined. In the order of ids no more are examined than the page
    /// needs.
    pub matches: usize,
    /// Whether sources may be missing, because more than [`SORTED_MAX`] match or more than [`SORT_EXAMINED_MAX`] would
    /// have to be examined.
    pub is_incomplete: bool,
}

/// Ids of sources that match a filter, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectedIds {
    pub ids: Vec<SourceId>,
    pub examined: usize,
    /// Whether no matching source is missing.
    pub is_complete: bool,
}

/// What is compared. All keys of one list are of the same kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SortValue {
    Number(i64),
    Text(String),
    Time(Timestamp),
}

/// A matching source while it is sorted: rows are read again for the page alone, so that memory is bounded.
struct SortEntry {
    value: Option<SortValue>,
    id: SourceId,
}

struct Examined {
    count: usize,
    is_complete: bool,
}

impl Service {
    /// A page of the sources that match a filter, in this order, after the first `offset` ones.
    pub async fn sorted_sources(
        &self,
        filter: &SourceFilter,
        sort: SourceSort,
        offset: usize,
        limit: usize,
    ) -> Result<SortedSources> {
        let end = offset.saturating_add(limit);
        let is_by_id = sort == SourceSort::default();
        let list = match is_by_id {
            // One more shows whether there is a next page.
            true => self.sort(filter, sort, end.saturating_add(1)).await?,
            false => self.sorted_list(filter, sort).await?,
        };
        let (matches, has_more) = (list.ids.len(), list.ids.len() > end);
        let mut sources = Vec::new();
        for id in list.ids.iter().skip(offset).take(limit) {
            match self.source(*id).await {
                Ok(source) => sources.push(source),
                // Removed meanwhile.
                Err(ServiceError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        // The list may be older than the rows.
        let text = filter.text.as_ref().map(|text| text.to_lowercase());
        sources.retain(|source| self.matches(filter, text.as_deref(), source));
        // In the order of ids, those after the page are left out on purpose.
        let has_whole_page = is_by_id && has_more;
        let is_incomplete = !(list.is_complete || has_whole_page);
        Ok(SortedSources { sources: self.details(sources).await?, has_more, matches, is_incomplete })
    }

    /// The list that was sorted a short time ago, or a new one.
    async fn sorted_list(&self, filter: &SourceFilter, sort: SourceSort) -> Result<SortedList> {
        if let Some(list) = self.sort_cache.find(filter, sort) {
            return Ok(list);
        }
        let _sorting = self.sort_cache.sorting.lock().await;
        if let Some(list) = self.sort_cache.find(filter, sort) {
            return Ok(list);
        }
        let watch = Stopwatch::start();
        let list = self.sort(filter, sort, SORTED_MAX).await?;
        self.sort_cache.keep(filter, sort, &list, watch.elapsed());
        Ok(list)
    }

    async fn sort(&self, filter: &SourceFilter, sort: SourceSort, entries_max: usize) -> Result<SortedList> {
        let mut entries = Vec::new();
        let collect = |source: Source| {
            if entries.len() == entries_max {
                return ControlFlow::Break(());
            }
            entries.push(SortEntry { value: self.sort_value(&source, sort.key), id: source.id });
            ControlFlow::Continue(())
        };
        let examined = self.examine(filter, SORT_EXAMINED_MAX, collect, |_| {}).await?;
        entries.sort_by(|one, other| compare(one, other, sort.descending));
        let ids = entries.into_iter().map(|entry| entry.id).collect();
        Ok(SortedList { ids, examined: examined.count, is_complete: examined.is_complete })
    }

    /// The ids of up to `most` sources that match a filter, and of no more than [`COLLECTED_MAX`]. `progress` gets the
    /// number of examined sources after each page.
    pub async fn collect_source_ids(
        &self,
        filter: &SourceFilter,
        most: usize,
        progress: impl Fn(usize),
    ) -> Result<CollectedIds> {
        let most = most.min(COLLECTED_MAX);
        let mut ids = Vec::new();
        let collect = |source: Source| {
            if ids.len() == most {
                return ControlFlow::Break(());
            }
            ids.push(source.id);
            ControlFlow::Continue(())
        };
        let examined = self.examine(filter, usize::MAX, collect, progress).await?;
        Ok(CollectedIds { ids, examined: examined.count, is_complete: examined.is_complete })
    }

    /// Hands the matching sources over in the order of their ids, until there are no more, `take` ends it, or so many
    /// were examined.
    async fn examine(
        &self,
        filter: &SourceFilter,
        examined_max: usize,
        mut take: impl FnMut(Source) -> ControlFlow<()>,
        progress: impl Fn(usize),
    ) -> Result<Examined> {
        let selection = self.selection(filter);
        let text = filter.text.as_ref().map(|text| text.to_lowercase());
        let (mut after, mut count) = (None, 0);
        loop {
            let page = self.store.select_sources(selection.clone(), after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(Examined { count, is_complete: true }) };
            after = Some(last.id);
            for source in page {
                if count == examined_max {
                    return Ok(Examined { count, is_complete: false });
                }
                count += 1;
                if self.matches(filter, text.as_deref(), &source) && take(source).is_break() {
                    return Ok(Examined { count, is_complete: false });
                }
            }
            progress(count);
            tokio::task::yield_now().await;
        }
    }

    fn sort_value(&self, source: &Source, key: SourceSortKey) -> Option<SortValue> {
        let (settings, state) = (&source.settings, &source.state);
        match key {
            SourceSortKey::Id => Some(SortValue::Number(source.id.0)),
            SourceSortKey::Url => Some(SortValue::Text(shown_url(&settings.url))),
            SourceSortKey::Title => {
                let title = settings.title.as_ref().or(state.feed_title.as_ref());
                title.map(|title| SortValue::Text(title.to_lowercase()))
            }
            SourceSortKey::State => Some(SortValue::Number(status(source, &self.pipeline.policy(), self.now()) as i64)),
            SourceSortKey::LastPolled => state.last_polled.map(SortValue::Time),
            SourceSortKey::Failures => Some(SortValue::Number(i64::from(state.failures.consecutive))),
            SourceSortKey::NextPoll => {
                due::next_poll(source, None, &self.pipeline.policy(), self.now()).at().map(SortValue::Time)
            }
        }
    }
}

fn compare(one: &SortEntry, other: &SortEntry, descending: bool) -> Ordering {
    let by_value = match (&one.value, &other.value) {
        (Some(value), Some(other)) if descending => other.cmp(value),
        (Some(value), Some(other)) => value.cmp(other),
        (value, other) => other.is_some().cmp(&value.is_some()),
    };
    by_value.then(one.id.cmp(&other.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_without_a_key_come_last_in_both_directions() {
        let sorted = |descending| {
            let titles = [(1, Some("b")), (2, None), (3, Some("a")), (4, Some("b")), (5, None)];
            let entry = |(id, title): (i64, Option<&str>)| SortEntry {
                value: title.map(|title| SortValue::Text(title.to_owned())),
                id: SourceId(id),
            };
            let mut entries: Vec<SortEntry> = titles.into_iter().map(entry).collect();
            entries.sort_by(|one, other| compare(one, other, descending));
            entries.iter().map(|entry| entry.id.0).collect::<Vec<_>>()
        };
        assert_eq!(sorted(false), [3, 1, 4, 2, 5]);
        assert_eq!(sorted(true), [1, 4, 3, 2, 5]);
    }
}
