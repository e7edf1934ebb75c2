//! Polls that a person asks for: they obey the publisher and the host's pause, and say so (p20).

use std::pin::pin;
use std::time::Duration;

use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::{ControlError, PipelineEvent, PipelineHandle, PollRecord};
use crate::actors::poll::source_host;
use crate::model::{HostState, SourceAccess, SourceId, SourceSettings, Timestamp};
use crate::rules::change::{Change, apply};
use crate::rules::due::{self, NextPoll, Wait};
use crate::rules::{delay, turn};
use crate::store::Added;

/// How somebody wants a source polled.
#[derive(Clone, Copy, Debug, Default)]
pub struct PollWish {
    /// How long to wait for the result; not at all without.
    pub wait: Duration,
    /// Whether to set aside what the publisher and the host asked for.
    pub force: bool,
}

/// Response to a poll request.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum PollAnswer {
    /// Poll finished.
    Done {
        /// Result of the poll.
        poll: PollRecord,
    },
    /// Poll scheduled for later.
    Requested {
        /// Earliest time of the poll; null while all polling is suspended.
        not_before: Option<Timestamp>,
        /// Reason for the wait.
        reason: String,
    },
    /// Poll refused.
    Refused {
        /// Reason for the refusal.
        reason: String,
    },
}

/// From when on a source can be polled, and what decides that.
struct Outlook {
    /// Nobody knows while everything stands still.
    not_before: Option<Timestamp>,
    reason: String,
}

impl From<Outlook> for PollAnswer {
    fn from(Outlook { not_before, reason }: Outlook) -> PollAnswer {
        PollAnswer::Requested { not_before, reason }
    }
}

impl PipelineHandle {
    /// Polls a source as soon as its publisher and its host allow, or at once if that is forced. Who waits is answered at
    /// once where the poll cannot come in time.
    pub async fn poll_now(&self, id: SourceId, wish: PollWish) -> Result<PollAnswer, ControlError> {
        let mut source = self.context.store.source(id).await?.ok_or(ControlError::NoSuchSource(id))?;
        let (now, policy) = (self.context.clock.now(), self.context.policy());
        if let never @ NextPoll::Never(_) = due::next_poll(&source, None, &policy, now) {
            return Ok(PollAnswer::Refused { reason: never.to_string() });
        }
        let change = if wish.force { Change::PollForced } else { Change::Poll };
        // Before anybody is told: what the poll leaves behind must not be taken for what it waits for.
        apply(&mut source, change.clone(), now);
        let next = due::next_poll(&source, None, &policy, now);
        let outlook = self.outlook(&source.settings, next, wish.force).await?;
        let events = self.context.statistics.listen();
        let before = self.history(id).first().map(|poll| poll.at);
        if wish.force {
            self.context.force(id);
        }
        self.change(id, None, |_| change.clone()).await?;
        if !self.comes_within(&outlook, wish.wait) {
            return Ok(outlook.into());
        }
        match self.ended(id, events, before, wish.wait).await {
            Some(poll) => Ok(PollAnswer::Done { poll }),
            None => self.not_yet(id, wish.force).await,
        }
    }

    /// Adds a source and waits for its first poll, which comes by itself: no second request is made for it (p08). Where it
    /// cannot come in time, that is said at once.
    pub async fn add_and_poll(
        &self,
        settings: SourceSettings,
        labels: Vec<String>,
        access: Option<SourceAccess>,
        wait: Duration,
    ) -> Result<(Added, Option<PollAnswer>), ControlError> {
        let next = NextPoll::At { at: self.context.clock.now(), because: Wait::NeverPolled };
        let outlook = self.outlook(&settings, next, false).await?;
        let events = self.context.statistics.listen();
        let id = match self.add_source(settings, labels, access).await? {
            Added::New(id) => id,
            duplicate => return Ok((duplicate, None)),
        };
        if !self.comes_within(&outlook, wait) {
            return Ok((Added::New(id), Some(outlook.into())));
        }
        let answer = match self.ended(id, events, None, wait).await {
            Some(poll) => PollAnswer::Done { poll },
            None => self.not_yet(id, false).await?,
        };
        Ok((Added::New(id), Some(answer)))
    }

    /// Waits until a poll of this source that was not settled before is settled; no longer than this.
    async fn ended(
        &self,
        id: SourceId,
        mut events: Receiver<PipelineEvent>,
        before: Option<Timestamp>,
        wait: Duration,
    ) -> Option<PollRecord> {
        let mut ended = pin!(async {
            loop {
                match events.recv().await {
                    Ok(PipelineEvent::Polled { source_id, .. }) if source_id == id => break,
                    // Who missed something looks whether it was this.
                    Err(RecvError::Lagged(_)) if self.history(id).first().map(|poll| poll.at) != before => break,
                    Ok(_) | Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => std::future::pending().await,
                }
            }
            self.history(id).into_iter().next()
        });
        tokio::select! {
            poll = &mut ended => return poll,
            () = tokio::time::sleep(wait) => {}
            () = self.drained() => {}
        }
        // It may have been the last one.
        ended.now_or_never().flatten()
    }

    /// What to say to whom waited in vain.
    async fn not_yet(&self, id: SourceId, is_forced: bool) -> Result<PollAnswer, ControlError> {
        let source = self.context.store.source(id).await?.ok_or(ControlError::NoSuchSource(id))?;
        let next = due::next_poll(&source, None, &self.context.policy(), self.context.clock.now());
        Ok(self.outlook(&source.settings, next, is_forced).await?.into())
    }

    /// Whether a poll can come while somebody waits for it.
    fn comes_within(&self, outlook: &Outlook, wait: Duration) -> bool {
        let latest = self.context.clock.now() + wait;
        !wait.is_zero() && outlook.not_before.is_some_and(|at| at <= latest)
    }

    /// What a source that is due then has to wait for. Not even who forces a poll gets one while everything stands still.
    async fn outlook(
        &self,
        settings: &SourceSettings,
        next: NextPoll,
        is_forced: bool,
    ) -> Result<Outlook, ControlError> {
        if let Some(reason) = self.standstill().await {
            return Ok(Outlook { not_before: None, reason: reason.to_owned() });
        }
        let (now, policy) = (self.context.clock.now(), self.context.policy());
        if is_forced {
            return Ok(Outlook { not_before: Some(now), reason: "forced".to_owned() });
        }
        let own = Outlook { not_before: Some(next.at().unwrap_or(now).max(now)), reason: next.to_string() };
        let host = source_host(settings.source_type, &settings.url, self.context.x_host.as_ref());
        let Some(key) = host else { return Ok(own) };
        let mut host = self.host_state(&key).await?.unwrap_or_else(|| HostState::new(key.clone()));
        turn::clamp_future_times(&mut host, &policy, now);
        let pause = delay::delay(settings, Some(&key), &policy.delays).pause;
        let turn = turn::turn(&host, pause, self.context.started_at, &policy, now);
        let turn_at = match &turn {
            turn::Turn::Now => now,
            turn::Turn::At(at) => *at,
            turn::Turn::NotBefore { until, .. } => *until,
        };
        let is_later = own.not_before.is_some_and(|at| turn_at > at);
        Ok(if is_later { Outlook { not_before: Some(turn_at), reason: turn.to_string() } } else { own })
    }
}
