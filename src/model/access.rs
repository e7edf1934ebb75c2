//! What a source needs to be let in: secrets that a person gave for it.

use secrecy::SecretString;

/// Further headers and a login for the requests of one source. Never printed, kept encrypted, and never sent to another
/// origin.
#[derive(Clone, Debug, Default)]
pub struct SourceAccess {
    /// Headers by name.
    pub headers: Vec<(String, SecretString)>,
    /// A name and a password (basic authentication).
    pub login: Option<(String, SecretString)>,
}
