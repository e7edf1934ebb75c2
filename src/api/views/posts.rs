//! Wire types for posts and articles.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{
    Article, ArticleId, Enclosure, PodcastId, Post, PostId, PostRevision, PostSource, SourceId, TextOrigin, Timestamp,
};
use crate::parse::safe_html::sanitized;

/// Post with its content and its source.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PostView {
    /// Id of the post; grows with every new post.
    pub id: PostId,
    /// Position among new and changed posts: the id until the first change.
    pub change_number: i64,
    /// Number of changes since the post was stored.
    pub revision: u32,
    /// Source of the post.
    pub source_id: SourceId,
    /// Source of the post; null if it was removed meanwhile.
    pub source: Option<PostSource>,
    /// Id that the publisher gave the entry.
    pub guid: Option<String>,
    /// Title of the post.
    pub title: String,
    /// Text on one line.
    pub body: String,
    /// Plain text; paragraphs, list items, table rows and lines of code have a line each.
    pub text: String,
    /// Content as HTML, sanitised: without scripts, styles, forms and embedded pages. Null if there is none, or if it is
    /// not kept (`posts.keep-html`).
    pub html: Option<String>,
    /// Plain text of a summary that the publisher gave beside the content.
    pub summary: Option<String>,
    /// URL.
    pub url: Option<String>,
    /// First author; for a page, the content of its author `<meta>` element.
    pub author: Option<String>,
    /// All authors.
    pub authors: Vec<String>,
    /// For a page, the author according to its byline or linked data.
    #[serde(default)]
    pub byline: Option<String>,
    /// Language tag, such as `en-GB`.
    pub language: Option<String>,
    /// Categories, in the words of the publisher.
    pub categories: Vec<String>,
    /// Files that belong to the post, such as the audio of a podcast.
    pub enclosures: Vec<Enclosure>,
    /// URL of an image of the post.
    pub image_url: Option<String>,
    /// URL of the comments.
    pub comments_url: Option<String>,
    /// Publication time according to the publisher.
    pub published_at: Option<Timestamp>,
    /// Time of the last change according to the publisher.
    pub updated_at: Option<Timestamp>,
    /// When the post was stored.
    pub created_at: Timestamp,
    /// When the stored post was last changed.
    pub changed_at: Option<Timestamp>,
    /// Where the text comes from: `feed`, `feed_pending` (its page is still to be fetched), `page` (a website) or
    /// `article` (full text).
    pub text_origin: TextOrigin,
    /// Why the full text could not be fetched.
    pub full_text_error: Option<String>,
    /// Whether a backfill stored the post.
    pub is_backfill: bool,
    /// SHA-256 of the body, in hexadecimal.
    pub content_hash: String,
}

/// Content of a post before it was edited.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PostRevisionView {
    /// Number of changes of the post before this content; 0 is the content that was stored first.
    pub revision: u32,
    /// When the post got this content.
    pub stored_at: Timestamp,
    /// Title of the post.
    pub title: String,
    /// Plain text; paragraphs, list items, table rows and lines of code have a line each.
    pub text: String,
    /// Content as HTML, sanitised: without scripts, styles, forms and embedded pages. Null if there is none, or if it is
    /// not kept (`posts.keep-html`).
    pub html: Option<String>,
    /// Plain text of a summary that the publisher gave beside the content.
    pub summary: Option<String>,
    /// URL.
    pub url: Option<String>,
    /// First author.
    pub author: Option<String>,
    /// Publication time according to the publisher.
    pub published_at: Option<Timestamp>,
}

/// Filter for posts.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PostQuery {
    /// Only posts of this source.
    pub source_id: Option<i64>,
    /// Only posts of sources with this label. A page examines at most 20,000 ids, so it can be short or empty and still
    /// have a next one.
    pub label: Option<String>,
    /// Only posts with this text in title or text, ignoring case; 1 to 200 characters. Pages as with `label`.
    #[schemars(length(min = 1, max = 200))]
    pub text: Option<String>,
    /// New and changed posts with change numbers above this one, in the order of these numbers. Can be combined with
    /// `source_id` only.
    pub changed_after: Option<i64>,
    /// Only posts stored at this time or later.
    pub since: Option<Timestamp>,
    /// Only posts stored before this time.
    pub until: Option<Timestamp>,
    /// `oldest` first (default) or `newest` first.
    #[schemars(extend("enum" = ["oldest", "newest"]))]
    pub order: Option<String>,
    /// `next_cursor` of the previous page.
    pub cursor: Option<String>,
    /// Maximum number of items, 1 to 1000 (default 100). A page also ends after about 8 MiB of texts.
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<usize>,
}

/// Posts to count.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PostCountQuery {
    /// Only posts of this source.
    pub source_id: Option<i64>,
    /// Only posts stored at this time or later; cannot be combined with `source_id`.
    pub since: Option<Timestamp>,
}

/// Number of posts.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PostCount {
    /// Number of posts.
    pub posts: u64,
}

/// Filter for streamed posts.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StreamQuery {
    /// Only posts of this source.
    pub source_id: Option<i64>,
    /// Start after this change number; without it, with the next new or changed post. `Last-Event-ID` takes precedence.
    pub after: Option<i64>,
}

/// Article to add.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArticleBody {
    /// Podcast that the article is made for, if any.
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
    /// Podcast that the article is made for, if any.
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

impl PostView {
    /// The post with its source. Takes time in proportion to its HTML, which is sanitised.
    pub(in crate::api) fn new(post: Post, source: Option<PostSource>) -> PostView {
        let content = post.content;
        PostView {
            id: post.id,
            change_number: post.change_number,
            revision: post.revision,
            source_id: post.source_id,
            source,
            body: content.body().into_owned(),
            authors: content.all_authors().map(str::to_owned).collect(),
            guid: content.guid,
            title: content.title,
            text: content.text,
            html: content.html.as_deref().map(sanitized),
            summary: content.summary,
            url: content.url,
            author: content.author,
            byline: content.byline,
            language: content.language,
            categories: content.categories,
            enclosures: content.enclosures,
            image_url: content.image_url,
            comments_url: content.comments_url,
            published_at: post.published_at,
            updated_at: content.updated_at,
            created_at: post.created_at,
            changed_at: post.changed_at,
            text_origin: content.text_origin,
            full_text_error: content.full_text_error,
            is_backfill: post.is_backfill,
            content_hash: post.content_hash.to_string(),
        }
    }
}

impl From<PostRevision> for PostRevisionView {
    /// Takes time in proportion to the HTML, which is sanitised.
    fn from(revision: PostRevision) -> PostRevisionView {
        PostRevisionView {
            revision: revision.revision,
            stored_at: revision.stored_at,
            title: revision.title,
            text: revision.text,
            html: revision.html.as_deref().map(sanitized),
            summary: revision.summary,
            url: revision.url,
            author: revision.author,
            published_at: revision.published_at,
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
