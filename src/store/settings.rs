//! The settings of the store.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

#[derive(Clone, Debug)]
pub struct StoreSettings {
    pub engine: EngineSettings,
    /// Encryption key, 32 bytes in Base64. Without one, no secrets can be stored.
    pub encryption_key: Option<SecretString>,
}

#[derive(Clone, Debug)]
pub enum EngineSettings {
    Sqlite(SqliteSettings),
    Postgres(PostgresSettings),
}

#[derive(Clone, Debug)]
pub struct SqliteSettings {
    pub path: PathBuf,
    pub synchronous: Synchronous,
    /// Number of reader threads.
    pub readers: usize,
    /// Time to wait while another process locks the file.
    pub busy_timeout: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronous {
    /// A power failure loses no commit.
    Full,
    /// A power failure may lose the last commits; the file stays intact.
    Normal,
}

#[derive(Clone, Debug)]
pub struct PostgresSettings {
    /// URL of the server, with the password.
    pub url: SecretString,
    /// Maximum number of connections.
    pub pool_size: usize,
    pub connect_timeout: Duration,
    pub statement_timeout: Duration,
    pub tls: Tls,
    /// PEM file of certificate authorities to trust instead of the system's.
    pub tls_ca_file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tls {
    Disable,
    /// Always, with the server's certificate and name verified.
    Require,
}
