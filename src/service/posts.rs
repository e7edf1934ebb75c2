//! Posts, as clients read them.

use std::collections::{HashMap, HashSet};

use tokio::sync::watch;

use super::{Result, Service, ServiceError};
use crate::model::{Post, PostId, PostSource, SourceId, Timestamp};
use crate::rules::shown_url::shown_url;
use crate::store::SourceSelection;

impl Service {
    pub async fn post(&self, id: PostId) -> Result<Post> {
        self.store.post(id).await?.ok_or_else(|| ServiceError::not_found("post", id))
    }

    /// The sources of these posts, with their labels and without credentials in their URLs.
    pub async fn sources_of(&self, posts: &[Post]) -> Result<HashMap<SourceId, PostSource>> {
        let ids: HashSet<SourceId> = posts.iter().map(|post| post.source_id).collect();
        let ids: Vec<SourceId> = ids.into_iter().collect();
        let mut labels = self.labels_by_source(ids.clone()).await?;
        let sources = self.store.sources_of_posts(ids).await?.into_iter();
        let complete = |source: PostSource| PostSource {
            url: shown_url(&source.url),
            labels: labels.remove(&source.id).unwrap_or_default(),
            ..source
        };
        Ok(sources.map(complete).map(|source| (source.id, source)).collect())
    }

    /// The posts after this one, oldest first, of one source or of all.
    pub async fn posts_after(&self, source: Option<SourceId>, after: Option<PostId>, limit: u32) -> Result<Vec<Post>> {
        Ok(self.store.list_posts(source, after, limit).await?)
    }

    /// The posts before this one, newest first; from the newest on without one.
    pub async fn posts_before(
        &self,
        source: Option<SourceId>,
        before: Option<PostId>,
        limit: u32,
    ) -> Result<Vec<Post>> {
        Ok(self.store.list_posts_before(source, before, limit).await?)
    }

    /// The posts stored in this span of time, oldest first, after this one.
    pub async fn posts_between(
        &self,
        source: Option<SourceId>,
        span: std::ops::Range<Timestamp>,
        after: Option<(Timestamp, PostId)>,
        limit: u32,
    ) -> Result<Vec<Post>> {
        Ok(self.store.list_posts_between(source, span.start, span.end, after, limit).await?)
    }

    /// The newest posts of sources with this label, newest first.
    pub async fn newest_posts_with_label(&self, label: &str, limit: u32) -> Result<Vec<Post>> {
        let selection = SourceSelection::WithLabel(label.to_owned());
        if self.store.select_sources(selection, None, 1).await?.is_empty() {
            return Err(ServiceError::UnknownLabel);
        }
        Ok(self.store.newest_posts_with_label(label, limit).await?)
    }

    /// Changes whenever a poll of this node stores new posts.
    pub fn new_posts(&self) -> watch::Receiver<u64> {
        self.pipeline.events().arrivals()
    }
}
