//! The scenarios of `rules::interval`.

use proptest::prelude::*;

use super::*;
use crate::model::{NewSource, SourceId, SourceSettings, SourceType};
use crate::rules::due::{self, NextPoll, Wait};
use crate::rules::hours;

/// A Friday, 08:00.
const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const DAY: Duration = hours(24);

/// A source that has published entries at these times, polled successfully now.
fn source(dates: impl IntoIterator<Item = Timestamp>) -> Source {
    let mut source = unread();
    source.state.first_polled_at = Some(NOW);
    source.state.last_polled = Some(NOW);
    source.state.last_success_at = Some(NOW);
    source.state.publishing = PublishingHistory::Known(Box::new(publishing::first(dates, NOW)));
    source
}

fn unread() -> Source {
    let settings = SourceSettings::new(SourceType::Rss, "http://a.example/feed");
    Source::fresh(SourceId(1), NewSource { settings, created_at: Timestamp::EPOCH })
}

fn every(pause: Duration, count: u32) -> impl Iterator<Item = Timestamp> {
    (0..count).map(move |number| NOW - pause * number)
}

fn in_force(budget_per_hour: f64, interval_per_day: Duration) -> Policy {
    let per_root = 1.0 / interval_per_day.as_secs_f64() / PRIOR_PER_SECOND.sqrt();
    let scale = Some(Scale { per_root, budget_per_hour });
    Policy { adaptive: Some(AdaptivePolicy { scale, ..AdaptivePolicy::default() }), ..Policy::default() }
}

fn words(source: &Source, policy: &Policy) -> String {
    match due::next_poll(source, None, policy, NOW) {
        NextPoll::At { because: because @ Wait::Adaptive(_), .. } => because.to_string(),
        other => panic!("{other}"),
    }
}

#[test]
fn s511_an_interval_of_its_own_is_kept() {
    let mut source = source(every(minutes(1), 100));
    source.settings.poll_interval_minutes = Some(7);
    assert_eq!(interval(&source, &Policy::default()), minutes(7));
    assert_eq!(adaptive_wait(&source, &Policy::default(), NOW), None);
    source.settings.poll_interval_minutes = Some(100_000);
    assert_eq!(interval(&source, &Policy::default()), minutes(100_000), "bounds are those of adaptive intervals");
}

#[test]
fn s511_fixed_intervals_do_not_follow_what_is_published() {
    let policy = Policy { adaptive: None, ..Policy::default() };
    assert_eq!(interval(&source(every(minutes(1), 100)), &policy), policy.interval);
}

#[test]
fn s514_a_source_that_was_not_read_is_polled_at_the_base_interval_within_the_bounds() {
    for (base, expected) in [(60, 60), (5, 15), (10_000, 1_440)] {
        let policy = Policy { interval: minutes(base), ..in_force(100.0, DAY) };
        assert_eq!(interval(&unread(), &policy), minutes(expected));
    }
}

#[test]
fn s512_s515_busy_sources_are_polled_often_and_silent_ones_once_a_day() {
    let policy = in_force(1000.0, minutes(60));
    let of = |dates: Vec<Timestamp>| interval(&source(dates), &policy);
    assert_eq!(of(every(minutes(5), 100).collect()), minutes(15));
    let hourly = of(every(hours(1), 400).collect());
    assert!(hourly >= minutes(15) && hourly < minutes(20), "{hourly:?}");
    let daily = of(every(hours(25), 60).collect());
    assert!(daily > minutes(50) && daily < minutes(70), "{daily:?}");
    let old = of(every(DAY * 400, 60).map(|at| at - DAY * 2000).collect());
    assert!(old > minutes(670) && old < minutes(680), "{old:?}");
    let mut silent = source(every(DAY * 400, 60).map(|at| at - DAY * 2000));
    silent.state.last_success_at = Some(NOW + DAY * 1000);
    assert_eq!(interval(&silent, &policy), DAY);
}

#[test]
fn s516_a_gap_halves_the_interval_at_once() {
    for (dates, before) in [(every(DAY, 60).collect(), None), (vec![NOW - DAY * 900], Some(DAY))] {
        let policy = in_force(100.0, hours(5));
        let mut source = source(dates);
        let old = interval(&source, &policy);
        assert!(before.is_none_or(|before| old <= before));
        source.state.publishing = after_gap(&source, &source.state.publishing, &policy, NOW);
        let new = interval(&source, &policy);
        assert!(new <= old / 2 + Duration::from_secs(1), "{old:?} became {new:?}");
        source.state.last_success_at = Some(NOW + DAY * 60);
        assert!(interval(&source, &policy) > new, "it fades");
    }
}

