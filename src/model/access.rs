//! What a source needs to be let in: secrets that a person gave for it.

use secrecy::SecretString;

use super::Source;

/// Further headers and a login for the requests of one source. Never printed, kept encrypted, and never sent to another
/// origin.
#[derive(Clone, Debug, Default)]
pub struct SourceAccess {
    /// Headers by name.
    pub headers: Vec<(String, SecretString)>,
    /// A name and a password (basic authentication).
    pub login: Option<(String, SecretString)>,
}

/// A source with everything that a poll of it needs.
#[derive(Clone, Debug)]
pub struct SourceToPoll {
    /// The source.
    pub source: Source,
    /// What it needs to be let in; nothing, if a person gave nothing. In words, if it is kept but cannot be opened: a
    /// request without it would only be refused.
    pub access: Result<SourceAccess, String>,
}
