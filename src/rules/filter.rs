//! Which unknown entries of a reading become posts, by their dates.

use std::fmt;

use crate::model::{Backlog, LastSeen, Source, Timestamp, Watermark};

use super::stored_times::is_unknown;
use super::{Policy, watermark};

/// Decides about the entries of one reading that the store does not know.
#[derive(Clone, Copy, Debug)]
pub struct EntryFilter {
    /// Time of the answer.
    pub now: Timestamp,
    /// Watermark before this answer.
    pub last_seen: Option<LastSeen>,
    /// Time at which the source was added.
    pub added_at: Timestamp,
    /// Whether this is the first reading of the source.
    pub is_first: bool,
    /// Entries published before this are too old.
    pub oldest: Timestamp,
    /// Which entries older than the source are wanted.
    pub backlog: Backlog,
    /// Whether the source is a page, which is kept whatever its date (s704).
    pub is_page: bool,
}

/// Whether an entry stood in the last document that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastDocument {
    /// It did.
    Had,
    /// It did not.
    Lacked,
    /// That is not known: no document was read, or it was too long to remember.
    Unknown,
}

/// Decision about an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryDecision {
    /// The entry becomes a post.
    Kept(Kept),
    /// The post of the entry gets its new content.
    Updated,
    /// The entry has a post already, or had one.
    Known(Known),
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
    /// It appeared later than a newer one (s610).
    Late,
    /// It is older than the source, and such entries are wanted.
    Backlog,
    /// Its known version stays, and the new one becomes a post too (`source.on-edit: new`).
    Edited,
    /// It is a page, which only its content identifies (s704).
    Page,
}

/// Why an entry needs no post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Its post has the same content.
    Unchanged,
    /// An entry before it in the document is the same one.
    Listed,
    /// Its post came under another id (s612), or with the same content (s801).
    Renamed,
    /// Its post was removed by the clean-up (s904).
    Removed,
    /// It changed, and `source.on-edit` keeps the first version.
    EditIgnored,
    /// It changed too often to be stored each time.
    EditsLimited,
}

/// Why an entry is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// An earlier poll saw and skipped it, or an entry published later (s603).
    Seen,
    /// It is older than the age limit (s802). The watermark does not move over it, and the document is remembered
    /// without it: if the clock was wrong, it is looked at again.
    TooOld,
    /// It was published before the source was added (s804).
    BeforeSource,
}

impl EntryFilter {
    /// The filter for an answer of this source.
    ///
    /// The first reading is the first answer with entries. Jitter and failed polls do not count as one: otherwise the
    /// backlog that the first reading skips would be stored (s807).
    ///
    /// Ages are judged by `ages_at`, which is the time of the answer unless the clock is not trusted. A watermark in the
    /// future says nothing, nor does the time at which the source was added: a clock that was ahead has stored them.
    pub fn of(
        source: &Source,
        watermark: Watermark,
        policy: &Policy,
        ages_at: Timestamp,
        now: Timestamp,
    ) -> EntryFilter {
        let is_first = source.state.last_read_at.is_none();
        let is_known = |seen: &LastSeen| watermark::published_mark(*seen).is_none_or(|mark| !is_unknown(mark, now));
        let is_added_later = !is_first && is_unknown(source.created_at, now);
        EntryFilter {
            now,
            last_seen: source.state.last_seen.filter(is_known),
            added_at: if is_added_later { Timestamp::MIN } else { source.created_at },
            is_first,
            oldest: ages_at - policy.article_age_max,
            backlog: source.settings.backlog.unwrap_or(policy.posts.backlog),
            is_page: watermark == Watermark::None,
        }
    }

