//! Webhooks as they are sent and taken.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::input::nullable;
use crate::model::{PostId, Timestamp, Webhook, WebhookId};
use crate::rules::shown_url::shown_url;

/// A webhook to be added.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookBody {
    /// Where posts are sent to.
    pub url: String,
    /// What deliveries are signed with, 16 to 256 characters; without it one is made, and shown in the answer.
    #[serde(default)]
    pub secret: Option<String>,
    /// Only posts of sources with this label; all without one.
    #[serde(default)]
    pub label: Option<String>,
}

/// Changes of a webhook; what is left out stays as it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WebhookChanges {
    /// New URL.
    pub url: Option<String>,
    /// Another label; null: posts of all sources.
    #[serde(deserialize_with = "nullable")]
    pub label: Option<Option<String>>,
    /// Another secret; null: one is made, and shown in the answer.
    #[serde(deserialize_with = "nullable")]
    pub secret: Option<Option<String>>,
}

/// What became of a test.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WebhookTest {
    /// Whether the receiver accepted the delivery.
    pub is_taken: bool,
    /// Error of a failed delivery.
    pub error: Option<String>,
}

/// Webhook with its current state.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WebhookView {
    /// Id of the webhook.
    pub id: WebhookId,
    /// Where posts are sent to, without credentials.
    pub url: String,
    /// Only posts of sources with this label.
    pub label: Option<String>,
    /// Whether posts are sent.
    pub enabled: bool,
    /// Reason for being disabled.
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
    /// When the webhook was added.
    pub created_at: Timestamp,
    /// What deliveries are signed with: only in the answer to who had it made, and never again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
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
            secret: None,
        }
    }
}
