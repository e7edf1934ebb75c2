//! A request before it is sent: where to, by which method, with what.

use std::fmt;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::pending_redirect::PendingRedirect;
use crate::model::{SourceProxy, Validators};

/// A request that [`Client::send`](super::Client::send) makes.
#[derive(Clone)]
pub struct Request {
    /// URL as configured; it may be invalid. Credentials in it become a header.
    pub url: String,
    /// GET unless said otherwise.
    pub method: Method,
    /// Validators of the last response; sent exactly as received.
    pub validators: Validators,
    /// Additional headers. They may contain secrets and are not sent to another origin.
    pub headers: Vec<(String, SecretString)>,
    /// Credentials; not sent to another origin. Override credentials in the URL.
    pub credentials: Option<Credentials>,
    /// Whether to read the body of an error response.
    pub wants_refusal: bool,
    /// Cuts a longer body here instead of rejecting it.
    pub cut_at_bytes: Option<usize>,
    /// Whether to keep the connection shortly for further requests to the same host.
    pub keep_alive: bool,
    /// Whether redirects are followed at once. Otherwise the first one that may be followed ends the request, so that
    /// the next hop can wait for its own host (p25).
    pub follows: bool,
    /// Continues at the redirect where an earlier request ended, instead of `url`. Everything
    /// else has to be as it was in that request.
    pub pending_redirect: Option<PendingRedirect>,
    /// Whether the operator chose the host, so that its address is not vetted (p36). Only for requests that follow no
    /// redirects.
    pub is_operators: bool,
    /// How much of the deadline earlier requests of the same poll took (p35).
    pub time_used: Duration,
    /// Instead of the configured one.
    pub user_agent: Option<String>,
    /// Instead of the configured one. Unlike that, its address is vetted: a user of the API chose it.
    pub proxy: Option<SourceProxy>,
}

impl Request {
    /// An unconditional, anonymous GET.
    pub fn new(url: impl Into<String>) -> Request {
        Request {
            url: url.into(),
            method: Method::Get,
            validators: Validators::default(),
            headers: Vec::new(),
            credentials: None,
            wants_refusal: false,
            cut_at_bytes: None,
            keep_alive: false,
            follows: true,
            pending_redirect: None,
            is_operators: false,
            time_used: Duration::ZERO,
            user_agent: None,
            proxy: None,
        }
    }
}

/// Method of a request. A POST is sent at most once: never on a kept connection, which may be closed, and it follows no
/// redirect.
#[derive(Clone)]
pub enum Method {
    Get,
    /// A POST of this `application/x-www-form-urlencoded` text.
    PostForm(SecretString),
    /// A POST of this JSON text.
    PostJson(String),
    /// A POST of this CloudEvent.
    PostCloudEvent(String),
    /// A PUT of this JSON text.
    PutJson(String),
}

impl Method {
    /// The text that is sent.
    pub fn text(&self) -> &str {
        self.body().map_or("", |(_, text)| text)
    }

    /// The media type and the text of a POST or PUT.
    pub(super) fn body(&self) -> Option<(&'static str, &str)> {
        match self {
            Method::Get => None,
            Method::PostForm(form) => Some(("application/x-www-form-urlencoded", form.expose_secret())),
            Method::PostJson(json) | Method::PutJson(json) => Some(("application/json", json)),
            Method::PostCloudEvent(event) => Some(("application/cloudevents+json", event)),
        }
    }
}

impl fmt::Debug for Method {
    /// Leaves out the body, which may be secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Method::Get => "Get",
            Method::PostForm(_) => "PostForm(…)",
            Method::PostJson(_) => "PostJson(…)",
            Method::PostCloudEvent(_) => "PostCloudEvent(…)",
            Method::PutJson(_) => "PutJson(…)",
        })
    }
}

