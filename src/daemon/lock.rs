//! One process at a time per SQLite file: two would poll every host twice as often.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::PathBuf;

use crate::store::settings::EngineSettings;

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error(
        "another feedwarden{holder} works on {}; stop it first, or give this one a database of its own (database.url)",
        database.display()
    )]
    Held {
        database: PathBuf,
        /// The other process, if known.
        holder: String,
    },
    #[error("cannot lock {}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
}

/// The system releases the lock when the process ends.
#[derive(Debug)]
pub struct InstanceLock {
    _file: File,
}

impl InstanceLock {
    /// Locks an SQLite file. PostgreSQL needs no lock.
    ///
    /// Uses a separate file: SQLite loses its locks when the same process opens and closes the database file elsewhere.
    pub fn take(engine: &EngineSettings) -> Result<Option<InstanceLock>, LockError> {
        let EngineSettings::Sqlite(sqlite) = engine else { return Ok(None) };
        let mut path = sqlite.path.clone().into_os_string();
        path.push(".lock");
        let path = PathBuf::from(path);
        let failed = |source| LockError::File { path: path.clone(), source };
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.take(32).read_to_string(&mut holder);
                let holder = match holder.trim().parse::<u32>() {
                    Ok(process) => format!(" (process {process})"),
                    Err(_) => String::new(),
                };
                return Err(LockError::Held { database: sqlite.path.clone(), holder });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let own = format!("{}\n", std::process::id());
        let write = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            file.write_all(own.as_bytes())
        };
        // The process id is informational only; ignore a full disk.
        let _ = write(&mut file);
        Ok(Some(InstanceLock { _file: file }))
    }
}
