//! The database: a trait for each noun, [`Store`] as their sum, and two engines with the same behaviour.
//!
//! Uses `model` only. `rules` decide what to write; the store writes it atomically and reports
//! concurrent changes.

mod access;
mod audit;
mod check;
mod cipher;
mod error;
mod event_row;
mod health;
mod migrate;
mod numbers;
mod poll_row;
mod post_pages;
mod post_row;
mod postgres;
mod probe;
mod quarantine;
mod rows;
mod secrets;
pub mod settings;
mod shared_sql;
mod source_row;
mod sqlite;
pub mod statement;
mod stream;
mod subscription_row;
mod traits;

use std::sync::Arc;

use async_trait::async_trait;

use crate::model::{Cleaned, Cutoffs, HostKey, Source, SourceId, SourceType, Timestamp};

pub use audit::{ChangeEffect, ChangeOutcome};
pub use check::{CheckReport, StoreProblem, StoreProblemKind, TableCount, check};
pub use error::StoreError;
pub use health::{StoreHealth, StoreTrouble};
pub use numbers::{JumpReason, NumberJump};
pub use post_pages::{PageBounds, PostMatch, PostPage, PostSelection};
pub use postgres::PostgresStore;
pub use quarantine::{Quarantine, QuarantineNews};
pub use secrets::{Resealed, SealedRow, SecretCheck, SecretCounts, SecretPlace, SecretTable, check_secrets, reseal};
pub use sqlite::{BackupError, BackupReport, Compacted, SqliteStore, backup, compact, refuse_foreign_file};
pub use stream::stream_sources;
pub use traits::{
    ArticleStore, AuditStore, DaemonStore, EventStore, FleetNews, FleetStore, FullTextStore, HostStore, LabelStore,
    PollStore, PostStore, SecretStore, SourceAccessStore, SourceStore, UserStore, WebSubStore, WebhookStore,
};

use settings::{EngineSettings, StoreSettings};

pub type Result<T> = std::result::Result<T, StoreError>;

/// The whole store.
///
/// Every method is one transaction: all of its effects or none. Methods never block the thread that
/// awaits them.
#[async_trait]
pub trait Store:
    DaemonStore
    + SourceStore
    + LabelStore
    + SourceAccessStore
    + PostStore
    + PollStore
    + FullTextStore
    + ArticleStore
    + UserStore
    + HostStore
    + WebhookStore
    + WebSubStore
    + SecretStore
    + AuditStore
    + EventStore
{
    fn about(&self) -> About;

    /// The same store with connections of its own, for the API: a flood of requests does not delay the pipeline.
    fn for_api(&self) -> Option<Arc<dyn Store>>;

    /// The nodes that share the store; none if one process at a time uses it.
    fn fleet(&self) -> Option<Arc<dyn FleetStore>> {
        None
    }

    /// Whether the store takes writes, by the last one of any caller.
    fn health(&self) -> &StoreHealth;

    /// Rows that cannot be read.
    fn quarantine(&self) -> &Quarantine;

    async fn ping(&self) -> Result<()>;

    /// Writes something and removes it, to find out whether the store takes writes. Fails for good once damage was
    /// found.
    async fn probe(&self) -> Result<()>;

    /// Closes files and connections after running methods have finished.
    async fn close(&self);

    /// One bounded step of the clean-up: at most `limit` rows of each kind.
    async fn clean(&self, cutoffs: Cutoffs, limit: u32) -> Result<Cleaned>;

    /// Space left for the files of the store; none if they are on a server, or if the system does not tell.
    async fn free_disk_bytes(&self) -> Option<u64> {
        None
    }

    /// One bounded step of the upkeep of files, if the store has files of its own.
    async fn tend(&self) -> Result<Upkeep> {
        Ok(Upkeep::default())
    }
}

/// The files of a store after a step of their upkeep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Upkeep {
    /// Bytes that were given back to the file system.
    pub freed_bytes: u64,
    /// Size of the write-ahead log.
    pub wal_bytes: u64,
    /// Whether the write-ahead log is above its bound, because a reader still needs it.
    pub is_wal_held: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// Name, as in the URL of the database.
    pub engine: &'static str,
    /// The version of the schema.
    pub schema_version: i64,
}

/// Selects sources. Each variant has an index, so that the cost of a page depends on its size only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceSelection {
    All,
    /// Those at this host, as it is stored: the sources of a type may share a name for it.
    OfHost(HostKey),
    /// Those with this label.
    WithLabel(String),
    /// Those that are disabled.
    Disabled,
    /// With a rest, whether or not its cooldown is over.
    Resting,
    /// Those whose last poll failed.
    Failing,
    /// Those that are disabled or rest.
    Inactive,
    /// Not [`SourceType::COMMON`], which is the type of nearly all sources.
    OfType(SourceType),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// Added.
    New(SourceId),
    /// Existed already.
    Duplicate(SourceId),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Saved {
    /// Stored with this new version.
    Written(i64),
    /// Nothing was written: the source has changed since; this is its current state.
    Stale(Box<Source>),
    /// Nothing was written: this other source has the same URL, type and podcast.
    Duplicate(SourceId),
    /// Nothing was written: the source was removed.
    Gone,
}

/// Maximum number of retries after concurrent changes.
const CHANGE_ROUNDS_MAX: usize = 20;

fn changed_by_others() -> StoreError {
    StoreError::Unavailable("the webhook is being changed by others all the time".into())
}

/// Opens the configured store and migrates its schema.
pub async fn open(settings: &StoreSettings, now: Timestamp) -> Result<Arc<dyn Store>> {
    let cipher = cipher::Cipher::new(settings.encryption_key.as_ref())?;
    Ok(match &settings.engine {
        EngineSettings::Sqlite(engine) => Arc::new(SqliteStore::open(engine, cipher, now).await?),
        EngineSettings::Postgres(engine) => Arc::new(PostgresStore::open(engine, cipher, now).await?),
    })
}
