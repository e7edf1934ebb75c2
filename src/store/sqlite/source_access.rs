//! What sources need to be let in, in SQLite.

use rusqlite::{Connection, params};

use crate::model::{NewSource, SourceId, Timestamp};

use super::super::rows::{Columns, required};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::super::{Added, Result, Saved};
use super::sources::{add_one, one as source};
use super::values::{all, error, execute, number, one};

static AMONG: Statement = Statement::new(include_str!("../../../sql/sqlite/sources_with_access.sql"));

/// Adds a source with what is sealed for its number.
pub(super) fn add(
    connection: &mut Connection,
    new: &NewSource,
    seal: impl FnOnce(SourceId) -> Result<Vec<u8>>,
) -> Result<Added> {
    let transaction = connection.transaction().map_err(error)?;
    let added = add_one(&transaction, new)?;
    if let Added::New(id) = added {
        execute(&transaction, &sql::PUT_SOURCE_ACCESS, params![id.0, seal(id)?, new.created_at])?;
    }
    transaction.commit().map_err(error)?;
    Ok(added)
}

/// Keeps this in the place of what was kept before, or nothing.
pub(super) fn save(
    connection: &mut Connection,
    id: SourceId,
    sealed: Option<&[u8]>,
    expected_version: Option<i64>,
    now: Timestamp,
) -> Result<Saved> {
    let transaction = connection.transaction().map_err(error)?;
    let Some(version) = one(&transaction, &sql::TOUCH_SOURCE, params![id.0, expected_version, now], number)? else {
        return Ok(source(&transaction, id)?.map_or(Saved::Gone, |there| Saved::Stale(Box::new(there))));
    };
    match sealed {
        Some(sealed) => execute(&transaction, &sql::PUT_SOURCE_ACCESS, params![id.0, sealed, now])?,
        None => execute(&transaction, &sql::REMOVE_SOURCE_ACCESS, [id.0])?,
    };
    transaction.commit().map_err(error)?;
    Ok(Saved::Written(version))
}

pub(super) fn sealed(connection: &Connection, id: SourceId) -> Result<Option<Vec<u8>>> {
    one(connection, &sql::SOURCE_ACCESS, [id.0], |row| row.bytes())
}

pub(super) fn among(connection: &Connection, ids: &[SourceId]) -> Result<Vec<SourceId>> {
    let ids = serde_json::Value::from_iter(ids.iter().map(|id| id.0)).to_string();
    all(connection, &AMONG, [ids], |row| required(row.integer()?).map(SourceId))
}
