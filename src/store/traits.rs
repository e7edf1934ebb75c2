//! Traits of the store, by noun. Each engine implements a trait in the file that uses its SQL.

use std::sync::Arc;

use async_trait::async_trait;
use secrecy::SecretString;

use crate::model::{
    Article, ArticleId, AuditFilter, AuditRecord, ClockStep, DeliveryRecord, EntryQuery, FailureKind, FetchedPage,
    FleetRecord, HistoryBounds, HostKey, HostState, JoinOutcome, KeyProvider, KnownEntries, MovedPolls, NewArticle,
    NewAuditRecord, NewNode, NewSource, NewWebhook, NodeId, NodeMessage, NodeRenewal, OwnedShard, Podcast,
    PodcastChanges, PodcastId, PollHour, Post, PostId, PostSource, QueuedPage, Receiver, RobotsRecord, Settled,
    Settlement, Shard, SlotCursor, Source, SourceAccess, SourceCounts, SourceId, SourceToPoll, SourceType, StoredPoll,
    Timestamp, User, UserId, Webhook, WebhookChange, WebhookId, WebhookTarget,
};

use super::cipher::Cipher;
use super::numbers::NumberJump;
use super::secrets::{SealedRow, SecretPlace, SecretTable};
use super::{Added, PageBounds, PostPage, PostSelection, Result, Saved, SourceSelection, Store};

/// Persistent state of the daemon.
#[async_trait]
pub trait DaemonStore: Send + Sync {
    /// Since when polling is paused, if it is.
    async fn paused_since(&self) -> Result<Option<Timestamp>>;

    /// Stores a pause and returns its start; an existing pause is kept.
    async fn pause_polling(&self, now: Timestamp) -> Result<Timestamp>;

    /// Ends the pause, if there is one.
    async fn resume_polling(&self) -> Result<()>;

    /// To be called once, before posts are stored: makes sure that no number of a post is issued twice, also if the
    /// store is an older copy of the one that was used last. Returns what was skipped.
    async fn resume_numbers(&self, now: Timestamp) -> Result<Option<NumberJump>>;

    /// Notes that the store was restored in a way that it cannot notice: the next [`resume_numbers`] skips numbers.
    ///
    /// [`resume_numbers`]: DaemonStore::resume_numbers
    async fn mark_restored(&self, now: Timestamp) -> Result<()>;
    /// The newest time that was trusted, if any was noted.
    async fn trusted_time(&self) -> Result<Option<Timestamp>>;

    async fn note_trusted_time(&self, at: Timestamp) -> Result<()>;

    /// Moves waits that were not over before a step of the clock, or would not be after it, with the clock: holds and breakers of hosts, retries of
    /// webhooks, pages of entries. Those of other nodes' shards stay as they are, and these hosts: their caller has moved
    /// them and stores them.
    async fn move_waits(
        &self,
        step: ClockStep,
        polls: Option<MovedPolls>,
        except: Vec<HostKey>,
        shards: Vec<Shard>,
    ) -> Result<()>;
}

/// Sources and their state.
#[async_trait]
pub trait SourceStore: Send + Sync {
    /// Adds sources that do not exist yet, in one transaction.
    async fn add_sources(&self, new: Vec<NewSource>) -> Result<Vec<Added>>;

    async fn source(&self, id: SourceId) -> Result<Option<Source>>;

    /// These sources with logins and headers, in any order; unknown ones are omitted.
    async fn sources_to_poll(&self, ids: Vec<SourceId>) -> Result<Vec<SourceToPoll>>;

    /// All sources with a URL: at most one for each podcast and type.
    async fn sources_with_url(&self, url: &str) -> Result<Vec<Source>>;

    /// Sources with ids above this one, in order.
    async fn list_sources(&self, after: Option<SourceId>, limit: u32) -> Result<Vec<Source>>;

    /// A page of sources behind this place, up to this slot, and the place of its last one; none behind the last source.
    /// A store of one process returns all sources, whatever the slots.
    async fn sources_in_slots(
        &self,
        after: SlotCursor,
        last_slot: u16,
        limit: u32,
    ) -> Result<(Vec<Source>, Option<SlotCursor>)>;

    /// Sources of this selection with ids above this one, in order.
    async fn select_sources(
        &self,
        selection: SourceSelection,
        after: Option<SourceId>,
        limit: u32,
    ) -> Result<Vec<Source>>;

    /// Number of sources by state. Reads all rows, so call it rarely.
    async fn count_sources(&self) -> Result<SourceCounts>;

