//! The row of a post: its columns, their values and their reader, in the same order.
//!
//! Statements in `sql/` name these columns by group (`statement` fills them in). Lists are stored as JSON.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::model::{
    ContentHash, EntryKey, KnownPost, NewPost, PageEnd, Post, PostContent, PostEdit, PostId, PostRevision, PostSource,
    QueuedPage, RowKey, Settlement, SourceId, TextOrigin,
};

use super::quarantine::{POSTS, Quarantine, ReadRow, SOURCES};
use super::rows::{ColumnSpec, Columns, Value, required, storable};
use super::{Result, StoreError};

pub(super) const POST_ID: [ColumnSpec; 2] = [("id", "bigint"), ("source_id", "bigint")];

/// Columns that a change of the entry replaces.
pub(super) const CONTENT: [ColumnSpec; 17] = [
    ("title", "text"),
    ("text", "text"),
    ("guid", "text"),
    ("url", "text"),
    ("author", "text"),
    ("authors", "text"),
    ("byline", "text"),
    ("html", "text"),
    ("summary", "text"),
    ("language", "text"),
    ("categories", "text"),
    ("enclosures", "text"),
    ("image_url", "text"),
    ("comments_url", "text"),
    ("updated_at", "timestamptz"),
    ("text_origin", "text"),
    ("full_text_error", "text"),
];

/// Further columns that are read.
pub(super) const RECORD: [ColumnSpec; 7] = [
    ("published_at", "timestamptz"),
    ("created_at", "timestamptz"),
    ("changed_at", "timestamptz"),
    ("revision", "bigint"),
    ("changed_number", "bigint"),
    ("content_hash", "bytea"),
    ("is_backfill", "boolean"),
];

/// Columns beside the content that a new post is added with.
pub(super) const ADDED: [ColumnSpec; 8] = [
    ("source_id", "bigint"),
    ("published_at", "timestamptz"),
    ("created_at", "timestamptz"),
    ("revision", "bigint"),
    ("content_hash", "bytea"),
    ("entry_key", "bigint"),
    ("is_page", "boolean"),
    ("is_backfill", "boolean"),
];

/// Columns that a revision keeps of a post.
pub(super) const REVISION: [ColumnSpec; 7] = [
    ("title", "text"),
    ("text", "text"),
    ("html", "text"),
    ("summary", "text"),
    ("url", "text"),
    ("author", "text"),
    ("published_at", "timestamptz"),
];

/// The values of [`ADDED`] and [`CONTENT`].
pub(super) fn new_post_values<'a>(
    settlement: &Settlement,
    post: &'a NewPost,
) -> ([Value<'a>; ADDED.len()], [Value<'a>; CONTENT.len()]) {
    let added = [
        Value::Integer(Some(settlement.source_id.0)),
        Value::Time(post.published_at()),
        Value::Time(Some(settlement.settled_at)),
        Value::number(Some(post.revision())),
        Value::Bytes(Cow::Borrowed(post.hash_bytes())),
        Value::Integer(Some(post.key().0)),
        Value::Flag(post.is_page()),
        Value::Flag(post.is_backfill()),
    ];
    (added, content_values(post.content()))
}

/// The values of an edit: id, time, date and hash of the post, then [`CONTENT`].
pub(super) fn edit_values<'a>(
    settlement: &Settlement,
    edit: &'a PostEdit,
) -> ([Value<'a>; 4], [Value<'a>; CONTENT.len()]) {
    let key = [
        Value::Integer(Some(edit.id.0)),
        Value::Time(Some(settlement.settled_at)),
        Value::Time(edit.post.published_at()),
        Value::Bytes(Cow::Borrowed(edit.post.hash_bytes())),
    ];
    (key, content_values(edit.post.content()))
}

/// The values of [`CONTENT`].
fn content_values(content: &PostContent) -> [Value<'_>; CONTENT.len()] {
    let origin: &'static str = content.text_origin.into();
    [
        text(Some(&content.title)),
        text(Some(&content.text)),
        text(content.guid.as_deref()),
        text(content.url.as_deref()),
        text(content.author.as_deref()),
        list(&content.authors),
        text(content.byline.as_deref()),
        text(content.html.as_deref()),
        text(content.summary.as_deref()),
        text(content.language.as_deref()),
        list(&content.categories),
        list(&content.enclosures),
        text(content.image_url.as_deref()),
        text(content.comments_url.as_deref()),
        Value::Time(content.updated_at),
        text(Some(origin).filter(|_| content.text_origin != TextOrigin::Feed)),
        text(content.full_text_error.as_deref()),
    ]
}

/// A text of a post, which has no NUL characters.
fn text(text: Option<&str>) -> Value<'_> {
    Value::Text(text.map(Cow::Borrowed))
}

pub(super) fn read_post(row: &mut impl Columns) -> Result<Post> {
    read_post_columns(row).map_err(|error| error.of_table(POSTS))
}

