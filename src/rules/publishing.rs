//! How often a source publishes: an estimate from the entries of the last weeks, with weekday and hour where they are
//! clear.
//!
//! Each new entry counts, and its count fades over some weeks. Entries count by their dates if these can be true, else by
//! when they were seen. With few entries a prior decides.

use std::time::Duration;

use crate::model::{NewPost, PublishingCounts, PublishingHistory, Source, Timestamp};

use super::filter::{EntryDecision, Kept};
use super::hours;
use super::publishing_pattern::WeekPattern;
use super::reading::ReadingDecision;
use super::watermark::published_mark;

/// Time after which 1/e of a count is left.
const FADE: Duration = hours(21 * 24);
/// Entries of the first document count from this long ago on.
const LOOK_BACK: Duration = hours(63 * 24);
/// What is assumed before there are entries: this many of them, at [`PRIOR_PER_SECOND`].
const PRIOR_ENTRIES: f64 = 0.5;
/// One entry a day, which is what the median of many lists of feeds publishes.
pub(super) const PRIOR_PER_SECOND: f64 = 1.0 / 86_400.0;
/// More entries than this tell no more.
const ENTRIES_MAX: f64 = 1e6;

/// New entries of one reading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// Those with a date that can be true, from the oldest to the newest.
    pub dated: Vec<Timestamp>,
    /// Number of the others, which count as published when they were seen.
    pub undated: u32,
}

/// PublishingRate at which a source publishes.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishingRate {
    /// New entries per second, on average over the week.
    pub per_second: f64,
    /// Weekdays and hours, if they are clear.
    pub pattern: Option<Box<WeekPattern>>,
}

/// What is known after a reading. `ages_at` is the time that ages are judged by.
///
/// What is known changes with new entries only, so that most polls leave the stored value as it is.
pub fn after_reading(
    source: &Source,
    posts: &[NewPost],
    decision: &ReadingDecision,
    ages_at: Timestamp,
    now: Timestamp,
) -> PublishingHistory {
    let Some(counts) = source.state.publishing.counts() else {
        let dates = posts.iter().filter_map(NewPost::published_at);
        return PublishingHistory::Known(Box::new(first(dates, ages_at)));
    };
    // Without trust in the clock no date can be compared with it.
    let read_at = source.state.last_read_at.filter(|_| ages_at == now);
    let mut observed = Observed::default();
    for (post, _) in posts.iter().zip(&decision.entries).filter(|(_, decision)| is_publication(**decision)) {
        match post.published_at().filter(|date| read_at.is_some_and(|read| *date > read) && *date <= now) {
            Some(date) => observed.dated.push(date),
            None => observed.undated += 1,
        }
    }
    observed.dated.sort_unstable();
    match observed.is_empty() {
        true => source.state.publishing.clone(),
        false => PublishingHistory::Known(Box::new(after_new(counts, &observed, ages_at))),
    }
}

/// What is known after an answer without a document. The counts of a source that has not published since before there
/// were any begin with its newest entry, so that its silence counts.
pub fn after_no_change(source: &Source, ages_at: Timestamp) -> PublishingHistory {
    match &source.state.publishing {
        known @ PublishingHistory::Known(_) => known.clone(),
        PublishingHistory::Unknown | PublishingHistory::Damaged => {
            let newest = source.state.last_seen.and_then(published_mark);
            PublishingHistory::Known(Box::new(first(newest, ages_at)))
        }
    }
}

/// Counts of the dates in the first document. It may hold the last entries only, so the time before its oldest one tells
/// nothing; nor does that one itself, which begins the time.
pub fn first(dates: impl IntoIterator<Item = Timestamp>, now: Timestamp) -> PublishingCounts {
    let mut dates: Vec<Timestamp> = dates.into_iter().filter(|date| *date <= now).collect();
    dates.sort_unstable();
    let horizon = now - LOOK_BACK;
    let dated = dates.partition_point(|date| *date < horizon);
    let (since, dated) = match dates.get(dated..) {
        Some(recent) if dated > 0 => (horizon, recent.to_vec()),
        Some([oldest, later @ ..]) => (*oldest, later.to_vec()),
        _ => (now, Vec::new()),
    };
    let empty = PublishingCounts { since, counted_at: since, entries: 0.0, weekdays: [0; 7], hours: [0; 24] };
    after_new(&empty, &Observed { dated, undated: 0 }, now)
}

