//! The settings of the store.

use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use tokio_postgres::config::Host;

#[derive(Clone, Debug)]
pub struct StoreSettings {
    pub engine: EngineSettings,
    /// Without keys, no secrets can be stored.
    pub encryption_key: Option<EncryptionKeys>,
}

/// Keys of stored secrets, each 32 bytes in Base64.
#[derive(Clone, Debug)]
pub struct EncryptionKeys {
    /// Encrypts and decrypts.
    pub current: SecretString,
    /// Decrypts what was encrypted before the key was changed.
    pub previous: Option<SecretString>,
}

impl<T: Into<SecretString>> From<T> for EncryptionKeys {
    fn from(current: T) -> EncryptionKeys {
        EncryptionKeys { current: current.into(), previous: None }
    }
}

#[derive(Clone, Debug)]
pub enum EngineSettings {
    Sqlite(SqliteSettings),
    Postgres(PostgresSettings),
}

impl EngineSettings {
    /// Whether the data is in a file in this directory.
    pub fn is_in(&self, directory: &Path) -> bool {
        matches!(self, EngineSettings::Sqlite(settings) if settings.path.starts_with(directory))
    }

    /// Where the data is, for people: the absolute path of the file, or servers and database without credentials.
    pub fn location(&self) -> String {
        match self {
            EngineSettings::Sqlite(settings) => {
                std::path::absolute(&settings.path).as_ref().unwrap_or(&settings.path).display().to_string()
            }
            EngineSettings::Postgres(settings) => {
                let Ok(config) = settings.url.expose_secret().parse::<tokio_postgres::Config>() else {
                    return "PostgreSQL".to_owned();
                };
                let host = |host: &Host| match host {
                    Host::Tcp(name) => name.clone(),
                    Host::Unix(directory) => directory.display().to_string(),
                };
                let hosts: Vec<String> = config.get_hosts().iter().map(host).collect();
                format!("{} at {}", config.get_dbname().or(config.get_user()).unwrap_or_default(), hosts.join(", "))
            }
        }
    }
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
    /// Maximum number of connections of the pipeline.
    pub pool_size: usize,
    /// Maximum number of connections of the API.
    pub api_pool_size: usize,
    pub connect_timeout: Duration,
    /// The server cancels a statement after this time.
    pub statement_timeout: Duration,
    /// A connection whose statement got no answer for this long is closed.
    pub response_timeout: Duration,
    /// A statement fails after this time if it waits for a lock.
    pub lock_timeout: Duration,
    pub tls: Tls,
    /// PEM file of certificate authorities to trust instead of the system's.
    pub tls_ca_file: Option<PathBuf>,
}

impl PostgresSettings {
    /// The default settings for a server at this URL.
    pub fn new(url: SecretString) -> PostgresSettings {
        PostgresSettings {
            url,
            pool_size: 8,
            api_pool_size: 4,
            connect_timeout: Duration::from_secs(10),
            statement_timeout: Duration::from_secs(30),
            response_timeout: Duration::from_secs(35),
            lock_timeout: Duration::from_secs(2),
            tls: Tls::Disable,
            tls_ca_file: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tls {
    Disable,
    /// Always, with the server's certificate and name verified.
    Require,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_has_no_credentials() {
        let location = |url: &str| EngineSettings::Postgres(PostgresSettings::new(url.into())).location();
        assert_eq!(location("postgres://ada:secret@db.example:5433/feeds"), "feeds at db.example");
        assert_eq!(location("postgres://ada:secret@%2Frun%2Fpg/feeds"), "feeds at /run/pg");
        assert_eq!(location("host=a,b dbname=feeds password=secret"), "feeds at a, b");
        assert_eq!(location("not a secret URL"), "PostgreSQL");
    }
}
