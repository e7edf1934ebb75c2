//! The only module that reads the system's clocks; all other code takes a [`Clock`].

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::watch;

use crate::model::Timestamp;

pub type ClockWait = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Maximum time between two checks of a clock that may be set while a caller waits.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;

    /// Waits until this clock reaches the time.
    fn until(&self, moment: Timestamp) -> ClockWait;
}

#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that may")]
    fn now(&self) -> Timestamp {
        match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
            Ok(elapsed) => Timestamp::EPOCH + elapsed,
            Err(before) => Timestamp::EPOCH - before.duration(),
        }
    }

    fn until(&self, moment: Timestamp) -> ClockWait {
        Box::pin(async move {
            loop {
                let left = moment.since(SystemClock.now());
                if left.is_zero() {
                    return;
                }
                tokio::time::sleep(left.min(LOOK_AGAIN)).await;
            }
        })
    }
}

/// Measures durations with the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that may")]
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A clock that runs faster than the system's.
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
        self.started_at + self.started.elapsed().mul_f64(self.factor)
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

/// A stopped clock, for tests.
#[derive(Debug)]
pub struct HeldClock(watch::Sender<Timestamp>);

impl HeldClock {
    pub fn at(moment: Timestamp) -> HeldClock {
        HeldClock(watch::Sender::new(moment))
    }

    /// Advances the clock and completes waits.
    pub fn advance(&self, duration: Duration) {
        self.0.send_modify(|now| *now = *now + duration);
    }
}

impl Clock for HeldClock {
    fn now(&self) -> Timestamp {
        *self.0.borrow()
    }

    fn until(&self, moment: Timestamp) -> ClockWait {
        let mut hand = self.0.subscribe();
        Box::pin(async move {
            // A dropped clock never reaches the time, so its waits never end.
            if hand.wait_for(|now| *now >= moment).await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_clock_moves_only_when_told_to() {
        let clock = HeldClock::at(Timestamp::EPOCH);
        assert_eq!(clock.now(), Timestamp::EPOCH);
        clock.advance(Duration::from_secs(90));
        assert_eq!(clock.now().to_string(), "1970-01-01T00:01:30Z");
    }

    #[tokio::test]
    async fn who_waits_for_a_held_clock_waits_until_it_is_moved_far_enough() {
        use futures_util::FutureExt;

        let clock = HeldClock::at(Timestamp::EPOCH);
        let mut wait = clock.until(Timestamp::EPOCH + Duration::from_secs(60));
        clock.advance(Duration::from_secs(59));
        assert!((&mut wait).now_or_never().is_none(), "a second is missing");
        clock.advance(Duration::from_secs(1));
        wait.await;
        clock.until(Timestamp::EPOCH).await;
    }

    #[tokio::test]
    async fn a_fast_clock_passes_an_hour_in_a_moment() {
        let clock = FastClock::new(360_000.0);
        let start = clock.now();
        clock.until(start + Duration::from_secs(3600)).await;
        assert!(clock.now() >= start + Duration::from_secs(3600));
        assert_eq!(clock.really(Duration::from_secs(3600)), Duration::from_millis(10));
    }

    #[test]
    fn the_machine_clock_is_past_the_day_this_was_written() {
        assert!(SystemClock.now() > "2026-01-01T00:00:00Z".parse().unwrap());
    }
}
