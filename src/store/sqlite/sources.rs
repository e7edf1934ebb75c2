//! Sources in SQLite.

use async_trait::async_trait;
use rusqlite::{Connection, Transaction, params, params_from_iter};

use crate::model::{
    FailureKind, NewSource, RowKey, Settled, Settlement, SlotCursor, Source, SourceCounts, SourceId, SourceSettings,
    SourceToPoll, Timestamp,
};

use super::super::quarantine::{ReadRow, SOURCES, last_id};
use super::super::rows::{Columns, Value, read_counts, read_failure_count, required, storable};
use super::super::shared_sql as sql;
use super::super::source_row::{host_column, read_silent, read_source, settings_values, state_values};
use super::super::statement::Statement;
use super::super::{Added, Result, Saved, SourceSelection, SourceStore, StoreError, access};
use super::values::{all, error, execute, number, one as first, readable};
use super::{SqliteStore, labels, settle};

static ADD: Statement = Statement::new(include_str!("../../../sql/sqlite/add_sources.sql"));
static FIND: Statement = Statement::new(include_str!("../../../sql/sqlite/find_source.sql"));
static TO_POLL: Statement = Statement::new(include_str!("../../../sql/sqlite/sources_to_poll.sql"));
static WITH_URL: Statement = Statement::new(include_str!("../../../sql/sqlite/sources_with_url.sql"));
static DISABLED: Statement = Statement::new(include_str!("../../../sql/sqlite/sources_disabled.sql"));
static INACTIVE: Statement = Statement::new(include_str!("../../../sql/sqlite/sources_inactive.sql"));
pub(super) static SILENT: Statement = Statement::new(include_str!("../../../sql/sqlite/silent_sources.sql"));
static FILL_HOSTS: Statement = Statement::new(include_str!("../../../sql/sqlite/fill_hosts.sql"));

/// Batch size for computing hosts.
const FILL_AT_ONCE: u32 = 1000;

#[async_trait]
impl SourceStore for SqliteStore {
    async fn add_sources(&self, new: Vec<NewSource>) -> Result<Vec<Added>> {
        self.change(move |transaction| new.iter().map(|source| add_one(transaction, source)).collect()).await
    }

    async fn source(&self, id: SourceId) -> Result<Option<Source>> {
        let found = self.readers.run(move |connection| one(connection, id)).await;
        self.quarantine.note_one(SOURCES, RowKey::Id(id.0), &found);
        found
    }

    async fn sources_to_poll(&self, ids: Vec<SourceId>) -> Result<Vec<SourceToPoll>> {
        let list = serde_json::Value::from_iter(ids.iter().map(|id| id.0)).to_string();
        let reading = move |connection: &mut Connection| {
            readable(connection, &TO_POLL, [list], |row| Ok((read_source(row)?, row.blob()?)))
        };
        let found = self.readers.run(reading).await?;
        let found = self.quarantine.sift_asked(&ids, found);
        Ok(found.into_iter().map(|one| access::to_poll(&self.cipher, one)).collect())
    }

    async fn sources_with_url(&self, url: &str) -> Result<Vec<Source>> {
        let url = storable(url).into_owned();
        let reading = move |connection: &mut Connection| readable(connection, &WITH_URL, [url], |row| read_source(row));
        Ok(self.quarantine.sift_sources(self.readers.run(reading).await?))
    }

