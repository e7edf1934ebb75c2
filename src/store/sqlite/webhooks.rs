//! Webhooks in SQLite.

use rusqlite::{Connection, params};

use crate::model::{DeliveryRecord, NewWebhook, Webhook, WebhookId};

use super::super::Result;
use super::super::rows::{Columns, read_webhook, required, storable};
use super::super::shared_sql as sql;
use super::values::{all, execute, number, one};

pub(super) fn add(connection: &Connection, new: &NewWebhook, sealed: &[u8]) -> Result<WebhookId> {
    let (url, label) = (storable(&new.url), new.label.as_deref().map(storable));
    required(one(connection, &sql::ADD_WEBHOOK, params![url, sealed, label, new.created_at], number)?).map(WebhookId)
}

pub(super) fn list(connection: &Connection, after: Option<WebhookId>, limit: u32) -> Result<Vec<Webhook>> {
    all(connection, &sql::LIST_WEBHOOKS, params![after.map_or(0, |id| id.0), limit], |row| read_webhook(row))
}

pub(super) fn read(connection: &Connection, id: WebhookId) -> Result<Option<Webhook>> {
    one(connection, &sql::WEBHOOK, [id.0], |row| read_webhook(row))
}

/// Its URL and its sealed secret.
pub(super) fn sealed_target(connection: &Connection, id: WebhookId) -> Result<Option<(String, Vec<u8>)>> {
    one(connection, &sql::WEBHOOK_TARGET, [id.0], |row| Ok((required(row.text()?)?, row.bytes()?)))
}

/// Whether the webhook still had the old seal, and has these now.
pub(super) fn change(
    connection: &Connection,
    id: WebhookId,
    old: &[u8],
    (url, sealed): (&str, &[u8]),
    label: Option<Option<&str>>,
) -> Result<bool> {
    let new_label = label.flatten().map(storable);
    Ok(execute(connection, &sql::CHANGE_WEBHOOK, params![id.0, old, url, sealed, label.is_some(), new_label])? > 0)
}

pub(super) fn record(connection: &Connection, id: WebhookId, record: &DeliveryRecord) -> Result<()> {
    let DeliveryRecord { progress, delivered_at, disabled_reason } = record;
    let (error, reason) = (progress.last_error.as_deref().map(storable), disabled_reason.as_deref().map(storable));
    let row = params![id.0, progress.last_post.0, progress.failures, progress.retry_at, error, delivered_at, reason];
    execute(connection, &sql::RECORD_DELIVERY, row).map(|_| ())
}

pub(super) fn switch(connection: &Connection, id: WebhookId, disabled_reason: Option<&str>) -> Result<bool> {
    Ok(execute(
        connection,
        &sql::SWITCH_WEBHOOK,
        params![id.0, disabled_reason.is_none(), disabled_reason.map(storable)],
    )? > 0)
}

pub(super) fn remove(connection: &Connection, id: WebhookId) -> Result<bool> {
    Ok(execute(connection, &sql::REMOVE_WEBHOOK, [id.0])? > 0)
}
