//! Wire type of the end of a stream.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::tokens::TokenError;

/// Name of the last event of a stream.
pub const STREAM_END: &str = "end";

/// Data of the last event of a stream that the daemon ends.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StreamEnd {
    /// `token-expired`, `token-rejected`, `unavailable` or `shutting-down`.
    pub reason: String,
    /// The reason in words, and what to do.
    pub detail: String,
}

impl StreamEnd {
    pub(in crate::api) fn token(error: &TokenError) -> StreamEnd {
        let reason = match error {
            TokenError::Expired => "token-expired",
            TokenError::Token(_) | TokenError::Key(_) => "token-rejected",
        };
        StreamEnd::new(reason, format!("{error}; connect again with a new token"))
    }

    pub(in crate::api) fn unavailable() -> StreamEnd {
        StreamEnd::new("unavailable", "the posts cannot be read now; connect again later".to_owned())
    }

    pub(in crate::api) fn shutting_down() -> StreamEnd {
        StreamEnd::new("shutting-down", "the daemon shuts down; connect again later".to_owned())
    }

    /// Whether another token is needed.
    pub fn is_about_the_token(&self) -> bool {
        self.reason.starts_with("token-")
    }

    fn new(reason: &str, detail: String) -> StreamEnd {
        StreamEnd { reason: reason.to_owned(), detail }
    }
}
