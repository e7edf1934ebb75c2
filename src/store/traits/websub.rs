//! Subscriptions at hubs (WebSub).

use async_trait::async_trait;

use crate::model::{HubOffer, NewSubscription, PushCount, SourceId, Subscription, SubscriptionState, Timestamp};

use super::super::Result;

#[async_trait]
pub trait WebSubStore: Send + Sync {
    /// Adds a subscription that is due at once; false if the source has one already that is not being ended.
    async fn add_subscription(&self, new: NewSubscription) -> Result<bool>;

    async fn subscription(&self, token: &str) -> Result<Option<Subscription>>;

    /// Subscriptions of a source, the one that is not being ended first.
    async fn subscriptions_of_source(&self, source: SourceId, limit: u32) -> Result<Vec<Subscription>>;

    /// Subscriptions that are due, or whose times are after these two (of attempts and of events), with tokens above this
    /// one, in order.
    async fn subscriptions_due(
        &self,
        now: Timestamp,
        unknown: (Timestamp, Timestamp),
        after: &str,
        limit: u32,
    ) -> Result<Vec<Subscription>>;

    /// When the next subscription falls due after this time.
    async fn next_subscription_at(&self, now: Timestamp) -> Result<Option<Timestamp>>;

    /// Writes a subscription, without its figures, if its version is still stored; false if not.
    async fn save_subscription(&self, subscription: &Subscription) -> Result<bool>;

    async fn remove_subscription(&self, token: &str) -> Result<()>;

    /// Counts what was pushed to a callback.
    async fn count_pushes(&self, token: &str, count: PushCount) -> Result<()>;

    /// Counts what polls of a source found because of pushes and without them.
    async fn count_finds(&self, source: SourceId, count: PushCount) -> Result<()>;

    /// Number of subscriptions by state.
    async fn count_subscriptions(&self) -> Result<Vec<(SubscriptionState, u64)>>;

    /// Sources with ids above this one, in order, whose feeds name hubs and that are not subscribed.
    async fn sources_to_subscribe(&self, after: SourceId, limit: u32) -> Result<Vec<(SourceId, HubOffer)>>;

    /// Subscriptions with tokens above this one, in order, that are to be ended: of sources that are gone, disabled or do
    /// not use pushes, under another public URL than this one, or, if they were added up to `followed_max`, of feeds that
    /// name no hub or another topic by now.
    async fn subscriptions_to_end(
        &self,
        public_url: &str,
        followed_max: Timestamp,
        after: &str,
        limit: u32,
    ) -> Result<Vec<Subscription>>;
}
