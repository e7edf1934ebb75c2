//! The only place that reads the machine's clocks; everything else is handed a [`Clock`].

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use crate::model::Timestamp;

/// Tells the time.
pub trait Clock: Send + Sync {
    /// The moment it is.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
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
}

/// A clock that stands still until a test moves it.
#[derive(Debug)]
pub struct HeldClock(AtomicI64);

impl HeldClock {
    /// A clock that shows this moment.
    pub fn at(moment: Timestamp) -> HeldClock {
        HeldClock(AtomicI64::new(moment.as_micros()))
    }

    /// Moves it forward.
    pub fn advance(&self, duration: Duration) {
        let moment = self.now() + duration;
        self.0.store(moment.as_micros(), Ordering::SeqCst);
    }
}

impl Clock for HeldClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
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

    #[test]
    fn the_machine_clock_is_past_the_day_this_was_written() {
        assert!(SystemClock.now() > "2026-01-01T00:00:00Z".parse().unwrap());
    }
}
