//! Webhooks and sinks: where events are sent to.

use std::time::Duration;

use secrecy::SecretString;
use url::Url;

use super::audit::{HIDDEN_CHANGE, of_webhook, webhook_fields};
use super::sinks::check_kind;
use super::{Result, Service, ServiceError};
use crate::actors::WEBHOOKS_MAX;
use crate::delivery::{new_standard_secret, standard_key};
use crate::dice::{new_key, new_secret};
use crate::model::{
    AuditedChange, DeliveryFormat, EventSelection, EventType, NewWebhook, SecretChange, StreamEvent, Webhook,
    WebhookChange, WebhookId,
};
use crate::rules::shown_url::shown_webhook_url;
use crate::sinks::is_sink;
use crate::store::PageBounds;

const URL_BYTES_MAX: usize = 4096;
const LABEL_CHARS_MAX: usize = 100;
const REASON_CHARS_MAX: usize = 500;
/// A shorter secret could be guessed from one signed delivery.
const SECRET_CHARS_MIN: usize = 16;
const SECRET_CHARS_MAX: usize = 256;

/// A webhook to be added.
#[derive(Clone, Debug)]
pub struct NewWebhookRequest {
    pub url: String,
    /// Generated if absent.
    pub secret: Option<String>,
    /// Only events of sources with this label.
    pub label: Option<String>,
    /// By the Standard Webhooks specification if absent.
    pub format: Option<DeliveryFormat>,
    /// Those of posts if empty.
    pub event_types: Vec<EventType>,
}

/// Changes to a webhook. An absent field stays as it is.
#[derive(Clone, Debug, Default)]
pub struct WebhookPatch {
    pub url: Option<String>,
    /// `Some(None)` removes the label.
    pub label: Option<Option<String>>,
    /// `Some(None)` generates a new secret.
    pub secret: Option<Option<String>>,
    pub format: Option<DeliveryFormat>,
    pub event_types: Option<Vec<EventType>>,
}

/// The state of all webhooks, counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct WebhookFigures {
    pub working: usize,
    pub failing: usize,
    pub disabled: usize,
    /// Age of the oldest event of a post that an enabled webhook has not passed.
    pub lag: Duration,
}

impl Service {
    pub async fn webhooks(&self, after: Option<WebhookId>, limit: u32) -> Result<Vec<Webhook>> {
        Ok(self.store.list_webhooks(after, limit).await?)
    }

    pub async fn webhook(&self, id: WebhookId) -> Result<Webhook> {
        self.store.webhook(id).await?.ok_or_else(|| ServiceError::not_found("webhook", id))
    }

    /// Adds a webhook. Returns its secret too if it was generated.
    pub async fn add_webhook(&self, request: NewWebhookRequest) -> Result<(Webhook, Option<String>)> {
        check_url(&request.url)?;
        let label = request.label.as_deref().map(valid_label).transpose()?;
        let format = request.format.unwrap_or(DeliveryFormat::Standard);
        let event_types = valid_types(format, request.event_types)?;
        let (url, secret, generated) = if is_sink(&request.url) {
            let (url, secret) = self.valid_sink(&request.url, request.secret, format)?;
            (url, secret.unwrap_or_default(), None)
        } else {
            let (secret, generated) = valid_secret(request.secret, format)?;
            (request.url, secret, generated)
        };
        if self.store.list_webhooks(None, WEBHOOKS_MAX).await?.len() >= WEBHOOKS_MAX as usize {
            return Err(ServiceError::Refused(format!("there are {WEBHOOKS_MAX} webhooks already")));
        }
        let new = NewWebhook { url, secret, label, format, event_types, created_at: self.now() };
        let change = AuditedChange::new("webhook.add", "webhook", None)
            .named(&shown_webhook_url(&new.url))
            .after("label", new.label.as_deref())
            .after("format", new.format.name())
            .after("event_types", names(&new.event_types).as_slice());
        let id = self.audited(change, async |store| store.add_webhook(new).await).await?;
        Ok((self.webhook(id).await?, generated))
    }

    /// Changes a webhook. Returns its secret too if a new one was generated.
    pub async fn patch_webhook(&self, id: WebhookId, patch: WebhookPatch) -> Result<(Webhook, Option<String>)> {
        patch.url.as_deref().map(check_url).transpose()?;
        let label = patch.label.map(|label| label.as_deref().map(valid_label).transpose()).transpose()?;
        let webhook = self.webhook(id).await?;
        patch.url.as_deref().map(|url| check_kind(&webhook.url, url)).transpose()?;
        let format = patch.format.unwrap_or(webhook.format);
        let types = patch.event_types.unwrap_or_else(|| webhook.event_types.clone());
        let types = valid_types(format, types)?;
        let event_types = (types != webhook.event_types).then_some(types);
        let (url, secret, generated) = if is_sink(&webhook.url) {
            // A null secret removes the password.
            let removes = matches!(patch.secret, Some(None));
            let url = patch.url.as_deref().unwrap_or(&webhook.url);
            let (url, secret) = self.valid_sink(url, patch.secret.flatten(), format)?;
            let secret = secret.or_else(|| removes.then(SecretString::default));
            (patch.url.map(|_| url), secret, None)
        } else {
            // A signature by the specification needs a secret of its form.
            let needs_secret = format.has_standard_signature() && !webhook.format.has_standard_signature();
            let secret = match (patch.secret, needs_secret) {
                (None, true) => Some(None),
                (given, _) => given,
            };
            let (secret, generated) = secret.map(|secret| valid_secret(secret, format)).transpose()?.unzip();
            (patch.url, secret, generated.flatten())
        };
        let secret = secret.map(SecretChange::Replace);
        let change = WebhookChange { url, label, secret, format: patch.format, event_types };
        let record = edit(&webhook, &change);
        let is_found = self.audited(record, async |store| store.change_webhook(id, change).await).await?;
        Ok((self.found(id, is_found).await?, generated))
    }

