//! `feedwarden store`: looks after the store itself. Needs the configuration and no daemon.

use clap::{Args, Subcommand};
use serde_json::json;

use super::arguments::Layers;
use super::store_report::{for_people, for_programs};
use super::{Exit, complain, print};
use crate::clock::{Clock, SystemClock};
use crate::daemon::InstanceLock;
use crate::model::AuditedChange;
use crate::service::own_record;
use crate::store::settings::{EngineSettings, StoreSettings};
use crate::store::{self, Compacted, Resealed, StoreError, check_secrets};

#[derive(Debug, Subcommand)]
pub(super) enum StoreCommand {
    /// Check the store: integrity, rows that cannot be read, secrets; works with or without a running daemon
    Check(StoreArguments),
    /// Rewrite the SQLite file without its free space; the daemon must be stopped
    Compact(StoreArguments),
    /// Encrypt all stored secrets with the current key, after it was changed
    Reseal(StoreArguments),
    /// Mark the store as restored, after a restore that is not detected; the next start skips post numbers
    Restored(StoreArguments),
}

#[derive(Args, Debug)]
pub(super) struct StoreArguments {
    #[command(flatten)]
    layers: Layers,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl StoreCommand {
    pub(super) fn layers(&mut self) -> &mut Layers {
        match self {
            StoreCommand::Check(arguments)
            | StoreCommand::Compact(arguments)
            | StoreCommand::Reseal(arguments)
            | StoreCommand::Restored(arguments) => &mut arguments.layers,
        }
    }
}

pub(super) fn store(command: &StoreCommand, settings: &StoreSettings) -> Exit {
    let done = match command {
        StoreCommand::Check(arguments) => check(settings, arguments.json),
        StoreCommand::Compact(arguments) => compact(settings, arguments.json),
        StoreCommand::Reseal(arguments) => reseal(settings, arguments.json),
        StoreCommand::Restored(arguments) => restored(settings, arguments.json),
    };
    done.unwrap_or_else(|error| {
        complain(&error);
        match error {
            StoreError::Unavailable(_) => Exit::Unreachable,
            _ => Exit::Failure,
        }
    })
}

fn check(settings: &StoreSettings, as_json: bool) -> Result<Exit, StoreError> {
    let report = run(store::check(settings))?;
    let text = if as_json { format!("{:#}\n", for_programs(&report)) } else { for_people(&report) };
    Ok(match print(&text) {
        Exit::Success if report.problem_count > 0 => Exit::Failure,
        exit => exit,
    })
}

fn compact(settings: &StoreSettings, as_json: bool) -> Result<Exit, StoreError> {
    let EngineSettings::Sqlite(sqlite) = &settings.engine else {
        complain(
            &"PostgreSQL gives space back by itself (autovacuum); to shrink a table at once, run VACUUM FULL in psql",
        );
        return Ok(Exit::Usage);
    };
    let _lock = match lock(settings) {
        Ok(lock) => lock,
        Err(exit) => return Ok(exit),
    };
    let Compacted { bytes_before, bytes_after } = store::compact(sqlite)?;
    Ok(print(&match as_json {
        true => format!("{:#}\n", json!({ "bytes_before": bytes_before, "bytes_after": bytes_after })),
        false => format!("{bytes_before} bytes before, {bytes_after} bytes now\n"),
    }))
}

fn reseal(settings: &StoreSettings, as_json: bool) -> Result<Exit, StoreError> {
    check_file(settings)?;
    let _lock = match lock(settings) {
        Ok(lock) => lock,
        Err(exit) => return Ok(exit),
    };
    let (done, left) = run(async {
        let store = store::open(settings, SystemClock.now()).await?;
        let done = store::reseal(store.as_ref()).await;
        if let Ok(Resealed { resealed: resealed @ 1.., .. }) = &done {
            let count = usize::try_from(*resealed).unwrap_or(usize::MAX);
            let change = AuditedChange::new("store.reseal", "store", None).after("resealed", count);
            store.add_audit_record(own_record(change, SystemClock.now())).await?;
        }
        // Secrets that another process has stored with the previous key meanwhile.
        let left = check_secrets(store.as_ref()).await;
        store.close().await;
        Ok((done?, left?.previous()))
    })?;
    let Resealed { resealed, unchanged, closed } = done;
    let exit = print(&match as_json {
        true => format!(
            "{:#}\n",
            json!({ "resealed": resealed, "unchanged": unchanged, "unreadable": closed, "previous": left })
        ),
        false => format!(
            "{resealed} secrets encrypted with the current key, {unchanged} were before, {closed} cannot be opened\n"
        ),
    });
    if closed > 0 {
        complain(&"some secrets cannot be opened with the configured keys; `feedwarden store check` lists them");
    }
    if left > 0 {
        complain(
            &"another process has stored secrets with the previous key meanwhile; change its key and run this again",
        );
    }
    Ok(if exit == Exit::Success && closed + left > 0 { Exit::Failure } else { exit })
}

fn restored(settings: &StoreSettings, as_json: bool) -> Result<Exit, StoreError> {
    check_file(settings)?;
    let _lock = match lock(settings) {
        Ok(lock) => lock,
        Err(exit) => return Ok(exit),
    };
    run(async {
        let store = store::open(settings, SystemClock.now()).await?;
        let now = SystemClock.now();
        let change = AuditedChange::new("store.restored", "store", None);
        let done = store.audited(own_record(change, now)).mark_restored(now).await;
        store.close().await;
        done
    })?;
    Ok(print(&match as_json {
        true => format!("{:#}\n", json!({ "restored": true })),
        false => "the next start of the daemon skips post numbers\n".to_owned(),
    }))
}

/// Opening a store would create a file that is not there.
fn check_file(settings: &StoreSettings) -> Result<(), StoreError> {
    match &settings.engine {
        EngineSettings::Sqlite(sqlite) if !sqlite.path.is_file() => {
            Err(StoreError::Unavailable(format!("{}: there is no such file", sqlite.path.display())))
        }
        _ => Ok(()),
    }
}

/// Keeps other processes from an SQLite file, or says which one uses it.
fn lock(settings: &StoreSettings) -> Result<Option<InstanceLock>, Exit> {
    InstanceLock::take(&settings.engine).map_err(|error| {
        complain(&error);
        Exit::Conflict
    })
}

fn run<T>(work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    actix_rt::System::new().block_on(work)
}