    /// Number of enabled sources that fail, by the kind of their last failure. Reads the rows of all of them.
    async fn count_failures(&self) -> Result<Vec<(FailureKind, u64)>>;

    /// Writes settings and state of a source if its version is still stored.
    async fn save_source(&self, source: Source, now: Timestamp) -> Result<Saved>;

    /// The same, and replaces its labels.
    async fn save_source_with_labels(&self, source: Source, labels: Vec<String>, now: Timestamp) -> Result<Saved>;

    /// Removes a source with its posts; false if it does not exist.
    async fn remove_source(&self, id: SourceId) -> Result<bool>;

    /// The same if the source has this version; false also if it has another one.
    async fn remove_source_version(&self, id: SourceId, version: i64) -> Result<bool>;

    /// Writes finished polls, each completely or not at all: all of different sources in one transaction. Results are in
    /// the order of the settlements. A poll by the right of a shard that is another node's by now is not written.
    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<Settled>>;
}

#[async_trait]
pub trait LabelStore: Send + Sync {
    /// Adds labels to sources. The version of a source changes if a label is new.
    async fn add_labels(&self, labels: Vec<(SourceId, Vec<String>)>, now: Timestamp) -> Result<()>;

    /// Labels of these sources, ordered by source and position.
    async fn labels_of(&self, sources: Vec<SourceId>) -> Result<Vec<(SourceId, String)>>;

    /// Labels after this one in alphabetical order, each with its number of sources.
    async fn list_labels(&self, after: Option<&str>, limit: u32) -> Result<Vec<(String, u64)>>;
}

/// Headers and logins of sources, encrypted.
#[async_trait]
pub trait SourceAccessStore: Send + Sync {
    /// Adds a source with its login and headers, in one transaction.
    async fn add_source_with_access(&self, new: NewSource, access: &SourceAccess) -> Result<Added>;

    /// Replaces or removes the login and headers of a source; with a version, only if the source still has it. Changes
    /// the version of the source, clears its validators and freshness, and requests a poll.
    async fn save_source_access(
        &self,
        source: SourceId,
        access: Option<&SourceAccess>,
        expected_version: Option<i64>,
        now: Timestamp,
    ) -> Result<Saved>;

    /// Login and headers of a source.
    async fn source_access(&self, source: SourceId) -> Result<Option<SourceAccess>>;

    /// The sources among these that have a login or headers, in any order.
    async fn sources_with_access(&self, sources: Vec<SourceId>) -> Result<Vec<SourceId>>;
}

/// Posts. They are added by [`SourceStore::settle`] and removed by [`Store::clean`](super::Store::clean).
#[async_trait]
pub trait PostStore: Send + Sync {
    async fn post(&self, id: PostId) -> Result<Option<Post>>;

    /// Sources of posts, in any order, without their labels. Their URLs are as stored, credentials included.
    async fn sources_of_posts(&self, ids: Vec<SourceId>) -> Result<Vec<PostSource>>;

    /// What is known of the entries of documents, in the order of the questions.
    async fn known_entries(&self, queries: Vec<EntryQuery>) -> Result<Vec<KnownEntries>>;

    /// A page of posts. Reads no text of a post that does not fit on it.
    async fn posts_page(&self, selection: PostSelection, bounds: PageBounds) -> Result<PostPage>;

    /// Number of stored posts. Reads an index of all of them, so call it rarely.
    async fn count_posts(&self) -> Result<u64>;

    async fn count_posts_of_source(&self, source: SourceId) -> Result<u64>;

    /// Number of posts stored at this time or later. Reads an index of all of these.
    async fn count_posts_since(&self, since: Timestamp) -> Result<u64>;

    /// The highest change number of a post; 0 without posts.
    async fn last_change_number(&self) -> Result<i64>;

    /// New and changed posts with change numbers above this one, in order.
    async fn list_changes(&self, after: i64, limit: u32) -> Result<Vec<Post>> {
        let selection = PostSelection::Changes { source: None, after };
        Ok(self.posts_page(selection, PageBounds::of_rows(limit)).await?.posts)
    }

    /// Posts with ids above this one, in order, of one source or of all.
    async fn list_posts(&self, source: Option<SourceId>, after: Option<PostId>, limit: u32) -> Result<Vec<Post>> {
        let selection = PostSelection::After { source, after: after.unwrap_or(PostId(0)) };
        Ok(self.posts_page(selection, PageBounds::of_rows(limit)).await?.posts)
    }

