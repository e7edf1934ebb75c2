//! The answer of X's token endpoint (RFC 6749, 5.1).

use std::fmt;

use serde::Deserialize;

use super::XApiError;

/// A new token, and what renews it next time.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct Renewed {
    /// What opens the API.
    pub access_token: String,
    /// What renews it; without one the old one stays good.
    pub refresh_token: Option<String>,
}

/// Reads a renewed token. The error never repeats what it read.
pub fn renewed(body: &[u8]) -> Result<Renewed, XApiError> {
    let renewed: Renewed = serde_json::from_slice(body).map_err(|error| XApiError::from_json(&error))?;
    match renewed.access_token.is_empty() {
        true => Err(XApiError::unknown("its token is empty")),
        false => Ok(Renewed { refresh_token: renewed.refresh_token.filter(|token| !token.is_empty()), ..renewed }),
    }
}

impl fmt::Debug for Renewed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Renewed(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tokens_are_read_and_neither_shows() {
        let body = br#"{"token_type":"bearer","expires_in":7200,"access_token":"hidden-a","scope":"tweet.read",
            "refresh_token":"hidden-b"}"#;
        let renewed = renewed(body).unwrap();
        assert_eq!((renewed.access_token.as_str(), renewed.refresh_token.as_deref()), ("hidden-a", Some("hidden-b")));
        assert_eq!(format!("{renewed:?}"), "Renewed(…)");
    }

    #[test]
    fn the_refresh_token_may_stay_as_it_was() {
        assert_eq!(renewed(br#"{"access_token":"a"}"#).unwrap().refresh_token, None);
        assert_eq!(renewed(br#"{"access_token":"a","refresh_token":""}"#).unwrap().refresh_token, None);
    }

    #[test]
    fn an_answer_without_a_token_is_an_error_that_shows_nothing_of_it() {
        for body in ["{}", r#"{"access_token":""}"#, r#"{"access_token":["hidden"]}"#, "hidden", ""] {
            let error = renewed(body.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with("X's answer cannot be read: ") && !error.contains("hidden"), "{error}");
        }
    }
}
