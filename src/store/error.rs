//! Errors of the store, as far as callers distinguish them.

use crate::model::{PodcastId, UserId};

/// Error of a method of the store. Nothing was written, except possibly if the connection was
/// lost during a commit; a retry is safe.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// May pass by itself: the server is unreachable, the disk is full, the file is locked.
    #[error("the database is not available: {0}")]
    Unavailable(String),
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
        matches!(self, StoreError::Unavailable(_))
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

    /// For a value in a row that the model cannot represent.
    pub(super) fn damaged(what: impl std::fmt::Display) -> StoreError {
        StoreError::Unusable(format!("a stored value makes no sense: {what}"))
    }
}

pub(super) fn owns_podcasts(id: UserId) -> String {
    format!("user {id} owns podcasts; remove those first, or give them to another user")
}

pub(super) fn has_sources(id: PodcastId) -> String {
    format!("podcast {id} has sources or articles; remove those first, or give the sources to another podcast")
}
