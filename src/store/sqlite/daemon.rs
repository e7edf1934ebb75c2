//! Persistent state of the daemon in SQLite.

use async_trait::async_trait;

use crate::model::Timestamp;

use super::super::rows::{Columns, required};
use super::super::shared_sql as sql;
use super::super::{DaemonStore, Result};
use super::SqliteStore;
use super::values::{execute, one};

#[async_trait]
impl DaemonStore for SqliteStore {
    async fn paused_since(&self) -> Result<Option<Timestamp>> {
        required(self.readers.run(|connection| one(connection, &sql::PAUSED_SINCE, [], |row| row.time())).await?)
    }

    async fn pause_polling(&self, now: Timestamp) -> Result<Timestamp> {
        let since = self
            .writer
            .run(move |connection| one(connection, &sql::PAUSE_POLLING, [now], |row| required(row.time()?)))
            .await?;
        required(since)
    }

    async fn resume_polling(&self) -> Result<()> {
        self.writer.run(|connection| execute(connection, &sql::RESUME_POLLING, [])).await.map(|_| ())
    }
}
