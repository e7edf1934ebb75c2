//! Rewrites a database file without its free pages, so that it can shrink by itself from then on.

use rusqlite::Connection;

use super::super::Result;
use super::super::settings::SqliteSettings;
use super::connect::{at, connect_existing};
use super::upkeep::{INCREMENTAL, pragma};
use super::values::error;

/// Size of the file before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    pub bytes_before: u64,
    pub bytes_after: u64,
}

/// Rewrites the file. Needs as much space again, and no other process on the file; an interruption changes nothing.
pub fn compact(settings: &SqliteSettings) -> Result<Compacted> {
    let connection = connect_existing(settings)?;
    rewrite(&connection).map_err(|error| at(&settings.path, error))
}

fn rewrite(connection: &Connection) -> Result<Compacted> {
    let bytes = |connection: &Connection| -> Result<u64> {
        Ok(pragma(connection, "page_count")? * pragma(connection, "page_size")?)
    };
    let bytes_before = bytes(connection)?;
    connection.pragma_update(None, "auto_vacuum", INCREMENTAL).map_err(error)?;
    connection.execute_batch("VACUUM").map_err(error)?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(error)?;
    Ok(Compacted { bytes_before, bytes_after: bytes(connection)? })
}
