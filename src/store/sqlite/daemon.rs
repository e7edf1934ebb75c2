//! What the daemon must know of itself after a restart, in SQLite.

use rusqlite::Connection;

use crate::model::Timestamp;

use super::super::Result;
use super::super::rows::{Columns, required};
use super::super::shared_sql as sql;
use super::values::{execute, one};

pub(super) fn paused_since(connection: &Connection) -> Result<Option<Timestamp>> {
    required(one(connection, &sql::PAUSED_SINCE, [], |row| row.time())?)
}

pub(super) fn pause(connection: &Connection, now: Timestamp) -> Result<Timestamp> {
    required(one(connection, &sql::PAUSE_POLLING, [now], |row| required(row.time()?))?)
}

pub(super) fn resume(connection: &Connection) -> Result<()> {
    execute(connection, &sql::RESUME_POLLING, []).map(|_| ())
}
