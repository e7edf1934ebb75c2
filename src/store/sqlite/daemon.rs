//! What the daemon must know of itself after a restart, in SQLite.

use rusqlite::Connection;

use crate::model::Timestamp;

use super::super::Result;
use super::super::rows::{Columns, required};
use super::values::{execute, one};

const PAUSED_SINCE: &str = include_str!("../../../sql/sqlite/paused_since.sql");
const PAUSE: &str = include_str!("../../../sql/sqlite/pause_polling.sql");
const RESUME: &str = include_str!("../../../sql/sqlite/resume_polling.sql");

pub(super) fn paused_since(connection: &Connection) -> Result<Option<Timestamp>> {
    required(one(connection, PAUSED_SINCE, [], |row| row.time())?)
}

pub(super) fn pause(connection: &Connection, now: Timestamp) -> Result<Timestamp> {
    required(one(connection, PAUSE, [now], |row| required(row.time()?))?)
}

pub(super) fn resume(connection: &Connection) -> Result<()> {
    execute(connection, RESUME, []).map(|_| ())
}
