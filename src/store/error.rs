//! Errors of the store, as far as callers distinguish them.

use crate::model::{PodcastId, QuarantinedRow, RowKey, UserId};

/// Error of a method of the store. Nothing was written, except possibly if the connection was
/// lost during a commit; a retry is safe.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// May pass by itself: the server is unreachable, the disk is full, the file is locked.
    #[error("the database is not available: {0}")]
    Unavailable(String),
    /// Another session holds a lock on rows that this method needs. The rest of the store can be used.
    #[error("another session of the database holds a lock: {0}")]
    Locked(String),
    /// Data of the database is damaged. It passes only with an operator's help.
    #[error("the database is damaged: {0}")]
    Corrupt(String),
    /// A row holds a value that the model cannot represent. Other rows can be read.
    #[error("{0}")]
    BadRow(Box<QuarantinedRow>),
    #[error("{0}")]
    NoSuchReference(String),
    #[error("{0}")]
    NameTaken(String),
    #[error("{0}")]
    StillInUse(String),
    /// A newer version of this program has used the database.
    #[error(
        "the database has schema version {found}, but this version of feedwarden knows only {known}: \
         it was used by a newer feedwarden; run that one, or restore a backup from before the upgrade"
    )]
    Newer {
        found: i64,
        /// Latest version known to this program.
        known: i64,
    },
    #[error("the database cannot be used: {0}")]
    Unusable(String),
    /// A secret cannot be encrypted or decrypted.
    #[error("{0}")]
    Encryption(String),
    #[error("unexpected failure of the store: {0}")]
    Internal(String),
}

impl StoreError {
    /// Whether a retry may succeed.
    pub fn is_passing(&self) -> bool {
        matches!(self, StoreError::Unavailable(_) | StoreError::Locked(_))
    }

    /// Whether no method can do its work until this is over: the server is away or refuses us, the disk is full, the
    /// data is damaged.
    pub fn stops_store(&self) -> bool {
        matches!(self, StoreError::Unavailable(_) | StoreError::Unusable(_) | StoreError::Corrupt(_))
    }

    /// Replaces the text of a foreign key error; other errors stay unchanged.
    pub(super) fn or_in_use(self, what: impl FnOnce() -> String) -> StoreError {
        match self {
            StoreError::NoSuchReference(_) => StoreError::StillInUse(what()),
            other => other,
        }
    }

    /// Replaces the text of a unique name error; other errors stay unchanged.
    pub(super) fn or_user_taken(self, name: &str) -> StoreError {
        match self {
            StoreError::NameTaken(_) => StoreError::NameTaken(format!("user {name:?} exists already")),
            other => other,
        }
    }

    /// For damaged data, with what to do.
    pub(super) fn corrupt(what: impl std::fmt::Display) -> StoreError {
        StoreError::Corrupt(format!(
            "{what}; stop feedwarden, restore a backup or repair the database (docs/backup.md), and start it again"
        ))
    }

    /// For a value in a row that the model cannot represent. The reader of the row adds where it stands.
    pub(super) fn damaged(what: impl std::fmt::Display) -> StoreError {
        StoreError::BadRow(Box::new(QuarantinedRow {
            table: "",
            key: RowKey::Name(String::new()),
            url: None,
            column: String::new(),
            value: String::new(),
            reason: what.to_string(),
        }))
    }

    /// Names the table of a row that cannot be read; other errors stay unchanged.
    pub(super) fn of_table(mut self, table: &'static str) -> StoreError {
        if let StoreError::BadRow(row) = &mut self {
            row.table = table;
        }
        self
    }

    /// Names the column and its value, unless they are known; other errors stay unchanged.
    pub(super) fn in_column(mut self, column: &str, value: impl FnOnce() -> String) -> StoreError {
        if let StoreError::BadRow(row) = &mut self
            && row.column.is_empty()
        {
            row.column = column.to_owned();
            row.value = match NOT_SHOWN.contains(&column) {
                true => "a value that is not shown".to_owned(),
                false => shortened(value()),
            };
        }
        self
    }

    /// Names the row; other errors stay unchanged.
    pub(super) fn in_row(mut self, key: RowKey, url: Option<String>) -> StoreError {
        if let StoreError::BadRow(row) = &mut self {
            (row.key, row.url) = (key, url);
        }
        self
    }
}

/// Columns that may hold credentials.
const NOT_SHOWN: [&str; 3] = ["url", "moved_to", "secret"];
/// The most characters of a value that are shown.
const SHOWN_CHARACTERS: usize = 80;

fn shortened(value: String) -> String {
    match value.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value,
    }
}

pub(super) fn owns_podcasts(id: UserId) -> String {
    format!("user {id} owns podcasts; remove those first, or give them to another user")
}

pub(super) fn has_sources(id: PodcastId) -> String {
    format!("podcast {id} has sources or articles; remove those first, or give the sources to another podcast")
}
