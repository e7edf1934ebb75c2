//! Why a source is or is not polled: the sum behind its next poll, in the words of the rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ANSWER_WITHIN, ControlError, PipelineHandle, PollRecord};
use crate::actors::messages::AskSource;
use crate::actors::poll::source_host;
use crate::model::{HostKey, HostState, Rest, RestCause, Source, SourceId, Timestamp};
use crate::rules::delay;
use crate::rules::due::{self, NextPoll, Term};
use crate::rules::status::status;
use crate::rules::turn;

/// Why a source is or is not polled.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// Id of the source.
    pub source_id: SourceId,
    /// Version of the source, for `If-Match`.
    pub version: i64,
    /// State: `active`, `backing_off`, `resting` or `disabled`.
    #[schemars(extend("enum" = ["active", "backing_off", "resting", "disabled"]))]
    pub state: String,
    /// Explanation in one sentence.
    pub summary: String,
    /// Time of the next poll; null if the source is not polled.
    pub next_poll_at: Option<Timestamp>,
    /// Whether the source is due.
    pub is_due: bool,
    /// Seconds between polls while the source does not fail.
    pub interval_seconds: u64,
    /// All reasons to wait; the latest one decides.
    pub terms: Vec<TermView>,
    /// Pause between two requests to the host.
    pub delay: DelayView,
    /// Host of the source.
    pub host: Option<HostView>,
    /// State in the scheduler.
    pub scheduled: Option<ScheduledView>,
    /// What suspends all polling: a pause, an outage of our own network, an unavailable database, a shutdown.
    pub held_up_by: Vec<String>,
    /// Whether requests for the source carry a login or headers.
    pub has_access: bool,
    /// What is missing to poll the source, such as an X key, and how to provide it.
    pub lacks: Option<String>,
    /// Failures since the last success.
    pub consecutive_failures: u32,
    /// Last polls since the start of the process, newest first.
    pub last_polls: Vec<PollRecord>,
}

/// Reason to wait.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TermView {
    /// End of the wait.
    pub until: Timestamp,
    /// Cause of the wait.
    pub reason: String,
    /// Whether this reason decides.
    pub decides: bool,
}

/// Pause between two requests to a host.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DelayView {
    /// Length of the pause in seconds.
    pub seconds: u64,
    /// Setting that decides it.
    pub layer: String,
}

/// Host with its current state.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HostView {
    /// Name of the host.
    pub host: String,
    /// State: `available`, `held` or `breaker_open`.
    #[schemars(extend("enum" = ["available", "held", "breaker_open"]))]
    pub state: String,
    /// End of the last request.
    pub last_asked_at: Option<Timestamp>,
    /// End of the hold.
    pub held_until: Option<Timestamp>,
    /// Reason for the hold.
    pub held_reason: Option<String>,
    /// Consecutive requests without a response.
    pub silent_requests: u32,
    /// Time of the next probe while the breaker is open.
    pub breaker_open_until: Option<Timestamp>,
    /// When the next request is possible, as text.
    pub turn: String,
}

/// State of a source in the scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduledView {
    /// Due time.
    pub at: Timestamp,
    /// `scheduled`, `waiting` for its host, or `under_way` (in flight).
    pub place: String,
}

impl PipelineHandle {
    /// Explains when a source is polled next, and why.
    pub async fn explain(&self, id: SourceId) -> Result<Explanation, ControlError> {
        let source = self.context.store.source(id).await?.ok_or(ControlError::NoSuchSource(id))?;
        let host = match self.host_of(&source) {
            Some(key) => Some(self.host_state(&key).await?.unwrap_or_else(|| HostState::new(key))),
            None => None,
        };
        let (now, policy) = (self.context.clock.now(), self.context.policy());
        let next = due::next_poll(&source, host.as_ref(), &policy, now);
        let pause = delay::delay(&source.settings, host.as_ref().map(|host| &host.host), &policy.delays);
        let scheduled = self.scheduler.send(AskSource(id)).timeout(ANSWER_WITHIN).await.ok().flatten();
        let host = host.map(|host| self.host_view(host, pause.pause));
        let held_up_by = self.held_up_by().await;
        Ok(Explanation {
            source_id: id,
            version: source.version,
            state: status(&source, &policy, now).to_string(),
            summary: summary(next, stopped_because(&source), host.as_ref(), scheduled.as_ref(), &held_up_by, now),
            next_poll_at: next.at(),
            is_due: next.is_due(now),
            interval_seconds: due::interval(&source, &policy).as_secs(),
            terms: terms(due::terms(&source, None, &policy, now).collect(), host.as_ref()),
            delay: DelayView { seconds: pause.pause.as_secs(), layer: pause.layer.to_string() },
            host,
            scheduled,
            held_up_by,
            has_access: !self.context.store.sources_with_access(vec![id]).await?.is_empty(),
            lacks: self.lacks(&source.settings).await?,
            consecutive_failures: source.state.failures.consecutive,
            last_polls: self.history(id),
        })
    }

