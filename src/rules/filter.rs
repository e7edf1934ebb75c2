//! Which entries of an answer become posts, before it is asked which are known.

use std::fmt;
use std::time::Duration;

use crate::model::{LastSeen, Source, Timestamp};

use super::watermark;

/// What the decision about an entry depends on beside the entry.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// When the answer is read.
    pub now: Timestamp,
    /// How far entries were seen before this answer.
    pub last_seen: Option<LastSeen>,
    /// On the first reading: when the source was added.
    pub added_at: Option<Timestamp>,
    /// How old an entry may be.
    pub age_max: Duration,
}

/// What becomes of an entry, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// It becomes a post unless its body is known.
    Kept(Kept),
    /// It is left out.
    Skipped(Skipped),
}

/// Why an entry is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It is as new as the newest one seen, or newer.
    New,
    /// It has no date, so no date can speak against it (s803).
    Undated,
    /// It claims to be from the future (s607).
    Future,
}

/// Why an entry is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// An entry published later was seen by an earlier poll (s603).
    Seen,
    /// It is older than the age limit (s802).
    TooOld,
    /// It was published before the source was added, and this is the first reading (s804).
    BeforeSource,
}

impl Reading {
    /// The reading of an answer of this source.
    ///
    /// The first reading is the first time that entries were looked at. Jitter, and polls that failed, do not make
    /// the next poll a later one: otherwise the backlog that the first poll is meant to skip would slip in (s807).
    pub fn of(source: &Source, age_max: Duration, now: Timestamp) -> Reading {
        let first = source.state.last_read_at.is_none();
        Reading { now, last_seen: source.state.last_seen, added_at: first.then_some(source.created_at), age_max }
    }

    /// Decides about an entry by its time of publication.
    ///
    /// An entry dated exactly like the newest one seen is kept for the hash to decide: feeds that give whole days
    /// would otherwise lose everything they publish later on the same day.
    pub fn decide(&self, published: Option<Timestamp>) -> Entry {
        let Some(published) = published else {
            return Entry::Kept(Kept::Undated);
        };
        if self.last_seen.and_then(watermark::published_mark).is_some_and(|mark| published < mark) {
            return Entry::Skipped(Skipped::Seen);
        }
        if published < self.now - self.age_max {
            return Entry::Skipped(Skipped::TooOld);
        }
        if self.added_at.is_some_and(|added_at| published < added_at) {
            return Entry::Skipped(Skipped::BeforeSource);
        }
        Entry::Kept(if published > self.now { Kept::Future } else { Kept::New })
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Entry::Kept(Kept::New) => "new",
            Entry::Kept(Kept::Undated) => "kept: it has no date",
            Entry::Kept(Kept::Future) => "kept: it is dated in the future",
            Entry::Skipped(Skipped::Seen) => "skipped: a later entry was seen before",
            Entry::Skipped(Skipped::TooOld) => "skipped: older than source.max-article-age-days",
            Entry::Skipped(Skipped::BeforeSource) => "skipped: published before the source was added",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{NewSource, SourceId, SourceSettings, SourceType};
    use crate::rules::{hours, jitter};

    const NOW: &str = "2026-02-18T12:00:00Z";

    fn moment(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn source() -> Source {
        Source::fresh(
            SourceId(1),
            NewSource {
                settings: SourceSettings::new(SourceType::Rss, "http://a.example/feed"),
                created_at: moment("2026-02-17T10:00:00Z"),
            },
        )
    }

    fn read_before() -> Source {
        let mut source = source();
        source.state.last_read_at = Some(moment("2026-02-17T12:00:00Z"));
        source
    }

    fn check(source: &Source, published: Option<&str>, expected: Entry) {
        let reading = Reading::of(source, hours(7 * 24), moment(NOW));
        assert_eq!(reading.decide(published.map(moment)), expected, "{published:?}");
    }

    #[test]
    fn s601_entries_newer_than_the_newest_seen_are_kept() {
        let mut source = read_before();
        source.state.last_seen = Some(LastSeen::Published(moment("2026-02-17T11:00:00Z")));
        check(&source, Some("2026-02-17T11:00:01Z"), Entry::Kept(Kept::New));
        check(&source, Some("2026-02-17T11:00:00Z"), Entry::Kept(Kept::New));
    }

    #[test]
    fn s603_entries_older_than_the_newest_seen_are_skipped() {
        let mut source = read_before();
        source.state.last_seen = Some(LastSeen::Published(moment("2026-02-17T11:00:00Z")));
        check(&source, Some("2026-02-17T10:59:59Z"), Entry::Skipped(Skipped::Seen));
    }

    #[test]
    fn s607_an_entry_from_the_future_is_kept() {
        check(&read_before(), Some("2026-03-01T00:00:00Z"), Entry::Kept(Kept::Future));
    }

    #[test]
    fn s802_entries_beyond_the_age_limit_are_skipped() {
        check(&read_before(), Some("2026-02-11T11:59:59Z"), Entry::Skipped(Skipped::TooOld));
        check(&read_before(), Some("2026-02-11T12:00:00Z"), Entry::Kept(Kept::New));
    }

    #[test]
    fn s803_entries_without_a_date_are_kept_on_any_poll() {
        check(&source(), None, Entry::Kept(Kept::Undated));
        check(&read_before(), None, Entry::Kept(Kept::Undated));
    }

    #[test]
    fn s804_the_first_poll_skips_what_is_older_than_the_source() {
        check(&source(), Some("2026-02-15T08:00:00Z"), Entry::Skipped(Skipped::BeforeSource));
    }

    #[test]
    fn s805_the_first_poll_keeps_what_is_younger_than_the_source() {
        check(&source(), Some("2026-02-17T12:00:00Z"), Entry::Kept(Kept::New));
        check(&source(), Some("2026-02-17T10:00:00Z"), Entry::Kept(Kept::New));
    }

    #[test]
    fn s806_later_polls_do_not_look_at_the_sources_age() {
        check(&read_before(), Some("2026-02-16T08:00:00Z"), Entry::Kept(Kept::New));
    }

    #[test]
    fn s806_what_the_first_poll_skipped_stays_out() {
        let mut source = source();
        let backlog = moment("2026-02-15T08:00:00Z");
        check(&source, Some("2026-02-15T08:00:00Z"), Entry::Skipped(Skipped::BeforeSource));
        let newest = moment("2026-02-16T09:00:00Z");
        source.state.last_seen = watermark::advance(None, [backlog, newest], moment(NOW));
        source.state.last_read_at = Some(moment(NOW));
        check(&source, Some("2026-02-15T08:00:00Z"), Entry::Skipped(Skipped::Seen));
    }

    #[test]
    fn s807_after_jitter_and_failures_the_first_reading_is_still_the_first() {
        let mut source = source();
        source.state.last_polled = Some(jitter::jittered_last_polled(moment(NOW), hours(1), 0.5));
        source.state.first_polled_at = Some(moment(NOW));
        check(&source, Some("2026-02-15T08:00:00Z"), Entry::Skipped(Skipped::BeforeSource));
    }
}
