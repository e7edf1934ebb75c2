//! A post: one entry of a source.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use memchr::memchr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{EntryKey, SourceId, Timestamp};

/// Identifies a post; later posts of one node have higher numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PostId(pub i64);

/// SHA-256 of a post's body: tells the versions of an entry apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash(pub [u8; 32]);

/// What a publisher says in a post. NUL characters are dropped, because PostgreSQL cannot keep them and no reader shows
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostContent {
    pub title: String,
    /// Plain text. Paragraphs, list items, table rows and lines of code have a line each; words are separated by one
    /// space or one line break, so that [`PostContent::body`] follows from it.
    pub text: String,
    /// Id that the publisher gave the entry.
    pub guid: Option<String>,
    pub url: Option<String>,
    /// The first author.
    pub author: Option<String>,
    /// All authors, if there are several.
    pub authors: Vec<String>,
    /// Of pages: the author by a line of the page or its linked data.
    pub byline: Option<String>,
    /// The content as published, with absolute links.
    pub html: Option<String>,
    /// Plain text of a summary that the publisher gave beside the content.
    pub summary: Option<String>,
    /// Language tag, such as `en-GB`.
    pub language: Option<String>,
    pub categories: Vec<String>,
    pub enclosures: Vec<Enclosure>,
    pub image_url: Option<String>,
    pub comments_url: Option<String>,
    /// When the publisher says it was changed.
    pub updated_at: Option<Timestamp>,
    /// Where the text comes from.
    pub text_origin: TextOrigin,
    /// Why the full text could not be fetched.
    pub full_text_error: Option<String>,
}

/// A file that belongs to a post, such as the audio of a podcast.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Enclosure {
    /// URL of the file.
    pub url: String,
    /// Media type, such as `audio/mpeg`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// Playing time in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_seconds: Option<u32>,
    /// Title of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// Where the text of a post comes from.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    JsonSchema,
    strum::IntoStaticStr,
    strum::EnumString,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TextOrigin {
    /// The entry of the feed.
    #[default]
    Feed,
    /// The entry of the feed, until the page that it links to is fetched (full text).
    FeedPending,
    /// The web page of the source.
    Page,
    /// The page that the entry links to (full text).
    Article,
}

impl PostContent {
    /// The text on one line; its hash identifies the content (s801).
    pub fn body(&self) -> Cow<'_, str> {
        match self.text.contains('\n') {
            true => Cow::Owned(self.text.replace('\n', " ")),
            false => Cow::Borrowed(&self.text),
        }
    }

    /// All authors, each once.
    pub fn all_authors(&self) -> impl Iterator<Item = &str> {
        let first = self.author.iter().filter(|_| self.authors.is_empty());
        first.chain(&self.authors).map(String::as_str)
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        let long = [&self.html, &self.summary].into_iter().flatten().map(String::len).sum::<usize>();
        self.title.len() + self.text.len() + long
    }

    fn remove_nul(&mut self) {
        let texts = [&mut self.title, &mut self.text];
        let optional = [
            &mut self.guid,
            &mut self.url,
            &mut self.author,
            &mut self.byline,
            &mut self.html,
            &mut self.summary,
            &mut self.language,
            &mut self.image_url,
            &mut self.comments_url,
            &mut self.full_text_error,
        ];
        let lists = self.authors.iter_mut().chain(&mut self.categories);
        for text in texts.into_iter().chain(optional.into_iter().flatten()).chain(lists) {
            if has_nul(text) {
                text.retain(|character| character != '\0');
            }
        }
    }
}

/// All texts of all posts pass here.
fn has_nul(text: &str) -> bool {
    memchr(0, text.as_bytes()).is_some()
}

/// A post that a poll found and that may or may not be known already. Clones share the content: a poll keeps its posts
/// while they are being written, in case that has to be done again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPost {
    content: Arc<PostContent>,
    published_at: Option<Timestamp>,
    content_hash: ContentHash,
    /// `None`: the body identifies the entry.
    key: Option<EntryKey>,
    revision: u32,
    is_page: bool,
    is_backfill: bool,
}

impl NewPost {
    /// Takes the content of an entry and hashes the body, which also identifies the entry until
    /// [`NewPost::with_key`] says otherwise.
    pub fn new(mut content: PostContent, published_at: Option<Timestamp>) -> NewPost {
        content.remove_nul();
        let content_hash = ContentHash::of(&content.text);
        NewPost {
            content: Arc::new(content),
            published_at,
            content_hash,
            key: None,
            revision: 0,
            is_page: false,
            is_backfill: false,
        }
    }

    /// The same for the content of a page, which is cleaned up by when it was stored, whatever its date (s704).
    pub fn of_page(content: PostContent, published_at: Option<Timestamp>) -> NewPost {
        NewPost { is_page: true, ..NewPost::new(content, published_at) }
    }

    /// The post with another identity.
    pub fn with_key(self, key: EntryKey) -> NewPost {
        NewPost { key: Some(key), ..self }
    }

    pub fn set_key(&mut self, key: EntryKey) {
        self.key = Some(key);
    }