    /// Posts before this one, newest first; without it, from the newest post.
    async fn list_posts_before(
        &self,
        source: Option<SourceId>,
        before: Option<PostId>,
        limit: u32,
    ) -> Result<Vec<Post>> {
        let selection = PostSelection::Before { source, before: before.unwrap_or(PostId(i64::MAX)) };
        Ok(self.posts_page(selection, PageBounds::of_rows(limit)).await?.posts)
    }

    /// Posts of one source or of all that were stored in a time range, in order, after
    /// this one.
    async fn list_posts_between(
        &self,
        source: Option<SourceId>,
        since: Timestamp,
        until: Timestamp,
        after: Option<(Timestamp, PostId)>,
        limit: u32,
    ) -> Result<Vec<Post>> {
        let selection = PostSelection::Between { source, since, until, after };
        Ok(self.posts_page(selection, PageBounds::of_rows(limit)).await?.posts)
    }
}

/// Settled polls. [`SourceStore::settle`] adds them to the history of their sources.
#[async_trait]
pub trait PollStore: Send + Sync {
    /// Polls of a source before the one with this id, newest first; without it, from the last poll.
    async fn polls_of_source(&self, source: SourceId, before: Option<i64>, limit: u32) -> Result<Vec<StoredPoll>>;

    /// Notes the end of an attempt to fetch a page, with its error if it failed, at the last poll of the source that read
    /// something.
    async fn note_page(&self, source: SourceId, error: Option<String>) -> Result<()>;

    /// Removes old rows from the history, at most `limit` at a time; returns their number. The newest row stays.
    async fn clean_polls(&self, bounds: HistoryBounds, limit: u32) -> Result<u64>;

    /// Stores the sums of a run of a process in place of those that it stored before.
    async fn put_poll_hours(&self, run: i64, hours: Vec<PollHour>) -> Result<()>;

    /// Sums of all runs since this time, in order.
    async fn poll_hours(&self, since: Timestamp) -> Result<Vec<PollHour>>;

    /// Removes the sums of hours before this time.
    async fn clean_poll_hours(&self, before: Timestamp) -> Result<()>;
}

/// Posts that wait for their pages (full text). [`SourceStore::settle`] adds them.
#[async_trait]
pub trait FullTextStore: Send + Sync {
    /// Hosts of these shards whose pages are waited for, each with the time at which its first page is due, earliest
    /// first. A store of one process returns all of them.
    async fn full_text_hosts(&self, shards: &[Shard], limit: u32) -> Result<Vec<(HostKey, Timestamp)>>;

    /// The page of this host that has been due longest, if one is due.
    async fn next_full_text(&self, host: &HostKey, now: Timestamp) -> Result<Option<QueuedPage>>;

    /// Counts an attempt, which is repeated at `retry_at` unless it ends before; false if the page has left the queue
    /// or another attempt was counted since it was read.
    async fn begin_full_text(&self, page: &QueuedPage, retry_at: Timestamp) -> Result<bool>;

    /// Takes a post out of the queue that cannot be read.
    async fn drop_full_text(&self, post: PostId) -> Result<()>;

    /// Makes pages due now that were queued after `queued_max`, or that are due after `due_max`: by a clock that was
    /// ahead.
    async fn correct_full_texts(&self, now: Timestamp, due_max: Timestamp, queued_max: Timestamp) -> Result<()>;

    /// Makes all pages of a host due no sooner than this.
    async fn defer_full_texts(&self, host: &HostKey, until: Timestamp) -> Result<()>;

    /// Writes the end of an attempt; false, without a change, if the post has other content by now or is gone. An
    /// article or the end of all attempts gives the post a new change number.
    async fn finish_full_text(&self, page: FetchedPage) -> Result<bool>;
}

/// Articles and their posts.
#[async_trait]
pub trait ArticleStore: Send + Sync {
    async fn add_article(&self, new: NewArticle) -> Result<ArticleId>;

    async fn article(&self, id: ArticleId) -> Result<Option<Article>>;

    /// Articles with ids above this one, in order.
    async fn list_articles(&self, after: Option<ArticleId>, limit: u32) -> Result<Vec<Article>>;

    /// Links a post to an article; idempotent.
    async fn link_post(&self, article: ArticleId, post: PostId) -> Result<()>;

    /// Posts linked to an article.
    async fn posts_of_article(&self, article: ArticleId) -> Result<Vec<PostId>>;

    /// Marks an article as processed; false if it does not exist.
    async fn mark_processed(&self, article: ArticleId) -> Result<bool>;
}

