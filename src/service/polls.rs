//! Polls that a user asks for: they obey the publisher and the host's pause, and say so (p20).

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::explanation::NO_OWNER;
use super::{Result, Service};
use crate::actors::PipelineEvent;
use crate::model::{HostState, SettledPoll, Shard, SourceId, SourceSettings, Timestamp};
use crate::rules::change::{Change, apply};
use crate::rules::due::{self, NextPoll, Wait};
use crate::rules::stored_times::correct_host;
use crate::rules::{delay, turn};

/// How long the first poll of a new source is awaited.
const FIRST_POLL_WITHIN: Duration = Duration::from_secs(45);

/// A request to poll a source now.
#[derive(Clone, Copy, Debug, Default)]
pub struct PollRequest {
    /// How long to wait for the result; zero does not wait.
    pub wait: Duration,
    /// Whether to poll although the publisher or the host asked to wait.
    pub force: bool,
}

/// What came of a request to poll.
#[derive(Clone, Debug)]
pub enum RequestedPoll {
    Done(Box<SettledPoll>),
    Scheduled(Outlook),
    Refused { reason: String },
}

/// When a source can be polled, and what decides that.
#[derive(Clone, Debug)]
pub struct Outlook {
    /// None while polling is suspended.
    pub not_before: Option<Timestamp>,
    pub reason: String,
}

/// What is known before a source is added, to await its first poll afterwards.
pub(super) struct FirstPollWatch {
    outlook: Outlook,
    events: Receiver<PipelineEvent>,
}

impl Service {
    /// Polls a source as soon as its publisher and its host allow, or at once if forced. Does not wait for a poll that
    /// cannot come in time.
    pub async fn poll_source(&self, id: SourceId, request: PollRequest) -> Result<RequestedPoll> {
        let mut source = self.source(id).await?;
        let (now, policy) = (self.now(), self.pipeline.policy());
        if let never @ NextPoll::Never(_) = due::next_poll(&source, None, &policy, now) {
            return Ok(RequestedPoll::Refused { reason: never.to_string() });
        }
        let change = if request.force { Change::PollForced } else { Change::Poll };
        // Before the scheduler is notified: the outlook must not follow from the poll itself.
        apply(&mut source, change.clone(), now);
        let next = due::next_poll(&source, None, &policy, now);
        let outlook = self.outlook(&source.settings, next, request.force).await?;
        let events = self.pipeline.events().listen();
        let before = self.last_poll(id).await?.map(|(number, _)| number);
        if request.force {
            self.pipeline.force_next_poll(id);
        }
        self.change(id, None, None, |_| Ok(change.clone())).await?;
        if !self.comes_within(&outlook, request.wait) {
            return Ok(RequestedPoll::Scheduled(outlook));
        }
        match self.settled(id, events, before, request.wait).await {
            Some(poll) => Ok(RequestedPoll::Done(Box::new(poll))),
            None => self.still_scheduled(id, request.force).await,
        }
    }

    /// Begins to watch for the first poll of a source that is about to be added.
    pub(super) async fn watch_first_poll(&self, settings: &SourceSettings) -> Result<FirstPollWatch> {
        let next = NextPoll::At { at: self.now(), because: Wait::NeverPolled };
        let outlook = self.outlook(settings, next, false).await?;
        Ok(FirstPollWatch { outlook, events: self.pipeline.events().listen() })
    }

    pub(super) async fn finish_first_poll(&self, id: SourceId, watch: FirstPollWatch) -> Result<RequestedPoll> {
        if !self.comes_within(&watch.outlook, FIRST_POLL_WITHIN) {
            return Ok(RequestedPoll::Scheduled(watch.outlook));
        }
        match self.settled(id, watch.events, None, FIRST_POLL_WITHIN).await {
            Some(poll) => Ok(RequestedPoll::Done(Box::new(poll))),
            None => self.still_scheduled(id, false).await,
        }
    }

    /// The last stored poll of a source, with its id.
    async fn last_poll(&self, id: SourceId) -> Result<Option<(i64, SettledPoll)>> {
        Ok(self.polls_before(id, None, 1).await?.pop().map(|stored| (stored.id, stored.poll)))
    }

    /// Waits until a poll of this source is settled after the one with this id.
    async fn settled(
        &self,
        id: SourceId,
        mut events: Receiver<PipelineEvent>,
        before: Option<i64>,
        wait: Duration,
    ) -> Option<SettledPoll> {
        let mut settled = pin!(async {
            loop {
                match events.recv().await {
                    Ok(PipelineEvent::Polled { source_id, poll, .. }) if source_id == id => {
                        return Arc::unwrap_or_clone(poll);
                    }
                    Ok(_) => {}
                    // The event may be among those that were missed.
                    Err(RecvError::Lagged(_)) => match self.last_poll(id).await {
                        Ok(Some((number, poll))) if Some(number) != before => return poll,
                        _ => {}
                    },
                    Err(RecvError::Closed) => std::future::pending().await,
                }
            }
        });
        tokio::select! {
            poll = &mut settled => return Some(poll),
            () = tokio::time::sleep(wait) => {}
            () = self.pipeline.drained() => {}
        }
        // The last event may have been this poll.
        settled.now_or_never()
    }

    async fn still_scheduled(&self, id: SourceId, is_forced: bool) -> Result<RequestedPoll> {
        let source = self.source(id).await?;
        let next = due::next_poll(&source, None, &self.pipeline.policy(), self.now());
        Ok(RequestedPoll::Scheduled(self.outlook(&source.settings, next, is_forced).await?))
    }

    fn comes_within(&self, outlook: &Outlook, wait: Duration) -> bool {
        let latest = self.now() + wait;
        !wait.is_zero() && outlook.not_before.is_some_and(|at| at <= latest)
    }

    /// When a source that is due then can be polled. Not even a forced poll is made while polling is stopped.
    async fn outlook(&self, settings: &SourceSettings, next: NextPoll, is_forced: bool) -> Result<Outlook> {
        if !self.pipeline.fleet().owns(Shard::of_source(settings)) {
            return Ok(Outlook { not_before: None, reason: NO_OWNER.to_owned() });
        }
        if let Some(reason) = self.stopped_polling().await {
            return Ok(Outlook { not_before: None, reason: reason.to_owned() });
        }
        let (now, policy) = (self.now(), self.pipeline.policy());
        if is_forced {
            return Ok(Outlook { not_before: Some(now), reason: "forced".to_owned() });
        }
        let own = Outlook { not_before: Some(next.at().unwrap_or(now).max(now)), reason: next.to_string() };
        let Some(key) = self.pipeline.host_of(settings) else { return Ok(own) };
        let mut host = self.host_state(&key).await?.unwrap_or_else(|| HostState::new(key.clone()));
        correct_host(&mut host, &policy, now, self.pipeline.last_clock_step());
        let pause = delay::delay(settings, Some(&key), &policy.delays).pause;
        let turn = turn::turn(&host, pause, self.pipeline.started_at(), &policy, now);
        let turn_at = match &turn {
            turn::Turn::Now => now,
            turn::Turn::At(at) => *at,
            turn::Turn::NotBefore { until, .. } => *until,
        };
        let is_later = own.not_before.is_some_and(|at| turn_at > at);
        Ok(if is_later { Outlook { not_before: Some(turn_at), reason: turn.to_string() } } else { own })
    }
}
