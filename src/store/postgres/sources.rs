//! Sources in PostgreSQL.

use std::borrow::Cow;
use std::collections::HashMap;

use async_trait::async_trait;
use tokio_postgres::types::{ToSql, Type};

use crate::model::{
    FailureKind, NewSource, RowKey, Settled, Settlement, SlotCursor, Source, SourceCounts, SourceId, SourceSettings,
    SourceToPoll, Timestamp,
};

use super::super::quarantine::{ReadRow, SOURCES, last_id};
use super::super::rows::{Columns, read_counts, read_failure_count, required, storable};
use super::super::shared_sql as sql;
use super::super::source_row::{host_column, read_silent, read_source, settings_values, state_values};
use super::super::statement::Statement;
use super::super::{Added, Result, Saved, SourceSelection, SourceStore, StoreError, access};
use super::fleet::tell_owners;
use super::session::{Array, Lease, Session};
use super::values::{RowColumns, all, by_column, execute, number, one as first, readable, readable_planned_anew};
use super::{PostgresStore, labels, settle};

static ADD: Statement = Statement::new(include_str!("../../../sql/postgres/add_sources.sql"));
static FIND: Statement = Statement::new(include_str!("../../../sql/postgres/find_source.sql"));
static TO_POLL: Statement = Statement::new(include_str!("../../../sql/postgres/sources_to_poll.sql"));
static WITH_URL: Statement = Statement::new(include_str!("../../../sql/postgres/sources_with_url.sql"));
static DISABLED: Statement = Statement::new(include_str!("../../../sql/postgres/sources_disabled.sql"));
static INACTIVE: Statement = Statement::new(include_str!("../../../sql/postgres/sources_inactive.sql"));
static IN_SLOTS: Statement = Statement::new(include_str!("../../../sql/postgres/sources_in_slots.sql"));
pub(super) static SILENT: Statement = Statement::new(include_str!("../../../sql/postgres/silent_sources.sql"));
static FILL_HOSTS: Statement = Statement::new(include_str!("../../../sql/postgres/fill_hosts.sql"));

/// Batch size for computing hosts.
const FILL_AT_ONCE: i64 = 1000;

/// Identity of a source.
pub(super) type Key = (Option<i64>, String, String);

#[async_trait]
impl SourceStore for PostgresStore {
    async fn add_sources(&self, new: Vec<NewSource>) -> Result<Vec<Added>> {
        add(self, &new).await
    }

    async fn source(&self, id: SourceId) -> Result<Option<Source>> {
        let found = one(&self.client().await?, id).await;
        self.quarantine.note_one(SOURCES, RowKey::Id(id.0), &found);
        found
    }

    async fn sources_to_poll(&self, ids: Vec<SourceId>) -> Result<Vec<SourceToPoll>> {
        let numbers: Vec<i64> = ids.iter().map(|id| id.0).collect();
        let read = |row: &mut RowColumns<'_>| Ok((read_source(row)?, row.blob()?));
        let array: Array<'_> = (&numbers, Type::INT8_ARRAY);
        let found = readable_planned_anew(&self.client().await?, &TO_POLL, array, read).await?;
        let found = self.quarantine.sift_asked(&ids, found);
        Ok(found.into_iter().map(|one| access::to_poll(&self.cipher, one)).collect())
    }

    async fn sources_with_url(&self, url: &str) -> Result<Vec<Source>> {
        let found = readable(&self.client().await?, &WITH_URL, &[&storable(url)], |row| read_source(row)).await?;
        Ok(self.quarantine.sift_sources(found))
    }

    async fn sources_in_slots(
        &self,
        after: SlotCursor,
        last_slot: u16,
        limit: u32,
    ) -> Result<(Vec<Source>, Option<SlotCursor>)> {
        let (client, mut after) = (self.client().await?, after);
        loop {
            let (slot, limit) = (i32::from(after.slot), i64::from(limit));
            let row: [&(dyn ToSql + Sync); 4] = [&slot, &after.source, &i32::from(last_slot), &limit];
            let read = readable(&client, &IN_SLOTS, &row, |row| {
                let source = read_source(row)?;
                Ok((source, required(row.integer()?)?))
            })
            .await?;
            let is_last = (read.len() as i64) < limit;
            let last = read.iter().flatten().next_back().map(|(source, slot)| SlotCursor {
                slot: u16::try_from(*slot).unwrap_or(u16::MAX),
                source: source.id.0,
            });
            let read = read.into_iter().map(|row| row.map(|(source, _)| source)).collect();
            let sources = self.quarantine.sift_sources(read);
            match last {
                Some(last) => return Ok((sources, Some(last).filter(|_| !is_last))),
                None if is_last => return Ok((sources, None)),
                // A page of rows that cannot be read: the next slot has others.
                None => after = SlotCursor { slot: after.slot.saturating_add(1), source: 0 },
            }
        }
    }