    /// Decides about an unknown entry by its time of publication.
    ///
    /// An entry with exactly the date of the newest one seen is kept: feeds that give whole days would otherwise lose
    /// what they publish later on the same day.
    pub fn decide(&self, published: Option<Timestamp>, last_document: LastDocument) -> EntryDecision {
        if self.is_page {
            return EntryDecision::Kept(Kept::Page);
        }
        if last_document == LastDocument::Had {
            return EntryDecision::Skipped(Skipped::Seen);
        }
        let Some(published) = published else {
            return EntryDecision::Kept(Kept::Undated);
        };
        let is_before_source = published < self.added_at;
        let mark = self.last_seen.and_then(watermark::published_mark).filter(|_| !self.is_first);
        if last_document == LastDocument::Unknown
            && mark.is_some_and(|mark| published < mark || published == mark && is_before_source)
        {
            return EntryDecision::Skipped(Skipped::Seen);
        }
        // What the first reading skips as older than the source stays out for good, whatever its age (s806).
        let is_out = self.is_first && is_before_source && self.backlog == Backlog::Skip;
        if published < self.oldest && self.backlog != Backlog::All && !is_out {
            return EntryDecision::Skipped(Skipped::TooOld);
        }
        let is_late = mark.is_some_and(|mark| published < mark);
        match is_before_source && (self.is_first || is_late) {
            true if self.backlog == Backlog::Skip => EntryDecision::Skipped(Skipped::BeforeSource),
            true => EntryDecision::Kept(Kept::Backlog),
            false if is_late => EntryDecision::Kept(Kept::Late),
            false => EntryDecision::Kept(if published > self.now { Kept::Future } else { Kept::New }),
        }
    }
}

