//! Persistent state of the daemon in PostgreSQL.

use async_trait::async_trait;

use crate::model::Timestamp;

use super::super::rows::{Columns, required};
use super::super::shared_sql as sql;
use super::super::{DaemonStore, Result};
use super::PostgresStore;
use super::values::{execute, one};

#[async_trait]
impl DaemonStore for PostgresStore {
    async fn paused_since(&self) -> Result<Option<Timestamp>> {
        required(one(&*self.client().await?, &sql::PAUSED_SINCE, &[], |row| row.time()).await?)
    }

    async fn pause_polling(&self, now: Timestamp) -> Result<Timestamp> {
        let client = self.client().await?;
        required(one(&*client, &sql::PAUSE_POLLING, &[&now], |row| required(row.time()?)).await?)
    }

    async fn resume_polling(&self) -> Result<()> {
        execute(&*self.client().await?, &sql::RESUME_POLLING, &[]).await.map(|_| ())
    }
}
