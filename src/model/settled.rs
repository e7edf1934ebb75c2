//! The end of a poll: what is to be written, and what became of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ContentHash, DocumentKeys, EntryKey, HostState, NewEvent, NewPost, OwnedShard, PostId, SettledPoll, Source,
    SourceId, SourceState, Timestamp, WantedPage,
};

/// Everything one poll leaves behind. It is written whole or not at all.
#[derive(Clone, Debug, PartialEq)]
pub struct Settlement {
    /// The source that was polled.
    pub source_id: SourceId,
    /// The version that `state` was computed from: another one in the store makes this settlement stale.
    pub version: i64,
    /// The source's state from now on, validators and watermark included: they vouch for `posts`.
    pub state: SourceState,
    /// Posts to add, in the order of their ids. One whose key is stored already is not added.
    pub posts: Vec<NewPost>,
    /// Posts that get new content.
    pub edits: Vec<PostEdit>,
    /// Posts among `posts` and `edits` whose pages are to be fetched.
    pub pages: Vec<WantedPage>,
    /// Posts whose entry came under another id: they get its key.
    pub renamed: Vec<RenamedPost>,
    /// Keys of removed posts whose entry is still in the feed.
    pub still_seen: Vec<EntryKey>,
    /// Keys of the document, if they differ from those of the last one.
    pub document: Option<DocumentKeys>,
    /// What is now known of the source's host.
    pub host: Option<HostState>,
    /// The poll for the history of its source; none if no history is kept, or if this settles no poll.
    pub poll: Option<Box<SettledPoll>>,
    /// What happened to the source and its host.
    pub events: Vec<NewEvent>,
    /// When the poll was settled.
    pub settled_at: Timestamp,
    /// The shard by whose right the poll was made: nothing is written if it is another node's by now.
    pub claim: Option<OwnedShard>,
}

impl Settlement {
    /// A settlement of nothing but the state of a source.
    pub fn of_state(source: &Source, settled_at: Timestamp) -> Settlement {
        Settlement {
            source_id: source.id,
            version: source.version,
            state: source.state.clone(),
            posts: Vec::new(),
            edits: Vec::new(),
            pages: Vec::new(),
            renamed: Vec::new(),
            still_seen: Vec::new(),
            document: None,
            host: None,
            poll: None,
            events: Vec::new(),
            settled_at,
            claim: None,
        }
    }
}

/// New content for a stored post.
#[derive(Clone, Debug, PartialEq)]
pub struct PostEdit {
    pub id: PostId,
    pub post: NewPost,
    /// The most previous revisions that are kept, the replaced content included.
    pub revisions_max: u32,
}

/// A post whose entry has another key now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenamedPost {
    /// `None` if the clean-up has removed the post.
    pub id: Option<PostId>,
    pub content_hash: ContentHash,
    pub old_key: Option<EntryKey>,
    /// `None` if another post takes the key over.
    pub key: Option<EntryKey>,
}

/// What became of the entries of a reading, by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntryCounts {
    /// Entries in the document.
    pub seen: u64,
    /// Entries that became posts.
    pub new: u64,
    /// Of these, entries that appeared later than newer ones.
    pub late: u64,
    /// Entries whose post got new content.
    pub updated: u64,
    /// Entries whose post is known and unchanged.
    pub known: u64,
    /// Entries skipped because they are older than the source.
    pub before_source: u64,
    /// Entries skipped because of `source.max-article-age-days`.
    pub too_old: u64,
    /// Entries skipped because an earlier poll skipped them.
    pub seen_before: u64,
    /// Entries without anything to show.
    pub blank: u64,
    /// Changed entries whose post was left as it is, by `source.on-edit` or because it changed too often.
    pub edits_ignored: u64,
}

impl EntryCounts {
    /// The counts in the order of the fields.
    pub const fn to_array(self) -> [u64; 10] {
        let EntryCounts { seen, new, late, updated, known, before_source, too_old, seen_before, blank, edits_ignored } =
            self;
        [seen, new, late, updated, known, before_source, too_old, seen_before, blank, edits_ignored]
    }

    /// The reverse of [`EntryCounts::to_array`].
    pub const fn from_array(counts: [u64; 10]) -> EntryCounts {
        let [seen, new, late, updated, known, before_source, too_old, seen_before, blank, edits_ignored] = counts;
        EntryCounts { seen, new, late, updated, known, before_source, too_old, seen_before, blank, edits_ignored }
    }

    /// Adds the counts of another document.
    pub fn add(&mut self, other: &EntryCounts) {
        self.seen += other.seen;
        self.new += other.new;
        self.late += other.late;
        self.updated += other.updated;
        self.known += other.known;
        self.before_source += other.before_source;
        self.too_old += other.too_old;
        self.seen_before += other.seen_before;
        self.blank += other.blank;
        self.edits_ignored += other.edits_ignored;
    }
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
    /// Nothing was written: the source is no longer there, or its row cannot be read.
    Gone,
    /// Nothing was written: another session of the database locks the row of the source.
    Locked,
    /// Nothing was written but what is known of the host: the shard of the source is another node's by now.
    Fenced,
}

/// Before which moments things may be forgotten. Computed by `rules::cleanup`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cutoffs {
    /// When the cleaning happens.
    pub now: Timestamp,
    /// Unprocessed articles published before this go; those made of pages if they were added before it, too.
    pub articles_before: Timestamp,
    /// Posts without an article, published (or else stored) before this go, those of pages (s704) and of backfills if
    /// they were stored before it; their hashes stay.
    pub posts_before: Timestamp,
    /// Hashes of cleaned posts last met in their feed before this go, once the feed was read without them.
    pub hashes_before: Timestamp,
    /// What `robots.txt` said before this goes: it is too old to be followed.
    pub robots_before: Timestamp,
    /// Audit records before this go.
    pub audit_before: Timestamp,
    /// The most audit records that are kept; older ones go.
    pub audit_records_max: i64,
    /// Events before this go.
    pub events_before: Timestamp,
    /// The most events that are kept; older ones go.
    pub events_max: i64,
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
    pub audit_records: u64,
    pub events: u64,
    /// True if the step ended at its bound, so that another one is worth taking.
    pub more: bool,
}

/// What came of a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PollOutcome {
    /// New document read.
    Read,
    /// Not modified.
    Unchanged,
    /// Poll failed.
    Failed,
}
