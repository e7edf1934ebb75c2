//! Full text: the page that an entry links to, from the wish to fetch it to its end.

use super::{ContentHash, EntryKey, HostKey, Post, PostId, Timestamp};

/// A post whose page is to be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedPage {
    pub key: EntryKey,
    /// Host of the page.
    pub host: HostKey,
}

/// A post that waits for its page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedPage {
    pub post: Post,
    pub queued_at: Timestamp,
    /// Attempts to fetch the page that have begun.
    pub attempts: u32,
}

/// The end of an attempt to fetch the page of a post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedPage {
    pub post_id: PostId,
    /// Content that the page was fetched for. If the post has another one by now, nothing is written.
    pub content_hash: ContentHash,
    pub end: PageEnd,
    pub at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageEnd {
    /// The post gets the text of its page.
    Article { text: String, html: Option<String> },
    /// The post keeps the text of its feed and waits for the next attempt.
    Retry { error: String },
    /// The post keeps the text of its feed.
    GivenUp { error: String },
}
