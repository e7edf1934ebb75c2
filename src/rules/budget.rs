//! The scale of adaptive intervals: the one with which all sources together make as many requests as the budget allows.
//!
//! It is found from the numbers of sources by rate, so its cost does not grow with their number.

use std::time::Duration;

use crate::model::Source;

use super::interval::Scale;
use super::{AdaptivePolicy, publishing};

/// Square roots of rates in a bucket differ by this factor.
const STEP: f64 = 1.02;
/// Square root of the lowest rate: one entry in 30 years.
const ROOT_MIN: f64 = 3.2e-5;
/// The last bucket is that of some entries per second.
const BUCKETS: usize = 580;
/// Halvings of the range of scales.
const BISECTIONS: u32 = 60;
/// Natural logarithm of the largest and, negative, of the smallest scale.
const SCALE_LN_MAX: f64 = 30.0;
/// A scale that differs by less is not worth changing the intervals of all sources.
const CHANGE_MIN: f64 = 0.02;
/// From this share on, requests differ from the budget.
const MISSED_FROM: f64 = 0.05;

/// What a source takes of the budget, by its rate. Small, because there may be millions of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand(u16);

/// Number of sources of each demand.
#[derive(Clone, Debug)]
pub struct Demands {
    buckets: Box<[u32]>,
    unknown: u32,
}

impl Demand {
    /// Nothing: the source has an interval of its own.
    pub const NONE: Demand = Demand(u16::MAX);
    /// A poll in each base interval: its rate is not known.
    const UNKNOWN: Demand = Demand(u16::MAX - 1);

    pub fn of(source: &Source) -> Demand {
        if source.settings.poll_interval_minutes.is_some() {
            return Demand::NONE;
        }
        publishing::rate_of(source).map_or(Demand::UNKNOWN, |rate| Demand::of_root(rate.mean_root()))
    }

    /// The demand at this square root of a rate.
    fn of_root(root: f64) -> Demand {
        let bucket = ((root / ROOT_MIN).max(1.0).ln() / STEP.ln()).round();
        Demand((bucket as usize).min(BUCKETS - 1) as u16)
    }
}

impl Default for Demands {
    fn default() -> Demands {
        Demands { buckets: vec![0; BUCKETS].into_boxed_slice(), unknown: 0 }
    }
}

impl Demands {
    pub fn add(&mut self, demand: Demand) {
        if let Some(count) = self.count(demand) {
            *count = count.saturating_add(1);
        }
    }

    pub fn remove(&mut self, demand: Demand) {
        if let Some(count) = self.count(demand) {
            *count = count.saturating_sub(1);
        }
    }

    /// Number of sources that have a demand.
    pub fn sources(&self) -> u64 {
        u64::from(self.unknown) + self.buckets.iter().map(|count| u64::from(*count)).sum::<u64>()
    }

    /// The scale with which the sources keep to their share of the budget.
    pub fn scale(&self, policy: &AdaptivePolicy, base: Duration, share: f64) -> Scale {
        let budget = self.budget(policy, base, share);
        let (mut low, mut high) = (-SCALE_LN_MAX, SCALE_LN_MAX);
        for _ in 0..BISECTIONS {
            let middle = (low + high) / 2.0;
            if self.requests(policy, base, middle.exp()) < budget { low = middle } else { high = middle }
        }
        Scale { per_root: ((low + high) / 2.0).exp(), budget_per_hour: budget * 3600.0 }
    }

    /// Requests per hour at a scale, if the bounds on intervals let them differ from the budget.
    pub fn missed(&self, policy: &AdaptivePolicy, base: Duration, scale: Scale) -> Option<f64> {
        let requests = self.requests(policy, base, scale.per_root) * 3600.0;
        let is_missed = (requests - scale.budget_per_hour).abs() > MISSED_FROM * scale.budget_per_hour;
        is_missed.then_some(requests)
    }

    /// Requests per second that the sources may make: their share of the configured number, or as many as they would
    /// make at the base interval.
    fn budget(&self, policy: &AdaptivePolicy, base: Duration, share: f64) -> f64 {
        match policy.requests_per_hour {
            Some(requests) => f64::from(requests) / 3600.0 * share,
            None => self.sources() as f64 / base.as_secs_f64(),
        }
    }

    /// Requests per second at a scale.
    fn requests(&self, policy: &AdaptivePolicy, base: Duration, per_root: f64) -> f64 {
        let unknown = f64::from(self.unknown) / policy.within(base).as_secs_f64();
        let known =
            self.buckets.iter().enumerate().filter(|(_, count)| **count > 0).map(|(bucket, count)| {
                f64::from(*count) * policy.frequency(per_root, ROOT_MIN * STEP.powi(bucket as i32))
            });
        unknown + known.sum::<f64>()
    }

    fn count(&mut self, demand: Demand) -> Option<&mut u32> {
        if demand == Demand::UNKNOWN { Some(&mut self.unknown) } else { self.buckets.get_mut(usize::from(demand.0)) }
    }
}

impl Scale {
    /// Whether a scale is different enough to replace this one.
    pub fn differs_from(self, other: Scale) -> bool {
        let differs = |one: f64, other: f64| (one - other).abs() > CHANGE_MIN * one.abs().min(other.abs());
        differs(self.per_root, other.per_root) || differs(self.budget_per_hour, other.budget_per_hour)
    }
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
