//! What sources need to be let in, in PostgreSQL.

use deadpool_postgres::Client;
use tokio_postgres::types::Type;

use crate::model::{NewSource, SourceId, Timestamp};

use super::super::rows::{Columns, required};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::super::{Added, Result, Saved};
use super::sources::{find, insert, key, one as source};
use super::values::{all_planned_anew, error, execute, number, one};

static AMONG: Statement = Statement::new(include_str!("../../../sql/postgres/sources_with_access.sql"));

/// Adds a source with what is sealed for its number.
pub(super) async fn add(
    client: &mut Client,
    new: &NewSource,
    seal: impl FnOnce(SourceId) -> Result<Vec<u8>> + Send,
) -> Result<Added> {
    let transaction = client.transaction().await.map_err(error)?;
    let added = match insert(&transaction, std::slice::from_ref(new)).await?.pop() {
        Some((_, id)) => {
            execute(&transaction, &sql::PUT_SOURCE_ACCESS, &[&id.0, &seal(id)?, &new.created_at]).await?;
            Added::New(id)
        }
        None => Added::Duplicate(find(&transaction, &key(&new.settings)).await?),
    };
    transaction.commit().await.map_err(error)?;
    Ok(added)
}

/// Keeps this in the place of what was kept before, or nothing.
pub(super) async fn save(
    client: &mut Client,
    id: SourceId,
    sealed: Option<&[u8]>,
    expected_version: Option<i64>,
    now: Timestamp,
) -> Result<Saved> {
    let transaction = client.transaction().await.map_err(error)?;
    let Some(version) = one(&transaction, &sql::TOUCH_SOURCE, &[&id.0, &expected_version, &now], number).await? else {
        return Ok(source(&transaction, id).await?.map_or(Saved::Gone, |there| Saved::Stale(Box::new(there))));
    };
    match sealed {
        Some(sealed) => execute(&transaction, &sql::PUT_SOURCE_ACCESS, &[&id.0, &sealed, &now]).await?,
        None => execute(&transaction, &sql::REMOVE_SOURCE_ACCESS, &[&id.0]).await?,
    };
    transaction.commit().await.map_err(error)?;
    Ok(Saved::Written(version))
}

pub(super) async fn sealed(client: &Client, id: SourceId) -> Result<Option<Vec<u8>>> {
    one(client, &sql::SOURCE_ACCESS, &[&id.0], |row| row.bytes()).await
}

pub(super) async fn among(client: &Client, ids: &[SourceId]) -> Result<Vec<SourceId>> {
    let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
    all_planned_anew(client, &AMONG, (&ids, Type::INT8_ARRAY), |row| required(row.integer()?).map(SourceId)).await
}
