//! The last polls of each source, in memory and bounded.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;

use crate::model::{EntryCounts, FailureKind, PollOutcome, SourceId, Timestamp};

/// Polls that are kept for each source.
const PER_SOURCE_MAX: usize = 20;
/// Sources whose polls are kept; the source that came first is dropped first.
const SOURCES_MAX: usize = 10_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettledPoll {
    /// When the poll ended.
    pub at: Timestamp,
    /// Outcome of the poll.
    pub outcome: PollOutcome,
    /// HTTP status of the last response.
    pub status_code: Option<u16>,
    pub error_type: Option<FailureKind>,
    /// Error of a failed poll.
    pub error: Option<String>,
    /// Number of new posts.
    pub new_posts: usize,
    /// What became of the entries that were read.
    pub entries: Option<EntryCounts>,
    /// Whether entries may have come and gone since the last reading.
    pub is_gap: bool,
    /// Posts of the poll that wait for the text of their page.
    pub full_texts_wanted: usize,
    /// Posts of the source that got the text of their page since the poll.
    pub full_texts: usize,
    /// Failed attempts to fetch such a page.
    pub full_text_failures: usize,
    /// Error of the last one.
    pub full_text_error: Option<String>,
    /// Body bytes received.
    pub bytes: usize,
    /// Duration of all requests.
    pub duration_ms: u64,
    /// Time and reason of the next poll.
    pub next: String,
    /// Feeds that the document links to, if it is a web page.
    pub linked_feeds: Vec<String>,
}

#[derive(Default)]
pub(super) struct History(Mutex<HistoryState>);

#[derive(Default)]
struct HistoryState {
    of_source: HashMap<SourceId, VecDeque<SettledPoll>>,
    order: VecDeque<SourceId>,
}

impl History {
    pub(super) fn add(&self, source: SourceId, record: SettledPoll) {
        let mut inner = self.0.lock();
        if !inner.of_source.contains_key(&source) {
            inner.order.push_back(source);
        }
        let records = inner.of_source.entry(source).or_default();
        records.push_back(record);
        if records.len() > PER_SOURCE_MAX {
            records.pop_front();
        }
        if inner.order.len() > SOURCES_MAX
            && let Some(oldest) = inner.order.pop_front()
        {
            inner.of_source.remove(&oldest);
        }
    }

    /// Notes the end of an attempt to fetch a page, with its error if it failed, at the last poll that read something.
    pub(super) fn note_full_text(&self, source: SourceId, error: Option<String>) {
        let mut inner = self.0.lock();
        let Some(records) = inner.of_source.get_mut(&source) else { return };
        let Some(record) = records.iter_mut().rev().find(|record| record.outcome == PollOutcome::Read) else { return };
        match error {
            None => record.full_texts += 1,
            Some(error) => {
                record.full_text_failures += 1;
                record.full_text_error = Some(error);
            }
        }
    }

    /// The last polls of a source, the newest first.
    pub(super) fn of(&self, source: SourceId) -> Vec<SettledPoll> {
        self.0.lock().of_source.get(&source).map(|records| records.iter().rev().cloned().collect()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(second: i64) -> SettledPoll {
        SettledPoll {
            at: Timestamp::from_seconds(second),
            outcome: PollOutcome::Read,
            status_code: Some(200),
            error_type: None,
            error: None,
            new_posts: 0,
            entries: None,
            is_gap: false,
            full_texts_wanted: 0,
            full_texts: 0,
            full_text_failures: 0,
            full_text_error: None,
            bytes: 0,
            duration_ms: 0,
            next: String::new(),
            linked_feeds: Vec::new(),
        }
    }

    #[test]
    fn it_remembers_the_newest_polls_of_a_bounded_number_of_sources() {
        let history = History::default();
        for second in 0..100 {
            history.add(SourceId(1), record(second));
        }
        let found = history.of(SourceId(1));
        assert_eq!((found.len(), found[0].at), (PER_SOURCE_MAX, Timestamp::from_seconds(99)));
        for source in 2..=SOURCES_MAX as i64 + 1 {
            history.add(SourceId(source), record(0));
        }
        assert!(history.of(SourceId(1)).is_empty());
        assert_eq!(history.of(SourceId(2)).len(), 1);
    }
}
