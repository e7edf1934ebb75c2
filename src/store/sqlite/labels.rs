//! Labels of sources in SQLite.

use rusqlite::{Connection, params};

use crate::model::SourceId;

use super::super::Result;
use super::super::rows::{Columns, required, storable};
use super::values::{all, error, execute};

const ADD: &str = include_str!("../../../sql/sqlite/add_labels.sql");
const REMOVE: &str = include_str!("../../../sql/sqlite/remove_labels.sql");
const OF: &str = include_str!("../../../sql/sqlite/labels_of.sql");
const LIST: &str = include_str!("../../../sql/sqlite/list_labels.sql");

pub(super) fn add(connection: &mut Connection, labels: &[(SourceId, Vec<String>)]) -> Result<()> {
    let transaction = connection.transaction().map_err(error)?;
    for (source, labels) in labels {
        insert(&transaction, *source, labels)?;
    }
    transaction.commit().map_err(error)
}

pub(super) fn set(connection: &mut Connection, source: SourceId, labels: &[String]) -> Result<()> {
    let transaction = connection.transaction().map_err(error)?;
    execute(&transaction, REMOVE, [source.0])?;
    insert(&transaction, source, labels)?;
    transaction.commit().map_err(error)
}

fn insert(connection: &Connection, source: SourceId, labels: &[String]) -> Result<()> {
    for (place, label) in (0_i64..).zip(labels) {
        execute(connection, ADD, params![source.0, storable(label), place])?;
    }
    Ok(())
}

pub(super) fn of(connection: &Connection, sources: &[SourceId]) -> Result<Vec<(SourceId, String)>> {
    let ids = serde_json::Value::from_iter(sources.iter().map(|id| id.0)).to_string();
    all(connection, OF, [ids], |row| Ok((SourceId(required(row.integer()?)?), required(row.text()?)?)))
}

pub(super) fn list(connection: &Connection, after: &str, limit: u32) -> Result<Vec<(String, u64)>> {
    all(connection, LIST, params![after, limit], |row| Ok((required(row.text()?)?, required(row.number()?)?)))
}
