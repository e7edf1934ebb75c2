//! What the daemon must know of itself after a restart, in PostgreSQL.

use deadpool_postgres::Client;

use crate::model::Timestamp;

use super::super::Result;
use super::super::rows::{Columns, required};
use super::values::{execute, one};

const PAUSED_SINCE: &str = include_str!("../../../sql/postgres/paused_since.sql");
const PAUSE: &str = include_str!("../../../sql/postgres/pause_polling.sql");
const RESUME: &str = include_str!("../../../sql/postgres/resume_polling.sql");

pub(super) async fn paused_since(client: &Client) -> Result<Option<Timestamp>> {
    required(one(client, PAUSED_SINCE, &[], |row| row.time()).await?)
}

pub(super) async fn pause(client: &Client, now: Timestamp) -> Result<Timestamp> {
    required(one(client, PAUSE, &[&now], |row| required(row.time()?)).await?)
}

pub(super) async fn resume(client: &Client) -> Result<()> {
    execute(client, RESUME, &[]).await.map(|_| ())
}
