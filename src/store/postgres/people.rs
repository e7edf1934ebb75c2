//! Users, podcasts and keys in PostgreSQL.

use deadpool_postgres::Client;

use crate::model::{KeyProvider, Podcast, PodcastChanges, PodcastId, SourceId, Timestamp, User, UserId};

use super::super::Result;
use super::super::error::{has_sources, owns_podcasts};
use super::super::rows::{Columns, read_podcast, read_user, required, storable};
use super::super::shared_sql as sql;
use super::values::{all, execute, number, one};

pub(super) async fn add_user(client: &Client, name: &str, now: Timestamp) -> Result<UserId> {
    let added = one(client, &sql::ADD_USER, &[&name, &now], number).await.map_err(|error| error.or_user_taken(name));
    required(added?).map(UserId)
}

pub(super) async fn user(client: &Client, id: UserId) -> Result<Option<User>> {
    one(client, &sql::USER, &[&id.0], |row| read_user(row)).await
}

pub(super) async fn user_named(client: &Client, name: &str) -> Result<Option<User>> {
    one(client, &sql::USER_NAMED, &[&name], |row| read_user(row)).await
}

pub(super) async fn list_users(client: &Client, after: Option<UserId>, limit: u32) -> Result<Vec<User>> {
    all(client, &sql::LIST_USERS, &[&after.map_or(0, |id| id.0), &i64::from(limit)], |row| read_user(row)).await
}

pub(super) async fn rename_user(client: &Client, id: UserId, name: &str) -> Result<bool> {
    let renamed = execute(client, &sql::RENAME_USER, &[&id.0, &name]).await;
    Ok(renamed.map_err(|error| error.or_user_taken(name))? > 0)
}

pub(super) async fn remove_user(client: &Client, id: UserId) -> Result<bool> {
    let removed = execute(client, &sql::REMOVE_USER, &[&id.0]).await;
    Ok(removed.map_err(|error| error.or_in_use(|| owns_podcasts(id)))? > 0)
}

pub(super) async fn add_podcast(client: &Client, owner: UserId, title: &str, now: Timestamp) -> Result<PodcastId> {
    required(one(client, &sql::ADD_PODCAST, &[&owner.0, &title, &now], number).await?).map(PodcastId)
}

pub(super) async fn podcast(client: &Client, id: PodcastId) -> Result<Option<Podcast>> {
    one(client, &sql::PODCAST, &[&id.0], |row| read_podcast(row)).await
}

pub(super) async fn list_podcasts(
    client: &Client,
    owner: Option<UserId>,
    after: Option<PodcastId>,
    limit: u32,
) -> Result<Vec<Podcast>> {
    let (after, limit) = (after.map_or(0, |id| id.0), i64::from(limit));
    match owner {
        None => all(client, &sql::LIST_PODCASTS, &[&after, &limit], |row| read_podcast(row)).await,
        Some(user) => {
            all(client, &sql::LIST_PODCASTS_OF_USER, &[&user.0, &after, &limit], |row| read_podcast(row)).await
        }
    }
}

pub(super) async fn change_podcast(client: &Client, id: PodcastId, changes: &PodcastChanges) -> Result<bool> {
    let (owner, title) = (changes.user_id.map(|owner| owner.0), changes.title.as_deref().map(storable));
    Ok(execute(client, &sql::CHANGE_PODCAST, &[&id.0, &owner, &title]).await? > 0)
}

pub(super) async fn remove_podcast(client: &Client, id: PodcastId) -> Result<bool> {
    let removed = execute(client, &sql::REMOVE_PODCAST, &[&id.0]).await;
    Ok(removed.map_err(|error| error.or_in_use(|| has_sources(id)))? > 0)
}

pub(super) async fn put_api_key(
    client: &Client,
    user: UserId,
    provider: KeyProvider,
    sealed: &[u8],
    now: Timestamp,
) -> Result<()> {
    execute(client, &sql::PUT_API_KEY, &[&user.0, &provider.name(), &sealed, &now]).await.map(|_| ())
}

pub(super) async fn renew_api_key(
    client: &Client,
    user: UserId,
    provider: KeyProvider,
    (used, renewed): (&[u8], &[u8]),
    now: Timestamp,
) -> Result<bool> {
    Ok(execute(client, &sql::RENEW_API_KEY, &[&user.0, &provider.name(), &used, &renewed, &now]).await? > 0)
}

pub(super) async fn sealed_api_key(client: &Client, user: UserId, provider: KeyProvider) -> Result<Option<Vec<u8>>> {
    one(client, &sql::API_KEY, &[&user.0, &provider.name()], |row| row.bytes()).await
}

pub(super) async fn request_x_polls(client: &Client, user: UserId, now: Timestamp) -> Result<Vec<SourceId>> {
    all(client, &sql::REQUEST_X_POLLS, &[&user.0, &now], |row| number(row).map(SourceId)).await
}

pub(super) async fn remove_api_key(client: &Client, user: UserId, provider: KeyProvider) -> Result<bool> {
    Ok(execute(client, &sql::REMOVE_API_KEY, &[&user.0, &provider.name()]).await? > 0)
}
