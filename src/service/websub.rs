//! What hubs send to the callbacks of subscriptions (WebSub): verifications and pushes. A push makes its source due, and
//! nothing in it is read but its signature.

use secrecy::ExposeSecret;
use slog::{debug, info, warn};

use super::{Result, Service};
use crate::actors::{change_push_state, forget_pushes};
use crate::model::{PushCount, PushState, SourceId, Subscription, SubscriptionState};
use crate::rules::push_signature::PushSignature;
use crate::rules::shown_url::shown_url;
use crate::rules::subscription::{Verification, VerificationVerdict, verify};

/// How often a change is decided again because the subscription was changed meanwhile.
const ROUNDS_MAX: usize = 5;
/// Subscriptions of a source that are shown.
const SHOWN_MAX: u32 = 1;

/// The answer to a request of a hub to verify something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallbackAnswer {
    /// What the hub asks is so: its challenge is to be returned.
    Confirmed,
    Refused,
    /// There is no such callback.
    Gone,
}

/// A push whose body is being read.
pub struct PushCheck {
    token: String,
    source_id: SourceId,
    signature: Option<PushSignature>,
}

/// What became of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum PushOutcome {
    /// Its source is due.
    Due,
    /// Its source was due already because of a push.
    Coalesced,
    /// The signature is wrong or missing.
    Rejected,
    /// Its source is not polled.
    Ignored,
    /// There is no such callback.
    Unknown,
    /// More than the listener takes.
    TooLarge,
    /// More often than the listener takes.
    Limited,
}

impl PushCheck {
    /// Takes the next piece of the body.
    pub fn update(&mut self, piece: &[u8]) {
        if let Some(signature) = &mut self.signature {
            signature.update(piece);
        }
    }
}

impl Service {
    /// The subscription of a source that is not being ended, or else the last one.
    pub(super) async fn subscription_of(&self, source: SourceId) -> Result<Option<Subscription>> {
        Ok(self.store.subscriptions_of_source(source, SHOWN_MAX).await?.pop())
    }

    /// Number of subscriptions by state.
    pub async fn count_subscriptions(&self) -> Result<Vec<(SubscriptionState, u64)>> {
        Ok(self.store.count_subscriptions().await?)
    }

    /// Answers a hub that verifies a request, or denies it.
    pub async fn verify_subscription(&self, token: &str, asked: &Verification) -> Result<CallbackAnswer> {
        let log = self.pipeline.log();
        for _ in 0..ROUNDS_MAX {
            let Some(mut subscription) = self.store.subscription(token).await? else {
                return Ok(CallbackAnswer::Gone);
            };
            let was_active = subscription.state == SubscriptionState::Active;
            let now = self.now();
            let verdict = verify(&mut subscription, asked, now);
            let source_id = subscription.source_id;
            let (id, hub, topic) = (source_id.0, shown_url(&subscription.hub), shown_url(&subscription.topic));
            match verdict {
                VerificationVerdict::Refused(reason) => {
                    info!(log, "websub verification refused"; "source_id" => id, "hub" => hub, "reason" => reason);
                    return Ok(CallbackAnswer::Refused);
                }
                VerificationVerdict::Unsubscribed => {
                    self.store.remove_subscription(token).await?;
                    info!(log, "websub subscription ended"; "source_id" => id, "hub" => hub, "topic" => topic);
                    // Another one may follow it.
                    self.pipeline.sources_changed(Vec::new());
                    return Ok(CallbackAnswer::Confirmed);
                }
                VerificationVerdict::Subscribed | VerificationVerdict::Denied
                    if !self.store.save_subscription(&subscription).await? => {}
                VerificationVerdict::Subscribed => {
                    let lease_end = subscription.lease_end().map(|end| end.to_string());
                    match was_active {
                        true => debug!(log, "websub lease renewed"; "source_id" => id, "hub" => hub,
                            "until" => lease_end),
                        false => info!(log, "websub subscribed"; "source_id" => id, "hub" => hub, "topic" => topic,
                            "until" => lease_end),
                    }
                    return Ok(CallbackAnswer::Confirmed);
                }
                VerificationVerdict::Denied => {
                    warn!(log, "websub subscription denied"; "source_id" => id, "hub" => hub, "topic" => topic,
                        "reason" => subscription.last_error, "retry_at" => subscription.next_attempt_at.to_string());
                    if forget_pushes(self.store.as_ref(), source_id, now).await? {
                        self.pipeline.sources_changed(vec![source_id]);
                    }
                    return Ok(CallbackAnswer::Confirmed);
                }
            }
        }
        Ok(CallbackAnswer::Refused)
    }

    /// Begins to check a push with this signature; none if there is no such callback, or if it is being ended.
    pub async fn begin_push(&self, token: &str, signature: Option<&str>) -> Result<Option<PushCheck>> {
        let found = self.store.subscription(token).await?;
        let Some(subscription) = found.filter(|found| found.state != SubscriptionState::Leaving) else {
            return Ok(None);
        };
        let secret = subscription.secret.as_ref().map(|secret| secret.expose_secret().as_bytes());
        let signature = signature.zip(secret).and_then(|(header, secret)| PushSignature::new(header, secret));
        Ok(Some(PushCheck { token: token.to_owned(), source_id: subscription.source_id, signature }))
    }

    /// Makes the source of a push due whose body has been read, if its signature is right.
    pub async fn finish_push(&self, push: PushCheck) -> Result<PushOutcome> {
        let PushCheck { token, source_id, signature } = push;
        let (log, now) = (self.pipeline.log(), self.now());
        if !signature.is_some_and(PushSignature::is_right) {
            self.store.count_pushes(&token, PushCount { rejected: 1, ..PushCount::default() }).await?;
            info!(log, "websub push rejected"; "source_id" => source_id.0,
                "reason" => "its signature is missing or wrong; it may be forged");
            return Ok(PushOutcome::Rejected);
        }
        self.store.count_pushes(&token, PushCount { pushes: 1, pushed_at: Some(now), ..PushCount::default() }).await?;
        let Some(source) = self.store.source(source_id).await? else { return Ok(PushOutcome::Ignored) };
        if !source.state.enabled {
            return Ok(PushOutcome::Ignored);
        }
        // A push during a poll is followed by another one, so the last push counts.
        let pushed = |push: &PushState| Some(PushState { pushed_at: Some(now), ..push.clone() });
        let is_coalesced = source.state.push.pushed_at.is_some();
        if !change_push_state(self.store.as_ref(), source_id, now, pushed).await? {
            return Ok(PushOutcome::Ignored);
        }
        self.pipeline.sources_changed(vec![source_id]);
        debug!(log, "websub push taken"; "source_id" => source_id.0, "is_coalesced" => is_coalesced);
        Ok(if is_coalesced { PushOutcome::Coalesced } else { PushOutcome::Due })
    }

    /// Counts a push, for the metrics.
    pub fn count_push(&self, outcome: PushOutcome) {
        self.pipeline.statistics().count_push(outcome.into());
    }
}
