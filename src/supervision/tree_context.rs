//! What all parts of one tree share: its environment, the backtraces it keeps, and its threads.

use std::backtrace::Backtrace;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::crash::{Crash, Fault, guard};
use super::{Environment, Event, Thread};

/// How many backtraces a tree keeps. Each takes some kilobytes, more once it was printed.
const BACKTRACES_MAX: usize = 64;

/// Shared by everything in one tree.
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

    /// The time. Everything is dated, so a clock that panics is taken to stand still.
    pub(super) fn now(&self) -> Duration {
        let now = guard(|| self.environment.now());
        let mut last = self.last_now.lock();
        *last = now.unwrap_or(*last);
        *last
    }

    /// Tells the log. A log that panics must not stop the work.
    pub(super) fn observe(&self, event: &Event<'_>) {
        let _ = guard(|| self.environment.observe(event));
    }

    /// Dates a fault and keeps its backtrace for as long as there is room.
    pub(super) fn record(&self, fault: Fault) -> Crash {
        if let Some(backtrace) = &fault.backtrace {
            let mut kept = self.backtraces.lock();
            if !kept.iter().any(|known| Arc::ptr_eq(known, backtrace)) {
                kept.truncate(BACKTRACES_MAX - 1);
                kept.push_front(backtrace.clone());
            }
        }
        fault.happened_at(self.now())
    }

    /// Lets the watchdog look after a thread, and the tree show it.
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
