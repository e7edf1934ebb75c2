//! Documents that are fetched outside of polls, such as the page of an entry. Each request waits for the turn of its
//! host, like the requests of polls: with the same permit, pause, hold, breaker, robots.txt and slots. A failure counts
//! for the host and for no source.

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use slog::{Logger, error};

use super::HostEntry;
use super::permit::{PermitRequest, WaitEnd, wait_for_permit};
use super::response::{HostResponse, record};
use super::robots::{KnownRules, keep_rules, known_rules, refusal};
use super::table::{HostTable, Presence};
use crate::actors::context::PipelineContext;
use crate::actors::fetch::{RequestResult, RequestSpan, panicked};
use crate::actors::poll::RequestPermit;
use crate::clock::Stopwatch;
use crate::fetch::{
    Answer, Fetched, Fetcher, Learned, RobotsAnswer, RobotsFetched, RobotsTask, Task, Trace, robots_unreachable,
    robots_url,
};
use crate::model::{FailureCause, FailureReport, FailureState, HostKey, RateLimit, RequestPurpose, Timestamp};
use crate::rules::delay::delay;
use crate::rules::host_key::host_key;
use crate::rules::spread;
use crate::sources::{self, Preparation, kind};

#[derive(Clone)]
pub(in crate::actors) struct DocumentFetcher {
    pub(in crate::actors) context: Arc<PipelineContext>,
    pub(in crate::actors) table: HostTable,
    pub(in crate::actors) fetcher: Fetcher,
    /// The least pause, where the settings of the source have none.
    pub(in crate::actors) pause_min: Duration,
    /// What the documents are fetched for.
    pub(in crate::actors) purpose: RequestPurpose,
    pub(in crate::actors) log: Logger,
}

/// The right to send one request to a host.
pub(in crate::actors) struct HostTurn {
    permit: RequestPermit,
    _presence: Presence,
}

/// A host takes no request now.
#[derive(Debug)]
pub(in crate::actors) struct NoTurn {
    pub(in crate::actors) host: Option<HostKey>,
    pub(in crate::actors) until: Timestamp,
    pub(in crate::actors) because: String,
}

impl HostTurn {
    pub(in crate::actors) fn host_entry(&self) -> Option<Arc<HostEntry>> {
        Some(self.permit.host_entry.clone())
    }
}

impl DocumentFetcher {
    /// Waits for the turn of the first request of a task.
    pub(in crate::actors) async fn turn(&self, task: &Task) -> Result<HostTurn, NoTurn> {
        self.turn_at(self.host_of(task), task, false).await
    }

    /// Waits for the turn of a request that follows from another one.
    pub(in crate::actors) async fn next_turn(&self, task: &Task) -> Result<HostTurn, NoTurn> {
        self.turn_at(self.host_of(task), task, true).await
    }

    /// Makes all requests of a task, the first one at this turn: robots.txt where the type of the source obeys it, and
    /// redirects.
    pub(in crate::actors) async fn fetch(&self, turn: HostTurn, mut task: Task) -> Result<Fetched, NoTurn> {
        task.follows = false;
        let mut turn = turn;
        loop {
            if matches!(kind(task.settings.source_type).preparation(), Preparation::RobotsTxt) {
                turn = match self.obey_robots(turn, &mut task).await? {
                    Ok(turn) => turn,
                    Err(report) => return Ok(failed(report)),
                };
            }
            let fetched = self.document(turn, &mut task).await;
            let Answer::PendingRedirect(pending_redirect) = fetched.answer else { return Ok(fetched) };
            task.pending_redirect = Some(pending_redirect);
            turn = self.turn_at(self.host_of(&task), &task, true).await?;
        }
    }

    /// Returns a turn for the document if its robots.txt allows the request, or the refusal.
    async fn obey_robots(&self, turn: HostTurn, task: &mut Task) -> Result<Result<HostTurn, FailureReport>, NoTurn> {
        let url = url_of(task).to_owned();
        let (turn, rules) = match known_rules(&url, &self.context).await {
            Ok(KnownRules::Stored(rules)) => (Some(turn), rules),
            Ok(KnownRules::Missing) => match self.robots(turn, task, &url).await? {
                Ok(rules) => (None, rules),
                Err(report) => return Ok(Err(report)),
            },
            Err(error) => {
                let error = format!("the stored robots.txt cannot be read: {error}");
                return Ok(Err(FailureReport { cause: FailureCause::Internal, error, retry_after: None }));
            }
        };
        if let Some(report) = refusal(&url, rules.as_deref(), task.settings.user_agent.as_deref()) {
            return Ok(Err(report));
        }
        match turn {
            Some(turn) => Ok(Ok(turn)),
            None => self.turn_at(self.host_of(task), task, true).await.map(Ok),
        }
    }

