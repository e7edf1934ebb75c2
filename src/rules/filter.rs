//! Which entries of an answer become posts, unless their hashes are known.

use std::fmt;
use std::time::Duration;

use crate::model::{ContentHash, LastSeen, NewPost, Source, Timestamp, Watermark};

use super::watermark;

/// The most entries that one answer can leave out by their hashes. A day of the busiest feed has fewer, and the hash
/// decides only about entries with the newest date of a backlog.
pub const LEFT_OUT_MAX: usize = 1000;

/// Decides about the entries of one answer.
#[derive(Clone, Copy, Debug)]
pub struct EntryFilter {
    /// Time of the answer.
    pub now: Timestamp,
    /// Watermark before this answer.
    pub last_seen: Option<LastSeen>,
    /// Time at which the source was added; on the first reading only.
    pub added_at: Option<Timestamp>,
    /// Age limit of entries.
    pub age_max: Duration,
    /// Whether the source is a page, which is kept whatever its date (s704).
    pub is_page: bool,
}

/// Decision about an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryDecision {
    /// The entry becomes a post unless its body is known.
    Kept(Kept),
    /// The entry is left out.
    Skipped(Skipped),
}

/// Why an entry is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It is as new as the newest one seen, or newer.
    New,
    /// It has no date (s803).
    Undated,
    /// Its date lies in the future (s607).
    Future,
    /// It is a page, which only its hash identifies (s704).
    Page,
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

impl EntryFilter {
    /// The filter for an answer of this source.
    ///
    /// The first reading is the first answer with entries. Jitter and failed polls do not count as one: otherwise the
    /// backlog that the first reading skips would be stored (s807).
    pub fn of(source: &Source, watermark: Watermark, age_max: Duration, now: Timestamp) -> EntryFilter {
        let first = source.state.last_read_at.is_none();
        EntryFilter {
            now,
            last_seen: source.state.last_seen,
            added_at: first.then_some(source.created_at),
            age_max,
            is_page: watermark == Watermark::None,
        }
    }

    /// Decides about an entry by its time of publication.
    ///
    /// An entry with exactly the date of the newest one seen is kept, and its hash decides: feeds that give whole days
    /// would otherwise lose what they publish later on the same day.
    pub fn decide(&self, published: Option<Timestamp>) -> EntryDecision {
        if self.is_page {
            return EntryDecision::Kept(Kept::Page);
        }
        let Some(published) = published else {
            return EntryDecision::Kept(Kept::Undated);
        };
        if self.last_seen.and_then(watermark::published_mark).is_some_and(|mark| published < mark) {
            return EntryDecision::Skipped(Skipped::Seen);
        }
        if published < self.now - self.age_max {
            return EntryDecision::Skipped(Skipped::TooOld);
        }
        if self.added_at.is_some_and(|added_at| published < added_at) {
            return EntryDecision::Skipped(Skipped::BeforeSource);
        }
        EntryDecision::Kept(if published > self.now { Kept::Future } else { Kept::New })
    }

    /// Hashes of the entries to remember as left out: entries older than the source that the next reading would keep,
    /// because the new watermark does not hide them (s806).
    ///
    /// These are entries with exactly the date of the watermark. Numbered posts are requested by their number and do
    /// not come again.
    pub fn left_out<'a>(
        &self,
        found: impl IntoIterator<Item = &'a NewPost>,
        watermark: Option<LastSeen>,
    ) -> Vec<ContentHash> {
        let comes_again = |published: Timestamp| match watermark {
            Some(LastSeen::Published(mark)) => published >= mark,
            Some(LastSeen::PostNumber(_)) => false,
            None => true,
        };
        let is_left_out = |post: &&NewPost| {
            post.published_at().is_some_and(comes_again)
                && self.decide(post.published_at()) == EntryDecision::Skipped(Skipped::BeforeSource)
        };
        found.into_iter().filter(is_left_out).map(NewPost::content_hash).take(LEFT_OUT_MAX).collect()
    }
}

