//! Polls as they are shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{EntryCounts, FailureKind, PollHour, PollOutcome, SettledPoll, Timestamp};
use crate::rules::shown_url::shown_url;
use crate::service;

/// Settled poll.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PollRecord {
    /// When the poll ended.
    pub at: Timestamp,
    /// Outcome of the poll.
    pub outcome: PollOutcome,
    /// HTTP status of the last response; null without one.
    pub status_code: Option<u16>,
    /// Kind of the failure.
    pub error_type: Option<FailureKind>,
    /// Error of a failed poll.
    pub error: Option<String>,
    /// Posts that were not known before.
    pub new_posts: usize,
    /// What became of the entries of the document; null if none was read.
    #[serde(default)]
    pub entries: Option<EntryCounts>,
    /// `entries` as a sentence.
    #[serde(default)]
    pub entries_text: Option<String>,
    /// Whether entries may be missing: no entry of the document was known, although the feed was read before.
    #[serde(default)]
    pub is_gap: bool,
    /// Posts of the poll whose pages are fetched for their text (full text).
    #[serde(default)]
    pub full_texts_wanted: usize,
    /// Posts that got the text of their page since the poll.
    #[serde(default)]
    pub full_texts: usize,
    /// Failed attempts to fetch the page of a post since the poll.
    #[serde(default)]
    pub full_text_failures: usize,
    /// Error of the last failed attempt.
    #[serde(default)]
    pub full_text_error: Option<String>,
    /// Body bytes received, before decoding.
    pub bytes: usize,
    /// Duration of all requests.
    pub duration_ms: u64,
    /// Time and reason of the next poll.
    pub next: String,
    /// Feeds that the response links to, if it is a web page instead of a feed.
    pub linked_feeds: Vec<String>,
}

/// Polls of all sources that ended in one hour in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PollHourView {
    /// Start of the hour.
    pub hour: Timestamp,
    /// Outcome of the polls.
    pub outcome: PollOutcome,
    /// Kind of the failures; null unless the outcome is `failed`.
    pub error_type: Option<FailureKind>,
    /// Number of polls.
    pub polls: u64,
    /// Posts that were not known before.
    pub new_posts: u64,
    /// Posts that got new content.
    pub updated_posts: u64,
    /// Body bytes received, before decoding.
    pub bytes: u64,
    /// Duration of all requests.
    pub duration_ms: u64,
}

/// Parameters of the statistics by hour.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PollHoursQuery {
    /// Start of the first hour (default: a week ago).
    pub since: Option<Timestamp>,
}

impl From<PollHour> for PollHourView {
    fn from(row: PollHour) -> PollHourView {
        PollHourView {
            hour: row.hour,
            outcome: row.outcome,
            error_type: row.error_type,
            polls: row.sums.polls,
            new_posts: row.sums.new_posts,
            updated_posts: row.sums.updated_posts,
            bytes: row.sums.bytes,
            duration_ms: row.sums.duration_ms,
        }
    }
}

/// Response to a poll request.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum PollAnswer {
    /// Poll finished.
    Done {
        /// Result of the poll.
        poll: Box<PollRecord>,
    },
    /// Poll scheduled for later.
    Requested {
        /// Earliest time of the poll; null while all polling is suspended.
        not_before: Option<Timestamp>,
        /// Reason for the wait.
        reason: String,
    },
    /// Poll refused.
    Refused {
        /// Reason for the refusal.
        reason: String,
    },
}

impl PollRecord {
    /// The poll as a caller sees it: with the credentials in URLs of linked feeds, or without.
    pub(in crate::api) fn new(poll: SettledPoll, sees_secrets: bool) -> PollRecord {
        let mut record = PollRecord::from(poll);
        if !sees_secrets {
            record.linked_feeds.iter_mut().for_each(|url| *url = shown_url(url));
        }
        record
    }
}

impl From<SettledPoll> for PollRecord {
    fn from(poll: SettledPoll) -> PollRecord {
        PollRecord {
            at: poll.at,
            outcome: poll.outcome(),
            status_code: poll.status_code,
            error_type: poll.error_type,
            new_posts: poll.new_posts(),
            error: poll.error,
            entries_text: poll.entries.map(|counts| counts.to_string()),
            entries: poll.entries,
            is_gap: poll.is_gap,
            full_texts_wanted: poll.full_texts_wanted,
            full_texts: poll.full_texts,
            full_text_failures: poll.full_text_failures,
            full_text_error: poll.full_text_error,
            bytes: poll.bytes,
            duration_ms: poll.duration_ms,
            next: poll.next,
            linked_feeds: poll.linked_feeds,
        }
    }
}

impl From<service::RequestedPoll> for PollAnswer {
    fn from(answer: service::RequestedPoll) -> PollAnswer {
        match answer {
            service::RequestedPoll::Done(poll) => PollAnswer::Done { poll: Box::new((*poll).into()) },
            service::RequestedPoll::Scheduled(outlook) => {
                PollAnswer::Requested { not_before: outlook.not_before, reason: outlook.reason }
            }
            service::RequestedPoll::Refused { reason } => PollAnswer::Refused { reason },
        }
    }
}