impl fmt::Debug for Request {
    /// Omits everything that could be secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = Url::parse(&self.url).map_or_else(|_| "(no URL)".into(), |url| without_credentials(&url).to_string());
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        formatter
            .debug_struct("Request")
            .field("url", &url)
            .field("method", &self.method)
            .field("validators", &self.validators)
            .field("headers", &headers)
            .field("credentials", &self.credentials)
            .field("wants_refusal", &self.wants_refusal)
            .field("cut_at_bytes", &self.cut_at_bytes)
            .field("keep_alive", &self.keep_alive)
            .field("follows", &self.follows)
            .field("pending_redirect", &self.pending_redirect)
            .field("is_operators", &self.is_operators)
            .field("time_used", &self.time_used)
            .field("user_agent", &self.user_agent)
            .field("proxy", &self.proxy)
            .finish()
    }
}

/// Credentials for a publisher.
#[derive(Clone)]
pub enum Credentials {
    /// A name and a password (RFC 7617).
    Basic {
        /// The name; it may not hold a colon.
        name: String,
        password: SecretString,
    },
    /// A token (RFC 6750).
    Bearer(SecretString),
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Credentials::Basic { .. } => "Basic(…)",
            Credentials::Bearer(_) => "Bearer(…)",
        })
    }
}

impl Credentials {
    /// The value of the `Authorization` header.
    pub(super) fn header(&self) -> String {
        match self {
            Credentials::Basic { name, password } => basic(name.as_bytes(), password.expose_secret().as_bytes()),
            Credentials::Bearer(token) => format!("Bearer {}", token.expose_secret()),
        }
    }
}

/// The `Authorization` value for the credentials in a URL, if it has any.
pub(super) fn credentials_of(url: &Url) -> Option<String> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    Some(basic(&percent_decoded(url.username()), &percent_decoded(url.password().unwrap_or(""))))
}

/// The URL as it may be shown and sent: without credentials and without fragment.
pub(super) fn without_credentials(url: &Url) -> Url {
    let mut shown = url.clone();
    // Both fail only for URLs that cannot hold credentials, which then have none.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.set_fragment(None);
    shown
}

fn basic(name: &[u8], password: &[u8]) -> String {
    use base64::Engine as _;
    let pair = [name, b":", password].concat();
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair))
}

/// Credentials need not be UTF-8 once decoded, so this stays with bytes.
pub(crate) fn percent_decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let byte = match bytes[index..] {
            [b'%', high, low, ..] => hex_digit(high).zip(hex_digit(low)).map(|(high, low)| high * 16 + low),
            _ => None,
        };
        decoded.push(byte.unwrap_or(bytes[index]));
        index += if byte.is_some() { 3 } else { 1 };
    }
    decoded
}

fn hex_digit(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p37_credentials_in_a_url_become_a_header_percent_decoded() {
        let header = |url: &str| credentials_of(&Url::parse(url).unwrap());
        assert_eq!(header("https://ann:s%3Acret%40@feeds.example/").as_deref(), Some("Basic YW5uOnM6Y3JldEA="));
        assert_eq!(header("https://ann@feeds.example/").as_deref(), Some("Basic YW5uOg=="));
        assert_eq!(header("https://100%25:x%zz@feeds.example/").as_deref(), Some("Basic MTAwJTp4JXp6"));
        assert_eq!(header("https://feeds.example/"), None);
    }

    #[test]
    fn p37_nothing_secret_shows_when_a_request_is_printed() {
        let request = Request {
            headers: vec![("X-Key".into(), "hidden-key".into())],
            credentials: Some(Credentials::Bearer("hidden-token".into())),
            method: Method::PostForm("refresh_token=hidden-form".into()),
            ..Request::new("https://ann:hidden-word@feeds.example/all?page=1")
        };
        let printed = format!("{request:?}");
        assert!(!printed.contains("hidden"), "{printed}");
        assert!(!printed.contains("ann"), "{printed}");
        assert!(printed.contains("https://feeds.example/all?page=1"), "{printed}");
        let password = Credentials::Basic { name: "ann".into(), password: "hidden".into() };
        assert_eq!(format!("{password:?}"), "Basic(…)");
    }

    #[test]
    fn p37_a_text_that_is_no_url_is_not_printed_since_it_may_hold_a_password() {
        assert!(format!("{:?}", Request::new("https//ann:hidden@feeds")).contains("(no URL)"));
    }
}
