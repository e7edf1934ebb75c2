//! A webhook: a program elsewhere that events are sent to.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use super::{EventType, Timestamp};

/// Id of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct WebhookId(pub i64);

/// How a delivery is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryFormat {
    /// A JSON array of posts with the header `Feedwarden-Signature`.
    Classic,
    /// One event by the Standard Webhooks specification.
    Standard,
    /// One event by CloudEvents 1.0, structured mode, signed as `standard`.
    CloudEvents,
    /// A message for an incoming webhook of Slack.
    Slack,
    /// A message for a webhook of Discord.
    Discord,
    /// A message for a room of Matrix: the URL is that of the room's `send/m.room.message`, with `access_token`.
    Matrix,
    /// A message for a topic of ntfy: the URL is that of the server with the topic.
    Ntfy,
}

impl DeliveryFormat {
    pub const ALL: [DeliveryFormat; 7] = [
        DeliveryFormat::Standard,
        DeliveryFormat::CloudEvents,
        DeliveryFormat::Classic,
        DeliveryFormat::Slack,
        DeliveryFormat::Discord,
        DeliveryFormat::Matrix,
        DeliveryFormat::Ntfy,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            DeliveryFormat::Classic => "classic",
            DeliveryFormat::Standard => "standard",
            DeliveryFormat::CloudEvents => "cloudevents",
            DeliveryFormat::Slack => "slack",
            DeliveryFormat::Discord => "discord",
            DeliveryFormat::Matrix => "matrix",
            DeliveryFormat::Ntfy => "ntfy",
        }
    }

    /// Whether requests are signed at all.
    pub const fn is_signed(self) -> bool {
        matches!(self, DeliveryFormat::Classic) || self.has_standard_signature()
    }

    /// Whether requests are signed by the Standard Webhooks specification, whose secrets begin with `whsec_`.
    pub const fn has_standard_signature(self) -> bool {
        matches!(self, DeliveryFormat::Standard | DeliveryFormat::CloudEvents)
    }
}

/// The name of no format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFormat(String);

impl fmt::Display for UnknownFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = DeliveryFormat::ALL.map(DeliveryFormat::name).join(", ");
        write!(formatter, "{:?} is no format; there are {names}", self.0)
    }
}

impl std::error::Error for UnknownFormat {}

impl FromStr for DeliveryFormat {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<DeliveryFormat, UnknownFormat> {
        let known = DeliveryFormat::ALL.into_iter().find(|format| format.name() == name);
        known.ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

impl fmt::Display for DeliveryFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// What deliveries are signed with: two secrets while one replaces the other.
#[derive(Clone, Debug)]
pub struct SigningSecrets {
    pub current: SecretString,
    pub previous: Option<SecretString>,
}

/// Between the two secrets in their stored text.
const SEPARATOR: char = '\u{1e}';

impl SigningSecrets {
    /// As they are stored, encrypted.
    pub fn to_text(&self) -> SecretString {
        match &self.previous {
            None => self.current.clone(),
            Some(previous) => format!("{}{SEPARATOR}{}", self.current.expose_secret(), previous.expose_secret()).into(),
        }
    }

    pub fn from_text(text: &SecretString) -> SigningSecrets {
        match text.expose_secret().split_once(SEPARATOR) {
            None => SigningSecrets { current: text.clone(), previous: None },
            Some((current, previous)) => SigningSecrets { current: current.into(), previous: Some(previous.into()) },
        }
    }

    /// The secrets after a change.
    pub fn changed(&self, change: &SecretChange) -> SigningSecrets {
        match change {
            SecretChange::Replace(secret) => SigningSecrets { current: secret.clone(), previous: None },
            SecretChange::Rotate(secret, _) => {
                SigningSecrets { current: secret.clone(), previous: Some(self.current.clone()) }
            }
            SecretChange::EndRotation => SigningSecrets { current: self.current.clone(), previous: None },
        }
    }
}

/// What becomes of the secret of a webhook.
#[derive(Clone, Debug)]
pub enum SecretChange {
    /// The new one alone signs.
    Replace(SecretString),
    /// Both sign from this time on.
    Rotate(SecretString, Timestamp),
    /// The previous one does not sign any more.
    EndRotation,
}

impl SecretChange {
    /// Since when two secrets sign.
    pub fn rotated_at(&self) -> Option<Timestamp> {
        if let SecretChange::Rotate(_, at) = self { Some(*at) } else { None }
    }
}

/// A webhook that is about to be added. It gets what is stored from then on.
#[derive(Clone, Debug)]
pub struct NewWebhook {
    /// Where posts are sent to.
    pub url: String,
    /// What deliveries are signed with; kept encrypted.
    pub secret: SecretString,
    /// Only events of sources with this label; all without one.
    pub label: Option<String>,
    pub format: DeliveryFormat,
    /// Those of posts if empty.
    pub event_types: Vec<EventType>,
    /// When it is added.
    pub created_at: Timestamp,
}

/// A webhook as it stands in the store; its secret is read apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    pub id: WebhookId,
    /// Where posts are sent to.
    pub url: String,
    /// Only events of sources with this label; all without one.
    pub label: Option<String>,
    pub format: DeliveryFormat,
    /// Those of posts if empty.
    pub event_types: Vec<EventType>,
    /// Since when two secrets sign, if they do.
    pub rotated_at: Option<Timestamp>,
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
    pub secret: Option<SecretChange>,
    pub format: Option<DeliveryFormat>,
    pub event_types: Option<Vec<EventType>>,
}

impl Webhook {
    /// Types of the events that are sent.
    pub fn wanted_types(&self) -> Vec<EventType> {
        if self.event_types.is_empty() { EventType::POSTS.to_vec() } else { self.event_types.clone() }
    }
}

/// Where deliveries go, and what they are signed with.
#[derive(Clone, Debug)]
pub struct WebhookTarget {
    pub url: String,
    pub secrets: SigningSecrets,
    pub format: DeliveryFormat,
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
