//! Posts, full texts and articles.

use async_trait::async_trait;

use crate::model::{
    Article, ArticleId, EntryQuery, FetchedPage, HostKey, KnownEntries, NewArticle, Post, PostId, PostRevision,
    PostSource, QueuedPage, Shard, SourceId, Timestamp,
};

use super::super::{PageBounds, PostPage, PostSelection, Result};

/// Posts. They are added by [`SourceStore::settle`](crate::store::SourceStore::settle) and removed by [`Store::clean`](crate::store::Store::clean).
#[async_trait]
pub trait PostStore: Send + Sync {
    async fn post(&self, id: PostId) -> Result<Option<Post>>;

    /// Previous revisions of a post, newest first; about `bytes_max` bytes of texts, and at least the newest one.
    async fn post_revisions(&self, id: PostId, bytes_max: u64) -> Result<Vec<PostRevision>>;

    /// Sources of posts, in any order, without their labels. Their URLs are as stored, credentials included.
    async fn sources_of_posts(&self, ids: Vec<SourceId>) -> Result<Vec<PostSource>>;

    /// What is known of the entries of documents, in the order of the questions.
    async fn known_entries(&self, queries: Vec<EntryQuery>) -> Result<Vec<KnownEntries>>;

    /// A page of posts. Reads no text of a post that does not fit on it.
    async fn posts_page(&self, selection: PostSelection, bounds: PageBounds) -> Result<PostPage>;

    /// Number of stored posts. Reads an index of all of them, so call it rarely.
    async fn count_posts(&self) -> Result<u64>;

    async fn count_posts_of_source(&self, source: SourceId) -> Result<u64>;

    /// Number of posts stored at this time or later. Reads an index of all of these.
    async fn count_posts_since(&self, since: Timestamp) -> Result<u64>;

    /// The highest change number of a post; 0 without posts.
    async fn last_change_number(&self) -> Result<i64>;

    /// New and changed posts with change numbers above this one, in order.
    async fn list_changes(&self, after: i64, limit: u32) -> Result<Vec<Post>> {
        let selection = PostSelection::Changes { source: None, after };
        Ok(self.posts_page(selection, PageBounds::of_rows(limit)).await?.posts)
    }

    /// Posts with ids above this one, in order, of one source or of all.
    async fn list_posts(&self, source: Option<SourceId>, after: Option<PostId>, limit: u32) -> Result<Vec<Post>> {
        let selection = PostSelection::After { source, after: after.unwrap_or(PostId(0)) };
        Ok(self.posts_page(selection, PageBounds::of_rows(limit)).await?.posts)
    }

    /// Posts before this one, newest first; without it, from the newest post.
    async fn list_posts_before(
        &self,
        source: Option<SourceId>,
        before: Option<PostId>,
        limit: u32,
    ) -> Result<Vec<Post>> {
        let selection = PostSelection::Before { source, before: before.unwrap_or(PostId(i64::MAX)) };
        Ok(self.posts_page(selection, PageBounds::of_rows(limit)).await?.posts)
    }

    /// Posts of one source or of all that were stored in a time range, in order, after
    /// this one.
    async fn list_posts_between(
        &self,
        source: Option<SourceId>,
        since: Timestamp,
        until: Timestamp,
        after: Option<(Timestamp, PostId)>,
        limit: u32,
    ) -> Result<Vec<Post>> {
        let selection = PostSelection::Between { source, since, until, after };
        Ok(self.posts_page(selection, PageBounds::of_rows(limit)).await?.posts)
    }
}

/// Posts that wait for their pages (full text). [`SourceStore::settle`](crate::store::SourceStore::settle) adds them.
#[async_trait]
pub trait FullTextStore: Send + Sync {
    /// Hosts of these shards whose pages are waited for, each with the time at which its first page is due, earliest
    /// first. A store of one process returns all of them.
    async fn full_text_hosts(&self, shards: &[Shard], limit: u32) -> Result<Vec<(HostKey, Timestamp)>>;

    /// The page of this host that has been due longest, if one is due.
    async fn next_full_text(&self, host: &HostKey, now: Timestamp) -> Result<Option<QueuedPage>>;

    /// Counts an attempt, which is repeated at `retry_at` unless it ends before; false if the page has left the queue
    /// or another attempt was counted since it was read.
    async fn begin_full_text(&self, page: &QueuedPage, retry_at: Timestamp) -> Result<bool>;

    /// Takes a post out of the queue that cannot be read.
    async fn drop_full_text(&self, post: PostId) -> Result<()>;

    /// Makes pages due now that were queued after `queued_max`, or that are due after `due_max`: by a clock that was
    /// ahead.
    async fn correct_full_texts(&self, now: Timestamp, due_max: Timestamp, queued_max: Timestamp) -> Result<()>;

    /// Makes all pages of a host due no sooner than this.
    async fn defer_full_texts(&self, host: &HostKey, until: Timestamp) -> Result<()>;

    /// Writes the end of an attempt; false, without a change, if the post has other content by now or is gone. An
    /// article or the end of all attempts gives the post a new change number.
    async fn finish_full_text(&self, page: FetchedPage) -> Result<bool>;
}

/// Articles and their posts.
#[async_trait]
pub trait ArticleStore: Send + Sync {
    async fn add_article(&self, new: NewArticle) -> Result<ArticleId>;

    async fn article(&self, id: ArticleId) -> Result<Option<Article>>;

    /// Articles with ids above this one, in order.
    async fn list_articles(&self, after: Option<ArticleId>, limit: u32) -> Result<Vec<Article>>;

    /// Links a post to an article; idempotent.
    async fn link_post(&self, article: ArticleId, post: PostId) -> Result<()>;

    /// Posts linked to an article.
    async fn posts_of_article(&self, article: ArticleId) -> Result<Vec<PostId>>;

    /// Marks an article as processed; false if it does not exist.
    async fn mark_processed(&self, article: ArticleId) -> Result<bool>;
}
