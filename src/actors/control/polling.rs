//! Polls that a person asks for: they obey the publisher and the host's pause, and say so (p20).

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::{ControlError, Happening, PipelineHandle, PollRecord};
use crate::model::{HostState, Source, SourceAccess, SourceId, SourceSettings, Timestamp};
use crate::rules::change::Change;
use crate::rules::due::{self, NextPoll};
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

/// What became of the wish.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum PollAnswer {
    /// It was polled.
    Done {
        /// How it went.
        poll: PollRecord,
    },
    /// It will be.
    Requested {
        /// Not before this moment.
        not_before: Timestamp,
        /// Why not at once.
        reason: String,
    },
    /// It will not be.
    Refused {
        /// Why.
        reason: String,
    },
}

impl PipelineHandle {
    /// Polls a source as soon as its publisher and its host allow, or at once if that is forced.
    pub async fn poll_now(&self, id: SourceId, wish: PollWish) -> Result<PollAnswer, ControlError> {
        let source = self.around.store.source(id).await?.ok_or(ControlError::NoSuchSource(id))?;
        let (now, policy) = (self.around.clock.now(), self.around.policy());
        if let never @ NextPoll::Never(_) = due::next_poll(&source, None, &policy, now) {
            return Ok(PollAnswer::Refused { reason: never.to_string() });
        }
        let happenings = self.around.statistics.listen();
        let before = self.history(id).first().map(|poll| poll.at);
        if wish.force {
            self.around.force(id);
        }
        let change = if wish.force { Change::PollForced } else { Change::Poll };
        let (source, _) = self.change(id, None, |_| change.clone()).await?;
        let (not_before, reason) = self.expected(&source, wish.force).await?;
        let requested = PollAnswer::Requested { not_before, reason };
        if wish.wait.is_zero() || not_before > self.around.clock.now() + wish.wait {
            return Ok(requested);
        }
        let poll = self.ended(id, happenings, before, wish.wait).await;
        Ok(poll.map_or(requested, |poll| PollAnswer::Done { poll }))
    }

    /// Adds a source and waits for its first poll, which comes by itself: no second request is made for it (p08).
    pub async fn add_and_poll(
        &self,
        settings: SourceSettings,
        labels: Vec<String>,
        access: Option<SourceAccess>,
        wait: Duration,
    ) -> Result<(Added, Option<PollAnswer>), ControlError> {
        let happenings = self.around.statistics.listen();
        let id = match self.add_source(settings, labels, access).await? {
            Added::New(id) => id,
            duplicate => return Ok((duplicate, None)),
        };
        if let Some(poll) = self.ended(id, happenings, None, wait).await {
            return Ok((Added::New(id), Some(PollAnswer::Done { poll })));
        }
        let source = self.around.store.source(id).await?.ok_or(ControlError::NoSuchSource(id))?;
        let (not_before, reason) = self.expected(&source, false).await?;
        Ok((Added::New(id), Some(PollAnswer::Requested { not_before, reason })))
    }

    /// Waits until a poll of this source that was not settled before is, or got no answer.
    async fn ended(
        &self,
        id: SourceId,
        mut happenings: Receiver<Happening>,
        before: Option<Timestamp>,
        wait: Duration,
    ) -> Option<PollRecord> {
        let ended = async {
            loop {
                match happenings.recv().await {
                    Ok(Happening::Doubted { source_id, poll }) if source_id == id => return Some(*poll),
                    Ok(Happening::Polled { source_id, .. }) if source_id == id => break,
                    // Who missed something looks whether it was this.
                    Err(RecvError::Lagged(_)) if self.history(id).first().map(|poll| poll.at) != before => break,
                    Ok(_) | Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => std::future::pending().await,
                }
            }
            self.history(id).into_iter().next()
        };
        tokio::time::timeout(wait, ended).await.ok()?
    }

    /// From when on the source can be polled, and what decides that.
    async fn expected(&self, source: &Source, is_forced: bool) -> Result<(Timestamp, String), ControlError> {
        let (now, policy) = (self.around.clock.now(), self.around.policy());
        if is_forced {
            return Ok((now, "forced".to_owned()));
        }
        let next = due::next_poll(source, None, &policy, now);
        let due_at = next.at().unwrap_or(now).max(now);
        let Some(key) = self.host_of(source) else { return Ok((due_at, next.to_string())) };
        let mut host = self.host_state(&key).await?.unwrap_or_else(|| HostState::new(key.clone()));
        turn::believe(&mut host, &policy, now);
        let pause = delay::delay(&source.settings, Some(&key), &policy.delays).pause;
        let turn = turn::turn(&host, pause, self.around.started_at, &policy, now);
        let turn_at = match &turn {
            turn::Turn::Now => now,
            turn::Turn::At(at) => *at,
            turn::Turn::NotBefore { until, .. } => *until,
        };
        Ok(if turn_at > due_at { (turn_at, turn.to_string()) } else { (due_at, next.to_string()) })
    }
}
