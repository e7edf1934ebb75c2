//! What `robots.txt` files said, in SQLite.

use rusqlite::{Connection, params};

use crate::model::RobotsRecord;

use super::super::Result;
use super::super::rows::{read_robots, storable};
use super::super::shared_sql as sql;
use super::values::{execute, one as first};

pub(super) fn one(connection: &Connection, origin: &str) -> Result<Option<RobotsRecord>> {
    first(connection, &sql::ROBOTS, [origin], |row| read_robots(row))
}

pub(super) fn put(connection: &Connection, record: &RobotsRecord) -> Result<()> {
    let rules = record.rules.as_deref().map(storable);
    execute(connection, &sql::PUT_ROBOTS, params![storable(&record.origin), record.fetched_at, rules]).map(|_| ())
}
