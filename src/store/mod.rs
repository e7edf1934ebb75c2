//! Where everything is kept: a trait for each noun, [`Store`] as their sum, and two engines with the same behaviour.
//!
//! Uses `model` only. What is right to write is decided elsewhere (`rules`); the store keeps it whole, once, and tells
//! when somebody else was faster. No transaction spans anything but the store itself.

mod access;
mod cipher;
mod error;
mod migrate;
mod postgres;
mod rows;
pub mod settings;
mod shared_sql;
mod source_row;
mod sqlite;
pub mod statement;
mod stream;
mod traits;

use std::sync::Arc;

use async_trait::async_trait;

use crate::model::{Cleaned, Cutoffs, HostKey, Source, SourceId, SourceType, Timestamp};

pub use error::StoreError;
pub use postgres::PostgresStore;
pub use sqlite::SqliteStore;
pub use stream::stream_sources;
pub use traits::{
    ArticleStore, DaemonStore, HostStore, LabelStore, PostStore, SourceAccessStore, SourceStore, UserStore,
    WebhookStore,
};

use settings::{EngineSettings, StoreSettings};

/// What a verb of the store returns.
pub type Result<T> = std::result::Result<T, StoreError>;

/// Keeps sources, posts, articles, hosts, users and keys.
///
/// Every verb is one transaction: all of its effects are there afterwards, or none. Verbs never block the thread that
/// awaits them.
#[async_trait]
pub trait Store:
    DaemonStore
    + SourceStore
    + LabelStore
    + SourceAccessStore
    + PostStore
    + ArticleStore
    + UserStore
    + HostStore
    + WebhookStore
{
    /// Which engine this is, and its schema's version.
    fn about(&self) -> About;

    /// Answers if the store can be reached.
    async fn ping(&self) -> Result<()>;

    /// Lets go of files and connections once what is under way is done.
    async fn close(&self);

    /// Takes one bounded step of cleaning: at most `limit` rows of each sort.
    async fn clean(&self, cutoffs: Cutoffs, limit: u32) -> Result<Cleaned>;
}

/// Which engine keeps the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// Its name, as in the URL of the database.
    pub engine: &'static str,
    /// The version of the schema.
    pub schema_version: i64,
}

/// Which sources are listed. Each of these has an index of its own, so that a page costs what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceSelection {
    /// All.
    All,
    /// Those at this host, as it is stored: the sources of a type may share a name for it.
    OfHost(HostKey),
    /// Those with this label.
    WithLabel(String),
    /// Those that are disabled.
    Disabled,
    /// Those that rest, or whose rest nobody has ended yet.
    Resting,
    /// Those whose last poll failed.
    Failing,
    /// Those that are disabled or rest.
    Inactive,
    /// Those of this type, which must not be [`SourceType::COMMON`]: nearly all are of that one.
    OfType(SourceType),
}

/// What became of a source that was to be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is there now.
    New(SourceId),
    /// It was there before.
    Duplicate(SourceId),
}

/// What became of a changed source.
#[derive(Clone, Debug, PartialEq)]
pub enum Saved {
    /// It is in the store, with this version from now on.
    Written(i64),
    /// Nothing was written: somebody else changed it in the meantime, and now it looks like this.
    Stale(Box<Source>),
    /// Nothing was written: this other source has the same URL, type and podcast.
    Duplicate(SourceId),
    /// Nothing was written: it is no longer there.
    Gone,
}

/// How often a change is tried again because somebody else was faster.
const CHANGE_ROUNDS_MAX: usize = 20;

fn changed_by_others() -> StoreError {
    StoreError::Unavailable("the webhook is being changed by others all the time".into())
}

/// Opens the store that the settings name, and brings its schema up to date.
pub async fn open(settings: &StoreSettings, now: Timestamp) -> Result<Arc<dyn Store>> {
    let cipher = cipher::Cipher::new(settings.encryption_key.as_ref())?;
    Ok(match &settings.engine {
        EngineSettings::Sqlite(engine) => Arc::new(SqliteStore::open(engine, cipher, now).await?),
        EngineSettings::Postgres(engine) => Arc::new(PostgresStore::open(engine, cipher, now).await?),
    })
}
