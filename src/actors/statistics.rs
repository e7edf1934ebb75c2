//! What was done so far, counted where it happens, for whoever wants to show it.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{broadcast, watch};

use crate::model::{FailureKind, SourceId};

/// How many things that happened somebody who listens may be behind before the oldest are skipped.
const HAPPENINGS_KEPT: usize = 1024;

/// Counters since the start. They only grow.
pub struct Statistics {
    read: AtomicU64,
    unchanged: AtomicU64,
    failed: [AtomicU64; FailureKind::ALL.len()],
    deferred: AtomicU64,
    new_posts: AtomicU64,
    wire_bytes: AtomicU64,
    superseded: AtomicU64,
    due: AtomicU64,
    crashes: AtomicU64,
    restarts: AtomicU64,
    happenings: broadcast::Sender<Happening>,
    /// Grows with every poll that found something new.
    arrivals: watch::Sender<u64>,
}

/// The counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatisticsView {
    /// Polls that were answered with entries.
    pub read: u64,
    /// Polls that were answered with 304.
    pub unchanged: u64,
    /// Polls that failed, by kind, in the order of [`FailureKind::ALL`].
    pub failed: [u64; FailureKind::ALL.len()],
    /// Sources that were due and could not be asked yet, because their host is held or down.
    pub deferred: u64,
    /// Posts that were not known before.
    pub new_posts: u64,
    /// Bytes of body that crossed the wire.
    pub wire_bytes: u64,
    /// Polls whose source had changed or was removed by the time they ended.
    pub superseded: u64,
    /// Sources that became due.
    pub due: u64,
    /// Crashes of actors.
    pub crashes: u64,
    /// Actors that were started again after a crash.
    pub restarts: u64,
}

/// Something worth showing as it happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A poll is settled.
    Polled {
        /// Which source.
        source_id: SourceId,
        /// Its URL, without credentials.
        url: String,
        /// New posts.
        new_posts: usize,
        /// What went wrong, if it failed.
        failure: Option<FailureKind>,
    },
    /// A source rests, or is disabled.
    Silenced {
        /// Its URL, without credentials.
        url: String,
        /// Why.
        reason: String,
        /// Whether only a person brings it back.
        is_disabled: bool,
    },
    /// A host is held, or its breaker opened or closed.
    Host {
        /// Which one.
        host: String,
        /// What happened.
        what: String,
    },
    /// An actor crashed.
    Crashed {
        /// Its name.
        name: String,
        /// What it said.
        message: String,
    },
    /// An actor was started again.
    Restarted {
        /// Its name.
        name: String,
    },
}

impl Default for Statistics {
    fn default() -> Statistics {
        Statistics {
            read: AtomicU64::default(),
            unchanged: AtomicU64::default(),
            failed: Default::default(),
            deferred: AtomicU64::default(),
            new_posts: AtomicU64::default(),
            wire_bytes: AtomicU64::default(),
            superseded: AtomicU64::default(),
            due: AtomicU64::default(),
            crashes: AtomicU64::default(),
            restarts: AtomicU64::default(),
            happenings: broadcast::Sender::new(HAPPENINGS_KEPT),
            arrivals: watch::Sender::new(0),
        }
    }
}

impl Statistics {
    /// The counters now.
    pub fn view(&self) -> StatisticsView {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        StatisticsView {
            read: read(&self.read),
            unchanged: read(&self.unchanged),
            failed: std::array::from_fn(|index| read(&self.failed[index])),
            deferred: read(&self.deferred),
            new_posts: read(&self.new_posts),
            wire_bytes: read(&self.wire_bytes),
            superseded: read(&self.superseded),
            due: read(&self.due),
            crashes: read(&self.crashes),
            restarts: read(&self.restarts),
        }
    }

    /// Hears what happens from now on. Who does not listen for long misses the oldest.
    pub fn listen(&self) -> broadcast::Receiver<Happening> {
        self.happenings.subscribe()
    }

    /// Wakes whoever waits for new posts.
    pub fn arrivals(&self) -> watch::Receiver<u64> {
        self.arrivals.subscribe()
    }

    /// Tells those who listen; what it takes to tell is made only if anybody does.
    pub(super) fn tell(&self, happening: impl FnOnce() -> Happening) {
        if self.happenings.receiver_count() > 0 {
            let _ = self.happenings.send(happening());
        }
    }

    pub(super) fn count_read(&self, new_posts: usize) {
        self.read.fetch_add(1, Ordering::Relaxed);
        self.new_posts.fetch_add(new_posts as u64, Ordering::Relaxed);
        if new_posts > 0 {
            self.arrivals.send_modify(|count| *count += 1);
        }
    }

    pub(super) fn count_unchanged(&self) {
        self.unchanged.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_failed(&self, kind: FailureKind) {
        self.failed[kind as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_wire_bytes(&self, bytes: usize) {
        self.wire_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn count_deferred(&self) {
        self.deferred.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_superseded(&self) {
        self.superseded.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_due(&self) {
        self.due.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_crash(&self) {
        self.crashes.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_restart(&self) {
        self.restarts.fetch_add(1, Ordering::Relaxed);
    }
}

impl StatisticsView {
    /// Polls that failed, whatever the kind.
    pub fn failed_total(&self) -> u64 {
        self.failed.iter().sum()
    }

    /// Polls that were settled.
    pub fn settled(&self) -> u64 {
        self.read + self.unchanged + self.failed_total()
    }
}
