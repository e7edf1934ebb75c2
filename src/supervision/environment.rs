//! The environment of a tree: clock, dice, timers and log, provided by its user.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use super::Crash;

/// A wait that ends by itself.
pub type Timer = Pin<Box<dyn Future<Output = ()>>>;

/// Clock, dice, timers and log of a tree.
pub trait Environment: Send + Sync + 'static {
    /// The time since a fixed origin, the same for all calls; usually the Unix epoch, so that the tree's times can be
    /// printed. A clock that is set back does not change waits: [`Environment::sleep`] measures them.
    fn now(&self) -> Duration;

    /// A number from 0 up to, but never reaching, 1.
    fn roll(&self) -> f64;

    /// Waits on the thread of the root.
    fn sleep(&self, duration: Duration) -> Timer {
        Box::pin(actix_rt::time::sleep(duration))
    }

    /// Called for every event of the tree, on the thread of the root or of the watchdog. Panics in here are ignored.
    fn observe(&self, event: &Event<'_>) {
        let _ = event;
    }
}

/// Event in the tree. Names are those of the specs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A child is up.
    Started {
        /// Name from the spec.
        name: &'a str,
    },
    /// A child panicked, or ended though it must not.
    Crashed {
        /// Name from the spec.
        name: &'a str,
        crash: &'a Crash,
    },
    /// A child will be started again.
    Restarting {
        /// Name of its supervisor or group.
        supervisor: &'a str,
        /// Name from the spec.
        name: &'a str,
        /// Delay before the restart.
        after: Duration,
        /// Number of the crash within the window.
        nth: u32,
    },
    /// A child ended by itself and is not started again.
    Ended {
        /// Name from the spec.
        name: &'a str,
    },
    /// A child was stopped by its supervisor.
    Stopped {
        /// Name from the spec.
        name: &'a str,
    },
    /// A child did not stop within its limit and was dropped.
    Overran {
        /// Name from the spec.
        name: &'a str,
        /// Time limit of the stop.
        limit: Duration,
    },
    /// A supervisor failed, or a child of a group crashed too often.
    GaveUp {
        /// Name of the supervisor or the child.
        name: &'a str,
        /// The reason, and the last crash.
        crash: &'a Crash,
    },
    /// A thread does not answer.
    ThreadBlocked {
        /// Name from the spec.
        name: &'a str,
        /// Time without an answer, in steps of the watchdog's interval.
        silent: Duration,
    },
    /// A thread that did not answer does again.
    ThreadRecovered {
        /// Name from the spec.
        name: &'a str,
    },
    /// A thread has ended while the tree runs. Its children are started again on a new one.
    ThreadGone {
        /// Name from the spec.
        name: &'a str,
    },
}
