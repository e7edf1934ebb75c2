//! A fresh, empty database of either engine for each test.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use feedwarden::model::Timestamp;
use feedwarden::store::settings::{EngineSettings, PostgresSettings, SqliteSettings, StoreSettings, Synchronous};
use feedwarden::store::{self, Store};
use tempfile::TempDir;
use tokio_postgres::NoTls;

/// 32 bytes in Base64.
pub(crate) const ENCRYPTION_KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

/// A store of its own for one test.
pub(crate) struct TestStore {
    store: Arc<dyn Store>,
    pub(crate) settings: StoreSettings,
    _directory: TempDir,
}

impl Deref for TestStore {
    type Target = dyn Store;

    fn deref(&self) -> &(dyn Store + 'static) {
        self.store.as_ref()
    }
}

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

pub(crate) fn minutes(count: u64) -> Duration {
    Duration::from_secs(count * 60)
}

impl Engine {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Engine::Sqlite => "sqlite",
            Engine::Postgres => "postgres",
        }
    }

    /// So many zero bytes, in SQL.
    pub(crate) fn zeros(self, count: usize) -> String {
        match self {
            Engine::Sqlite => format!("zeroblob({count})"),
            Engine::Postgres => format!("decode(repeat('00', {count}), 'hex')"),
        }
    }

    /// Settings of a new, empty database.
    pub(crate) async fn settings(self, directory: &TempDir) -> StoreSettings {
        let engine = match self {
            Engine::Sqlite => EngineSettings::Sqlite(SqliteSettings {
                path: directory.path().join("feedwarden.db"),
                synchronous: Synchronous::Normal,
                readers: 2,
                busy_timeout: Duration::from_secs(20),
            }),
            Engine::Postgres => EngineSettings::Postgres(PostgresSettings {
                connect_timeout: Duration::from_secs(20),
                statement_timeout: Duration::from_secs(60),
                response_timeout: Duration::from_secs(65),
                ..PostgresSettings::new(fresh_database().await.into())
            }),
        };
        StoreSettings { engine, encryption_key: Some(ENCRYPTION_KEY.into()) }
    }

    /// An open, empty store.
    pub(crate) async fn store(self) -> TestStore {
        let directory = tempfile::tempdir().unwrap();
        let settings = self.settings(&directory).await;
        TestStore::open(settings, directory).await
    }
}

impl TestStore {
    /// A store with settings of one's own.
    pub(crate) async fn open(settings: StoreSettings, directory: TempDir) -> TestStore {
        let store = store::open(&settings, at(super::NOW)).await.unwrap();
        TestStore { store, settings, _directory: directory }
    }

    /// Copies the database into a file while the store is open, as docs/backup.md says.
    pub(crate) async fn back_up(&self, copy: &std::path::Path, now: Timestamp) {
        let (engine, copy) = (self.settings.engine.clone(), copy.to_owned());
        let copying = move || match engine {
            EngineSettings::Sqlite(engine) => drop(store::backup(&engine, &copy, true, now, |_, _| ()).unwrap()),
            EngineSettings::Postgres(engine) => {
                let url = secrecy::ExposeSecret::expose_secret(&engine.url);
                let file = copy.display();
                run_postgres_tool(&format!("pg_dump --format=custom --file='{file}' --dbname='{url}'"));
            }
        };
        tokio::task::spawn_blocking(copying).await.unwrap();
    }

    /// Closes the store, puts this copy of its database in its place, and opens it.
    pub(crate) async fn restore(&mut self, copy: &std::path::Path) {
        self.store.close().await;
        match &self.settings.engine {
            EngineSettings::Sqlite(engine) => {
                for suffix in ["-wal", "-shm"] {
                    let _ = std::fs::remove_file(format!("{}{suffix}", engine.path.display()));
                }
                std::fs::copy(copy, &engine.path).unwrap();
            }
            EngineSettings::Postgres(engine) => {
                let (url, copy) = (engine.url.clone(), copy.display().to_string());
                let restoring = move || {
                    let url = secrecy::ExposeSecret::expose_secret(&url);
                    let (server, database) = url.rsplit_once('/').unwrap();
                    run_postgres_tool(&format!("dropdb --force --maintenance-db='{server}/postgres' {database}"));
                    run_postgres_tool(&format!("createdb --maintenance-db='{server}/postgres' {database}"));
                    run_postgres_tool(&format!("pg_restore --exit-on-error --no-owner --dbname='{url}' '{copy}'"));
                };
                tokio::task::spawn_blocking(restoring).await.unwrap();
            }
        }
        self.store = store::open(&self.settings, at(super::NOW)).await.unwrap();
    }

    /// The store, for tasks that outlive a borrow.
    pub(crate) fn shared(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    /// A second way to the same database, as another process would have it.
    pub(crate) async fn another(&self) -> Arc<dyn Store> {
        store::open(&self.settings, at(super::NOW)).await.unwrap()
    }

    /// Carries out statements past the store.
    pub(crate) async fn raw(&self, sql: &str) {
        raw(&self.settings, sql).await;
    }

    /// The first column of the first row of a query past the store, as text.
    pub(crate) async fn raw_text(&self, sql: &str) -> Option<String> {
        raw_text(&self.settings, sql).await
    }
}

pub(crate) async fn raw(settings: &StoreSettings, sql: &str) {
    match &settings.engine {
        EngineSettings::Sqlite(engine) => {
            rusqlite::Connection::open(&engine.path).unwrap().execute_batch(sql).unwrap();
        }
        EngineSettings::Postgres(engine) => connect(&engine.url).await.batch_execute(sql).await.unwrap(),
    }
}

pub(crate) async fn raw_text(settings: &StoreSettings, sql: &str) -> Option<String> {
    match &settings.engine {
        EngineSettings::Sqlite(engine) => {
            let connection = rusqlite::Connection::open(&engine.path).unwrap();
            connection.query_row(&format!("SELECT CAST(({sql}) AS TEXT)"), [], |row| row.get(0)).unwrap()
        }
        EngineSettings::Postgres(engine) => {
            let client = connect(&engine.url).await;
            client.query_one(&format!("SELECT ({sql})::text"), &[]).await.unwrap().get(0)
        }
    }
}

pub(crate) async fn connect(url: &secrecy::SecretString) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(secrecy::ExposeSecret::expose_secret(url), NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Runs a command line of the server's own programs, as an operator would.
pub(crate) fn run_postgres_tool(command: &str) {
    let programs = std::env::var("FEEDWARDEN_TEST_POSTGRES_BIN").expect("the tests run in tests/with-postgres");
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
    let output = std::process::Command::new("sh").args(["-c", command]).env("PATH", path).output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The URL of the throw-away server that `tests/with-postgres` runs.
pub(crate) fn server() -> String {
    std::env::var("FEEDWARDEN_TEST_POSTGRES").expect(
        "these tests need a PostgreSQL server: run `tests/run`, or `tests/with-postgres cargo test` for a part of it",
    )
}

async fn fresh_database() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let server = server();
    let name = format!("test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    connect(&server.clone().into()).await.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
    let (address, _) = server.rsplit_once('/').expect("the URL of the server ends in a database");
    format!("{address}/{name}")
}
