//! Wire type for subscriptions at hubs (WebSub).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{PushFigures, Subscription, Timestamp};
use crate::rules::shown_url::shown_url;

/// Subscription of a source at a hub. The URL of the callback is secret.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SubscriptionView {
    /// Hub.
    pub hub: String,
    /// Topic as the hub knows it.
    pub topic: String,
    /// State: `waiting`, `requested`, `active`, `denied` or `leaving`.
    #[schemars(extend("enum" = ["waiting", "requested", "active", "denied", "leaving"]))]
    pub state: String,
    /// When the hub verified the subscription last.
    pub verified_at: Option<Timestamp>,
    /// End of the lease; it is renewed before.
    pub lease_end: Option<Timestamp>,
    /// Time of the next request to the hub, or of the end of its time to verify one.
    pub next_attempt_at: Timestamp,
    /// Requests since the last verification.
    pub attempts: u32,
    /// Why the last request failed, or why the hub denied it.
    pub last_error: Option<String>,
    /// When the subscription was added.
    pub created_at: Timestamp,
    /// Pushes with the right signature.
    pub pushes: u64,
    /// Pushes with a wrong signature or without one.
    pub rejected: u64,
    /// Polls that a push made due and that found something new.
    pub useful: u64,
    /// Polls that found something new of which no push told.
    pub missed: u64,
    /// Last push with the right signature.
    pub last_push_at: Option<Timestamp>,
}

impl From<Subscription> for SubscriptionView {
    fn from(subscription: Subscription) -> SubscriptionView {
        let lease_end = subscription.lease_end();
        let PushFigures { pushes, rejected, useful, missed, last_push_at } = subscription.figures;
        SubscriptionView {
            hub: shown_url(&subscription.hub),
            topic: shown_url(&subscription.topic),
            state: subscription.state.name().to_owned(),
            verified_at: subscription.verified_at,
            lease_end,
            next_attempt_at: subscription.next_attempt_at,
            attempts: subscription.attempts,
            last_error: subscription.last_error,
            created_at: subscription.created_at,
            pushes,
            rejected,
            useful,
            missed,
            last_push_at,
        }
    }
}
