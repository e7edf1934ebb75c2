//! Everything of the outside world that supervision touches: clock, dice, timers and log, handed in by its user.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use super::Crash;

/// A wait that ends by itself.
pub type Timer = Pin<Box<dyn Future<Output = ()>>>;

/// What supervision needs from outside. Tests hand in one that stands still until it is told to move.
pub trait Environment: Send + Sync + 'static {
    /// The time since a fixed origin, the same for all calls; usually the Unix epoch, so that the tree's times can be
    /// printed. A clock that is set back shortens nobody's patience: waits are measured by [`Environment::sleep`].
    fn now(&self) -> Duration;

    /// A number from 0 up to, but never reaching, 1.
    fn roll(&self) -> f64;

    /// Waits on the thread of the root.
    fn sleep(&self, duration: Duration) -> Timer {
        Box::pin(actix_rt::time::sleep(duration))
    }

    /// Hears what happens in the tree, to log or count it; from the root's thread or the watchdog's. What panics in here
    /// is ignored.
    fn observe(&self, event: &Event<'_>) {
        let _ = event;
    }
}

/// Something that happened in the tree. Names are those of the specs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A child is up.
    Started {
        /// Its name.
        name: &'a str,
    },
    /// A child panicked, or ended though it must not.
    Crashed {
        /// Its name.
        name: &'a str,
        /// What is known about it.
        crash: &'a Crash,
    },
    /// A child will be started again.
    Restarting {
        /// The name of its supervisor or group.
        supervisor: &'a str,
        /// Its name.
        name: &'a str,
        /// How long it waits first.
        after: Duration,
        /// Which crash within the window this answers.
        nth: u32,
    },
    /// A child ended by its own wish and is not started again.
    Ended {
        /// Its name.
        name: &'a str,
    },
    /// A child was stopped by its supervisor.
    Stopped {
        /// Its name.
        name: &'a str,
    },
    /// A child did not stop within its limit and was dropped.
    Overran {
        /// Its name.
        name: &'a str,
        /// The limit.
        limit: Duration,
    },
    /// A supervisor failed, or a child of a group crashed too often.
    GaveUp {
        /// The name of the supervisor or the child.
        name: &'a str,
        /// The reason, and the last crash.
        crash: &'a Crash,
    },
    /// A thread does not answer.
    ThreadBlocked {
        /// Its name.
        name: &'a str,
        /// For how long, in steps of the watchdog's interval.
        silent: Duration,
    },
    /// A thread that did not answer does again.
    ThreadRecovered {
        /// Its name.
        name: &'a str,
    },
    /// A thread has ended before its time. Its children are started again on a new one.
    ThreadGone {
        /// Its name.
        name: &'a str,
    },
}
