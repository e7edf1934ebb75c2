//! What can go wrong with the store, as far as somebody acts on it.

use crate::model::{PodcastId, UserId};

/// Why a verb of the store could not be carried out. Nothing of it was written, except perhaps where a connection was
/// lost while a commit was on its way: trying the same again is safe.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It may work later: the server is away, the disk is full, somebody holds the file.
    #[error("the database is not available: {0}")]
    Unavailable(String),
    /// It names something that is not there.
    #[error("{0}")]
    NoSuchReference(String),
    /// It would give a name twice that must be unique.
    #[error("{0}")]
    NameTaken(String),
    /// It would take something away that others still need.
    #[error("{0}")]
    StillInUse(String),
    /// A newer version of this program has been here.
    #[error(
        "the database has schema version {found}, but this version of feedwarden knows only {known}: \
         it was used by a newer feedwarden; run that one, or restore a backup from before the upgrade"
    )]
    Newer {
        /// The version found.
        found: i64,
        /// The latest version known.
        known: i64,
    },
    /// The database cannot be used as it is.
    #[error("the database cannot be used: {0}")]
    Unusable(String),
    /// An API key cannot be kept or read.
    #[error("{0}")]
    Encryption(String),
    /// A bug.
    #[error("the store failed in a way nobody planned for: {0}")]
    Internal(String),
}

impl StoreError {
    /// Whether the same verb may work later, with nothing changed but the time.
    pub fn is_passing(&self) -> bool {
        matches!(self, StoreError::Unavailable(_))
    }

    /// For what cannot be removed as long as something belongs to it; other errors stay as they are.
    pub(super) fn or_in_use(self, what: impl FnOnce() -> String) -> StoreError {
        match self {
            StoreError::NoSuchReference(_) => StoreError::StillInUse(what()),
            other => other,
        }
    }

    /// For a name that is given already; other errors stay as they are.
    pub(super) fn or_user_taken(self, name: &str) -> StoreError {
        match self {
            StoreError::NameTaken(_) => StoreError::NameTaken(format!("user {name:?} exists already")),
            other => other,
        }
    }

    /// For what a row holds and the model has no place for.
    pub(super) fn damaged(what: impl std::fmt::Display) -> StoreError {
        StoreError::Unusable(format!("a stored value makes no sense: {what}"))
    }
}

/// Why a user cannot be removed.
pub(super) fn owns_podcasts(id: UserId) -> String {
    format!("user {id} owns podcasts; remove those first, or give them to another user")
}

/// Why a podcast cannot be removed.
pub(super) fn has_sources(id: PodcastId) -> String {
    format!("podcast {id} has sources or articles; remove those first, or give the sources to another podcast")
}
