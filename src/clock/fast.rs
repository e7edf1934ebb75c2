//! A clock that runs faster than the system's.

use std::time::{Duration, Instant};

use super::{Clock, ClockWait, SystemClock};
use crate::model::Timestamp;

#[derive(Clone, Copy, Debug)]
pub struct FastClock {
    started_at: Timestamp,
    started: Instant,
    factor: f64,
}

impl FastClock {
    /// `factor` is at least 1.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that may")]
    pub fn new(factor: f64) -> FastClock {
        FastClock { started_at: SystemClock.now(), started: Instant::now(), factor: factor.max(1.0) }
    }

    /// Converts a duration of this clock into real time.
    pub fn really(&self, span: Duration) -> Duration {
        span.div_f64(self.factor)
    }
}

impl Clock for FastClock {
    fn now(&self) -> Timestamp {
        self.started_at + self.monotonic()
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed().mul_f64(self.factor)
    }

    fn until(&self, moment: Timestamp) -> ClockWait {
        let clock = *self;
        Box::pin(async move {
            loop {
                let left = moment.since(clock.now());
                if left.is_zero() {
                    return;
                }
                tokio::time::sleep(clock.really(left)).await;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_fast_clock_passes_an_hour_in_a_moment() {
        let clock = FastClock::new(360_000.0);
        let start = clock.now();
        clock.until(start + Duration::from_secs(3600)).await;
        assert!(clock.now() >= start + Duration::from_secs(3600));
        assert_eq!(clock.really(Duration::from_secs(3600)), Duration::from_millis(10));
    }
}
