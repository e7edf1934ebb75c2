//! Labels of sources in PostgreSQL.

use deadpool_postgres::{Client, Transaction};
use tokio_postgres::types::Type;

use crate::model::{SourceId, Timestamp};

use super::super::Result;
use super::super::rows::{Columns, required, storable};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::values::{all, all_planned_anew, error, execute, number};

static ADD: Statement = Statement::new(include_str!("../../../sql/postgres/add_labels.sql"));
static MOVE_VERSION: Statement = Statement::new(include_str!("../../../sql/postgres/move_version.sql"));
static OF: Statement = Statement::new(include_str!("../../../sql/postgres/labels_of.sql"));

pub(super) async fn add(client: &mut Client, labels: &[(SourceId, Vec<String>)], now: Timestamp) -> Result<()> {
    let transaction = client.transaction().await.map_err(error)?;
    let changed = insert(&transaction, labels).await?;
    if !changed.is_empty() {
        execute(&transaction, &MOVE_VERSION, &[&changed, &now]).await?;
    }
    transaction.commit().await.map_err(error)
}

/// Gives a source these labels and no others. Its version is for the caller to move, in the same transaction.
pub(super) async fn replace(transaction: &Transaction<'_>, source: SourceId, labels: &[String]) -> Result<()> {
    execute(transaction, &sql::REMOVE_LABELS, &[&source.0]).await?;
    insert(transaction, &[(source, labels.to_vec())]).await.map(|_| ())
}

/// Returns the sources that did not have all of them before.
async fn insert(transaction: &Transaction<'_>, labels: &[(SourceId, Vec<String>)]) -> Result<Vec<i64>> {
    let (mut sources, mut names, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for (source, labels) in labels {
        for (place, label) in (0_i64..).zip(labels) {
            sources.push(source.0);
            names.push(storable(label));
            places.push(place);
        }
    }
    if sources.is_empty() {
        return Ok(Vec::new());
    }
    all(transaction, &ADD, &[&sources, &names, &places], number).await
}

pub(super) async fn of(client: &Client, sources: &[SourceId]) -> Result<Vec<(SourceId, String)>> {
    let ids: Vec<i64> = sources.iter().map(|id| id.0).collect();
    all_planned_anew(client, &OF, (&ids, Type::INT8_ARRAY), |row| {
        Ok((SourceId(required(row.integer()?)?), required(row.text()?)?))
    })
    .await
}

pub(super) async fn list(client: &Client, after: &str, limit: u32) -> Result<Vec<(String, u64)>> {
    all(client, &sql::LIST_LABELS, &[&after, &i64::from(limit)], |row| {
        Ok((required(row.text()?)?, required(row.number()?)?))
    })
    .await
}
