//! Sources in PostgreSQL.

use std::borrow::Cow;
use std::collections::HashMap;

use deadpool_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use crate::model::{NewSource, Source, SourceCounts, SourceId, SourceSettings, Timestamp};

use super::super::rows::{
    Columns, X_HOST, host_column, read_counts, read_source, required, settings_values, state_values, storable,
};
use super::super::{Added, Result, Saved, SourceSelection, StoreError};
use super::labels;
use super::values::{all, all_planned_anew, by_column, error, execute, number, one as first};

const ADD: &str = include_str!("../../../sql/postgres/add_sources.sql");
const FIND: &str = include_str!("../../../sql/postgres/find_source.sql");
const ONE: &str = include_str!("../../../sql/postgres/source.sql");
const TO_POLL: &str = include_str!("../../../sql/postgres/sources_to_poll.sql");
const WITH_URL: &str = include_str!("../../../sql/postgres/sources_with_url.sql");
const COUNT: &str = include_str!("../../../sql/postgres/count_sources.sql");
const LIST: &str = include_str!("../../../sql/postgres/list_sources.sql");
const OF_HOST: &str = include_str!("../../../sql/postgres/sources_of_host.sql");
const WITH_LABEL: &str = include_str!("../../../sql/postgres/sources_with_label.sql");
const DISABLED: &str = include_str!("../../../sql/postgres/sources_disabled.sql");
const RESTING: &str = include_str!("../../../sql/postgres/sources_resting.sql");
const INACTIVE: &str = include_str!("../../../sql/postgres/sources_inactive.sql");
const OF_PAGES: &str = include_str!("../../../sql/postgres/sources_of_pages.sql");
const FAILING: &str = include_str!("../../../sql/postgres/sources_failing.sql");
const WITHOUT_HOST: &str = include_str!("../../../sql/postgres/sources_without_host.sql");
const FILL_HOSTS: &str = include_str!("../../../sql/postgres/fill_hosts.sql");
const SAVE: &str = include_str!("../../../sql/postgres/save_source.sql");
const REMOVE: &str = include_str!("../../../sql/postgres/remove_source.sql");
const PING: &str = include_str!("../../../sql/postgres/ping.sql");

/// How many rows get their host in one statement.
const FILL_AT_ONCE: i64 = 1000;

/// What makes a source the same source.
pub(super) type Key = (Option<i64>, String, String);

pub(super) async fn ping(client: &Client) -> Result<()> {
    first(client, PING, &[], number).await.map(|_| ())
}

/// Sends all of them as arrays; what does not come back was there before, or stood twice in the same list.
pub(super) async fn add(client: &mut Client, new: &[NewSource]) -> Result<Vec<Added>> {
    let transaction = client.transaction().await.map_err(error)?;
    let mut added: HashMap<Key, SourceId> = insert(&transaction, new).await?.into_iter().collect();
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
    transaction.commit().await.map_err(error)?;
    Ok(answers)
}

pub(super) async fn insert(
    client: &impl deadpool_postgres::GenericClient,
    new: &[NewSource],
) -> Result<Vec<(Key, SourceId)>> {
    let created: Vec<Timestamp> = new.iter().map(|source| source.created_at).collect();
    let columns = by_column(new.iter().map(|source| settings_values(&source.settings)));
    let mut arrays: Vec<&(dyn ToSql + Sync)> = vec![&created];
    arrays.extend(columns.iter().map(|column| column as &(dyn ToSql + Sync)));
    let hosts: Vec<_> = new.iter().map(|source| host(&source.settings)).collect();
    arrays.push(&hosts);
    all(client, ADD, &arrays, |row| {
        let id = SourceId(required(row.integer()?)?);
        Ok(((row.integer()?, required(row.text()?)?, required(row.text()?)?), id))
    })
    .await
}

pub(super) async fn find(client: &impl deadpool_postgres::GenericClient, key: &Key) -> Result<SourceId> {
    let found = all(client, FIND, &[&key.0, &key.1, &key.2], number).await?;
    let found = found.first().copied().map(SourceId);
    found.ok_or_else(|| StoreError::Unavailable("a source was removed while it was being added again".into()))
}

pub(super) fn key(settings: &SourceSettings) -> Key {
    let podcast = settings.podcast_id.map(|podcast| podcast.0);
    (podcast, settings.source_type.name().to_owned(), storable(&settings.url).into_owned())
}

pub(super) async fn one(client: &impl deadpool_postgres::GenericClient, id: SourceId) -> Result<Option<Source>> {
    first(client, ONE, &[&id.0], |row| read_source(row)).await
}

