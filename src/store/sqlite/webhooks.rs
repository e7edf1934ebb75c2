//! Webhooks in SQLite.

use async_trait::async_trait;
use rusqlite::{Connection, params};

use crate::model::{
    DeliveryFormat, DeliveryRecord, NewWebhook, RowKey, SecretChange, Webhook, WebhookChange, WebhookId, WebhookTarget,
};

use super::super::cipher::Owner;
use super::super::quarantine::{WEBHOOKS, last_id};
use super::super::rows::{SealedTarget, event_types_text, read_sealed_target, read_webhook, required, storable};
use super::super::shared_sql as sql;
use super::super::{CHANGE_ROUNDS_MAX, Result, WebhookStore, changed_by_others};
use super::SqliteStore;
use super::values::{execute, number, one, readable};

#[async_trait]
impl WebhookStore for SqliteStore {
    async fn add_webhook(&self, new: NewWebhook) -> Result<WebhookId> {
        let sealed = self.cipher.seal(Owner::Webhook(&storable(&new.url)), &new.secret)?;
        self.change(move |transaction| {
            let (url, label) = (storable(&new.url), new.label.as_deref().map(storable));
            let (format, types) = (new.format.name(), event_types_text(&new.event_types));
            let row = params![url, sealed, label, new.created_at, format, types];
            required(one(transaction, &sql::ADD_WEBHOOK, row, number)?).map(WebhookId)
        })
        .await
    }

    async fn list_webhooks(&self, after: Option<WebhookId>, limit: u32) -> Result<Vec<Webhook>> {
        let mut after = after.map_or(0, |id| id.0);
        loop {
            let reading = move |connection: &mut Connection| {
                readable(connection, &sql::LIST_WEBHOOKS, params![after, limit], |row| read_webhook(row))
            };
            let read = self.readers.run(reading).await?;
            let last = last_id(&read, |webhook| webhook.id.0);
            let webhooks = self.quarantine.sift_webhooks(read);
            match last {
                Some(last) if webhooks.is_empty() && last > after => after = last,
                _ => return Ok(webhooks),
            }
        }
    }

    async fn webhook(&self, id: WebhookId) -> Result<Option<Webhook>> {
        let reading =
            move |connection: &mut Connection| one(connection, &sql::WEBHOOK, [id.0], |row| read_webhook(row));
        let found = self.readers.run(reading).await;
        self.quarantine.note_one(WEBHOOKS, RowKey::Id(id.0), &found);
        found
    }

    async fn webhook_target(&self, id: WebhookId) -> Result<Option<WebhookTarget>> {
        let target = self.readers.run(move |connection| sealed_target(connection, id)).await?;
        target.map(|target| self.cipher.open_target(target)).transpose()
    }

    async fn change_webhook(&self, id: WebhookId, change: WebhookChange) -> Result<bool> {
        for _ in 0..CHANGE_ROUNDS_MAX {
            let found = self.readers.run(move |connection| sealed_target(connection, id)).await?;
            let Some(SealedTarget { url, sealed: old, .. }) = found else { return Ok(false) };
            let (url, sealed) = self.cipher.reseal_target(&url, &old, &change)?;
            let WebhookChange { label, format, event_types, secret, .. } = change.clone();
            let changing = self.change(move |transaction| {
                let new_label = label.as_ref().and_then(Option::as_deref).map(storable);
                let types = event_types.as_deref().and_then(event_types_text);
                let row = params![
                    id.0,
                    old,
                    url,
                    sealed,
                    label.is_some(),
                    new_label,
                    format.map(DeliveryFormat::name),
                    event_types.is_some(),
                    types,
                    secret.is_some(),
                    secret.as_ref().and_then(SecretChange::rotated_at),
                ];
                Ok(execute(transaction, &sql::CHANGE_WEBHOOK, row)? > 0)
            });
            if changing.await? {
                return Ok(true);
            }
        }
        Err(changed_by_others())
    }

    async fn record_delivery(&self, id: WebhookId, from: i64, record: DeliveryRecord) -> Result<bool> {
        let recording = move |connection: &mut Connection| {
            let DeliveryRecord { progress, delivered_at, disabled_reason } = &record;
            let error = progress.last_error.as_deref().map(storable);
            let reason = disabled_reason.as_deref().map(storable);
            let (last_change, failures) = (progress.last_change_number, progress.failures);
            let row = params![id.0, last_change, failures, progress.retry_at, error, delivered_at, reason, from];
            Ok(execute(connection, &sql::RECORD_DELIVERY, row)? > 0)
        };
        self.writer.run(recording).await
    }

    async fn switch_webhook(&self, id: WebhookId, disabled_reason: Option<String>) -> Result<bool> {
        self.change(move |transaction| {
            let row = params![id.0, disabled_reason.is_none(), disabled_reason.as_deref().map(storable)];
            Ok(execute(transaction, &sql::SWITCH_WEBHOOK, row)? > 0)
        })
        .await
    }

    async fn remove_webhook(&self, id: WebhookId) -> Result<bool> {
        let removing = self.change(move |transaction| Ok(execute(transaction, &sql::REMOVE_WEBHOOK, [id.0])? > 0));
        let removed = removing.await?;
        self.quarantine.end(WEBHOOKS, &RowKey::Id(id.0));
        Ok(removed)
    }
}

fn sealed_target(connection: &Connection, id: WebhookId) -> Result<Option<SealedTarget>> {
    one(connection, &sql::WEBHOOK_TARGET, [id.0], |row| read_sealed_target(row))
}
