//! What is known of the entries of documents, in PostgreSQL: a constant number of statements for all of them.

use std::collections::{HashMap, HashSet};

use deadpool_postgres::Client;
use futures_util::future::try_join;
use tokio_postgres::types::{ToSql, Type};

use crate::model::{DocumentKeys, EntryKey, EntryQuery, KnownEntries, KnownPost, SourceId};

use super::super::Result;
use super::super::post_row::read_known;
use super::super::rows::{Columns, required};
use super::super::statement::Statement;
use super::values::{RowColumns, error};

static DOCUMENTS: Statement = Statement::new(include_str!("../../../sql/postgres/documents.sql"));
static BY_KEY: Statement = Statement::new(include_str!("../../../sql/postgres/known_by_key.sql"));
static BY_CONTENT: Statement = Statement::new(include_str!("../../../sql/postgres/known_by_content.sql"));
static WITHOUT_KEY: Statement = Statement::new(include_str!("../../../sql/postgres/known_without_key.sql"));

type Array<'a> = (&'a (dyn ToSql + Sync), Type);

pub(super) async fn known_entries(client: &Client, queries: &[EntryQuery]) -> Result<Vec<KnownEntries>> {
    let ids: Vec<i64> = queries.iter().map(|query| query.source_id.0).collect();
    let entries = || queries.iter().flat_map(|query| query.entries.iter().map(|entry| (query.source_id, *entry)));
    let sources: Vec<i64> = entries().map(|(source, _)| source.0).collect();
    let keys: Vec<i64> = entries().map(|(_, (key, _))| key.0).collect();
    let (ids_array, by_key) =
        ([(&ids as _, Type::INT8_ARRAY)], [(&sources as _, Type::INT8_ARRAY), (&keys as _, Type::INT8_ARRAY)]);
    let (documents, by_key) =
        try_join(rows(client, &DOCUMENTS, &ids_array, read_document), rows(client, &BY_KEY, &by_key, read_row)).await?;
    let mut documents: HashMap<SourceId, DocumentKeys> = documents.into_iter().collect();
    let met: HashSet<(SourceId, Option<EntryKey>)> = by_key.iter().map(|(source, post)| (*source, post.key)).collect();
    let unknown: Vec<_> = entries().filter(|(source, (key, _))| !met.contains(&(*source, Some(*key)))).collect();
    let others = if unknown.is_empty() { Vec::new() } else { others(client, &unknown).await? };
    let (by_key, others) = (by_source(by_key), by_source(others));
    let known = |query: &EntryQuery| KnownEntries {
        document: documents.remove(&query.source_id),
        by_key: by_key.get(&query.source_id).cloned().unwrap_or_default(),
        others: others.get(&query.source_id).cloned().unwrap_or_default(),
    };
    Ok(queries.iter().map(known).collect())
}

/// Posts that unknown entries may belong to.
async fn others(
    client: &Client,
    unknown: &[(SourceId, (EntryKey, crate::model::ContentHash))],
) -> Result<Vec<(SourceId, KnownPost)>> {
    let sources: Vec<i64> = unknown.iter().map(|(source, _)| source.0).collect();
    let hashes: Vec<&[u8]> = unknown.iter().map(|(_, (_, hash))| hash.0.as_slice()).collect();
    let by_content = [(&sources as _, Type::INT8_ARRAY), (&hashes as _, Type::BYTEA_ARRAY)];
    let without_key = [(&sources as _, Type::INT8_ARRAY)];
    let (by_content, mut found) =
        try_join(rows(client, &BY_CONTENT, &by_content, read_row), rows(client, &WITHOUT_KEY, &without_key, read_row))
            .await?;
    found.extend(by_content.into_iter().filter(|(_, post)| post.id.is_none() || post.key.is_some()));
    Ok(found)
}

fn by_source(found: Vec<(SourceId, KnownPost)>) -> HashMap<SourceId, Vec<KnownPost>> {
    let mut grouped = HashMap::<SourceId, Vec<KnownPost>>::new();
    for (source, post) in found {
        grouped.entry(source).or_default().push(post);
    }
    grouped
}

/// Reads all rows of a statement that the server plans each time: a cached plan depends on the sizes that tables had
/// when it was made, and scanning a table that was empty then, for each of 1,500 entries, has taken 16 seconds.
async fn rows<T>(
    client: &Client,
    statement: &Statement,
    arrays: &[Array<'_>],
    read: fn(&mut RowColumns<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let rows = client.query_typed(statement.postgres(), arrays).await.map_err(error)?;
    rows.iter().map(|row| read(&mut RowColumns::new(row))).collect()
}

fn read_document(row: &mut RowColumns<'_>) -> Result<(SourceId, DocumentKeys)> {
    Ok((SourceId(required(row.integer()?)?), DocumentKeys::from_bytes(&row.bytes()?)))
}

fn read_row(row: &mut RowColumns<'_>) -> Result<(SourceId, KnownPost)> {
    Ok((SourceId(required(row.integer()?)?), read_known(row)?))
}
