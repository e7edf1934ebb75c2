//! `database.*`.

use std::path::{Path, PathBuf};

use secrecy::SecretString;

use super::super::database_url::DatabaseUrl;
use super::super::directories::Directories;
use super::super::effective::Effective;
use super::super::kind::KeyKind;
use super::super::problem::{ConfigProblem, Origin};
use super::super::schema::SchemaKey;
use super::super::secret;
use super::{add, one_secret, readable};
use crate::store::settings::{
    EncryptionKeys, EngineSettings, PostgresSettings, SqliteSettings, StoreSettings, Synchronous, Tls,
};

pub(super) const KEYS: &[SchemaKey] = &[
    SchemaKey::new("database.url", KeyKind::Database, "the database"),
    SchemaKey::new("database.encryption-key", KeyKind::EncryptionKey, "the key that encrypts stored secrets"),
    SchemaKey::new("database.encryption-key-file", KeyKind::Path, "the file that holds the encryption key"),
    SchemaKey::new(
        "database.encryption-key-previous",
        KeyKind::EncryptionKey,
        "the key that stored secrets were encrypted with before",
    ),
    SchemaKey::new(
        "database.encryption-key-previous-file",
        KeyKind::Path,
        "the file that holds the previous encryption key",
    ),
    SchemaKey::new(
        "database.accept-unreadable-secrets",
        KeyKind::Flag,
        "whether the daemon starts although stored secrets cannot be opened",
    ),
    SchemaKey::new(
        "database.sqlite.synchronous",
        KeyKind::Choice(&["full", "normal"]),
        "durability after a power failure",
    ),
    SchemaKey::count("database.sqlite.readers", 1, 64, "number of reader threads"),
    SchemaKey::count("database.sqlite.busy-timeout-seconds", 0, 300, "seconds to wait for another process"),
    SchemaKey::count("database.postgres.pool-size", 1, 1_000, "connections of the pipeline at most"),
    SchemaKey::count("database.postgres.api-pool-size", 1, 1_000, "connections of the API at most"),
    SchemaKey::count("database.postgres.connect-timeout-seconds", 1, 300, "seconds to wait for a connection"),
    SchemaKey::count("database.postgres.statement-timeout-seconds", 1, 3_600, "seconds that one statement may take"),
    SchemaKey::count("database.postgres.response-timeout-seconds", 1, 3_700, "seconds to wait for an answer"),
    SchemaKey::count("database.postgres.lock-timeout-seconds", 1, 3_600, "seconds to wait for a lock"),
    SchemaKey::new(
        "database.postgres.tls",
        KeyKind::Choice(&["disable", "require"]),
        "whether the connection is encrypted",
    ),
    SchemaKey::new("database.postgres.tls-ca-file", KeyKind::Path, "the certificate authorities to trust"),
];

pub(in crate::config) fn store(
    values: &Effective,
    directories: &Directories,
    problems: &mut Vec<ConfigProblem>,
    notices: &mut Vec<String>,
) -> StoreSettings {
    let engine = match values.database("database.url") {
        DatabaseUrl::Sqlite(path) => EngineSettings::Sqlite(SqliteSettings {
            path: placed(values, directories, path, notices),
            synchronous: match values.choice("database.sqlite.synchronous") {
                "normal" => Synchronous::Normal,
                _ => Synchronous::Full,
            },
            readers: values.count_usize("database.sqlite.readers"),
            busy_timeout: values.seconds("database.sqlite.busy-timeout-seconds"),
        }),
        DatabaseUrl::Postgres(url) => EngineSettings::Postgres(postgres(values, url, problems)),
    };
    let current = one_secret(values, "database.encryption-key", secret::encryption_key, problems);
    let previous = one_secret(values, "database.encryption-key-previous", secret::encryption_key, problems);
    if previous.is_some() && current.is_none() {
        let key = ["database.encryption-key-previous", "database.encryption-key-previous-file"]
            .into_iter()
            .find(|key| *values.origin(key) != Origin::BuiltIn);
        let text = "without database.encryption-key nothing new can be stored; set that one, too".to_owned();
        add(values, key.unwrap_or("database.encryption-key-previous"), text, problems);
    }
    let encryption_key = current.map(|current| EncryptionKeys { current, previous });
    StoreSettings { engine, encryption_key }
}

/// The path of the SQLite file. A relative path that a key sets is relative to a service's directory for state, or else to
/// the working directory; without the key, the file is in the directory for state.
fn placed(values: &Effective, directories: &Directories, path: &Path, notices: &mut Vec<String>) -> PathBuf {
    // Joining an absolute path leaves it as it is.
    if let Some(directory) = &directories.service_state {
        return directory.join(path);
    }
    let Some(directory) = directories.user_state.as_ref().filter(|_| is_default(values)) else {
        return path.to_owned();
    };
    let usual = directory.join(path);
    if !path.is_file() {
        return usual;
    }
    // Earlier versions kept the database in the working directory.
    let found = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if usual.exists() {
        notices.push(format!(
            "{} is not used, because {} exists; to use it, set database.url to sqlite:{0}",
            found.display(),
            usual.display()
        ));
        return usual;
    }
    notices.push(format!(
        "{} is used: earlier versions kept the database in the working directory. To find it from everywhere, stop \
         feedwarden and move {0}* to {directory}",
        found.display(),
        directory = directory.display()
    ));
    path.to_owned()
}

fn is_default(values: &Effective) -> bool {
    *values.origin("database.url") == Origin::BuiltIn
}

pub(in crate::config) fn accepts_unreadable_secrets(values: &Effective) -> bool {
    values.flag("database.accept-unreadable-secrets")
}

fn postgres(values: &Effective, url: &SecretString, problems: &mut Vec<ConfigProblem>) -> PostgresSettings {
    let tls = match values.choice("database.postgres.tls") {
        "require" => Tls::Require,
        _ => Tls::Disable,
    };
    let tls_ca_file = values.path("database.postgres.tls-ca-file").map(Path::to_owned);
    if let Some(path) = &tls_ca_file {
        let key = "database.postgres.tls-ca-file";
        if tls == Tls::Disable {
            let text =
                "without encryption nothing is verified; set database.postgres.tls to require, or leave this out";
            add(values, key, text.into(), problems);
        } else if let Err(cause) = readable(path) {
            add(values, key, cause, problems);
        }
    }
    let statement_timeout = values.seconds("database.postgres.statement-timeout-seconds");
    let response_timeout = values.seconds("database.postgres.response-timeout-seconds");
    if response_timeout <= statement_timeout {
        let text = "write more than database.postgres.statement-timeout-seconds: the server cancels a slow statement \
                    first, and only a connection without any answer is closed";
        add(values, "database.postgres.response-timeout-seconds", text.into(), problems);
    }
    PostgresSettings {
        url: url.clone(),
        pool_size: values.count_usize("database.postgres.pool-size"),
        api_pool_size: values.count_usize("database.postgres.api-pool-size"),
        connect_timeout: values.seconds("database.postgres.connect-timeout-seconds"),
        statement_timeout,
        response_timeout,
        lock_timeout: values.seconds("database.postgres.lock-timeout-seconds"),
        tls,
        tls_ca_file,
    }
}
