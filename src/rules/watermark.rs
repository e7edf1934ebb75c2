//! Watermark of a source: the newest entry that was seen.

use crate::model::{LastSeen, Timestamp, Watermark};

/// The watermark after a reading: over all entries by their times, or by their numbers.
pub fn after_reading(
    kind: Watermark,
    last_seen: Option<LastSeen>,
    published: impl IntoIterator<Item = Timestamp>,
    newest_number: Option<u64>,
    now: Timestamp,
) -> Option<LastSeen> {
    match kind {
        Watermark::Published => advance(last_seen, published, now),
        Watermark::PostNumber => advance_number(last_seen, newest_number),
        Watermark::None => None,
    }
}

/// Moves the watermark over every entry that was looked at, stored or not, so that what one poll left out stays out.
///
/// It never moves back, and never past now: an entry that claims to be from next week must not hide the ones of
/// tomorrow (s607).
pub fn advance(
    last_seen: Option<LastSeen>,
    published: impl IntoIterator<Item = Timestamp>,
    now: Timestamp,
) -> Option<LastSeen> {
    let known = last_seen.and_then(published_mark);
    let newest = published.into_iter().filter(|moment| *moment <= now).max();
    known.max(newest).map(LastSeen::Published).or(last_seen)
}

/// Moves the watermark of numbered posts.
pub fn advance_number(last_seen: Option<LastSeen>, numbers: impl IntoIterator<Item = u64>) -> Option<LastSeen> {
    let known = match last_seen {
        Some(LastSeen::PostNumber(number)) => Some(number),
        _ => None,
    };
    known.max(numbers.into_iter().max()).map(LastSeen::PostNumber).or(last_seen)
}

/// The watermark as a time, where it is one.
pub fn published_mark(last_seen: LastSeen) -> Option<Timestamp> {
    match last_seen {
        LastSeen::Published(moment) => Some(moment),
        LastSeen::PostNumber(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn check(before: Option<i64>, entries: &[i64], now: i64, after: Option<i64>) {
        let mark = |seconds| LastSeen::Published(at(seconds));
        let found = advance(before.map(mark), entries.iter().copied().map(at), at(now));
        assert_eq!(found, after.map(mark), "{before:?} over {entries:?}");
    }

    #[test]
    fn it_moves_to_the_newest_entry_seen_and_never_back() {
        check(None, &[], 100, None);
        check(None, &[10, 30, 20], 100, Some(30));
        check(Some(40), &[10, 30], 100, Some(40));
        check(Some(40), &[], 100, Some(40));
        check(Some(40), &[100], 100, Some(100));
    }

    #[test]
    fn s607_an_entry_from_the_future_does_not_move_it() {
        check(None, &[101], 100, None);
        check(Some(40), &[50, 101, i64::MAX], 100, Some(50));
    }

    #[test]
    fn s704_a_page_has_no_watermark() {
        let after = |kind| after_reading(kind, None, [at(10)], Some(7), at(100));
        assert_eq!(after(Watermark::None), None);
        assert_eq!(after(Watermark::Published), Some(LastSeen::Published(at(10))));
        assert_eq!(after(Watermark::PostNumber), Some(LastSeen::PostNumber(7)));
    }

    #[test]
    fn numbers_grow_like_times_do() {
        let number = |number| Some(LastSeen::PostNumber(number));
        assert_eq!(advance_number(None, []), None);
        assert_eq!(advance_number(None, [3, 9, 5]), number(9));
        assert_eq!(advance_number(number(12), [3, 9]), number(12));
    }

    proptest! {
        #[test]
        fn it_never_moves_back_nor_past_now(before in proptest::option::of(0i64..1000), entries in proptest::collection::vec(any::<i64>(), 0..20)) {
            let now = at(1000);
            let before = before.map(|seconds| LastSeen::Published(at(seconds)));
            let after = advance(before, entries.into_iter().map(at), now);
            prop_assert!(after.and_then(published_mark) >= before.and_then(published_mark));
            prop_assert!(after.and_then(published_mark) <= Some(now));
        }
    }
}
