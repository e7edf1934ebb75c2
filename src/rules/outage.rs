//! Tells an outage of our own network from hosts that are down (p31).
//!
//! Evidence is silence: no route, no connection in time, no answer of the resolver. A failure is counted at once. An
//! outage begins when enough different hosts have been silent with no answer in between; the failures that were counted
//! since the last answer are then taken back ([`take_back`]). During an outage only probes are sent. Any answer ends
//! it.

use std::fmt;
use std::time::Duration;

use crate::model::{FailureCause, FailureReport, HostKey, LastFailure, SourceState, Timestamp};

use super::OutagePolicy;
use super::backoff::backoff;
use super::classify::classify;

/// Further failures of a source that has failed this often in a row are no evidence.
const FAILURES_KNOWN: u32 = 3;
/// The most hosts whose silence is known to be no evidence; the oldest are forgotten first.
const SUSPECTS_MAX: usize = 1024;
/// Fewer silent hosts are no outage, however few are polled: a single host may be down itself.
const HOSTS_MIN: usize = 2;

/// State of our own network, as far as the polls show it.
#[derive(Clone, Debug)]
pub struct Outage {
    policy: OutagePolicy,
    /// From this moment on every host has been polled.
    settled_at: Timestamp,
    /// Hosts that have answered, the latest last; no more than begin an outage.
    answering: Vec<HostKey>,
    /// Hosts that have been silent since the last answer, as far as they are evidence: no more than begin an outage, and
    /// during one those that are silent, too.
    silent: Vec<HostKey>,
    /// Hosts that were silent in an outage and have not answered since: their silence is no evidence.
    suspects: Vec<HostKey>,
    /// Set while an outage is on.
    running: Option<OngoingOutage>,
    /// The end of the last outage.
    ended_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug)]
struct OngoingOutage {
    since: Timestamp,
    probes: u32,
    next_probe_at: Timestamp,
}

/// What a finished poll says about our own network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The network is up: an answer came.
    Answer,
    /// The network may be down: no answer came.
    Silence,
    None,
}

/// Beginning or end of an outage. Each has one log record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutageStep {
    /// The outage has begun.
    Begun {
        /// Hosts that were silent while none answered.
        hosts: usize,
    },
    /// The outage is over.
    Ended {
        /// Duration of the outage.
        lasted: Duration,
    },
}

/// A poll without an answer.
#[derive(Clone, Copy, Debug)]
pub struct Silence<'a> {
    /// Host of the request.
    pub host: &'a HostKey,
    /// Whether the cause is on our side (no route, no resolver), so that one host is enough if there is only one.
    pub is_local: bool,
    /// Failures of the source in a row before.
    pub failures: u32,
    /// Number of hosts that are polled, counted up to a bound that is at least the policy's.
    pub hosts_polled: usize,
}

/// What a finished poll says about our own network. Without a failure the poll succeeded.
///
/// Any status is an answer, also that of a gateway, and so is a refused or broken connection. A name that does not
/// resolve may come from a cache, and a stalled connection was made earlier: neither is evidence.
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

/// Takes back a failure that an outage explains: its counters, and a rest or disabling that followed from it. `before`
/// and `after` are the states around the failure. Returns false, and changes nothing, if the source was polled or its
/// failures were changed since.
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

/// Error text of a failure that an outage explains.
pub fn explained(report: &FailureReport) -> String {
    format!("our own network or name server seems to be down: {}", report.error)
}

impl Outage {
    /// A network without an outage, with healthy sources polled at this interval.
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

    /// Notes an answer of a host, which ends an outage.
    pub fn answered(&mut self, host: &HostKey, now: Timestamp) -> Option<OutageStep> {
        self.answering.retain(|known| known != host);
        if self.answering.len() >= self.policy.hosts as usize {
            self.answering.remove(0);
        }
        self.answering.push(host.clone());
        self.suspects.retain(|suspect| suspect != host);
        let silent = std::mem::take(&mut self.silent);
        let running = self.running.take()?;
        self.suspects.extend(silent.into_iter().filter(|suspect| suspect != host));
        self.suspects.drain(..self.suspects.len().saturating_sub(SUSPECTS_MAX));
        self.ended_at = Some(now);
        Some(OutageStep::Ended { lasted: now.since(running.since) })
    }

    /// Notes silence of a host, which begins an outage if enough hosts are silent, or all that ever answer.
    pub fn silent(&mut self, silence: Silence<'_>, now: Timestamp) -> Option<OutageStep> {
        let Silence { host, is_local, failures, hosts_polled } = silence;
        let is_evidence = failures < FAILURES_KNOWN && !self.suspects.contains(host) && !self.silent.contains(host);
        if !is_evidence {
            return None;
        }
        if self.running.is_some() {
            // Further silent hosts are suspects once the outage is over.
            if self.silent.len() < SUSPECTS_MAX {
                self.silent.push(host.clone());
            }
            return None;
        }
        self.silent.push(host.clone());
        if self.silent.len() < self.hosts_needed(hosts_polled, is_local, now) {
            return None;
        }
        self.running = Some(OngoingOutage { since: now, probes: 0, next_probe_at: now + self.policy.probe_first });
        Some(OutageStep::Begun { hosts: self.silent.len() })
    }

    /// Whether the failure of a poll that began at this moment is counted. A poll that began during an outage is not
    /// counted, even if it failed after the end.
    pub fn counts(&self, began_at: Timestamp, now: Timestamp) -> bool {
        let ended_at = self.ended_at.filter(|ended_at| *ended_at <= now);
        self.running.is_none() && ended_at.is_none_or(|ended_at| ended_at <= began_at)
    }

    /// Whether an outage is on.
    pub fn is_on(&self) -> bool {
        self.running.is_some()
    }

    /// The silent hosts that are evidence.
    pub fn silent_hosts(&self) -> &[HostKey] {
        &self.silent
    }

    /// Time of the next probe during an outage.
    pub fn next_probe(&self) -> Option<Timestamp> {
        self.running.map(|running| running.next_probe_at)
    }

    /// Whether a probe is due. A probe that lies further ahead than the longest pause was planned before the clock was
    /// set back, and is due at once.
    pub fn is_probe_due(&self, now: Timestamp) -> bool {
        let longest = self.policy.probe_max.max(self.policy.probe_first);
        self.next_probe().is_some_and(|at| at <= now || at > now + longest)
    }

    /// Notes that a probe was sent: the next one follows after twice the pause. The pause counts from the start of the
    /// probe, so that a lost probe delays nothing.
    pub fn probe_sent(&mut self, now: Timestamp) {
        let policy = self.policy;
        if let Some(running) = &mut self.running {
            running.probes = running.probes.saturating_add(1);
            running.next_probe_at = now + backoff(policy.probe_first, running.probes, policy.probe_max).delay;
        }
    }

    /// Number of silent hosts that make an outage: no more than are polled and, once all have been polled, no more than
    /// ever answer.
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
