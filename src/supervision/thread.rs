//! Threads for children, replaced if they end while the tree runs, and their heartbeat for the watchdog.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use actix_rt::{Arbiter, ArbiterHandle};
use parking_lot::Mutex;

use super::{ThreadState, ThreadView};

/// A thread on which children can run. It is started with its first child, and replaced by a new one if it should end
/// while the tree still runs. Clones are the same thread.
#[derive(Clone)]
pub struct Thread(Arc<ThreadShared>);

struct ThreadShared {
    name: Box<str>,
    arbiter: Mutex<Option<ArbiterHandle>>,
    replaced: AtomicU32,
    beats: Beats,
}

/// The watchdog sends a number, and the thread returns it.
#[derive(Default)]
struct Beats {
    asked: AtomicU64,
    answered: AtomicU64,
    /// Rounds since the last number without an answer.
    missed: AtomicU32,
}

impl PartialEq for Thread {
    fn eq(&self, other: &Thread) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Thread {
    /// A thread that will be started when it is needed.
    pub fn new(name: &str) -> Thread {
        Thread::with(name, None)
    }

    /// The thread that runs the root.
    pub(super) fn of_root() -> Thread {
        Thread::with("root", Arbiter::try_current())
    }

    fn with(name: &str, arbiter: Option<ArbiterHandle>) -> Thread {
        let arbiter = Mutex::new(arbiter);
        Thread(Arc::new(ThreadShared {
            name: name.into(),
            arbiter,
            replaced: AtomicU32::new(0),
            beats: Beats::default(),
        }))
    }

    /// Name of the thread.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Runs something on the thread, on a new one if it is gone. If no thread can be had, the work is dropped.
    pub(super) fn run(&self, work: impl FnOnce() + Send + 'static) {
        let mut arbiter = self.0.arbiter.lock();
        if !arbiter.as_ref().is_some_and(ArbiterHandle::alive) {
            let Ok(fresh) = Arbiter::try_new() else { return };
            if arbiter.replace(fresh.handle()).is_some() {
                self.0.replaced.fetch_add(1, Ordering::Relaxed);
                // The old thread answers no more.
                let beats = &self.0.beats;
                beats.answered.store(beats.asked.load(Ordering::Acquire), Ordering::Release);
            }
        }
        if let Some(arbiter) = &*arbiter {
            arbiter.spawn_fn(work);
        }
    }

    /// Ends the thread, once its children are gone.
    pub(super) fn end(&self) {
        if let Some(arbiter) = self.0.arbiter.lock().take() {
            arbiter.stop();
        }
    }

    /// One round of the watchdog.
    pub(super) fn beat(&self) {
        let beats = &self.0.beats;
        let asked = beats.asked.load(Ordering::Acquire);
        if beats.answered.load(Ordering::Acquire) != asked {
            // One number at a time: more would pile up for a blocked thread.
            beats.missed.fetch_add(1, Ordering::AcqRel);
            return;
        }
        beats.missed.store(0, Ordering::Release);
        let Some(arbiter) = self.0.arbiter.lock().clone() else { return };
        let inner = self.0.clone();
        if arbiter.spawn_fn(move || inner.beats.answered.store(asked + 1, Ordering::Release)) {
            beats.asked.store(asked + 1, Ordering::Release);
        }
    }

    /// What is known about it, given the pace of the watchdog.
    pub(super) fn view(&self, interval: Duration, missed_max: u32) -> ThreadView {
        let missed = self.0.beats.missed.load(Ordering::Acquire);
        let state = match &*self.0.arbiter.lock() {
            None => ThreadState::NotStarted,
            Some(arbiter) if !arbiter.alive() => ThreadState::Gone,
            Some(_) if missed >= missed_max => ThreadState::Blocked { silent: interval.saturating_mul(missed) },
            Some(_) => ThreadState::Responsive,
        };
        ThreadView { name: self.0.name.to_string(), state, replaced: self.0.replaced.load(Ordering::Relaxed) }
    }
}
