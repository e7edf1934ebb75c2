//! What `robots.txt` files said, in PostgreSQL.

use deadpool_postgres::Client;

use crate::model::RobotsRecord;

use super::super::Result;
use super::super::rows::{read_robots, storable};
use super::values::{execute, one as first};

const ONE: &str = include_str!("../../../sql/postgres/robots.sql");
const PUT: &str = include_str!("../../../sql/postgres/put_robots.sql");

pub(super) async fn one(client: &Client, origin: &str) -> Result<Option<RobotsRecord>> {
    first(client, ONE, &[&origin], |row| read_robots(row)).await
}

pub(super) async fn put(client: &Client, record: &RobotsRecord) -> Result<()> {
    let rules = record.rules.as_deref().map(storable);
    execute(client, PUT, &[&storable(&record.origin), &record.fetched_at, &rules]).await.map(|_| ())
}
