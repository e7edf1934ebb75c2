//! Tells an outage of our own network from hosts that are down (p31).
//!
//! Evidence is silence: no route, no connection in time, no answer of the resolver. A failure is counted at once. An
//! outage begins when enough different hosts have been silent with no answer in between; the failures that were counted
//! since the last answer are then taken back ([`take_back`]). During an outage only probes are sent. Any answer ends
//! it.
//!
//! With a neutral probe (`outage.probe-url`) hosts are not counted: silence of any host with no answer since asks the
//! probe, and the probe decides, also where there is one host only.

use std::fmt;
use std::time::Duration;

use crate::model::{
    ClockStep, FailureCause, FailureKind, FailureReport, FailureState, HostKey, LastFailure, Rest, SourceState,
    Timestamp,
};

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
    /// The last answer, of a host or of the neutral probe.
    answered_at: Option<Timestamp>,
    /// When the neutral probe was asked last.
    checked_at: Option<Timestamp>,
    /// When the neutral probe is to be asked because a host was silent.
    check_at: Option<Timestamp>,
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
        /// Whether the neutral probe does not answer either.
        is_confirmed: bool,
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
    /// Start of the poll.
    pub began_at: Timestamp,
}

/// What a finished poll says about our own network. Without a failure the poll succeeded.
///
/// Any status is an answer, also that of a gateway, and so is a refused or broken connection. A name that does not exist
/// may come from a cache, and a stalled connection was made earlier: neither is evidence. A resolver that cannot find
/// out may have lost its own network.
pub fn evidence(failure: Option<&FailureReport>) -> Evidence {
    match failure.map(|report| report.cause) {
        None
        | Some(
            FailureCause::Status(_)
            | FailureCause::RateLimited(_)
            | FailureCause::Unreadable
            | FailureCause::Connection
            | FailureCause::Redirect
            | FailureCause::MemoryShort,
        ) => Evidence::Answer,
        Some(FailureCause::NoNetwork | FailureCause::Unreachable | FailureCause::ResolverFailed) => Evidence::Silence,
        Some(FailureCause::Dns | FailureCause::Stalled | FailureCause::NoRoute) => Evidence::None,
        Some(
            FailureCause::Credentials
            | FailureCause::KeyMissing
            | FailureCause::Robots
            | FailureCause::AddressRefused
            | FailureCause::SourceProxy,
        ) => Evidence::None,
        Some(FailureCause::Internal | FailureCause::Lost | FailureCause::Outage | FailureCause::Other) => {
            Evidence::None
        }
    }
}

/// Whether a failure says something about its source whatever our own network does: a host answered, or the name does
/// not exist. Such a failure is counted during an outage, too, and is not taken back.
pub fn is_about_source(report: &FailureReport) -> bool {
    evidence(Some(report)) == Evidence::Answer || report.cause == FailureCause::Dns
}

