//! Checks an SQLite file.

use rusqlite::{Connection, params};

use super::super::check::{COUNTED, CheckReport, CheckedTable, ROWS_AT_ONCE, StoreProblem, StoreProblemKind};
use super::super::cipher::Cipher;
use super::super::poll_row::read_poll;
use super::super::post_row::read_post;
use super::super::rows::{Columns, read_host, read_webhook};
use super::super::secrets::{SecretCheck, SecretCounts, SecretPlace, SecretTable, count, opened_by};
use super::super::settings::SqliteSettings;
use super::super::shared_sql as sql;
use super::super::source_row::read_source;
use super::super::statement::Statement;
use super::super::{Result, StoreError};
use super::connect::{at, connect_existing};
use super::upkeep::{can_shrink, pragma, wal_bytes};
use super::values::{RowColumns, error, one};
use super::{migrate, numbers, secrets};

/// The most problems that SQLite describes.
const FOUND_MAX: u32 = 100;

pub(in super::super) fn check(settings: &SqliteSettings, cipher: &Cipher) -> Result<CheckReport> {
    let connection = connect_existing(settings)?;
    let mut report = CheckReport::new("sqlite", migrate::latest());
    report.wal_bytes = wal_bytes(&settings.path);
    match examine(&connection, cipher, &mut report) {
        // Damage keeps the file from being read to its end: what was found until then is reported with it.
        Err(StoreError::Unusable(reason) | StoreError::Corrupt(reason) | StoreError::Internal(reason)) => {
            report.note(StoreProblemKind::Integrity, None, reason);
            Ok(report)
        }
        Err(other) => Err(at(&settings.path, other)),
        Ok(()) => Ok(report),
    }
}

fn examine(connection: &Connection, cipher: &Cipher, report: &mut CheckReport) -> Result<()> {
    connection.pragma_update(None, "query_only", true).map_err(error)?;
    let page_size = pragma(connection, "page_size")?;
    report.bytes = pragma(connection, "page_count")? * page_size;
    report.free_bytes = pragma(connection, "freelist_count")? * page_size;
    report.can_shrink = can_shrink(connection)?;
    integrity(connection, report)?;
    if !report.is_known(schema_version(connection)?) {
        return Ok(());
    }
    for table in COUNTED {
        let rows: i64 =
            connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).map_err(error)?;
        report.counts.push((table, rows.unsigned_abs()));
    }
    report.paused_since = one(connection, &sql::PAUSED_SINCE, [], |row| row.time())?.flatten();
    read_all(connection, CheckedTable::Sources, &sql::LIST_SOURCES, |row| read_source(row).map(|_| ()), report)?;
    read_all(connection, CheckedTable::Posts, &sql::CHECK_POSTS, |row| read_post(row).map(|_| ()), report)?;
    read_all(connection, CheckedTable::Webhooks, &sql::LIST_WEBHOOKS, |row| read_webhook(row).map(|_| ()), report)?;
    read_all(connection, CheckedTable::Polls, &sql::CHECK_POLLS, |row| read_poll(row).map(|_| ()), report)?;
    read_hosts(connection, report)?;
    let used = one(connection, &sql::LAST_CHANGE_NUMBER, [], |row| row.integer())?.flatten();
    report.numbers(numbers::issued(connection)?, used.unwrap_or(0));
    let found = closed_secrets(connection, cipher)?;
    report.secrets(cipher, found);
    Ok(())
}

/// What SQLite itself finds, in its structures and in references.
fn integrity(connection: &Connection, report: &mut CheckReport) -> Result<()> {
    let mut check = connection.prepare(&format!("PRAGMA integrity_check({FOUND_MAX})")).map_err(error)?;
    let found = check.query_map([], |row| row.get::<_, String>(0)).map_err(error)?;
    for line in found {
        let line = line.map_err(error)?;
        if line != "ok" {
            report.note(StoreProblemKind::Integrity, None, line);
        }
    }
    let mut check = connection.prepare("PRAGMA foreign_key_check").map_err(error)?;
    let mut rows = check.query([]).map_err(error)?;
    while let Some(row) = rows.next().map_err(error)? {
        let (table, id, parent): (String, Option<i64>, String) =
            (row.get(0).map_err(error)?, row.get(1).map_err(error)?, row.get(2).map_err(error)?);
        let table = COUNTED.iter().find(|known| **known == table).copied();
        let (kind, row) = (StoreProblemKind::Reference, id.map(|id| id.to_string()));
        report.add(StoreProblem {
            kind,
            table,
            row,
            column: None,
            reason: format!("its row in {parent} is not there"),
        });
    }
    Ok(())
}

fn schema_version(connection: &Connection) -> Result<Option<i64>> {
    let query = "SELECT count(*) FROM sqlite_schema WHERE name = 'schema_migrations'";
    let is_ours: i64 = connection.query_row(query, [], |row| row.get(0)).map_err(error)?;
    if is_ours == 0 {
        return Ok(None);
    }
    connection.query_row("SELECT max(version) FROM schema_migrations", [], |row| row.get(0)).map_err(error)
}

/// Reads every row of a table by itself.
fn read_all(
    connection: &Connection,
    table: CheckedTable,
    statement: &Statement,
    read: fn(&mut RowColumns<'_, '_>) -> Result<()>,
    report: &mut CheckReport,
) -> Result<()> {
    let mut statement = connection.prepare(statement.sqlite()).map_err(error)?;
    let mut after = 0_i64;
    loop {
        let mut rows = statement.query(params![after, ROWS_AT_ONCE]).map_err(error)?;
        let mut count = 0;
        while let Some(row) = rows.next().map_err(error)? {
            after = row.get(0).map_err(error)?;
            count += 1;
            let mut columns = RowColumns::new(row);
            if let Err(cause) = read(&mut columns) {
                report.unreadable(table, Some(after.to_string()), columns.taken(), &cause);
            }
        }
        if count < ROWS_AT_ONCE {
            return Ok(());
        }
    }
}

/// The same for hosts, which have no numbers.
fn read_hosts(connection: &Connection, report: &mut CheckReport) -> Result<()> {
    let mut statement = connection.prepare(sql::LIST_HOSTS.sqlite()).map_err(error)?;
    let mut rows = statement.query(params!["", u32::MAX]).map_err(error)?;
    while let Some(row) = rows.next().map_err(error)? {
        let mut columns = RowColumns::new(row);
        if let Err(cause) = read_host(&mut columns) {
            report.unreadable(CheckedTable::Hosts, row.get(0).ok(), columns.taken(), &cause);
        }
    }
    Ok(())
}

fn closed_secrets(connection: &Connection, cipher: &Cipher) -> Result<SecretCheck> {
    let mut all = Vec::new();
    for table in SecretTable::ALL {
        let (mut counts, mut after) = (SecretCounts::default(), SecretPlace::default());
        loop {
            let rows = secrets::rows(connection, table, &after, ROWS_AT_ONCE)?;
            let Some(last) = rows.last() else { break };
            after = last.place.clone();
            rows.iter().for_each(|row| count(&mut counts, row, opened_by(cipher, table, row)));
        }
        all.push((table, counts));
    }
    Ok(SecretCheck(all))
}
