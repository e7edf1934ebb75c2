//! A post: one entry of a source, as plain text.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{SourceId, Timestamp};

/// Identifies a post; later posts of one node have higher numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PostId(pub i64);

/// SHA-256 of a post's body: what makes a post the same post.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash(pub [u8; 32]);

/// The words of a post. NUL characters are dropped, because PostgreSQL cannot keep them and no reader shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostText {
    pub title: String,
    pub body: String,
    /// Where it can be read.
    pub url: Option<String>,
    pub author: Option<String>,
    /// Of pages: who wrote it by a line of the page or its linked data.
    pub byline: Option<String>,
}

/// A post that a poll found and that may or may not be known already. Clones share the words: a poll keeps its posts
/// while they are being written, in case that has to be done again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPost {
    text: Arc<PostText>,
    published_at: Option<Timestamp>,
    content_hash: ContentHash,
    is_page: bool,
}

impl NewPost {
    /// Takes the words of an entry and hashes the body.
    pub fn new(text: PostText, published_at: Option<Timestamp>) -> NewPost {
        let text = PostText {
            title: without_nul(text.title),
            body: without_nul(text.body),
            url: text.url.map(without_nul),
            author: text.author.map(without_nul),
            byline: text.byline.map(without_nul),
        };
        let content_hash = ContentHash::of(&text.body);
        NewPost { text: Arc::new(text), published_at, content_hash, is_page: false }
    }

    /// The same for the content of a page, which is cleaned up by when it was stored, whatever its date (s704).
    pub fn of_page(text: PostText, published_at: Option<Timestamp>) -> NewPost {
        NewPost { is_page: true, ..NewPost::new(text, published_at) }
    }

    pub fn text(&self) -> &PostText {
        &self.text
    }

    /// When the publisher says it was published.
    pub fn published_at(&self) -> Option<Timestamp> {
        self.published_at
    }

    /// The hash of the body.
    pub fn content_hash(&self) -> ContentHash {
        self.content_hash
    }

    /// Whether it is the content of a page.
    pub fn is_page(&self) -> bool {
        self.is_page
    }
}

/// A post as it stands in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// Which one it is.
    pub id: PostId,
    /// The source it came from.
    pub source_id: SourceId,
    pub text: PostText,
    /// When the publisher says it was published.
    pub published_at: Option<Timestamp>,
    /// When it was stored.
    pub created_at: Timestamp,
    /// The hash of the body.
    pub content_hash: ContentHash,
}

impl ContentHash {
    pub fn of(body: &str) -> ContentHash {
        ContentHash(Sha256::digest(body.as_bytes()).into())
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

fn without_nul(text: String) -> String {
    match text.contains('\0') {
        true => text.replace('\0', ""),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s801_the_hash_is_sha256_of_the_body_alone() {
        let post = |title: &str, body: &str| {
            NewPost::new(PostText { title: title.into(), body: body.into(), ..PostText::default() }, None)
        };
        assert_eq!(
            post("", "abc").content_hash().to_string(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(post("one", "same").content_hash(), post("two", "same").content_hash());
        assert_ne!(post("one", "same").content_hash(), post("one", "other").content_hash());
    }

    #[test]
    fn clones_share_their_words() {
        let post = NewPost::new(PostText { body: "long".into(), ..PostText::default() }, None);
        assert!(std::ptr::eq(post.text(), post.clone().text()));
    }

    #[test]
    fn the_hash_is_that_of_the_body_that_is_stored() {
        let post = NewPost::new(PostText { body: "a\0b".into(), ..PostText::default() }, None);
        assert_eq!(post.text().body, "ab");
        assert_eq!(post.content_hash(), ContentHash::of("ab"));
    }
}
