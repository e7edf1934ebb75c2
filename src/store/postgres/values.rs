//! Converts PostgreSQL's values and errors.

use std::error::Error as _;

use deadpool_postgres::{PoolError, TimeoutType};
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

use crate::model::{RowKey, Timestamp};

use super::super::quarantine::ReadRow;
use super::super::rows::{Columns, Value};
use super::super::statement::Statement;
use super::super::{Result, StoreError};
pub(super) use super::session::execute;
use super::session::{Array, Session, query, query_planned_anew};

/// The server counts microseconds from the year 2000.
const MICROS_TO_2000: i64 = 946_684_800_000_000;

type BoxedError = Box<dyn std::error::Error + Sync + Send>;

impl ToSql for Timestamp {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, BoxedError> {
        (self.as_micros() - MICROS_TO_2000).to_sql(kind, out)
    }

    accepts!(TIMESTAMPTZ);
    to_sql_checked!();
}

impl FromSql<'_> for Timestamp {
    fn from_sql(kind: &Type, raw: &[u8]) -> std::result::Result<Timestamp, BoxedError> {
        Ok(Timestamp::from_micros(i64::from_sql(kind, raw)?.saturating_add(MICROS_TO_2000)))
    }

    accepts!(TIMESTAMPTZ);
}

impl ToSql for Value<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, BoxedError> {
        match self {
            Value::Flag(flag) => flag.to_sql_checked(kind, out),
            Value::Integer(number) => number.to_sql_checked(kind, out),
            Value::Text(text) => text.to_sql_checked(kind, out),
            Value::Time(time) => time.to_sql_checked(kind, out),
            Value::Bytes(bytes) => bytes.as_ref().to_sql_checked(kind, out),
        }
    }

    accepts!(BOOL, BYTEA, INT8, TEXT, TIMESTAMPTZ);
    to_sql_checked!();
}

/// A row, read from left to right.
pub(super) struct RowColumns<'a> {
    row: &'a Row,
    next: usize,
}

impl<'a> RowColumns<'a> {
    pub(super) fn new(row: &'a Row) -> RowColumns<'a> {
        RowColumns { row, next: 0 }
    }

    /// Number of columns that were taken.
    pub(super) fn taken(&self) -> usize {
        self.next
    }

    fn take<T: FromSql<'a>>(&mut self) -> Result<T> {
        let column = self.next;
        self.next += 1;
        self.row.try_get(column).map_err(|_| StoreError::damaged("it has the wrong type"))
    }

    /// Key and URL of the row, as far as they can be read.
    fn row_key(&self) -> (RowKey, Option<String>) {
        let key = match self.row.try_get::<_, i64>(0) {
            Ok(id) => RowKey::Id(id),
            Err(_) => RowKey::Name(self.row.try_get(0).unwrap_or_default()),
        };
        (key, self.row.try_get("url").ok())
    }
}

/// A value of any type, for messages.
struct ColumnText(String);

impl FromSql<'_> for ColumnText {
    fn from_sql(kind: &Type, raw: &[u8]) -> std::result::Result<ColumnText, BoxedError> {
        Ok(ColumnText(match *kind {
            Type::INT8 => i64::from_sql(kind, raw)?.to_string(),
            Type::BOOL => bool::from_sql(kind, raw)?.to_string(),
            Type::TIMESTAMPTZ => Timestamp::from_sql(kind, raw)?.to_string(),
            Type::BYTEA => format!("{} bytes", raw.len()),
            _ => String::from_utf8_lossy(raw).into_owned(),
        }))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

impl Columns for RowColumns<'_> {
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
        let Some(column) = self.row.columns().get(place) else { return error };
        error.in_column(column.name(), || {
            let value = self.row.try_get::<_, Option<ColumnText>>(place).ok().flatten();
            value.map_or_else(|| "NULL".to_owned(), |ColumnText(text)| text)
        })
    }
}