    /// The last polls of a source, the newest first, as far as this process remembers.
    pub fn history(&self, id: SourceId) -> Vec<PollRecord> {
        self.context.history.of(id)
    }

    /// The host that a source is at.
    pub fn host_of(&self, source: &Source) -> Option<HostKey> {
        let settings = &source.settings;
        source_host(settings.source_type, &settings.url, self.context.x_host.as_ref())
    }

    pub(super) fn host_view(&self, mut host: HostState, pause: std::time::Duration) -> HostView {
        let (now, policy) = (self.context.clock.now(), self.context.policy());
        turn::clamp_future_times(&mut host, &policy, now);
        let turn = turn::turn(&host, pause, self.context.started_at, &policy, now);
        let held_until = host.held_until.filter(|until| *until > now);
        let open_until = host.breaker.open_until.filter(|until| *until > now);
        let state = match (held_until, open_until) {
            (_, Some(_)) => "breaker_open",
            (Some(_), None) => "held",
            (None, None) => "available",
        };
        HostView {
            host: host.host.to_string(),
            state: state.to_owned(),
            last_asked_at: host.last_asked_at,
            held_until,
            held_reason: held_until.and(host.held_reason),
            silent_requests: host.breaker.failures,
            breaker_open_until: open_until,
            turn: turn.to_string(),
        }
    }

    /// Why nobody at all is polled, for as long as a person wants it so.
    pub(super) async fn standstill(&self) -> Option<&'static str> {
        if self.context.admission.watch().borrow().is_draining {
            return Some("the daemon is ending");
        }
        let is_paused = self.scheduler_status().await.is_some_and(|status| status.paused_since.is_some());
        is_paused.then_some("polling is paused (`feedwarden resume` continues)")
    }

    /// What suspends requests to all hosts.
    pub async fn held_up_by(&self) -> Vec<String> {
        let blockers = *self.context.admission.watch().borrow();
        let troubles = [
            (blockers.is_outage, "our own network seems to be down"),
            (blockers.is_store_down, "the store is not available"),
        ];
        let troubles = troubles.into_iter().filter(|(holds, _)| *holds).map(|(_, reason)| reason);
        self.standstill().await.into_iter().chain(troubles).map(str::to_owned).collect()
    }
}

fn terms(own: Vec<Term>, host: Option<&HostView>) -> Vec<TermView> {
    let view = |term: &Term| TermView { until: term.until, reason: term.wait.to_string(), decides: false };
    let mut views: Vec<TermView> = own.iter().map(view).collect();
    if let Some(host) = host {
        let held = host.held_until.map(|until| {
            let reason = host.held_reason.clone().unwrap_or_default();
            TermView { until, reason: format!("its host is held: {reason}"), decides: false }
        });
        let open = host.breaker_open_until.map(|until| {
            let reason = format!("its host did not answer {} requests in a row", host.silent_requests);
            TermView { until, reason, decides: false }
        });
        views.extend(held.into_iter().chain(open));
    }
    if let Some(latest) = views.iter_mut().reduce(|one, other| if other.until > one.until { other } else { one }) {
        latest.decides = true;
    }
    views
}

/// What was said when the source was disabled or put to rest.
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
    host: Option<&HostView>,
    scheduled: Option<&ScheduledView>,
    held_up_by: &[String],
    now: Timestamp,
) -> String {
    if let Some(ScheduledView { place, .. }) = scheduled
        && place == "under_way"
    {
        return "it is being polled right now".to_owned();
    }
    if let Some(reason) = held_up_by.first()
        && next.is_due(now)
    {
        return format!("it is due, but {reason}");
    }
    if let Some(ScheduledView { at, place }) = scheduled
        && place == "scheduled"
        && next.is_due(now)
        && *at > now
    {
        return format!("it is due, but was sent back and comes again at {at}");
    }
    match (host, stopped_because) {
        (Some(host), _) if next.is_due(now) && host.state != "available" => format!("it is due, but {}", host.turn),
        (_, Some(reason)) => format!("{next}; reason: {reason}"),
        _ => next.to_string(),
    }
}