/// Users with their podcasts and API keys.
#[async_trait]
pub trait UserStore: Send + Sync {
    async fn add_user(&self, name: &str, now: Timestamp) -> Result<UserId>;

    async fn user(&self, id: UserId) -> Result<Option<User>>;

    /// The user of this name.
    async fn user_named(&self, name: &str) -> Result<Option<User>>;

    /// Users with ids above this one, in order.
    async fn list_users(&self, after: Option<UserId>, limit: u32) -> Result<Vec<User>>;

    /// Renames a user; false if it does not exist.
    async fn rename_user(&self, id: UserId, name: &str) -> Result<bool>;

    /// Removes a user with their keys; false if it does not exist. Fails if the user owns podcasts.
    async fn remove_user(&self, id: UserId) -> Result<bool>;

    async fn add_podcast(&self, owner: UserId, title: &str, now: Timestamp) -> Result<PodcastId>;

    async fn podcast(&self, id: PodcastId) -> Result<Option<Podcast>>;

    /// Podcasts with ids above this one, in order, of one user or of all.
    async fn list_podcasts(&self, owner: Option<UserId>, after: Option<PodcastId>, limit: u32) -> Result<Vec<Podcast>>;

    /// Changes a podcast; false if it does not exist.
    async fn change_podcast(&self, id: PodcastId, changes: PodcastChanges) -> Result<bool>;

    /// Removes a podcast; false if it does not exist. Fails if it has sources or articles.
    async fn remove_podcast(&self, id: PodcastId) -> Result<bool>;

    /// Stores or replaces a user's key, encrypted.
    async fn put_api_key(&self, user: UserId, provider: KeyProvider, key: &SecretString, now: Timestamp) -> Result<()>;

    /// Stores a renewed key, encrypted; false, without storing it, if the key that was used has been
    /// replaced or removed meanwhile.
    async fn renew_api_key(
        &self,
        user: UserId,
        provider: KeyProvider,
        used: &SecretString,
        renewed: &SecretString,
        now: Timestamp,
    ) -> Result<bool>;

    async fn api_key(&self, user: UserId, provider: KeyProvider) -> Result<Option<SecretString>>;

    /// Makes sources of this type due whose last poll failed for want of this user's key.
    async fn request_keyed_polls(&self, user: UserId, source_type: SourceType, now: Timestamp)
    -> Result<Vec<SourceId>>;

    /// Removes a user's key; false if there is none.
    async fn remove_api_key(&self, user: UserId, provider: KeyProvider) -> Result<bool>;
}

/// Hosts and their robots.txt.
#[async_trait]
pub trait HostStore: Send + Sync {
    /// Stores the state of hosts.
    async fn record_hosts(&self, hosts: Vec<HostState>) -> Result<()>;

    /// Hosts that were asked after this time, in any order. Reads all rows, so call it rarely.
    async fn hosts_asked_after(&self, moment: Timestamp, limit: u32) -> Result<Vec<HostState>>;

    /// Replaces times of hosts that a clock that was ahead has stored.
    async fn correct_hosts(&self, hosts: Vec<HostState>) -> Result<()>;

    async fn host(&self, key: &HostKey) -> Result<Option<HostState>>;

    /// These hosts, in any order; unknown ones are omitted.
    async fn hosts(&self, keys: Vec<HostKey>) -> Result<Vec<HostState>>;

    /// Hosts after this one in alphabetical order.
    async fn list_hosts(&self, after: Option<&HostKey>, limit: u32) -> Result<Vec<HostState>>;

    /// Last stored robots.txt of an origin, whatever its age.
    async fn robots(&self, origin: &str) -> Result<Option<RobotsRecord>>;

    /// Stores or replaces a robots.txt. The clean-up removes it.
    async fn put_robots(&self, record: RobotsRecord) -> Result<()>;
}

/// Sealed secrets, whatever they are for.
#[async_trait]
pub trait SecretStore: Send + Sync {
    /// Sealed secrets of a table after this place, in order.
    async fn sealed_rows(&self, table: SecretTable, after: SecretPlace, limit: u32) -> Result<Vec<SealedRow>>;

    /// Replaces a ciphertext by another one of the same secret; false if the row has another one by now.
    async fn replace_sealed(&self, table: SecretTable, row: SealedRow, sealed: Vec<u8>) -> Result<bool>;

    fn cipher(&self) -> &Cipher;
}

/// Webhooks and their deliveries.
#[async_trait]
pub trait WebhookStore: Send + Sync {
    /// Adds a webhook with its encrypted secret. It receives posts stored from now on.
    async fn add_webhook(&self, new: NewWebhook) -> Result<WebhookId>;

