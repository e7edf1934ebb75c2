//! What can go wrong with a poll, as names. Which name a cause deserves is decided in `rules::classify`.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumCount, VariantArray};

use super::Timestamp;

/// Kind of a failure: the `error_type` of logs, API and database.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
    strum::Display,
    strum::EnumCount,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum FailureKind {
    /// Too many requests (429, or 403 with a rate limit that is used up).
    RateLimited,
    /// Credentials missing or rejected (401).
    Unauthorized,
    /// Request forbidden (403 or robots.txt), or the address of the host is not allowed by the configuration.
    Forbidden,
    /// Not found (404).
    NotFound,
    /// Gone (410).
    Gone,
    /// Server error (5xx), redirects that cannot be followed, or too little memory left for the body.
    UpstreamFailure,
    /// No response: name resolution, connection or timeout.
    Network,
    /// Response that cannot be parsed.
    ParseError,
    /// A response of no known kind.
    Unexpected,
    /// Fault of the daemon itself; not counted for the source.
    Internal,
}

impl FailureKind {
    /// Every kind, in the order of their declaration.
    pub const ALL: [FailureKind; FailureKind::COUNT] =
        *FailureKind::VARIANTS.first_chunk().expect("there are as many as were counted");

    /// The name used in the database, in logs and in the API.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether a source can rest because of it. What is left to backoff or needs a person has no cooldown.
    pub const fn has_cooldown(self) -> bool {
        !matches!(self, FailureKind::RateLimited | FailureKind::Unexpected | FailureKind::Internal)
    }
}

/// Whether a retry can be expected to succeed.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    strum::Display,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum FailureClass {
    /// May end by itself: the source backs off and is never disabled.
    Transient,
    /// Does not end by itself: several in a row disable the source.
    Permanent,
}

impl FailureClass {
    /// The name used in the database, in logs and in the API.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// How loudly a failure is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Failure of a publisher.
    Warn,
    /// An operator should look.
    Error,
}

/// What went wrong, as the part that noticed it saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureCause {
    /// An HTTP answer that is neither 200 nor 304.
    Status(u16),
    /// An HTTP answer with this status that refuses the request because the rate limit is used up (p38).
    RateLimited(u16),
    /// The host's name does not exist, or has no address: an answer about the source, also during an outage (p31).
    Dns,
    /// The resolver answers that it could not find out (SERVFAIL, REFUSED): the zone is broken, or the resolver has lost
    /// its own network. Evidence that our own network is down, if other hosts are silent, too (p31).
    ResolverFailed,
    /// Silence on our side: this machine has no route, or its resolver (or proxy) does not answer. Evidence that our
    /// own network is down (p31).
    NoNetwork,
    /// This machine has no route to the host's kind of addresses (IPv4 or IPv6), but has one to the other kind: our own
    /// network is not down.
    NoRoute,
    /// Silence on the way: no connection in time. Evidence that our own network is down, if other hosts are silent, too
    /// (p31).
    Unreachable,
    /// The other side answered and ended it: refused, reset, closed early, no TLS.
    Connection,
    /// A connection stood, but the answer did not come in time.
    Stalled,
    /// The body is not what the source's type calls for.
    Unreadable,
    /// The credentials needed for the request are revoked, refused or unreadable.
    Credentials,
    /// The owner of an X source has given no key (s113).
    KeyMissing,
    /// The publisher's `robots.txt` forbids it.
    Robots,
    /// The publisher's redirects lead nowhere: a loop, too many, or to what is not followed (p21, p23).
    Redirect,
    /// The bodies in flight used up the memory for them, and this one came too slowly or waited too long.
    MemoryShort,
    /// No address of the host may be dialled by the operator's rules (p36).
    AddressRefused,
    /// The proxy of the source cannot be reached: says nothing about the host or our own network.
    SourceProxy,
    /// The database, or another part of this program.
    Internal,
    /// A part of this program crashed before the poll was settled (s509).
    Lost,
    /// Our own network or resolver was down (p31).
    Outage,
    /// Anything else.
    Other,
}

/// One failed poll: its cause, the cause in words, and what the answer said about coming back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureReport {
    pub cause: FailureCause,
    /// The real cause in words for a person, with nothing secret in it.
    pub error: String,
    /// No request before this time, as the answer asks: `Retry-After`, or the reset of its rate limit (p38).
    pub retry_after: Option<Timestamp>,
}

impl FailureReport {
    /// The HTTP status behind the failure, if there was an answer.
    pub fn status_code(&self) -> Option<u16> {
        match self.cause {
            FailureCause::Status(code) | FailureCause::RateLimited(code) => Some(code),
            _ => None,
        }
    }
}

/// A stored or typed name that stands for nothing.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is not a {noun}; it is one of {choices}")]
pub struct UnknownName {
    /// What the name should have been the name of.
    pub noun: &'static str,
    /// The name as found.
    pub name: String,
    /// What would have been right.
    pub choices: String,
}

impl UnknownName {
    /// Finds the value with this name, or says which names there are.
    pub fn find<T: Copy>(
        noun: &'static str,
        name: &str,
        all: &[T],
        name_of: fn(T) -> &'static str,
    ) -> Result<T, UnknownName> {
        all.iter().copied().find(|value| name_of(*value) == name).ok_or_else(|| UnknownName {
            noun,
            name: name.chars().take(64).collect(),
            choices: all.iter().map(|value| name_of(*value)).collect::<Vec<_>>().join(", "),
        })
    }
}

impl FromStr for FailureKind {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<FailureKind, UnknownName> {
        UnknownName::find("kind of failure", name, &FailureKind::ALL, FailureKind::name)
    }
}

impl FromStr for FailureClass {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<FailureClass, UnknownName> {
        UnknownName::find("class of failure", name, FailureClass::VARIANTS, FailureClass::name)
    }
}
