//! Webhooks: whom new posts are sent to.

use actix_web::{HttpResponse, web};
use url::Url;

use super::super::Api;
use super::super::input::{Body, number};
use super::super::problem::Problem;
use super::super::views::{WebhookBody, WebhookView};
use super::Answer;
use crate::actors::control::WEBHOOKS_MAX;
use crate::model::{NewWebhook, WebhookId};

/// A shorter secret could be guessed from one signed delivery.
const SECRET_CHARACTERS_MIN: usize = 16;

pub(super) async fn list(api: web::Data<Api>) -> Answer {
    let found = api.handle.store().list_webhooks(None, WEBHOOKS_MAX).await?;
    Ok(HttpResponse::Ok().json(found.into_iter().map(WebhookView::from).collect::<Vec<_>>()))
}

pub(super) async fn create(api: web::Data<Api>, Body(body): Body<WebhookBody>) -> Answer {
    let url = Url::parse(&body.url).ok().filter(|url| ["http", "https"].contains(&url.scheme()));
    if url.is_none() {
        return Err(Problem::invalid("write a URL that begins with https:// or http://").at("url"));
    }
    if body.secret.chars().count() < SECRET_CHARACTERS_MIN {
        return Err(Problem::invalid(format!("write {SECRET_CHARACTERS_MIN} characters at least")).at("secret"));
    }
    let store = api.handle.store();
    if store.list_webhooks(None, WEBHOOKS_MAX).await?.len() >= WEBHOOKS_MAX as usize {
        return Err(Problem::refused(format!("there are {WEBHOOKS_MAX} webhooks already")));
    }
    let created_at = api.handle.clock().now();
    let new = NewWebhook { url: body.url, secret: body.secret.into(), label: body.label, created_at };
    let id = store.add_webhook(new).await?;
    Ok(HttpResponse::Created().json(found(&api, id).await?))
}

pub(super) async fn enable(api: web::Data<Api>, id: web::Path<String>) -> Answer {
    switch(&api, &id, None).await
}

pub(super) async fn disable(api: web::Data<Api>, id: web::Path<String>) -> Answer {
    switch(&api, &id, Some("by a person".into())).await
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
    match api.handle.store().switch_webhook(id, disabled_reason).await? {
        true => Ok(HttpResponse::Ok().json(found(api, id).await?)),
        false => Err(missing(id)),
    }
}

async fn found(api: &Api, id: WebhookId) -> Result<WebhookView, Problem> {
    let before = Some(WebhookId(id.0 - 1));
    let found = api.handle.store().list_webhooks(before, 1).await?.pop();
    found.filter(|webhook| webhook.id == id).map(WebhookView::from).ok_or_else(|| missing(id))
}

fn missing(id: WebhookId) -> Problem {
    Problem::not_found(format!("there is no webhook {id}"))
}
