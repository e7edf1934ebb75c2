//! Tells our own network being down from hosts being down (p31).
//!
//! Evidence is silence: no route, no connection in time, no word from the resolver. A failure is counted when it happens,
//! and nothing waits for a verdict. An outage begins when enough different hosts have been silent with no answer in
//! between; the failures that were counted since the last answer are then taken back ([`take_back`]). During an outage
//! only probes are sent. Any answer ends it.

use std::fmt;
use std::time::Duration;

use crate::model::{FailureCause, FailureReport, HostKey, LastFailure, SourceState, Timestamp};

use super::OutagePolicy;
use super::backoff::backoff;
use super::classify::classify;

/// A source that has failed this often in a row tells nothing new about our own network by failing again.
const FAILURES_KNOWN: u32 = 3;
/// One silent host is one silent host, however small the installation: it may be down itself.
const HOSTS_MIN: usize = 2;

/// What is known about our own network.
#[derive(Clone, Debug)]
pub struct Outage {
    policy: OutagePolicy,
    /// From here on every host that answers has had the time to.
    settled_at: Timestamp,
    /// Hosts that have answered, the latest last; no more than begin an outage.
    answering: Vec<HostKey>,
    /// Hosts that have been silent since the last answer, as far as they are evidence: no more than begin an outage.
    silent: Vec<HostKey>,
    /// Hosts that were silent before the last outage and have not answered since: their silence is their own.
    suspects: Vec<HostKey>,
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

/// What a finished poll says about our own network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// It is up: something came back from outside.
    Answer,
    /// It may be down: nothing came back.
    Silence,
    /// Nothing that could be relied on.
    None,
}

/// What happened to our own network. Each is worth one log record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutageStep {
    /// It went down.
    Begun {
        /// How many hosts were silent, while none answered.
        hosts: usize,
    },
    /// It is up again.
    Ended {
        /// How long it was down.
        lasted: Duration,
    },
}

/// A silent poll, and what it says.
#[derive(Clone, Copy, Debug)]
pub struct Silence<'a> {
    /// The host that was asked.
    pub host: &'a HostKey,
    /// Whether the silence is on our side, so that one host is enough where there is only one: no route, no resolver.
    pub is_local: bool,
    /// How often the source had failed in a row before.
    pub failures: u32,
    /// How many hosts are polled at all, counted up to a bound that is not lower than the policy's.
    pub hosts_polled: usize,
}

/// What a finished poll says about our own network. No failure is a success.
///
/// Any status is an answer here, a gateway's too. A refused or broken connection is one as well. That a name does not
/// resolve can come from a cache, and a connection that stalls was made before it did: neither says anything.
pub fn evidence(failure: Option<&FailureReport>) -> Evidence {
    match failure.map(|report| report.cause) {
        None | Some(FailureCause::Status(_) | FailureCause::Unreadable | FailureCause::Connection) => Evidence::Answer,
        Some(FailureCause::NoNetwork | FailureCause::Unreachable) => Evidence::Silence,
        Some(FailureCause::Dns | FailureCause::Stalled) => Evidence::None,
        Some(FailureCause::Credentials | FailureCause::KeyMissing | FailureCause::Robots) => Evidence::None,
        Some(FailureCause::Internal | FailureCause::Lost | FailureCause::Outage | FailureCause::Other) => {
            Evidence::None
        }
    }
}

/// Takes a failure back that was counted at this moment and that an outage explains: the counters, a rest or the end of
/// polling that followed from it. `before` and `after` are the states around that failure. Returns false, and changes
/// nothing, if something has happened to the source since.
pub fn take_back(
    state: &mut SourceState,
    before: &SourceState,
    after: &SourceState,
    report: &FailureReport,
    now: Timestamp,
) -> bool {
    if state.last_polled != after.last_polled || state.failures != after.failures {
        return false;
    }
    let classified = classify(FailureCause::Outage);
    let last = LastFailure { class: classified.class, kind: classified.kind, error: explained(report) };
    state.failures = before.failures.clone();
    state.failures.last = Some(last);
    if state.rest == after.rest {
        state.rest = before.rest.clone();
    }
    if (state.enabled, &state.disabled_reason) == (after.enabled, &after.disabled_reason) {
        (state.enabled, state.disabled_reason) = (before.enabled, before.disabled_reason.clone());
    }
    // It is polled again as soon as the outage is over.
    state.poll_requested_at = Some(now + Duration::from_secs(1));
    true
}

