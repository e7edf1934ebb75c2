//! Handlers for hosts.

use std::time::Duration;

use actix_web::{HttpResponse, web};

use super::super::Api;
use super::super::input::{JsonBody, Parameters, page, page_size, rows};
use super::super::problem::Problem;
use super::super::views::{EnabledSources, HoldBody, HostView, PageQuery};
use super::HandlerResult;
use crate::model::HostKey;
use crate::service::{HoldEnd, HostStatus};

pub(super) async fn list(api: web::Data<Api>, Parameters(query): Parameters<PageQuery>) -> HandlerResult {
    let limit = page_size(query.limit)?;
    let after = query.cursor.as_deref().map(HostKey::from_canonical);
    let found = api.service.hosts(after.as_ref(), rows(limit)).await?;
    Ok(HttpResponse::Ok().json(page(found, limit, |status| status.host.to_string(), HostView::from)))
}

pub(super) async fn one(api: web::Data<Api>, host: web::Path<String>) -> HandlerResult {
    Ok(answer(api.service.host(&host).await?))
}

pub(super) async fn hold(
    api: web::Data<Api>,
    host: web::Path<String>,
    JsonBody(body): JsonBody<HoldBody>,
) -> HandlerResult {
    let end = match (body.until, body.seconds) {
        (Some(until), None) => HoldEnd::At(until),
        (None, Some(seconds)) => HoldEnd::In(Duration::from_secs(seconds)),
        _ => return Err(Problem::invalid("give either `until` or `seconds`").at("until")),
    };
    Ok(answer(api.service.hold_host(&host, end, &body.reason).await?))
}

pub(super) async fn release(api: web::Data<Api>, host: web::Path<String>) -> HandlerResult {
    Ok(answer(api.service.release_host(&host).await?))
}

pub(super) async fn reset_breaker(api: web::Data<Api>, host: web::Path<String>) -> HandlerResult {
    Ok(answer(api.service.reset_breaker(&host).await?))
}

pub(super) async fn enable_sources(api: web::Data<Api>, host: web::Path<String>) -> HandlerResult {
    let enabled = api.service.enable_sources_of_host(&host).await?;
    Ok(HttpResponse::Ok().json(EnabledSources { enabled }))
}

fn answer(status: HostStatus) -> HttpResponse {
    HttpResponse::Ok().json(HostView::from(status))
}