/// Takes back a failure that an outage explains: its counters, and a rest or disabling that followed from it. `before`
/// and `after` are the states around the failure, or around several in a row. Returns false, and changes nothing, if the
/// failures of the source were changed since, or it was polled; a poll that the outage explains, too, changes nothing.
/// A step of the clock may have moved the times of the source since.
pub fn take_back(
    state: &mut SourceState,
    before: &SourceState,
    after: &SourceState,
    report: &FailureReport,
    step: Option<ClockStep>,
    now: Timestamp,
) -> bool {
    let moved = step.map(|step| moved(after, step));
    let after = moved.as_ref().filter(|moved| state.last_polled == moved.last_polled).unwrap_or(after);
    let counters = |failures: &FailureState| (failures.consecutive, failures.consecutive_permanent, failures.run);
    let is_last = state.last_polled == after.last_polled && state.failures == after.failures;
    let is_internal = state.failures.last.as_ref().is_some_and(|last| last.kind == FailureKind::Internal);
    let is_unchanged = is_internal && counters(&state.failures) == counters(&after.failures);
    if !(is_last || is_unchanged) {
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

/// The state after a step of the clock, as far as it is compared.
fn moved(state: &SourceState, step: ClockStep) -> SourceState {
    let rest = state.rest.clone().map(|rest| Rest { since: step.moved(rest.since), ..rest });
    SourceState { last_polled: state.last_polled.map(|at| step.moved(at)), rest, ..state.clone() }
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
            answered_at: None,
            checked_at: None,
            check_at: None,
        }
    }

    /// Follows another policy from now on; a probe that is further ahead than the new pauses comes earlier.
    pub fn follow(&mut self, policy: &OutagePolicy, now: Timestamp) {
        if self.policy == *policy {
            return;
        }
        self.policy = policy.clone();
        self.answering.drain(..self.answering.len().saturating_sub(policy.hosts as usize));
        if let Some(running) = &mut self.running {
            let pause = backoff(policy.probe_first, running.probes, policy.probe_max).delay;
            running.next_probe_at = running.next_probe_at.min(now + pause);
        }
        self.check_at = self.check_at.filter(|_| policy.probe_url.is_some()).map(|at| at.min(now + policy.probe_first));
    }

    /// Notes an answer of a host, which ends an outage.
    pub fn answered(&mut self, host: &HostKey, now: Timestamp) -> Option<OutageStep> {
        self.answering.retain(|known| known != host);
        if self.answering.len() >= self.policy.hosts as usize {
            self.answering.remove(0);
        }
        self.answering.push(host.clone());
        self.suspects.retain(|suspect| suspect != host);
        self.silent.retain(|silent| silent != host);
        self.network_works(now)
    }

    /// Notes that the network works: a host or the neutral probe has answered, which ends an outage.
    pub fn network_works(&mut self, now: Timestamp) -> Option<OutageStep> {
        (self.answered_at, self.check_at) = (Some(now), None);
        let silent = std::mem::take(&mut self.silent);
        let running = self.running.take()?;
        self.suspects.extend(silent);
        self.suspects.drain(..self.suspects.len().saturating_sub(SUSPECTS_MAX));
        self.ended_at = Some(now);
        Some(OutageStep::Ended { lasted: now.since(running.since) })
    }

    /// Notes that the neutral probe, asked at this moment, does not answer, which confirms an outage that was suspected;
    /// unless a host has answered meanwhile.
    pub fn network_fails(&mut self, asked_at: Timestamp, now: Timestamp) -> Option<OutageStep> {
        let is_answered = self.answered_at.is_some_and(|at| at > asked_at && at <= now);
        (self.running.is_none() && !is_answered).then(|| self.begin(true, now))
    }

    fn begin(&mut self, is_confirmed: bool, now: Timestamp) -> OutageStep {
        self.check_at = None;
        self.running = Some(OngoingOutage { since: now, probes: 0, next_probe_at: now + self.policy.probe_first });
        OutageStep::Begun { hosts: self.silent.len().max(1), is_confirmed }
    }

    /// Notes silence of a host, which begins an outage if enough hosts are silent, or all that ever answer.
    pub fn silent(&mut self, silence: Silence<'_>, now: Timestamp) -> Option<OutageStep> {
        let Silence { host, is_local, failures, hosts_polled, began_at } = silence;
        let has_probe = self.policy.probe_url.is_some();
        let is_answered = self.answered_at.is_some_and(|at| at > began_at && at <= now);
        if has_probe && self.running.is_none() && !is_answered {
            let soonest = self.checked_at.filter(|at| *at <= now).map_or(now, |at| at + self.policy.probe_first);
            self.check_at = Some(self.check_at.map_or(soonest.max(now), |at| at.min(soonest.max(now))));
        }
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
        if self.silent.len() < SUSPECTS_MAX {
            self.silent.push(host.clone());
        }
        if has_probe || self.silent.len() < self.hosts_needed(hosts_polled, is_local, now) {
            return None;
        }
        Some(self.begin(false, now))
    }

    /// Whether the failure of a poll that began at this moment is counted. A poll that began during an outage is not
    /// counted, even if it failed after the end.
    pub fn counts(&self, began_at: Timestamp, now: Timestamp) -> bool {
        self.running.is_none() && self.ended_at.is_none_or(|ended_at| ended_at <= began_at || ended_at > now)
    }

    /// Whether an outage is on.
    pub fn is_on(&self) -> bool {
        self.running.is_some()
    }

    /// The silent hosts that are evidence.
    pub fn silent_hosts(&self) -> &[HostKey] {
        &self.silent
    }

    /// Whether any host has answered since the start.
    pub fn has_heard(&self) -> bool {
        !self.answering.is_empty()
    }

    /// Time of the next probe: during an outage, or of the neutral one if an outage is suspected.
    pub fn next_probe(&self) -> Option<Timestamp> {
        self.running.map_or(self.check_at, |running| Some(running.next_probe_at))
    }

    /// Whether a probe is due.
    pub fn is_probe_due(&self, now: Timestamp) -> bool {
        self.next_probe().is_some_and(|at| at <= now)
    }

    /// Moves all times with a step of the clock.
    pub fn follow_clock(&mut self, step: ClockStep) {
        self.settled_at = step.moved(self.settled_at);
        self.ended_at = self.ended_at.map(|at| step.moved(at));
        self.answered_at = self.answered_at.map(|at| step.moved(at));
        self.checked_at = self.checked_at.map(|at| step.moved(at));
        self.check_at = self.check_at.map(|at| step.moved(at));
        if let Some(running) = &mut self.running {
            running.since = step.moved(running.since);
            running.next_probe_at = step.moved(running.next_probe_at);
        }
    }

    /// Notes that a probe was sent: the next one follows after twice the pause. The pause counts from the start of the
    /// probe, so that a lost probe delays nothing.
    pub fn probe_sent(&mut self, now: Timestamp) {
        let OutagePolicy { probe_first, probe_max, .. } = self.policy;
        (self.checked_at, self.check_at) = (Some(now), None);
        if let Some(running) = &mut self.running {
            running.probes = running.probes.saturating_add(1);
            running.next_probe_at = now + backoff(probe_first, running.probes, probe_max).delay;
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
            OutageStep::Begun { hosts, is_confirmed } => write!(
                formatter,
                "no host answers, and {hosts} cannot be reached{}: our own network or name server seems to be down; \
                 polling pauses, and no failure since the last answer is counted",
                if *is_confirmed { ", nor can outage.probe-url" } else { "" }
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
