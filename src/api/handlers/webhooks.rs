//! Endpoints for webhooks.

use actix_web::http::Method;
use actix_web::http::header::LOCATION;
use actix_web::{HttpResponse, web};

use super::super::endpoint::Endpoint;
use super::super::guard::{Caller, CallerService};
use super::super::input::{JsonBody, Parameters, cursor, number, page, page_size, rows};
use super::super::problem::Problem;
use super::super::views::{
    DisableBody, Page, PageQuery, RotationBody, WebhookBody, WebhookChanges, WebhookTest, WebhookView,
};
use super::super::{Api, BASE};
use super::HandlerResult;
use crate::model::{Webhook, WebhookId};
use crate::service::{NewWebhookRequest, WebhookPatch};
use crate::sinks::is_sink;

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/webhooks", "List webhooks", list)
            .query::<PageQuery>()
            .answers::<Page<WebhookView>>(200, "Page of webhooks"),
        Endpoint::new(Method::POST, "/webhooks", "Add a webhook for events", create)
            .body::<WebhookBody>()
            .answers::<WebhookView>(201, "Webhook added; a generated secret is shown only here")
            .refuses(403, "A sink, not through the admin socket")
            .refuses(409, "Too many webhooks"),
        Endpoint::new(Method::GET, "/webhooks/{id}", "Get a webhook", one)
            .answers::<WebhookView>(200, "Webhook with its current state")
            .refuses(404, "No such webhook"),
        Endpoint::new(Method::PATCH, "/webhooks/{id}", "Change a webhook and retry it", update)
            .body::<WebhookChanges>()
            .answers::<WebhookView>(200, "Webhook after the change; a generated secret is shown only here")
            .refuses(403, "URL of a sink, not through the admin socket")
            .refuses(404, "No such webhook"),
        Endpoint::new(Method::DELETE, "/webhooks/{id}", "Remove a webhook", remove)
            .answers_nothing("Webhook removed")
            .refuses(404, "No such webhook"),
        Endpoint::new(
            Method::POST,
            "/webhooks/{id}/enable",
            "Enable a webhook; deliveries continue where they stopped",
            enable,
        )
        .answers::<WebhookView>(200, "Webhook enabled")
        .refuses(404, "No such webhook"),
        Endpoint::new(Method::POST, "/webhooks/{id}/disable", "Disable a webhook", disable)
            .body::<DisableBody>()
            .answers::<WebhookView>(200, "Webhook disabled")
            .refuses(404, "No such webhook"),
        Endpoint::new(Method::POST, "/webhooks/{id}/rotate", "Begin the rotation of the secret of a webhook", rotate)
            .body::<RotationBody>()
            .answers::<WebhookView>(
                200,
                "Webhook whose deliveries both secrets sign; a generated secret is shown only here",
            )
            .refuses(404, "No such webhook")
            .refuses(409, "Two secrets sign already, or the format has one signature"),
        Endpoint::new(
            Method::POST,
            "/webhooks/{id}/end-rotation",
            "End the rotation of the secret of a webhook",
            end_rotation,
        )
        .answers::<WebhookView>(200, "Webhook whose deliveries the new secret alone signs")
        .refuses(404, "No such webhook")
        .refuses(409, "No rotation to end"),
        Endpoint::new(Method::POST, "/webhooks/{id}/test", "Send a test delivery to a webhook", test)
            .answers::<WebhookTest>(200, "Outcome of the delivery")
            .refuses(404, "No such webhook"),
    ]
}

async fn list(api: web::Data<Api>, caller: Caller, Parameters(query): Parameters<PageQuery>) -> HandlerResult {
    let (limit, after) = (page_size(query.limit)?, cursor(query.cursor.as_deref())?.map(WebhookId));
    let found = api.service.webhooks(after, rows(limit)).await?;
    let view = |webhook| WebhookView::new(webhook, caller.sees_secrets);
    Ok(HttpResponse::Ok().json(page(found, limit, |webhook| webhook.id.to_string(), view)))
}

