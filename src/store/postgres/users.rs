//! Users, podcasts and keys in PostgreSQL.

use async_trait::async_trait;
use secrecy::SecretString;
use tokio_postgres::types::ToSql;

use crate::model::{KeyProvider, Podcast, PodcastChanges, PodcastId, SourceId, SourceType, Timestamp, User, UserId};

use super::super::cipher::Owner;
use super::super::error::{has_sources, owns_podcasts};
use super::super::rows::{Columns, read_podcast, read_user, required, storable};
use super::super::shared_sql as sql;
use super::super::{Result, UserStore};
use super::PostgresStore;
use super::fleet::tell_owners;
use super::session::Lease;
use super::values::{all, execute, number, one};

#[async_trait]
impl UserStore for PostgresStore {
    async fn add_user(&self, name: &str, now: Timestamp) -> Result<UserId> {
        let name = storable(name);
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        let added = one(&transaction, &sql::ADD_USER, &[&name, &now], number).await;
        let id = UserId(required(added.map_err(|error| error.or_user_taken(&name))?)?);
        self.commit(transaction, &id).await?;
        Ok(id)
    }

    async fn user(&self, id: UserId) -> Result<Option<User>> {
        one(&self.client().await?, &sql::USER, &[&id.0], |row| read_user(row)).await
    }

    async fn user_named(&self, name: &str) -> Result<Option<User>> {
        one(&self.client().await?, &sql::USER_NAMED, &[&storable(name)], |row| read_user(row)).await
    }

    async fn list_users(&self, after: Option<UserId>, limit: u32) -> Result<Vec<User>> {
        let (after, limit) = (after.map_or(0, |id| id.0), i64::from(limit));
        all(&self.client().await?, &sql::LIST_USERS, &[&after, &limit], |row| read_user(row)).await
    }

    async fn rename_user(&self, id: UserId, name: &str) -> Result<bool> {
        let name = storable(name);
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        let renamed = execute(&transaction, &sql::RENAME_USER, &[&id.0, &name]).await;
        let is_found = renamed.map_err(|error| error.or_user_taken(&name))? > 0;
        self.commit(transaction, &is_found).await?;
        Ok(is_found)
    }

    async fn remove_user(&self, id: UserId) -> Result<bool> {
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        let removed = execute(&transaction, &sql::REMOVE_USER, &[&id.0]).await;
        let is_found = removed.map_err(|error| error.or_in_use(|| owns_podcasts(id)))? > 0;
        self.commit(transaction, &is_found).await?;
        Ok(is_found)
    }

    async fn add_podcast(&self, owner: UserId, title: &str, now: Timestamp) -> Result<PodcastId> {
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        let row: [&(dyn ToSql + Sync); 3] = [&owner.0, &storable(title), &now];
        let id = PodcastId(required(one(&transaction, &sql::ADD_PODCAST, &row, number).await?)?);
        self.commit(transaction, &id).await?;
        Ok(id)
    }

    async fn podcast(&self, id: PodcastId) -> Result<Option<Podcast>> {
        one(&self.client().await?, &sql::PODCAST, &[&id.0], |row| read_podcast(row)).await
    }

    async fn list_podcasts(&self, owner: Option<UserId>, after: Option<PodcastId>, limit: u32) -> Result<Vec<Podcast>> {
        let client = &self.client().await?;
        let (after, limit) = (after.map_or(0, |id| id.0), i64::from(limit));
        match owner {
            None => all(client, &sql::LIST_PODCASTS, &[&after, &limit], |row| read_podcast(row)).await,
            Some(user) => {
                all(client, &sql::LIST_PODCASTS_OF_USER, &[&user.0, &after, &limit], |row| read_podcast(row)).await
            }
        }
    }

    async fn change_podcast(&self, id: PodcastId, changes: PodcastChanges) -> Result<bool> {
        let (owner, title) = (changes.user_id.map(|owner| owner.0), changes.title.as_deref().map(storable));
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        let is_found = execute(&transaction, &sql::CHANGE_PODCAST, &[&id.0, &owner, &title]).await? > 0;
        self.commit(transaction, &is_found).await?;
        Ok(is_found)
    }

    async fn remove_podcast(&self, id: PodcastId) -> Result<bool> {
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        let removed = execute(&transaction, &sql::REMOVE_PODCAST, &[&id.0]).await;
        let is_found = removed.map_err(|error| error.or_in_use(|| has_sources(id)))? > 0;
        self.commit(transaction, &is_found).await?;
        Ok(is_found)
    }

    async fn put_api_key(&self, user: UserId, provider: KeyProvider, key: &SecretString, now: Timestamp) -> Result<()> {
        let sealed = self.cipher.seal(Owner::ApiKey(user, provider), key)?;
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        execute(&transaction, &sql::PUT_API_KEY, &[&user.0, &provider.name(), &sealed, &now]).await?;
        self.commit(transaction, &()).await
    }

    async fn renew_api_key(
        &self,
        user: UserId,
        provider: KeyProvider,
        used: &SecretString,
        renewed: &SecretString,
        now: Timestamp,
    ) -> Result<bool> {
        let client = &self.client().await?;
        let kept = sealed_api_key(client, user, provider).await?;
        let Some((old, new)) = self.cipher.swap(Owner::ApiKey(user, provider), kept, used, renewed)? else {
            return Ok(false);
        };
        Ok(execute(client, &sql::RENEW_API_KEY, &[&user.0, &provider.name(), &old, &new, &now]).await? > 0)
    }

    async fn api_key(&self, user: UserId, provider: KeyProvider) -> Result<Option<SecretString>> {
        let sealed = sealed_api_key(&self.client().await?, user, provider).await?;
        sealed.map(|sealed| self.cipher.open(Owner::ApiKey(user, provider), &sealed)).transpose()
    }

    async fn request_keyed_polls(
        &self,
        user: UserId,
        source_type: SourceType,
        now: Timestamp,
    ) -> Result<Vec<SourceId>> {
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        let row: [&(dyn ToSql + Sync); 3] = [&user.0, &now, &source_type.name()];
        let found = all(&transaction, &sql::REQUEST_KEYED_POLLS, &row, |row| number(row).map(SourceId)).await?;
        tell_owners(&transaction, &self.own_node, &found).await?;
        transaction.commit().await?;
        Ok(found)
    }

    async fn remove_api_key(&self, user: UserId, provider: KeyProvider) -> Result<bool> {
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        let is_found = execute(&transaction, &sql::REMOVE_API_KEY, &[&user.0, &provider.name()]).await? > 0;
        self.commit(transaction, &is_found).await?;
        Ok(is_found)
    }
}

async fn sealed_api_key(client: &Lease, user: UserId, provider: KeyProvider) -> Result<Option<Vec<u8>>> {
    one(client, &sql::API_KEY, &[&user.0, &provider.name()], |row| row.bytes()).await
}
