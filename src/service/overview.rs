//! Figures of the whole store for the status. Counting takes time in a large store, so callers keep the result.

use std::time::Duration;

use super::{Result, Service, SourceDetails, WebhookFigures};
use crate::model::{FailureKind, Source, SourceCounts, SourceId, Timestamp};

/// Posts stored within this time count as new.
const NEW_WITHIN: Duration = Duration::from_secs(24 * 60 * 60);

/// The most silent sources that are listed.
const SILENT_LISTED_MAX: u32 = 20;

/// With less space than this, somebody should look.
const FREE_DISK_BYTES_MIN: u64 = 1_000_000_000;

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
    pub silent: SilentSources,
    /// Space left for the file of the database; none if the database is on a server.
    pub free_disk_bytes: Option<u64>,
}

impl Overview {
    /// Whether the disk will soon be full.
    pub fn is_disk_low(&self) -> bool {
        self.free_disk_bytes.is_some_and(|bytes| bytes < FREE_DISK_BYTES_MIN)
    }
}

/// Sources that are polled without failures and have published nothing new for `source.silent-days`.
#[derive(Clone, Debug, Default)]
pub struct SilentSources {
    /// Number of all of them.
    pub total: u64,
    /// The longest silent first, at most 20 of them.
    pub sources: Vec<SilentSource>,
}

#[derive(Clone, Debug)]
pub struct SilentSource {
    pub details: SourceDetails,
    /// When something new last came, as [`SourceStore::silent_sources`](crate::store::SourceStore::silent_sources)
    /// knows it.
    pub silent_since: Timestamp,
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
            silent: self.silent_sources().await?,
            free_disk_bytes: self.store.free_disk_bytes().await,
        })
    }

    async fn silent_sources(&self) -> Result<SilentSources> {
        let Some(silent_after) = self.pipeline.policy().silent_after else { return Ok(SilentSources::default()) };
        let silent_since_before = self.now() - silent_after;
        let (total, longest) = self.store.silent_sources(silent_since_before, SILENT_LISTED_MAX).await?;
        let (sources, times): (Vec<Source>, Vec<Timestamp>) = longest.into_iter().unzip();
        let details = self.details(sources).await?.into_iter().zip(times);
        let sources = details.map(|(details, silent_since)| SilentSource { details, silent_since }).collect();
        Ok(SilentSources { total, sources })
    }

    /// Number of posts stored at this time or later.
    pub async fn count_posts_since(&self, since: Timestamp) -> Result<u64> {
        Ok(self.store.count_posts_since(since).await?)
    }

    /// Number of posts of a source, or of all.
    pub async fn count_posts(&self, source: Option<SourceId>) -> Result<u64> {
        Ok(match source {
            Some(source) => self.store.count_posts_of_source(source).await?,
            None => self.store.count_posts().await?,
        })
    }
}
