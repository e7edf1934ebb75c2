//! The time of the daemon.
//!
//! It goes with the monotonic clock, so it does not change when the system's time is set. [`Clock::follow_step`] compares
//! the two and adopts the system's time as one step, which its caller announces.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use super::{Clock, ClockWait, SystemClock, since_boot, sleep_until};
use crate::model::{ClockStep, Timestamp};

/// A smaller difference between this clock and the system's is not followed, such as a leap second.
const STEP_MIN: Duration = Duration::from_secs(2);
/// Two readings of the monotonic clock that are further apart say nothing about the system's time between them.
const READING_MAX: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub struct SteadyClock {
    /// Microseconds from the start of the monotonic clock to 1970, negated: what is added to it gives the time.
    offset: AtomicI64,
}

impl SteadyClock {
    /// A clock that shows the system's time.
    pub fn start() -> SteadyClock {
        SteadyClock { offset: AtomicI64::new(SystemClock.now().as_micros() - micros(since_boot())) }
    }
}

impl Clock for SteadyClock {
    fn now(&self) -> Timestamp {
        at(since_boot(), self.offset.load(Ordering::Acquire))
    }

    fn monotonic(&self) -> Duration {
        since_boot()
    }

    fn until(&self, moment: Timestamp) -> ClockWait {
        sleep_until(since_boot() + moment.since(self.now()))
    }

    fn follow_step(&self) -> Option<ClockStep> {
        let before = since_boot();
        let system = SystemClock.now();
        let after = since_boot();
        if after - before > READING_MAX {
            // The thread was interrupted between the readings; the next call compares again.
            return None;
        }
        let from = at(after, self.offset.load(Ordering::Acquire));
        let step = step(from, system)?;
        self.offset.store(system.as_micros() - micros(after), Ordering::Release);
        Some(step)
    }
}

/// The step from the time of a clock to the system's, unless they are close.
pub(super) fn step(from: Timestamp, to: Timestamp) -> Option<ClockStep> {
    let step = ClockStep { from, to };
    (step.size() > STEP_MIN).then_some(step)
}

fn at(monotonic: Duration, offset: i64) -> Timestamp {
    Timestamp::from_micros(micros(monotonic).saturating_add(offset))
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_shows_the_systems_time_and_follows_no_step_that_is_none() {
        let clock = SteadyClock::start();
        assert!(clock.now().since(SystemClock.now()) < Duration::from_secs(1));
        assert!(SystemClock.now().since(clock.now()) < Duration::from_secs(1));
        assert_eq!(clock.follow_step(), None);
    }

    #[test]
    fn it_keeps_its_time_until_it_follows_the_step() {
        let clock = SteadyClock::start();
        // As if the system's time had been put back by six hours.
        let ahead = Duration::from_secs(6 * 3600);
        clock.offset.fetch_add(micros(ahead), Ordering::AcqRel);
        let before = clock.monotonic();
        let found = clock.follow_step().unwrap();
        assert!(found.is_back() && found.size().abs_diff(ahead) < Duration::from_secs(1), "{found:?}");
        assert!(clock.now().since(SystemClock.now()) < Duration::from_secs(1));
        assert!(clock.monotonic() - before < Duration::from_secs(1), "the monotonic clock knows of no step");
        assert_eq!(clock.follow_step(), None, "once");
    }

    #[test]
    fn a_small_difference_is_no_step() {
        let now = Timestamp::from_seconds(1_800_000_000);
        assert_eq!(step(now, now + STEP_MIN), None);
        assert_eq!(step(now + STEP_MIN, now), None);
        let more = STEP_MIN + Duration::from_micros(1);
        assert!(step(now, now + more).is_some() && step(now + more, now).is_some());
    }
}