fn read_post_columns(row: &mut impl Columns) -> Result<Post> {
    let id = PostId(required(row.integer()?)?);
    let source_id = SourceId(required(row.integer()?)?);
    let content = PostContent {
        title: required(row.text()?)?,
        text: required(row.text()?)?,
        guid: row.text()?,
        url: row.text()?,
        author: row.text()?,
        authors: read_list(row)?,
        byline: row.text()?,
        html: row.text()?,
        summary: row.text()?,
        language: row.text()?,
        categories: read_list(row)?,
        enclosures: read_list(row)?,
        image_url: row.text()?,
        comments_url: row.text()?,
        updated_at: row.time()?,
        text_origin: row.parsed()?.unwrap_or_default(),
        full_text_error: row.text()?,
    };
    let published_at = row.time()?;
    let created_at = required(row.time()?)?;
    let changed_at = row.time()?;
    let revision = required(row.number()?)?;
    let change_number = row.integer()?.unwrap_or(id.0);
    let content_hash = read_hash(row.bytes()?)?;
    let is_backfill = row.flag()?;
    Ok(Post {
        id,
        source_id,
        content,
        published_at,
        created_at,
        changed_at,
        revision,
        change_number,
        content_hash,
        is_backfill,
    })
}

/// Reads a revision as `post_revisions` gives it.
pub(super) fn read_revision(row: &mut impl Columns) -> Result<PostRevision> {
    Ok(PostRevision {
        revision: required(row.number()?)?,
        stored_at: required(row.time()?)?,
        title: required(row.text()?)?,
        text: required(row.text()?)?,
        html: row.text()?,
        summary: row.text()?,
        url: row.text()?,
        author: row.text()?,
        published_at: row.time()?,
    })
}

/// Reads the source of a post as `sources_of_posts` gives it.
pub(super) fn read_post_source(row: &mut impl Columns) -> Result<PostSource> {
    let id = SourceId(required(row.integer()?)?);
    let texts = row.text().and_then(|title| Ok((title, required(row.text()?)?)));
    let (title, url) = texts.map_err(|error| error.of_table(SOURCES))?;
    Ok(PostSource { id, title, url, labels: Vec::new() })
}

/// Reads a post that waits for its page.
pub(super) fn read_queued_page(row: &mut impl Columns) -> Result<QueuedPage> {
    let post = read_post(row)?;
    let attempt = row.time().and_then(|at| Ok((required(at)?, required(row.number()?)?)));
    let (queued_at, attempts) = attempt.map_err(|error| error.of_table("full_text_queue"))?;
    Ok(QueuedPage { post, queued_at, attempts })
}

/// What the end of an attempt to fetch a page writes: text, HTML, origin and error.
pub(super) fn full_text_values(end: &PageEnd) -> [Option<Cow<'_, str>>; 4] {
    let article: &'static str = TextOrigin::Article.into();
    match end {
        PageEnd::Article { text, html } => {
            [Some(storable(text)), html.as_deref().map(storable), Some(article.into()), None]
        }
        PageEnd::Retry { error } | PageEnd::GivenUp { error } => [None, None, None, Some(storable(error))],
    }
}

/// A post that is known of an entry, or the row that cannot be read.
pub(super) struct KnownRow {
    /// None if the post was removed.
    pub(super) id: Option<PostId>,
    pub(super) key: Option<EntryKey>,
    pub(super) post: ReadRow<KnownPost>,
}

impl KnownRow {
    /// The post; nothing if it cannot be read, which is noted.
    pub(super) fn readable(self, quarantine: &Quarantine) -> Option<KnownPost> {
        match self.post {
            Ok(post) => Some(post),
            Err(bad) => {
                if self.id.is_some() {
                    quarantine.begin(*bad);
                }
                None
            }
        }
    }

    /// The post of an entry with this content. One that cannot be read counts as unchanged: the entry is not new, and
    /// an edit of it waits until the row is corrected.
    pub(super) fn or_unchanged(self, content: ContentHash, quarantine: &Quarantine) -> KnownPost {
        let (id, key) = (self.id, self.key);
        self.readable(quarantine).unwrap_or_else(|| KnownPost::unchanged(id, key, content))
    }
}

/// Reads a post as the statements about known entries give it.
pub(super) fn read_known(row: &mut impl Columns) -> Result<KnownRow> {
    let (id, key) = (row.integer()?.map(PostId), row.integer()?.map(EntryKey));
    let post = match read_known_columns(id, key, row) {
        Err(error @ StoreError::BadRow(_)) => {
            let name = id.map_or(RowKey::Name(String::new()), |id| RowKey::Id(id.0));
            match row.located(0, error.of_table(POSTS)).in_row(name, None) {
                StoreError::BadRow(bad) => Err(bad),
                other => return Err(other),
            }
        }
        read => Ok(read?),
    };
    Ok(KnownRow { id, key, post })
}

fn read_known_columns(id: Option<PostId>, key: Option<EntryKey>, row: &mut impl Columns) -> Result<KnownPost> {
    Ok(KnownPost {
        id,
        key,
        content_hash: read_hash(row.bytes()?)?,
        url: row.text()?,
        published_at: row.time()?,
        title: row.text()?,
        revision: required(row.number()?)?,
        changed_at: row.time()?,
    })
}

pub(super) fn read_hash(bytes: Vec<u8>) -> Result<ContentHash> {
    let length = bytes.len();
    bytes
        .try_into()
        .map(ContentHash)
        .map_err(|_| StoreError::damaged(format!("a content hash of {length} bytes instead of 32")))
}

/// A list as JSON; nothing if it is empty.
fn list<T: Serialize>(items: &[T]) -> Value<'static> {
    let text = Some(items).filter(|items| !items.is_empty()).and_then(|items| serde_json::to_string(items).ok());
    Value::Text(text.map(Cow::Owned))
}

fn read_list<T: DeserializeOwned>(row: &mut impl Columns) -> Result<Vec<T>> {
    match row.text()? {
        None => Ok(Vec::new()),
        Some(text) => serde_json::from_str(&text).map_err(|error| StoreError::damaged(error.to_string())),
    }
}