#[test]
fn backoff_doubles_the_interval_in_force() {
    let policy = in_force(100.0, minutes(60));
    let mut source = source(every(minutes(5), 100));
    source.state.failures.consecutive = 2;
    assert_eq!(due::next_poll(&source, None, &policy, NOW).at(), Some(NOW + minutes(60)));
}

#[test]
fn waits_of_publishers_stay_above_the_interval() {
    let policy = in_force(100.0, minutes(60));
    let mut source = source(every(minutes(5), 100));
    assert_eq!(due::next_poll(&source, None, &policy, NOW).at(), Some(NOW + minutes(15)));
    source.state.hints.update_period_minutes = Some(90);
    assert_eq!(due::next_poll(&source, None, &policy, NOW).at(), Some(NOW + minutes(90)));
    source.state.hints.retry_after = Some(NOW + hours(3));
    assert_eq!(due::next_poll(&source, None, &policy, NOW).at(), Some(NOW + hours(3)));
}

#[test]
fn s517_polls_come_when_the_source_publishes() {
    let is_working = |at: &Timestamp| {
        let hour = at.as_seconds().div_euclid(3600);
        (8..18).contains(&hour.rem_euclid(24)) && (hour.div_euclid(24) + 3).rem_euclid(7) < 5
    };
    let source = source(every(hours(1), 24 * 60).filter(is_working));
    let policy = in_force(100.0, hours(6));
    let wait = |polled| adaptive_wait(&source, &policy, polled).unwrap().0;
    let (friday, saturday) = (wait(NOW + hours(1)), wait(NOW + hours(25)));
    assert!(friday * 2 < saturday, "{friday:?}, {saturday:?}");
    // A week of polls has about the mean interval.
    let mut polled = NOW;
    let polls = (0..)
        .take_while(|_| {
            polled = polled + wait(polled);
            polled < NOW + DAY * 28
        })
        .count();
    let mean = interval(&source, &policy).as_secs_f64();
    assert!((DAY.as_secs_f64() * 28.0 / polls as f64 / mean - 1.0).abs() < 0.1, "{polls} polls");
}

#[test]
fn the_explanation_is_one_sentence() {
    let policy = in_force(1000.0, minutes(60));
    assert_eq!(
        words(&source(every(hours(7), 200)), &policy),
        "polled every 33 min: about 3.4 new entries a day; budget 1,000 requests an hour"
    );
    assert_eq!(
        words(&source(every(minutes(1), 200)), &policy),
        "polled every 15 min (source.interval-min-minutes): about 312 new entries a day; budget 1,000 requests an hour"
    );
    assert_eq!(
        words(&source([NOW - DAY * 9000]), &in_force(10.0, hours(5))),
        "polled every 24 h (source.interval-max-minutes): about one new entry in 127 days; budget 10 requests an hour"
    );
    let mut known = source([]);
    known.state.publishing = PublishingHistory::Unknown;
    assert_eq!(words(&known, &Policy::default()), "polled every 60 min: how often it publishes is not known yet");
}

proptest! {
    #[test]
    fn s512_s515_the_interval_is_bounded_and_falls_with_the_rate(
        scale in -20.0..20.0f64,
        entries in prop::collection::vec(0u32..100_000_000, 0..100),
        more in 1usize..50,
        silent_days in 0u32..1000,
        polled in 0i64..1_000_000_000,
    ) {
        let mut policy = in_force(1.0, DAY);
        policy.adaptive.as_mut().unwrap().scale.as_mut().unwrap().per_root = scale.exp();
        let mut source = source(entries.iter().map(|seconds| NOW - Duration::from_secs(u64::from(*seconds))));
        source.state.last_success_at = Some(NOW + DAY * silent_days);
        let before = interval(&source, &policy);
        let wait = adaptive_wait(&source, &policy, Timestamp::from_seconds(polled)).unwrap().0;
        for interval in [before, wait] {
            prop_assert!(interval >= minutes(15) && interval <= minutes(1440), "{interval:?}");
        }
        let counts = *source.state.publishing.counts().unwrap();
        let observed = publishing::Observed { dated: Vec::new(), undated: more as u32 };
        source.state.publishing = PublishingHistory::Known(Box::new(publishing::after_new(&counts, &observed, NOW + DAY * silent_days)));
        prop_assert!(interval(&source, &policy) <= before);
    }
}
