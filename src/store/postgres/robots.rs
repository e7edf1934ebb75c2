//! What `robots.txt` files said, in PostgreSQL.

use deadpool_postgres::Client;

use crate::model::RobotsRecord;

use super::super::Result;
use super::super::rows::{read_robots, storable};
use super::super::shared_sql as sql;
use super::values::{execute, one as first};

pub(super) async fn one(client: &Client, origin: &str) -> Result<Option<RobotsRecord>> {
    first(client, &sql::ROBOTS, &[&origin], |row| read_robots(row)).await
}

pub(super) async fn put(client: &Client, record: &RobotsRecord) -> Result<()> {
    let rules = record.rules.as_deref().map(storable);
    execute(client, &sql::PUT_ROBOTS, &[&storable(&record.origin), &record.fetched_at, &rules]).await.map(|_| ())
}
