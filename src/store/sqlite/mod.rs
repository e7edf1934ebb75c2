//! Embedded SQLite: one file, one writer thread, a few reader threads.

mod articles;
mod cleanup;
mod connect;
mod daemon;
mod full_text;
mod hosts;
mod known;
mod labels;
mod migrate;
mod posts;
mod settle;
mod source_access;
mod sources;
mod threads;
mod users;
mod values;
mod webhooks;

use async_trait::async_trait;
use rusqlite::TransactionBehavior;

use crate::model::{Cleaned, Cutoffs, Timestamp};

use super::cipher::Cipher;
use super::settings::SqliteSettings;
use super::shared_sql as sql;
use super::{About, Result, Store, StoreError};
use connect::{at, connect};
use threads::Threads;

/// Capacity of each queue; callers wait for room.
const QUEUE_JOBS: usize = 256;

/// A store in one file.
pub struct SqliteStore {
    writer: Threads,
    readers: Threads,
    cipher: Cipher,
}

impl SqliteStore {
    /// Opens or creates the file and migrates the schema.
    pub async fn open(settings: &SqliteSettings, cipher: Cipher, now: Timestamp) -> Result<SqliteStore> {
        let settings = settings.clone();
        let opened = tokio::task::spawn_blocking(move || -> Result<(Threads, Threads)> {
            let mut writer = connect(&settings)?;
            // A transaction that begins by reading cannot wait for another writer later; one that begins
            // as a writer can.
            writer.set_transaction_behavior(TransactionBehavior::Immediate);
            migrate::run(&mut writer, migrate::ALL, now).map_err(|error| at(&settings.path, error))?;
            sources::fill_hosts(&mut writer).map_err(|error| at(&settings.path, error))?;
            let readers = (0..settings.readers.max(1)).map(|_| connect(&settings)).collect::<Result<Vec<_>>>()?;
            for reader in &readers {
                reader.pragma_update(None, "query_only", true).map_err(values::error)?;
            }
            Ok((
                Threads::start("sqlite-writer", vec![writer], QUEUE_JOBS)?,
                Threads::start("sqlite-reader", readers, QUEUE_JOBS)?,
            ))
        });
        let (writer, readers) = opened.await.map_err(|error| StoreError::Internal(error.to_string()))??;
        Ok(SqliteStore { writer, readers, cipher })
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn about(&self) -> About {
        About { engine: "sqlite", schema_version: migrate::latest() }
    }

    async fn ping(&self) -> Result<()> {
        self.readers.run(|connection| values::one(connection, &sql::PING, [], values::number)).await.map(|_| ())
    }

    async fn close(&self) {
        self.readers.stop().await;
        self.writer.stop().await;
    }

    async fn clean(&self, cutoffs: Cutoffs, limit: u32) -> Result<Cleaned> {
        self.writer.run(move |connection| cleanup::step(connection, &cutoffs, limit)).await
    }
}
