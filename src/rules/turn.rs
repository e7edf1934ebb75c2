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
/// Call [`clamp_future_times`] on the state first.
pub fn turn(host: &HostState, delay: Duration, started_at: Timestamp, policy: &Policy, now: Timestamp) -> Turn {
    if let Some((until, because)) = closed(host, policy, now) {
        return Turn::NotBefore { until, because };
    }
    // A start in the future was taken before the clock was set back: its age is unknown.
    let started_at = Some(started_at).filter(|started_at| *started_at <= now);
    let asked_at = host.last_asked_at.map(|asked_at| asked_at.min(now));
    match started_at.max(asked_at).map(|base| base + delay) {
        Some(at) if at > now => Turn::At(at),
        _ => Turn::Now,
    }
}

/// Corrects moments in a host's state that a clock that was ahead has stored; returns whether there were any.
///
/// Call it when a state is read from the store and before each use, and keep the result: no request ended later than
/// now, no hold lasts longer than the ceiling, no breaker stays open longer than its longest pause. The result must be
/// kept because a moment that is clamped anew each time would move along with now, and the host would wait until the
/// true time has reached the wrong one.
pub fn clamp_future_times(host: &mut HostState, policy: &Policy, now: Timestamp) -> bool {
    let before = (host.last_asked_at, host.held_until, host.breaker.open_until);
    let at_most = |moment: Option<Timestamp>, ceiling: Timestamp| moment.map(|moment| moment.min(ceiling));
    host.last_asked_at = at_most(host.last_asked_at, now);
    host.held_until = at_most(host.held_until, now + policy.retry_after_max);
    let longest = policy.breaker.pause_max.max(policy.breaker.pause_first);
    host.breaker.open_until = at_most(host.breaker.open_until, now + longest);
    before != (host.last_asked_at, host.held_until, host.breaker.open_until)
}

/// The later of the hold and the breaker.
fn closed(host: &HostState, policy: &Policy, now: Timestamp) -> Option<(Timestamp, Closed)> {
    let held = host.held_until.map(|until| until.min(now + policy.retry_after_max)).filter(|until| *until > now);
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
