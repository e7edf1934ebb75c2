//! When a host takes the next request: spaced, and not while it is held or its breaker is open (p10, p17, p28, p32).

use std::fmt;
use std::time::Duration;

use crate::model::{HostState, Timestamp};

use super::{Policy, breaker};

/// When a host takes the next request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    Now,
    /// At this moment, when the pause since the last request is over.
    At(Timestamp),
    /// Not before this moment, for any source.
    NotBefore {
        /// End of the hold or of the breaker's pause.
        until: Timestamp,
        /// Reason for people.
        because: Closed,
    },
}

/// Why a host takes no requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The host is held, for this reason.
    Held(String),
    /// The host does not answer.
    BreakerOpen {
        /// Requests in a row without an answer.
        failures: u32,
    },
}

/// When a host takes the next request, with this pause between two requests and this start of the process.
///
/// The pause counts from the end of the last request. A process that was killed could not store its last request, so
/// the pause also counts from the start of this process, whether or not a request to the host is known (p28).
///
/// A state that was read from the store is corrected first (`rules::stored_times`).
pub fn turn(host: &HostState, delay: Duration, started_at: Timestamp, policy: &Policy, now: Timestamp) -> Turn {
    if let Some((until, because)) = closed(host, policy, now) {
        return Turn::NotBefore { until, because };
    }
    match host.last_asked_at.map_or(started_at, |asked_at| asked_at.max(started_at)) + delay {
        at if at > now => Turn::At(at),
        _ => Turn::Now,
    }
}

/// The later of the hold and the breaker.
fn closed(host: &HostState, policy: &Policy, now: Timestamp) -> Option<(Timestamp, Closed)> {
    let held = host.held_until.filter(|until| *until > now);
    let open = breaker::open_until(&host.breaker, &policy.breaker, now);
    match (held, open) {
        (held, Some(until)) if held.is_none_or(|held| held < until) => {
            Some((until, Closed::BreakerOpen { failures: host.breaker.failures }))
        }
        (Some(until), _) => {
            let reason = host.held_reason.clone().unwrap_or_else(|| "for a reason that was not written down".into());
            Some((until, Closed::Held(reason)))
        }
        _ => None,
    }
}

impl fmt::Display for Turn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Turn::Now => write!(formatter, "the host is available now"),
            Turn::At(at) => write!(formatter, "the host is available at {at}, after the pause between requests"),
            Turn::NotBefore { until, because } => {
                write!(formatter, "the host gets no requests before {until}: {because}")
            }
        }
    }
}

impl fmt::Display for Closed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Closed::Held(reason) => write!(formatter, "held, {reason}"),
            Closed::BreakerOpen { failures } => write!(formatter, "no response to {failures} requests in a row"),
        }
    }
}

#[cfg(test)]
#[path = "turn_tests.rs"]
mod tests;
