//! A host: the party that politeness is owed to.

use std::fmt;
use std::sync::Arc;

use super::Timestamp;

/// The host part of a URL in its one canonical spelling. Made by `rules::host_key`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostKey(Arc<str>);

impl HostKey {
    /// Takes a spelling that is canonical already: out of the store, or out of `rules::host_key`.
    pub fn from_canonical(spelling: &str) -> HostKey {
        HostKey(Arc::from(spelling))
    }

    /// The spelling.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What is remembered of a host, so that a restart never shortens a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostState {
    /// Which host.
    pub host: HostKey,
    /// When the last request to it ended.
    pub last_asked_at: Option<Timestamp>,
    /// No request to it before this moment.
    pub held_until: Option<Timestamp>,
    /// Why it is held, in words.
    pub held_reason: Option<String>,
    /// How silent it has been.
    pub breaker: Breaker,
}

/// What keeps a host that is down from being asked for each of its sources. Moved by `rules::breaker`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breaker {
    /// Requests without an answer, with no answer in between.
    pub failures: u32,
    /// How often it opened since it was last closed; zero while it is closed.
    pub openings: u32,
    /// While it is open: no request before this moment, and a single one after it.
    pub open_until: Option<Timestamp>,
}

impl HostState {
    /// A host nobody has asked anything yet.
    pub fn new(host: HostKey) -> HostState {
        HostState { host, last_asked_at: None, held_until: None, held_reason: None, breaker: Breaker::default() }
    }
}