async fn one(api: web::Data<Api>, caller: Caller, id: web::Path<String>) -> HandlerResult {
    Ok(answer(caller, api.service.webhook(webhook(&id)?).await?))
}

async fn create(
    CallerService(service): CallerService,
    caller: Caller,
    JsonBody(body): JsonBody<WebhookBody>,
) -> HandlerResult {
    only_operator(caller, &body.url)?;
    let request = NewWebhookRequest {
        url: body.url,
        secret: body.secret,
        label: body.label,
        format: body.format,
        event_types: body.events,
    };
    let view = with_secret(caller, service.add_webhook(request).await?);
    let location = (LOCATION, format!("{BASE}/webhooks/{}", view.id));
    Ok(HttpResponse::Created().insert_header(location).json(view))
}

async fn update(
    CallerService(service): CallerService,
    caller: Caller,
    id: web::Path<String>,
    JsonBody(body): JsonBody<WebhookChanges>,
) -> HandlerResult {
    body.url.as_deref().map(|url| only_operator(caller, url)).transpose()?;
    let patch = WebhookPatch {
        url: body.url,
        label: body.label,
        secret: body.secret,
        format: body.format,
        event_types: body.events,
    };
    Ok(HttpResponse::Ok().json(with_secret(caller, service.patch_webhook(webhook(&id)?, patch).await?)))
}

async fn enable(CallerService(service): CallerService, caller: Caller, id: web::Path<String>) -> HandlerResult {
    Ok(answer(caller, service.enable_webhook(webhook(&id)?).await?))
}

async fn disable(
    CallerService(service): CallerService,
    caller: Caller,
    id: web::Path<String>,
    JsonBody(body): JsonBody<DisableBody>,
) -> HandlerResult {
    Ok(answer(caller, service.disable_webhook(webhook(&id)?, body.reason).await?))
}

async fn rotate(
    CallerService(service): CallerService,
    caller: Caller,
    id: web::Path<String>,
    JsonBody(body): JsonBody<RotationBody>,
) -> HandlerResult {
    let rotated = service.rotate_secret(webhook(&id)?, body.secret).await?;
    Ok(HttpResponse::Ok().json(with_secret(caller, rotated)))
}

async fn end_rotation(CallerService(service): CallerService, caller: Caller, id: web::Path<String>) -> HandlerResult {
    Ok(answer(caller, service.end_rotation(webhook(&id)?).await?))
}

/// A delivery that the receiver rejects is a result, not a problem of this API.
async fn test(CallerService(service): CallerService, id: web::Path<String>) -> HandlerResult {
    let error = service.test_webhook(webhook(&id)?).await?.err();
    Ok(HttpResponse::Ok().json(WebhookTest { is_taken: error.is_none(), error }))
}

async fn remove(CallerService(service): CallerService, id: web::Path<String>) -> HandlerResult {
    service.remove_webhook(webhook(&id)?).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Sinks lead to files and to brokers on private networks, which holders of tokens may not reach.
fn only_operator(caller: Caller, url: &str) -> Result<(), Problem> {
    if is_sink(url) && !caller.is_operator {
        return Err(Problem::forbidden("sinks are added and moved through the admin socket only"));
    }
    Ok(())
}

fn answer(caller: Caller, webhook: Webhook) -> HttpResponse {
    HttpResponse::Ok().json(WebhookView::new(webhook, caller.sees_secrets))
}

/// A generated secret is shown once.
fn with_secret(caller: Caller, (webhook, secret): (Webhook, Option<String>)) -> WebhookView {
    WebhookView { secret, ..WebhookView::new(webhook, caller.sees_secrets) }
}

fn webhook(id: &str) -> Result<WebhookId, Problem> {
    number(id, "webhook").map(WebhookId)
}
