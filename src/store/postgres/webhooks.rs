//! Webhooks in PostgreSQL.

use async_trait::async_trait;
use tokio_postgres::types::ToSql;

use crate::model::{
    DeliveryFormat, DeliveryRecord, NewWebhook, RowKey, SecretChange, Webhook, WebhookChange, WebhookId, WebhookTarget,
};

use super::super::cipher::Owner;
use super::super::quarantine::{WEBHOOKS, last_id};
use super::super::rows::{SealedTarget, event_types_text, read_sealed_target, read_webhook, required, storable};
use super::super::shared_sql as sql;
use super::super::{CHANGE_ROUNDS_MAX, Result, WebhookStore, changed_by_others};
use super::PostgresStore;
use super::session::Lease;
use super::values::{execute, number, one, readable};

#[async_trait]
impl WebhookStore for PostgresStore {
    async fn add_webhook(&self, new: NewWebhook) -> Result<WebhookId> {
        let (url, label) = (storable(&new.url), new.label.as_deref().map(storable));
        let sealed = self.cipher.seal(Owner::Webhook(&url), &new.secret)?;
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        let (format, types) = (new.format.name(), event_types_text(&new.event_types));
        let row: [&(dyn ToSql + Sync); 6] = [&url, &sealed, &label, &new.created_at, &format, &types];
        let id = WebhookId(required(one(&transaction, &sql::ADD_WEBHOOK, &row, number).await?)?);
        self.commit(transaction, &id).await?;
        Ok(id)
    }

    async fn list_webhooks(&self, after: Option<WebhookId>, limit: u32) -> Result<Vec<Webhook>> {
        let (mut after, limit) = (after.map_or(0, |id| id.0), i64::from(limit));
        let client = self.client().await?;
        loop {
            let read = readable(&client, &sql::LIST_WEBHOOKS, &[&after, &limit], |row| read_webhook(row)).await?;
            let last = last_id(&read, |webhook| webhook.id.0);
            let webhooks = self.quarantine.sift_webhooks(read);
            match last {
                Some(last) if webhooks.is_empty() && last > after => after = last,
                _ => return Ok(webhooks),
            }
        }
    }

    async fn webhook(&self, id: WebhookId) -> Result<Option<Webhook>> {
        let found = one(&self.client().await?, &sql::WEBHOOK, &[&id.0], |row| read_webhook(row)).await;
        self.quarantine.note_one(WEBHOOKS, RowKey::Id(id.0), &found);
        found
    }

    async fn webhook_target(&self, id: WebhookId) -> Result<Option<WebhookTarget>> {
        let target = sealed_target(&self.client().await?, id).await?;
        target.map(|target| self.cipher.open_target(target)).transpose()
    }

    async fn change_webhook(&self, id: WebhookId, change: WebhookChange) -> Result<bool> {
        let mut client = self.client().await?;
        let new_label = change.label.as_ref().and_then(Option::as_deref).map(storable);
        for _ in 0..CHANGE_ROUNDS_MAX {
            let found = sealed_target(&client, id).await?;
            let Some(SealedTarget { url, sealed: old, .. }) = found else { return Ok(false) };
            let (url, sealed) = self.cipher.reseal_target(&url, &old, &change)?;
            let (has_label, has_types, has_secret) =
                (change.label.is_some(), change.event_types.is_some(), change.secret.is_some());
            let (format, types) =
                (change.format.map(DeliveryFormat::name), change.event_types.as_deref().and_then(event_types_text));
            let rotated_at = change.secret.as_ref().and_then(SecretChange::rotated_at);
            let row: [&(dyn ToSql + Sync); 11] = [
                &id.0,
                &old,
                &url,
                &sealed,
                &has_label,
                &new_label,
                &format,
                &has_types,
                &types,
                &has_secret,
                &rotated_at,
            ];
            let transaction = client.transaction().await?;
            let is_changed = execute(&transaction, &sql::CHANGE_WEBHOOK, &row).await? > 0;
            self.commit(transaction, &is_changed).await?;
            if is_changed {
                return Ok(true);
            }
        }
        Err(changed_by_others())
    }

    async fn record_delivery(&self, id: WebhookId, from: i64, record: DeliveryRecord) -> Result<bool> {
        let DeliveryRecord { progress, delivered_at, disabled_reason } = &record;
        let (error, reason) = (progress.last_error.as_deref().map(storable), disabled_reason.as_deref().map(storable));
        let (last_change, failures) = (progress.last_change_number, i64::from(progress.failures));
        let row: [&(dyn ToSql + Sync); 8] =
            [&id.0, &last_change, &failures, &progress.retry_at, &error, delivered_at, &reason, &from];
        Ok(execute(&self.client().await?, &sql::RECORD_DELIVERY, &row).await? > 0)
    }

    async fn switch_webhook(&self, id: WebhookId, disabled_reason: Option<String>) -> Result<bool> {
        let (enabled, reason) = (disabled_reason.is_none(), disabled_reason.as_deref().map(storable));
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        let is_found = execute(&transaction, &sql::SWITCH_WEBHOOK, &[&id.0, &enabled, &reason]).await? > 0;
        self.commit(transaction, &is_found).await?;
        Ok(is_found)
    }

    async fn remove_webhook(&self, id: WebhookId) -> Result<bool> {
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        let removed = execute(&transaction, &sql::REMOVE_WEBHOOK, &[&id.0]).await? > 0;
        self.commit(transaction, &removed).await?;
        self.quarantine.end(WEBHOOKS, &RowKey::Id(id.0));
        Ok(removed)
    }
}

async fn sealed_target(client: &Lease, id: WebhookId) -> Result<Option<SealedTarget>> {
    one(client, &sql::WEBHOOK_TARGET, &[&id.0], |row| read_sealed_target(row)).await
}
