//! Wire types for webhooks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::input::nullable;
use crate::model::{DeliveryFormat, EventType, Timestamp, Webhook, WebhookId};
use crate::rules::shown_url::{shown_webhook_url, url_without_login};

/// Webhook to add.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookBody {
    /// URL to send events to.
    pub url: String,
    /// Secret that signs deliveries, 16 to 256 characters; by default one is generated and returned.
    #[serde(default)]
    pub secret: Option<String>,
    /// Send only events of sources with this label; by default all events.
    #[serde(default)]
    pub label: Option<String>,
    /// Format of deliveries: `standard` (default), `cloudevents`, `classic`, `slack`, `discord`, `matrix` or `ntfy`.
    #[serde(default)]
    pub format: Option<DeliveryFormat>,
    /// Types of events to send; by default `post.created` and `post.updated`.
    #[serde(default)]
    pub events: Vec<EventType>,
}

/// Changes of a webhook; absent fields stay unchanged.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WebhookChanges {
    /// New URL.
    pub url: Option<String>,
    /// New label; null sends all events.
    #[serde(deserialize_with = "nullable")]
    pub label: Option<Option<String>>,
    /// New secret; null generates one and returns it.
    #[serde(deserialize_with = "nullable")]
    pub secret: Option<Option<String>>,
    /// New format; one that signs by the Standard Webhooks specification generates a new secret if the old format had
    /// another signature.
    pub format: Option<DeliveryFormat>,
    /// New types of events; none for `post.created` and `post.updated`.
    pub events: Option<Vec<EventType>>,
}

/// Secret that signs beside the present one.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RotationBody {
    /// New secret; by default one is generated and returned.
    pub secret: Option<String>,
}

/// Result of a test delivery.
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
    /// URL, without its login. Only the admin socket and `write` tokens see path and query, which may be secret.
    pub url: String,
    /// Label of the sources whose events are sent; null for all.
    pub label: Option<String>,
    /// Format of deliveries.
    pub format: DeliveryFormat,
    /// Types of events that are sent.
    pub events: Vec<EventType>,
    /// Since when two secrets sign deliveries; null if one does.
    pub rotated_at: Option<Timestamp>,
    /// Whether the webhook is enabled.
    pub enabled: bool,
    /// Reason for being disabled.
    pub disabled_reason: Option<String>,
    /// Number of the last event that was delivered or skipped.
    pub last_change_number: i64,
    /// Consecutive failed deliveries.
    pub failures: u32,
    /// No delivery before this time.
    pub retry_at: Option<Timestamp>,
    /// Error of the last failed delivery; null after a success.
    pub last_error: Option<String>,
    /// Time of the last successful delivery.
    pub last_delivered_at: Option<Timestamp>,
    /// When the webhook was added.
    pub created_at: Timestamp,
    /// Generated secret; only in the response to the request that generated it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

impl WebhookView {
    pub(in crate::api) fn new(webhook: Webhook, sees_secrets: bool) -> WebhookView {
        let shown = if sees_secrets { url_without_login } else { shown_webhook_url };
        WebhookView {
            events: webhook.wanted_types(),
            id: webhook.id,
            url: shown(&webhook.url),
            label: webhook.label,
            format: webhook.format,
            rotated_at: webhook.rotated_at,
            enabled: webhook.enabled,
            disabled_reason: webhook.disabled_reason,
            last_change_number: webhook.progress.last_change_number,
            failures: webhook.progress.failures,
            retry_at: webhook.progress.retry_at,
            last_error: webhook.progress.last_error,
            last_delivered_at: webhook.last_delivered_at,
            created_at: webhook.created_at,
            secret: None,
        }
    }
}
