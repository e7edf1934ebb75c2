//! The `Authorization` header of a request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::tokens::TokenScope;

/// What a request presents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresentedCredentials {
    pub token: String,
    /// Maximum scope. A token sent as a password is limited to `read`, because browsers attach stored passwords to
    /// requests that any page triggers.
    pub scope_max: TokenScope,
}

/// Reads the value of the header: `Bearer TOKEN`, or `Basic` with any name and the token as the password.
pub fn credentials(value: &str) -> Option<PresentedCredentials> {
    let (scheme, rest) = value.split_once(' ')?;
    let rest = rest.trim();
    match scheme.to_ascii_lowercase().as_str() {
        "bearer" => Some(PresentedCredentials { token: rest.to_owned(), scope_max: TokenScope::Write }),
        "basic" => {
            let pair = String::from_utf8(STANDARD.decode(rest).ok()?).ok()?;
            let (_, password) = pair.split_once(':')?;
            Some(PresentedCredentials { token: password.to_owned(), scope_max: TokenScope::Read })
        }
        _ => None,
    }
}
