//! Users, podcasts and keys in SQLite.

use rusqlite::{Connection, params};

use crate::model::{KeyProvider, Podcast, PodcastChanges, PodcastId, SourceId, Timestamp, User, UserId};

use super::super::Result;
use super::super::error::{has_sources, owns_podcasts};
use super::super::rows::{Columns, read_podcast, read_user, required, storable};
use super::super::shared_sql as sql;
use super::values::{all, execute, number, one};

pub(super) fn add_user(connection: &Connection, name: &str, now: Timestamp) -> Result<UserId> {
    let added = one(connection, &sql::ADD_USER, params![name, now], number).map_err(|error| error.or_user_taken(name));
    required(added?).map(UserId)
}

pub(super) fn user(connection: &Connection, id: UserId) -> Result<Option<User>> {
    one(connection, &sql::USER, [id.0], |row| read_user(row))
}

pub(super) fn user_named(connection: &Connection, name: &str) -> Result<Option<User>> {
    one(connection, &sql::USER_NAMED, [name], |row| read_user(row))
}

pub(super) fn list_users(connection: &Connection, after: Option<UserId>, limit: u32) -> Result<Vec<User>> {
    all(connection, &sql::LIST_USERS, params![after.map_or(0, |id| id.0), limit], |row| read_user(row))
}

pub(super) fn rename_user(connection: &Connection, id: UserId, name: &str) -> Result<bool> {
    let renamed = execute(connection, &sql::RENAME_USER, params![id.0, name]);
    Ok(renamed.map_err(|error| error.or_user_taken(name))? > 0)
}

pub(super) fn remove_user(connection: &Connection, id: UserId) -> Result<bool> {
    let removed = execute(connection, &sql::REMOVE_USER, [id.0]);
    Ok(removed.map_err(|error| error.or_in_use(|| owns_podcasts(id)))? > 0)
}

pub(super) fn add_podcast(connection: &Connection, owner: UserId, title: &str, now: Timestamp) -> Result<PodcastId> {
    required(one(connection, &sql::ADD_PODCAST, params![owner.0, title, now], number)?).map(PodcastId)
}

pub(super) fn podcast(connection: &Connection, id: PodcastId) -> Result<Option<Podcast>> {
    one(connection, &sql::PODCAST, [id.0], |row| read_podcast(row))
}

pub(super) fn list_podcasts(
    connection: &Connection,
    owner: Option<UserId>,
    after: Option<PodcastId>,
    limit: u32,
) -> Result<Vec<Podcast>> {
    let after = after.map_or(0, |id| id.0);
    match owner {
        None => all(connection, &sql::LIST_PODCASTS, params![after, limit], |row| read_podcast(row)),
        Some(user) => {
            all(connection, &sql::LIST_PODCASTS_OF_USER, params![user.0, after, limit], |row| read_podcast(row))
        }
    }
}

pub(super) fn change_podcast(connection: &Connection, id: PodcastId, changes: &PodcastChanges) -> Result<bool> {
    let (owner, title) = (changes.user_id.map(|owner| owner.0), changes.title.as_deref().map(storable));
    Ok(execute(connection, &sql::CHANGE_PODCAST, params![id.0, owner, title])? > 0)
}

pub(super) fn remove_podcast(connection: &Connection, id: PodcastId) -> Result<bool> {
    let removed = execute(connection, &sql::REMOVE_PODCAST, [id.0]);
    Ok(removed.map_err(|error| error.or_in_use(|| has_sources(id)))? > 0)
}

pub(super) fn put_api_key(
    connection: &Connection,
    user: UserId,
    provider: KeyProvider,
    sealed: &[u8],
    now: Timestamp,
) -> Result<()> {
    execute(connection, &sql::PUT_API_KEY, params![user.0, provider.name(), sealed, now]).map(|_| ())
}

pub(super) fn renew_api_key(
    connection: &Connection,
    user: UserId,
    provider: KeyProvider,
    (used, renewed): (&[u8], &[u8]),
    now: Timestamp,
) -> Result<bool> {
    Ok(execute(connection, &sql::RENEW_API_KEY, params![user.0, provider.name(), used, renewed, now])? > 0)
}

pub(super) fn sealed_api_key(connection: &Connection, user: UserId, provider: KeyProvider) -> Result<Option<Vec<u8>>> {
    one(connection, &sql::API_KEY, params![user.0, provider.name()], |row| row.bytes())
}

pub(super) fn request_x_polls(connection: &Connection, user: UserId, now: Timestamp) -> Result<Vec<SourceId>> {
    all(connection, &sql::REQUEST_X_POLLS, params![user.0, now], |row| number(row).map(SourceId))
}

pub(super) fn remove_api_key(connection: &Connection, user: UserId, provider: KeyProvider) -> Result<bool> {
    Ok(execute(connection, &sql::REMOVE_API_KEY, params![user.0, provider.name()])? > 0)
}
