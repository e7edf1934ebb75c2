//! What all parts of one tree share: its environment, the backtraces it keeps, and its threads.

use std::backtrace::Backtrace;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::crash::{Crash, UndatedCrash, guard};
use super::{Environment, Event, Thread};

/// Backtraces that a tree keeps. Each takes some kilobytes, more once it was printed.
const BACKTRACES_MAX: usize = 64;

pub(super) struct TreeContext {
    environment: Arc<dyn Environment>,
    backtraces: Mutex<VecDeque<Arc<Backtrace>>>,
    threads: Mutex<Vec<Thread>>,
    last_now: Mutex<Duration>,
}

impl TreeContext {
    pub(super) fn new(environment: Arc<dyn Environment>) -> Arc<TreeContext> {
        Arc::new(TreeContext {
            environment,
            backtraces: Mutex::default(),
            threads: Mutex::default(),
            last_now: Mutex::default(),
        })
    }

    pub(super) fn environment(&self) -> &dyn Environment {
        self.environment.as_ref()
    }

    /// The time; the last known one if the clock panics.
    pub(super) fn now(&self) -> Duration {
        let now = guard(|| self.environment.now());
        let mut last = self.last_now.lock();
        *last = now.unwrap_or(*last);
        *last
    }

    /// Passes an event to the environment, whose panics are ignored.
    pub(super) fn observe(&self, event: &Event<'_>) {
        let _ = guard(|| self.environment.observe(event));
    }

    /// Gives a crash its time, and keeps its backtrace while there is room.
    pub(super) fn record(&self, fault: UndatedCrash) -> Crash {
        if let Some(backtrace) = &fault.backtrace {
            let mut kept = self.backtraces.lock();
            if !kept.iter().any(|known| Arc::ptr_eq(known, backtrace)) {
                kept.truncate(BACKTRACES_MAX - 1);
                kept.push_front(backtrace.clone());
            }
        }
        fault.happened_at(self.now())
    }

    /// Adds a thread to the watchdog and to the snapshots of the tree.
    pub(super) fn look_after(&self, thread: &Thread) {
        let mut threads = self.threads.lock();
        if !threads.contains(thread) {
            threads.push(thread.clone());
        }
    }

    pub(super) fn threads(&self) -> Vec<Thread> {
        self.threads.lock().clone()
    }
}
