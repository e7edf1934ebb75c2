//! Age limits of posts, articles, hashes, `robots.txt` files, audit records and events, and how many of them a day may take.

use std::time::Duration;

use crate::model::{Cutoffs, HistoryBounds, Timestamp};

use super::{HistoryPolicy, Policy, hours, robots};

/// Rows that a day may remove, however few are stored.
const DAY_ROWS_MIN: u64 = 50_000;
const DAY: Duration = hours(24);

/// The share of the stored posts that a day may remove is that of three days of the age limit: normally one day's worth
/// grows old in a day.
const DAYS_WORTH: u32 = 3;

/// Bounds what the clean-up removes in a day, by the monotonic clock: three days' worth of what is stored, or a number
/// that is no more than a tick removes. A mistake of any kind then leaves time to notice it.
#[derive(Clone, Debug, Default)]
pub struct DailyBound {
    began: Option<Duration>,
    removed: u64,
    allowed: u64,
    is_told: bool,
}

impl DailyBound {
    /// Number of rows that may be removed now. None if that depends on the number of stored posts, which
    /// [`DailyBound::note_stored`] takes.
    pub fn left(&mut self, monotonic: Duration) -> Option<u64> {
        if self.began.is_none_or(|began| monotonic.saturating_sub(began) >= DAY) {
            *self = DailyBound { began: Some(monotonic), allowed: DAY_ROWS_MIN, ..DailyBound::default() };
        }
        match self.allowed.saturating_sub(self.removed) {
            0 if self.allowed == DAY_ROWS_MIN => None,
            left => Some(left),
        }
    }

    /// Notes the number of posts that are stored now, with this age limit.
    pub fn note_stored(&mut self, posts: u64, age_max: Duration) {
        let total = posts.saturating_add(self.removed);
        let share = (DAYS_WORTH * DAY).div_duration_f64(age_max.max(DAYS_WORTH * DAY));
        self.allowed = ((total as f64 * share) as u64).max(DAY_ROWS_MIN + 1);
    }

    pub fn note_removed(&mut self, rows: u64) {
        self.removed = self.removed.saturating_add(rows);
    }

    pub fn removed(&self) -> u64 {
        self.removed
    }

    /// Whether this is the first time today that the bound is told.
    pub fn tell_once(&mut self) -> bool {
        !std::mem::replace(&mut self.is_told, true)
    }
}

/// How long sums of polls by hour are kept.
const HOURS_KEPT: Duration = hours(31 * 24);
/// A poll that ended so long from now is from a clock that was ahead.
const AHEAD_MAX: Duration = hours(24);

/// What the history of polls keeps now.
pub fn history_bounds(history: &HistoryPolicy, now: Timestamp) -> HistoryBounds {
    HistoryBounds { since: now - history.age_max, until: now + AHEAD_MAX, polls_max: history.polls_max }
}

/// Since when sums of polls by hour are kept.
pub fn hours_since(now: Timestamp) -> Timestamp {
    now - HOURS_KEPT
}

/// The age limits as moments.
pub fn cutoffs(policy: &Policy, now: Timestamp) -> Cutoffs {
    let oldest = now - policy.article_age_max;
    Cutoffs {
        now,
        articles_before: oldest,
        posts_before: oldest,
        // A hash must outlive the age limit: until then only the hash keeps an undated entry from coming back.
        hashes_before: now - policy.cleaned_memory.max(policy.article_age_max),
        robots_before: now - robots::AGE_MAX,
        audit_before: now - policy.audit_age_max,
        audit_records_max: policy.audit_records_max.into(),
        events_before: now - policy.event_age_max,
        events_max: policy.events_max.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_removes_three_days_worth_of_what_is_stored_or_as_much_as_a_tick() {
        let mut bound = DailyBound::default();
        assert_eq!(bound.left(Duration::ZERO), Some(50_000));
        bound.note_removed(20_000);
        assert_eq!(bound.left(hours(1)), Some(30_000));
        bound.note_removed(30_000);
        assert_eq!(bound.left(hours(2)), None, "the number of stored posts decides");
        bound.note_stored(950_000, hours(12 * 24));
        assert_eq!(bound.left(hours(2)), Some(200_000), "a quarter of the million that was there");
        bound.note_removed(200_000);
        assert_eq!((bound.left(hours(23)), bound.tell_once(), bound.tell_once()), (Some(0), true, false));
        assert_eq!(bound.left(hours(24)), Some(50_000), "another day");
    }

    #[test]
    fn a_small_store_is_asked_for_its_size_once() {
        let mut bound = DailyBound::default();
        bound.left(Duration::ZERO);
        bound.note_removed(50_000);
        bound.note_stored(10, hours(7 * 24));
        assert_eq!(bound.left(hours(1)), Some(1));
        bound.note_removed(1);
        assert_eq!(bound.left(hours(1)), Some(0));
    }

    #[test]
    fn a_short_age_limit_is_not_delayed() {
        let mut bound = DailyBound::default();
        bound.left(Duration::ZERO);
        bound.note_removed(50_000);
        bound.note_stored(150_000, hours(24));
        assert_eq!(bound.left(hours(1)), Some(150_000));
    }

    #[test]
    fn s901_s903_s904_articles_and_posts_go_by_the_age_limit_and_hashes_by_their_memory() {
        let now = Timestamp::from_seconds(1_800_000_000);
        let policy = Policy { article_age_max: hours(48), cleaned_memory: hours(240), ..Policy::default() };
        let found = cutoffs(&policy, now);
        assert_eq!((found.articles_before, found.posts_before), (now - hours(48), now - hours(48)));
        assert_eq!(found.hashes_before, now - hours(240));
        assert_eq!(found.robots_before, now - hours(24));
    }

    #[test]
    fn s904_a_short_memory_is_stretched_to_the_age_limit() {
        let now = Timestamp::from_seconds(1_800_000_000);
        let policy = Policy { article_age_max: hours(480), cleaned_memory: hours(24), ..Policy::default() };
        assert_eq!(cutoffs(&policy, now).hashes_before, now - hours(480));
    }
}
