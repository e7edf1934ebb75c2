//! Users, podcasts and keys in SQLite.

use async_trait::async_trait;
use rusqlite::{Connection, params};
use secrecy::SecretString;

use crate::model::{KeyProvider, Podcast, PodcastChanges, PodcastId, SourceId, SourceType, Timestamp, User, UserId};

use super::super::cipher::Owner;
use super::super::error::{has_sources, owns_podcasts};
use super::super::rows::{Columns, read_podcast, read_user, required, storable};
use super::super::shared_sql as sql;
use super::super::{Result, UserStore};
use super::SqliteStore;
use super::values::{all, execute, number, one};

#[async_trait]
impl UserStore for SqliteStore {
    async fn add_user(&self, name: &str, now: Timestamp) -> Result<UserId> {
        let name = storable(name).into_owned();
        self.change(move |transaction| {
            let added = one(transaction, &sql::ADD_USER, params![name, now], number);
            required(added.map_err(|error| error.or_user_taken(&name))?).map(UserId)
        })
        .await
    }

    async fn user(&self, id: UserId) -> Result<Option<User>> {
        self.readers.run(move |connection| one(connection, &sql::USER, [id.0], |row| read_user(row))).await
    }

    async fn user_named(&self, name: &str) -> Result<Option<User>> {
        let name = storable(name).into_owned();
        self.readers.run(move |connection| one(connection, &sql::USER_NAMED, [name], |row| read_user(row))).await
    }

    async fn list_users(&self, after: Option<UserId>, limit: u32) -> Result<Vec<User>> {
        let after = after.map_or(0, |id| id.0);
        self.readers
            .run(move |connection| all(connection, &sql::LIST_USERS, params![after, limit], |row| read_user(row)))
            .await
    }

    async fn rename_user(&self, id: UserId, name: &str) -> Result<bool> {
        let name = storable(name).into_owned();
        self.change(move |transaction| {
            let renamed = execute(transaction, &sql::RENAME_USER, params![id.0, name]);
            Ok(renamed.map_err(|error| error.or_user_taken(&name))? > 0)
        })
        .await
    }

    async fn remove_user(&self, id: UserId) -> Result<bool> {
        let removed = self.change(move |transaction| Ok(execute(transaction, &sql::REMOVE_USER, [id.0])? > 0)).await;
        removed.map_err(|error| error.or_in_use(|| owns_podcasts(id)))
    }

    async fn add_podcast(&self, owner: UserId, title: &str, now: Timestamp) -> Result<PodcastId> {
        let title = storable(title).into_owned();
        self.change(move |transaction| {
            let row = params![owner.0, title, now];
            required(one(transaction, &sql::ADD_PODCAST, row, number)?).map(PodcastId)
        })
        .await
    }

    async fn podcast(&self, id: PodcastId) -> Result<Option<Podcast>> {
        self.readers.run(move |connection| one(connection, &sql::PODCAST, [id.0], |row| read_podcast(row))).await
    }

    async fn list_podcasts(&self, owner: Option<UserId>, after: Option<PodcastId>, limit: u32) -> Result<Vec<Podcast>> {
        let after = after.map_or(0, |id| id.0);
        let listing = move |connection: &mut Connection| match owner {
            None => all(connection, &sql::LIST_PODCASTS, params![after, limit], |row| read_podcast(row)),
            Some(user) => {
                let parameters = params![user.0, after, limit];
                all(connection, &sql::LIST_PODCASTS_OF_USER, parameters, |row| read_podcast(row))
            }
        };
        self.readers.run(listing).await
    }

    async fn change_podcast(&self, id: PodcastId, changes: PodcastChanges) -> Result<bool> {
        self.change(move |transaction| {
            let (owner, title) = (changes.user_id.map(|owner| owner.0), changes.title.as_deref().map(storable));
            Ok(execute(transaction, &sql::CHANGE_PODCAST, params![id.0, owner, title])? > 0)
        })
        .await
    }

    async fn remove_podcast(&self, id: PodcastId) -> Result<bool> {
        let removing = self.change(move |transaction| Ok(execute(transaction, &sql::REMOVE_PODCAST, [id.0])? > 0));
        removing.await.map_err(|error| error.or_in_use(|| has_sources(id)))
    }

    async fn put_api_key(&self, user: UserId, provider: KeyProvider, key: &SecretString, now: Timestamp) -> Result<()> {
        let sealed = self.cipher.seal(Owner::ApiKey(user, provider), key)?;
        self.change(move |transaction| {
            execute(transaction, &sql::PUT_API_KEY, params![user.0, provider.name(), sealed, now]).map(|_| ())
        })
        .await
    }

    async fn renew_api_key(
        &self,
        user: UserId,
        provider: KeyProvider,
        used: &SecretString,
        renewed: &SecretString,
        now: Timestamp,
    ) -> Result<bool> {
        let kept = self.sealed_api_key(user, provider).await?;
        let Some((old, new)) = self.cipher.swap(Owner::ApiKey(user, provider), kept, used, renewed)? else {
            return Ok(false);
        };
        let renewing = move |connection: &mut Connection| {
            Ok(execute(connection, &sql::RENEW_API_KEY, params![user.0, provider.name(), old, new, now])? > 0)
        };
        self.writer.run(renewing).await
    }

    async fn api_key(&self, user: UserId, provider: KeyProvider) -> Result<Option<SecretString>> {
        let sealed = self.sealed_api_key(user, provider).await?;
        sealed.map(|sealed| self.cipher.open(Owner::ApiKey(user, provider), &sealed)).transpose()
    }

    async fn request_keyed_polls(
        &self,
        user: UserId,
        source_type: SourceType,
        now: Timestamp,
    ) -> Result<Vec<SourceId>> {
        let requesting = move |connection: &mut Connection| {
            all(connection, &sql::REQUEST_KEYED_POLLS, params![user.0, now, source_type.name()], |row| {
                number(row).map(SourceId)
            })
        };
        self.writer.run(requesting).await
    }

    async fn remove_api_key(&self, user: UserId, provider: KeyProvider) -> Result<bool> {
        self.change(move |transaction| {
            Ok(execute(transaction, &sql::REMOVE_API_KEY, params![user.0, provider.name()])? > 0)
        })
        .await
    }
}

impl SqliteStore {
    async fn sealed_api_key(&self, user: UserId, provider: KeyProvider) -> Result<Option<Vec<u8>>> {
        let reading = move |connection: &mut Connection| {
            one(connection, &sql::API_KEY, params![user.0, provider.name()], |row| row.bytes())
        };
        self.readers.run(reading).await
    }
}
