//! Sealed secrets in SQLite.

use async_trait::async_trait;
use rusqlite::{Connection, params};

use super::super::cipher::Cipher;
use super::super::secrets::{
    SealedRow, SecretPlace, SecretTable, read_sealed_api_key, read_sealed_login, read_sealed_webhook,
};
use super::super::shared_sql as sql;
use super::super::{Result, SecretStore};
use super::SqliteStore;
use super::values::{all, execute};

#[async_trait]
impl SecretStore for SqliteStore {
    async fn sealed_rows(&self, table: SecretTable, after: SecretPlace, limit: u32) -> Result<Vec<SealedRow>> {
        self.readers.run(move |connection| rows(connection, table, &after, limit)).await
    }

    async fn replace_sealed(&self, table: SecretTable, row: SealedRow, sealed: Vec<u8>) -> Result<bool> {
        let replacing = move |connection: &mut Connection| {
            let SealedRow { place, sealed: old, .. } = row;
            Ok(match table {
                SecretTable::SourceAccess => {
                    execute(connection, &sql::RESEAL_SOURCE_ACCESS, params![place.id, old, sealed])?
                }
                SecretTable::Webhooks => execute(connection, &sql::RESEAL_WEBHOOKS, params![place.id, old, sealed])?,
                SecretTable::ApiKeys => {
                    execute(connection, &sql::RESEAL_API_KEYS, params![place.id, place.provider, old, sealed])?
                }
            } > 0)
        };
        self.writer.run(replacing).await
    }

    fn cipher(&self) -> &Cipher {
        &self.cipher
    }
}

pub(super) fn rows(
    connection: &Connection,
    table: SecretTable,
    after: &SecretPlace,
    limit: u32,
) -> Result<Vec<SealedRow>> {
    match table {
        SecretTable::SourceAccess => {
            all(connection, &sql::SEALED_SOURCE_ACCESS, params![after.id, limit], |row| read_sealed_login(row))
        }
        SecretTable::Webhooks => {
            all(connection, &sql::SEALED_WEBHOOKS, params![after.id, limit], |row| read_sealed_webhook(row))
        }
        SecretTable::ApiKeys => {
            all(connection, &sql::SEALED_API_KEYS, params![after.id, after.provider, limit], |row| {
                read_sealed_api_key(row)
            })
        }
    }
}
