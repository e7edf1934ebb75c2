//! The key that a podcast's owner lends us: a bearer token, or an OAuth 2.0 user token with what renews it.

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use url::form_urlencoded;

use crate::http::{Credentials, Method, Request};
use crate::model::{FailureCause, FailureReport};
use crate::parse::x_api::Renewed;

/// A key that can be sent. Never printed.
pub(super) struct XKey(Stored);

/// Why a text is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// It begins like JSON and is something else.
    #[error(
        "is no JSON object with an access_token; write {{\"access_token\", \"refresh_token\", \"client_id\"}} and, for a \
         confidential app, \"client_secret\""
    )]
    Shape,
    /// No header could carry it.
    #[error("is empty or contains characters that are not allowed in a token")]
    Characters,
}

/// What stands in the store, unless it is a bare token.
#[derive(Deserialize, Serialize)]
struct Stored {
    access_token: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<String>,
    /// There is one if the app is confidential; it then introduces itself with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret: Option<String>,
    /// What else its owner keeps there is given back as it was.
    #[serde(flatten)]
    rest: serde_json::Map<String, serde_json::Value>,
}

impl XKey {
    /// Reads what a person gave, or what is stored. What is wrong with it is said without repeating any of it.
    pub(super) fn read(secret: &SecretString) -> Result<XKey, KeyError> {
        let text = secret.expose_secret().trim();
        let stored = match text.starts_with('{') {
            true => serde_json::from_str(text).map_err(|_| KeyError::Shape)?,
            false => Stored {
                access_token: text.to_owned(),
                refresh_token: None,
                client_id: None,
                client_secret: None,
                rest: serde_json::Map::new(),
            },
        };
        if stored.access_token.is_empty() || !stored.access_token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(KeyError::Characters);
        }
        Ok(XKey(stored))
    }

    /// What opens the API.
    pub(super) fn bearer(&self) -> Credentials {
        Credentials::Bearer(self.0.access_token.as_str().into())
    }

    /// The request that renews the key (RFC 6749, 6); none if it is one that cannot be renewed.
    pub(super) fn renewal(&self, endpoint: String) -> Option<Request> {
        let (refresh_token, client_id) = self.0.refresh_token.as_deref().zip(self.0.client_id.as_deref())?;
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "refresh_token").append_pair("refresh_token", refresh_token);
        let mut request = Request::new(endpoint);
        match self.0.client_secret.as_deref() {
            Some(secret) => {
                let password = secret.into();
                request.credentials = Some(Credentials::Basic { name: client_id.to_owned(), password });
            }
            None => _ = form.append_pair("client_id", client_id),
        }
        request.method = Method::PostForm(form.finish().into());
        request.wants_refusal = true;
        Some(request)
    }

    /// Takes the place of the old key, and says what is to be stored instead of it.
    pub(super) fn renew(&mut self, renewed: Renewed) -> SecretString {
        self.0.access_token = renewed.access_token;
        // X's refresh tokens are good for one use: the new one must not be lost.
        self.0.refresh_token = renewed.refresh_token.or(self.0.refresh_token.take());
        serde_json::to_string(&self.0).expect("a map with texts as keys is always JSON").into()
    }
}

impl From<KeyError> for FailureReport {
    fn from(error: KeyError) -> FailureReport {
        refused(format!("the stored X key {error}"))
    }
}

/// A key that cannot be used.
pub(super) fn refused(error: impl Into<String>) -> FailureReport {
    FailureReport { cause: FailureCause::Credentials, error: error.into(), retry_after: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn read(text: &str) -> XKey {
        XKey::read(&text.into()).unwrap_or_else(|error| panic!("{error}"))
    }

    fn token(key: &XKey) -> String {
        let Credentials::Bearer(token) = key.bearer() else { panic!("a key is a bearer token") };
        token.expose_secret().to_owned()
    }

    fn form_of(request: Request) -> String {
        let Method::PostForm(form) = request.method else { panic!("a key is renewed with a form") };
        form.expose_secret().to_owned()
    }

    #[test]
    fn a_bare_token_is_a_key_that_cannot_be_renewed() {
        let key = read(" AAAA%2FBB=\n");
        assert_eq!(token(&key), "AAAA%2FBB=");
        assert!(key.renewal("https://a.example/".into()).is_none());
    }

    #[rstest]
    #[case("")]
    #[case("  ")]
    #[case("hidden token")]
    #[case("hidden\r\nX-Injected: 1")]
    #[case("{\"token\":\"hidden\"}")]
    #[case("{\"access_token\":\"\"}")]
    #[case("{\"access_token\":\"hidden")]
    #[case("{\"access_token\":\"hidden token\"}")]
    fn a_key_that_cannot_be_used_is_refused_without_showing_it(#[case] text: &str) {
        let report = FailureReport::from(XKey::read(&text.into()).err().unwrap());
        assert_eq!(report.cause, FailureCause::Credentials);
        assert!(
            report.error.starts_with("the stored X key is") && !report.error.contains("hidden"),
            "{}",
            report.error
        );
    }

    #[test]
    fn a_public_app_names_itself_in_the_form() {
        let key = read(r#"{"access_token":"a","refresh_token":"b&c","client_id":"d"}"#);
        let request = key.renewal("https://a.example/token".into()).unwrap();
        assert!(request.credentials.is_none());
        assert_eq!(form_of(request), "grant_type=refresh_token&refresh_token=b%26c&client_id=d");
    }

    #[test]
    fn a_confidential_app_names_itself_in_a_header() {
        let key = read(r#"{"access_token":"a","refresh_token":"b","client_id":"d","client_secret":"e"}"#);
        let request = key.renewal("https://a.example/token".into()).unwrap();
        let credentials = request.credentials.clone();
        assert_eq!(form_of(request), "grant_type=refresh_token&refresh_token=b");
        let Some(Credentials::Basic { name, password }) = credentials else { panic!("no credentials") };
        assert_eq!((name.as_str(), password.expose_secret()), ("d", "e"));
    }

    #[test]
    fn a_renewed_key_keeps_everything_but_the_tokens() {
        let mut key = read(r#"{"access_token":"a","refresh_token":"b","client_id":"d","note":"mine"}"#);
        let again = Renewed { access_token: "A".into(), refresh_token: Some("B".into()) };
        let stored = key.renew(again);
        assert_eq!(stored.expose_secret(), r#"{"access_token":"A","refresh_token":"B","client_id":"d","note":"mine"}"#);
        assert_eq!(token(&key), "A");
        let stored = key.renew(Renewed { access_token: "C".into(), refresh_token: None });
        assert!(stored.expose_secret().contains(r#""refresh_token":"B""#));
    }
}
