//! What is known of the entries of a document, in SQLite.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, params};

use crate::model::{DocumentKeys, EntryKey, EntryQuery, KnownEntries, KnownPost, PostId};

use super::super::Result;
use super::super::post_row::{KnownRow, read_known};
use super::super::quarantine::Quarantine;
use super::super::rows::Columns;
use super::super::statement::Statement;
use super::values::{all, error, first, number, one};

static DOCUMENT: Statement = Statement::new(include_str!("../../../sql/sqlite/documents.sql"));
static HAS_ANY: Statement = Statement::new(include_str!("../../../sql/sqlite/known_any.sql"));
static UNCHANGED: Statement = Statement::new(include_str!("../../../sql/sqlite/known_unchanged.sql"));
static BY_KEY: Statement = Statement::new(include_str!("../../../sql/sqlite/known_by_key.sql"));
static HAS_CONTENT: Statement = Statement::new(include_str!("../../../sql/sqlite/known_content_exists.sql"));
static BY_CONTENT: Statement = Statement::new(include_str!("../../../sql/sqlite/known_by_content.sql"));
static WITHOUT_KEY: Statement = Statement::new(include_str!("../../../sql/sqlite/known_without_key.sql"));

pub(super) fn known_entries(
    connection: &Connection,
    query: &EntryQuery,
    quarantine: &Quarantine,
) -> Result<KnownEntries> {
    let source = query.source_id.0;
    let document = one(connection, &DOCUMENT, [source], |row| row.bytes())?;
    let mut known =
        KnownEntries { document: document.map(|keys| DocumentKeys::from_bytes(&keys)), ..KnownEntries::default() };
    // Three questions for each entry need not be asked at the first poll, such as that of thousands of imported feeds.
    if known.document.is_none() && one(connection, &HAS_ANY, [source], number)? == Some(0) {
        return Ok(known);
    }
    let mut unknown = Vec::new();
    let mut unchanged = connection.prepare_cached(UNCHANGED.sqlite()).map_err(error)?;
    let mut by_key = connection.prepare_cached(BY_KEY.sqlite()).map_err(error)?;
    for (key, hash) in &query.entries {
        let id = unchanged.query_row(params![source, hash.0, key.0], |row| row.get(0)).optional().map_err(error)?;
        match id {
            Some(id) => known.by_key.push(KnownPost::unchanged(Some(PostId(id)), Some(*key), *hash)),
            None => match first(&mut by_key, params![source, key.0], |row| read_known(row))? {
                Some(found) => known.by_key.push(found.or_unchanged(*hash, quarantine)),
                None => unknown.push(*hash),
            },
        }
    }
    if !unknown.is_empty() {
        unknown.sort_unstable();
        unknown.dedup();
        let read = |found: Vec<KnownRow>| found.into_iter().filter_map(|row| row.readable(quarantine));
        known.others.extend(read(all(connection, &WITHOUT_KEY, [source], |row| read_known(row))?));
        let left = known.document.as_ref().map(|document| document.left_by(&query.entries)).unwrap_or_default();
        for key in &left {
            let found = first(&mut by_key, params![source, key.0], |row| read_known(row))?;
            known.others.extend(found.and_then(|row| row.readable(quarantine)));
        }
        let left: HashSet<EntryKey> = left.into_iter().collect();
        let mut has_content = connection.prepare_cached(HAS_CONTENT.sqlite()).map_err(error)?;
        for hash in unknown {
            // Nearly all new entries have new content.
            if !has_content.query_row(params![source, hash.0], |row| row.get(0)).map_err(error)? {
                continue;
            }
            let found = all(connection, &BY_CONTENT, params![source, hash.0], |row| read_known(row))?;
            let is_listed = |post: &KnownPost| match post.key {
                Some(key) => left.contains(&key),
                None => post.id.is_some(),
            };
            known.others.extend(read(found).filter(|post| !is_listed(post)));
        }
    }
    Ok(known)
}
