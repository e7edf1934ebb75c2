//! Persistent state of the daemon in PostgreSQL.

use async_trait::async_trait;
use tokio_postgres::types::ToSql;

use crate::model::{ClockStep, HostKey, MovedPolls, Shard, Timestamp};

use super::super::numbers::NumberJump;
use super::super::rows::{Columns, required};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::super::{DaemonStore, Result};
use super::values::{execute, one};
use super::{PostgresStore, numbers};

static MOVE_HOST_WAITS: Statement = Statement::new(include_str!("../../../sql/postgres/move_host_waits.sql"));
static MOVE_POLLS: Statement = Statement::new(include_str!("../../../sql/postgres/move_polls.sql"));
static MOVE_FULL_TEXTS: Statement = Statement::new(include_str!("../../../sql/postgres/move_full_texts.sql"));

#[async_trait]
impl DaemonStore for PostgresStore {
    async fn paused_since(&self) -> Result<Option<Timestamp>> {
        required(one(&self.client().await?, &sql::PAUSED_SINCE, &[], |row| row.time()).await?)
    }

    async fn pause_polling(&self, now: Timestamp) -> Result<Timestamp> {
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        let since = required(one(&transaction, &sql::PAUSE_POLLING, &[&now], |row| required(row.time()?)).await?)?;
        self.commit(transaction, &since).await?;
        Ok(since)
    }

    async fn resume_polling(&self) -> Result<()> {
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        execute(&transaction, &sql::RESUME_POLLING, &[]).await?;
        self.commit(transaction, &()).await
    }

    async fn resume_numbers(&self, now: Timestamp) -> Result<Option<NumberJump>> {
        numbers::resume(&mut self.client().await?, now).await
    }

    async fn mark_restored(&self, now: Timestamp) -> Result<()> {
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        execute(&transaction, &sql::MARK_RESTORED, &[&now]).await?;
        self.commit(transaction, &()).await
    }

    async fn trusted_time(&self) -> Result<Option<Timestamp>> {
        required(one(&self.client().await?, &sql::TRUSTED_TIME, &[], |row| row.time()).await?)
    }

    async fn note_trusted_time(&self, at: Timestamp) -> Result<()> {
        execute(&self.client().await?, &sql::NOTE_TRUSTED_TIME, &[&at]).await.map(|_| ())
    }

    async fn move_waits(
        &self,
        step: ClockStep,
        polls: Option<MovedPolls>,
        except: Vec<HostKey>,
        shards: Vec<Shard>,
    ) -> Result<()> {
        let is_common = shards.contains(&Shard::COMMON);
        let shards: Vec<i32> = shards.into_iter().map(|shard| shard.0.into()).collect();
        let except: Vec<&str> = except.iter().map(HostKey::as_str).collect();
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        execute(&transaction, &MOVE_HOST_WAITS, &[&step.from, &step.to, &except, &shards]).await?;
        if is_common {
            execute(&transaction, &sql::MOVE_WEBHOOK_RETRIES, &[&step.from, &step.to]).await?;
            execute(&transaction, &sql::MOVE_SUBSCRIPTIONS, &[&step.from, &step.to]).await?;
        }
        execute(&transaction, &MOVE_FULL_TEXTS, &[&step.from, &step.to, &shards]).await?;
        if let Some(MovedPolls { since, until, drops_validators }) = polls {
            let row: [&(dyn ToSql + Sync); 6] = [&step.from, &step.to, &since, &until, &drops_validators, &shards];
            execute(&transaction, &MOVE_POLLS, &row).await?;
        }
        transaction.commit().await
    }
}
