//! Sorted lists of ids, kept for a while: sorting reads up to 100,000 sources, and a list is loaded again and again while
//! it is open. Only the order is kept; rows are read anew.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::{SourceFilter, SourceSort};
use crate::clock::Stopwatch;
use crate::model::SourceId;

/// A list is kept for this many times the time that sorting took, and at most for `AGE_MAX`.
const AGE_FACTOR: u32 = 200;
const AGE_MAX: Duration = Duration::from_secs(120);
/// Lists for which no more sources were examined are not kept.
const EXAMINED_MIN: usize = 500;
/// Further lists replace the oldest one.
const LISTS_MAX: usize = 16;

#[derive(Default)]
pub(super) struct SortCache {
    lists: Mutex<Vec<CachedList>>,
    /// Held while sources are sorted, so that several clients do not sort the same list.
    pub(super) sorting: tokio::sync::Mutex<()>,
}

struct CachedList {
    filter: SourceFilter,
    sort: SourceSort,
    list: SortedList,
    sorted: Stopwatch,
    took: Duration,
}

#[derive(Clone)]
pub(super) struct SortedList {
    pub(super) ids: Arc<[SourceId]>,
    pub(super) examined: usize,
    /// Whether no matching source is missing.
    pub(super) is_complete: bool,
}

impl SortCache {
    pub(super) fn find(&self, filter: &SourceFilter, sort: SourceSort) -> Option<SortedList> {
        let mut lists = self.lists.lock();
        lists.retain(|cached| cached.sorted.elapsed() < (cached.took * AGE_FACTOR).min(AGE_MAX));
        let found = lists.iter().find(|cached| cached.sort == sort && cached.filter == *filter);
        found.map(|cached| cached.list.clone())
    }

    pub(super) fn keep(&self, filter: &SourceFilter, sort: SourceSort, list: &SortedList, took: Duration) {
        if list.examined <= EXAMINED_MIN {
            return;
        }
        let mut lists = self.lists.lock();
        if lists.len() >= LISTS_MAX {
            lists.remove(0);
        }
        lists.push(CachedList { filter: filter.clone(), sort, list: list.clone(), sorted: Stopwatch::start(), took });
    }
}
