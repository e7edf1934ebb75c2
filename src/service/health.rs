//! Whether the daemon does its work, and what keeps it from it.

use std::time::Duration;

use super::{Result, Service};
use crate::actors::PollingBlockers;
use crate::actors::messages::SchedulerStatus;
use crate::model::SourceCounts;
use crate::store::About;

/// How long the store may take to answer before it counts as unavailable.
const STORE_WITHIN: Duration = Duration::from_secs(2);
/// A daemon whose last success is longer ago, while polls fail or sources wait, is not ready.
const SUCCESS_WITHIN: Duration = Duration::from_secs(15 * 60);
/// A daemon that has not read all sources after this time is not ready.
const LOADED_WITHIN: Duration = Duration::from_secs(60);
/// A source that is due is handed to its host within a tick; this much longer means that the scheduler is stuck.
const OVERDUE_MAX: Duration = Duration::from_secs(5 * 60);
/// A tick may be late by this much.
const TICK_GRACE: Duration = Duration::from_secs(30);

impl Service {
    /// Everything that keeps the daemon from its work; empty if it is ready. The caller has asked the scheduler.
    pub async fn not_ready_because(&self, scheduler: Option<&SchedulerStatus>) -> Vec<String> {
        let mut reasons = Vec::new();
        reasons.extend(self.store_trouble().await);
        let Some(scheduler) = scheduler else {
            reasons.push("the scheduler does not answer".to_owned());
            return reasons;
        };
        if scheduler.since_last_tick.is_none_or(|passed| passed > self.pipeline.tick() + TICK_GRACE) {
            reasons.push("the scheduler does not tick".to_owned());
        }
        if let Some(cause) = &scheduler.not_loaded_because
            && self.clock.monotonic().saturating_sub(self.started) > LOADED_WITHIN
        {
            let seconds = self.clock.monotonic().saturating_sub(self.started).as_secs();
            reasons.push(format!("not all sources are loaded {seconds} s after the start: {cause}"));
        }
        if self.pipeline.locked_sources() >= self.pipeline.concurrency() {
            let text =
                "all polls in flight wait for rows that other sessions of the database lock; end their transactions";
            reasons.push(text.to_owned());
        }
        if let Some(fleet) = self.pipeline.fleet().view() {
            if fleet.lease_left.is_none() {
                reasons.push("the lease of this node is over: it could not renew it in the database".to_owned());
            }
            if fleet.should_own && self.uptime() > fleet.lease {
                let free = fleet.free_shards;
                reasons.push(format!("this node has no shards although it should ({free} have no owner)"));
            }
        }
        let done = self.pipeline.statistics().view();
        let is_wanted = scheduler.waiting > 0 || done.failed_in_a_row > 0;
        if is_wanted && scheduler.paused_since.is_none() && self.is_long_since(done.last_success) {
            let since = done.last_success_at.map_or_else(|| "the start".to_owned(), |at| at.to_string());
            reasons.push(format!("no poll has succeeded since {since}"));
        }
        if let Some(overdue) = self.overdue(scheduler) {
            let seconds = overdue.as_secs();
            reasons.push(format!("a source is due for {seconds} s and was not handed to its host: restart the daemon"));
        }
        reasons
    }

    fn is_long_since(&self, last_success: Option<Duration>) -> bool {
        is_long_ago(last_success, self.started, self.clock.monotonic())
    }

    /// How long a source of an idle host has been due without being handed out, if that is long and nothing suspends
    /// polling. The scheduler hands out such a source within a tick.
    fn overdue(&self, scheduler: &SchedulerStatus) -> Option<Duration> {
        let is_suspended = self.pipeline.blockers() != PollingBlockers::default();
        let overdue = scheduler.overdue.filter(|_| scheduler.paused_since.is_none() && !is_suspended)?;
        // What fell due before the start waits since the start.
        let overdue = overdue.min(self.clock.monotonic().saturating_sub(self.started));
        (overdue > OVERDUE_MAX + self.pipeline.tick()).then_some(overdue)
    }

    /// Why the store cannot be used: it does not answer, or it rejected the last write of any caller. A flood of API
    /// requests is none: the connections of the pipeline are asked.
    pub async fn store_trouble(&self) -> Option<String> {
        let store = self.pipeline.store();
        match tokio::time::timeout(STORE_WITHIN, store.ping()).await {
            Ok(Ok(())) => self.pipeline.store_trouble().or_else(|| store.health().trouble()),
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("the database does not answer".to_owned()),
        }
    }

    /// Whether the store answers.
    pub async fn ping_store(&self) -> bool {
        self.pipeline.store().ping().await.is_ok()
    }

    pub fn about_store(&self) -> About {
        self.store.about()
    }

    /// Examines every source, so callers keep the result for a while.
    pub async fn count_sources(&self) -> Result<SourceCounts> {
        Ok(self.store.count_sources().await?)
    }
}

/// All times are those of the monotonic clock.
fn is_long_ago(last_success: Option<Duration>, started: Duration, now: Duration) -> bool {
    now.saturating_sub(last_success.unwrap_or(started)) > SUCCESS_WITHIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_has_a_while_after_its_start_and_after_each_success() {
        let start = Duration::from_secs(99_999);
        let minutes = |count: u64| start + Duration::from_secs(count * 60);
        assert!(!is_long_ago(None, start, minutes(15)));
        assert!(is_long_ago(None, start, minutes(16)));
        assert!(!is_long_ago(Some(minutes(10)), start, minutes(25)));
        assert!(is_long_ago(Some(minutes(10)), start, minutes(26)));
    }
}
