//! Histograms of durations.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the buckets, in seconds; one more bucket has no bound.
pub const BUCKET_SECONDS: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// A histogram that several threads can add to.
#[derive(Default)]
pub(super) struct Histogram {
    buckets: [AtomicU64; BUCKET_SECONDS.len() + 1],
    sum_micros: AtomicU64,
}

/// A histogram at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistogramView {
    /// Number of durations up to each bound of [`BUCKET_SECONDS`], and number of all.
    pub cumulative: [u64; BUCKET_SECONDS.len() + 1],
    /// Sum of all durations.
    pub sum_seconds: f64,
}

impl Histogram {
    pub(super) fn add(&self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let index = BUCKET_SECONDS.iter().position(|end| seconds <= *end).unwrap_or(BUCKET_SECONDS.len());
        self.buckets[index].fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.sum_micros.fetch_add(micros, Ordering::Relaxed);
    }

    pub(super) fn view(&self) -> HistogramView {
        let mut total = 0;
        let cumulative = std::array::from_fn(|index| {
            total += self.buckets[index].load(Ordering::Relaxed);
            total
        });
        HistogramView { cumulative, sum_seconds: self.sum_micros.load(Ordering::Relaxed) as f64 / 1e6 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bucket_holds_what_is_no_longer_than_its_end() {
        let histogram = Histogram::default();
        for milliseconds in [1, 2, 3, 900, 60_000] {
            histogram.add(Duration::from_millis(milliseconds));
        }
        let view = histogram.view();
        assert_eq!(view.cumulative[..3], [1, 2, 3]);
        assert_eq!(view.cumulative[9..], [4, 4, 4, 4, 4, 5]);
        assert_eq!(view.sum_seconds, 60.906);
    }
}
