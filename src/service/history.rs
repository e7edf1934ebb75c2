//! The history of polls: of one source, and of all by the hour.

use super::{Result, Service};
use crate::model::{PollHour, SourceId, StoredPoll, Timestamp};

impl Service {
    /// Polls of a source before the one with this id, newest first; without it, from the last poll.
    pub async fn history(&self, id: SourceId, before: Option<i64>, limit: u32) -> Result<Vec<StoredPoll>> {
        self.source(id).await?;
        self.polls_before(id, before, limit).await
    }

    pub(super) async fn polls_before(&self, id: SourceId, before: Option<i64>, limit: u32) -> Result<Vec<StoredPoll>> {
        // The clean-up may not have come to what was kept before.
        if !self.pipeline.policy().history.is_kept() {
            return Ok(Vec::new());
        }
        Ok(self.store.polls_of_source(id, before, limit).await?)
    }

    /// Polls of all sources by hour and outcome, those of this process up to now, those of other nodes up to their last
    /// tick.
    pub async fn poll_hours(&self, since: Timestamp) -> Result<Vec<PollHour>> {
        self.pipeline.store_poll_hours().await?;
        Ok(self.store.poll_hours(since).await?)
    }
}
