//! Users, podcasts, keys and logins in PostgreSQL.

use deadpool_postgres::Client;

use crate::model::{KeyProvider, Podcast, PodcastId, SourceId, Timestamp, User, UserId};

use super::super::rows::{Columns, read_podcast, read_user, required};
use super::super::{Result, StoreError};
use super::values::{execute, number, one};

const ADD_USER: &str = include_str!("../../../sql/postgres/add_user.sql");
const USER: &str = include_str!("../../../sql/postgres/user.sql");
const ADD_PODCAST: &str = include_str!("../../../sql/postgres/add_podcast.sql");
const PODCAST: &str = include_str!("../../../sql/postgres/podcast.sql");
const PUT_API_KEY: &str = include_str!("../../../sql/postgres/put_api_key.sql");
const API_KEY: &str = include_str!("../../../sql/postgres/api_key.sql");
const REMOVE_API_KEY: &str = include_str!("../../../sql/postgres/remove_api_key.sql");
const PUT_SOURCE_ACCESS: &str = include_str!("../../../sql/postgres/put_source_access.sql");
const SOURCE_ACCESS: &str = include_str!("../../../sql/postgres/source_access.sql");
const REMOVE_SOURCE_ACCESS: &str = include_str!("../../../sql/postgres/remove_source_access.sql");

pub(super) async fn add_user(client: &Client, name: &str, now: Timestamp) -> Result<UserId> {
    match one(client, ADD_USER, &[&name, &now], number).await {
        Err(StoreError::NameTaken(_)) => Err(StoreError::NameTaken(format!("there is a user {name:?} already"))),
        added => required(added?).map(UserId),
    }
}

pub(super) async fn user(client: &Client, id: UserId) -> Result<Option<User>> {
    one(client, USER, &[&id.0], |row| read_user(row)).await
}

pub(super) async fn add_podcast(client: &Client, owner: UserId, title: &str, now: Timestamp) -> Result<PodcastId> {
    required(one(client, ADD_PODCAST, &[&owner.0, &title, &now], number).await?).map(PodcastId)
}

pub(super) async fn podcast(client: &Client, id: PodcastId) -> Result<Option<Podcast>> {
    one(client, PODCAST, &[&id.0], |row| read_podcast(row)).await
}

pub(super) async fn put_api_key(
    client: &Client,
    user: UserId,
    provider: KeyProvider,
    sealed: &[u8],
    now: Timestamp,
) -> Result<()> {
    execute(client, PUT_API_KEY, &[&user.0, &provider.name(), &sealed, &now]).await.map(|_| ())
}

pub(super) async fn sealed_api_key(client: &Client, user: UserId, provider: KeyProvider) -> Result<Option<Vec<u8>>> {
    one(client, API_KEY, &[&user.0, &provider.name()], |row| row.bytes()).await
}

pub(super) async fn remove_api_key(client: &Client, user: UserId, provider: KeyProvider) -> Result<bool> {
    Ok(execute(client, REMOVE_API_KEY, &[&user.0, &provider.name()]).await? > 0)
}

pub(super) async fn put_source_access(client: &Client, source: SourceId, sealed: &[u8], now: Timestamp) -> Result<()> {
    execute(client, PUT_SOURCE_ACCESS, &[&source.0, &sealed, &now]).await.map(|_| ())
}

pub(super) async fn sealed_source_access(client: &Client, source: SourceId) -> Result<Option<Vec<u8>>> {
    one(client, SOURCE_ACCESS, &[&source.0], |row| row.bytes()).await
}

pub(super) async fn remove_source_access(client: &Client, source: SourceId) -> Result<bool> {
    Ok(execute(client, REMOVE_SOURCE_ACCESS, &[&source.0]).await? > 0)
}