impl fmt::Display for EntryDecision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            EntryDecision::Kept(Kept::New) => "new",
            EntryDecision::Kept(Kept::Undated) => "kept: it has no date",
            EntryDecision::Kept(Kept::Future) => "kept: it is dated in the future",
            EntryDecision::Kept(Kept::Late) => "kept: it appeared after newer entries",
            EntryDecision::Kept(Kept::Backlog) => "kept: older entries are wanted (backlog)",
            EntryDecision::Kept(Kept::Edited) => "kept: a new version (source.on-edit)",
            EntryDecision::Kept(Kept::Page) => "new, unless its text is known",
            EntryDecision::Updated => "updated: its text changed",
            EntryDecision::Known(Known::Unchanged) => "known",
            EntryDecision::Known(Known::Listed) => "known: it is listed twice",
            EntryDecision::Known(Known::Renamed) => "known under another id",
            EntryDecision::Known(Known::Removed) => "known: its post was removed by the clean-up",
            EntryDecision::Known(Known::EditIgnored) => "known: its change is ignored (source.on-edit)",
            EntryDecision::Known(Known::EditsLimited) => "known: it changes too often to store each change",
            EntryDecision::Skipped(Skipped::Seen) => "skipped: seen before",
            EntryDecision::Skipped(Skipped::TooOld) => "skipped: older than source.max-article-age-days",
            EntryDecision::Skipped(Skipped::BeforeSource) => "skipped: older than the source (--backlog keeps it)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{NewSource, SourceId, SourceSettings, SourceType};
    use crate::rules::{PostPolicy, hours, jitter};

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
        assert_eq!(reading.decide(published.map(moment), LastDocument::Unknown), expected, "{published:?}");
    }

    fn feed_reading(source: &Source) -> EntryFilter {
        EntryFilter::of(source, Watermark::Published, &Policy::default(), moment(NOW), moment(NOW))
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
            let page = EntryFilter::of(&source, Watermark::None, &Policy::default(), moment(NOW), moment(NOW));
            let dates =
                ["0500-01-01T00:00:00Z", "2026-01-19T12:00:00Z", "2026-02-17T09:00:00Z", "2026-02-18T12:00:00Z", NOW];
            for published in dates.map(Some).into_iter().chain([None, Some("2036-02-18T12:00:00Z")]) {
                check_reading(page, published, EntryDecision::Kept(Kept::Page));
            }
        }
    }

    #[test]
    fn ages_are_judged_by_the_trusted_time() {
        let (published, ahead) = (moment("2026-02-17T11:00:00Z"), moment(NOW) + hours(30 * 24));
        let decide = |ages_at| {
            let filter = EntryFilter::of(&read_before(), Watermark::Published, &Policy::default(), ages_at, ahead);
            filter.decide(Some(published), LastDocument::Lacked)
        };
        assert_eq!(decide(ahead), EntryDecision::Skipped(Skipped::TooOld));
        assert_eq!(decide(moment(NOW)), EntryDecision::Kept(Kept::New));
    }

    #[test]
    fn what_a_clock_that_was_ahead_has_stored_hides_no_entry() {
        let mut source = read_before();
        source.state.last_seen = mark("2026-03-20T12:00:00Z");
        check(&source, Some("2026-02-18T11:00:00Z"), EntryDecision::Kept(Kept::New));
        source.state.last_seen = mark("2026-02-18T11:30:00Z");
        source.created_at = moment("2026-03-20T12:00:00Z");
        check_with(&source, "2026-02-18T11:00:00Z", LastDocument::Lacked, EntryDecision::Kept(Kept::Late));
    }

    #[test]
    fn s806_what_the_first_reading_skips_is_older_than_the_source_whatever_its_age() {
        check(&source(), Some("2020-02-15T08:00:00Z"), EntryDecision::Skipped(Skipped::BeforeSource));
    }

    fn mark(text: &str) -> Option<LastSeen> {
        Some(LastSeen::Published(moment(text)))
    }

    fn check_with(source: &Source, published: &str, last_document: LastDocument, expected: EntryDecision) {
        let found = feed_reading(source).decide(Some(moment(published)), last_document);
        assert_eq!(found, expected, "{published} {last_document:?}");
    }

    #[test]
    fn s610_an_entry_that_appears_late_is_kept_unless_it_is_older_than_the_source() {
        let mut source = read_before();
        source.state.last_seen = mark("2026-02-18T11:00:00Z");
        let late = "2026-02-17T11:00:00Z";
        check_with(&source, late, LastDocument::Lacked, EntryDecision::Kept(Kept::Late));
        check_with(&source, late, LastDocument::Had, EntryDecision::Skipped(Skipped::Seen));
        check_with(&source, late, LastDocument::Unknown, EntryDecision::Skipped(Skipped::Seen));
        let older = "2026-02-16T11:00:00Z";
        check_with(&source, older, LastDocument::Lacked, EntryDecision::Skipped(Skipped::BeforeSource));
        check_with(&source, "2026-02-01T11:00:00Z", LastDocument::Lacked, EntryDecision::Skipped(Skipped::TooOld));
    }

    #[test]
    fn s806_what_the_first_reading_skipped_stays_out_even_if_the_watermark_does_not_hide_it() {
        let mut source = read_before();
        let day = "2026-02-16T00:00:00Z";
        source.state.last_seen = mark(day);
        check_with(&source, day, LastDocument::Had, EntryDecision::Skipped(Skipped::Seen));
        check_with(&source, day, LastDocument::Unknown, EntryDecision::Skipped(Skipped::Seen));
        check_with(&source, day, LastDocument::Lacked, EntryDecision::Kept(Kept::New));
        // The clock went back since the source was added: everything is older than the source.
        source.created_at = moment("2026-02-18T14:00:00Z");
        check_with(&source, "2026-02-18T13:00:00Z", LastDocument::Had, EntryDecision::Skipped(Skipped::Seen));
    }

    #[test]
    fn a_backlog_that_is_wanted_is_kept_within_the_age_limit_or_whatever_its_age() {
        let (older, too_old) = ("2026-02-15T08:00:00Z", "2020-02-15T08:00:00Z");
        let wanting = |backlog| {
            let mut source = source();
            source.settings.backlog = Some(backlog);
            source
        };
        check(&wanting(Backlog::Keep), Some(older), EntryDecision::Kept(Kept::Backlog));
        check(&wanting(Backlog::Keep), Some(too_old), EntryDecision::Skipped(Skipped::TooOld));
        check(&wanting(Backlog::All), Some(too_old), EntryDecision::Kept(Kept::Backlog));
        check(&wanting(Backlog::Skip), Some(older), EntryDecision::Skipped(Skipped::BeforeSource));
        let by_default =
            Policy { posts: PostPolicy { backlog: Backlog::Keep, ..PostPolicy::default() }, ..Policy::default() };
        let filter = EntryFilter::of(&source(), Watermark::Published, &by_default, moment(NOW), moment(NOW));
        assert_eq!(filter.decide(Some(moment(older)), LastDocument::Unknown), EntryDecision::Kept(Kept::Backlog));
    }

    #[test]
    fn s807_after_jitter_and_failures_the_first_reading_is_still_the_first() {
        let mut source = source();
        source.state.last_polled = Some(jitter::jittered_last_polled(moment(NOW), hours(1), 0.5));
        source.state.first_polled_at = Some(moment(NOW));
        check(&source, Some("2026-02-15T08:00:00Z"), EntryDecision::Skipped(Skipped::BeforeSource));
    }
}
