//! What the API can ask of the pipeline and tell it, as plain values: the handle by which it is steered.
//!
//! Whoever holds a handle sees no actor, no rule and no lock. Nothing here waits for an actor without a bound.

mod access;
mod changes;
mod explanation;
mod hosts;
mod listing;
mod pausing;
mod people;
mod polling;
mod spelling;
mod tree;

use std::sync::Arc;
use std::time::Duration;

use actix::Addr;
use tokio::sync::Notify;

use super::context::PipelineContext;
use super::faults::FaultSettings;
use super::host::HostTable;
use super::in_flight::InFlightPolls;
use super::messages::{AskScheduler, ReadSourcesAgain, SchedulerStatus, SourcesChanged};
use super::scheduler::SchedulerActor;
use super::statistics::Statistics;
use super::webhooks::{TestWebhook, WebhookActor};
use crate::clock::Clock;
use crate::fetch::KeyError;
use crate::model::{HostKey, HostState, SourceId, WebhookId};
use crate::rules::Policy;
use crate::store::{Store, StoreError};
use crate::supervision::{RootHandle, Tree};

pub use super::faults::Fault;
pub use super::histogram::{BUCKET_SECONDS, HistogramView};
pub use super::history::{PollOutcome, PollRecord};
pub use super::host::HostCounts;
pub use super::statistics::{ACTORS, Latencies, PipelineEvent, StatisticsView};
pub use super::webhooks::WEBHOOKS_MAX;
pub use crate::dice::new_secret;
pub use crate::rules::change::{Change, Changed};
pub use crate::rules::shown_url::shown_url;
pub use crate::rules::status::SourceStatus;
pub use access::{AccessError, check_access};
pub use changes::add_sources;
pub use explanation::{DelayView, Explanation, HostView, ScheduledView, TermView};
pub use listing::{FoundSources, SourceFilter};
pub use polling::{PollAnswer, PollWish};
use spelling::spelled;
pub use tree::{CrashView, ThreadLine, TreeNode, TreeView};

/// How long an actor may take to answer a question before the API answers without it.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// How often it is looked whether everything is settled.
const DRAIN_LOOK: Duration = Duration::from_millis(5);

/// Why a request was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// There is no such source.
    #[error("there is no source {0}")]
    NoSuchSource(SourceId),
    /// Somebody else was faster: this is the version now.
    #[error("the source was changed meanwhile; it has version {version} now")]
    Conflict {
        /// The version that the source has now.
        version: i64,
    },
    /// Another source has the same URL, type and podcast.
    #[error("source {0} has the same URL, type and podcast")]
    Duplicate(SourceId),
    /// What was given as a key is none.
    #[error("it {0}")]
    Key(#[from] KeyError),
    /// What was given as a login or as headers is none.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The store could not.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Steers a pipeline, from any thread. Clones are the same.
#[derive(Clone)]
pub struct PipelineHandle {
    root: RootHandle,
    context: Arc<PipelineContext>,
    scheduler: Addr<SchedulerActor>,
    webhooks: Addr<WebhookActor>,
    table: HostTable,
    in_flight_polls: InFlightPolls,
    finished: Arc<Notify>,
}

impl PipelineHandle {
    pub(super) fn new(
        root: RootHandle,
        context: Arc<PipelineContext>,
        scheduler: Addr<SchedulerActor>,
        webhooks: Addr<WebhookActor>,
        table: HostTable,
        in_flight_polls: InFlightPolls,
        finished: Arc<Notify>,
    ) -> PipelineHandle {
        PipelineHandle { root, context, scheduler, webhooks, table, in_flight_polls, finished }
    }

    /// Where things are kept.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.context.store
    }

    /// What time it is.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.context.clock
    }

    /// Says that something about these sources changed, or that they are new.
    pub fn sources_changed(&self, ids: Vec<SourceId>) {
        self.scheduler.do_send(SourcesChanged(ids));
    }

    /// How the scheduler does; nothing if it does not do at all.
    pub async fn scheduler_status(&self) -> Option<SchedulerStatus> {
        self.scheduler.send(AskScheduler).timeout(ANSWER_WITHIN).await.ok()
    }

    /// Sends a webhook a delivery without posts; if it is not taken, says why.
    pub async fn test_webhook(&self, id: WebhookId) -> Result<(), String> {
        let within = self.context.policy().webhooks.timeout + ANSWER_WITHIN;
        match self.webhooks.send(TestWebhook(id)).timeout(within).await {
            Ok(sent) => sent.map_err(|report| report.error),
            Err(_) => Err("there was no time for it; try again a little later".to_owned()),
        }
    }

    /// What was done so far.
    pub fn statistics(&self) -> Arc<Statistics> {
        self.context.statistics.clone()
    }

    /// The tree as it is now, with at most so many hosts.
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

    /// How many hosts are there.
    pub fn hosts(&self) -> usize {
        self.table.len()
    }

    /// How many hosts are there, by state.
    pub fn host_counts(&self) -> HostCounts {
        self.table.counts(self.context.clock.now())
    }

    /// What the store says to those whom it refuses, while it does; polling pauses meanwhile.
    pub fn store_trouble(&self) -> Option<String> {
        self.context.store_watch.trouble()
    }

    /// The time between two ticks of the scheduler.
    pub fn tick(&self) -> Duration {
        self.context.settings.scheduler.tick
    }

    /// What is known of a host that is there.
    pub fn host(&self, key: &HostKey) -> Option<HostState> {
        self.table.state(key)
    }

    /// What goes wrong on purpose; nothing if the configuration does not allow for any.
    pub fn fault_rules(&self) -> Option<(bool, Vec<Fault>)> {
        let FaultSettings { is_enabled, faults, .. } = self.context.faults.settings();
        self.context.settings.faults.is_enabled.then_some((is_enabled, faults))
    }

    /// Makes these things go wrong, or nothing; false if the configuration does not allow for any.
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

    /// Follows another policy from now on; what is due when is reckoned anew.
    pub fn set_policy(&self, policy: Policy) {
        self.context.set_policy(policy);
        self.scheduler.do_send(ReadSourcesAgain);
    }

    /// Waits until a run that ends by itself has polled what it was to poll.
    pub async fn finished(&self) {
        self.finished.notified().await;
    }

    /// Asks nobody anything from now on, and waits until what is under way is settled.
    pub async fn drain(&self) {
        self.context.admission.switch(|blockers| blockers.is_draining = true);
        self.drained().await;
    }

    /// Waits until nobody is asked any more and everything is settled.
    async fn drained(&self) {
        // The sender is gone only when everything is.
        let _ = self.context.admission.watch().wait_for(|blockers| blockers.is_draining).await;
        while self.in_flight_polls.asked() > 0 {
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