    async fn list_sources(&self, after: Option<SourceId>, limit: u32) -> Result<Vec<Source>> {
        self.select_sources(SourceSelection::All, after, limit).await
    }

    async fn select_sources(
        &self,
        selection: SourceSelection,
        after: Option<SourceId>,
        limit: u32,
    ) -> Result<Vec<Source>> {
        let (client, mut after) = (self.client().await?, after);
        loop {
            let read = select(&client, &selection, after, limit).await?;
            let last = last_id(&read, |source| source.id.0).map(SourceId);
            let sources = self.quarantine.sift_sources(read);
            // An empty page is the last one, so a page of bad rows only is not returned.
            if !sources.is_empty() || last.is_none() || last <= after {
                return Ok(sources);
            }
            after = last;
        }
    }

    async fn count_sources(&self) -> Result<SourceCounts> {
        let counts = first(&self.client().await?, &sql::COUNT_SOURCES, &[], |row| read_counts(row)).await;
        counts.map(Option::unwrap_or_default)
    }

    async fn count_failures(&self) -> Result<Vec<(FailureKind, u64)>> {
        let counts = all(&self.client().await?, &sql::COUNT_FAILURES, &[], |row| read_failure_count(row)).await?;
        Ok(counts.into_iter().flatten().collect())
    }

    async fn silent_sources(&self, before: Timestamp, limit: u32) -> Result<(u64, Vec<(Source, Timestamp)>)> {
        let parameters: [&(dyn ToSql + Sync); 3] = [&before, &i64::from(limit), &false];
        let read = readable(&self.client().await?, &SILENT, &parameters, |row| read_silent(row)).await?;
        Ok(self.quarantine.sift_silent(read))
    }

    async fn save_source(&self, source: Source, now: Timestamp) -> Result<Saved> {
        save(self, &source, None, now).await
    }

    async fn save_source_with_labels(&self, source: Source, labels: Vec<String>, now: Timestamp) -> Result<Saved> {
        save(self, &source, Some(&labels), now).await
    }

    async fn remove_source(&self, id: SourceId) -> Result<bool> {
        let removed = self.remove(id, None, &sql::REMOVE_SOURCE, &[&id.0]).await?;
        self.quarantine.end(SOURCES, &RowKey::Id(id.0));
        Ok(removed)
    }

