//! Counters since the start, counted where things happen. [`Statistics::register`] gives them their names as metrics.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use strum::VariantArray;

use super::actor_kind::ActorKind;
use crate::model::{EntryCounts, FailureKind, PageEnd, Timestamp};

/// The upper ends of the buckets of all histograms, in seconds.
const BUCKET_SECONDS: [f64; 14] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// What becomes of entries, as the metric says it. `edit_ignored` is a part of `known`.
const ENTRY_DECISIONS: [&str; 8] =
    ["new", "updated", "known", "before_source", "too_old", "seen_before", "blank", "edit_ignored"];

/// What becomes of pushes of hubs, as the metric says it.
const PUSH_OUTCOMES: [&str; 7] = ["due", "coalesced", "rejected", "ignored", "unknown", "too_large", "limited"];

/// Counters that differ in the value of one label.
type Labelled = Family<[(&'static str, &'static str); 1], Counter>;

/// Counters since the start. They only grow.
pub struct Statistics {
    /// By outcome: `read`, `unchanged` or the kind of failure.
    polls: Labelled,
    deferred: Counter,
    new_posts: Counter,
    updated_posts: Counter,
    /// By what became of them.
    entries: Labelled,
    gaps: Counter,
    wire_bytes: Counter,
    superseded: Counter,
    due: Counter,
    crashes: Counter,
    restarts: Counter,
    restarts_by_actor: Labelled,
    failed_in_a_row: AtomicU64,
    /// By outcome of the attempt: `stored`, `failed` or `given_up`.
    full_texts: Labelled,
    /// By outcome: `taken` or `failed`.
    deliveries: Labelled,
    delivered_posts: Counter,
    /// By outcome.
    pushes: Labelled,
    /// In microseconds since 1970; zero before there was any.
    last_success_at: AtomicI64,
    /// The same by the monotonic clock, in microseconds.
    last_success: AtomicU64,
    clock_steps: Counter,
    fenced: Counter,
    fetching: Histogram,
    reading: Histogram,
    settling: Histogram,
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
    pub new_posts: u64,
    /// Changes of posts that were stored.
    pub updated_posts: u64,
    /// Changes of entries that were not stored.
    pub edits_ignored: u64,
    /// Readings in which every entry was unknown.
    pub gaps: u64,
    /// Body bytes received.
    pub wire_bytes: u64,
    /// Polls whose source had changed or was removed by the time they ended.
    pub superseded: u64,
    /// Sources that became due.
    pub due: u64,
    pub crashes: u64,
    /// Actors that were started again after a crash.
    pub restarts: u64,
    /// The same for each [`ActorKind`], in their order.
    pub restarts_by_actor: [u64; ActorKind::VARIANTS.len()],
    /// Polls that failed since the last one that did not.
    pub failed_in_a_row: u64,
    /// Deliveries that webhooks took.
    pub deliveries_taken: u64,
    /// Deliveries that they did not take.
    pub deliveries_failed: u64,
    /// Posts in those that were taken.
    pub delivered_posts: u64,
    /// Polls whose result was not stored because another node of the fleet had their source by then.
    pub fenced: u64,
    /// The last poll that succeeded.
    pub last_success_at: Option<Timestamp>,
    /// The same by the monotonic clock.
    pub last_success: Option<Duration>,
}

impl Default for Statistics {
    fn default() -> Statistics {
        let outcomes = ["read", "unchanged"].into_iter().chain(FailureKind::ALL.into_iter().map(FailureKind::name));
        Statistics {
            polls: labelled("outcome", outcomes),
            deferred: Counter::default(),
            new_posts: Counter::default(),
            updated_posts: Counter::default(),
            entries: labelled("decision", ENTRY_DECISIONS),
            gaps: Counter::default(),
            wire_bytes: Counter::default(),
            superseded: Counter::default(),
            due: Counter::default(),
            crashes: Counter::default(),
            restarts: Counter::default(),
            restarts_by_actor: labelled("actor", ActorKind::VARIANTS.iter().map(Into::into)),
            failed_in_a_row: AtomicU64::default(),
            full_texts: labelled("outcome", ["stored", "failed", "given_up"]),
            deliveries: labelled("outcome", ["taken", "failed"]),
            delivered_posts: Counter::default(),
            pushes: labelled("outcome", PUSH_OUTCOMES),
            last_success_at: AtomicI64::default(),
            last_success: AtomicU64::default(),
            clock_steps: Counter::default(),
            fenced: Counter::default(),
            fetching: Histogram::new(BUCKET_SECONDS),
            reading: Histogram::new(BUCKET_SECONDS),
            settling: Histogram::new(BUCKET_SECONDS),
        }
    }
}

