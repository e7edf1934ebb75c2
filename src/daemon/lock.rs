//! One process at a time works on an SQLite file: two would ask every host twice as often.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::PathBuf;

use crate::store::settings::EngineSettings;

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else has it.
    #[error(
        "another feedwarden{holder} works on {}; stop it first, or give this one a database of its own (database.url)",
        database.display()
    )]
    Held {
        /// The database.
        database: PathBuf,
        /// The process, as far as it is known.
        holder: String,
    },
    /// The file that is locked cannot be had.
    #[error("cannot lock {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Held as long as the process works on its database; the system lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub(super) struct InstanceLock {
    _file: File,
}

impl InstanceLock {
    /// Takes the lock of an SQLite file. PostgreSQL is made to be shared.
    ///
    /// It lies beside the database: SQLite loses its own locks when anybody else in the process opens and closes its file.
    pub(super) fn take(engine: &EngineSettings) -> Result<Option<InstanceLock>, LockError> {
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
        // Who holds it is for people; that it is held is what counts, also on a full disk.
        let _ = write(&mut file);
        Ok(Some(InstanceLock { _file: file }))
    }
}
