//! Figures of the whole store for the status. Counting takes time in a large store, so callers keep the result.

use std::time::Duration;

use super::{Result, Service, WebhookFigures};
use crate::model::{FailureKind, SourceCounts, SourceId};

/// Posts stored within this time count as new.
const NEW_WITHIN: Duration = Duration::from_secs(24 * 60 * 60);

/// Counts of sources, posts and webhooks.
#[derive(Clone, Debug)]
pub struct Overview {
    pub sources: SourceCounts,
    /// Enabled sources that fail, by the kind of their last failure.
    pub failing: Vec<(FailureKind, u64)>,
    pub posts: u64,
    /// Posts stored in the last 24 hours.
    pub posts_last_day: u64,
    pub webhooks: WebhookFigures,
}

impl Service {
    /// Reads every source and an index of all posts.
    pub async fn overview(&self) -> Result<Overview> {
        Ok(Overview {
            sources: self.store.count_sources().await?,
            failing: self.store.count_failures().await?,
            posts: self.store.count_posts().await?,
            posts_last_day: self.store.count_posts_since(self.now() - NEW_WITHIN).await?,
            webhooks: self.webhook_figures().await?,
        })
    }

    /// Number of posts of a source, or of all.
    pub async fn count_posts(&self, source: Option<SourceId>) -> Result<u64> {
        Ok(match source {
            Some(source) => self.store.count_posts_of_source(source).await?,
            None => self.store.count_posts().await?,
        })
    }
}