    /// Gives a webhook a second secret: both sign until [`Service::end_rotation`]. Returns the new one if it was
    /// generated.
    pub async fn rotate_secret(&self, id: WebhookId, secret: Option<String>) -> Result<(Webhook, Option<String>)> {
        let webhook = self.webhook(id).await?;
        if is_sink(&webhook.url) {
            return Err(ServiceError::Refused("nothing signs what is sent to a file or a broker".to_owned()));
        }
        if !webhook.format.has_standard_signature() {
            return Err(ServiceError::Refused(format!(
                "the format {} has one signature; only standard and cloudevents have two during a rotation",
                webhook.format
            )));
        }
        if webhook.rotated_at.is_some() {
            let text = "two secrets sign already; end that rotation first (`feedwarden webhook end-rotation`)";
            return Err(ServiceError::Refused(text.to_owned()));
        }
        let (secret, generated) = valid_secret(secret, webhook.format)?;
        let change =
            WebhookChange { secret: Some(SecretChange::Rotate(secret, self.now())), ..WebhookChange::default() };
        let record = of_webhook("webhook.rotate", &webhook).after("secret", HIDDEN_CHANGE);
        let is_found = self.audited(record, async |store| store.change_webhook(id, change).await).await?;
        Ok((self.found(id, is_found).await?, generated))
    }

    /// From now on only the new secret signs.
    pub async fn end_rotation(&self, id: WebhookId) -> Result<Webhook> {
        let webhook = self.webhook(id).await?;
        if webhook.rotated_at.is_none() {
            return Err(ServiceError::Refused("one secret signs; there is no rotation to end".to_owned()));
        }
        let change = WebhookChange { secret: Some(SecretChange::EndRotation), ..WebhookChange::default() };
        let record = of_webhook("webhook.end-rotation", &webhook);
        let is_found = self.audited(record, async |store| store.change_webhook(id, change).await).await?;
        self.found(id, is_found).await
    }

    pub async fn enable_webhook(&self, id: WebhookId) -> Result<Webhook> {
        let webhook = self.webhook(id).await?;
        let after = Webhook { enabled: true, disabled_reason: None, ..webhook.clone() };
        let change =
            of_webhook("webhook.enable", &webhook).differences(webhook_fields(&webhook), webhook_fields(&after));
        let is_found = self.audited(change, async |store| store.switch_webhook(id, None).await).await?;
        self.found(id, is_found).await
    }

    pub async fn disable_webhook(&self, id: WebhookId, reason: Option<String>) -> Result<Webhook> {
        if reason.as_ref().is_some_and(|reason| reason.chars().count() > REASON_CHARS_MAX) {
            let detail = format!("a reason has at most {REASON_CHARS_MAX} characters");
            return Err(ServiceError::invalid("reason", detail));
        }
        let reason = reason.unwrap_or_else(|| "by an operator".to_owned());
        let webhook = self.webhook(id).await?;
        let after = Webhook { enabled: false, disabled_reason: Some(reason.clone()), ..webhook.clone() };
        let change =
            of_webhook("webhook.disable", &webhook).differences(webhook_fields(&webhook), webhook_fields(&after));
        let is_found = self.audited(change, async |store| store.switch_webhook(id, Some(reason)).await).await?;
        self.found(id, is_found).await
    }

    /// Sends a sample of the format. The inner error is the receiver's.
    pub async fn test_webhook(&self, id: WebhookId) -> Result<std::result::Result<(), String>> {
        let webhook = self.webhook(id).await?;
        let tested = self.pipeline.test_webhook(id).await;
        self.note_change(of_webhook("webhook.test", &webhook).after("is_taken", tested.is_ok())).await;
        Ok(tested)
    }

    pub async fn remove_webhook(&self, id: WebhookId) -> Result<()> {
        // A webhook whose row cannot be read can be removed, too.
        let change = match self.webhook(id).await {
            Ok(webhook) => of_webhook("webhook.remove", &webhook),
            Err(_) => AuditedChange::new("webhook.remove", "webhook", Some(id.to_string())),
        };
        match self.audited(change, async |store| store.remove_webhook(id).await).await? {
            true => Ok(()),
            false => Err(ServiceError::not_found("webhook", id)),
        }
    }

