//! Embedded SQLite: one file, one writer thread, a few reader threads.

mod articles;
mod audit;
mod backup;
mod check;
mod cleanup;
mod compact;
mod connect;
mod daemon;
mod events;
mod full_text;
mod hosts;
mod known;
mod labels;
mod migrate;
mod numbers;
mod polls;
mod posts;
mod secrets;
mod settle;
mod source_access;
mod sources;
mod threads;
mod upkeep;
mod users;
mod values;
mod webhooks;
mod websub;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::TransactionBehavior;

use crate::model::{Cleaned, Cutoffs, NewAuditRecord, NewEvent, Timestamp};

use super::cipher::Cipher;
use super::probe::probe_body;
use super::settings::SqliteSettings;
use super::shared_sql as sql;
use super::{About, Quarantine, Result, Store, StoreError, StoreHealth, Upkeep};
use connect::{at, connect};
use numbers::NumberFile;
use threads::{Role, Threads};

pub use backup::{BackupError, BackupReport, backup};
pub use compact::{Compacted, compact};
pub use connect::refuse_foreign_file;

pub(super) use check::check;

/// Capacity of each queue; callers wait for room.
const QUEUE_JOBS: usize = 256;

/// A store in one file.
#[derive(Clone)]
pub struct SqliteStore {
    writer: Arc<Threads>,
    readers: Arc<Threads>,
    cipher: Cipher,
    numbers: Arc<NumberFile>,
    path: PathBuf,
    health: Arc<StoreHealth>,
    quarantine: Arc<Quarantine>,
    /// The same store for the API, with readers of its own.
    api: Option<Arc<SqliteStore>>,
    /// Stored with the next change that takes effect.
    audit: Option<Arc<NewAuditRecord>>,
    /// The same.
    events: Arc<[NewEvent]>,
}

impl SqliteStore {
    /// Opens or creates the file and migrates the schema.
    pub async fn open(settings: &SqliteSettings, cipher: Cipher, now: Timestamp) -> Result<SqliteStore> {
        let settings = settings.clone();
        let (path, numbers) = (settings.path.clone(), Arc::new(NumberFile::beside(&settings.path)));
        let health = Arc::<StoreHealth>::default();
        let of_threads = health.clone();
        let opened = tokio::task::spawn_blocking(move || -> Result<[Threads; 3]> {
            let mut writer = connect(&settings)?;
            // A transaction that begins by reading cannot wait for another writer later; one that begins
            // as a writer can.
            writer.set_transaction_behavior(TransactionBehavior::Immediate);
            migrate::run(&mut writer, migrate::ALL, now).map_err(|error| at(&settings.path, error))?;
            sources::fill_hosts(&mut writer).map_err(|error| at(&settings.path, error))?;
            let readers = || -> Result<Threads> {
                let readers = (0..settings.readers.max(1)).map(|_| connect(&settings)).collect::<Result<Vec<_>>>()?;
                for reader in &readers {
                    reader.pragma_update(None, "query_only", true).map_err(values::error)?;
                }
                Threads::start(Role::Reader, readers, QUEUE_JOBS, of_threads.clone())
            };
            let writer = Threads::start(Role::Writer, vec![writer], QUEUE_JOBS, of_threads.clone())?;
            Ok([writer, readers()?, readers()?])
        });
        let [writer, readers, api_readers] =
            opened.await.map_err(|error| StoreError::Internal(error.to_string()))??;
        let (writer, quarantine) = (Arc::new(writer), Arc::<Quarantine>::default());
        let api = SqliteStore {
            writer: writer.clone(),
            readers: Arc::new(api_readers),
            cipher: cipher.clone(),
            health: health.clone(),
            quarantine: quarantine.clone(),
            numbers: numbers.clone(),
            path: path.clone(),
            api: None,
            audit: None,
            events: Arc::default(),
        };
        let (readers, api) = (Arc::new(readers), Some(Arc::new(api)));
        let events = Arc::default();
        Ok(SqliteStore { writer, readers, cipher, health, quarantine, numbers, path, api, audit: None, events })
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn about(&self) -> About {
        About { engine: "sqlite", schema_version: migrate::latest() }
    }

    fn for_api(&self) -> Option<Arc<dyn Store>> {
        self.api.clone().map(|api| api as Arc<dyn Store>)
    }

    fn health(&self) -> &StoreHealth {
        &self.health
    }

    fn quarantine(&self) -> &Quarantine {
        &self.quarantine
    }

    async fn ping(&self) -> Result<()> {
        self.readers.run(|connection| values::one(connection, &sql::PING, [], values::number)).await.map(|_| ())
    }

    async fn probe(&self) -> Result<()> {
        self.health.check_intact()?;
        let probing = |connection: &mut rusqlite::Connection| {
            values::execute(connection, &sql::PUT_PROBE, [probe_body()])?;
            values::execute(connection, &sql::REMOVE_PROBE, []).map(|_| ())
        };
        self.writer.run(probing).await
    }

    async fn close(&self) {
        if let Some(api) = &self.api {
            api.readers.stop().await;
        }
        self.readers.stop().await;
        let numbers = self.numbers.clone();
        // Without the note, the next start skips a few numbers.
        let _ = self.writer.run(move |connection| numbers.close(connection)).await;
        self.writer.stop().await;
    }

    async fn clean(&self, cutoffs: Cutoffs, limit: u32) -> Result<Cleaned> {
        self.writer.run(move |connection| cleanup::step(connection, &cutoffs, limit)).await
    }

    async fn free_disk_bytes(&self) -> Option<u64> {
        let path = self.path.clone();
        let asked = tokio::task::spawn_blocking(move || rustix::fs::statvfs(&path)).await;
        let disk = asked.ok()?.ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    async fn tend(&self) -> Result<Upkeep> {
        let path = self.path.clone();
        self.writer.run(move |connection| upkeep::step(connection, &path)).await
    }
}
