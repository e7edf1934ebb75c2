//! The only module that reads the system's clocks; all other code takes a [`Clock`].
//!
//! - `steady`: the time of the daemon, which follows the system's time only in announced steps
//! - `fast`: runs faster than the system's, for the demo
//! - `held`: stands still until it is moved, for tests

mod fast;
mod held;
mod steady;

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant, SystemTime};

use rustix::time::{ClockId, clock_gettime};

use crate::model::{ClockStep, Timestamp};

pub use fast::FastClock;
pub use held::HeldClock;
pub use steady::SteadyClock;

pub type ClockWait = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The longest sleep in one piece: a sleep does not count the time during which the machine is suspended.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;

    /// Time since some fixed moment. It goes on while the machine is suspended, and setting the system's time does not
    /// change it.
    fn monotonic(&self) -> Duration;

    /// Waits for the time between now and this moment to pass, by the monotonic clock. A step of the time neither
    /// shortens nor prolongs the wait.
    fn until(&self, moment: Timestamp) -> ClockWait;

    /// Adopts the system's time if it was set, and returns the step. The caller tells the others.
    fn follow_step(&self) -> Option<ClockStep> {
        None
    }
}

/// The system's time as it is, steps included. The daemon uses [`SteadyClock`] instead.
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

    fn monotonic(&self) -> Duration {
        since_boot()
    }

    fn until(&self, moment: Timestamp) -> ClockWait {
        sleep_until(since_boot() + moment.since(self.now()))
    }
}

/// Time since the machine was started, suspends included.
fn since_boot() -> Duration {
    #[cfg(target_os = "linux")]
    let clock = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::Monotonic;
    read(clock)
}

/// Processor time that this process has used, of all its threads.
pub fn process_cpu_time() -> Duration {
    read(ClockId::ProcessCPUTime)
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn sleep_until(deadline: Duration) -> ClockWait {
    Box::pin(async move {
        loop {
            let left = deadline.saturating_sub(since_boot());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(LOOK_AGAIN)).await;
        }
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_clock_is_past_the_day_this_was_written() {
        assert!(SystemClock.now() > "2026-01-01T00:00:00Z".parse().unwrap());
    }

    #[tokio::test]
    async fn a_wait_takes_its_time_by_the_monotonic_clock() {
        let (began, wait) = (SystemClock.monotonic(), Duration::from_millis(20));
        SystemClock.until(SystemClock.now() + wait).await;
        assert!(SystemClock.monotonic() - began >= wait);
    }
}
