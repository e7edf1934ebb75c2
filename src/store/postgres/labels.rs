//! Labels of sources in PostgreSQL.

use async_trait::async_trait;
use tokio_postgres::types::Type;

use crate::model::{SourceId, Timestamp};

use super::super::rows::{Columns, required, storable};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::super::{LabelStore, Result};
use super::PostgresStore;
use super::session::Transaction;
use super::values::{all, all_planned_anew, execute, number};

static ADD: Statement = Statement::new(include_str!("../../../sql/postgres/add_labels.sql"));
static MOVE_VERSION: Statement = Statement::new(include_str!("../../../sql/postgres/move_version.sql"));
static OF: Statement = Statement::new(include_str!("../../../sql/postgres/labels_of.sql"));

#[async_trait]
impl LabelStore for PostgresStore {
    async fn add_labels(&self, labels: Vec<(SourceId, Vec<String>)>, now: Timestamp) -> Result<()> {
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        let changed = insert(&transaction, &labels).await?;
        if !changed.is_empty() {
            execute(&transaction, &MOVE_VERSION, &[&changed, &now]).await?;
        }
        transaction.commit().await
    }

    async fn labels_of(&self, sources: Vec<SourceId>) -> Result<Vec<(SourceId, String)>> {
        let ids: Vec<i64> = sources.iter().map(|id| id.0).collect();
        let client = self.client().await?;
        all_planned_anew(&client, &OF, (&ids, Type::INT8_ARRAY), |row| {
            Ok((SourceId(required(row.integer()?)?), required(row.text()?)?))
        })
        .await
    }

    async fn list_labels(&self, after: Option<&str>, limit: u32) -> Result<Vec<(String, u64)>> {
        let (after, limit) = (storable(after.unwrap_or_default()), i64::from(limit));
        all(&self.client().await?, &sql::LIST_LABELS, &[&after, &limit], |row| {
            Ok((required(row.text()?)?, required(row.number()?)?))
        })
        .await
    }
}

/// Replaces the labels of a source. The caller increments its version in the same transaction.
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
