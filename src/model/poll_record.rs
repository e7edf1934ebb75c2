//! Settled polls as the store keeps them: one by one, and by the hour.

use super::{EntryCounts, FailureKind, PollOutcome, Timestamp};

/// A poll that is settled. Its outcome follows from the other fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettledPoll {
    /// When the poll ended.
    pub at: Timestamp,
    /// HTTP status of the last response.
    pub status_code: Option<u16>,
    /// Kind of the failure; none if the poll succeeded.
    pub error_type: Option<FailureKind>,
    /// Error of a failed poll.
    pub error: Option<String>,
    /// What became of the entries that were read; none if no document was.
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

impl SettledPoll {
    /// A poll that found nothing new.
    pub const fn unchanged(at: Timestamp) -> SettledPoll {
        SettledPoll {
            at,
            status_code: None,
            error_type: None,
            error: None,
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

    pub fn outcome(&self) -> PollOutcome {
        match (self.error_type, self.entries) {
            (Some(_), _) => PollOutcome::Failed,
            (None, Some(_)) => PollOutcome::Read,
            (None, None) => PollOutcome::Unchanged,
        }
    }

    /// Number of new posts.
    pub fn new_posts(&self) -> usize {
        self.entries.map_or(0, |counts| usize::try_from(counts.new).unwrap_or(usize::MAX))
    }
}

/// A poll in the history of its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPoll {
    /// Grows from poll to poll.
    pub id: i64,
    pub poll: SettledPoll,
}

/// Polls of all sources that ended in one hour in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollHour {
    /// Start of the hour.
    pub hour: Timestamp,
    pub outcome: PollOutcome,
    /// Kind of the failures.
    pub error_type: Option<FailureKind>,
    pub sums: PollSums,
}

/// Sums over polls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PollSums {
    pub polls: u64,
    pub new_posts: u64,
    /// Posts that got new content.
    pub updated_posts: u64,
    /// Body bytes received.
    pub bytes: u64,
    /// Duration of all requests.
    pub duration_ms: u64,
}

impl PollSums {
    pub fn of(poll: &SettledPoll) -> PollSums {
        let entries = poll.entries.unwrap_or_default();
        PollSums {
            polls: 1,
            new_posts: entries.new,
            updated_posts: entries.updated,
            bytes: poll.bytes as u64,
            duration_ms: poll.duration_ms,
        }
    }

    pub fn add(&mut self, other: &PollSums) {
        self.polls += other.polls;
        self.new_posts += other.new_posts;
        self.updated_posts += other.updated_posts;
        self.bytes += other.bytes;
        self.duration_ms += other.duration_ms;
    }
}

/// What the history of polls keeps. Computed by `rules::cleanup`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryBounds {
    /// Older polls go.
    pub since: Timestamp,
    /// Polls that ended after this time go: they are from a clock that was ahead.
    pub until: Timestamp,
    /// About the most polls that stay.
    pub polls_max: u64,
}
