//! Posts, as clients read them.

use tokio::sync::watch;

use super::{Result, Service, ServiceError};
use crate::model::{Post, PostId, SourceId, Timestamp};
use crate::store::SourceSelection;

impl Service {
    pub async fn post(&self, id: PostId) -> Result<Post> {
        self.store.post(id).await?.ok_or_else(|| ServiceError::not_found("post", id))
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
