//! Logins and headers of sources in PostgreSQL.

use async_trait::async_trait;
use tokio_postgres::types::Type;

use crate::model::{NewSource, SourceAccess, SourceId, Timestamp};

use super::super::cipher::Owner;
use super::super::rows::Columns;
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::super::{Added, Result, Saved, SourceAccessStore, access};
use super::PostgresStore;
use super::fleet::tell_owners;
use super::sources::{find, insert, key, one as source};
use super::values::{all_planned_anew, execute, number, one};

static AMONG: Statement = Statement::new(include_str!("../../../sql/postgres/sources_with_access.sql"));

#[async_trait]
impl SourceAccessStore for PostgresStore {
    async fn add_source_with_access(&self, new: NewSource, access: &SourceAccess) -> Result<Added> {
        let secret = access::to_secret(access);
        let seal = |id| self.cipher.seal(Owner::SourceAccess(id), &secret);
        add(self, &new, seal).await
    }

    async fn save_source_access(
        &self,
        source: SourceId,
        access: Option<&SourceAccess>,
        expected_version: Option<i64>,
        now: Timestamp,
    ) -> Result<Saved> {
        let sealed = access::seal(&self.cipher, source, access)?;
        save(self, source, sealed.as_deref(), expected_version, now).await
    }

    async fn source_access(&self, source: SourceId) -> Result<Option<SourceAccess>> {
        let sealed = one(&self.client().await?, &sql::SOURCE_ACCESS, &[&source.0], |row| row.bytes()).await?;
        let Some(sealed) = sealed else { return Ok(None) };
        access::from_secret(&self.cipher.open(Owner::SourceAccess(source), &sealed)?).map(Some)
    }

    async fn sources_with_access(&self, sources: Vec<SourceId>) -> Result<Vec<SourceId>> {
        let ids: Vec<i64> = sources.iter().map(|id| id.0).collect();
        let client = self.client().await?;
        all_planned_anew(&client, &AMONG, (&ids, Type::INT8_ARRAY), |row| number(row).map(SourceId)).await
    }
}

/// Adds a source together with its login and headers, encrypted for its id.
async fn add(
    store: &PostgresStore,
    new: &NewSource,
    seal: impl FnOnce(SourceId) -> Result<Vec<u8>> + Send,
) -> Result<Added> {
    let mut client = store.client().await?;
    let transaction = client.transaction().await?;
    let added = match insert(&transaction, std::slice::from_ref(new)).await?.pop() {
        Some((_, id)) => {
            execute(&transaction, &sql::PUT_SOURCE_ACCESS, &[&id.0, &seal(id)?, &new.created_at]).await?;
            tell_owners(&transaction, &store.own_node, &[id]).await?;
            Added::New(id)
        }
        None => Added::Duplicate(find(&transaction, &key(&new.settings)).await?),
    };
    store.commit(transaction, &added).await?;
    Ok(added)
}

/// Replaces or removes the stored data.
async fn save(
    store: &PostgresStore,
    id: SourceId,
    sealed: Option<&[u8]>,
    expected_version: Option<i64>,
    now: Timestamp,
) -> Result<Saved> {
    let mut client = store.client().await?;
    let transaction = client.transaction().await?;
    let Some(version) = one(&transaction, &sql::TOUCH_SOURCE, &[&id.0, &expected_version, &now], number).await? else {
        return Ok(source(&transaction, id).await?.map_or(Saved::Gone, |there| Saved::Stale(Box::new(there))));
    };
    match sealed {
        Some(sealed) => execute(&transaction, &sql::PUT_SOURCE_ACCESS, &[&id.0, &sealed, &now]).await?,
        None => execute(&transaction, &sql::REMOVE_SOURCE_ACCESS, &[&id.0]).await?,
    };
    tell_owners(&transaction, &store.own_node, &[id]).await?;
    let saved = Saved::Written(version);
    store.commit(transaction, &saved).await?;
    Ok(saved)
}
