//! Wire types for posts and articles.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Article, ArticleId, PodcastId, Post, PostId, SourceId, Timestamp};

/// Post with its text and origin.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PostView {
    /// Id of the post; grows with every new post.
    pub id: PostId,
    /// Source of the post.
    pub source_id: SourceId,
    /// Title of the post.
    pub title: String,
    /// Body as plain text, on one line.
    pub body: String,
    /// URL.
    pub url: Option<String>,
    /// Author; for a page, the content of its author `<meta>` element.
    pub author: Option<String>,
    /// For a page, the author according to its byline or linked data.
    #[serde(default)]
    pub byline: Option<String>,
    /// Publication time according to the publisher.
    pub published_at: Option<Timestamp>,
    /// When the post was stored.
    pub created_at: Timestamp,
    /// SHA-256 of the body, in hexadecimal.
    pub content_hash: String,
}

/// Filter for posts.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PostQuery {
    /// Only posts of this source.
    pub source_id: Option<i64>,
    /// Only posts stored at this time or later.
    pub since: Option<Timestamp>,
    /// Only posts stored before this time.
    pub until: Option<Timestamp>,
    /// `oldest` first (default) or `newest` first; `newest` cannot be combined with `since` and `until`.
    #[schemars(extend("enum" = ["oldest", "newest"]))]
    pub order: Option<String>,
    /// `next_cursor` of the previous page.
    pub cursor: Option<String>,
    /// Maximum number of items, 1 to 1000 (default 100).
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<usize>,
}

/// Filter for streamed posts.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StreamQuery {
    /// Only posts of this source.
    pub source_id: Option<i64>,
    /// Start after the post with this id; without it, with the next new post. `Last-Event-ID` takes precedence.
    pub after: Option<i64>,
}

/// Article to add.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArticleBody {
    /// Podcast of the article.
    #[serde(default)]
    pub podcast_id: Option<PodcastId>,
    /// Title of the article.
    pub title: String,
    /// Text of the article.
    pub body: String,
    /// URL.
    #[serde(default)]
    pub url: Option<String>,
    /// Time of publication.
    #[serde(default)]
    pub published_at: Option<Timestamp>,
    /// Posts that the article was made from, at most 100.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub post_ids: Vec<i64>,
}

/// Article made of posts.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ArticleView {
    /// Id of the article.
    pub id: ArticleId,
    /// Podcast of the article.
    pub podcast_id: Option<PodcastId>,
    /// Title of the article.
    pub title: String,
    /// Text of the article.
    pub body: String,
    /// URL.
    pub url: Option<String>,
    /// Time of publication.
    pub published_at: Option<Timestamp>,
    /// When the article was added.
    pub created_at: Timestamp,
    /// Whether a downstream program has processed the article.
    pub is_processed: bool,
    /// Posts that the article was made from; absent in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_ids: Option<Vec<PostId>>,
}

impl From<Post> for PostView {
    fn from(post: Post) -> PostView {
        PostView {
            id: post.id,
            source_id: post.source_id,
            body: post.content.body().into_owned(),
            title: post.content.title,
            url: post.content.url,
            author: post.content.author,
            byline: post.content.byline,
            published_at: post.published_at,
            created_at: post.created_at,
            content_hash: post.content_hash.to_string(),
        }
    }
}

impl From<Article> for ArticleView {
    fn from(article: Article) -> ArticleView {
        let content = article.content;
        ArticleView {
            id: article.id,
            podcast_id: content.podcast_id,
            title: content.title,
            body: content.body,
            url: content.url,
            published_at: content.published_at,
            created_at: content.created_at,
            is_processed: article.is_processed,
            post_ids: None,
        }
    }
}