    /// Fetches and stores the robots.txt that governs this URL.
    async fn robots(
        &self,
        turn: HostTurn,
        task: &mut Task,
        url: &str,
    ) -> Result<Result<Option<String>, FailureReport>, NoTurn> {
        let Some(robots_url) = robots_url(url) else { return Ok(Ok(None)) };
        let (mut turn, mut pending_redirect) = (turn, None);
        loop {
            let robots = RobotsTask {
                url: robots_url.clone(),
                pending_redirect: pending_redirect.take(),
                keep_alive: false,
                time_used: task.time_used,
                user_agent: task.settings.user_agent.clone(),
                proxy: task.settings.proxy.clone(),
            };
            let RobotsFetched { answer, trace } = {
                let (watch, span) = (Stopwatch::start(), self.span(&turn));
                let fetched = AssertUnwindSafe(self.fetcher.robots(&robots)).catch_unwind().await;
                task.time_used += watch.elapsed();
                let unreachable = || RobotsAnswer::Unreachable(panicked());
                let fetched =
                    fetched.unwrap_or_else(|_| RobotsFetched { answer: unreachable(), trace: Trace::default() });
                span.finish(RequestPurpose::RobotsTxt, None, RequestResult::of_robots(&fetched), &self.context);
                fetched
            };
            let failure = if let RobotsAnswer::Unreachable(report) = &answer { Some(report) } else { None };
            let at = self.end(turn, failure, trace.rate_limit).await;
            let rules = match answer {
                RobotsAnswer::PendingRedirect(redirect) => {
                    turn = self.turn_at(host_key(redirect.url().as_str()), task, true).await?;
                    pending_redirect = Some(redirect);
                    continue;
                }
                RobotsAnswer::Unreachable(report) => return Ok(Err(robots_unreachable(&report))),
                RobotsAnswer::Found(text) => Some(text),
                RobotsAnswer::Absent => None,
            };
            keep_rules(url, at, rules.clone(), &self.context, &self.log).await;
            return Ok(Ok(rules));
        }
    }

    async fn document(&self, turn: HostTurn, task: &mut Task) -> Fetched {
        let fetched = {
            let (watch, span) = (Stopwatch::start(), self.span(&turn));
            let polling = sources::poll(&self.fetcher, &self.context.type_settings, task);
            let fetched = AssertUnwindSafe(polling).catch_unwind().await;
            task.time_used += watch.elapsed();
            let fetched = fetched.unwrap_or_else(|_| failed(panicked()));
            span.finish(self.purpose, None, RequestResult::of(&fetched), &self.context);
            fetched
        };
        let failure = if let Answer::Failed(report) = &fetched.answer { Some(report) } else { None };
        self.end(turn, failure, fetched.trace.rate_limit).await;
        fetched
    }

    async fn turn_at(&self, host: Option<HostKey>, task: &Task, has_begun: bool) -> Result<HostTurn, NoTurn> {
        let (context, policy) = (&self.context, self.context.policy());
        let no_turn = |until, because| NoTurn { host: host.clone(), until, because };
        let later = || context.clock.now() + context.settings.scheduler.tick;
        if let Err(error) = self.table.open(HashSet::from([host.clone()]), context).await {
            return Err(no_turn(later(), format!("the host cannot be read: {error}")));
        }
        let Some((host_entry, presence)) = self.table.enter(&host, context.clock.monotonic()) else {
            return Err(no_turn(later(), "the host was removed from the table".to_owned()));
        };
        let pause = delay(&task.settings, host.as_ref(), &policy.delays).pause.max(self.pause_min);
        let request = PermitRequest { pause, has_begun, is_forced: false, is_healthy: false };
        match wait_for_permit(host_entry, context.clone(), request).await {
            WaitEnd::Permitted(permit) => Ok(HostTurn { permit, _presence: presence }),
            WaitEnd::Closed { until, because } => Err(no_turn(until, because)),
            WaitEnd::AfterOutage => {
                let (now, window) = (context.clock.now(), context.admission.spread_after_outage(policy.spread));
                let until = spread::spread(now, now, window, context.dice.roll());
                Err(no_turn(until, "our own network was down".to_owned()))
            }
        }
    }

    fn host_of(&self, task: &Task) -> Option<HostKey> {
        kind(task.settings.source_type).host(url_of(task), &self.context.type_settings)
    }

    fn span(&self, turn: &HostTurn) -> RequestSpan {
        RequestSpan::begin(Some(turn.permit.host_entry.clone()), &self.context)
    }

    /// Records the response and stores the state of the host (p28), then gives the permit back. Returns the time of the
    /// response.
    pub(in crate::actors) async fn end(
        &self,
        turn: HostTurn,
        failure: Option<&FailureReport>,
        rate_limit: Option<RateLimit>,
    ) -> Timestamp {
        let at = self.context.clock.now();
        let response = HostResponse { failure, rate_limit, failures: &FailureState::default(), at };
        let (state, held) = record(&turn.permit.host_entry, &response, &self.context, &self.log);
        let store = self.context.store.telling(Vec::from_iter(held));
        let recording = || store.record_hosts(Vec::from_iter(state.clone()));
        if let Err(error) = self.context.store_watch.retry_while_unavailable(recording).await {
            error!(self.log, "host state not stored"; "error" => %error);
        }
        at
    }
}

/// URL of the document, or the target of its redirects so far.
fn url_of(task: &Task) -> &str {
    task.pending_redirect.as_ref().map_or(&task.settings.url, |pending_redirect| pending_redirect.url().as_str())
}

fn failed(report: FailureReport) -> Fetched {
    Fetched { answer: Answer::Failed(report), trace: Trace::default(), learned: Learned::default() }
}
