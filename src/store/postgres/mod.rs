//! PostgreSQL, for servers and for several nodes that share one database.

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
mod users;
mod values;
mod webhooks;

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use async_trait::async_trait;
use deadpool_postgres::{Client, Pool};
use tokio::sync::{OwnedRwLockReadGuard, RwLock};

use crate::model::{Cleaned, Cutoffs, Timestamp};

use super::cipher::Cipher;
use super::settings::PostgresSettings;
use super::shared_sql as sql;
use super::{About, Result, Store};

/// A store on a server.
pub struct PostgresStore {
    pool: Pool,
    /// Read-locked by every running method, so that closing can wait for them.
    under_way: Arc<RwLock<()>>,
    cipher: Cipher,
}

/// A connection for one method call.
struct Lease {
    client: Client,
    _under_way: OwnedRwLockReadGuard<()>,
}

impl PostgresStore {
    /// Connects to the server and migrates the schema.
    pub async fn open(settings: &PostgresSettings, cipher: Cipher, now: Timestamp) -> Result<PostgresStore> {
        let pool = connect::pool(settings)?;
        let mut client = pool.get().await.map_err(values::pool_error)?;
        connect::check_server(&client).await?;
        migrate::run(&mut client, migrate::ALL, now).await?;
        sources::fill_hosts(&client).await?;
        drop(client);
        Ok(PostgresStore { pool, under_way: Arc::default(), cipher })
    }

    async fn client(&self) -> Result<Lease> {
        let under_way = self.under_way.clone().read_owned().await;
        Ok(Lease { client: self.pool.get().await.map_err(values::pool_error)?, _under_way: under_way })
    }
}

impl Deref for Lease {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Client {
        &mut self.client
    }
}

#[async_trait]
impl Store for PostgresStore {
    fn about(&self) -> About {
        About { engine: "postgres", schema_version: migrate::latest() }
    }

    async fn ping(&self) -> Result<()> {
        values::one(&*self.client().await?, &sql::PING, &[], values::number).await.map(|_| ())
    }

    async fn close(&self) {
        self.pool.close();
        let _nothing_is_under_way = self.under_way.write().await;
    }

    async fn clean(&self, cutoffs: Cutoffs, limit: u32) -> Result<Cleaned> {
        cleanup::step(&mut *self.client().await?, &cutoffs, limit).await
    }
}
