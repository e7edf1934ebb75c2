//! Why a source is or is not polled: the terms behind its next poll, in the words of the rules.

use super::{HostCondition, HostStatus, Result, Service};
use crate::actors::{ScheduleState, ScheduledSource};
use crate::model::{HostState, Rest, RestCause, Shard, Source, SourceId, StoredPoll, Timestamp};
use crate::rules::delay::{self, Delay};
use crate::rules::due::{self, NextPoll, Term};
use crate::rules::interval::interval;
use crate::rules::status::{SourceStatus, status};

/// Why a source is not polled that no node has.
pub(super) const NO_OWNER: &str = "no node of the fleet has its host at this moment; the next one takes it over";

/// Polls that an explanation shows.
const LAST_POLLS: u32 = 20;

/// Why a source is or is not polled.
#[derive(Clone, Debug)]
pub struct SourceExplanation {
    pub source_id: SourceId,
    /// The node of the fleet that polls it; none if this daemon has its store to itself, or no node has the source.
    pub node: Option<String>,
    pub version: i64,
    pub status: SourceStatus,
    /// The answer in one sentence.
    pub summary: String,
    /// When the source itself is due; none if it is not polled at all.
    pub next_poll_at: Option<Timestamp>,
    pub is_due: bool,
    /// Interval without backoff.
    pub interval_seconds: u64,
    /// Everything that makes the source wait; the latest term decides.
    pub terms: Vec<WaitTerm>,
    /// Pause between two requests to the host.
    pub delay: Delay,
    pub host: Option<HostStatus>,
    pub scheduled: Option<ScheduledSource>,
    /// What suspends all polling.
    pub blockers: Vec<String>,
    pub has_access: bool,
    /// What the source needs to be read and does not have, and how to give it.
    pub lacks: Option<String>,
    pub consecutive_failures: u32,
    /// Newest first.
    pub last_polls: Vec<StoredPoll>,
}

/// One thing that makes a source wait.
#[derive(Clone, Debug)]
pub struct WaitTerm {
    pub until: Timestamp,
    pub reason: String,
    /// Whether this is the latest term.
    pub decides: bool,
}

impl Service {
    /// Explains when a source is polled next, and why.
    pub async fn explain(&self, id: SourceId) -> Result<SourceExplanation> {
        let source = self.source(id).await?;
        let host = match self.pipeline.host_of(&source.settings) {
            Some(key) => Some(self.host_state(&key).await?.unwrap_or_else(|| HostState::new(key))),
            None => None,
        };
        let (now, policy) = (self.now(), self.pipeline.policy());
        let next = due::next_poll(&source, host.as_ref(), &policy, now);
        let delay = delay::delay(&source.settings, host.as_ref().map(|host| &host.host), &policy.delays);
        let scheduled = self.pipeline.scheduled(id).await;
        let host = host.map(|host| self.host_status(host, delay.pause));
        let mut blockers = self.blockers().await;
        if self.pipeline.fleet().is_shared() && self.node_of(&source).is_none() {
            blockers.push(NO_OWNER.to_owned());
        }
        let locked_since = self.pipeline.locked_since(id);
        Ok(SourceExplanation {
            source_id: id,
            node: self.node_of(&source),
            version: source.version,
            status: status(&source, &policy, now),
            summary: match locked_since {
                Some(since) => format!(
                    "its last poll waits to be stored since {since}: another session of the database locks its row"
                ),
                None => summary(next, stopped_because(&source), host.as_ref(), scheduled, &blockers, now),
            },
            next_poll_at: next.at(),
            is_due: next.is_due(now),
            interval_seconds: interval(&source, &policy).as_secs(),
            terms: terms(due::terms(&source, None, &policy, now).collect(), host.as_ref()),
            delay,
            host,
            scheduled,
            blockers,
            has_access: !self.store.sources_with_access(vec![id]).await?.is_empty(),
            lacks: self.missing_key(&source.settings).await?,
            consecutive_failures: source.state.failures.consecutive,
            last_polls: self.polls_before(id, None, LAST_POLLS).await?,
        })
    }

    /// The name of this node, if it has the source.
    fn node_of(&self, source: &Source) -> Option<String> {
        let fleet = self.pipeline.fleet();
        fleet.name().filter(|_| fleet.owns(Shard::of_source(&source.settings))).map(str::to_owned)
    }

    /// What suspends requests to all hosts.
    pub async fn blockers(&self) -> Vec<String> {
        let blockers = self.pipeline.blockers();
        let troubles = [
            (blockers.is_outage, "our own network seems to be down"),
            (blockers.is_store_down, "the store is not available"),
            (blockers.is_lease_over, "this node has not renewed its lease in the database in time"),
        ];
        let troubles = troubles.into_iter().filter(|(holds, _)| *holds).map(|(_, reason)| reason);
        self.stopped_polling().await.into_iter().chain(troubles).map(str::to_owned).collect()
    }

    /// Why no source is polled at all, if polling was stopped on purpose: not even a forced poll is made then.
    pub(super) async fn stopped_polling(&self) -> Option<&'static str> {
        if self.pipeline.blockers().is_draining {
            return Some("the daemon is ending");
        }
        let is_paused = self.pipeline.scheduler_status().await.is_some_and(|status| status.paused_since.is_some());
        is_paused.then_some("polling is paused (`feedwarden resume` continues)")
    }
}

fn terms(own: Vec<Term>, host: Option<&HostStatus>) -> Vec<WaitTerm> {
    let term = |term: &Term| WaitTerm { until: term.until, reason: term.wait.to_string(), decides: false };
    let mut terms: Vec<WaitTerm> = own.iter().map(term).collect();
    if let Some(host) = host {
        let held = host.held_until.map(|until| {
            let reason = host.held_reason.clone().unwrap_or_default();
            WaitTerm { until, reason: format!("its host is held: {reason}"), decides: false }
        });
        let open = host.breaker_open_until.map(|until| {
            let reason = format!("its host did not answer {} requests in a row", host.unanswered_requests);
            WaitTerm { until, reason, decides: false }
        });
        terms.extend(held.into_iter().chain(open));
    }
    if let Some(latest) = terms.iter_mut().reduce(|one, other| if other.until > one.until { other } else { one }) {
        latest.decides = true;
    }
    terms
}

/// The reason that was given when the source was disabled or put to rest.
fn stopped_because(source: &Source) -> Option<&str> {
    match &source.state.rest {
        _ if !source.state.enabled => source.state.disabled_reason.as_deref(),
        Some(Rest { cause: RestCause::Person(reason), .. }) => {
            Some(reason).filter(|reason| !reason.is_empty()).map(String::as_str)
        }
        _ => None,
    }
}

fn summary(
    next: NextPoll,
    stopped_because: Option<&str>,
    host: Option<&HostStatus>,
    scheduled: Option<ScheduledSource>,
    blockers: &[String],
    now: Timestamp,
) -> String {
    let is_due = next.is_due(now);
    match scheduled {
        Some(ScheduledSource { state: ScheduleState::InFlight, .. }) => {
            return "it is being polled right now".to_owned();
        }
        _ if is_due && !blockers.is_empty() => return format!("it is due, but {}", blockers[0]),
        Some(ScheduledSource { state: ScheduleState::Scheduled, at }) if is_due && at > now => {
            return format!("it is due, but was sent back and comes again at {at}");
        }
        _ => {}
    }
    match (host, stopped_because) {
        (Some(host), _) if is_due && host.condition != HostCondition::Available => {
            format!("it is due, but {}", host.turn)
        }
        (_, Some(reason)) => format!("{next}; reason: {reason}"),
        _ => next.to_string(),
    }
}