    pub async fn webhook_figures(&self) -> Result<WebhookFigures> {
        let all = self.store.list_webhooks(None, WEBHOOKS_MAX).await?;
        let enabled: Vec<&Webhook> = all.iter().filter(|webhook| webhook.enabled).collect();
        let failing = enabled.iter().filter(|webhook| webhook.progress.failures > 0).count();
        let mut waiting = None;
        for webhook in &enabled {
            let (after, types) = (webhook.progress.last_change_number, webhook.wanted_types());
            let selection = EventSelection { after, source: None, types };
            let page = self.store.events_page(selection, PageBounds::of_rows(1)).await?;
            waiting = waiting.into_iter().chain(page.events.first().map(StreamEvent::at)).min();
        }
        Ok(WebhookFigures {
            working: enabled.len() - failing,
            failing,
            disabled: all.len() - enabled.len(),
            lag: waiting.map_or(Duration::ZERO, |at| self.now().since(at)),
        })
    }

    async fn found(&self, id: WebhookId, is_found: bool) -> Result<Webhook> {
        if is_found { self.webhook(id).await } else { Err(ServiceError::not_found("webhook", id)) }
    }
}

/// The record of a change. The secret is not in it, nor the path of the URL.
fn edit(webhook: &Webhook, change: &WebhookChange) -> AuditedChange {
    let new = Webhook {
        url: change.url.clone().unwrap_or_else(|| webhook.url.clone()),
        label: change.label.clone().unwrap_or_else(|| webhook.label.clone()),
        format: change.format.unwrap_or(webhook.format),
        event_types: change.event_types.clone().unwrap_or_else(|| webhook.event_types.clone()),
        ..webhook.clone()
    };
    let mut record = of_webhook("webhook.edit", webhook).differences(webhook_fields(webhook), webhook_fields(&new));
    if new.url != webhook.url && record.after.get("url").is_none() {
        record.after.put("url", HIDDEN_CHANGE);
    }
    if change.secret.is_some() {
        record.after.put("secret", HIDDEN_CHANGE);
    }
    record
}

fn check_url(url: &str) -> Result<()> {
    let is_web = Url::parse(url).is_ok_and(|url| ["http", "https"].contains(&url.scheme()));
    if !(is_web || is_sink(url)) || url.len() > URL_BYTES_MAX {
        let detail = format!(
            "write a URL that begins with https:, http:, or for sinks with file:, redis:, rediss:, nats:, tls:, amqp: or \
             amqps:, and has at most {URL_BYTES_MAX} bytes"
        );
        return Err(ServiceError::invalid("url", detail));
    }
    Ok(())
}

fn valid_label(label: &str) -> Result<String> {
    match label.trim() {
        label if (1..=LABEL_CHARS_MAX).contains(&label.chars().count()) => Ok(label.to_owned()),
        _ => Err(ServiceError::invalid("label", format!("a label has 1 to {LABEL_CHARS_MAX} characters"))),
    }
}

/// Each type once, in the order of all types.
fn valid_types(format: DeliveryFormat, given: Vec<EventType>) -> Result<Vec<EventType>> {
    let types: Vec<EventType> = EventType::ALL.into_iter().filter(|one| given.contains(one)).collect();
    if format == DeliveryFormat::Classic && !types.is_empty() && types != EventType::POSTS {
        let detail = "the format classic has new and changed posts only; choose the format standard";
        return Err(ServiceError::invalid("events", detail));
    }
    Ok(types)
}

fn names(types: &[EventType]) -> Vec<String> {
    types.iter().map(ToString::to_string).collect()
}

/// The given secret, or a generated one with its text. What signs nothing may have none; Matrix needs the access token of
/// its user, which cannot be generated here.
fn valid_secret(given: Option<String>, format: DeliveryFormat) -> Result<(SecretString, Option<String>)> {
    let Some(given) = given else {
        if format == DeliveryFormat::Matrix {
            let detail = "give the access token of the user of Matrix that sends the messages";
            return Err(ServiceError::invalid("secret", detail));
        }
        let generated = match format {
            _ if format.has_standard_signature() => new_standard_secret(&new_key()),
            _ if format.is_signed() => new_secret(),
            _ => return Ok((String::new().into(), None)),
        };
        return Ok((generated.clone().into(), Some(generated)));
    };
    if given.chars().any(char::is_control) {
        return Err(ServiceError::invalid("secret", "a secret has no control characters"));
    }
    if format.has_standard_signature() {
        let secret = SecretString::from(given);
        if standard_key(&secret).is_none() {
            let detail = "write whsec_ and 24 to 64 bytes in Base64, or omit it to generate one";
            return Err(ServiceError::invalid("secret", detail));
        }
        return Ok((secret, None));
    }
    if !(SECRET_CHARS_MIN..=SECRET_CHARS_MAX).contains(&given.chars().count()) {
        let detail = format!("write {SECRET_CHARS_MIN} to {SECRET_CHARS_MAX} characters, or omit it to generate one");
        return Err(ServiceError::invalid("secret", detail));
    }
    Ok((given.into(), None))
}