    /// Webhooks with ids above this one, in order.
    async fn list_webhooks(&self, after: Option<WebhookId>, limit: u32) -> Result<Vec<Webhook>>;

    async fn webhook(&self, id: WebhookId) -> Result<Option<Webhook>>;

    /// URL and secret of a webhook, read together.
    async fn webhook_target(&self, id: WebhookId) -> Result<Option<WebhookTarget>>;

    /// Changes the named fields only, so that changes of different fields do not conflict, and clears its
    /// failures; false if it does not exist.
    async fn change_webhook(&self, id: WebhookId, change: WebhookChange) -> Result<bool>;

    /// Stores the progress of a webhook if it still stands where the delivery began (`from`, a change number); ignores a
    /// removed one. False if another node has moved it.
    async fn record_delivery(&self, id: WebhookId, from: i64, record: DeliveryRecord) -> Result<bool>;

    /// Enables a webhook and clears its failures, or disables it with a reason; false if it does not exist.
    async fn switch_webhook(&self, id: WebhookId, disabled_reason: Option<String>) -> Result<bool>;

    /// Removes a webhook; false if it does not exist.
    async fn remove_webhook(&self, id: WebhookId) -> Result<bool>;
}

/// Nodes that share the database. Its statements have connections of their own: a busy pipeline does not delay them.
#[async_trait]
pub trait FleetStore: Send + Sync {
    /// What tells this database from all others.
    async fn place(&self) -> Result<String>;

    /// Registers a run of this process. Earlier runs under the same name in the same place (`boot`) are declared ended:
    /// the caller holds the lock that they held.
    async fn join(&self, node: &NewNode) -> Result<JoinOutcome>;

    /// Renews the lease of a node, with what it reports of itself, and whether it takes shards.
    async fn renew(&self, node: NodeId, report: &str, is_taking: bool) -> Result<NodeRenewal>;

    /// Declares nodes ended whose beats stood still, if the server still has this timeline; returns the names of those that
    /// were.
    async fn expire(&self, by: NodeId, still: Vec<(NodeId, i64)>, timeline: &str) -> Result<Vec<String>>;

    /// Takes up to so many shards that have no live owner, if the server still has this timeline.
    async fn take_shards(&self, node: NodeId, count: usize, timeline: &str) -> Result<Vec<OwnedShard>>;

    async fn release_shards(&self, node: NodeId, released: Vec<OwnedShard>) -> Result<()>;

    /// Releases all shards of a node and declares it ended.
    async fn leave(&self, node: NodeId) -> Result<()>;

    /// Notes that the server has this timeline: no node makes requests for a lease, and numbers of posts are skipped.
    /// False if another node was first.
    async fn begin_timeline(&self, timeline: &str) -> Result<bool>;

    /// All live nodes, and those that ended lately.
    async fn fleet(&self) -> Result<FleetRecord>;

    async fn send_messages(&self, sender: NodeId, messages: Vec<(Receiver, String)>) -> Result<()>;

    /// Takes messages to this node and to these shards, oldest first.
    async fn take_messages(&self, node: NodeId, shards: Vec<Shard>, limit: u32) -> Result<Vec<NodeMessage>>;

    /// Seals what nodes compare their keys by with the current key.
    async fn reseal_key_check(&self) -> Result<()>;

    /// Removes ended nodes and old messages.
    async fn clean_fleet(&self) -> Result<()>;

    /// Waits for news. The first call, and one after the connection was lost, returns [`FleetNews::Missed`] once it
    /// listens. To be called by one task.
    async fn news(&self) -> FleetNews;
}

/// What other nodes have announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FleetNews {
    /// There is a message to a node.
    Message(Receiver),
    /// Shards have no owner any more.
    Free,
    /// Posts were stored or changed.
    Posts,
    /// Announcements may have been missed.
    Missed,
}

/// Records of changes. [`Store::clean`](super::Store::clean) removes old ones.
#[async_trait]
pub trait AuditStore: Send + Sync {
    /// The same store, whose changes store this record in their own transaction if they take effect
    /// ([`ChangeOutcome`](super::ChangeOutcome)). To be used for one change.
    fn audited(&self, record: NewAuditRecord) -> Arc<dyn Store>;

    /// Stores the record of a change that is no write of the store.
    async fn add_audit_record(&self, record: NewAuditRecord) -> Result<()>;

    /// Records of this selection with ids below this one, newest first.
    async fn list_audit_records(
        &self,
        filter: AuditFilter,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<AuditRecord>>;
}
