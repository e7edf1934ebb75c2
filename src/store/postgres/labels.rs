//! Labels of sources in PostgreSQL.

use deadpool_postgres::{Client, GenericClient};
use tokio_postgres::types::Type;

use crate::model::SourceId;

use super::super::Result;
use super::super::rows::{Columns, required, storable};
use super::values::{all, all_planned_anew, error, execute};

const ADD: &str = include_str!("../../../sql/postgres/add_labels.sql");
const REMOVE: &str = include_str!("../../../sql/postgres/remove_labels.sql");
const OF: &str = include_str!("../../../sql/postgres/labels_of.sql");
const LIST: &str = include_str!("../../../sql/postgres/list_labels.sql");

pub(super) async fn add(client: &impl GenericClient, labels: &[(SourceId, Vec<String>)]) -> Result<()> {
    let (mut sources, mut names, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for (source, labels) in labels {
        for (place, label) in (0_i64..).zip(labels) {
            sources.push(source.0);
            names.push(storable(label));
            places.push(place);
        }
    }
    if sources.is_empty() {
        return Ok(());
    }
    execute(client, ADD, &[&sources, &names, &places]).await.map(|_| ())
}

pub(super) async fn set(client: &mut Client, source: SourceId, labels: Vec<String>) -> Result<()> {
    let transaction = client.transaction().await.map_err(error)?;
    execute(&transaction, REMOVE, &[&source.0]).await?;
    add(&transaction, &[(source, labels)]).await?;
    transaction.commit().await.map_err(error)
}

pub(super) async fn of(client: &Client, sources: &[SourceId]) -> Result<Vec<(SourceId, String)>> {
    let ids: Vec<i64> = sources.iter().map(|id| id.0).collect();
    all_planned_anew(client, OF, (&ids, Type::INT8_ARRAY), |row| {
        Ok((SourceId(required(row.integer()?)?), required(row.text()?)?))
    })
    .await
}

pub(super) async fn list(client: &Client, after: &str, limit: u32) -> Result<Vec<(String, u64)>> {
    all(client, LIST, &[&after, &i64::from(limit)], |row| Ok((required(row.text()?)?, required(row.number()?)?))).await
}
