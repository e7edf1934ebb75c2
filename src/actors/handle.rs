//! The pipeline as the rest of the program sees it: what only actors know and can do, as plain values. Use cases are in
//! `service`. Nothing here waits for an actor without a bound.

use std::sync::Arc;
use std::time::Duration;

use actix::Addr;
use slog::{Logger, warn};
use tokio::sync::Notify;

use super::WebSubSettings;
use super::admission::PollingBlockers;
use super::context::PipelineContext;
use super::deliveries::{DeliveryActor, TestWebhook};
use super::events::PipelineEvents;
use super::faults::{Fault, FaultSettings};
use super::fleet::Fleet;
use super::host::{DocumentFetcher, HostCounts, HostTable};
use super::in_flight::InFlightPolls;
use super::messages::{
    AskHost, AskScheduler, AskSource, PausePolling, PolicyChanged, ReadSourcesAgain, ResumePolling, ScheduledSource,
    SchedulerStatus, SourcesChanged,
};
use super::scheduler::SchedulerActor;
use super::statistics::Statistics;
use super::trials::Trial;
use crate::clock::Clock;
use crate::http::MemoryUse;
use crate::model::{
    ClockStep, HostKey, HostQueueStatus, HostRequest, HostState, Shard, SourceId, SourceSettings, Timestamp, WebhookId,
};
use crate::rules::Policy;
use crate::rules::stored_times::correct_host;
use crate::sinks::SinkSettings;
use crate::sources::{TypeSettings, host_shard, kind};
use crate::store::{Store, StoreError};
use crate::supervision::{RootHandle, Tree};

/// How long an actor may take to answer a question.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// How often `drained` looks whether all polls are settled.
const DRAIN_LOOK: Duration = Duration::from_millis(5);

/// How often `finished` looks whether pages of entries are due.
const FULL_TEXT_LOOK: Duration = Duration::from_millis(20);

/// Controls a pipeline, from any thread. Clones are the same.
#[derive(Clone)]
pub struct PipelineHandle {
    root: RootHandle,
    context: Arc<PipelineContext>,
    scheduler: Addr<SchedulerActor>,
    webhooks: Addr<DeliveryActor>,
    table: HostTable,
    pub(super) documents: DocumentFetcher,
    in_flight_polls: InFlightPolls,
    finished: Arc<Notify>,
}

