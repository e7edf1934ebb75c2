//! What the store is filled with, past the API, and what is asked about it.
//!
//! Whatever is rare is at the far end of its list, where looking from the beginning finds it last.

use std::path::PathBuf;
use std::time::Duration;

use feedwarden::clock::{Clock, SystemClock};
use feedwarden::store;
use feedwarden::store::settings::{EngineSettings, PostgresSettings, SqliteSettings, StoreSettings, Synchronous};
use serde::{Deserialize, Serialize};
use tokio_postgres::NoTls;

const SQLITE: &str = include_str!("population.sqlite.sql");
const POSTGRES: &str = include_str!("population.postgres.sql");

/// Where things are kept.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum Engine {
    Sqlite { path: PathBuf },
    Postgres { url: String },
}

/// How many there are.
#[derive(Clone, Copy)]
pub(crate) struct Population {
    pub(crate) sources: usize,
    pub(crate) hosts: usize,
}

impl Engine {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Engine::Sqlite { .. } => "sqlite",
            Engine::Postgres { .. } => "postgres",
        }
    }

    /// First process of the PostgreSQL server.
    pub(crate) fn server_process(&self) -> Option<u32> {
        let Engine::Postgres { url } = self else { return None };
        let session: i32 = runtime().block_on(async {
            let client = connect(url).await;
            client.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0)
        });
        let stat = std::fs::read_to_string(format!("/proc/{session}/stat")).unwrap();
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        fields.split(' ').nth(1).unwrap().parse().ok()
    }

    /// As the daemon is configured by default.
    pub(crate) fn settings(&self) -> StoreSettings {
        let engine = match self {
            Engine::Sqlite { path } => EngineSettings::Sqlite(SqliteSettings {
                path: path.clone(),
                synchronous: Synchronous::Full,
                readers: 2,
                busy_timeout: Duration::from_secs(5),
            }),
            Engine::Postgres { url } => EngineSettings::Postgres(PostgresSettings::new(url.clone().into())),
        };
        StoreSettings { engine, encryption_key: None }
    }
}

impl Population {
    /// Makes the schema and fills it.
    pub(crate) fn fill(self, engine: &Engine) {
        runtime().block_on(async {
            store::open(&engine.settings(), SystemClock.now()).await.unwrap().close().await;
            match engine {
                Engine::Sqlite { path } => {
                    let connection = rusqlite::Connection::open(path).unwrap();
                    connection.pragma_update(None, "synchronous", "off").unwrap();
                    connection.execute_batch(&self.statements(SQLITE)).unwrap();
                }
                Engine::Postgres { url } => {
                    let client = connect(url).await;
                    client.batch_execute(&self.statements(POSTGRES)).await.unwrap();
                    client.batch_execute("VACUUM ANALYZE").await.unwrap();
                }
            }
        });
    }

    fn statements(self, text: &str) -> String {
        let now = SystemClock.now().as_micros().to_string();
        let text = text.replace("{sources}", &self.sources.to_string()).replace("{hosts}", &self.hosts.to_string());
        text.replace("{posts}", &(self.sources / 10).to_string()).replace("{now}", &now)
    }

    /// Every list without and with each of its filters, and what is asked about single things.
    pub(crate) fn questions(self) -> Vec<String> {
        let since = (SystemClock.now() - Duration::from_secs(50_000)).to_string();
        let lists = [
            "sources",
            "sources?state=active",
            "sources?state=backing_off",
            "sources?state=resting",
            "sources?state=disabled",
            "sources?host=www.host-7.example",
            "sources?type=rss",
            "sources?type=website",
            "sources?type=twitter",
            "sources?feed_active=true",
            "sources?feed_active=false",
            "sources?label=label-7",
            "sources?text=feeds",
            "sources?text=needle",
            "sources?label=label-7&text=needle",
            "sources?url=https://www.host-7.example/feeds/7/index.xml",
            "posts",
            "posts?order=newest",
            "posts?source_id=7",
            "posts?source_id=7&order=newest",
            "posts?since={since}",
            "posts?since={since}&source_id=7",
            "hosts",
            "labels",
            "articles",
            "webhooks",
            "status",
            "statistics",
            "sources/7",
            "sources/7/explain",
            "openapi.json",
        ];
        let mut all: Vec<String> =
            lists.iter().map(|path| format!("/api/v1/{}", path.replace("{since}", &since))).collect();
        all.extend(["/metrics", "/feeds/all.atom", "/feeds/label-7.json"].map(str::to_owned));
        all
    }
}

/// An empty database of that server.
pub(crate) fn fresh_database(server: &str) -> Engine {
    runtime().block_on(async {
        let client = connect(server).await;
        client.batch_execute("DROP DATABASE IF EXISTS bench_api").await.unwrap();
        client.batch_execute("CREATE DATABASE bench_api").await.unwrap();
    });
    let (address, _) = server.rsplit_once('/').expect("the URL of the server ends in a database");
    Engine::Postgres { url: format!("{address}/bench_api") }
}

async fn connect(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}
