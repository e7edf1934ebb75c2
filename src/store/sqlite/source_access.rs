//! Logins and headers of sources in SQLite.

use async_trait::async_trait;
use rusqlite::{Connection, Transaction, params};

use crate::model::{NewSource, SourceAccess, SourceId, Timestamp};

use super::super::cipher::Owner;
use super::super::rows::Columns;
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::super::{Added, Result, Saved, SourceAccessStore, access};
use super::SqliteStore;
use super::sources::{add_one, one as source};
use super::values::{all, execute, number, one};

static AMONG: Statement = Statement::new(include_str!("../../../sql/sqlite/sources_with_access.sql"));

#[async_trait]
impl SourceAccessStore for SqliteStore {
    async fn add_source_with_access(&self, new: NewSource, access: &SourceAccess) -> Result<Added> {
        let (cipher, secret) = (self.cipher.clone(), access::to_secret(access));
        let seal = move |id| cipher.seal(Owner::SourceAccess(id), &secret);
        self.change(move |transaction| add(transaction, &new, seal)).await
    }

    async fn save_source_access(
        &self,
        source: SourceId,
        access: Option<&SourceAccess>,
        expected_version: Option<i64>,
        now: Timestamp,
    ) -> Result<Saved> {
        let sealed = access::seal(&self.cipher, source, access)?;
        self.change(move |transaction| save(transaction, source, sealed.as_deref(), expected_version, now)).await
    }

    async fn source_access(&self, source: SourceId) -> Result<Option<SourceAccess>> {
        let sealed = self
            .readers
            .run(move |connection| one(connection, &sql::SOURCE_ACCESS, [source.0], |row| row.bytes()))
            .await?;
        let Some(sealed) = sealed else { return Ok(None) };
        access::from_secret(&self.cipher.open(Owner::SourceAccess(source), &sealed)?).map(Some)
    }

    async fn sources_with_access(&self, sources: Vec<SourceId>) -> Result<Vec<SourceId>> {
        let ids = serde_json::Value::from_iter(sources.iter().map(|id| id.0)).to_string();
        let reading =
            move |connection: &mut Connection| all(connection, &AMONG, [ids], |row| number(row).map(SourceId));
        self.readers.run(reading).await
    }
}

/// Adds a source together with its login and headers, encrypted for its id.
fn add(
    transaction: &Transaction<'_>,
    new: &NewSource,
    seal: impl FnOnce(SourceId) -> Result<Vec<u8>>,
) -> Result<Added> {
    let added = add_one(transaction, new)?;
    if let Added::New(id) = added {
        execute(transaction, &sql::PUT_SOURCE_ACCESS, params![id.0, seal(id)?, new.created_at])?;
    }
    Ok(added)
}

/// Replaces or removes the stored data.
fn save(
    transaction: &Transaction<'_>,
    id: SourceId,
    sealed: Option<&[u8]>,
    expected_version: Option<i64>,
    now: Timestamp,
) -> Result<Saved> {
    let Some(version) = one(transaction, &sql::TOUCH_SOURCE, params![id.0, expected_version, now], number)? else {
        return Ok(source(transaction, id)?.map_or(Saved::Gone, |there| Saved::Stale(Box::new(there))));
    };
    match sealed {
        Some(sealed) => execute(transaction, &sql::PUT_SOURCE_ACCESS, params![id.0, sealed, now])?,
        None => execute(transaction, &sql::REMOVE_SOURCE_ACCESS, [id.0])?,
    };
    Ok(Saved::Written(version))
}
