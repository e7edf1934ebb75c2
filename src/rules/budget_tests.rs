//! The scenarios of `rules::budget`.

use proptest::prelude::*;

use super::*;
use crate::model::{NewSource, PublishingHistory, SourceId, SourceSettings, SourceType, Timestamp};
use crate::rules::interval::interval;
use crate::rules::{Policy, minutes};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// A source that publishes at this pause.
fn source(pause_seconds: u64) -> Source {
    let settings = SourceSettings::new(SourceType::Rss, "http://a.example/feed");
    let mut source = Source::fresh(SourceId(1), NewSource { settings, created_at: NOW });
    let dates = (0..400).map(|number| NOW - Duration::from_secs(pause_seconds) * number);
    source.state.publishing = PublishingHistory::Known(Box::new(publishing::first(dates, NOW)));
    source.state.last_success_at = Some(NOW);
    source
}

fn demands(sources: &[Source]) -> Demands {
    let mut demands = Demands::default();
    sources.iter().for_each(|source| demands.add(Demand::of(source)));
    demands
}

/// Requests per hour that these sources make with the scale for them.
fn requests(sources: &[Source], adaptive: AdaptivePolicy, base: Duration, share: f64) -> f64 {
    let scale = Some(demands(sources).scale(&adaptive, base, share));
    let policy = Policy { interval: base, adaptive: Some(AdaptivePolicy { scale, ..adaptive }), ..Policy::default() };
    sources.iter().map(|source| 3600.0 / interval(source, &policy).as_secs_f64()).sum()
}

fn mixed(count: u64) -> Vec<Source> {
    (0..count).map(|number| source(60 * 4u64.pow((number % 9) as u32))).collect()
}

#[test]
fn s513_without_a_number_the_budget_is_that_of_the_fixed_interval() {
    let sources = mixed(90);
    let found = requests(&sources, AdaptivePolicy::default(), minutes(60), 1.0);
    assert!((found - 90.0).abs() < 0.05 * 90.0, "{found}");
}

#[test]
fn s513_a_configured_number_is_kept_and_shared() {
    let sources = mixed(90);
    let adaptive = AdaptivePolicy { requests_per_hour: Some(120), ..AdaptivePolicy::default() };
    for (share, expected) in [(1.0, 120.0), (0.5, 60.0)] {
        let found = requests(&sources, adaptive.clone(), minutes(7), share);
        assert!((found - expected).abs() < 0.05 * expected, "{found}");
    }
}

#[test]
fn s513_bounds_win_over_the_budget_and_that_is_said() {
    let sources = mixed(90);
    for (requests_per_hour, possible) in [(1, 90.0 / 24.0), (100_000, 90.0 * 4.0)] {
        let adaptive = AdaptivePolicy { requests_per_hour: Some(requests_per_hour), ..AdaptivePolicy::default() };
        let found = requests(&sources, adaptive.clone(), minutes(60), 1.0);
        assert!((found - possible).abs() < 0.01 * possible, "{found}");
        let scale = demands(&sources).scale(&adaptive, minutes(60), 1.0);
        let missed = demands(&sources).missed(&adaptive, minutes(60), scale).unwrap();
        assert!((missed - possible).abs() < 0.01 * possible, "{missed}");
    }
}

#[test]
fn s513_s514_sources_that_were_not_read_take_a_poll_in_each_base_interval() {
    let mut sources = mixed(45);
    for number in 0..45 {
        let mut unread = source(60);
        unread.state.publishing = PublishingHistory::Unknown;
        unread.id = SourceId(100 + number);
        sources.push(unread);
    }
    let found = requests(&sources, AdaptivePolicy::default(), minutes(60), 1.0);
    assert!((found - 90.0).abs() < 0.05 * 90.0, "{found}");
}

#[test]
fn s511_a_source_with_an_interval_of_its_own_takes_nothing() {
    let mut source = source(60);
    source.settings.poll_interval_minutes = Some(1);
    let mut demands = Demands::default();
    demands.add(Demand::of(&source));
    assert_eq!((Demand::of(&source), demands.sources()), (Demand::NONE, 0));
    assert!(demands.scale(&AdaptivePolicy::default(), minutes(60), 1.0).per_root.is_finite());
}

proptest! {
    #[test]
    fn s513_the_budget_is_kept_within_a_twentieth_or_missed_by_the_bounds(
        pauses in prop::collection::vec(30u64..40_000_000, 1..60),
        base in 1u32..3_000,
        budget in prop::option::of(1u32..1_000),
    ) {
        let sources: Vec<Source> = pauses.into_iter().map(source).collect();
        let adaptive = AdaptivePolicy { requests_per_hour: budget, ..AdaptivePolicy::default() };
        let demands = demands(&sources);
        let scale = demands.scale(&adaptive, minutes(base), 1.0);
        let found = requests(&sources, adaptive.clone(), minutes(base), 1.0);
        match demands.missed(&adaptive, minutes(base), scale) {
            None => prop_assert!((found / scale.budget_per_hour - 1.0).abs() < 0.07, "{found}, {scale:?}"),
            Some(_) => {
                let [least, most] = [sources.len() as f64 / 24.0, sources.len() as f64 * 4.0];
                prop_assert!((found / least - 1.0).abs() < 0.02 || (found / most - 1.0).abs() < 0.02, "{found}, {scale:?}");
            }
        }
    }

    #[test]
    fn counts_agree_after_any_additions_and_removals(roots in prop::collection::vec(1e-9..1e3f64, 0..200)) {
        let mut demands = Demands::default();
        roots.iter().for_each(|root| demands.add(Demand::of_root(*root)));
        prop_assert_eq!(demands.sources(), roots.len() as u64);
        roots.iter().for_each(|root| demands.remove(Demand::of_root(*root)));
        prop_assert_eq!(demands.sources(), 0);
        demands.remove(Demand::UNKNOWN);
        prop_assert_eq!(demands.sources(), 0);
    }
}
