//! Handlers for webhooks.

use actix_web::http::header::LOCATION;
use actix_web::{HttpResponse, web};
use secrecy::SecretString;
use url::Url;

use super::super::input::{Body, Parameters, cursor, number, page, page_size};
use super::super::problem::Problem;
use super::super::views::{DisableBody, PageQuery, WebhookBody, WebhookChanges, WebhookTest, WebhookView};
use super::super::{Api, BASE};
use super::Answer;
use crate::actors::control::{WEBHOOKS_MAX, new_secret};
use crate::model::{NewWebhook, WebhookChange, WebhookId};

const URL_BYTES_MAX: usize = 4096;
const LABEL_CHARS_MAX: usize = 100;
const REASON_CHARS_MAX: usize = 500;
/// A shorter secret could be guessed from one signed delivery.
const SECRET_CHARS_MIN: usize = 16;
const SECRET_CHARS_MAX: usize = 256;

pub(super) async fn list(api: web::Data<Api>, Parameters(query): Parameters<PageQuery>) -> Answer {
    let (limit, after) = (page_size(query.limit)?, cursor(query.cursor.as_deref())?.map(WebhookId));
    let found = api.handle.store().list_webhooks(after, u32::try_from(limit).unwrap_or(1)).await?;
    Ok(HttpResponse::Ok().json(page(found, limit, |webhook| webhook.id.to_string(), WebhookView::from)))
}

pub(super) async fn one(api: web::Data<Api>, id: web::Path<String>) -> Answer {
    Ok(HttpResponse::Ok().json(found(&api, WebhookId(number(&id, "webhook")?)).await?))
}

pub(super) async fn create(api: web::Data<Api>, Body(body): Body<WebhookBody>) -> Answer {
    check_url(&body.url)?;
    let label = body.label.map(checked_label).transpose()?;
    let (secret, made) = secret(body.secret)?;
    let store = api.handle.store();
    if store.list_webhooks(None, WEBHOOKS_MAX).await?.len() >= WEBHOOKS_MAX as usize {
        return Err(Problem::refused(format!("there are {WEBHOOKS_MAX} webhooks already")));
    }
    let created_at = api.handle.clock().now();
    let id = store.add_webhook(NewWebhook { url: body.url, secret, label, created_at }).await?;
    let view = WebhookView { secret: made, ..found(&api, id).await? };
    Ok(HttpResponse::Created().insert_header((LOCATION, format!("{BASE}/webhooks/{id}"))).json(view))
}

pub(super) async fn update(api: web::Data<Api>, id: web::Path<String>, Body(body): Body<WebhookChanges>) -> Answer {
    let id = WebhookId(number(&id, "webhook")?);
    body.url.as_deref().map(check_url).transpose()?;
    let label = body.label.map(|label| label.map(checked_label).transpose()).transpose()?;
    let (secret, made) = body.secret.map(secret).transpose()?.unzip();
    let change = WebhookChange { url: body.url, label, secret };
    let is_there = api.handle.store().change_webhook(id, change).await?;
    shown(&api, id, is_there, made.flatten()).await
}

pub(super) async fn enable(api: web::Data<Api>, id: web::Path<String>) -> Answer {
    switch(&api, &id, None).await
}

pub(super) async fn disable(api: web::Data<Api>, id: web::Path<String>, Body(body): Body<DisableBody>) -> Answer {
    if body.reason.as_ref().is_some_and(|reason| reason.chars().count() > REASON_CHARS_MAX) {
        return Err(Problem::invalid(format!("a reason has at most {REASON_CHARS_MAX} characters")).at("reason"));
    }
    switch(&api, &id, Some(body.reason.unwrap_or_else(|| "by a person".to_owned()))).await
}

/// Sends a delivery without posts. Its failure is a result, not an error.
pub(super) async fn test(api: web::Data<Api>, id: web::Path<String>) -> Answer {
    let id = found(&api, WebhookId(number(&id, "webhook")?)).await?.id;
    let error = api.handle.test_webhook(id).await.err();
    Ok(HttpResponse::Ok().json(WebhookTest { is_taken: error.is_none(), error }))
}

pub(super) async fn remove(api: web::Data<Api>, id: web::Path<String>) -> Answer {
    let id = WebhookId(number(&id, "webhook")?);
    match api.handle.store().remove_webhook(id).await? {
        true => Ok(HttpResponse::NoContent().finish()),
        false => Err(missing(id)),
    }
}

async fn switch(api: &Api, id: &str, disabled_reason: Option<String>) -> Answer {
    let id = WebhookId(number(id, "webhook")?);
    let is_there = api.handle.store().switch_webhook(id, disabled_reason).await?;
    shown(api, id, is_there, None).await
}

async fn shown(api: &Api, id: WebhookId, is_there: bool, secret: Option<String>) -> Answer {
    if !is_there {
        return Err(missing(id));
    }
    Ok(HttpResponse::Ok().json(WebhookView { secret, ..found(api, id).await? }))
}

async fn found(api: &Api, id: WebhookId) -> Result<WebhookView, Problem> {
    api.handle.store().webhook(id).await?.map(WebhookView::from).ok_or_else(|| missing(id))
}

fn missing(id: WebhookId) -> Problem {
    Problem::not_found(format!("there is no webhook {id}"))
}

fn check_url(url: &str) -> Result<(), Problem> {
    let is_web = Url::parse(url).is_ok_and(|url| ["http", "https"].contains(&url.scheme()));
    if !is_web || url.len() > URL_BYTES_MAX {
        let text = format!("write a URL that begins with https:// or http:// and has at most {URL_BYTES_MAX} bytes");
        return Err(Problem::invalid(text).at("url"));
    }
    Ok(())
}

fn checked_label(label: String) -> Result<String, Problem> {
    match label.trim() {
        label if (1..=LABEL_CHARS_MAX).contains(&label.chars().count()) => Ok(label.to_owned()),
        _ => Err(Problem::invalid(format!("a label has 1 to {LABEL_CHARS_MAX} characters")).at("label")),
    }
}

/// The given secret, or a new one, which is returned only once.
fn secret(given: Option<String>) -> Result<(SecretString, Option<String>), Problem> {
    let Some(given) = given else {
        let made = new_secret();
        return Ok((made.clone().into(), Some(made)));
    };
    if !(SECRET_CHARS_MIN..=SECRET_CHARS_MAX).contains(&given.chars().count()) {
        let text = format!("write {SECRET_CHARS_MIN} to {SECRET_CHARS_MAX} characters, or omit it to generate one");
        return Err(Problem::invalid(text).at("secret"));
    }
    Ok((given.into(), None))
}
