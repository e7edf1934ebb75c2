//! Persistent state of the daemon in SQLite.

use async_trait::async_trait;
use rusqlite::params;

use crate::model::{ClockStep, HostKey, MovedPolls, Shard, Timestamp};

use super::super::numbers::NumberJump;
use super::super::rows::{Columns, required};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::super::{DaemonStore, Result};
use super::values::{error, execute, one};
use super::{SqliteStore, numbers};

static MOVE_HOST_WAITS: Statement = Statement::new(include_str!("../../../sql/sqlite/move_host_waits.sql"));
static MOVE_POLLS: Statement = Statement::new(include_str!("../../../sql/sqlite/move_polls.sql"));
static MOVE_FULL_TEXTS: Statement = Statement::new(include_str!("../../../sql/sqlite/move_full_texts.sql"));

#[async_trait]
impl DaemonStore for SqliteStore {
    async fn paused_since(&self) -> Result<Option<Timestamp>> {
        required(self.readers.run(|connection| one(connection, &sql::PAUSED_SINCE, [], |row| row.time())).await?)
    }

    async fn pause_polling(&self, now: Timestamp) -> Result<Timestamp> {
        let pausing = self.change(move |transaction| {
            required(one(transaction, &sql::PAUSE_POLLING, [now], |row| required(row.time()?))?)
        });
        pausing.await
    }

    async fn resume_polling(&self) -> Result<()> {
        self.change(|transaction| execute(transaction, &sql::RESUME_POLLING, []).map(|_| ())).await
    }

    async fn resume_numbers(&self, now: Timestamp) -> Result<Option<NumberJump>> {
        let numbers = self.numbers.clone();
        self.writer.run(move |connection| numbers::resume(connection, &numbers, now)).await
    }

    async fn mark_restored(&self, now: Timestamp) -> Result<()> {
        self.change(move |transaction| execute(transaction, &sql::MARK_RESTORED, [now]).map(|_| ())).await
    }

    async fn trusted_time(&self) -> Result<Option<Timestamp>> {
        required(self.readers.run(|connection| one(connection, &sql::TRUSTED_TIME, [], |row| row.time())).await?)
    }

    async fn note_trusted_time(&self, at: Timestamp) -> Result<()> {
        self.writer.run(move |connection| execute(connection, &sql::NOTE_TRUSTED_TIME, [at])).await.map(|_| ())
    }

    async fn move_waits(
        &self,
        step: ClockStep,
        polls: Option<MovedPolls>,
        except: Vec<HostKey>,
        _: Vec<Shard>,
    ) -> Result<()> {
        let except = serde_json::Value::from_iter(except.iter().map(HostKey::as_str)).to_string();
        self.writer
            .run(move |connection| {
                let transaction = connection.transaction().map_err(error)?;
                execute(&transaction, &MOVE_HOST_WAITS, params![step.from, step.to, except])?;
                execute(&transaction, &sql::MOVE_WEBHOOK_RETRIES, [step.from, step.to])?;
                execute(&transaction, &sql::MOVE_SUBSCRIPTIONS, [step.from, step.to])?;
                execute(&transaction, &MOVE_FULL_TEXTS, [step.from, step.to])?;
                if let Some(MovedPolls { since, until, drops_validators }) = polls {
                    let row = params![step.from, step.to, since, until, drops_validators];
                    execute(&transaction, &MOVE_POLLS, row)?;
                }
                transaction.commit().map_err(error)
            })
            .await
    }
}
