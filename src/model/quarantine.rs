//! Rows of the database that cannot be read.

use std::fmt;

/// A row that holds a value which the model cannot represent. It is skipped; all other rows are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuarantinedRow {
    pub table: &'static str,
    pub key: RowKey,
    /// URL in the row, if there is a readable one; with credentials.
    pub url: Option<String>,
    pub column: String,
    /// The value, shortened; columns that may hold credentials are not shown.
    pub value: String,
    pub reason: String,
}

/// First column of a row, which identifies it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowKey {
    Id(i64),
    Name(String),
}

impl fmt::Display for RowKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowKey::Id(id) => id.fmt(formatter),
            RowKey::Name(name) => name.fmt(formatter),
        }
    }
}

impl fmt::Display for QuarantinedRow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let QuarantinedRow { table, key, column, value, reason, .. } = self;
        write!(
            formatter,
            "row {key} of the table {table} cannot be read: column {column} holds {value}: {reason}; correct the value \
             in the database, or remove the row"
        )
    }
}
