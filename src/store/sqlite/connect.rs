//! Opens connections to an SQLite file.

use std::path::Path;
use std::time::Duration;

use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::super::settings::{EngineSettings, SqliteSettings, Synchronous};
use super::super::{Result, StoreError};
use super::upkeep::INCREMENTAL;
use super::values;

/// Page size of new files: SQLite's own 4 KiB hold two posts of usual size and leave room unused.
const PAGE_BYTES: i64 = 8192;
/// Pause before a file that is busy is prepared again.
const RETRY_AFTER: Duration = Duration::from_millis(10);
/// What is left of the write-ahead log when it begins anew.
const WAL_BYTES_KEPT: i64 = 16 << 20;
/// Capacity of the statement cache: more than there are statements.
const STATEMENTS: usize = 128;

const FIRST_TABLES: &str = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name LIMIT 5";
/// Other programs have tables of these names, too, but not with these columns.
const IS_OURS: &str = "SELECT EXISTS (SELECT 1 FROM pragma_table_info('schema_migrations') WHERE name = 'checksum')
    OR EXISTS (SELECT 1 FROM pragma_table_info('sources') WHERE name = 'feed_disabled_at')";

pub(super) fn connect(settings: &SqliteSettings) -> Result<Connection> {
    // Prefix the directory, so that SQLite does not interpret the name as a URI.
    let path = &Path::new(".").join(&settings.path);
    if let Some(directory) = path.parent().filter(|directory| !directory.is_dir()) {
        let what = format!("{}: the directory {} is not there", settings.path.display(), directory.display());
        return Err(StoreError::Unavailable(what));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| at(path, opening_error(error)))?;
    connection.busy_timeout(settings.busy_timeout).map_err(|error| at(path, opening_error(error)))?;
    refuse_foreign(&connection).map_err(|error| at(path, error))?;
    let mut tries_left = settings.busy_timeout.as_millis() / RETRY_AFTER.as_millis();
    loop {
        let prepared = prepare(&connection, settings.synchronous);
        match prepared.and_then(|()| connection.busy_timeout(settings.busy_timeout)) {
            // Of two that turn a new file into one with a write-ahead log, SQLite lets one fail without waiting.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && tries_left > 0 => {
                tries_left -= 1;
                std::thread::sleep(RETRY_AFTER);
            }
            Err(error) => return Err(at(path, opening_error(error))),
            Ok(()) => return Ok(connection),
        }
    }
}

/// A file that was never a database is not a damaged one.
fn opening_error(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            StoreError::Unusable(format!("{error}; set database.url to another file, or restore a backup"))
        }
        _ => values::error(error),
    }
}

/// Opens a file that is there, also while other processes use it, and changes nothing about it.
pub(super) fn connect_existing(settings: &SqliteSettings) -> Result<Connection> {
    let path = &settings.path;
    if !path.is_file() {
        return Err(StoreError::Unavailable(format!("{}: there is no such file", path.display())));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || -> rusqlite::Result<Connection> {
        // As above, the name is no URI.
        let connection = Connection::open_with_flags(Path::new(".").join(path), flags)?;
        connection.busy_timeout(settings.busy_timeout)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        Ok(connection)
    };
    let connection = open().map_err(|error| at(path, values::error(error)))?;
    refuse_foreign(&connection).map_err(|error| at(path, error))?;
    Ok(connection)
}

/// Refuses a file of another program, before a lock is put beside it. One that is locked is judged when it is opened.
pub fn refuse_foreign_file(engine: &EngineSettings) -> Result<()> {
    let EngineSettings::Sqlite(settings) = engine else { return Ok(()) };
    if std::fs::metadata(&settings.path).map_or(true, |file| file.len() == 0) {
        return Ok(());
    }
    let settings = SqliteSettings { busy_timeout: Duration::ZERO, ..settings.clone() };
    match connect_existing(&settings) {
        Err(error @ StoreError::Unusable(_)) => Err(error),
        _ => Ok(()),
    }
}

/// Refuses a database of another program, before anything about it is changed.
fn refuse_foreign(connection: &Connection) -> Result<()> {
    let mut statement = connection.prepare(FIRST_TABLES).map_err(opening_error)?;
    let tables = statement.query_map([], |row| row.get(0)).map_err(opening_error)?;
    let tables: Vec<String> = tables.collect::<rusqlite::Result<_>>().map_err(opening_error)?;
    let is_ours = connection.query_row(IS_OURS, [], |row| row.get(0)).map_err(opening_error)?;
    if tables.is_empty() || is_ours {
        return Ok(());
    }
    Err(StoreError::Unusable(format!(
        "it is the database of another program (it has the tables {}); set database.url to another file",
        tables.join(", ")
    )))
}

/// Does not wait for locks of others.
fn prepare(connection: &Connection, synchronous: Synchronous) -> rusqlite::Result<()> {
    connection.busy_timeout(Duration::ZERO)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Before the first page is written; a file that exists keeps what it has.
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    connection.pragma_update(None, "auto_vacuum", INCREMENTAL)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "journal_size_limit", WAL_BYTES_KEPT)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    let level = match synchronous {
        Synchronous::Full => "full",
        Synchronous::Normal => "normal",
    };
    connection.pragma_update(None, "synchronous", level)?;
    // SQLite's own function knows the letters of ASCII only.
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("lower", 1, flags, |arguments| {
        arguments.get::<Option<String>>(0).map(|text| text.map(|text| text.to_lowercase()))
    })
}

/// Adds the file name to an error.
pub(super) fn at(path: &Path, error: StoreError) -> StoreError {
    match error {
        StoreError::Unavailable(what) => StoreError::Unavailable(format!("{}: {what}", path.display())),
        StoreError::Unusable(what) => StoreError::Unusable(format!("{}: {what}", path.display())),
        StoreError::Corrupt(what) => StoreError::Corrupt(format!("{}: {what}", path.display())),
        other => other,
    }
}
