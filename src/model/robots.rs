//! What the `robots.txt` of an origin said.

use super::Timestamp;

/// The `robots.txt` of one origin, as it was when it was last asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsRecord {
    /// Scheme, host and port. Made by `rules::robots`.
    pub origin: String,
    /// When it was asked for.
    pub fetched_at: Timestamp,
    /// Its text; none if there is none (4xx), so that everything is allowed.
    pub rules: Option<String>,
}
