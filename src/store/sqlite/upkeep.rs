//! Upkeep of the database file: free pages go back to the file system, and the write-ahead log stays bounded.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::super::{Result, Upkeep};
use super::values::error;

/// Pages that one step gives back, which takes a few milliseconds.
const PAGES_AT_ONCE: u64 = 256;
/// Free pages that are kept for new posts: at least these, and a part of the file.
const FREE_PAGES_MIN: u64 = 128;
const FREE_PART: u64 = 20;
/// Size above which the write-ahead log is emptied as a whole. SQLite alone empties it only when no reader uses it.
pub(super) const WAL_BYTES_MAX: u64 = 64 << 20;
/// Time that a step waits for readers of the write-ahead log.
const READERS_WITHIN: Duration = Duration::from_millis(500);

/// `auto_vacuum` of a file that can shrink.
pub(super) const INCREMENTAL: i64 = 2;

pub(super) fn step(connection: &Connection, path: &Path) -> Result<Upkeep> {
    let freed_bytes = free_pages(connection)?;
    let mut wal_bytes = wal_bytes(path);
    if wal_bytes > WAL_BYTES_MAX {
        empty_log(connection)?;
        wal_bytes = self::wal_bytes(path);
    }
    Ok(Upkeep { freed_bytes, wal_bytes, is_wal_held: wal_bytes > WAL_BYTES_MAX })
}

/// Size of the write-ahead log of the database at this path.
pub(super) fn wal_bytes(path: &Path) -> u64 {
    let mut path = path.to_owned().into_os_string();
    path.push("-wal");
    std::fs::metadata(path).map_or(0, |file| file.len())
}

pub(super) fn pragma(connection: &Connection, name: &str) -> Result<u64> {
    connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map(i64::unsigned_abs).map_err(error)
}

/// Whether the file gives free pages back.
pub(super) fn can_shrink(connection: &Connection) -> Result<bool> {
    Ok(pragma(connection, "auto_vacuum")? == INCREMENTAL.unsigned_abs())
}

fn free_pages(connection: &Connection) -> Result<u64> {
    if !can_shrink(connection)? {
        return Ok(0);
    }
    let free = pragma(connection, "freelist_count")?;
    let kept = FREE_PAGES_MIN.max(pragma(connection, "page_count")? / FREE_PART);
    let count = free.saturating_sub(kept).min(PAGES_AT_ONCE);
    if count == 0 {
        return Ok(0);
    }
    let mut vacuum = connection.prepare(&format!("PRAGMA incremental_vacuum({count})")).map_err(error)?;
    let mut steps = vacuum.query([]).map_err(error)?;
    // Each step gives one page back.
    while steps.next().map_err(error)?.is_some() {}
    Ok((free - pragma(connection, "freelist_count")?) * pragma(connection, "page_size")?)
}

/// Writes the log into the database and empties it, if its readers end in time.
fn empty_log(connection: &Connection) -> Result<()> {
    let before = pragma(connection, "busy_timeout")?;
    connection.busy_timeout(READERS_WITHIN).map_err(error)?;
    let emptied = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    connection.busy_timeout(Duration::from_millis(before)).map_err(error)?;
    emptied.map_err(error)
}
