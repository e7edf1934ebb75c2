//! What is known of the entries of documents, in PostgreSQL: a constant number of statements for all of them.

use std::collections::{HashMap, HashSet};

use futures_util::future::try_join;
use tokio_postgres::types::Type;

use crate::model::{ContentHash, DocumentKeys, EntryKey, EntryQuery, KnownEntries, KnownPost, SourceId};

use super::super::Result;
use super::super::post_row::{KnownRow, read_known};
use super::super::quarantine::Quarantine;
use super::super::rows::{Columns, required};
use super::super::statement::Statement;
use super::session::{Array, Lease};
use super::values::{RowColumns, many_planned_anew};

static DOCUMENTS: Statement = Statement::new(include_str!("../../../sql/postgres/documents.sql"));
static BY_KEY: Statement = Statement::new(include_str!("../../../sql/postgres/known_by_key.sql"));
static BY_CONTENT: Statement = Statement::new(include_str!("../../../sql/postgres/known_by_content.sql"));
static WITHOUT_KEY: Statement = Statement::new(include_str!("../../../sql/postgres/known_without_key.sql"));

pub(super) async fn known_entries(
    client: &Lease,
    queries: &[EntryQuery],
    quarantine: &Quarantine,
) -> Result<Vec<KnownEntries>> {
    let ids: Vec<i64> = queries.iter().map(|query| query.source_id.0).collect();
    let entries = || queries.iter().flat_map(|query| query.entries.iter().map(|entry| (query.source_id, *entry)));
    let ids_array = [(&ids as _, Type::INT8_ARRAY)];
    let candidates = entries().map(|(source, (key, hash))| (source, key, hash.0.to_vec())).collect();
    let (documents, by_key) =
        try_join(rows(client, &DOCUMENTS, &ids_array, read_document), by_key(client, candidates)).await?;
    let mut documents: HashMap<SourceId, DocumentKeys> = documents.into_iter().collect();
    let by_key = readable_by_key(by_key, entries(), quarantine);
    let met: HashSet<(SourceId, Option<EntryKey>)> = by_key.iter().map(|(source, post)| (*source, post.key)).collect();
    let unknown: Vec<_> = entries().filter(|(source, (key, _))| !met.contains(&(*source, Some(*key)))).collect();
    let with_unknown: HashSet<SourceId> = unknown.iter().map(|(source, _)| *source).collect();
    let left: HashSet<(SourceId, EntryKey)> = queries
        .iter()
        .filter(|query| with_unknown.contains(&query.source_id))
        .filter_map(|query| Some((query, documents.get(&query.source_id)?)))
        .flat_map(|(query, document)| document.left_by(&query.entries).into_iter().map(|key| (query.source_id, key)))
        .collect();
    let others = if unknown.is_empty() { Vec::new() } else { others(client, &unknown, &left, quarantine).await? };
    let (by_key, others) = (by_source(by_key), by_source(others));
    let known = |query: &EntryQuery| KnownEntries {
        document: documents.remove(&query.source_id),
        by_key: by_key.get(&query.source_id).cloned().unwrap_or_default(),
        others: others.get(&query.source_id).cloned().unwrap_or_default(),
    };
    Ok(queries.iter().map(known).collect())
}

/// Posts with these keys; with their details unless they have this content.
async fn by_key(client: &Lease, candidates: Vec<(SourceId, EntryKey, Vec<u8>)>) -> Result<Vec<(SourceId, KnownRow)>> {
    let sources: Vec<i64> = candidates.iter().map(|(source, _, _)| source.0).collect();
    let keys: Vec<i64> = candidates.iter().map(|(_, key, _)| key.0).collect();
    let hashes: Vec<Vec<u8>> = candidates.into_iter().map(|(_, _, hash)| hash).collect();
    let arrays = [(&sources as _, Type::INT8_ARRAY), (&keys as _, Type::INT8_ARRAY), (&hashes as _, Type::BYTEA_ARRAY)];
    rows(client, &BY_KEY, &arrays, read_row).await
}

/// Posts that unknown entries may belong to, among them those whose keys left with the last document.
async fn others(
    client: &Lease,
    unknown: &[(SourceId, (EntryKey, ContentHash))],
    left: &HashSet<(SourceId, EntryKey)>,
    quarantine: &Quarantine,
) -> Result<Vec<(SourceId, KnownPost)>> {
    let sources: Vec<i64> = unknown.iter().map(|(source, _)| source.0).collect();
    let hashes: Vec<&[u8]> = unknown.iter().map(|(_, (_, hash))| hash.0.as_slice()).collect();
    let by_content = [(&sources as _, Type::INT8_ARRAY), (&hashes as _, Type::BYTEA_ARRAY)];
    let without_key = [(&sources as _, Type::INT8_ARRAY)];
    let (by_content, without_key) =
        try_join(rows(client, &BY_CONTENT, &by_content, read_row), rows(client, &WITHOUT_KEY, &without_key, read_row))
            .await?;
    let is_listed = |(source, post): &(SourceId, KnownPost)| match post.key {
        Some(key) => left.contains(&(*source, key)),
        None => post.id.is_some(),
    };
    let read = |(source, row): (SourceId, KnownRow)| Some((source, row.readable(quarantine)?));
    let mut found: Vec<(SourceId, KnownPost)> = without_key.into_iter().filter_map(read).collect();
    found.extend(by_content.into_iter().filter_map(read).filter(|found| !is_listed(found)));
    if !left.is_empty() {
        // No content is empty, so that all details are read.
        let candidates = left.iter().map(|(source, key)| (*source, *key, Vec::new())).collect();
        found.extend(by_key(client, candidates).await?.into_iter().filter_map(read));
    }
    Ok(found)
}

/// The posts of these entries; one that cannot be read counts as unchanged.
fn readable_by_key(
    found: Vec<(SourceId, KnownRow)>,
    entries: impl Iterator<Item = (SourceId, (EntryKey, ContentHash))>,
    quarantine: &Quarantine,
) -> Vec<(SourceId, KnownPost)> {
    let mut contents = HashMap::new();
    if found.iter().any(|(_, row)| row.post.is_err()) {
        contents.extend(entries.map(|(source, (key, hash))| ((source, Some(key)), hash)));
    }
    let read = |(source, row): (SourceId, KnownRow)| match contents.get(&(source, row.key)) {
        Some(content) => Some((source, row.or_unchanged(*content, quarantine))),
        None => Some((source, row.readable(quarantine)?)),
    };
    found.into_iter().filter_map(read).collect()
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
    client: &Lease,
    statement: &Statement,
    arrays: &[Array<'_>],
    read: fn(&mut RowColumns<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    many_planned_anew(client, statement, arrays, read).await
}

fn read_document(row: &mut RowColumns<'_>) -> Result<(SourceId, DocumentKeys)> {
    Ok((SourceId(required(row.integer()?)?), DocumentKeys::from_bytes(&row.bytes()?)))
}

fn read_row(row: &mut RowColumns<'_>) -> Result<(SourceId, KnownRow)> {
    Ok((SourceId(required(row.integer()?)?), read_known(row)?))
}
