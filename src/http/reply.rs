//! Result of a request: a reply or a failure.

use std::fmt;
use std::net::SocketAddr;

use hyper::HeaderMap;
use url::Url;

use super::headers::Caching;
use super::memory::MemoryShare;
use super::pending_redirect::PendingRedirect;
use crate::model::{FailureReport, RateLimit, Timestamp, Validators};

/// A 200, a 304, or a redirect if the request does not follow redirects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub content: Content,
    /// Final URL, without credentials.
    pub url: Url,
    /// All requests, including those before a pending redirect.
    pub hops: Vec<Hop>,
    /// Time at which the head of the response arrived.
    pub answered_at: Timestamp,
    /// Validators for the next request.
    pub validators: Validators,
    pub caching: Caching,
    /// The rate limit that the answer states.
    pub rate_limit: Option<RateLimit>,
    /// All headers of the answer.
    pub headers: Headers,
    /// The part of the budget that the body holds; to be dropped when the body is.
    pub memory: Option<MemoryShare>,
}

impl Reply {
    /// The URL that an unbroken chain of permanent redirects leads to, if the first redirect is one.
    pub fn moved_to(&self) -> Option<&Url> {
        let permanent = self.hops.iter().take_while(|hop| hop.redirect() == Some(Redirect::Permanent)).count();
        if permanent == 0 { None } else { self.hops.get(permanent).map(|hop| &hop.url) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// 304.
    NotModified,
    /// 200.
    Body {
        bytes: Vec<u8>,
        /// `Content-Type`, as sent.
        content_type: Option<String>,
        /// Body bytes received, before decoding.
        wire_bytes: usize,
        /// Whether the body was cut.
        is_cut: bool,
    },
    /// A redirect that may be followed, for a request that does not follow redirects.
    Redirect(PendingRedirect),
}

/// One request on the way to the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// URL without credentials.
    pub url: Url,
    /// The dialled address, or the proxy's.
    pub address: Option<SocketAddr>,
    pub status: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redirect {
    /// 301, 308.
    Permanent,
    /// 302, 303, 307.
    Temporary,
}

impl Redirect {
    /// The redirect that this status is, if it is one that is followed.
    pub fn of(status: u16) -> Option<Redirect> {
        match status {
            301 | 308 => Some(Redirect::Permanent),
            302 | 303 | 307 => Some(Redirect::Temporary),
            _ => None,
        }
    }
}

impl Hop {
    /// The redirect that this hop answered with.
    pub fn redirect(&self) -> Option<Redirect> {
        self.status.and_then(Redirect::of)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub report: FailureReport,
    /// All requests, including the failed one.
    pub hops: Vec<Hop>,
    /// The rate limit that the last answer states, if there is an answer.
    pub rate_limit: Option<RateLimit>,
    pub headers: Headers,
    /// Body of an error response, if requested, small and complete; otherwise empty.
    pub body: Vec<u8>,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.report.error)
    }
}

/// The headers of an answer.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(pub(super) HeaderMap);

impl Headers {
    /// The first header of this name, whatever its case; each character stands for the byte of its number.
    pub fn get(&self, name: &str) -> Option<String> {
        self.0.get(name).map(|value| super::headers::text(value.as_bytes()))
    }

    /// All headers of this name, in the same way.
    pub fn all(&self, name: &str) -> impl Iterator<Item = String> {
        self.0.get_all(name).into_iter().map(|value| super::headers::text(value.as_bytes()))
    }
}

impl fmt::Debug for Headers {
    /// Names only: values may contain a session or a token.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.0.keys().map(hyper::header::HeaderName::as_str)).finish()
    }
}
