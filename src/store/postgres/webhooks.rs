//! Webhooks in PostgreSQL.

use deadpool_postgres::Client;

use crate::model::{DeliveryRecord, NewWebhook, Webhook, WebhookId};

use super::super::Result;
use super::super::rows::{Columns, read_webhook, required, storable};
use super::super::shared_sql as sql;
use super::values::{all, execute, number, one};

pub(super) async fn add(client: &Client, new: &NewWebhook, sealed: &[u8]) -> Result<WebhookId> {
    let (url, label) = (storable(&new.url), new.label.as_deref().map(storable));
    required(one(client, &sql::ADD_WEBHOOK, &[&url, &sealed, &label, &new.created_at], number).await?).map(WebhookId)
}

pub(super) async fn list(client: &Client, after: Option<WebhookId>, limit: u32) -> Result<Vec<Webhook>> {
    all(client, &sql::LIST_WEBHOOKS, &[&after.map_or(0, |id| id.0), &i64::from(limit)], |row| read_webhook(row)).await
}

pub(super) async fn read(client: &Client, id: WebhookId) -> Result<Option<Webhook>> {
    one(client, &sql::WEBHOOK, &[&id.0], |row| read_webhook(row)).await
}

/// Its URL and its sealed secret.
pub(super) async fn sealed_target(client: &Client, id: WebhookId) -> Result<Option<(String, Vec<u8>)>> {
    one(client, &sql::WEBHOOK_TARGET, &[&id.0], |row| Ok((required(row.text()?)?, row.bytes()?))).await
}

/// Whether the webhook still had the old seal, and has these now.
pub(super) async fn change(
    client: &Client,
    id: WebhookId,
    old: &[u8],
    (url, sealed): (&str, &[u8]),
    label: Option<Option<&str>>,
) -> Result<bool> {
    let new_label = label.flatten().map(storable);
    Ok(execute(client, &sql::CHANGE_WEBHOOK, &[&id.0, &old, &url, &sealed, &label.is_some(), &new_label]).await? > 0)
}

pub(super) async fn record(client: &Client, id: WebhookId, record: &DeliveryRecord) -> Result<()> {
    let DeliveryRecord { progress, delivered_at, disabled_reason } = record;
    let (error, reason) = (progress.last_error.as_deref().map(storable), disabled_reason.as_deref().map(storable));
    let (last_post, failures) = (progress.last_post.0, i64::from(progress.failures));
    execute(
        client,
        &sql::RECORD_DELIVERY,
        &[&id.0, &last_post, &failures, &progress.retry_at, &error, delivered_at, &reason],
    )
    .await
    .map(|_| ())
}

pub(super) async fn switch(client: &Client, id: WebhookId, disabled_reason: Option<&str>) -> Result<bool> {
    Ok(execute(client, &sql::SWITCH_WEBHOOK, &[&id.0, &disabled_reason.is_none(), &disabled_reason.map(storable)])
        .await?
        > 0)
}

pub(super) async fn remove(client: &Client, id: WebhookId) -> Result<bool> {
    Ok(execute(client, &sql::REMOVE_WEBHOOK, &[&id.0]).await? > 0)
}