impl PipelineHandle {
    pub(super) fn new(
        root: RootHandle,
        context: Arc<PipelineContext>,
        scheduler: Addr<SchedulerActor>,
        webhooks: Addr<DeliveryActor>,
        documents: DocumentFetcher,
        in_flight_polls: InFlightPolls,
        finished: Arc<Notify>,
    ) -> PipelineHandle {
        let table = documents.table.clone();
        PipelineHandle { root, context, scheduler, webhooks, table, documents, in_flight_polls, finished }
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        &self.context.store
    }

    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.context.clock
    }

    pub fn log(&self) -> &Logger {
        &self.context.log
    }

    /// What the rules follow now.
    pub fn policy(&self) -> Arc<Policy> {
        self.context.policy()
    }

    /// When the pipeline was made: earlier requests of an earlier process may not have been stored.
    pub fn started_at(&self) -> Timestamp {
        self.context.started_at()
    }

    /// The time that ages are judged by while the clock is not trusted.
    pub fn ages_judged_at(&self) -> Option<Timestamp> {
        self.context.timeline.ages_judged_at()
    }

    /// The last step of the clock that this process has seen.
    pub fn last_clock_step(&self) -> Option<ClockStep> {
        self.context.timeline.last_step()
    }

    pub fn type_settings(&self) -> &TypeSettings {
        &self.context.type_settings
    }

    /// The host that a source is asked at.
    pub fn host_of(&self, settings: &SourceSettings) -> Option<HostKey> {
        kind(settings.source_type).host(&settings.url, &self.context.type_settings)
    }

    /// The node that this process is.
    pub fn fleet(&self) -> &Fleet {
        &self.context.fleet
    }

    /// The shard of a host.
    pub fn host_shard(&self, host: &HostKey) -> Shard {
        host_shard(Some(host), &self.context.type_settings)
    }

    /// Tells the scheduler that these sources were added, changed or removed.
    pub fn sources_changed(&self, ids: Vec<SourceId>) {
        self.scheduler.do_send(SourcesChanged(ids));
        self.context.websub.wake();
    }

    /// Where hubs push to; none if they cannot reach this program.
    pub fn websub(&self) -> Option<&WebSubSettings> {
        self.context.settings.websub.as_ref()
    }

    /// Marks a new source as kept only if its first poll succeeds. To be called before the scheduler knows the source.
    pub fn begin_trial(&self, id: SourceId) -> Trial {
        self.context.trials.begin(id)
    }

    /// Tells those that wait for new posts, or for pages to fetch, that some were stored outside of polls.
    pub fn note_new_posts(&self) {
        self.context.events.note_arrival();
        self.context.full_texts.wake();
    }

    /// Forces the next poll of a source past holds and `Retry-After`.
    pub fn force_next_poll(&self, id: SourceId) {
        self.context.force(id);
    }

    /// Tells the scheduler that polling is paused since then, or not any more.
    pub fn set_paused(&self, since: Option<Timestamp>) {
        match since {
            Some(since) => self.scheduler.do_send(PausePolling { since }),
            None => self.scheduler.do_send(ResumePolling),
        }
    }

    /// The scheduler's status; none if it does not answer.
    pub async fn scheduler_status(&self) -> Option<SchedulerStatus> {
        self.scheduler.send(AskScheduler).timeout(ANSWER_WITHIN).await.ok()
    }

    /// When the scheduler has this source due; none if it does not know the source, or does not answer.
    pub async fn scheduled(&self, id: SourceId) -> Option<ScheduledSource> {
        self.scheduler.send(AskSource(id)).timeout(ANSWER_WITHIN).await.ok().flatten()
    }

    /// Stores the sums of polls by hour as they are now.
    pub async fn store_poll_hours(&self) -> Result<(), StoreError> {
        let PipelineContext { store, poll_hours, clock, .. } = &*self.context;
        poll_hours.store(&**store, clock.now()).await
    }

    /// What suspends requests to all hosts.
    pub fn blockers(&self) -> PollingBlockers {
        *self.context.admission.watch().borrow()
    }

    /// Sends a webhook a delivery without posts. The error is the receiver's.
    pub async fn test_webhook(&self, id: WebhookId) -> Result<(), String> {
        let within = self.context.policy().webhooks.timeout + ANSWER_WITHIN;
        match self.webhooks.send(TestWebhook(id)).timeout(within).await {
            Ok(sent) => sent.map_err(|report| report.error),
            Err(_) => Err("there was no time for it; try again a little later".to_owned()),
        }
    }

    pub fn sinks(&self) -> &SinkSettings {
        &self.context.settings.sinks
    }

    pub fn statistics(&self) -> Arc<Statistics> {
        self.context.statistics.clone()
    }

    /// What happens from now on.
    pub fn events(&self) -> &PipelineEvents {
        &self.context.events
    }

    /// The supervision tree, with at most so many hosts; none before the start and after the end.
    pub fn tree(&self, hosts_max: usize) -> Option<Tree> {
        self.root.tree(hosts_max)
    }

    /// How many polls are with their hosts now; those that wait for their next hop are not.
    pub fn under_way(&self) -> usize {
        self.context.admission.under_way()
    }

    /// How many polls have begun and are not settled.
    pub fn unsettled(&self) -> usize {
        self.in_flight_polls.asked()
    }

    /// How many pages of entries are being fetched.
    pub fn full_texts_under_way(&self) -> usize {
        self.context.full_texts.under_way()
    }

    /// Memory that the bodies in flight hold.
    pub fn memory(&self) -> MemoryUse {
        self.documents.fetcher.client().memory()
    }

    /// How many hosts have an entry.
    pub fn hosts(&self) -> usize {
        self.table.len()
    }

    pub fn host_counts(&self) -> HostCounts {
        self.table.counts(self.context.clock.now())
    }

    /// Hosts that are held, have an open breaker or have left requests unanswered, in any order, as far as they are in
    /// memory: hosts with recent polls, and up to 10,000 idle ones that take no requests.
    pub fn troubled_hosts(&self) -> Vec<HostState> {
        self.table.troubled(self.context.clock.now())
    }

    /// The last requests of this process to a host, newest first. They are kept in memory, of all hosts together at most
    /// 20,000.
    pub fn requests_of(&self, host: &HostKey, limit: usize) -> Vec<HostRequest> {
        self.context.requests.of_host(host, limit)
    }

    /// What the scheduler has of a host; none if it does not answer.
    pub async fn host_queue(&self, host: &HostKey) -> Option<HostQueueStatus> {
        self.scheduler.send(AskHost(host.clone())).timeout(ANSWER_WITHIN).await.ok()
    }

    /// The error with which the store rejects writes, while it does; polling is suspended meanwhile.
    pub fn store_trouble(&self) -> Option<String> {
        self.context.store_watch.trouble()
    }

    /// Suspends polling while writes of the API and of others fail, without end.
    pub(super) async fn follow_store_health(self) {
        self.context.store_watch.follow_health(self.context.store.as_ref()).await;
    }

    /// Number of sources whose last poll waits because another session of the database locks their row.
    pub fn locked_sources(&self) -> usize {
        self.context.locked_sources.count()
    }

    /// Since when the last poll of this source waits for that.
    pub fn locked_since(&self, id: SourceId) -> Option<Timestamp> {
        self.context.locked_sources.since(id)
    }

    /// The most polls in flight at once.
    pub fn concurrency(&self) -> usize {
        self.context.settings.fetch.concurrency
    }

    /// The time between two ticks of the scheduler.
    pub fn tick(&self) -> Duration {
        self.context.settings.scheduler.tick
    }

    /// The state of a host that has an entry.
    pub fn host(&self, key: &HostKey) -> Option<HostState> {
        self.table.state(key)
    }

    /// Changes the state of a host. `stored` is what the store knows of a host that has no entry.
    pub fn change_host(
        &self,
        key: &HostKey,
        stored: Option<HostState>,
        change: impl FnOnce(&mut HostState),
    ) -> HostState {
        let policy = self.context.policy();
        let stored = stored.map(|mut stored| {
            correct_host(&mut stored, &policy, self.context.clock.now(), self.context.timeline.last_step());
            stored
        });
        self.table.open_with(key, stored, self.context.clock.monotonic());
        self.table.change(key, change).unwrap_or_else(|| HostState::new(key.clone()))
    }

    /// Whether faults are injected, and by which rules; none if the configuration does not allow faults.
    pub fn fault_rules(&self) -> Option<(bool, Vec<Fault>)> {
        let FaultSettings { is_enabled, faults, .. } = self.context.faults.settings();
        self.context.settings.faults.is_enabled.then_some((is_enabled, faults))
    }

    /// Injects faults by these rules, or none; false if the configuration does not allow faults.
    pub fn set_faults(&self, is_enabled: bool, rules: Option<Vec<Fault>>) -> bool {
        let is_allowed = self.context.settings.faults.is_enabled;
        if is_allowed {
            self.context.faults.change(is_enabled, rules);
        }
        is_allowed
    }

    /// How many faults were injected.
    pub fn faults(&self) -> u64 {
        self.context.faults.struck()
    }

    /// Injects no more faults.
    pub fn cease_faults(&self) {
        self.context.faults.cease();
    }

    /// Follows another policy from now on; the scheduler computes all due times again.
    pub fn set_policy(&self, policy: Policy) {
        self.context.set_policy(policy);
        self.scheduler.do_send(ReadSourcesAgain);
        self.context.failure_tracker.do_send(PolicyChanged);
    }

    /// Waits until a run that ends by itself has polled everything in its scope, and has fetched the pages of entries
    /// that are due.
    pub async fn finished(&self) {
        self.finished.notified().await;
        while self.full_texts_under_way() > 0 || self.has_full_text_due().await {
            tokio::time::sleep(FULL_TEXT_LOOK).await;
        }
    }

    async fn has_full_text_due(&self) -> bool {
        let PipelineContext { store, clock, .. } = &*self.context;
        let is_paused = !matches!(store.paused_since().await, Ok(None));
        let first = store
            .full_text_hosts(&self.context.fleet.shards(), 1)
            .await
            .ok()
            .and_then(|hosts| hosts.into_iter().next());
        !is_paused && first.is_some_and(|(_, due_at)| due_at <= clock.now())
    }

    /// Begins no more requests, and waits until all polls in flight are settled.
    pub async fn drain(&self) {
        self.context.admission.switch(|blockers| blockers.is_draining = true);
        self.drained().await;
        if let Err(cause) = self.store_poll_hours().await {
            warn!(self.context.log, "poll sums not stored"; "error" => %cause);
        }
    }

    /// Waits until the pipeline drains and all polls in flight are settled.
    pub async fn drained(&self) {
        // The sender is gone only when everything is.
        let _ = self.context.admission.watch().wait_for(|blockers| blockers.is_draining).await;
        while self.in_flight_polls.asked() + self.context.full_texts.under_way() > 0 {
            tokio::time::sleep(DRAIN_LOOK).await;
        }
    }

    /// Stops the actors in order.
    pub fn stop(&self) {
        self.root.stop();
    }

    /// Drops everything at once.
    pub fn kill(&self) {
        self.root.kill();
    }
}
