//! Rows that could not be read, as far as they have been met. They are skipped, so that one bad row does not keep all
//! others from being read; the scheduler logs them and reads them again at every tick.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

use parking_lot::Mutex;

use super::StoreError;
use super::source_row::SilentRow;
use crate::model::{
    HostKey, HostState, Post, PostId, QuarantinedRow, RowKey, Source, SourceId, Timestamp, Webhook, WebhookId,
};

/// The most rows that are kept with their values; of further ones only the keys are.
const DETAILED_MAX: usize = 10_000;
/// The most changes that wait to be logged; further ones are not logged one by one.
const NEWS_MAX: usize = 10_000;

/// Names of the tables whose rows are read one by one.
pub(super) const SOURCES: &str = "sources";
pub(super) const HOSTS: &str = "hosts";
pub(super) const WEBHOOKS: &str = "webhooks";
pub(super) const POSTS: &str = "posts";

/// A row that was read, or why it could not be.
pub(super) type ReadRow<T> = Result<T, Box<QuarantinedRow>>;

/// Rows that cannot be read. Shared by all connections of a store.
#[derive(Default)]
pub struct Quarantine(Mutex<Rows>);

#[derive(Default)]
struct Rows {
    rows: BTreeMap<(&'static str, RowKey), Option<QuarantinedRow>>,
    news: Vec<QuarantineNews>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuarantineNews {
    /// A row cannot be read.
    Begun(Box<QuarantinedRow>),
    /// It can be read again, or it is gone.
    Ended { table: &'static str, key: RowKey },
}

impl Quarantine {
    pub fn is_empty(&self) -> bool {
        self.0.lock().rows.is_empty()
    }

    /// Number of rows of all tables.
    pub fn count(&self) -> usize {
        self.0.lock().rows.len()
    }

    pub fn count_sources(&self) -> usize {
        self.0.lock().rows.keys().filter(|(table, _)| *table == SOURCES).count()
    }

    /// The first rows by table and key.
    pub fn list(&self, limit: usize) -> Vec<QuarantinedRow> {
        self.0.lock().rows.values().flatten().take(limit).cloned().collect()
    }

    /// Keys of sources after this one.
    pub fn sources_after(&self, after: SourceId, limit: usize) -> Vec<SourceId> {
        let ids = self.keys_after(SOURCES, RowKey::Id(after.0), limit).into_iter();
        ids.filter_map(|key| if let RowKey::Id(id) = key { Some(SourceId(id)) } else { None }).collect()
    }

    /// Names of hosts after this one.
    pub fn hosts_after(&self, after: &str, limit: usize) -> Vec<String> {
        self.keys_after(HOSTS, RowKey::Name(after.to_owned()), limit).iter().map(RowKey::to_string).collect()
    }

    /// Ids of posts after this one.
    pub fn posts_after(&self, after: PostId, limit: usize) -> Vec<PostId> {
        let ids = self.keys_after(POSTS, RowKey::Id(after.0), limit).into_iter();
        ids.filter_map(|key| if let RowKey::Id(id) = key { Some(PostId(id)) } else { None }).collect()
    }

    /// Ids of webhooks after this one.
    pub fn webhooks_after(&self, after: WebhookId, limit: usize) -> Vec<WebhookId> {
        let ids = self.keys_after(WEBHOOKS, RowKey::Id(after.0), limit).into_iter();
        ids.filter_map(|key| if let RowKey::Id(id) = key { Some(WebhookId(id)) } else { None }).collect()
    }

    /// What has changed since the last call.
    pub fn take_news(&self) -> Vec<QuarantineNews> {
        std::mem::take(&mut self.0.lock().news)
    }

    fn keys_after(&self, table: &'static str, after: RowKey, limit: usize) -> Vec<RowKey> {
        let rows = self.0.lock();
        let range = rows.rows.range((Excluded((table, after)), Unbounded));
        range.map(|(key, _)| key).take_while(|(of, _)| *of == table).take(limit).map(|(_, key)| key.clone()).collect()
    }

    /// Notes the rows of a table that cannot be read and returns the others. `key` is the key of a row that can.
    pub(super) fn sift<T>(&self, table: &'static str, read: Vec<ReadRow<T>>, key: impl Fn(&T) -> RowKey) -> Vec<T> {
        let mut readable = Vec::with_capacity(read.len());
        for row in read {
            match row {
                Ok(row) => readable.push(row),
                Err(bad) => self.begin(*bad),
            }
        }
        if !self.is_empty() {
            readable.iter().for_each(|row| self.end(table, &key(row)));
        }
        readable
    }

    /// The same for sources.
    pub(super) fn sift_sources(&self, read: Vec<ReadRow<Source>>) -> Vec<Source> {
        self.sift(SOURCES, read, |source| RowKey::Id(source.id.0))
    }

    /// The same for silent sources, with the number of all of them.
    pub(super) fn sift_silent(&self, read: Vec<ReadRow<SilentRow>>) -> (u64, Vec<(Source, Timestamp)>) {
        let rows = self.sift(SOURCES, read, |row| RowKey::Id(row.source.id.0));
        let total = rows.first().map_or(0, |row| row.total);
        (total, rows.into_iter().map(|row| (row.source, row.since)).collect())
    }

    /// The same for hosts. A host that cannot be read counts as unknown; its next poll writes its row anew.
    pub(super) fn sift_hosts(&self, read: Vec<ReadRow<HostState>>) -> Vec<HostState> {
        self.sift(HOSTS, read, |host| RowKey::Name(host.host.to_string()))
    }

    /// The same for hosts that were asked for by name; forgets those that are not there any more.
    pub(super) fn sift_asked_hosts(&self, asked: &[HostKey], read: Vec<ReadRow<HostState>>) -> Vec<HostState> {
        if !self.is_empty() {
            let is_there = |key: &RowKey| {
                read.iter().any(|row| match row {
                    Ok(host) => matches!(key, RowKey::Name(name) if name == host.host.as_str()),
                    Err(bad) => bad.key == *key,
                })
            };
            let names = asked.iter().map(|host| RowKey::Name(host.to_string()));
            let known: Vec<RowKey> = names.filter(|key| self.has(HOSTS, key)).collect();
            self.forget_missing(HOSTS, &known, is_there);
        }
        self.sift_hosts(read)
    }

    /// The same for posts.
    pub(super) fn sift_posts(&self, read: Vec<ReadRow<Post>>) -> Vec<Post> {
        self.sift(POSTS, read, |post| RowKey::Id(post.id.0))
    }

    /// The same for webhooks.
    pub(super) fn sift_webhooks(&self, read: Vec<ReadRow<Webhook>>) -> Vec<Webhook> {
        self.sift(WEBHOOKS, read, |webhook| RowKey::Id(webhook.id.0))
    }

    /// The same for sources that were asked for by id; forgets those that are not there any more.
    pub(super) fn sift_asked<T>(&self, asked: &[SourceId], read: Vec<ReadRow<(Source, T)>>) -> Vec<(Source, T)> {
        if !self.is_empty() {
            let is_there = |key: &RowKey| {
                read.iter().any(|row| match row {
                    Ok((source, _)) => RowKey::Id(source.id.0) == *key,
                    Err(bad) => bad.key == *key,
                })
            };
            let known: Vec<RowKey> =
                asked.iter().map(|id| RowKey::Id(id.0)).filter(|key| self.has(SOURCES, key)).collect();
            self.forget_missing(SOURCES, &known, is_there);
        }
        self.sift(SOURCES, read, |(source, _)| RowKey::Id(source.id.0))
    }

    fn has(&self, table: &'static str, key: &RowKey) -> bool {
        self.0.lock().rows.contains_key(&(table, key.clone()))
    }

    /// Forgets those of the keys that were asked for and not found.
    pub(super) fn forget_missing(&self, table: &'static str, asked: &[RowKey], is_there: impl Fn(&RowKey) -> bool) {
        if !self.is_empty() {
            asked.iter().filter(|key| !is_there(key)).for_each(|key| self.end(table, key));
        }
    }

    /// Notes whether a row that was asked for alone can be read; none that is not there.
    pub(super) fn note_one<T>(&self, table: &'static str, key: RowKey, read: &Result<Option<T>, StoreError>) {
        match read {
            Ok(_) if self.is_empty() => {}
            Ok(_) => self.end(table, &key),
            Err(StoreError::BadRow(row)) => self.begin((**row).clone()),
            Err(_) => {}
        }
    }

    /// Notes a row that cannot be read.
    pub(super) fn begin(&self, row: QuarantinedRow) {
        let mut state = self.0.lock();
        let has_room = state.rows.len() < DETAILED_MAX;
        let key = (row.table, row.key.clone());
        match state.rows.get_mut(&key) {
            Some(known) => {
                if known.is_some() {
                    *known = Some(row);
                }
            }
            None => {
                state.rows.insert(key, has_room.then(|| row.clone()));
                if state.news.len() < NEWS_MAX {
                    state.news.push(QuarantineNews::Begun(Box::new(row)));
                }
            }
        }
    }

    pub(super) fn end(&self, table: &'static str, key: &RowKey) {
        let mut state = self.0.lock();
        if state.rows.remove(&(table, key.clone())).is_some() && state.news.len() < NEWS_MAX {
            state.news.push(QuarantineNews::Ended { table, key: key.clone() });
        }
    }
}

/// Name of the last of these rows: where the next page begins.
pub(super) fn last_name<T>(read: &[ReadRow<T>], name: impl Fn(&T) -> &str) -> Option<String> {
    read.last().map(|row| match row {
        Ok(row) => name(row).to_owned(),
        Err(bad) => bad.key.to_string(),
    })
}

/// Key of the last of these rows: where the next page begins.
pub(super) fn last_id<T>(read: &[ReadRow<T>], id: impl Fn(&T) -> i64) -> Option<i64> {
    match read.last()? {
        Ok(row) => Some(id(row)),
        Err(bad) => match bad.key {
            RowKey::Id(id) => Some(id),
            RowKey::Name(_) => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bad(id: i64, value: &str) -> QuarantinedRow {
        QuarantinedRow {
            table: SOURCES,
            key: RowKey::Id(id),
            url: None,
            column: "type".into(),
            value: value.into(),
            reason: "unknown".into(),
        }
    }

    fn sift(quarantine: &Quarantine, read: Vec<ReadRow<i64>>) -> Vec<i64> {
        quarantine.sift(SOURCES, read, |id| RowKey::Id(*id))
    }

    #[test]
    fn a_bad_row_is_news_once_until_it_is_read_again() {
        let quarantine = Quarantine::default();
        for value in ["gopher", "ftp"] {
            let read = vec![Ok(1), Err(Box::new(bad(2, value))), Ok(3)];
            assert_eq!(sift(&quarantine, read), [1, 3]);
        }
        assert_eq!(quarantine.take_news(), [QuarantineNews::Begun(Box::new(bad(2, "gopher")))]);
        assert_eq!((quarantine.count_sources(), quarantine.list(9)), (1, vec![bad(2, "ftp")]));
        assert_eq!(sift(&quarantine, vec![Ok(2)]), [2]);
        assert_eq!(quarantine.take_news(), [QuarantineNews::Ended { table: SOURCES, key: RowKey::Id(2) }]);
        assert!(quarantine.is_empty());
    }

    #[test]
    fn a_bad_row_that_was_removed_is_forgotten() {
        let quarantine = Quarantine::default();
        sift(&quarantine, vec![Err(Box::new(bad(2, "x"))), Err(Box::new(bad(10, "x")))]);
        assert_eq!(quarantine.sources_after(SourceId(0), 9), [SourceId(2), SourceId(10)]);
        assert_eq!(quarantine.sources_after(SourceId(2), 9), [SourceId(10)]);
        quarantine.forget_missing(SOURCES, &[RowKey::Id(2), RowKey::Id(10)], |key| *key == RowKey::Id(10));
        assert_eq!(quarantine.sources_after(SourceId(0), 9), [SourceId(10)]);
    }
}
