//! Converts SQLite's values and errors.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};
use rusqlite::{ErrorCode, Row, ToSql, ffi};

use crate::model::{RowKey, Timestamp};

use super::super::quarantine::ReadRow;
use super::super::rows::{Columns, Value};
use super::super::statement::Statement;
use super::super::{Result, StoreError};

impl ToSql for Timestamp {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.as_micros().into())
    }
}

impl FromSql for Timestamp {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Timestamp> {
        match value {
            ValueRef::Integer(micros) => Ok(Timestamp::from_micros(micros)),
            _ => Err(FromSqlError::InvalidType),
        }
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Value::Flag(flag) => flag.to_sql(),
            Value::Integer(number) => number.to_sql(),
            Value::Text(text) => text.to_sql(),
            Value::Time(time) => time.to_sql(),
            Value::Bytes(bytes) => bytes.to_sql(),
        }
    }
}

/// A row, read from left to right.
pub(super) struct RowColumns<'row, 'statement> {
    row: &'row Row<'statement>,
    next: usize,
}

impl<'row, 'statement> RowColumns<'row, 'statement> {
    pub(super) fn new(row: &'row Row<'statement>) -> RowColumns<'row, 'statement> {
        RowColumns { row, next: 0 }
    }

    /// Number of columns that were taken.
    pub(super) fn taken(&self) -> usize {
        self.next
    }

    fn take<T: FromSql>(&mut self) -> Result<T> {
        let column = self.next;
        self.next += 1;
        self.row.get(column).map_err(|problem| match problem {
            rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..) => StoreError::damaged("it has the wrong type"),
            other => error(other),
        })
    }

    /// Key and URL of the row, as far as they can be read.
    fn row_key(&self) -> (RowKey, Option<String>) {
        let key = match self.row.get_ref(0) {
            Ok(ValueRef::Integer(id)) => RowKey::Id(id),
            Ok(other) => RowKey::Name(shown(other)),
            Err(_) => RowKey::Name(String::new()),
        };
        (key, self.row.get("url").ok())
    }
}

fn shown(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        ValueRef::Blob(bytes) => format!("{} bytes", bytes.len()),
    }
}

impl Columns for RowColumns<'_, '_> {
    fn integer(&mut self) -> Result<Option<i64>> {
        self.take()
    }

    fn flag(&mut self) -> Result<bool> {
        self.take()
    }

    fn text(&mut self) -> Result<Option<String>> {
        self.take()
    }

    fn time(&mut self) -> Result<Option<Timestamp>> {
        self.take()
    }

    fn blob(&mut self) -> Result<Option<Vec<u8>>> {
        self.take()
    }

    fn located(&self, back: usize, error: StoreError) -> StoreError {
        let Some(place) = self.next.checked_sub(back + 1) else { return error };
        let name = self.row.as_ref().column_name(place).unwrap_or_default();
        error.in_column(name, || self.row.get_ref(place).map(shown).unwrap_or_default())
    }
}

fn read_row<T>(row: &Row<'_>, read: fn(&mut RowColumns<'_, '_>) -> Result<T>) -> Result<T> {
    let mut columns = RowColumns { row, next: 0 };
    read(&mut columns).map_err(|error| {
        let (key, url) = columns.row_key();
        columns.located(0, error).in_row(key, url)
    })
}

/// Reads all rows of a statement, one by one: a row that cannot be read does not affect the others.
pub(super) fn readable<T>(
    connection: &rusqlite::Connection,
    statement: &Statement,
    parameters: impl rusqlite::Params,
    read: fn(&mut RowColumns<'_, '_>) -> Result<T>,
) -> Result<Vec<ReadRow<T>>> {
    let mut statement = connection.prepare_cached(statement.sqlite()).map_err(error)?;
    let mut rows = statement.query(parameters).map_err(error)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(error)? {
        match read_row(row, read) {
            Err(StoreError::BadRow(bad)) => found.push(Err(bad)),
            read => found.push(Ok(read?)),
        }
    }
    Ok(found)
}

/// Reads all rows of a statement.
pub(super) fn all<T>(
    connection: &rusqlite::Connection,
    statement: &Statement,
    parameters: impl rusqlite::Params,
    read: fn(&mut RowColumns<'_, '_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut statement = connection.prepare_cached(statement.sqlite()).map_err(error)?;
    let mut rows = statement.query(parameters).map_err(error)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(error)? {
        found.push(read_row(row, read)?);
    }
    Ok(found)
}

/// Reads the first row of a prepared query, if there is one.
pub(super) fn first<T>(
    statement: &mut rusqlite::Statement<'_>,
    parameters: impl rusqlite::Params,
    read: fn(&mut RowColumns<'_, '_>) -> Result<T>,
) -> Result<Option<T>> {
    let mut rows = statement.query(parameters).map_err(error)?;
    rows.next().map_err(error)?.map(|row| read_row(row, read)).transpose()
}

/// Reads the one row of a statement, if there is one.
pub(super) fn one<T>(
    connection: &rusqlite::Connection,
    statement: &Statement,
    parameters: impl rusqlite::Params,
    read: fn(&mut RowColumns<'_, '_>) -> Result<T>,
) -> Result<Option<T>> {
    Ok(all(connection, statement, parameters, read)?.into_iter().next())
}

/// Executes a statement and returns the number of affected rows.
pub(super) fn execute(
    connection: &rusqlite::Connection,
    statement: &Statement,
    parameters: impl rusqlite::Params,
) -> Result<usize> {
    connection.prepare_cached(statement.sqlite()).and_then(|mut statement| statement.execute(parameters)).map_err(error)
}

/// Reads a number that is never null.
pub(super) fn number(row: &mut RowColumns<'_, '_>) -> Result<i64> {
    row.take()
}

pub(super) fn error(error: rusqlite::Error) -> StoreError {
    // Omit the statement, which the driver would repeat in the message.
    let text = match &error {
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    };
    let Some(failure) = error.sqlite_error() else {
        return StoreError::Internal(text);
    };
    match (failure.code, failure.extended_code) {
        (_, ffi::SQLITE_CONSTRAINT_FOREIGNKEY) => StoreError::NoSuchReference(
            "it refers to something that is not there, or something still refers to it".into(),
        ),
        (_, ffi::SQLITE_CONSTRAINT_UNIQUE) => StoreError::NameTaken(text),
        (ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt, _) => StoreError::corrupt(text),
        (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => {
            StoreError::Unavailable(format!("{text}: another process holds the lock for writing"))
        }
        (
            ErrorCode::DiskFull
            | ErrorCode::CannotOpen
            | ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied
            | ErrorCode::SystemIoFailure
            | ErrorCode::OutOfMemory,
            _,
        ) => StoreError::Unavailable(text),
        _ => StoreError::Internal(text),
    }
}