    async fn sources_in_slots(
        &self,
        after: SlotCursor,
        _: u16,
        limit: u32,
    ) -> Result<(Vec<Source>, Option<SlotCursor>)> {
        let page = self.list_sources(Some(SourceId(after.source)), limit).await?;
        let last = page.last().map(|source| SlotCursor { source: source.id.0, ..after });
        Ok((page, last))
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
        let mut after = after;
        loop {
            let selection = selection.clone();
            let read = self.readers.run(move |connection| select(connection, &selection, after, limit)).await?;
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
        let counting = |connection: &mut Connection| first(connection, &sql::COUNT_SOURCES, [], |row| read_counts(row));
        self.readers.run(counting).await.map(Option::unwrap_or_default)
    }

    async fn count_failures(&self) -> Result<Vec<(FailureKind, u64)>> {
        let counting =
            |connection: &mut Connection| all(connection, &sql::COUNT_FAILURES, [], |row| read_failure_count(row));
        Ok(self.readers.run(counting).await?.into_iter().flatten().collect())
    }

    async fn silent_sources(&self, before: Timestamp, limit: u32) -> Result<(u64, Vec<(Source, Timestamp)>)> {
        let reading = move |connection: &mut Connection| {
            readable(connection, &SILENT, params![before, limit, false], |row| read_silent(row))
        };
        Ok(self.quarantine.sift_silent(self.readers.run(reading).await?))
    }

    async fn save_source(&self, source: Source, now: Timestamp) -> Result<Saved> {
        self.change(move |transaction| save(transaction, &source, None, now)).await
    }

    async fn save_source_with_labels(&self, source: Source, labels: Vec<String>, now: Timestamp) -> Result<Saved> {
        self.change(move |transaction| save(transaction, &source, Some(&labels), now)).await
    }

    async fn remove_source(&self, id: SourceId) -> Result<bool> {
        let removed = self.change(move |transaction| remove(transaction, id, None)).await?;
        self.quarantine.end(SOURCES, &RowKey::Id(id.0));
        Ok(removed)
    }

    async fn remove_source_version(&self, id: SourceId, version: i64) -> Result<bool> {
        let removed = self.change(move |transaction| remove(transaction, id, Some(version))).await?;
        if removed {
            self.quarantine.end(SOURCES, &RowKey::Id(id.0));
        }
        Ok(removed)
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<Settled>> {
        let numbers = self.numbers.clone();
        self.writer.run(move |connection| settle::settle(connection, &settlements, &numbers)).await
    }
}

pub(super) fn add_one(connection: &Connection, new: &NewSource) -> Result<Added> {
    let key = [Value::Time(Some(new.created_at)), host(&new.settings)];
    let row = key.into_iter().chain(settings_values(&new.settings));
    match first(connection, &ADD, params_from_iter(row), number)? {
        Some(id) => Ok(Added::New(SourceId(id))),
        None => Ok(Added::Duplicate(find(connection, &new.settings)?)),
    }
}

fn find(connection: &Connection, settings: &SourceSettings) -> Result<SourceId> {
    let [podcast, kind, url, ..] = settings_values(settings);
    let found = first(connection, &FIND, params![podcast, kind, url], number)?;
    found.map(SourceId).ok_or_else(|| StoreError::Internal("a source is both there and not there".into()))
}

pub(super) fn one(connection: &Connection, id: SourceId) -> Result<Option<Source>> {
    first(connection, &sql::SOURCE, [id.0], |row| read_source(row))
}

fn select(
    connection: &Connection,
    selection: &SourceSelection,
    after: Option<SourceId>,
    limit: u32,
) -> Result<Vec<ReadRow<Source>>> {
    let after = after.map_or(0, |id| id.0);
    let plain = |statement| readable(connection, statement, params![after, limit], |row| read_source(row));
    match selection {
        SourceSelection::All => plain(&sql::LIST_SOURCES),
        SourceSelection::OfHost(host) => {
            readable(connection, &sql::SOURCES_OF_HOST, params![host.as_str(), after, limit], |row| read_source(row))
        }
        SourceSelection::WithLabel(label) => {
            let parameters = params![storable(label), after, limit];
            readable(connection, &sql::SOURCES_WITH_LABEL, parameters, |row| read_source(row))
        }
        SourceSelection::Disabled => plain(&DISABLED),
        SourceSelection::Resting => plain(&sql::SOURCES_RESTING),
        SourceSelection::Failing => plain(&sql::SOURCES_FAILING),
        SourceSelection::Inactive => plain(&INACTIVE),
        SourceSelection::OfType(source_type) => {
            let parameters = params![source_type.name(), after, limit];
            readable(connection, &sql::SOURCES_OF_TYPE, parameters, |row| read_source(row))
        }
    }
}

/// Computes the hosts of rows that an earlier version wrote. Rows that cannot be read keep none.
pub(super) fn fill_hosts(connection: &mut Connection) -> Result<()> {
    let mut after = Some(0);
    while let Some(start) = after {
        let transaction = connection.transaction().map_err(error)?;
        let found = readable(&transaction, &sql::SOURCES_WITHOUT_HOST, params![FILL_AT_ONCE, start], |row| {
            let (id, source_type) = (required(row.integer()?)?, required(row.parsed()?)?);
            Ok((id, host_column(source_type, &required(row.text()?)?)))
        })?;
        after = last_id(&found, |(id, _)| *id);
        for (id, host) in found.into_iter().flatten() {
            execute(&transaction, &FILL_HOSTS, params![id, host])?;
        }
        transaction.commit().map_err(error)?;
    }
    Ok(())
}

fn host(settings: &SourceSettings) -> Value<'static> {
    Value::Text(Some(host_column(settings.source_type, &settings.url)))
}

/// Writes a source, and its labels if they are given.
fn save(transaction: &Transaction<'_>, source: &Source, labels: Option<&[String]>, now: Timestamp) -> Result<Saved> {
    let (id, version) = (Value::Integer(Some(source.id.0)), Value::Integer(Some(source.version)));
    let key = [id, version, Value::Time(Some(now)), host(&source.settings)];
    let row = key.into_iter().chain(settings_values(&source.settings)).chain(state_values(&source.state));
    let saved = match first(transaction, &sql::SAVE_SOURCE, params_from_iter(row), number) {
        Ok(Some(version)) => Saved::Written(version),
        Ok(None) => one(transaction, source.id)?.map_or(Saved::Gone, |now| Saved::Stale(Box::new(now))),
        Err(StoreError::NameTaken(_)) => Saved::Duplicate(find(transaction, &source.settings)?),
        Err(other) => return Err(other),
    };
    if let (Saved::Written(_), Some(labels)) = (&saved, labels) {
        labels::replace(transaction, source.id, labels)?;
    }
    Ok(saved)
}

/// Removes a source with its history, if it has this version.
fn remove(transaction: &Transaction<'_>, id: SourceId, version: Option<i64>) -> Result<bool> {
    execute(transaction, &sql::REMOVE_POLLS, params![id.0, version])?;
    let removed = match version {
        None => execute(transaction, &sql::REMOVE_SOURCE, [id.0])?,
        Some(version) => execute(transaction, &sql::REMOVE_SOURCE_VERSION, [id.0, version])?,
    };
    Ok(removed > 0)
}
