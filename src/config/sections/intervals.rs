//! `source.interval*` and `source.requests-per-hour`: intervals that follow from how often sources publish.

use super::super::effective::Effective;
use super::super::kind::KeyKind;
use super::super::problem::ConfigProblem;
use super::super::schema::SchemaKey;
use super::add;
use crate::rules::{AdaptivePolicy, minutes};

const MIN_KEY: &str = "source.interval-min-minutes";
const MAX_KEY: &str = "source.interval-max-minutes";
const BUDGET_KEY: &str = "source.requests-per-hour";
const DAY_MINUTES: u64 = 1_440;

pub(super) const KEYS: &[SchemaKey] = &[
    SchemaKey::new(
        "source.interval",
        KeyKind::Choice(&["adaptive", "fixed"]),
        "whether intervals follow from how often sources publish",
    ),
    SchemaKey::count(MIN_KEY, 1, DAY_MINUTES, "the shortest adaptive interval, in minutes"),
    SchemaKey::count(MAX_KEY, 1, DAY_MINUTES, "the longest adaptive interval, in minutes"),
    SchemaKey::new(
        BUDGET_KEY,
        KeyKind::OptionalCount { min: 1, max: 100_000_000 },
        "requests per hour for all sources with adaptive intervals",
    ),
];

/// None if intervals are fixed.
pub(super) fn adaptive(values: &Effective, problems: &mut Vec<ConfigProblem>) -> Option<AdaptivePolicy> {
    let [min, max] = [MIN_KEY, MAX_KEY].map(|key| values.count_u32(key));
    if min > max {
        let text = format!("{min} is more than {MAX_KEY} ({max}, {}); make one of them equal", values.origin(MAX_KEY));
        add(values, MIN_KEY, text, problems);
    }
    (values.choice("source.interval") == "adaptive").then(|| AdaptivePolicy {
        interval_min: minutes(min),
        interval_max: minutes(max),
        requests_per_hour: values.optional_count_u32(BUDGET_KEY),
        scale: None,
    })
}
