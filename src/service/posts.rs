//! Posts, as clients read them.

use std::collections::{HashMap, HashSet};

use tokio::sync::watch;

use super::{Result, Service, ServiceError};
use crate::model::{Post, PostId, PostRevision, PostSource, SourceId, Timestamp};
use crate::rules::shown_url::shown_url;
use crate::store::{PageBounds, PostMatch, PostPage, PostSelection, SourceSelection};

/// Texts and HTML on a page of posts: 100 posts of 8 MB would take gigabytes.
const PAGE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Ids that one search examines. A rare match takes many calls, and no call takes long.
const EXAMINED_MAX: i64 = 20_000;

/// Which posts to find. An absent field matches every post.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostFilter {
    pub source: Option<SourceId>,
    /// Label of the source.
    pub label: Option<String>,
    /// Text in the title or text, case-insensitive.
    pub text: Option<String>,
    /// Stored at this time or later.
    pub since: Option<Timestamp>,
    /// Stored before this time.
    pub until: Option<Timestamp>,
    pub newest_first: bool,
}

/// A page of posts that match.
#[derive(Clone, Debug, Default)]
pub struct FoundPosts {
    pub posts: Vec<Post>,
    /// Where the next page begins, if there may be one. A page can be short, or empty, and still have a next one.
    pub next: Option<PostId>,
}

impl Service {
    pub async fn post(&self, id: PostId) -> Result<Post> {
        self.store.post(id).await?.ok_or_else(|| ServiceError::not_found("post", id))
    }

    /// What an edited post said before, newest first. At most `posts.revisions-max` revisions are kept; about 8 MiB of
    /// texts are returned, and at least one revision.
    pub async fn post_revisions(&self, id: PostId) -> Result<Vec<PostRevision>> {
        let revisions = self.store.post_revisions(id, PAGE_BYTES_MAX).await?;
        if revisions.is_empty() {
            self.post(id).await?;
        }
        Ok(revisions)
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

    /// A page of posts, of at most 8 MiB of texts unless a single post is larger.
    pub async fn posts(&self, selection: PostSelection, rows: u32) -> Result<PostPage> {
        Ok(self.store.posts_page(selection, PageBounds { rows, bytes: PAGE_BYTES_MAX }).await?)
    }

    /// The highest number of a post, a change or an event.
    pub async fn last_change_number(&self) -> Result<i64> {
        Ok(self.store.last_change_number().await?)
    }

    /// Posts that match, in the order of their ids, from the post after the cursor on. Examines at most
    /// `EXAMINED_MAX` ids.
    pub async fn find_posts(&self, filter: PostFilter, cursor: Option<PostId>, rows: u32) -> Result<FoundPosts> {
        let PostFilter { source, label, text, since, until, newest_first } = filter;
        let (first, last) = (self.first_id_at(since).await?, self.first_id_at(until).await?);
        if since.is_some() && first.is_none() {
            return Ok(FoundPosts::default());
        }
        // Ids do not quite follow the times: nodes store at the same time, and clocks are set.
        let lowest = first.map_or(0, |first| first.0.saturating_sub(EXAMINED_MAX).max(0));
        let highest = last.map_or(i64::MAX, |last| last.0.saturating_add(EXAMINED_MAX));
        let start = match newest_first {
            true => PostSelection::Before { source: None, before: PostId(cursor.map_or(highest, |id| id.0)) },
            false => PostSelection::After { source: None, after: PostId(cursor.map_or(lowest, |id| id.0)) },
        };
        let Some(first) = self.posts(start, 1).await?.posts.pop() else { return Ok(FoundPosts::default()) };
        // Both ends are excluded.
        let (after, before) = match newest_first {
            true => (PostId(first.id.0 - EXAMINED_MAX), PostId(first.id.0 + 1)),
            false => (PostId(first.id.0 - 1), PostId(first.id.0 + EXAMINED_MAX)),
        };
        let last_number = self.store.last_change_number().await?.min(highest);
        let (since, until) = (since.unwrap_or(Timestamp::MIN), until.unwrap_or(Timestamp::MAX));
        let wanted = PostMatch { after, before, source, label, text, since, until };
        let page = match newest_first {
            true => self.posts(PostSelection::MatchingNewest(wanted), rows).await?,
            false => self.posts(PostSelection::Matching(wanted), rows).await?,
        };
        let end = if newest_first { PostId(after.0 + 1) } else { PostId(before.0 - 1) };
        let next = match page.posts.last() {
            Some(last) if page.has_more => Some(last.id),
            _ if newest_first => Some(end).filter(|end| end.0 > lowest.max(1)),
            _ => Some(end).filter(|end| end.0 < last_number),
        };
        Ok(FoundPosts { posts: page.posts, next })
    }

    /// Id of the first post that was stored at this time or later; none without a time or such a post.
    pub(super) async fn first_id_at(&self, moment: Option<Timestamp>) -> Result<Option<PostId>> {
        let Some(since) = moment else { return Ok(None) };
        let selection = PostSelection::Between { source: None, since, until: Timestamp::MAX, after: None };
        Ok(self.posts(selection, 1).await?.posts.first().map(|post| post.id))
    }

    /// The newest posts of sources with this label, newest first, among the last `EXAMINED_MAX` ids.
    pub async fn newest_posts_with_label(&self, label: &str, rows: u32) -> Result<Vec<Post>> {
        let selection = SourceSelection::WithLabel(label.to_owned());
        if self.store.select_sources(selection, None, 1).await?.is_empty() {
            return Err(ServiceError::UnknownLabel);
        }
        let filter = PostFilter { label: Some(label.to_owned()), newest_first: true, ..PostFilter::default() };
        Ok(self.find_posts(filter, None, rows).await?.posts)
    }

    /// Changes whenever this node stores new posts or events.
    pub fn new_posts(&self) -> watch::Receiver<u64> {
        self.pipeline.events().arrivals()
    }
}