/// Counters for all values of a label: each of them is a metric from the start.
fn labelled(label: &'static str, values: impl IntoIterator<Item = &'static str>) -> Labelled {
    let family = Labelled::default();
    values.into_iter().for_each(|value| drop(family.get_or_create(&[(label, value)])));
    family
}

impl Statistics {
    pub fn view(&self) -> StatisticsView {
        let polls = |outcome| self.polls.get_or_create(&[("outcome", outcome)]).get();
        let deliveries = |outcome| self.deliveries.get_or_create(&[("outcome", outcome)]).get();
        let restarts = |kind: ActorKind| self.restarts_by_actor.get_or_create(&[("actor", kind.into())]).get();
        StatisticsView {
            read: polls("read"),
            unchanged: polls("unchanged"),
            failed: FailureKind::ALL.map(|kind| polls(kind.name())),
            deferred: self.deferred.get(),
            new_posts: self.new_posts.get(),
            updated_posts: self.updated_posts.get(),
            edits_ignored: self.entries.get_or_create(&[("decision", "edit_ignored")]).get(),
            gaps: self.gaps.get(),
            wire_bytes: self.wire_bytes.get(),
            superseded: self.superseded.get(),
            fenced: self.fenced.get(),
            due: self.due.get(),
            crashes: self.crashes.get(),
            restarts: self.restarts.get(),
            restarts_by_actor: std::array::from_fn(|index| restarts(ActorKind::VARIANTS[index])),
            failed_in_a_row: self.failed_in_a_row.load(Ordering::Relaxed),
            deliveries_taken: deliveries("taken"),
            deliveries_failed: deliveries("failed"),
            delivered_posts: self.delivered_posts.get(),
            last_success_at: Some(self.last_success_at.load(Ordering::Relaxed))
                .filter(|micros| *micros > 0)
                .map(Timestamp::from_micros),
            last_success: Some(self.last_success.load(Ordering::Relaxed))
                .filter(|micros| *micros > 0)
                .map(Duration::from_micros),
        }
    }