/// Counts after new entries.
pub fn after_new(counts: &PublishingCounts, observed: &Observed, now: Timestamp) -> PublishingCounts {
    let mut after = *counts;
    for date in &observed.dated {
        let is_new_hour = hour_of(*date) != hour_of(after.counted_at) || after.entries == 0.0;
        fade_to(&mut after, *date);
        after.entries += 1.0;
        if is_new_hour {
            WeekPattern::count(&mut after, *date);
        }
    }
    if observed.undated > 0 {
        fade_to(&mut after, now);
        after.entries += observed.undated as f32;
    }
    after.entries = after.entries.min(ENTRIES_MAX as f32);
    after
}

/// Counts that give a rate of at least this much at their time: after a gap, when more was published than was seen.
pub fn at_least(counts: &PublishingCounts, per_second: f64, now: Timestamp) -> PublishingCounts {
    let mut after = *counts;
    fade_to(&mut after, now);
    let entries = per_second * (exposure(&after, now) + PRIOR_ENTRIES / PRIOR_PER_SECOND) - PRIOR_ENTRIES;
    after.entries = after.entries.max(entries.clamp(0.0, ENTRIES_MAX) as f32);
    after
}

/// The rate at a time. Without entries since the last one it falls for ever.
pub fn rate(counts: &PublishingCounts, at: Timestamp) -> PublishingRate {
    let entries = f64::from(counts.entries) * left(at.since(counts.counted_at));
    let silence = at.since(counts.counted_at).as_secs_f64();
    let seconds = exposure(counts, at).max(silence);
    let per_second = (entries + PRIOR_ENTRIES) / (seconds + PRIOR_ENTRIES / PRIOR_PER_SECOND);
    PublishingRate { per_second, pattern: WeekPattern::of(counts).map(Box::new) }
}

/// The rate of a source as of its last answer; none if nothing is known. Polls that fail tell nothing.
pub fn rate_of(source: &Source) -> Option<PublishingRate> {
    let counts = source.state.publishing.counts()?;
    Some(rate(counts, source.state.last_success_at.unwrap_or(counts.counted_at)))
}

impl Observed {
    pub fn is_empty(&self) -> bool {
        self.dated.is_empty() && self.undated == 0
    }
}

impl PublishingRate {
    /// The mean over the week of the square root of the rate.
    pub fn mean_root(&self) -> f64 {
        self.per_second.sqrt() * self.pattern.as_ref().map_or(1.0, |pattern| pattern.mean_root())
    }

    /// The square root of the rate in an hour since 1970.
    pub fn root_in(&self, hour: i64) -> f64 {
        self.per_second.sqrt() * self.pattern.as_ref().map_or(1.0, |pattern| pattern.root_in(hour))
    }

    pub fn per_day(&self) -> f64 {
        self.per_second * 86_400.0
    }
}

/// Whether an entry was published since the last reading, as far as can be told.
fn is_publication(decision: EntryDecision) -> bool {
    match decision {
        EntryDecision::Kept(Kept::New | Kept::Undated | Kept::Future | Kept::Late | Kept::Page) => true,
        EntryDecision::Kept(Kept::Backlog | Kept::Edited)
        | EntryDecision::Updated
        | EntryDecision::Known(_)
        | EntryDecision::Skipped(_) => false,
    }
}

fn fade_to(counts: &mut PublishingCounts, at: Timestamp) {
    if at > counts.counted_at {
        counts.entries *= left(at.since(counts.counted_at)) as f32;
        WeekPattern::fade(counts, at);
        counts.counted_at = at;
    }
}

/// Share of a count that is left after a time.
fn left(time: Duration) -> f64 {
    (-time.as_secs_f64() / FADE.as_secs_f64()).exp()
}

/// Seconds that the counts are about, faded like them.
fn exposure(counts: &PublishingCounts, at: Timestamp) -> f64 {
    FADE.as_secs_f64() * (1.0 - left(at.since(counts.since)))
}

fn hour_of(at: Timestamp) -> i64 {
    at.as_seconds().div_euclid(3600)
}

#[cfg(test)]
#[path = "publishing_tests.rs"]
mod tests;
