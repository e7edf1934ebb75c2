//! A stopped clock, for tests. Clones show the same time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::steady::step;
use super::{Clock, ClockWait};
use crate::model::{ClockStep, Timestamp};

#[derive(Clone, Debug)]
pub struct HeldClock(Arc<watch::Sender<Hands>>);

/// The time that has really passed, by a held clock: no step of the system's time changes it.
#[derive(Clone, Debug)]
pub struct TrueTime(HeldClock);

#[derive(Clone, Copy, Debug)]
struct Hands {
    began_at: Timestamp,
    passed: Duration,
    now: Timestamp,
    /// The system's time, which a step changes.
    system: Timestamp,
}

impl HeldClock {
    pub fn at(moment: Timestamp) -> HeldClock {
        let hands = Hands { began_at: moment, passed: Duration::ZERO, now: moment, system: moment };
        HeldClock(Arc::new(watch::Sender::new(hands)))
    }

    /// Lets time pass and completes waits. A machine that was suspended wakes up like this.
    pub fn advance(&self, duration: Duration) {
        self.0.send_modify(|hands| {
            hands.passed += duration;
            hands.now = hands.now + duration;
            hands.system = hands.system + duration;
        });
    }

    /// Sets the system's time ahead, while no time passes.
    pub fn step_ahead(&self, duration: Duration) {
        self.0.send_modify(|hands| hands.system = hands.system + duration);
    }

    /// Sets the system's time back.
    pub fn step_back(&self, duration: Duration) {
        self.0.send_modify(|hands| hands.system = hands.system - duration);
    }

    /// Whether this clock shows the system's time.
    pub fn has_followed(&self) -> bool {
        let hands = *self.0.borrow();
        hands.now == hands.system
    }

    /// The clock of everyone else, such as publishers.
    pub fn true_time(&self) -> TrueTime {
        TrueTime(self.clone())
    }

    /// Makes this clock show the system's time, as a process that is started does.
    pub fn restart(&self) {
        self.0.send_modify(|hands| hands.now = hands.system);
    }

    fn wait(&self, duration: Duration) -> ClockWait {
        let mut hands = self.0.subscribe();
        let deadline = hands.borrow().passed + duration;
        Box::pin(async move {
            // A dropped clock never reaches the time, so its waits never end.
            if hands.wait_for(|hands| hands.passed >= deadline).await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}

impl Clock for HeldClock {
    fn now(&self) -> Timestamp {
        self.0.borrow().now
    }

    fn monotonic(&self) -> Duration {
        self.0.borrow().passed
    }

    fn until(&self, moment: Timestamp) -> ClockWait {
        self.wait(moment.since(self.now()))
    }

    fn follow_step(&self) -> Option<ClockStep> {
        let mut found = None;
        self.0.send_if_modified(|hands| {
            found = step(hands.now, hands.system);
            hands.now = found.map_or(hands.now, |step| step.to);
            // No wait ends by a step.
            false
        });
        found
    }
}

impl Clock for TrueTime {
    fn now(&self) -> Timestamp {
        let hands = *self.0.0.borrow();
        hands.began_at + hands.passed
    }

    fn monotonic(&self) -> Duration {
        self.0.monotonic()
    }

    fn until(&self, moment: Timestamp) -> ClockWait {
        self.0.wait(moment.since(self.now()))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

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
        let clock = HeldClock::at(Timestamp::EPOCH);
        let mut wait = clock.until(Timestamp::EPOCH + Duration::from_secs(60));
        clock.advance(Duration::from_secs(59));
        assert!((&mut wait).now_or_never().is_none(), "a second is missing");
        clock.advance(Duration::from_secs(1));
        wait.await;
        clock.until(Timestamp::EPOCH).await;
    }

    #[tokio::test]
    async fn a_step_changes_the_time_when_it_is_followed_and_no_wait() {
        let clock = HeldClock::at(Timestamp::from_seconds(1_800_000_000));
        let (start, hour) = (clock.now(), Duration::from_secs(3600));
        let mut wait = clock.until(start + Duration::from_secs(60));
        clock.step_back(6 * hour);
        assert_eq!(clock.now(), start, "nothing has compared the clocks");
        assert_eq!(clock.follow_step(), Some(ClockStep { from: start, to: start - 6 * hour }));
        assert_eq!((clock.now(), clock.follow_step()), (start - 6 * hour, None));
        assert!((&mut wait).now_or_never().is_none());
        clock.advance(Duration::from_secs(60));
        wait.await;
        assert_eq!(clock.true_time().now(), start + Duration::from_secs(60));
        clock.step_ahead(9 * hour);
        assert!(clock.follow_step().is_some_and(|step| !step.is_back()));
        assert_eq!(clock.now(), start + 3 * hour + Duration::from_secs(60));
    }
}
