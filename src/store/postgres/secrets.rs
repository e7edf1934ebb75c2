//! Sealed secrets in PostgreSQL.

use async_trait::async_trait;

use super::super::cipher::Cipher;
use super::super::secrets::{
    SealedRow, SecretPlace, SecretTable, read_sealed_api_key, read_sealed_login, read_sealed_webhook,
};
use super::super::shared_sql as sql;
use super::super::{Result, SecretStore};
use super::PostgresStore;
use super::session::Session;
use super::values::{all, execute};

#[async_trait]
impl SecretStore for PostgresStore {
    async fn sealed_rows(&self, table: SecretTable, after: SecretPlace, limit: u32) -> Result<Vec<SealedRow>> {
        let client = self.client().await?;
        rows(&client, table, &after, limit).await
    }

    async fn replace_sealed(&self, table: SecretTable, row: SealedRow, sealed: Vec<u8>) -> Result<bool> {
        let client = self.client().await?;
        let SealedRow { place, sealed: old, .. } = row;
        let count = match table {
            SecretTable::SourceAccess => {
                execute(&client, &sql::RESEAL_SOURCE_ACCESS, &[&place.id, &old, &sealed]).await?
            }
            SecretTable::Webhooks => execute(&client, &sql::RESEAL_WEBHOOKS, &[&place.id, &old, &sealed]).await?,
            SecretTable::ApiKeys => {
                execute(&client, &sql::RESEAL_API_KEYS, &[&place.id, &place.provider, &old, &sealed]).await?
            }
        };
        Ok(count > 0)
    }

    fn cipher(&self) -> &Cipher {
        &self.cipher
    }
}

pub(super) async fn rows(
    client: &impl Session,
    table: SecretTable,
    after: &SecretPlace,
    limit: u32,
) -> Result<Vec<SealedRow>> {
    let limit = i64::from(limit);
    match table {
        SecretTable::SourceAccess => {
            all(client, &sql::SEALED_SOURCE_ACCESS, &[&after.id, &limit], |row| read_sealed_login(row)).await
        }
        SecretTable::Webhooks => {
            all(client, &sql::SEALED_WEBHOOKS, &[&after.id, &limit], |row| read_sealed_webhook(row)).await
        }
        SecretTable::ApiKeys => {
            all(client, &sql::SEALED_API_KEYS, &[&after.id, &after.provider, &limit], |row| read_sealed_api_key(row))
                .await
        }
    }
}
