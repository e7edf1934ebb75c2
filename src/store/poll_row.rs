//! The row of a poll in the history, and of an hour of polls: their columns, values and readers.

use std::borrow::Cow;
use std::str::FromStr;

use crate::model::{EntryCounts, FailureKind, PollHour, PollOutcome, PollSums, SettledPoll, StoredPoll};

use super::rows::{ColumnSpec, Columns, Value, required};
use super::{Result, StoreError};

/// The most bytes of an error or of linked feeds that are stored with a poll.
const TEXT_BYTES_MAX: usize = 2_000;

/// Columns that a settle writes. Those that most polls lack are null.
pub(super) const NEW_POLL: [ColumnSpec; 11] = [
    ("at", "timestamptz"),
    ("status_code", "bigint"),
    ("error_type", "text"),
    ("error", "text"),
    ("entries", "text"),
    ("is_gap", "boolean"),
    ("full_texts_wanted", "bigint"),
    ("bytes", "bigint"),
    ("duration_ms", "bigint"),
    ("next", "text"),
    ("linked_feeds", "text"),
];

pub(super) const POLL_ID: [ColumnSpec; 1] = [("id", "bigint")];

/// Columns that follow when pages of entries are fetched.
pub(super) const POLL_PAGES: [ColumnSpec; 3] =
    [("full_texts", "bigint"), ("full_text_failures", "bigint"), ("full_text_error", "text")];

/// Columns of an hour of polls.
pub(super) const POLL_HOUR: [ColumnSpec; 7] = [
    ("hour", "timestamptz"),
    ("outcome", "text"),
    ("polls", "bigint"),
    ("new_posts", "bigint"),
    ("updated_posts", "bigint"),
    ("bytes", "bigint"),
    ("duration_ms", "bigint"),
];

/// The values of [`NEW_POLL`].
pub(super) fn poll_values(poll: &SettledPoll) -> [Value<'_>; NEW_POLL.len()] {
    let feeds = (!poll.linked_feeds.is_empty()).then(|| Cow::Owned(bounded_lines(&poll.linked_feeds)));
    [
        Value::Time(Some(poll.at)),
        Value::number(poll.status_code.map(u32::from)),
        Value::text(poll.error_type.map(FailureKind::name)),
        Value::text(poll.error.as_deref().map(bounded)),
        Value::Text(poll.entries.map(|counts| Cow::Owned(written_counts(counts)))),
        Value::Flag(poll.is_gap),
        count((poll.full_texts_wanted > 0).then_some(poll.full_texts_wanted as u64)),
        count(Some(poll.bytes as u64)),
        count(Some(poll.duration_ms)),
        Value::text(Some(&poll.next)),
        Value::Text(feeds),
    ]
}

pub(super) fn read_poll(row: &mut impl Columns) -> Result<StoredPoll> {
    read_poll_columns(row).map_err(|error| error.of_table("polls"))
}

fn read_poll_columns(row: &mut impl Columns) -> Result<StoredPoll> {
    let id = required(row.integer()?)?;
    let poll = SettledPoll {
        at: required(row.time()?)?,
        status_code: row.number()?,
        error_type: row.parsed()?,
        error: row.text()?,
        entries: row.parsed::<WrittenCounts>()?.map(|WrittenCounts(counts)| counts),
        is_gap: row.flag()?,
        full_texts_wanted: row.number()?.unwrap_or(0),
        bytes: required(row.number()?)?,
        duration_ms: required(row.number()?)?,
        next: required(row.text()?)?,
        linked_feeds: row.text()?.map(|lines| lines.lines().map(str::to_owned).collect()).unwrap_or_default(),
        full_texts: row.number()?.unwrap_or(0),
        full_text_failures: row.number()?.unwrap_or(0),
        full_text_error: row.text()?,
    };
    Ok(StoredPoll { id, poll })
}

