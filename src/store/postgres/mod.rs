//! PostgreSQL, for servers and for several nodes that share one database.

mod articles;
mod audit;
mod check;
mod cleanup;
mod connect;
mod daemon;
mod events;
mod fleet;
mod full_text;
mod hosts;
mod known;
mod labels;
mod migrate;
mod numbers;
mod polls;
mod posts;
mod secrets;
mod session;
mod settle;
mod source_access;
mod sources;
mod users;
mod values;
mod webhooks;
mod websub;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::Pool;
use tokio::sync::RwLock;

use crate::model::{Cleaned, Cutoffs, NewAuditRecord, NewEvent, Timestamp};

use super::cipher::Cipher;
use super::probe::probe_body;
use super::settings::PostgresSettings;
use super::shared_sql as sql;
use super::{About, FleetStore, Quarantine, Result, Store, StoreHealth};
use fleet::{OwnNode, PostgresFleet};
use session::Lease;

pub(super) use check::check;

/// A store on a server.
#[derive(Clone)]
pub struct PostgresStore {
    pool: Pool,
    /// How long the server may take to answer a statement.
    response_timeout: Duration,
    /// Read-locked by every running method, so that closing can wait for them.
    under_way: Arc<RwLock<()>>,
    cipher: Cipher,
    health: Arc<StoreHealth>,
    quarantine: Arc<Quarantine>,
    /// Number of batches that are settled past locked rows from the beginning (see `settle`).
    careful_batches: Arc<AtomicUsize>,
    own_node: OwnNode,
    /// None for the store of the API.
    fleet: Option<Arc<PostgresFleet>>,
    /// The same store for the API, with connections of its own.
    api: Option<Arc<PostgresStore>>,
    /// Stored with the next change that takes effect.
    audit: Option<Arc<NewAuditRecord>>,
    /// The same.
    events: Arc<[NewEvent]>,
}

impl PostgresStore {
    /// Connects to the server and migrates the schema.
    pub async fn open(settings: &PostgresSettings, cipher: Cipher, now: Timestamp) -> Result<PostgresStore> {
        let own_node = OwnNode::default();
        let fleet = Arc::new(PostgresFleet::new(settings, cipher.clone(), own_node.clone())?);
        let store = |pool, api: Option<PostgresStore>| PostgresStore {
            own_node: own_node.clone(),
            fleet: api.is_some().then(|| fleet.clone()),
            pool,
            response_timeout: settings.response_timeout,
            under_way: Arc::default(),
            cipher: cipher.clone(),
            health: api.as_ref().map_or_else(Arc::default, |api| api.health.clone()),
            quarantine: api.as_ref().map_or_else(Arc::default, |api| api.quarantine.clone()),
            careful_batches: Arc::default(),
            api: api.map(Arc::new),
            audit: None,
            events: Arc::default(),
        };
        let api = store(connect::pool(settings, settings.api_pool_size)?, None);
        let store = store(connect::pool(settings, settings.pool_size)?, Some(api));
        let first = store.pool.get().await.map_err(values::pool_error)?;
        let mut lease = Lease::of(first, settings.response_timeout, &store.health);
        connect::check_server(&lease).await?;
        migrate::run(lease.client()?, migrate::ALL, now).await?;
        sources::fill_hosts(&lease).await?;
        drop(lease);
        Ok(store)
    }

    async fn client(&self) -> Result<Lease> {
        let under_way = self.under_way.clone().read_owned().await;
        Lease::take(&self.pool, self.response_timeout, &self.health, under_way).await
    }
}

#[async_trait]
impl Store for PostgresStore {
    fn about(&self) -> About {
        About { engine: "postgres", schema_version: migrate::latest() }
    }

    fn for_api(&self) -> Option<Arc<dyn Store>> {
        self.api.clone().map(|api| api as Arc<dyn Store>)
    }

    fn fleet(&self) -> Option<Arc<dyn FleetStore>> {
        self.fleet.clone().map(|fleet| fleet as Arc<dyn FleetStore>)
    }

    fn health(&self) -> &StoreHealth {
        &self.health
    }

    fn quarantine(&self) -> &Quarantine {
        &self.quarantine
    }

    async fn ping(&self) -> Result<()> {
        values::one(&self.client().await?, &sql::PING, &[], values::number).await.map(|_| ())
    }

    async fn probe(&self) -> Result<()> {
        self.health.check_intact()?;
        let client = self.client().await?;
        values::execute(&client, &sql::PUT_PROBE, &[&probe_body()]).await?;
        values::execute(&client, &sql::REMOVE_PROBE, &[]).await.map(|_| ())
    }

    async fn close(&self) {
        for store in self.api.iter().map(Arc::as_ref).chain([self]) {
            store.pool.close();
            let _nothing_is_under_way = store.under_way.write().await;
        }
    }

    async fn clean(&self, cutoffs: Cutoffs, limit: u32) -> Result<Cleaned> {
        cleanup::step(&mut self.client().await?, &cutoffs, limit).await
    }
}
