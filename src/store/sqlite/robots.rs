//! What `robots.txt` files said, in SQLite.

use rusqlite::{Connection, params};

use crate::model::RobotsRecord;

use super::super::Result;
use super::super::rows::{read_robots, storable};
use super::values::{execute, one as first};

const ONE: &str = include_str!("../../../sql/sqlite/robots.sql");
const PUT: &str = include_str!("../../../sql/sqlite/put_robots.sql");

pub(super) fn one(connection: &Connection, origin: &str) -> Result<Option<RobotsRecord>> {
    first(connection, ONE, [origin], |row| read_robots(row))
}

pub(super) fn put(connection: &Connection, record: &RobotsRecord) -> Result<()> {
    let rules = record.rules.as_deref().map(storable);
    execute(connection, PUT, params![storable(&record.origin), record.fetched_at, rules]).map(|_| ())
}
