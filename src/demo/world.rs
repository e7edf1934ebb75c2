//! The simulated web, a temporary store and the pipeline.

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::task::JoinHandle;
use slog::Logger;
use tempfile::TempDir;

use super::audit::Audit;
use super::fleet::POSTGRES_VERSION_MIN;
use super::settings::DemoSettings;
use super::web::Web;
use crate::actors::{Fleet, Parts, Pipeline, PipelineHandle, Scope};
use crate::clock::{Clock, FastClock};
use crate::dice::SeededDice;
use crate::fetch::Fetcher;
use crate::http::{Client, SetupError};
use crate::model::{NewSource, SourceId, SourceSettings};
use crate::sources::TypeSettings;
use crate::store::settings::{EngineSettings, SqliteSettings, StoreSettings, Synchronous};
use crate::store::{self, Added, Store, StoreError};
use crate::supervision::{Crash, RootEnd};
use crate::telemetry::{self, LogSettings, StartError, Telemetry};

/// Time limit for stopping all actors.
const STOP_WITHIN: Duration = Duration::from_secs(10);
/// How many sources are added in one transaction.
const ADD_AT_ONCE: usize = 500;

#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    #[error("cannot start the simulated web on 127.0.0.0/8: {0}")]
    Web(#[source] io::Error),
    #[error("{0}")]
    System(#[from] io::Error),
    #[error(transparent)]
    Log(#[from] StartError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Http(#[from] SetupError),
    #[error("a part of the daemon crashed too often: {}", .0.message)]
    Escalated(Box<Crash>),
    #[error(
        "this demo starts a temporary PostgreSQL server and found no programs for it (initdb, pg_ctl, postgres of \
         PostgreSQL {POSTGRES_VERSION_MIN} or later) in PATH, /usr/lib/postgresql/*/bin or the directory of pg_config: \
         install them, on Debian and Ubuntu with `apt-get install postgresql`"
    )]
    NoPostgres,
    #[error("cannot start a temporary PostgreSQL server: {0}")]
    Postgres(String),
    #[error("cannot start {name}: {cause}")]
    NodeStart { name: String, cause: io::Error },
    #[error("{name} ended by itself ({status}){words}")]
    NodeEnded { name: String, status: ExitStatus, words: String },
    #[error("the nodes did not take all shards within {} s", .0.as_secs())]
    NotReady(Duration),
    /// A second signal ended the demo.
    #[error("ended before the store could be compared with what was served")]
    Hurried,
}

/// All parts of the demo. Dropping it removes everything.
pub(super) struct World {
    pub(super) web: Web,
    pub(super) clock: Arc<FastClock>,
    pub(super) store: Arc<dyn Store>,
    pub(super) pipeline: PipelineHandle,
    /// The source of each site.
    pub(super) sources: Vec<SourceId>,
    pub(super) running: JoinHandle<RootEnd>,
    _telemetry: Option<Telemetry>,
    /// Dropped last, after all writers.
    directory: TempDir,
}

impl World {
    /// Builds the web, fills the store, and starts to poll.
    pub(super) async fn start(settings: &DemoSettings) -> Result<World, DemoError> {
        let clock = Arc::new(FastClock::new(settings.speed));
        let telemetry = settings.log.clone().map(|file| {
            let log = LogSettings { file: Some(file), ..LogSettings::default() };
            telemetry::start(&log, clock.clone())
        });
        let telemetry = telemetry.transpose()?;
        let log = match &telemetry {
            Some(telemetry) => telemetry.logger.clone(),
            None => Logger::root(slog::Discard, slog::o!()),
        };
        let web = Web::start(settings.web(), clock.clone()).map_err(DemoError::Web)?;
        let directory = tempfile::Builder::new().prefix("feedwarden-demo-").tempdir()?;
        let store = open(&directory, &clock).await?;
        let sources = add_all(&web, store.as_ref(), clock.as_ref()).await?;
        let now = clock.clone();
        let parts = Parts {
            store: store.clone(),
            clock: clock.clone(),
            dice: Arc::new(SeededDice::new(settings.seed)),
            fetcher: Fetcher::new(Client::new(settings.http(), move || now.now())?),
            type_settings: TypeSettings::default(),
            policy: settings.policy(),
            settings: settings.pipeline(),
            fleet: Fleet::alone(),
            log,
        };
        let pipeline = Pipeline::new(parts, Scope::Daemon);
        let handle = pipeline.handle();
        let running = actix_rt::spawn(pipeline.run());
        Ok(World { web, clock, store, pipeline: handle, sources, running, _telemetry: telemetry, directory })
    }

    /// Compares the store with the served entries.
    pub(super) async fn audit(&self) -> store::Result<Audit> {
        Audit::take(self.store.as_ref(), &self.web, &self.sources).await
    }

    /// Ends the pipeline, closes the store and removes it.
    pub(super) async fn end(mut self) -> Result<(), DemoError> {
        self.pipeline.stop();
        let end = match tokio::time::timeout(STOP_WITHIN, &mut self.running).await {
            Ok(end) => end,
            Err(_) => {
                self.pipeline.kill();
                (&mut self.running).await
            }
        };
        self.store.close().await;
        drop(self.store);
        self.directory.close()?;
        outcome(end)
    }
}

pub(super) fn outcome(end: Result<RootEnd, actix_rt::task::JoinError>) -> Result<(), DemoError> {
    match end {
        Ok(RootEnd::Escalated(crash)) => Err(DemoError::Escalated(Box::new(crash))),
        Ok(RootEnd::Stopped) | Err(_) => Ok(()),
    }
}

async fn open(directory: &TempDir, clock: &FastClock) -> Result<Arc<dyn Store>, StoreError> {
    let engine = EngineSettings::Sqlite(SqliteSettings {
        path: directory.path().join("feedwarden.db"),
        // The store is temporary, so durability is not needed.
        synchronous: Synchronous::Normal,
        readers: 2,
        busy_timeout: Duration::from_secs(5),
    });
    store::open(&StoreSettings { engine, encryption_key: None }, clock.now()).await
}

/// Adds a source for every site.
pub(super) async fn add_all(web: &Web, store: &dyn Store, clock: &dyn Clock) -> Result<Vec<SourceId>, StoreError> {
    // Feeds date their entries by the second: what they publish right away must not seem older than the source.
    let created_at = clock.now() - Duration::from_secs(60);
    let mut ids = Vec::with_capacity(web.sites().len());
    for sites in web.sites().chunks(ADD_AT_ONCE) {
        let new = sites
            .iter()
            .map(|site| NewSource { settings: SourceSettings::new(site.source_type, site.url.as_str()), created_at });
        let added = store.add_sources(new.collect()).await?;
        ids.extend(added.into_iter().map(|added| match added {
            Added::New(id) | Added::Duplicate(id) => id,
        }));
    }
    Ok(ids)
}
