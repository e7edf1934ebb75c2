//! Webhooks: where new posts are sent to.

use std::time::Duration;

use secrecy::SecretString;
use url::Url;

use super::audit::{HIDDEN_CHANGE, of_webhook, webhook_fields};
use super::{Result, Service, ServiceError};
use crate::actors::WEBHOOKS_MAX;
use crate::dice::new_secret;
use crate::model::{AuditedChange, NewWebhook, Webhook, WebhookChange, WebhookId};
use crate::rules::shown_url::shown_webhook_url;

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
    /// Only posts of sources with this label.
    pub label: Option<String>,
}

/// Changes to a webhook. An absent field stays as it is.
#[derive(Clone, Debug, Default)]
pub struct WebhookPatch {
    pub url: Option<String>,
    /// `Some(None)` removes the label.
    pub label: Option<Option<String>>,
    /// `Some(None)` generates a new secret.
    pub secret: Option<Option<String>>,
}

/// The state of all webhooks, counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct WebhookFigures {
    pub working: usize,
    pub failing: usize,
    pub disabled: usize,
    /// Age of the oldest post that an enabled webhook has not passed.
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
        let (secret, generated) = valid_secret(request.secret)?;
        if self.store.list_webhooks(None, WEBHOOKS_MAX).await?.len() >= WEBHOOKS_MAX as usize {
            return Err(ServiceError::Refused(format!("there are {WEBHOOKS_MAX} webhooks already")));
        }
        let new = NewWebhook { url: request.url, secret, label, created_at: self.now() };
        let change = AuditedChange::new("webhook.add", "webhook", None)
            .named(&shown_webhook_url(&new.url))
            .after("label", new.label.as_deref());
        let id = self.audited(change, async |store| store.add_webhook(new).await).await?;
        Ok((self.webhook(id).await?, generated))
    }

    /// Changes a webhook. Returns its secret too if a new one was generated.
    pub async fn patch_webhook(&self, id: WebhookId, patch: WebhookPatch) -> Result<(Webhook, Option<String>)> {
        patch.url.as_deref().map(check_url).transpose()?;
        let label = patch.label.map(|label| label.as_deref().map(valid_label).transpose()).transpose()?;
        let (secret, generated) = patch.secret.map(valid_secret).transpose()?.unzip();
        let change = WebhookChange { url: patch.url, label, secret };
        let record = edit(&self.webhook(id).await?, &change);
        let is_found = self.audited(record, async |store| store.change_webhook(id, change).await).await?;
        Ok((self.found(id, is_found).await?, generated.flatten()))
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

    /// Sends a delivery without posts. The inner error is the receiver's.
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
        let waiting = match enabled.iter().map(|webhook| webhook.progress.last_change_number).min() {
            Some(reached) => self.store.list_changes(reached, 1).await?.pop(),
            None => None,
        };
        Ok(WebhookFigures {
            working: enabled.len() - failing,
            failing,
            disabled: all.len() - enabled.len(),
            lag: waiting.map_or(Duration::ZERO, |post| self.now().since(post.changed_at.unwrap_or(post.created_at))),
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
    if !is_web || url.len() > URL_BYTES_MAX {
        let detail = format!("write a URL that begins with https:// or http:// and has at most {URL_BYTES_MAX} bytes");
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

/// The given secret, or a generated one with its text.
fn valid_secret(given: Option<String>) -> Result<(SecretString, Option<String>)> {
    let Some(given) = given else {
        let generated = new_secret();
        return Ok((generated.clone().into(), Some(generated)));
    };
    if !(SECRET_CHARS_MIN..=SECRET_CHARS_MAX).contains(&given.chars().count()) {
        let detail = format!("write {SECRET_CHARS_MIN} to {SECRET_CHARS_MAX} characters, or omit it to generate one");
        return Err(ServiceError::invalid("secret", detail));
    }
    Ok((given.into(), None))
}
