//! Users, podcasts, keys and logins in SQLite.

use rusqlite::{Connection, params};

use crate::model::{KeyProvider, Podcast, PodcastId, SourceId, Timestamp, User, UserId};

use super::super::rows::{Columns, read_podcast, read_user, required};
use super::super::{Result, StoreError};
use super::values::{execute, number, one};

const ADD_USER: &str = include_str!("../../../sql/sqlite/add_user.sql");
const USER: &str = include_str!("../../../sql/sqlite/user.sql");
const ADD_PODCAST: &str = include_str!("../../../sql/sqlite/add_podcast.sql");
const PODCAST: &str = include_str!("../../../sql/sqlite/podcast.sql");
const PUT_API_KEY: &str = include_str!("../../../sql/sqlite/put_api_key.sql");
const API_KEY: &str = include_str!("../../../sql/sqlite/api_key.sql");
const REMOVE_API_KEY: &str = include_str!("../../../sql/sqlite/remove_api_key.sql");
const PUT_SOURCE_ACCESS: &str = include_str!("../../../sql/sqlite/put_source_access.sql");
const SOURCE_ACCESS: &str = include_str!("../../../sql/sqlite/source_access.sql");
const REMOVE_SOURCE_ACCESS: &str = include_str!("../../../sql/sqlite/remove_source_access.sql");

pub(super) fn add_user(connection: &Connection, name: &str, now: Timestamp) -> Result<UserId> {
    match one(connection, ADD_USER, params![name, now], number) {
        Err(StoreError::NameTaken(_)) => Err(StoreError::NameTaken(format!("there is a user {name:?} already"))),
        added => required(added?).map(UserId),
    }
}

pub(super) fn user(connection: &Connection, id: UserId) -> Result<Option<User>> {
    one(connection, USER, [id.0], |row| read_user(row))
}

pub(super) fn add_podcast(connection: &Connection, owner: UserId, title: &str, now: Timestamp) -> Result<PodcastId> {
    required(one(connection, ADD_PODCAST, params![owner.0, title, now], number)?).map(PodcastId)
}

pub(super) fn podcast(connection: &Connection, id: PodcastId) -> Result<Option<Podcast>> {
    one(connection, PODCAST, [id.0], |row| read_podcast(row))
}

pub(super) fn put_api_key(
    connection: &Connection,
    user: UserId,
    provider: KeyProvider,
    sealed: &[u8],
    now: Timestamp,
) -> Result<()> {
    execute(connection, PUT_API_KEY, params![user.0, provider.name(), sealed, now]).map(|_| ())
}

pub(super) fn sealed_api_key(connection: &Connection, user: UserId, provider: KeyProvider) -> Result<Option<Vec<u8>>> {
    one(connection, API_KEY, params![user.0, provider.name()], |row| row.bytes())
}

pub(super) fn remove_api_key(connection: &Connection, user: UserId, provider: KeyProvider) -> Result<bool> {
    Ok(execute(connection, REMOVE_API_KEY, params![user.0, provider.name()])? > 0)
}

pub(super) fn put_source_access(
    connection: &Connection,
    source: SourceId,
    sealed: &[u8],
    now: Timestamp,
) -> Result<()> {
    execute(connection, PUT_SOURCE_ACCESS, params![source.0, sealed, now]).map(|_| ())
}

pub(super) fn sealed_source_access(connection: &Connection, source: SourceId) -> Result<Option<Vec<u8>>> {
    one(connection, SOURCE_ACCESS, [source.0], |row| row.bytes())
}

pub(super) fn remove_source_access(connection: &Connection, source: SourceId) -> Result<bool> {
    Ok(execute(connection, REMOVE_SOURCE_ACCESS, [source.0])? > 0)
}
