//! What can go wrong with the store, as far as somebody acts on it.

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

    /// For what a row holds and the model has no place for.
    pub(super) fn damaged(what: impl std::fmt::Display) -> StoreError {
        StoreError::Unusable(format!("a stored value makes no sense: {what}"))
    }
}
