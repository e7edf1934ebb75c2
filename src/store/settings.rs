//! The settings of the store.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

/// Which engine keeps the data, and how.
#[derive(Clone, Debug)]
pub struct StoreSettings {
    /// The engine.
    pub engine: EngineSettings,
    /// The key under which API keys are kept, as 32 bytes in Base64. Without one, none can be kept.
    pub encryption_key: Option<SecretString>,
}

/// The engine.
#[derive(Clone, Debug)]
pub enum EngineSettings {
    /// A file, with nothing to set up.
    Sqlite(SqliteSettings),
    /// A server, which several nodes can share.
    Postgres(PostgresSettings),
}

/// How SQLite is used.
#[derive(Clone, Debug)]
pub struct SqliteSettings {
    /// The file.
    pub path: PathBuf,
    /// What a power failure may cost.
    pub synchronous: Synchronous,
    /// Threads that read beside the one that writes.
    pub readers: usize,
    /// How long to wait for another process that holds the file.
    pub busy_timeout: Duration,
}

/// What a power failure may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronous {
    /// Nothing: every commit reaches the disk.
    Full,
    /// The last commits, never the file's soundness.
    Normal,
}

/// How PostgreSQL is used.
#[derive(Clone, Debug)]
pub struct PostgresSettings {
    /// Where the server is, with the password in it if there is one.
    pub url: SecretString,
    /// The most connections held at once.
    pub pool_size: usize,
    /// How long to wait for a connection.
    pub connect_timeout: Duration,
    /// How long the server may work on one statement.
    pub statement_timeout: Duration,
    /// Whether the connection is encrypted.
    pub tls: Tls,
    /// The certificate authorities to trust instead of the machine's.
    pub tls_ca_file: Option<PathBuf>,
}

/// Whether a connection to PostgreSQL is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tls {
    /// Never.
    Disable,
    /// Always, with the server's certificate and name verified.
    Require,
}