impl fmt::Display for EntryDecision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            EntryDecision::Kept(Kept::New) => "new",
            EntryDecision::Kept(Kept::Undated) => "kept: it has no date",
            EntryDecision::Kept(Kept::Future) => "kept: it is dated in the future",
            EntryDecision::Kept(Kept::Page) => "new, unless its text is known",
            EntryDecision::Skipped(Skipped::Seen) => "skipped: a later entry was seen before",
            EntryDecision::Skipped(Skipped::TooOld) => "skipped: older than source.max-article-age-days",
            EntryDecision::Skipped(Skipped::BeforeSource) => "skipped: published before the source was added",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{NewSource, PostText, SourceId, SourceSettings, SourceType};
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

    fn check(source: &Source, published: Option<&str>, expected: EntryDecision) {
        check_reading(feed_reading(source), published, expected);
    }

    fn check_reading(reading: EntryFilter, published: Option<&str>, expected: EntryDecision) {
        assert_eq!(reading.decide(published.map(moment)), expected, "{published:?}");
    }

    fn feed_reading(source: &Source) -> EntryFilter {
        EntryFilter::of(source, Watermark::Published, hours(7 * 24), moment(NOW))
    }

    #[test]
    fn s601_entries_newer_than_the_newest_seen_are_kept() {
        let mut source = read_before();
        source.state.last_seen = Some(LastSeen::Published(moment("2026-02-17T11:00:00Z")));
        check(&source, Some("2026-02-17T11:00:01Z"), EntryDecision::Kept(Kept::New));
        check(&source, Some("2026-02-17T11:00:00Z"), EntryDecision::Kept(Kept::New));
    }

    #[test]
    fn s603_entries_older_than_the_newest_seen_are_skipped() {
        let mut source = read_before();
        source.state.last_seen = Some(LastSeen::Published(moment("2026-02-17T11:00:00Z")));
        check(&source, Some("2026-02-17T10:59:59Z"), EntryDecision::Skipped(Skipped::Seen));
    }

    #[test]
    fn s607_an_entry_from_the_future_is_kept() {
        check(&read_before(), Some("2026-03-01T00:00:00Z"), EntryDecision::Kept(Kept::Future));
    }

    #[test]
    fn s802_entries_beyond_the_age_limit_are_skipped() {
        check(&read_before(), Some("2026-02-11T11:59:59Z"), EntryDecision::Skipped(Skipped::TooOld));
        check(&read_before(), Some("2026-02-11T12:00:00Z"), EntryDecision::Kept(Kept::New));
    }

    #[test]
    fn s803_entries_without_a_date_are_kept_on_any_poll() {
        check(&source(), None, EntryDecision::Kept(Kept::Undated));
        check(&read_before(), None, EntryDecision::Kept(Kept::Undated));
    }

    #[test]
    fn s804_the_first_poll_skips_what_is_older_than_the_source() {
        check(&source(), Some("2026-02-15T08:00:00Z"), EntryDecision::Skipped(Skipped::BeforeSource));
    }

    #[test]
    fn s805_the_first_poll_keeps_what_is_younger_than_the_source() {
        check(&source(), Some("2026-02-17T12:00:00Z"), EntryDecision::Kept(Kept::New));
        check(&source(), Some("2026-02-17T10:00:00Z"), EntryDecision::Kept(Kept::New));
    }

    #[test]
    fn s806_later_polls_do_not_look_at_the_sources_age() {
        check(&read_before(), Some("2026-02-16T08:00:00Z"), EntryDecision::Kept(Kept::New));
    }

    #[test]
    fn s806_what_the_first_poll_skipped_stays_out() {
        let mut source = source();
        let backlog = moment("2026-02-15T08:00:00Z");
        check(&source, Some("2026-02-15T08:00:00Z"), EntryDecision::Skipped(Skipped::BeforeSource));
        let newest = moment("2026-02-16T09:00:00Z");
        source.state.last_seen = watermark::advance(None, [backlog, newest], moment(NOW));
        source.state.last_read_at = Some(moment(NOW));
        check(&source, Some("2026-02-15T08:00:00Z"), EntryDecision::Skipped(Skipped::Seen));
    }

    #[test]
    fn s704_a_page_is_kept_whatever_its_date_says() {
        for mut source in [source(), read_before()] {
            source.state.last_seen = mark("2026-02-18T11:00:00Z");
            let page = EntryFilter::of(&source, Watermark::None, hours(7 * 24), moment(NOW));
            let dates =
                ["0500-01-01T00:00:00Z", "2026-01-19T12:00:00Z", "2026-02-17T09:00:00Z", "2026-02-18T12:00:00Z", NOW];
            for published in dates.map(Some).into_iter().chain([None, Some("2036-02-18T12:00:00Z")]) {
                check_reading(page, published, EntryDecision::Kept(Kept::Page));
                // Nor is it remembered as left out, which would keep it out for good.
                check_reading_leaves_out(page, &[published], None, &[]);
            }
        }
    }

    /// Lets a first reading find entries with these dates, and expects those in these places to be remembered.
    fn check_left_out(source: &Source, published: &[Option<&str>], watermark: Option<LastSeen>, expected: &[usize]) {
        check_reading_leaves_out(feed_reading(source), published, watermark, expected);
    }

    fn check_reading_leaves_out(
        reading: EntryFilter,
        published: &[Option<&str>],
        watermark: Option<LastSeen>,
        expected: &[usize],
    ) {
        let post = |(place, published): (usize, &Option<&str>)| {
            NewPost::new(PostText { body: place.to_string(), ..PostText::default() }, published.map(moment))
        };
        let found: Vec<NewPost> = published.iter().enumerate().map(post).collect();
        let left_out = reading.left_out(&found, watermark);
        let expected: Vec<ContentHash> = expected.iter().map(|place| found[*place].content_hash()).collect();
        assert_eq!(left_out, expected, "{published:?}");
    }

    fn mark(text: &str) -> Option<LastSeen> {
        Some(LastSeen::Published(moment(text)))
    }

    #[test]
    fn s806_what_the_watermark_cannot_hide_from_the_next_reading_is_remembered() {
        let (day, older, newer) = ("2026-02-16T00:00:00Z", "2026-02-15T23:59:59Z", "2026-02-17T10:00:00Z");
        check_left_out(&source(), &[Some(day)], mark(day), &[0]);
        check_left_out(&source(), &[Some(day), Some(older), Some(day)], mark(day), &[0, 2]);
        // What came after the source is stored; it has moved the watermark beyond everything that was skipped.
        check_left_out(&source(), &[Some(newer), Some(day)], mark(newer), &[]);
        check_left_out(&source(), &[None, Some(day)], mark(day), &[1]);
    }

    #[test]
    fn s806_nothing_is_remembered_that_stays_out_by_itself() {
        let (day, too_old) = ("2026-02-16T00:00:00Z", "2026-02-11T11:59:59Z");
        check_left_out(&read_before(), &[Some(day)], mark(day), &[]);
        check_left_out(&source(), &[Some(too_old)], mark(too_old), &[]);
        check_left_out(&source(), &[Some(day)], Some(LastSeen::PostNumber(9)), &[]);
        check_left_out(&source(), &[], None, &[]);
    }

    #[test]
    fn s806_a_clock_that_went_back_since_the_source_was_added_lets_no_backlog_in() {
        let mut source = source();
        source.created_at = moment("2026-02-18T14:00:00Z");
        let (before, between) = ("2026-02-18T11:00:00Z", "2026-02-18T13:00:00Z");
        check_left_out(&source, &[Some(between)], None, &[0]);
        check_left_out(&source, &[Some(between), Some(before)], mark(before), &[0, 1]);
    }

    #[test]
    fn s806_a_backlog_of_one_date_is_remembered_within_bounds() {
        let day = "2026-02-16T00:00:00Z";
        let places: Vec<usize> = (0..LEFT_OUT_MAX).collect();
        check_left_out(&source(), &vec![Some(day); LEFT_OUT_MAX + 1], mark(day), &places);
    }

    #[test]
    fn s807_after_jitter_and_failures_the_first_reading_is_still_the_first() {
        let mut source = source();
        source.state.last_polled = Some(jitter::jittered_last_polled(moment(NOW), hours(1), 0.5));
        source.state.first_polled_at = Some(moment(NOW));
        check(&source, Some("2026-02-15T08:00:00Z"), EntryDecision::Skipped(Skipped::BeforeSource));
    }
}