/// These sources, each with its sealed access.
pub(super) async fn to_poll(client: &Client, ids: &[SourceId]) -> Result<Vec<(Source, Option<Vec<u8>>)>> {
    let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
    all_planned_anew(client, TO_POLL, (&ids, Type::INT8_ARRAY), |row| Ok((read_source(row)?, row.blob()?))).await
}

pub(super) async fn with_url(client: &Client, url: &str) -> Result<Vec<Source>> {
    all(client, WITH_URL, &[&url], |row| read_source(row)).await
}

pub(super) async fn list(client: &Client, after: Option<SourceId>, limit: u32) -> Result<Vec<Source>> {
    all(client, LIST, &[&after.map_or(0, |id| id.0), &i64::from(limit)], |row| read_source(row)).await
}

pub(super) async fn count(client: &Client) -> Result<SourceCounts> {
    first(client, COUNT, &[], |row| read_counts(row)).await.map(Option::unwrap_or_default)
}

pub(super) async fn select(
    client: &Client,
    selection: &SourceSelection,
    after: Option<SourceId>,
    limit: u32,
) -> Result<Vec<Source>> {
    let (after, limit) = (after.map_or(0, |id| id.0), i64::from(limit));
    let (sql, name) = match selection {
        SourceSelection::All => (LIST, None),
        SourceSelection::OfHost(host) => (OF_HOST, Some(storable(host.as_str()))),
        SourceSelection::OfX => (OF_HOST, Some(X_HOST.into())),
        SourceSelection::WithLabel(label) => (WITH_LABEL, Some(storable(label))),
        SourceSelection::Disabled => (DISABLED, None),
        SourceSelection::Resting => (RESTING, None),
        SourceSelection::Failing => (FAILING, None),
        SourceSelection::Inactive => (INACTIVE, None),
        SourceSelection::OfPages => (OF_PAGES, None),
    };
    match name {
        None => all(client, sql, &[&after, &limit], |row| read_source(row)).await,
        Some(name) => all(client, sql, &[&name, &after, &limit], |row| read_source(row)).await,
    }
}

/// Computes the hosts of rows that an earlier version wrote.
pub(super) async fn fill_hosts(client: &Client) -> Result<()> {
    loop {
        let found = all(client, WITHOUT_HOST, &[&FILL_AT_ONCE], |row| {
            let (id, source_type) = (required(row.integer()?)?, required(row.parsed()?)?);
            Ok((id, host_column(source_type, &required(row.text()?)?).into_owned()))
        })
        .await?;
        if found.is_empty() {
            return Ok(());
        }
        let (ids, hosts): (Vec<i64>, Vec<String>) = found.into_iter().unzip();
        execute(client, FILL_HOSTS, &[&ids, &hosts]).await?;
    }
}

fn host(settings: &SourceSettings) -> Cow<'static, str> {
    host_column(settings.source_type, &settings.url)
}

/// Writes a source, and its labels if they are given.
pub(super) async fn save(
    client: &mut Client,
    source: &Source,
    labels: Option<&[String]>,
    now: Timestamp,
) -> Result<Saved> {
    let values = settings_values(&source.settings).into_iter().chain(state_values(&source.state)).collect::<Vec<_>>();
    let mut row: Vec<&(dyn ToSql + Sync)> = vec![&source.id.0, &source.version, &now];
    row.extend(values.iter().map(|value| value as &(dyn ToSql + Sync)));
    let host = host(&source.settings);
    row.push(&host);
    let transaction = client.transaction().await.map_err(error)?;
    let version = all(&transaction, SAVE, &row, number).await.map(|versions| versions.first().copied());
    if let (Ok(Some(_)), Some(labels)) = (&version, labels) {
        labels::replace(&transaction, source.id, labels).await?;
    }
    // What failed can be nothing but rolled back.
    match version {
        Ok(_) => transaction.commit().await.map_err(error)?,
        Err(_) => transaction.rollback().await.map_err(error)?,
    }
    match version {
        Ok(Some(version)) => Ok(Saved::Written(version)),
        Ok(None) => Ok(one(client, source.id).await?.map_or(Saved::Gone, |now| Saved::Stale(Box::new(now)))),
        Err(StoreError::NameTaken(_)) => Ok(Saved::Duplicate(find(client, &key(&source.settings)).await?)),
        Err(other) => Err(other),
    }
}

pub(super) async fn remove(client: &Client, id: SourceId) -> Result<bool> {
    Ok(execute(client, REMOVE, &[&id.0]).await? > 0)
}