/// The values of [`POLL_HOUR`].
pub(super) fn hour_values(hour: &PollHour) -> [Value<'_>; POLL_HOUR.len()] {
    let outcome = match (hour.outcome, hour.error_type) {
        (PollOutcome::Read, _) => READ,
        (PollOutcome::Unchanged, _) => UNCHANGED,
        (PollOutcome::Failed, kind) => kind.unwrap_or(FailureKind::Internal).name(),
    };
    let PollSums { polls, new_posts, updated_posts, bytes, duration_ms } = hour.sums;
    let [polls, new_posts, updated_posts, bytes, duration_ms] =
        [polls, new_posts, updated_posts, bytes, duration_ms].map(|number| count(Some(number)));
    [Value::Time(Some(hour.hour)), Value::text(Some(outcome)), polls, new_posts, updated_posts, bytes, duration_ms]
}

const READ: &str = "read";
const UNCHANGED: &str = "unchanged";

pub(super) fn read_hour(row: &mut impl Columns) -> Result<PollHour> {
    read_hour_columns(row).map_err(|error| error.of_table("poll_hours"))
}

fn read_hour_columns(row: &mut impl Columns) -> Result<PollHour> {
    let (hour, name) = (required(row.time()?)?, required(row.text()?)?);
    let (outcome, error_type) = match name.as_str() {
        READ => (PollOutcome::Read, None),
        UNCHANGED => (PollOutcome::Unchanged, None),
        kind => (PollOutcome::Failed, Some(kind.parse::<FailureKind>().map_err(StoreError::damaged)?)),
    };
    let sums = PollSums {
        polls: required(row.number()?)?,
        new_posts: required(row.number()?)?,
        updated_posts: required(row.number()?)?,
        bytes: required(row.number()?)?,
        duration_ms: required(row.number()?)?,
    };
    Ok(PollHour { hour, outcome, error_type, sums })
}

/// Counts of entries as they are stored: numbers in the order of the fields, without zeros at the end.
fn written_counts(counts: EntryCounts) -> String {
    let numbers = counts.to_array();
    let used = numbers.iter().rposition(|number| *number > 0).map_or(1, |last| last + 1);
    numbers[..used].iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
}

struct WrittenCounts(EntryCounts);

impl FromStr for WrittenCounts {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<WrittenCounts, &'static str> {
        let mut numbers = EntryCounts::default().to_array();
        let mut places = numbers.iter_mut();
        for word in text.split(' ') {
            let place = places.next().ok_or("there are too many numbers")?;
            *place = word.parse().map_err(|_| "it is no list of numbers")?;
        }
        Ok(WrittenCounts(EntryCounts::from_array(numbers)))
    }
}

fn count<'a>(number: Option<u64>) -> Value<'a> {
    Value::Integer(number.map(|number| i64::try_from(number).unwrap_or(i64::MAX)))
}

fn bounded(text: &str) -> &str {
    let end = (0..=TEXT_BYTES_MAX.min(text.len())).rev().find(|place| text.is_char_boundary(*place));
    &text[..end.unwrap_or(0)]
}

/// As many lines as fit.
fn bounded_lines(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines {
        if text.len() + line.len() > TEXT_BYTES_MAX {
            break;
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_entries_are_read_as_they_were_written() {
        let cases = [
            (EntryCounts::default(), "0"),
            (EntryCounts { seen: 30, known: 30, ..EntryCounts::default() }, "30 0 0 0 30"),
            (EntryCounts { seen: 1, edits_ignored: 1, ..EntryCounts::default() }, "1 0 0 0 0 0 0 0 0 1"),
        ];
        for (counts, written) in cases {
            assert_eq!(written_counts(counts), written);
            assert_eq!(written.parse::<WrittenCounts>().map(|read| read.0), Ok(counts));
        }
        for wrong in ["", "1 two", "1 2 3 4 5 6 7 8 9 10 11", "-1"] {
            assert!(wrong.parse::<WrittenCounts>().is_err(), "{wrong:?}");
        }
    }
}
