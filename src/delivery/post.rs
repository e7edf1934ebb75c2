//! A post as programs downstream receive it.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Enclosure, Post, PostId, PostSource, SourceId, TextOrigin, Timestamp};
use crate::parse::safe_html::sanitized;

/// Post as programs downstream receive it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SentPost<'a> {
    id: PostId,
    change_number: i64,
    revision: u32,
    source_id: SourceId,
    guid: Option<&'a str>,
    title: &'a str,
    body: Cow<'a, str>,
    text: &'a str,
    /// Sanitised.
    html: Option<String>,
    summary: Option<&'a str>,
    url: Option<&'a str>,
    author: Option<&'a str>,
    authors: Vec<&'a str>,
    byline: Option<&'a str>,
    language: Option<&'a str>,
    categories: &'a [String],
    enclosures: &'a [Enclosure],
    image_url: Option<&'a str>,
    comments_url: Option<&'a str>,
    published_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    created_at: Timestamp,
    changed_at: Option<Timestamp>,
    text_origin: TextOrigin,
    full_text_error: Option<&'a str>,
    is_backfill: bool,
    content_hash: String,
}

/// A post in a delivery of the format `classic`.
#[derive(Serialize)]
pub(super) struct ClassicPost<'a> {
    /// `new`, or `updated` after a change of its content.
    change: &'static str,
    source: Option<&'a PostSource>,
    #[serde(flatten)]
    post: SentPost<'a>,
}

impl<'a> SentPost<'a> {
    pub(super) fn title(&self) -> &str {
        self.title
    }

    pub(super) fn text(&self) -> &str {
        self.text
    }

    pub(super) fn url(&self) -> Option<&str> {
        self.url
    }

    /// The post with its source, for the format `classic`.
    pub(super) fn classic(post: &'a Post, source: Option<&'a PostSource>) -> ClassicPost<'a> {
        ClassicPost { change: if post.is_changed() { "updated" } else { "new" }, source, post: SentPost::new(post) }
    }

    pub(super) fn new(post: &'a Post) -> SentPost<'a> {
        let content = &post.content;
        SentPost {
            id: post.id,
            change_number: post.change_number,
            revision: post.revision,
            source_id: post.source_id,
            guid: content.guid.as_deref(),
            title: &content.title,
            body: content.body(),
            text: &content.text,
            html: content.html.as_deref().map(sanitized),
            summary: content.summary.as_deref(),
            url: content.url.as_deref(),
            author: content.author.as_deref(),
            authors: content.all_authors().collect(),
            byline: content.byline.as_deref(),
            language: content.language.as_deref(),
            categories: &content.categories,
            enclosures: &content.enclosures,
            image_url: content.image_url.as_deref(),
            comments_url: content.comments_url.as_deref(),
            published_at: post.published_at,
            updated_at: content.updated_at,
            created_at: post.created_at,
            changed_at: post.changed_at,
            text_origin: content.text_origin,
            full_text_error: content.full_text_error.as_deref(),
            is_backfill: post.is_backfill,
            content_hash: post.content_hash.to_string(),
        }
    }
}
