//! Labels of sources in SQLite.

use async_trait::async_trait;
use rusqlite::{Connection, Transaction, params};

use crate::model::{SourceId, Timestamp};

use super::super::rows::{Columns, required, storable};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::super::{LabelStore, Result};
use super::SqliteStore;
use super::values::{all, error, execute};

static ADD: Statement = Statement::new(include_str!("../../../sql/sqlite/add_labels.sql"));
static MOVE_VERSION: Statement = Statement::new(include_str!("../../../sql/sqlite/move_version.sql"));
static OF: Statement = Statement::new(include_str!("../../../sql/sqlite/labels_of.sql"));

#[async_trait]
impl LabelStore for SqliteStore {
    async fn add_labels(&self, labels: Vec<(SourceId, Vec<String>)>, now: Timestamp) -> Result<()> {
        let adding = move |connection: &mut Connection| {
            let transaction = connection.transaction().map_err(error)?;
            for (source, labels) in &labels {
                if insert(&transaction, *source, labels)? > 0 {
                    execute(&transaction, &MOVE_VERSION, params![source.0, now])?;
                }
            }
            transaction.commit().map_err(error)
        };
        self.writer.run(adding).await
    }

    async fn labels_of(&self, sources: Vec<SourceId>) -> Result<Vec<(SourceId, String)>> {
        let ids = serde_json::Value::from_iter(sources.iter().map(|id| id.0)).to_string();
        let reading = move |connection: &mut Connection| {
            all(connection, &OF, [ids], |row| Ok((SourceId(required(row.integer()?)?), required(row.text()?)?)))
        };
        self.readers.run(reading).await
    }

    async fn list_labels(&self, after: Option<&str>, limit: u32) -> Result<Vec<(String, u64)>> {
        let after = storable(after.unwrap_or_default()).into_owned();
        let listing = move |connection: &mut Connection| {
            all(connection, &sql::LIST_LABELS, params![after, limit], |row| {
                Ok((required(row.text()?)?, required(row.number()?)?))
            })
        };
        self.readers.run(listing).await
    }
}

/// Replaces the labels of a source. The caller increments its version in the same transaction.
pub(super) fn replace(transaction: &Transaction<'_>, source: SourceId, labels: &[String]) -> Result<()> {
    execute(transaction, &sql::REMOVE_LABELS, [source.0])?;
    insert(transaction, source, labels).map(|_| ())
}

/// Returns how many it did not have before.
fn insert(transaction: &Transaction<'_>, source: SourceId, labels: &[String]) -> Result<usize> {
    let mut new = 0;
    for (place, label) in (0_i64..).zip(labels) {
        new += execute(transaction, &ADD, params![source.0, storable(label), place])?;
    }
    Ok(new)
}