    /// Adds the counters and histograms to a page of metrics. The names of counters get `_total` when they are written.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("polls", "Settled polls, by outcome", self.polls.clone());
        registry.register("websub_pushes", "Pushes of hubs, by what became of them", self.pushes.clone());
        registry.register("new_posts", "New posts", self.new_posts.clone());
        registry.register("updated_posts", "Changes of posts that were stored", self.updated_posts.clone());
        registry.register("entries", "Entries that were read, by what became of them", self.entries.clone());
        registry.register(
            "gaps",
            "Polls in which every entry was unknown, so that some may be missing",
            self.gaps.clone(),
        );
        registry.register("wire_bytes", "Body bytes received", self.wire_bytes.clone());
        registry.register(
            "deferred",
            "Sources sent back because their host is held or its breaker is open",
            self.deferred.clone(),
        );
        registry.register("clock_steps", "Times at which the system's time was set", self.clock_steps.clone());
        registry.register(
            "fenced",
            "Polls not stored because another node had their source by then",
            self.fenced.clone(),
        );
        registry.register("superseded", "Polls whose source changed meanwhile", self.superseded.clone());
        registry.register("crashes", "Crashes of actors", self.crashes.clone());
        registry.register("restarts", "Restarts of actors, by actor", self.restarts_by_actor.clone());
        registry.register("fetch_duration_seconds", "Duration of all requests of a poll", self.fetching.clone());
        registry.register("parse_duration_seconds", "Duration of parsing a response", self.reading.clone());
        registry.register("settle_duration_seconds", "Duration of storing a batch of polls", self.settling.clone());
        registry.register("full_texts", "Attempts to fetch the page of an entry, by outcome", self.full_texts.clone());
        registry.register("webhook_deliveries", "Deliveries to webhooks, by outcome", self.deliveries.clone());
        registry.register("webhook_posts", "Posts accepted by webhooks", self.delivered_posts.clone());
    }

    /// Notes how long a poll took to ask for and to read, and whether it succeeded: then, by both clocks.
    pub(super) fn note_poll(
        &self,
        fetching: Duration,
        reading: Option<Duration>,
        success: Option<(Timestamp, Duration)>,
    ) {
        self.fetching.observe(fetching.as_secs_f64());
        if let Some(reading) = reading {
            self.reading.observe(reading.as_secs_f64());
        }
        match success {
            Some((at, monotonic)) => {
                self.last_success_at.store(at.as_micros(), Ordering::Relaxed);
                let micros = u64::try_from(monotonic.as_micros()).unwrap_or(u64::MAX).max(1);
                self.last_success.fetch_max(micros, Ordering::Relaxed);
                self.failed_in_a_row.store(0, Ordering::Relaxed);
            }
            None => {
                self.failed_in_a_row.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    pub(super) fn note_settle(&self, took: Duration) {
        self.settling.observe(took.as_secs_f64());
    }

    pub(super) fn count_entries(&self, counts: &EntryCounts, is_gap: bool) {
        let EntryCounts { new, updated, known, before_source, too_old, seen_before, blank, edits_ignored, .. } =
            *counts;
        let numbers = [new, updated, known, before_source, too_old, seen_before, blank, edits_ignored];
        for (decision, number) in ENTRY_DECISIONS.into_iter().zip(numbers).filter(|(_, number)| *number > 0) {
            self.entries.get_or_create(&[("decision", decision)]).inc_by(number);
        }
        self.updated_posts.inc_by(updated);
        self.gaps.inc_by(u64::from(is_gap));
    }

    pub(super) fn count_read(&self, new_posts: usize) {
        self.polls.get_or_create(&[("outcome", "read")]).inc();
        self.new_posts.inc_by(new_posts as u64);
    }

    pub(super) fn count_unchanged(&self) {
        self.polls.get_or_create(&[("outcome", "unchanged")]).inc();
    }

    pub(super) fn count_failed(&self, kind: FailureKind) {
        self.polls.get_or_create(&[("outcome", kind.name())]).inc();
    }

    pub(super) fn count_wire_bytes(&self, bytes: usize) {
        self.wire_bytes.inc_by(bytes as u64);
    }

    pub(super) fn count_deferred(&self) {
        self.deferred.inc();
    }

    pub(super) fn count_fenced(&self) {
        self.fenced.inc();
    }

    pub(super) fn count_superseded(&self) {
        self.superseded.inc();
    }

    pub(super) fn count_due(&self) {
        self.due.inc();
    }

    /// Counts a push of a hub.
    pub fn count_push(&self, outcome: &'static str) {
        self.pushes.get_or_create(&[("outcome", outcome)]).inc();
    }

    /// Counts a delivery to a webhook: so many posts were taken, or it failed.
    pub(super) fn count_delivery(&self, taken: Option<usize>) {
        let outcome = if taken.is_some() { "taken" } else { "failed" };
        self.deliveries.get_or_create(&[("outcome", outcome)]).inc();
        self.delivered_posts.inc_by(taken.unwrap_or(0) as u64);
    }

    pub(super) fn count_full_text(&self, end: &PageEnd) {
        let outcome = match end {
            PageEnd::Article { .. } => "stored",
            PageEnd::Retry { .. } => "failed",
            PageEnd::GivenUp { .. } => "given_up",
        };
        self.full_texts.get_or_create(&[("outcome", outcome)]).inc();
    }

    pub(super) fn count_clock_step(&self) {
        self.clock_steps.inc();
    }

    pub(super) fn count_crash(&self) {
        self.crashes.inc();
    }

    pub(super) fn count_restart(&self, kind: Option<ActorKind>) {
        self.restarts.inc();
        if let Some(kind) = kind {
            self.restarts_by_actor.get_or_create(&[("actor", kind.into())]).inc();
        }
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