fn read_row<T>(row: &Row, read: fn(&mut RowColumns<'_>) -> Result<T>) -> Result<T> {
    let mut columns = RowColumns::new(row);
    read(&mut columns).map_err(|error| {
        let (key, url) = columns.row_key();
        columns.located(0, error).in_row(key, url)
    })
}

/// Reads rows one by one: a row that cannot be read does not affect the others.
fn read_each<T>(rows: &[Row], read: fn(&mut RowColumns<'_>) -> Result<T>) -> Result<Vec<ReadRow<T>>> {
    let each = rows.iter().map(|row| match read_row(row, read) {
        Err(StoreError::BadRow(bad)) => Ok(Err(bad)),
        read => read.map(Ok),
    });
    each.collect()
}

/// Reads all rows of a statement, one by one.
pub(super) async fn readable<T>(
    session: &impl Session,
    statement: &Statement,
    parameters: &[&(dyn ToSql + Sync)],
    read: fn(&mut RowColumns<'_>) -> Result<T>,
) -> Result<Vec<ReadRow<T>>> {
    read_each(&query(session, statement, parameters).await?, read)
}

/// Reads all rows of a statement that takes one array, one by one, as [`all_planned_anew`].
pub(super) async fn readable_planned_anew<T>(
    session: &impl Session,
    statement: &Statement,
    array: Array<'_>,
    read: fn(&mut RowColumns<'_>) -> Result<T>,
) -> Result<Vec<ReadRow<T>>> {
    read_each(&query_planned_anew(session, statement, &[array]).await?, read)
}

/// Reads all rows of a statement.
pub(super) async fn all<T>(
    session: &impl Session,
    statement: &Statement,
    parameters: &[&(dyn ToSql + Sync)],
    read: fn(&mut RowColumns<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    query(session, statement, parameters).await?.iter().map(|row| read_row(row, read)).collect()
}

/// Reads all rows of a statement that takes one array. The server plans it each time: a cached plan depends on the
/// sizes that tables had when it was made, and could scan a table that was empty then.
pub(super) async fn all_planned_anew<T>(
    session: &impl Session,
    statement: &Statement,
    array: Array<'_>,
    read: fn(&mut RowColumns<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    many_planned_anew(session, statement, &[array], read).await
}

/// The same for a statement that takes several arrays.
pub(super) async fn many_planned_anew<T>(
    session: &impl Session,
    statement: &Statement,
    arrays: &[Array<'_>],
    read: fn(&mut RowColumns<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    query_planned_anew(session, statement, arrays).await?.iter().map(|row| read_row(row, read)).collect()
}

/// Reads the one row of a statement, if there is one.
pub(super) async fn one<T>(
    session: &impl Session,
    statement: &Statement,
    parameters: &[&(dyn ToSql + Sync)],
    read: fn(&mut RowColumns<'_>) -> Result<T>,
) -> Result<Option<T>> {
    Ok(all(session, statement, parameters, read).await?.into_iter().next())
}

/// Transposes rows into one array per column.
pub(super) fn by_column<'a, const WIDTH: usize>(
    rows: impl Iterator<Item = [Value<'a>; WIDTH]>,
) -> [Vec<Value<'a>>; WIDTH] {
    let mut columns = [const { Vec::new() }; WIDTH];
    for row in rows {
        for (column, value) in columns.iter_mut().zip(row) {
            column.push(value);
        }
    }
    columns
}

/// Reads a number that is never null.
pub(super) fn number(row: &mut RowColumns<'_>) -> Result<i64> {
    row.take()
}

pub(super) fn pool_error(problem: PoolError) -> StoreError {
    match problem {
        PoolError::Backend(backend) => error(backend),
        PoolError::Timeout(TimeoutType::Wait) => {
            StoreError::Unavailable("no connection to the server was free in time".into())
        }
        PoolError::Timeout(_) => StoreError::Unavailable("the server did not answer in time".into()),
        PoolError::Closed => StoreError::Unavailable("it is closed".into()),
        other => StoreError::Unavailable(other.to_string()),
    }
}

/// The error of a connection that could not be made. At the start of the program an operator has to act; later the
/// server may come back as it was: too many connections, a database closed to connections, a password changed.
pub(super) fn refused(problem: PoolError) -> StoreError {
    match pool_error(problem) {
        StoreError::Unusable(text) | StoreError::Internal(text) => StoreError::Unavailable(format!(
            "the server refuses connections: {text}; if database.url is out of date, correct it and restart feedwarden"
        )),
        other => other,
    }
}

pub(super) fn error(error: tokio_postgres::Error) -> StoreError {
    let Some(state) = error.code() else {
        // Without a code the error is not from the server: the connection failed, or a value did not fit its column.
        let of_the_connection = error.is_closed() || error.source().is_some_and(|cause| cause.is::<std::io::Error>());
        let text = text(&error);
        // The driver does not expose these kinds: missing password, missing TLS.
        let of_the_settings = ["invalid configuration", "authentication error", "error performing TLS handshake"];
        return if !of_the_connection && of_the_settings.iter().any(|kind| text.starts_with(kind)) {
            StoreError::Unusable(text)
        } else if of_the_connection || text.contains("connect") {
            StoreError::Unavailable(text)
        } else {
            StoreError::Internal(text)
        };
    };
    let text = text(&error);
    match *state {
        SqlState::FOREIGN_KEY_VIOLATION => StoreError::NoSuchReference(
            "it refers to something that is not there, or something still refers to it".into(),
        ),
        SqlState::UNIQUE_VIOLATION => StoreError::NameTaken(text),
        SqlState::T_R_SERIALIZATION_FAILURE | SqlState::T_R_DEADLOCK_DETECTED | SqlState::LOCK_NOT_AVAILABLE => {
            StoreError::Locked(text)
        }
        SqlState::DATA_CORRUPTED | SqlState::INDEX_CORRUPTED => StoreError::corrupt(text),
        SqlState::INVALID_CATALOG_NAME
        | SqlState::INVALID_PASSWORD
        | SqlState::INVALID_AUTHORIZATION_SPECIFICATION
        | SqlState::INSUFFICIENT_PRIVILEGE => StoreError::Unusable(text),
        // Connection, resources, operator intervention (shutdown, time limit), the server's own system.
        _ => match &state.code()[..2] {
            "08" | "53" | "57" | "58" | "25" => StoreError::Unavailable(text),
            _ => StoreError::Internal(text),
        },
    }
}

/// The error with its causes, which the driver's text omits.
pub(super) fn text(error: &tokio_postgres::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
