//! A host: the party that politeness is owed to.

use std::fmt;
use std::sync::Arc;

use url::{Host, Url};

use super::Timestamp;

/// The longest name in DNS. A longer name cannot be resolved, and is not stored.
const NAME_BYTES_MAX: usize = 253;

/// The host part of a URL in its one canonical spelling.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostKey(Arc<str>);

impl HostKey {
    /// The host that a URL names; none for what is no URL or has no host, which forms a group of its own (s506).
    ///
    /// The port is not part of it: what answers on another port is most likely the same machine.
    pub fn of_url(url: &str) -> Option<HostKey> {
        canonical(Url::parse(url).ok()?.host()?)
    }

    /// Takes a spelling that is canonical already, such as one out of the store.
    pub fn from_canonical(spelling: &str) -> HostKey {
        HostKey(Arc::from(spelling))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn canonical(host: Host<&str>) -> Option<HostKey> {
    match host {
        Host::Domain(name) => {
            // URLs of schemes that are not special keep the host's case, and any name may end in the root's dot.
            let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
            (1..=NAME_BYTES_MAX).contains(&name.len()).then(|| HostKey::from_canonical(&name))
        }
        Host::Ipv4(address) => Some(HostKey::from_canonical(&address.to_string())),
        Host::Ipv6(address) => Some(HostKey::from_canonical(&match address.to_ipv4_mapped() {
            Some(mapped) => mapped.to_string(),
            None => format!("[{address}]"),
        })),
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
    /// A host that has received no request yet.
    pub fn new(host: HostKey) -> HostState {
        HostState { host, last_asked_at: None, held_until: None, held_reason: None, breaker: Breaker::default() }
    }
}
