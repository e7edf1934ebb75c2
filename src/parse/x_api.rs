//! Reads what X's API (version 2) answers: accounts, timelines, problems, and renewed tokens. Pure.
//!
//! The API answers 200 also when it has nothing to give and says why in a list of problems. Whoever reads only `data`
//! takes a suspended account for a quiet one; so every reader here hands over data or the problem, and whatever is
//! neither is an error.

mod account;
mod post;
mod problem;
mod timeline;
mod token;

pub use account::{account, is_account_id};
pub use post::XPost;
pub use problem::{Problem, ProblemKind, refusal};
pub use timeline::{Page, timeline};
pub use token::{Renewed, renewed};

/// Why an answer gives nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum XApiError {
    /// X says why.
    #[error("{0}")]
    Refused(Problem),
    /// It is not what the documentation shows.
    #[error("X's answer cannot be read: {0}")]
    Unknown(String),
}

impl XApiError {
    fn unknown(reason: impl Into<String>) -> XApiError {
        XApiError::Unknown(reason.into())
    }

    /// serde's texts can repeat what the answer holds, which may be secret and of any length: only the place is told.
    fn from_json(error: &serde_json::Error) -> XApiError {
        use serde_json::error::Category;
        let complaint = match error.classify() {
            Category::Syntax => "it is not JSON",
            Category::Eof => "its JSON ends early",
            Category::Data | Category::Io => "its JSON has another shape than documented",
        };
        XApiError::Unknown(format!("{complaint} (line {}, column {})", error.line(), error.column()))
    }
}
