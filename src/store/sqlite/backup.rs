//! A consistent copy of a database file, made while the daemon uses it.
//!
//! The copy is made by SQLite's backup API in one read transaction: it has the state of one moment, does not begin anew
//! when the daemon writes, and does not keep the daemon from writing.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use crate::model::Timestamp;

use super::super::StoreError;
use super::super::settings::SqliteSettings;
use super::connect::connect_existing;
use super::values;

/// Pages that are copied before the next report: about 4 MB.
const PAGES_AT_ONCE: i32 = 1024;
/// Steps after which what was copied is written to the disk, so that the end does not stop every other writer.
const STEPS_PER_SYNC: u32 = 16;
/// Waits for a lock before the backup fails, and the time between them.
const LOCKED_MAX: u32 = 100;
const LOCKED_WAIT: Duration = Duration::from_millis(100);

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("{} exists already; name another file, or replace it with --overwrite", .0.display())]
    Exists(PathBuf),
    #[error("{} is the database itself or no ordinary file; name another file", .0.display())]
    NoPlace(PathBuf),
    #[error("another backup to {} is being made", .0.display())]
    Busy(PathBuf),
    #[error("{}: {source}; nothing was changed", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("the copy is damaged, and so is the database: {0}; run `feedwarden store check`")]
    Damaged(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupReport {
    pub bytes: u64,
    pub sources: u64,
    pub posts: u64,
    pub schema_version: i64,
}

/// Copies the database to this file, readable by its owner only, and reports bytes copied and in all meanwhile. The
/// file has its name once the copy is complete and on the disk.
pub fn backup(
    settings: &SqliteSettings,
    target: &Path,
    overwrites: bool,
    now: Timestamp,
    report: impl FnMut(u64, u64),
) -> Result<BackupReport, BackupError> {
    let source = connect_existing(settings)?;
    check_place(&settings.path, target, overwrites)?;
    let partial = Partial::create(target)?;
    let mut done = copy(&source, &partial, now, report)?;
    done.bytes = partial.publish(target, overwrites)?;
    Ok(done)
}

/// Rejects a target that must not be replaced.
fn check_place(database: &Path, target: &Path, overwrites: bool) -> Result<(), BackupError> {
    let failed = |source| BackupError::File { path: target.to_owned(), source };
    let found = match std::fs::metadata(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found.map_err(failed)?,
    };
    let own = std::fs::metadata(database).map_err(failed)?;
    if !found.is_file() || (found.dev(), found.ino()) == (own.dev(), own.ino()) {
        return Err(BackupError::NoPlace(target.to_owned()));
    }
    if overwrites { Ok(()) } else { Err(BackupError::Exists(target.to_owned())) }
}

/// The file while it is not complete: `NAME.partial`. It is removed on failure; what a killed process leaves is
/// replaced by the next backup of the same name.
struct Partial {
    path: PathBuf,
    file: File,
    is_published: bool,
}

impl Partial {
    fn create(target: &Path) -> Result<Partial, BackupError> {
        let mut path = target.to_owned().into_os_string();
        path.push(".partial");
        let path = PathBuf::from(path);
        let failed = |source| BackupError::File { path: path.clone(), source };
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = open.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(BackupError::Busy(target.to_owned())),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        file.set_permissions(Permissions::from_mode(0o600)).and_then(|()| file.set_len(0)).map_err(failed)?;
        Ok(Partial { path, file, is_published: false })
    }

    /// Gives the file its name; returns its size.
    fn publish(mut self, target: &Path, overwrites: bool) -> Result<u64, BackupError> {
        let failed = |source| BackupError::File { path: target.to_owned(), source };
        self.file.sync_all().map_err(failed)?;
        let bytes = self.file.metadata().map_err(failed)?.len();
        if !overwrites && target.exists() {
            return Err(BackupError::Exists(target.to_owned()));
        }
        std::fs::rename(&self.path, target).map_err(failed)?;
        self.is_published = true;
        let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed)?;
        Ok(bytes)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.is_published {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn copy(
    source: &Connection,
    partial: &Partial,
    now: Timestamp,
    report: impl FnMut(u64, u64),
) -> Result<BackupReport, BackupError> {
    let of_source = |error| BackupError::Store(values::error(error));
    // The whole copy is of the state that this transaction sees.
    source.execute_batch("BEGIN").map_err(of_source)?;
    let number = |query: &str| source.query_row(query, [], |row| row.get::<_, i64>(0)).map_err(of_source);
    let schema_version = number("SELECT max(version) FROM schema_migrations")?;
    let count = |table: &str| number(&format!("SELECT count(*) FROM {table}")).map(|count| count.unsigned_abs());
    let done = BackupReport { bytes: 0, sources: count("sources")?, posts: count("posts")?, schema_version };
    let failed = |error: rusqlite::Error| BackupError::File {
        path: partial.path.clone(),
        source: io::Error::other(error.to_string()),
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut target = Connection::open_with_flags(Path::new(".").join(&partial.path), flags).map_err(failed)?;
    // The file counts only when it is complete.
    target.pragma_update(None, "journal_mode", "off").map_err(failed)?;
    target.pragma_update(None, "synchronous", "off").map_err(failed)?;
    copy_pages(source, &mut target, &partial.file, report).map_err(failed)?;
    // One file, without a write-ahead log of its own.
    target.pragma_update(None, "journal_mode", "delete").map_err(failed)?;
    mark(&target, now).map_err(failed)?;
    let found: String = target.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(failed)?;
    if found != "ok" {
        return Err(BackupError::Damaged(found.replace('\n', " ")));
    }
    target.close().map_err(|(_, error)| failed(error))?;
    Ok(done)
}

fn copy_pages(
    source: &Connection,
    target: &mut Connection,
    file: &File,
    mut report: impl FnMut(u64, u64),
) -> rusqlite::Result<()> {
    let page_bytes: u32 = source.pragma_query_value(None, "page_size", |row| row.get(0))?;
    let backup = Backup::new(source, target)?;
    let (mut steps, mut locked) = (0, 0);
    loop {
        match backup.step(PAGES_AT_ONCE)? {
            StepResult::Done => return Ok(()),
            StepResult::More => {
                let progress = backup.progress();
                let pages = |count: i32| u64::from(count.unsigned_abs()) * u64::from(page_bytes);
                report(pages(progress.pagecount - progress.remaining), pages(progress.pagecount));
                steps += 1;
                if steps % STEPS_PER_SYNC == 0 {
                    // A disk that is full says so at the next write.
                    let _ = file.sync_data();
                }
            }
            _ => {
                locked += 1;
                if locked > LOCKED_MAX {
                    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
                    return Err(rusqlite::Error::SqliteFailure(code, Some("the database stays locked".into())));
                }
                std::thread::sleep(LOCKED_WAIT);
            }
        }
    }
}

/// Notes in the copy that it is one: its numbers of posts jump when it is used.
fn mark(target: &Connection, now: Timestamp) -> rusqlite::Result<()> {
    let query = "SELECT count(*) FROM pragma_table_info('daemon') WHERE name = 'backed_up_at'";
    // An earlier schema has no place for it.
    if target.query_row(query, [], |row| row.get::<_, i64>(0))? > 0 {
        target.execute("UPDATE daemon SET backed_up_at = ?1", [now])?;
    }
    Ok(())
}