    async fn remove_source_version(&self, id: SourceId, version: i64) -> Result<bool> {
        let removed = self.remove(id, Some(version), &sql::REMOVE_SOURCE_VERSION, &[&id.0, &version]).await?;
        if removed {
            self.quarantine.end(SOURCES, &RowKey::Id(id.0));
        }
        Ok(removed)
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<Settled>> {
        settle::settle(self, &settlements).await
    }
}

impl PostgresStore {
    async fn remove(
        &self,
        id: SourceId,
        version: Option<i64>,
        statement: &Statement,
        row: &[&(dyn ToSql + Sync)],
    ) -> Result<bool> {
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        tell_owners(&transaction, &self.own_node, &[id]).await?;
        execute(&transaction, &sql::REMOVE_POLLS, &[&id.0, &version]).await?;
        let is_removed = execute(&transaction, statement, row).await? > 0;
        self.commit(transaction, &is_removed).await?;
        Ok(is_removed)
    }
}

/// Inserts all rows as arrays; rows that are not returned existed already or are duplicates in the list.
async fn add(store: &PostgresStore, new: &[NewSource]) -> Result<Vec<Added>> {
    let mut client = store.client().await?;
    let transaction = client.transaction().await?;
    let mut added: HashMap<Key, SourceId> = insert(&transaction, new).await?.into_iter().collect();
    let ids: Vec<SourceId> = added.values().copied().collect();
    tell_owners(&transaction, &store.own_node, &ids).await?;
    let mut answers = Vec::with_capacity(new.len());
    let mut known = HashMap::<Key, SourceId>::new();
    for source in new {
        let key = key(&source.settings);
        answers.push(match (added.remove(&key), known.get(&key)) {
            (Some(id), _) => {
                known.insert(key, id);
                Added::New(id)
            }
            (None, Some(id)) => Added::Duplicate(*id),
            (None, None) => {
                let id = find(&transaction, &key).await?;
                known.insert(key, id);
                Added::Duplicate(id)
            }
        });
    }
    store.commit(transaction, &answers).await?;
    Ok(answers)
}

pub(super) async fn insert(client: &impl Session, new: &[NewSource]) -> Result<Vec<(Key, SourceId)>> {
    let created: Vec<Timestamp> = new.iter().map(|source| source.created_at).collect();
    let columns = by_column(new.iter().map(|source| settings_values(&source.settings)));
    let hosts: Vec<_> = new.iter().map(|source| host(&source.settings)).collect();
    let mut arrays: Vec<&(dyn ToSql + Sync)> = vec![&created, &hosts];
    arrays.extend(columns.iter().map(|column| column as &(dyn ToSql + Sync)));
    all(client, &ADD, &arrays, |row| {
        let id = SourceId(required(row.integer()?)?);
        Ok(((row.integer()?, required(row.text()?)?, required(row.text()?)?), id))
    })
    .await
}

pub(super) async fn find(client: &impl Session, key: &Key) -> Result<SourceId> {
    let found = all(client, &FIND, &[&key.0, &key.1, &key.2], number).await?;
    let found = found.first().copied().map(SourceId);
    found.ok_or_else(|| StoreError::Unavailable("a source was removed while it was being added again".into()))
}

pub(super) fn key(settings: &SourceSettings) -> Key {
    let podcast = settings.podcast_id.map(|podcast| podcast.0);
    (podcast, settings.source_type.name().to_owned(), storable(&settings.url).into_owned())
}

pub(super) async fn one(client: &impl Session, id: SourceId) -> Result<Option<Source>> {
    first(client, &sql::SOURCE, &[&id.0], |row| read_source(row)).await
}

async fn select(
    client: &Lease,
    selection: &SourceSelection,
    after: Option<SourceId>,
    limit: u32,
) -> Result<Vec<ReadRow<Source>>> {
    let (after, limit) = (after.map_or(0, |id| id.0), i64::from(limit));
    let (statement, name) = match selection {
        SourceSelection::All => (&sql::LIST_SOURCES, None),
        SourceSelection::OfHost(host) => (&sql::SOURCES_OF_HOST, Some(storable(host.as_str()))),
        SourceSelection::WithLabel(label) => (&sql::SOURCES_WITH_LABEL, Some(storable(label))),
        SourceSelection::Disabled => (&DISABLED, None),
        SourceSelection::Resting => (&sql::SOURCES_RESTING, None),
        SourceSelection::Failing => (&sql::SOURCES_FAILING, None),
        SourceSelection::Inactive => (&INACTIVE, None),
        SourceSelection::OfType(source_type) => (&sql::SOURCES_OF_TYPE, Some(source_type.name().into())),
    };
    match name {
        None => readable(client, statement, &[&after, &limit], |row| read_source(row)).await,
        Some(name) => readable(client, statement, &[&name, &after, &limit], |row| read_source(row)).await,
    }
}

/// Computes the hosts of rows that an earlier version wrote. Rows that cannot be read keep none.
pub(super) async fn fill_hosts(client: &Lease) -> Result<()> {
    let mut after = Some(0);
    while let Some(start) = after {
        let found = readable(client, &sql::SOURCES_WITHOUT_HOST, &[&FILL_AT_ONCE, &start], |row| {
            let (id, source_type) = (required(row.integer()?)?, required(row.parsed()?)?);
            Ok((id, host_column(source_type, &required(row.text()?)?).into_owned()))
        })
        .await?;
        after = last_id(&found, |(id, _)| *id);
        let (ids, hosts): (Vec<i64>, Vec<String>) = found.into_iter().flatten().unzip();
        if !ids.is_empty() {
            execute(client, &FILL_HOSTS, &[&ids, &hosts]).await?;
        }
    }
    Ok(())
}

fn host(settings: &SourceSettings) -> Cow<'static, str> {
    host_column(settings.source_type, &settings.url)
}

/// Writes a source, and its labels if they are given.
async fn save(store: &PostgresStore, source: &Source, labels: Option<&[String]>, now: Timestamp) -> Result<Saved> {
    let values = settings_values(&source.settings).into_iter().chain(state_values(&source.state)).collect::<Vec<_>>();
    let host = host(&source.settings);
    let mut row: Vec<&(dyn ToSql + Sync)> = vec![&source.id.0, &source.version, &now, &host];
    row.extend(values.iter().map(|value| value as &(dyn ToSql + Sync)));
    let mut client = store.client().await?;
    let transaction = client.transaction().await?;
    // Its host may change, and with it its owner.
    tell_owners(&transaction, &store.own_node, &[source.id]).await?;
    let version = all(&transaction, &sql::SAVE_SOURCE, &row, number).await.map(|versions| versions.first().copied());
    if let (Ok(Some(_)), Some(labels)) = (&version, labels) {
        labels::replace(&transaction, source.id, labels).await?;
    }
    if matches!(version, Ok(Some(_))) {
        tell_owners(&transaction, &store.own_node, &[source.id]).await?;
    }
    // A failed transaction can only be rolled back.
    match version {
        Ok(version) => store.commit(transaction, &version.is_some()).await?,
        Err(_) => transaction.rollback().await?,
    }
    match version {
        Ok(Some(version)) => Ok(Saved::Written(version)),
        Ok(None) => Ok(one(&client, source.id).await?.map_or(Saved::Gone, |now| Saved::Stale(Box::new(now)))),
        Err(StoreError::NameTaken(_)) => Ok(Saved::Duplicate(find(&client, &key(&source.settings)).await?)),
        Err(other) => Err(other),
    }
}
