//! Users, podcasts and webhooks.

use async_trait::async_trait;
use secrecy::SecretString;

use crate::model::{
    DeliveryRecord, KeyProvider, NewWebhook, Podcast, PodcastChanges, PodcastId, SourceId, SourceType, Timestamp, User,
    UserId, Webhook, WebhookChange, WebhookId, WebhookTarget,
};

use super::super::Result;

/// Users with their podcasts and API keys.
#[async_trait]
pub trait UserStore: Send + Sync {
    async fn add_user(&self, name: &str, now: Timestamp) -> Result<UserId>;

    async fn user(&self, id: UserId) -> Result<Option<User>>;

    /// The user of this name.
    async fn user_named(&self, name: &str) -> Result<Option<User>>;

    /// Users with ids above this one, in order.
    async fn list_users(&self, after: Option<UserId>, limit: u32) -> Result<Vec<User>>;

    /// Renames a user; false if it does not exist.
    async fn rename_user(&self, id: UserId, name: &str) -> Result<bool>;

    /// Removes a user with their keys; false if it does not exist. Fails if the user owns podcasts.
    async fn remove_user(&self, id: UserId) -> Result<bool>;

    async fn add_podcast(&self, owner: UserId, title: &str, now: Timestamp) -> Result<PodcastId>;

    async fn podcast(&self, id: PodcastId) -> Result<Option<Podcast>>;

    /// Podcasts with ids above this one, in order, of one user or of all.
    async fn list_podcasts(&self, owner: Option<UserId>, after: Option<PodcastId>, limit: u32) -> Result<Vec<Podcast>>;

    /// Changes a podcast; false if it does not exist.
    async fn change_podcast(&self, id: PodcastId, changes: PodcastChanges) -> Result<bool>;

    /// Removes a podcast; false if it does not exist. Fails if it has sources or articles.
    async fn remove_podcast(&self, id: PodcastId) -> Result<bool>;

    /// Stores or replaces a user's key, encrypted.
    async fn put_api_key(&self, user: UserId, provider: KeyProvider, key: &SecretString, now: Timestamp) -> Result<()>;

    /// Stores a renewed key, encrypted; false, without storing it, if the key that was used has been
    /// replaced or removed meanwhile.
    async fn renew_api_key(
        &self,
        user: UserId,
        provider: KeyProvider,
        used: &SecretString,
        renewed: &SecretString,
        now: Timestamp,
    ) -> Result<bool>;

    async fn api_key(&self, user: UserId, provider: KeyProvider) -> Result<Option<SecretString>>;

    /// Makes sources of this type due whose last poll failed for want of this user's key.
    async fn request_keyed_polls(&self, user: UserId, source_type: SourceType, now: Timestamp)
    -> Result<Vec<SourceId>>;

    /// Removes a user's key; false if there is none.
    async fn remove_api_key(&self, user: UserId, provider: KeyProvider) -> Result<bool>;
}

/// Webhooks and their deliveries.
#[async_trait]
pub trait WebhookStore: Send + Sync {
    /// Adds a webhook with its encrypted secret. It receives posts stored from now on.
    async fn add_webhook(&self, new: NewWebhook) -> Result<WebhookId>;

    /// Webhooks with ids above this one, in order.
    async fn list_webhooks(&self, after: Option<WebhookId>, limit: u32) -> Result<Vec<Webhook>>;

    async fn webhook(&self, id: WebhookId) -> Result<Option<Webhook>>;

    /// URL and secret of a webhook, read together.
    async fn webhook_target(&self, id: WebhookId) -> Result<Option<WebhookTarget>>;

    /// Changes the named fields only, so that changes of different fields do not conflict, and clears its
    /// failures; false if it does not exist.
    async fn change_webhook(&self, id: WebhookId, change: WebhookChange) -> Result<bool>;

    /// Stores the progress of a webhook if it still stands where the delivery began (`from`, a change number); ignores a
    /// removed one. False if another node has moved it.
    async fn record_delivery(&self, id: WebhookId, from: i64, record: DeliveryRecord) -> Result<bool>;

    /// Enables a webhook and clears its failures, or disables it with a reason; false if it does not exist.
    async fn switch_webhook(&self, id: WebhookId, disabled_reason: Option<String>) -> Result<bool>;

    /// Removes a webhook; false if it does not exist.
    async fn remove_webhook(&self, id: WebhookId) -> Result<bool>;
}
