//! Tells our own network being down from hosts being down: many hosts are silent at once and none answers (p31).
//!
//! Whoever owns an [`Outage`] tells it of every answer and of every silence. A silence that could be our own is kept in
//! doubt for a while: its poll is not settled until the doubt is over.

use std::fmt;
use std::time::Duration;

use crate::model::{FailureCause, FailureReport, HostKey, Timestamp};

use super::OutagePolicy;
use super::backoff::backoff;
use super::breaker::Heard;

/// Whether our own network is up, as far as can be told.
#[derive(Clone, Debug)]
pub struct Outage {
    policy: OutagePolicy,
    /// The last answer of any host.
    answered_at: Option<Timestamp>,
    /// Hosts that were silent since, each with the end of its doubt: fewer than begin an outage.
    doubts: Vec<(HostKey, Timestamp)>,
    /// Set while an outage is on.
    running: Option<Running>,
    /// The end of the last outage.
    ended_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    since: Timestamp,
    probes: u32,
    next_probe_at: Timestamp,
}

/// Whose fault a silence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opinion {
    /// The host's.
    Blame,
    /// Nobody knows yet: ask again ([`Outage::review`]) at this moment, and when something happened before it.
    Doubt {
        /// The end of the doubt.
        until: Timestamp,
    },
    /// Ours: no counter moves.
    OwnFault,
}

/// What happened to our own network. Each is worth one log record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutageStep {
    /// It went down.
    Begun {
        /// How many hosts were silent, while none answered.
        hosts: u32,
    },
    /// It is up again.
    Ended {
        /// How long it was down.
        lasted: Duration,
    },
}

/// What a finished poll says about our own network; `None` for those that say nothing. No failure is a success.
///
/// Any status is an answer here, a gateway's too: it came over the network.
pub fn heard(failure: Option<&FailureReport>) -> Option<Heard> {
    match failure.map(|report| report.cause) {
        None | Some(FailureCause::Status(_) | FailureCause::Unreadable) => Some(Heard::Answer),
        Some(FailureCause::Connection | FailureCause::Dns) => Some(Heard::Silence),
        Some(FailureCause::Credentials | FailureCause::Robots | FailureCause::Internal | FailureCause::Other) => None,
    }
}

impl Outage {
    /// A network that is up, as far as anybody knows.
    pub fn new(policy: OutagePolicy) -> Outage {
        Outage { policy, answered_at: None, doubts: Vec::new(), running: None, ended_at: None }
    }

    /// Some host answered: the network works. Ends every doubt, to be reviewed, and an outage, if one is on.
    pub fn answered(&mut self, now: Timestamp) -> Option<OutageStep> {
        self.answered_at = Some(now);
        self.doubts.clear();
        let running = self.running.take()?;
        self.ended_at = Some(now);
        Some(OutageStep::Ended { lasted: now.since(running.since) })
    }

    /// A host gave no answer to a poll that began at this moment. Where that begins an outage, all doubts are to be
    /// reviewed.
    pub fn silent(&mut self, host: &HostKey, began_at: Timestamp, now: Timestamp) -> (Opinion, Option<OutageStep>) {
        self.forget_the_future(now);
        let opinion = self.review(began_at, now + self.policy.doubt, now);
        let Opinion::Doubt { until } = opinion else { return (opinion, None) };
        self.doubts.retain(|(doubted, until)| *until > now && doubted != host);
        self.doubts.push((host.clone(), until));
        let hosts = u32::try_from(self.doubts.len()).unwrap_or(u32::MAX);
        if hosts < self.policy.hosts {
            return (opinion, None);
        }
        self.doubts = Vec::new();
        self.running = Some(Running { since: now, probes: 0, next_probe_at: now + self.policy.probe_first });
        (Opinion::OwnFault, Some(OutageStep::Begun { hosts }))
    }

    /// The opinion, by now, on a silence that was in doubt until this moment, of a poll that began at that one.
    pub fn review(&self, began_at: Timestamp, until: Timestamp, now: Timestamp) -> Opinion {
        // What began during an outage had no chance, even if its silence is told after the end.
        if self.running.is_some() || self.ended_at.is_some_and(|ended_at| ended_at > began_at) {
            Opinion::OwnFault
        } else if self.answered_at.is_some_and(|answered_at| answered_at >= began_at) || until <= now {
            Opinion::Blame
        } else {
            Opinion::Doubt { until }
        }
    }

    /// Whether an outage is on, so that nothing but probes is to be asked.
    pub fn is_on(&self) -> bool {
        self.running.is_some()
    }

    /// When the next probe may go; none while no outage is on.
    pub fn next_probe(&self) -> Option<Timestamp> {
        self.running.map(|running| running.next_probe_at)
    }

    /// Whether a probe may go now. One that would be further ahead than the longest pause was planned by a clock that has
    /// been put back, and may go at once.
    pub fn is_probe_due(&self, now: Timestamp) -> bool {
        let longest = self.policy.probe_max.max(self.policy.probe_first);
        self.next_probe().is_some_and(|at| at <= now || at > now + longest)
    }

    /// A probe is on its way: the next one follows after twice the pause. The pause counts from here and not from the
    /// probe's end, so that a probe that is lost stops nothing.
    pub fn probe_sent(&mut self, now: Timestamp) {
        let policy = self.policy;
        if let Some(running) = &mut self.running {
            running.probes = running.probes.saturating_add(1);
            running.next_probe_at = now + backoff(policy.probe_first, running.probes, policy.probe_max).delay;
        }
    }

    /// What a clock that was ahead wrote down would put the blame on everybody until the true time has caught up.
    fn forget_the_future(&mut self, now: Timestamp) {
        let past = |moment: &Timestamp| *moment <= now;
        self.answered_at = self.answered_at.filter(past);
        self.ended_at = self.ended_at.filter(past);
        let longest = now + self.policy.doubt;
        self.doubts.retain(|(_, until)| *until <= longest);
    }
}

impl fmt::Display for Opinion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Opinion::Blame => write!(formatter, "the host gave no answer"),
            Opinion::Doubt { until } => write!(formatter, "nobody is blamed before {until}: it may be our own network"),
            Opinion::OwnFault => write!(formatter, "our own network is down: nobody is blamed"),
        }
    }
}

impl fmt::Display for OutageStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OutageStep::Begun { hosts } => write!(
                formatter,
                "{hosts} hosts gave no answer and none did: our own network or name server seems to be down; polling \
                 pauses, and no source is blamed"
            ),
            OutageStep::Ended { lasted } => {
                write!(formatter, "the network is back after {} s; polling resumes", lasted.as_secs())
            }
        }
    }
}

#[cfg(test)]
#[path = "outage_tests.rs"]
mod tests;