/// The words for a failure that an outage explains.
pub fn explained(report: &FailureReport) -> String {
    format!("our own network or name server seems to be down: {}", report.error)
}

impl Outage {
    /// A network that is up, as far as is known; healthy sources are polled at this interval.
    pub fn new(policy: OutagePolicy, interval: Duration, now: Timestamp) -> Outage {
        Outage {
            policy,
            settled_at: now + interval,
            answering: Vec::new(),
            silent: Vec::new(),
            suspects: Vec::new(),
            running: None,
            ended_at: None,
        }
    }

    /// A host answered: the network works. Ends an outage, if one is on.
    pub fn answered(&mut self, host: &HostKey, now: Timestamp) -> Option<OutageStep> {
        self.answering.retain(|known| known != host);
        if self.answering.len() >= self.policy.hosts as usize {
            self.answering.remove(0);
        }
        self.answering.push(host.clone());
        self.suspects.retain(|suspect| suspect != host);
        let silent = std::mem::take(&mut self.silent);
        let running = self.running.take()?;
        self.suspects = silent.into_iter().filter(|suspect| suspect != host).collect();
        self.ended_at = Some(now);
        Some(OutageStep::Ended { lasted: now.since(running.since) })
    }

    /// A host was silent. Begins an outage if that makes enough hosts, or if it makes all that ever answer.
    pub fn silent(&mut self, silence: Silence<'_>, now: Timestamp) -> Option<OutageStep> {
        let Silence { host, is_local, failures, hosts_polled } = silence;
        let is_evidence = failures < FAILURES_KNOWN && !self.suspects.contains(host) && !self.silent.contains(host);
        if !is_evidence {
            return None;
        }
        if self.running.is_some() {
            // More of them change nothing now, but they are suspects once it is over.
            if self.silent.len() < 2 * self.policy.hosts as usize {
                self.silent.push(host.clone());
            }
            return None;
        }
        self.silent.push(host.clone());
        if self.silent.len() < self.hosts_needed(hosts_polled, is_local, now) {
            return None;
        }
        self.running = Some(Running { since: now, probes: 0, next_probe_at: now + self.policy.probe_first });
        Some(OutageStep::Begun { hosts: self.silent.len() })
    }

    /// Whether a failure is counted of a poll that began at this moment. What began during an outage had no chance, even
    /// if it failed after the end.
    pub fn counts(&self, began_at: Timestamp, now: Timestamp) -> bool {
        let ended_at = self.ended_at.filter(|ended_at| *ended_at <= now);
        self.running.is_none() && ended_at.is_none_or(|ended_at| ended_at <= began_at)
    }

    /// Whether an outage is on, so that only probes are sent.
    pub fn is_on(&self) -> bool {
        self.running.is_some()
    }

    /// The hosts whose silence is known.
    pub fn silent_hosts(&self) -> &[HostKey] {
        &self.silent
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

    /// How many silent hosts make an outage. A small installation has fewer than the policy asks for; and where most hosts
    /// are dead anyway, those that ever answer are enough, once all have had the time to.
    fn hosts_needed(&self, hosts_polled: usize, is_local: bool, now: Timestamp) -> usize {
        let least = if is_local && hosts_polled <= 1 { 1 } else { HOSTS_MIN };
        let hosts = if now >= self.settled_at { hosts_polled.min(self.answering.len()) } else { hosts_polled };
        hosts.clamp(least, HOSTS_MIN.max(self.policy.hosts as usize))
    }
}

impl fmt::Display for OutageStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OutageStep::Begun { hosts } => write!(
                formatter,
                "no host answers, and {hosts} cannot be reached: our own network or name server seems to be down; \
                 polling pauses, and no failure since the last answer is counted"
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
