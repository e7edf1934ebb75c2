//! Whether the daemon does its work, and what keeps it from it.

use std::time::Duration;

use super::{Result, Service};
use crate::actors::messages::SchedulerStatus;
use crate::model::{SourceCounts, Timestamp};
use crate::store::About;

/// How long the store may take to answer before it counts as unavailable.
const STORE_WITHIN: Duration = Duration::from_secs(2);
/// A daemon whose last success is longer ago, while polls fail or sources wait, is not ready.
const SUCCESS_WITHIN: Duration = Duration::from_secs(15 * 60);
/// A tick may be late by this much.
const TICK_GRACE: Duration = Duration::from_secs(30);

impl Service {
    /// Everything that keeps the daemon from its work; empty if it is ready. The caller has asked the scheduler.
    pub async fn not_ready_because(&self, scheduler: Option<&SchedulerStatus>) -> Vec<String> {
        let mut reasons = Vec::new();
        reasons.extend(self.store_trouble().await);
        let now = self.now();
        let Some(scheduler) = scheduler else {
            reasons.push("the scheduler does not answer".to_owned());
            return reasons;
        };
        let latest = now - (self.pipeline.tick() + TICK_GRACE);
        if scheduler.last_tick_at.is_none_or(|at| at < latest) {
            reasons.push("the scheduler does not tick".to_owned());
        }
        let done = self.pipeline.statistics().view();
        let is_wanted = scheduler.waiting > 0 || done.failed_in_a_row > 0;
        if is_wanted && scheduler.paused_since.is_none() && is_long_ago(done.last_success_at, self.started_at, now) {
            let since = done.last_success_at.map_or_else(|| "the start".to_owned(), |at| at.to_string());
            reasons.push(format!("no poll has succeeded since {since}"));
        }
        reasons
    }

    /// Why the store cannot be used: it does not answer, or it rejects what the pipeline writes.
    pub async fn store_trouble(&self) -> Option<String> {
        match tokio::time::timeout(STORE_WITHIN, self.store.ping()).await {
            Ok(Ok(())) => self.pipeline.store_trouble(),
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("the database does not answer".to_owned()),
        }
    }

    /// Whether the store answers.
    pub async fn ping_store(&self) -> bool {
        self.store.ping().await.is_ok()
    }

    pub fn about_store(&self) -> About {
        self.store.about()
    }

    /// Examines every source, so callers keep the result for a while.
    pub async fn count_sources(&self) -> Result<SourceCounts> {
        Ok(self.store.count_sources().await?)
    }
}

fn is_long_ago(last_success_at: Option<Timestamp>, started_at: Timestamp, now: Timestamp) -> bool {
    last_success_at.unwrap_or(started_at) < now - SUCCESS_WITHIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_has_a_while_after_its_start_and_after_each_success() {
        let start = Timestamp::from_seconds(1_800_000_000);
        let minutes = |count: u64| start + Duration::from_secs(count * 60);
        assert!(!is_long_ago(None, start, minutes(15)));
        assert!(is_long_ago(None, start, minutes(16)));
        assert!(!is_long_ago(Some(minutes(10)), start, minutes(25)));
        assert!(is_long_ago(Some(minutes(10)), start, minutes(26)));
    }
}
