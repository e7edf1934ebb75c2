//! The end of a poll: what is to be written, and what became of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ContentHash, HostState, NewPost, PostId, Source, SourceId, SourceState, Timestamp};

/// Everything one poll leaves behind. It is written whole or not at all.
#[derive(Clone, Debug, PartialEq)]
pub struct Settlement {
    /// The source that was polled.
    pub source_id: SourceId,
    /// The version that `state` was computed from: another one in the store makes this settlement stale.
    pub version: i64,
    /// The source's state from now on, validators and watermark included: they vouch for `posts`.
    pub state: SourceState,
    /// What was found, already filtered by age and watermark, not yet by what is known.
    pub posts: Vec<NewPost>,
    /// The hashes of entries that were left out for good although neither their date nor the watermark will keep them
    /// out of the next reading: they count as known from now on, as those of cleaned posts do.
    pub left_out: Vec<ContentHash>,
    /// What is now known of the source's host.
    pub host: Option<HostState>,
    /// When the poll was settled.
    pub settled_at: Timestamp,
}

/// What became of a settlement.
#[derive(Clone, Debug, PartialEq)]
pub enum Settled {
    /// It is in the store.
    Written {
        /// The source's version from now on.
        version: i64,
        /// The posts that were not known before, in the order given.
        new_posts: Vec<PostId>,
    },
    /// Nothing was written: the source changed in the meantime and now looks like this.
    Stale(Box<Source>),
    /// Nothing was written: the source is no longer there.
    Gone,
}

/// Before which moments things may be forgotten. Computed by `rules::cleanup`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cutoffs {
    /// When the cleaning happens.
    pub now: Timestamp,
    /// Unprocessed articles published before this go; those made of pages if they were added before it, too.
    pub articles_before: Timestamp,
    /// Posts without an article, published (or else stored) before this go, those of pages if they were stored before
    /// it (s704); their hashes stay.
    pub posts_before: Timestamp,
    /// Hashes of cleaned posts last met in their feed before this go, once the feed was read without them.
    pub hashes_before: Timestamp,
    /// What `robots.txt` said before this goes: it is too old to be followed.
    pub robots_before: Timestamp,
}

/// What one bounded step of cleaning removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    pub articles: u64,
    pub posts: u64,
    /// Hashes forgotten.
    pub hashes: u64,
    /// `robots.txt` files forgotten.
    pub robots: u64,
    /// True if the step ended at its bound, so that another one is worth taking.
    pub more: bool,
}

/// What came of a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PollOutcome {
    /// New document read.
    Read,
    /// Not modified.
    Unchanged,
    /// Poll failed.
    Failed,
}
