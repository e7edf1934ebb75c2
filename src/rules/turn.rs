//! When a host may be asked: one thing at a time, spaced, never while it is held or silent (p10, p17, p28, p32).

use std::fmt;
use std::time::Duration;

use crate::model::{HostState, Timestamp};

use super::{Policy, breaker};

/// Whether a host may be asked now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It may.
    Now,
    /// At this moment: the last request was not long ago.
    At(Timestamp),
    /// Not before this moment, whoever asks.
    NotBefore {
        /// The moment.
        until: Timestamp,
        /// Why it is closed to us.
        because: Closed,
    },
}

/// Why a host is not to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Closed {
    /// It asked for that, in these words.
    Held(String),
    /// It does not answer.
    BreakerOpen {
        /// How many requests in a row had no answer.
        failures: u32,
    },
}

/// Whether a host may be asked now, if two requests to it lie this far apart and this process began at that moment.
///
/// The pause counts from the end of the last request. A process that was killed could not write down its last request,
/// so it also counts from the start of this one, whether or not the host is known to have been asked (p28).
///
/// Hand in a state that [`clamp_future_times`] has seen.
pub fn turn(host: &HostState, delay: Duration, started_at: Timestamp, policy: &Policy, now: Timestamp) -> Turn {
    if let Some((until, because)) = closed(host, policy, now) {
        return Turn::NotBefore { until, because };
    }
    // A start that lies ahead was stamped before the clock was put right: how long ago it was, nobody knows.
    let started_at = Some(started_at).filter(|started_at| *started_at <= now);
    let asked_at = host.last_asked_at.map(|asked_at| asked_at.min(now));
    match started_at.max(asked_at).map(|base| base + delay) {
        Some(at) if at > now => Turn::At(at),
        _ => Turn::Now,
    }
}

/// Puts right what a clock that was ahead wrote into a host's state, and says whether anything was wrong.
///
/// Call it when a state comes out of the store and before each look at it, and keep what it leaves: no request can have
/// ended later than now, no hold lasts longer than the ceiling, no breaker stays open longer than its longest pause. It
/// moves such a moment once. To judge it anew each time would move it along with now, and silence the host until the
/// true time has caught up with the wrong one.
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
            Turn::Now => write!(formatter, "its host may be asked now"),
            Turn::At(at) => write!(formatter, "its host may be asked at {at}, after the pause between two requests"),
            Turn::NotBefore { until, because } => write!(formatter, "its host is left alone until {until}: {because}"),
        }
    }
}

impl fmt::Display for Closed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Closed::Held(reason) => write!(formatter, "held, {reason}"),
            Closed::BreakerOpen { failures } => write!(formatter, "no answer to {failures} requests in a row"),
        }
    }
}

#[cfg(test)]
#[path = "turn_tests.rs"]
mod tests;