    /// The post as the version of an entry that had this many changes.
    pub fn with_revision(self, revision: u32) -> NewPost {
        NewPost { revision, ..self }
    }

    /// The post as part of a backfill.
    pub fn in_backfill(self) -> NewPost {
        NewPost { is_backfill: true, ..self }
    }

    /// The post with changed content. Its hash stays that of the content that the feed has, so that the entry is
    /// recognised by the next poll.
    pub fn with_content(mut self, change: impl FnOnce(&mut PostContent)) -> NewPost {
        let content = Arc::make_mut(&mut self.content);
        change(content);
        content.remove_nul();
        self
    }

    /// The post without its HTML.
    pub fn without_html(mut self) -> NewPost {
        if self.content.html.is_some() {
            Arc::make_mut(&mut self.content).html = None;
        }
        self
    }

    pub fn content(&self) -> &PostContent {
        &self.content
    }

    /// When the publisher says it was published.
    pub fn published_at(&self) -> Option<Timestamp> {
        self.published_at
    }

    /// The hash of the body.
    pub fn content_hash(&self) -> ContentHash {
        self.content_hash
    }

    /// The bytes of that hash.
    pub fn hash_bytes(&self) -> &[u8] {
        &self.content_hash.0
    }

    pub fn key(&self) -> EntryKey {
        self.key.unwrap_or_else(|| EntryKey::of_body(self.content_hash))
    }

    /// Number of changes of its entry that were stored before.
    pub fn revision(&self) -> u32 {
        self.revision
    }

    /// Whether it is the content of a page.
    pub fn is_page(&self) -> bool {
        self.is_page
    }

    pub fn is_backfill(&self) -> bool {
        self.is_backfill
    }
}

/// A post as it stands in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    pub id: PostId,
    /// The source it came from.
    pub source_id: SourceId,
    pub content: PostContent,
    /// When the publisher says it was published.
    pub published_at: Option<Timestamp>,
    /// When it was stored.
    pub created_at: Timestamp,
    /// When it was last changed here.
    pub changed_at: Option<Timestamp>,
    /// Number of changes since it was stored.
    pub revision: u32,
    /// Position in the order of new and changed posts: the id until the first change.
    pub change_number: i64,
    /// The hash of the body.
    pub content_hash: ContentHash,
    /// Whether a backfill stored it.
    pub is_backfill: bool,
}

impl Post {
    /// Whether its content was changed since it was stored.
    pub fn is_changed(&self) -> bool {
        self.change_number != self.id.0
    }
}

/// What an edited post said before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostRevision {
    /// Number of changes of the post before this content.
    pub revision: u32,
    /// When the post got this content: with its poll, or with its full text.
    pub stored_at: Timestamp,
    pub title: String,
    pub text: String,
    /// As published, with absolute links.
    pub html: Option<String>,
    pub summary: Option<String>,
    pub url: Option<String>,
    pub author: Option<String>,
    pub published_at: Option<Timestamp>,
}

/// The source of a post, for its readers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PostSource {
    /// Id of the source.
    pub id: SourceId,
    /// Title set by an operator, or else the title of the feed.
    pub title: Option<String>,
    /// URL without credentials.
    pub url: String,
    /// Labels of the source.
    pub labels: Vec<String>,
}

impl ContentHash {
    /// Hashes a body, given as text with or without line breaks.
    pub fn of(text: &str) -> ContentHash {
        let mut digest = Sha256::new();
        // Whole blocks of the digest, which it takes without copying them.
        let mut on_one_line = [0; 1024];
        for part in text.as_bytes().chunks(on_one_line.len()) {
            let on_one_line = &mut on_one_line[..part.len()];
            for (to, from) in on_one_line.iter_mut().zip(part) {
                *to = if *from == b'\n' { b' ' } else { *from };
            }
            digest.update(on_one_line);
        }
        ContentHash(digest.finalize().into())
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for PostId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s801_the_hash_is_sha256_of_the_body_alone() {
        let post = |title: &str, body: &str| {
            NewPost::new(PostContent { title: title.into(), text: body.into(), ..PostContent::default() }, None)
        };
        assert_eq!(
            post("", "abc").content_hash().to_string(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(post("one", "same").content_hash(), post("two", "same").content_hash());
        assert_ne!(post("one", "same").content_hash(), post("one", "other").content_hash());
    }

    #[test]
    fn the_body_is_the_text_on_one_line() {
        let content = PostContent { text: "one\ntwo three\nfour".into(), ..PostContent::default() };
        assert_eq!(content.body(), "one two three four");
        assert_eq!(ContentHash::of(&content.text), ContentHash::of("one two three four"));
    }

    #[test]
    fn clones_share_their_content() {
        let post = NewPost::new(PostContent { text: "long".into(), ..PostContent::default() }, None);
        assert!(std::ptr::eq(post.content(), post.clone().content()));
    }

    #[test]
    fn the_hash_is_that_of_the_body_that_is_stored() {
        let post = NewPost::new(PostContent { text: "a\0b".into(), ..PostContent::default() }, None);
        assert_eq!(post.content().text, "ab");
        assert_eq!(post.content_hash(), ContentHash::of("ab"));
    }
}
