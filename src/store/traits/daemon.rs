//! Persistent state of the daemon, secrets and audit.

use std::sync::Arc;

use async_trait::async_trait;

use crate::model::{AuditFilter, AuditRecord, ClockStep, HostKey, MovedPolls, NewAuditRecord, Shard, Timestamp};

use super::super::cipher::Cipher;
use super::super::numbers::NumberJump;
use super::super::secrets::{SealedRow, SecretPlace, SecretTable};
use super::super::{Result, Store};

/// Persistent state of the daemon.
#[async_trait]
pub trait DaemonStore: Send + Sync {
    /// Since when polling is paused, if it is.
    async fn paused_since(&self) -> Result<Option<Timestamp>>;

    /// Stores a pause and returns its start; an existing pause is kept.
    async fn pause_polling(&self, now: Timestamp) -> Result<Timestamp>;

    /// Ends the pause, if there is one.
    async fn resume_polling(&self) -> Result<()>;

    /// To be called once, before posts are stored: makes sure that no number of a post is issued twice, also if the
    /// store is an older copy of the one that was used last. Returns what was skipped.
    async fn resume_numbers(&self, now: Timestamp) -> Result<Option<NumberJump>>;

    /// Notes that the store was restored in a way that it cannot notice: the next [`resume_numbers`] skips numbers.
    ///
    /// [`resume_numbers`]: DaemonStore::resume_numbers
    async fn mark_restored(&self, now: Timestamp) -> Result<()>;
    /// The newest time that was trusted, if any was noted.
    async fn trusted_time(&self) -> Result<Option<Timestamp>>;

    async fn note_trusted_time(&self, at: Timestamp) -> Result<()>;

    /// Moves waits that were not over before a step of the clock, or would not be after it, with the clock: holds and breakers of hosts, retries of
    /// webhooks, pages of entries. Those of other nodes' shards stay as they are, and these hosts: their caller has moved
    /// them and stores them.
    async fn move_waits(
        &self,
        step: ClockStep,
        polls: Option<MovedPolls>,
        except: Vec<HostKey>,
        shards: Vec<Shard>,
    ) -> Result<()>;
}

/// Sealed secrets, whatever they are for.
#[async_trait]
pub trait SecretStore: Send + Sync {
    /// Sealed secrets of a table after this place, in order.
    async fn sealed_rows(&self, table: SecretTable, after: SecretPlace, limit: u32) -> Result<Vec<SealedRow>>;

    /// Replaces a ciphertext by another one of the same secret; false if the row has another one by now.
    async fn replace_sealed(&self, table: SecretTable, row: SealedRow, sealed: Vec<u8>) -> Result<bool>;

    fn cipher(&self) -> &Cipher;
}

/// Records of changes. [`Store::clean`](crate::store::Store::clean) removes old ones.
#[async_trait]
pub trait AuditStore: Send + Sync {
    /// The same store, whose changes store this record in their own transaction if they take effect
    /// ([`ChangeOutcome`](crate::store::ChangeOutcome)). To be used for one change.
    fn audited(&self, record: NewAuditRecord) -> Arc<dyn Store>;

    /// Stores the record of a change that is no write of the store.
    async fn add_audit_record(&self, record: NewAuditRecord) -> Result<()>;

    /// Records of this selection with ids below this one, newest first.
    async fn list_audit_records(
        &self,
        filter: AuditFilter,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<AuditRecord>>;
}
