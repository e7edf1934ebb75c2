//! Webhooks as they are sent and taken.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::actors::control::shown_url;
use crate::model::{PostId, Timestamp, Webhook, WebhookId};

/// A webhook to be added.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookBody {
    /// Where posts are sent to.
    pub url: String,
    /// What deliveries are signed with, 16 characters at least. It is never shown again.
    pub secret: String,
    /// Only posts of sources with this label; all without one.
    #[serde(default)]
    pub label: Option<String>,
}

/// A webhook.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WebhookView {
    /// Which one.
    pub id: WebhookId,
    /// Where posts are sent to, without credentials.
    pub url: String,
    /// Only posts of sources with this label.
    pub label: Option<String>,
    /// Whether anything is sent.
    pub enabled: bool,
    /// Why not.
    pub disabled_reason: Option<String>,
    /// Everything up to this post was taken, or is not wanted.
    pub last_post_id: PostId,
    /// Deliveries that failed in a row.
    pub failures: u32,
    /// Nothing is sent before this moment.
    pub retry_at: Option<Timestamp>,
    /// What the last failure was, until something is taken.
    pub last_error: Option<String>,
    /// When something was taken last.
    pub last_delivered_at: Option<Timestamp>,
    /// When it was added.
    pub created_at: Timestamp,
}

impl From<Webhook> for WebhookView {
    fn from(webhook: Webhook) -> WebhookView {
        WebhookView {
            id: webhook.id,
            url: shown_url(&webhook.url),
            label: webhook.label,
            enabled: webhook.enabled,
            disabled_reason: webhook.disabled_reason,
            last_post_id: webhook.progress.last_post,
            failures: webhook.progress.failures,
            retry_at: webhook.progress.retry_at,
            last_error: webhook.progress.last_error,
            last_delivered_at: webhook.last_delivered_at,
            created_at: webhook.created_at,
        }
    }
}
