//! Parses responses of X's API (version 2): accounts, timelines, problems and renewed tokens. Pure.
//!
//! The API answers 200 also for errors, with a list of problems. Code that reads only `data`
//! would take a suspended account for an inactive one; so every parser here returns data or the problem, and anything
//! else is an error.

mod account;
mod post;
mod problem;
mod timeline;
mod token;

pub use account::{account, is_account_id};
pub use post::XPost;
pub use problem::{ProblemKind, XProblem, refusal};
pub use timeline::{TimelinePage, timeline};
pub use token::{Renewed, renewed};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum XApiError {
    #[error("{0}")]
    Refused(XProblem),
    /// The response does not match the documentation.
    #[error("X's answer cannot be read: {0}")]
    Unknown(String),
}

impl XApiError {
    fn unknown(reason: impl Into<String>) -> XApiError {
        XApiError::Unknown(reason.into())
    }

    /// Only the position: serde's messages can contain parts of the response, which may be secret.
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
