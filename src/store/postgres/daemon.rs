//! What the daemon must know of itself after a restart, in PostgreSQL.

use deadpool_postgres::Client;

use crate::model::Timestamp;

use super::super::Result;
use super::super::rows::{Columns, required};
use super::super::shared_sql as sql;
use super::values::{execute, one};

pub(super) async fn paused_since(client: &Client) -> Result<Option<Timestamp>> {
    required(one(client, &sql::PAUSED_SINCE, &[], |row| row.time()).await?)
}

pub(super) async fn pause(client: &Client, now: Timestamp) -> Result<Timestamp> {
    required(one(client, &sql::PAUSE_POLLING, &[&now], |row| required(row.time()?)).await?)
}

pub(super) async fn resume(client: &Client) -> Result<()> {
    execute(client, &sql::RESUME_POLLING, &[]).await.map(|_| ())
}
