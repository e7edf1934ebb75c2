//! `feedwarden backup`: a consistent copy of the SQLite database. Needs the configuration and no daemon; one may run.

use std::path::{Path, PathBuf};

use clap::Args;
use secrecy::ExposeSecret;
use serde_json::json;

use super::arguments::Layers;
use super::progress::Progress;
use super::{Exit, complain, print};
use crate::clock::{Clock, SystemClock};
use crate::store::settings::{EngineSettings, PostgresSettings, StoreSettings};
use crate::store::{self, BackupError, BackupReport};

#[derive(Args, Debug)]
pub(super) struct BackupArguments {
    #[command(flatten)]
    pub(super) layers: Layers,
    /// File to write; it appears when the copy is complete
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Replace FILE if it exists
    #[arg(long)]
    overwrite: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn backup(arguments: &BackupArguments, settings: &StoreSettings) -> Exit {
    let sqlite = match &settings.engine {
        EngineSettings::Sqlite(sqlite) => sqlite,
        EngineSettings::Postgres(postgres) => {
            complain(&format_args!(
                "PostgreSQL is backed up by its own tools, while the daemon runs: {}",
                pg_dump(postgres, &arguments.file)
            ));
            return Exit::Usage;
        }
    };
    let progress = Progress::new();
    let report = |done, total| progress.draw(done >> 20, total >> 20, "MB");
    let done = store::backup(sqlite, &arguments.file, arguments.overwrite, SystemClock.now(), report);
    progress.clear();
    match done {
        Ok(done) if arguments.json => print(&format!("{:#}\n", for_programs(&arguments.file, &done))),
        Ok(BackupReport { bytes, sources, posts, .. }) => {
            let name = arguments.file.display();
            print(&format!("{name}: {bytes} bytes, {sources} sources, {posts} posts\n"))
        }
        Err(error) => {
            complain(&error);
            match error {
                BackupError::Exists(_) | BackupError::Busy(_) => Exit::Conflict,
                BackupError::NoPlace(_) => Exit::Usage,
                _ => Exit::Failure,
            }
        }
    }
}

fn for_programs(file: &Path, done: &BackupReport) -> serde_json::Value {
    let BackupReport { bytes, sources, posts, schema_version } = done;
    json!({
        "file": file.display().to_string(),
        "bytes": bytes,
        "sources": sources,
        "posts": posts,
        "schema_version": schema_version,
    })
}

/// The command that makes a backup, without a password.
fn pg_dump(settings: &PostgresSettings, file: &Path) -> String {
    let url = without_password(settings.url.expose_secret());
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let file = file.display().to_string();
    format!("pg_dump --format=custom --file={} --dbname={}", quoted(&file), quoted(&url))
}

/// The URL without its password, which pg_dump takes from `~/.pgpass` or `PGPASSWORD`.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return String::new() };
    // A password may contain every sign but an unescaped @ of a later part.
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (login, host) = authority.rsplit_once('@').map_or(("", authority), |(login, host)| (login, host));
    let at = if login.is_empty() { "" } else { "@" };
    let path = path.split('?').next().unwrap_or_default();
    format!("{scheme}://{}{at}{host}{path}", login.split(':').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_in_the_command() {
        for (url, expected) in [
            ("postgres://me:hunter2@db.example:5433/feeds", "postgres://me@db.example:5433/feeds"),
            ("postgres://me@%2Ftmp%2Fx:5432/feeds", "postgres://me@%2Ftmp%2Fx:5432/feeds"),
            ("postgresql://db.example/feeds?password=hunter2", "postgresql://db.example/feeds"),
            ("postgres://me:hun%40ter2@a:1,b:2/feeds", "postgres://me@a:1,b:2/feeds"),
        ] {
            assert_eq!(without_password(url), expected);
        }
    }
}
