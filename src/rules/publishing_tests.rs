//! The scenarios of `rules::publishing`.

use proptest::prelude::*;

use super::*;
use crate::model::{LastSeen, NewSource, SourceId, SourceSettings, SourceType};
use crate::rules::minutes;

/// A Friday, 08:00.
const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const DAY: Duration = hours(24);

fn daily(days: u32) -> Vec<Timestamp> {
    (0..days).map(|day| NOW - DAY * day).collect()
}

fn per_day(counts: &PublishingCounts, at: Timestamp) -> f64 {
    rate(counts, at).per_day()
}

fn about(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.15, "{found} is not about {expected}");
}

#[test]
fn s514_the_dates_of_the_first_document_give_the_rate() {
    about(per_day(&first(daily(30), NOW), NOW), 1.0);
    about(per_day(&first(daily(200), NOW), NOW), 1.0);
    let ten_an_hour = (0..50).map(|number| NOW - hours(1) / 10 * number);
    about(per_day(&first(ten_an_hour, NOW), NOW), 70.0);
}

#[test]
fn s514_without_dates_the_prior_decides() {
    about(per_day(&first([], NOW), NOW), 1.0);
    about(per_day(&first([NOW - hours(1)], NOW), NOW), 0.92);
    assert_eq!(first([NOW + DAY], NOW), first([], NOW), "a date in the future tells nothing");
}

#[test]
fn s515_a_document_that_has_been_old_for_long_tells_of_silence() {
    let counts = first([NOW - DAY * 400, NOW - DAY * 500], NOW);
    assert!(per_day(&counts, NOW) < 0.02, "{}", per_day(&counts, NOW));
    assert!(per_day(&counts, NOW + DAY * 365) < 0.002);
}

#[test]
fn s515_silence_lowers_the_rate_for_ever_and_new_entries_raise_it() {
    let counts = first(daily(30), NOW);
    let later = NOW + DAY * 20;
    let silent = per_day(&counts, later);
    assert!(silent < 0.5, "{silent}");
    let again = after_new(&counts, &Observed { dated: vec![later - hours(2), later - hours(1)], undated: 0 }, later);
    assert!(per_day(&again, later) > silent);
}

#[test]
fn entries_without_a_date_count_when_they_are_seen() {
    let start = first([], NOW - DAY * 30);
    let counts = (1..=30u32).fold(start, |counts, day| {
        after_new(&counts, &Observed { dated: Vec::new(), undated: 3 }, NOW - DAY * 30 + DAY * day)
    });
    about(per_day(&counts, NOW), 3.0);
    assert_eq!((counts.weekdays, counts.hours), ([0; 7], [0; 24]), "the hour of a poll is not that of an entry");
}

#[test]
fn s517_weekdays_and_hours_count_once_they_are_clear() {
    // Mondays to Fridays at 9, 11, 13 and 15 o'clock.
    let working = |days: u32| {
        let hours_since = (0..24 * days).map(|hour| NOW - hours(hour));
        let is_matching = |at: &Timestamp| {
            let hour = at.as_seconds().div_euclid(3600);
            [9, 11, 13, 15].contains(&hour.rem_euclid(24)) && (hour.div_euclid(24) + 3).rem_euclid(7) < 5
        };
        first(hours_since.filter(is_matching).collect::<Vec<_>>(), NOW)
    };
    assert_eq!(rate(&working(3), NOW).pattern, None, "eight entries are too few");
    let rate = rate(&working(60), NOW);
    // NOW is a Friday, 08:00.
    let hour = NOW.as_seconds() / 3600;
    assert!(rate.root_in(hour + 1) > 2.0 * rate.root_in(hour + 12));
    assert!(rate.root_in(hour + 1) > 1.2 * rate.root_in(hour + 25), "a Saturday");
    let of_week: f64 = (0..168).map(|hour| rate.root_in(hour).powi(2)).sum();
    assert!((of_week / 168.0 / rate.per_second - 1.0).abs() < 1e-3, "the mean of the multipliers is 1");
}

#[test]
fn s517_an_even_publisher_and_one_of_bursts_have_no_pattern() {
    let even = (0..200u32).map(|number| NOW - hours(7) * number);
    assert_eq!(rate(&first(even, NOW), NOW).pattern, None);
    let burst = (0..300u32).map(|number| NOW - hours(100) - minutes(1) * (number % 50));
    assert_eq!(rate(&first(burst, NOW), NOW).pattern, None, "one hour with many entries is one event");
}

#[test]
fn s515_a_source_that_only_answers_304_learns_its_silence() {
    let settings = SourceSettings::new(SourceType::Rss, "http://a.example/feed");
    let mut source = Source::fresh(SourceId(1), NewSource { settings, created_at: NOW - DAY * 900 });
    source.state.last_seen = Some(LastSeen::Published(NOW - DAY * 300));
    source.state.last_success_at = Some(NOW);
    for unknown in [PublishingHistory::Unknown, PublishingHistory::Damaged] {
        source.state.publishing = unknown;
        let known = after_no_change(&source, NOW);
        source.state.publishing = known.clone();
        assert!(rate_of(&source).unwrap().per_day() < 0.02);
        assert_eq!(after_no_change(&source, NOW + DAY), known, "what is known stays");
    }
}

#[test]
fn a_clock_that_was_ahead_leaves_counts_that_can_be_used() {
    let counts = first(daily(30), NOW + DAY * 365);
    let again = after_new(&counts, &Observed { dated: vec![NOW], undated: 2 }, NOW);
    assert!(per_day(&again, NOW).is_finite() && per_day(&again, NOW) > 0.0);
}

proptest! {
    #[test]
    fn any_dates_and_any_times_give_a_rate(
        dates in prop::collection::vec(any::<i64>(), 0..60),
        undated in any::<u32>(),
        (now, later) in any::<(i64, i64)>(),
    ) {
        let [now, later] = [now, later].map(Timestamp::from_micros);
        let mut dated: Vec<_> = dates.into_iter().map(Timestamp::from_micros).collect();
        let counts = first(dated.clone(), now);
        dated.sort_unstable();
        let after = after_new(&counts, &Observed { dated, undated }, later);
        for (counts, at) in [(counts, now), (after, later), (at_least(&after, 1e9, later), now)] {
            let per_second = rate(&counts, at).per_second;
            prop_assert!(per_second.is_finite() && per_second > 0.0, "{per_second}");
            let known = PublishingHistory::Known(Box::new(counts));
            prop_assert_eq!(PublishingHistory::from_bytes(&known.to_bytes()), known);
        }
    }

    #[test]
    fn more_entries_are_never_a_lower_rate(more in 0u32..1000, days in 0u32..400) {
        let counts = first(daily(10), NOW);
        let at = NOW + DAY * days;
        let rate_after = |undated| per_day(&after_new(&counts, &Observed { dated: Vec::new(), undated }, at), at);
        prop_assert!(rate_after(more + 1) >= rate_after(more));
    }
}
