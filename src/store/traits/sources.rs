//! Sources, their labels, logins, polls and hosts.

use async_trait::async_trait;

use crate::model::{
    FailureKind, HistoryBounds, HostKey, HostState, NewSource, PollHour, RobotsRecord, Settled, Settlement, SlotCursor,
    Source, SourceAccess, SourceCounts, SourceId, SourceToPoll, StoredPoll, Timestamp,
};

use super::super::{Added, Result, Saved, SourceSelection};

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

    /// Sources that are enabled, neither rest nor fail, were added before this time and read successfully since, and of
    /// which nothing new came since: their number, and the longest silent ones with the time since when they are silent.
    ///
    /// That time is when the newest post was stored, which may be by a backfill. If the clean-up has removed all posts,
    /// it is the watermark: the date of the newest entry seen. Without dates it is the last reading of a document, which
    /// may be later; so a page or an undated feed counts as silent only while its document does not change. A source of
    /// which nothing was ever stored is silent since it was added. Nothing of this is written for the purpose, so polls
    /// pay nothing. Reads the rows of all sources and an entry of an index for each, so call it rarely.
    async fn silent_sources(&self, before: Timestamp, limit: u32) -> Result<(u64, Vec<(Source, Timestamp)>)>;

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

/// Settled polls. [`SourceStore::settle`](crate::store::SourceStore::settle) adds them to the history of their sources.
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
