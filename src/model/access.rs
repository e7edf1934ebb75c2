//! What a source needs to be let in: secrets that a person gave for it.

use secrecy::{ExposeSecret, SecretString};
use url::{Origin, Url};

use super::Source;

/// Further headers and a login for the requests of one source. Never printed, kept encrypted, and never sent to another
/// origin.
#[derive(Clone, Debug, Default)]
pub struct SourceAccess {
    /// Headers by name.
    pub headers: Vec<(String, SecretString)>,
    /// A name and a password (basic authentication).
    pub login: Option<(String, SecretString)>,
    /// Scheme, host and port that it was given for: a source that moved elsewhere does not take it along.
    pub origin: Option<String>,
}

impl SourceAccess {
    /// The origin of a URL, if it has one that requests can be sent to.
    pub fn origin_of(url: &str) -> Option<String> {
        Url::parse(url).ok().map(|url| url.origin()).filter(Origin::is_tuple).map(|origin| origin.ascii_serialization())
    }

    /// Whether requests with the other one send the same headers and login. Validators belong to a URL and to these.
    pub fn is_same(&self, other: &SourceAccess) -> bool {
        let is_same = |(name, value): &(String, SecretString), (other_name, other): &(String, SecretString)| {
            name == other_name && value.expose_secret() == other.expose_secret()
        };
        let logins = match (&self.login, &other.login) {
            (Some(login), Some(other)) => is_same(login, other),
            (login, other) => login.is_none() && other.is_none(),
        };
        logins
            && self.origin == other.origin
            && self.headers.len() == other.headers.len()
            && self.headers.iter().zip(&other.headers).all(|(header, other)| is_same(header, other))
    }

    /// Whether it may be sent to where this URL is (p23).
    pub fn is_for(&self, url: &str) -> bool {
        self.origin.is_none() || self.origin == SourceAccess::origin_of(url)
    }
}

/// A source with everything that a poll of it needs.
#[derive(Clone, Debug)]
pub struct SourceToPoll {
    pub source: Source,
    /// What it needs to be let in; nothing, if a person gave nothing. In words, if it is kept but cannot be opened: a
    /// request without it would only be refused.
    pub access: Result<SourceAccess, String>,
}
