//! A webhook: a program elsewhere that new and changed posts are sent to.

use std::fmt;

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::Timestamp;

/// Id of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct WebhookId(pub i64);

/// A webhook that is about to be added. It gets what is stored from then on.
#[derive(Clone, Debug)]
pub struct NewWebhook {
    /// Where posts are sent to.
    pub url: String,
    /// What deliveries are signed with; kept encrypted.
    pub secret: SecretString,
    /// Only posts of sources with this label; all without one.
    pub label: Option<String>,
    /// When it is added.
    pub created_at: Timestamp,
}

/// A webhook as it stands in the store; its secret is read apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    pub id: WebhookId,
    /// Where posts are sent to.
    pub url: String,
    /// Only posts of sources with this label; all without one.
    pub label: Option<String>,
    /// Whether anything is sent at all.
    pub enabled: bool,
    /// Why not, if it is not enabled.
    pub disabled_reason: Option<String>,
    /// How far it has come.
    pub progress: WebhookProgress,
    /// When something was taken last.
    pub last_delivered_at: Option<Timestamp>,
    /// When it was added.
    pub created_at: Timestamp,
}

/// What a person changes about a webhook. What is not named stays.
#[derive(Clone, Debug, Default)]
pub struct WebhookChange {
    pub url: Option<String>,
    /// Another label, or none.
    pub label: Option<Option<String>>,
    pub secret: Option<SecretString>,
}

/// Where deliveries go, and what they are signed with.
#[derive(Clone, Debug)]
pub struct WebhookTarget {
    pub url: String,
    /// What they are signed with.
    pub secret: SecretString,
    pub enabled: bool,
}

/// How far a webhook has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookProgress {
    /// Everything up to this change number was taken, or is not wanted.
    pub last_change_number: i64,
    /// Deliveries that failed in a row.
    pub failures: u32,
    /// Nothing is sent before this moment.
    pub retry_at: Option<Timestamp>,
    /// What the last failure was, until something is taken.
    pub last_error: Option<String>,
}

/// What became of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryRecord {
    /// How far the webhook has come.
    pub progress: WebhookProgress,
    /// When posts were taken, if they were.
    pub delivered_at: Option<Timestamp>,
    /// Why nothing is sent any more, if nothing is.
    pub disabled_reason: Option<String>,
}

impl fmt::Display for WebhookId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}
