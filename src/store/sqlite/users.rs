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
        let adding = move |connection: &mut Connection| {
            let added = one(connection, &sql::ADD_USER, params![name, now], number);
            required(added.map_err(|error| error.or_user_taken(&name))?).map(UserId)
        };
        self.writer.run(adding).await
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
        let renaming = move |connection: &mut Connection| {
            let renamed = execute(connection, &sql::RENAME_USER, params![id.0, name]);
            Ok(renamed.map_err(|error| error.or_user_taken(&name))? > 0)
        };
        self.writer.run(renaming).await
    }

    async fn remove_user(&self, id: UserId) -> Result<bool> {
        let removed = self.writer.run(move |connection| execute(connection, &sql::REMOVE_USER, [id.0])).await;
        Ok(removed.map_err(|error| error.or_in_use(|| owns_podcasts(id)))? > 0)
    }

    async fn add_podcast(&self, owner: UserId, title: &str, now: Timestamp) -> Result<PodcastId> {
        let title = storable(title).into_owned();
        let adding =
            move |connection: &mut Connection| one(connection, &sql::ADD_PODCAST, params![owner.0, title, now], number);
        required(self.writer.run(adding).await?).map(PodcastId)
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
        let changing = move |connection: &mut Connection| {
            let (owner, title) = (changes.user_id.map(|owner| owner.0), changes.title.as_deref().map(storable));
            Ok(execute(connection, &sql::CHANGE_PODCAST, params![id.0, owner, title])? > 0)
        };
        self.writer.run(changing).await
    }

    async fn remove_podcast(&self, id: PodcastId) -> Result<bool> {
        let removed = self.writer.run(move |connection| execute(connection, &sql::REMOVE_PODCAST, [id.0])).await;
        Ok(removed.map_err(|error| error.or_in_use(|| has_sources(id)))? > 0)
    }

    async fn put_api_key(&self, user: UserId, provider: KeyProvider, key: &SecretString, now: Timestamp) -> Result<()> {
        let sealed = self.cipher.seal(Owner::ApiKey(user, provider), key)?;
        let putting = move |connection: &mut Connection| {
            execute(connection, &sql::PUT_API_KEY, params![user.0, provider.name(), sealed, now]).map(|_| ())
        };
        self.writer.run(putting).await
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
        let removing = move |connection: &mut Connection| {
            Ok(execute(connection, &sql::REMOVE_API_KEY, params![user.0, provider.name()])? > 0)
        };
        self.writer.run(removing).await
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
