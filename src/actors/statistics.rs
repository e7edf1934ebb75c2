//! What was done so far, counted where it happens, for whoever wants to show it.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{broadcast, watch};

use super::histogram::{Histogram, HistogramView};
use crate::model::{FailureKind, SourceId, Timestamp};

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
    restarts_by_actor: [AtomicU64; ACTORS.len()],
    failed_in_a_row: AtomicU64,
    deliveries_taken: AtomicU64,
    deliveries_failed: AtomicU64,
    delivered_posts: AtomicU64,
    /// In microseconds since 1970; zero before there was any.
    last_success_at: AtomicI64,
    fetching: Histogram,
    reading: Histogram,
    settling: Histogram,
    events: broadcast::Sender<PipelineEvent>,
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
    /// The same for each sort of [`ACTORS`].
    pub restarts_by_actor: [u64; ACTORS.len()],
    /// Polls that failed since the last one that did not.
    pub failed_in_a_row: u64,
    /// Deliveries that webhooks took.
    pub deliveries_taken: u64,
    /// Deliveries that they did not take.
    pub deliveries_failed: u64,
    /// Posts in those that were taken.
    pub delivered_posts: u64,
    /// When a publisher last answered as it should.
    pub last_success_at: Option<Timestamp>,
}

/// The sorts of actors that restarts are counted for. Hosts are one sort, however many there are.
pub const ACTORS: [&str; 6] = ["scheduler", "host", "fetch", "post sink", "failure tracker", "webhooks"];

/// How long things took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latencies {
    /// Asking publishers and reading their answers: all requests of a poll together.
    pub fetching: HistogramView,
    /// Reading what they answered.
    pub reading: HistogramView,
    /// Writing what was found, a transaction each.
    pub settling: HistogramView,
}

/// Something worth showing as it happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PipelineEvent {
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
            restarts_by_actor: Default::default(),
            failed_in_a_row: AtomicU64::default(),
            deliveries_taken: AtomicU64::default(),
            deliveries_failed: AtomicU64::default(),
            delivered_posts: AtomicU64::default(),
            last_success_at: AtomicI64::default(),
            fetching: Histogram::default(),
            reading: Histogram::default(),
            settling: Histogram::default(),
            events: broadcast::Sender::new(HAPPENINGS_KEPT),
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
            restarts_by_actor: std::array::from_fn(|index| read(&self.restarts_by_actor[index])),
            failed_in_a_row: read(&self.failed_in_a_row),
            deliveries_taken: read(&self.deliveries_taken),
            deliveries_failed: read(&self.deliveries_failed),
            delivered_posts: read(&self.delivered_posts),
            last_success_at: Some(self.last_success_at.load(Ordering::Relaxed))
                .filter(|micros| *micros > 0)
                .map(Timestamp::from_micros),
        }
    }

    /// How long things took.
    pub fn latencies(&self) -> Latencies {
        let (fetching, reading) = (self.fetching.view(), self.reading.view());
        Latencies { fetching, reading, settling: self.settling.view() }
    }

    /// Notes how long a poll took to ask for and to read, and whether it worked.
    pub(super) fn note_poll(&self, fetching: Duration, reading: Option<Duration>, success_at: Option<Timestamp>) {
        self.fetching.add(fetching);
        if let Some(reading) = reading {
            self.reading.add(reading);
        }
        match success_at {
            Some(at) => {
                self.last_success_at.fetch_max(at.as_micros(), Ordering::Relaxed);
                self.failed_in_a_row.store(0, Ordering::Relaxed);
            }
            None => {
                self.failed_in_a_row.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    pub(super) fn note_settle(&self, took: Duration) {
        self.settling.add(took);
    }

    /// Hears what happens from now on. Who does not listen for long misses the oldest.
    pub fn listen(&self) -> broadcast::Receiver<PipelineEvent> {
        self.events.subscribe()
    }

    /// Wakes whoever waits for new posts.
    pub fn arrivals(&self) -> watch::Receiver<u64> {
        self.arrivals.subscribe()
    }

    /// Tells those who listen; what it takes to tell is made only if anybody does.
    pub(super) fn emit(&self, happening: impl FnOnce() -> PipelineEvent) {
        if self.events.receiver_count() > 0 {
            let _ = self.events.send(happening());
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

    /// Counts a delivery to a webhook: so many posts were taken, or it failed.
    pub(super) fn count_delivery(&self, taken: Option<usize>) {
        let counter = if taken.is_some() { &self.deliveries_taken } else { &self.deliveries_failed };
        counter.fetch_add(1, Ordering::Relaxed);
        self.delivered_posts.fetch_add(taken.unwrap_or(0) as u64, Ordering::Relaxed);
    }

    pub(super) fn count_crash(&self) {
        self.crashes.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_restart(&self, name: &str) {
        self.restarts.fetch_add(1, Ordering::Relaxed);
        let sort = ACTORS.iter().position(|actor| name == *actor || (*actor == "fetch" && name.starts_with("fetch ")));
        // Whatever has another name is a host.
        self.restarts_by_actor[sort.unwrap_or(1)].fetch_add(1, Ordering::Relaxed);
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
