//! What came back: a reply that can be used, or a failure that says why there is none.

use std::fmt;
use std::net::SocketAddr;

use hyper::HeaderMap;
use url::Url;

use super::headers::Caching;
use super::pending_redirect::PendingRedirect;
use crate::model::{FailureReport, Timestamp, Validators};

/// A 200 or a 304; or a redirect, if the request follows none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// What the publisher had to say.
    pub content: Content,
    /// Where it was in the end, without credentials.
    pub url: Url,
    /// Every request that was made on the way, the last one and those of earlier requests included.
    pub hops: Vec<Hop>,
    /// When the head of the answer was there.
    pub answered_at: Timestamp,
    /// What to ask with next time.
    pub validators: Validators,
    /// What the answer says about its freshness.
    pub caching: Caching,
    /// All headers of the answer.
    pub headers: Headers,
}

impl Reply {
    /// The URL that an unbroken chain of permanent redirects leads to, if the first redirect is one.
    pub fn moved_to(&self) -> Option<&Url> {
        let permanent = self.hops.iter().take_while(|hop| hop.redirect() == Some(Redirect::Permanent)).count();
        if permanent == 0 { None } else { self.hops.get(permanent).map(|hop| &hop.url) }
    }
}

/// The publisher's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// 304: nothing new since the validators were given.
    NotModified,
    /// 200: here it is.
    Body {
        /// The body, decoded.
        bytes: Vec<u8>,
        /// `Content-Type`, as sent.
        content_type: Option<String>,
        /// How many bytes of body crossed the wire.
        wire_bytes: usize,
        /// Whether there is more than was wanted.
        is_cut: bool,
    },
    /// A redirect that may be followed, to a request that follows none by itself.
    Redirect(PendingRedirect),
}

/// One request on the way to the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// What was asked for, without credentials.
    pub url: Url,
    /// Who was asked: the address that was vetted and dialled, or the proxy's.
    pub address: Option<SocketAddr>,
    /// What the answer was, if there was one.
    pub status: Option<u16>,
}

/// Whether a redirect is for good.
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

/// No usable answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What went wrong, in the words of the model.
    pub report: FailureReport,
    /// Every request that was made on the way, the failed one included.
    pub hops: Vec<Hop>,
    /// The headers of the answer, if there was one.
    pub headers: Headers,
    /// The body of a refusal, if it was wanted and is small and whole; otherwise nothing.
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
}

impl fmt::Debug for Headers {
    /// Names only: values may hold a session or a token that the publisher gave us.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.0.keys().map(hyper::header::HeaderName::as_str)).finish()
    }
}
