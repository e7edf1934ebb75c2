//! Endpoints for hosts.

use std::time::Duration;

use actix_web::http::Method;
use actix_web::{HttpResponse, web};

use super::super::Api;
use super::super::endpoint::Endpoint;
use super::super::guard::CallerService;
use super::super::input::{JsonBody, Parameters, page, page_size, rows};
use super::super::problem::Problem;
use super::super::views::{EnabledSources, HoldBody, HostView, Page, PageQuery};
use super::HandlerResult;
use crate::model::HostKey;
use crate::service::{HoldEnd, HostStatus};

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/hosts", "List known hosts", list)
            .query::<PageQuery>()
            .answers::<Page<HostView>>(200, "Page of hosts"),
        Endpoint::new(Method::GET, "/hosts/{host}", "Get a host", one)
            .answers::<HostView>(200, "Host with its current state")
            .refuses(404, "Unknown host"),
        Endpoint::new(Method::POST, "/hosts/{host}/hold", "Hold a host", hold)
            .body::<HoldBody>()
            .answers::<HostView>(200, "Host held"),
        Endpoint::new(Method::POST, "/hosts/{host}/release", "End the hold of a host", release)
            .answers::<HostView>(200, "Host released")
            .refuses(404, "Unknown host"),
        Endpoint::new(
            Method::POST,
            "/hosts/{host}/reset-breaker",
            "Close the circuit breaker of a host",
            reset_breaker,
        )
        .answers::<HostView>(200, "Breaker closed")
        .refuses(404, "Unknown host"),
        Endpoint::new(
            Method::POST,
            "/hosts/{host}/enable-sources",
            "Enable every disabled source of a host",
            enable_sources,
        )
        .answers::<EnabledSources>(200, "Number of sources enabled")
        .refuses(404, "Unknown host"),
    ]
}

async fn list(api: web::Data<Api>, Parameters(query): Parameters<PageQuery>) -> HandlerResult {
    let limit = page_size(query.limit)?;
    let after = query.cursor.as_deref().map(HostKey::from_canonical);
    let found = api.service.hosts(after.as_ref(), rows(limit)).await?;
    Ok(HttpResponse::Ok().json(page(found, limit, |status| status.host.to_string(), HostView::from)))
}

async fn one(api: web::Data<Api>, host: web::Path<String>) -> HandlerResult {
    Ok(answer(api.service.host(&host).await?))
}

async fn hold(
    CallerService(service): CallerService,
    host: web::Path<String>,
    JsonBody(body): JsonBody<HoldBody>,
) -> HandlerResult {
    let end = match (body.until, body.seconds) {
        (Some(until), None) => HoldEnd::At(until),
        (None, Some(seconds)) => HoldEnd::In(Duration::from_secs(seconds)),
        _ => return Err(Problem::invalid("give either `until` or `seconds`").at("until")),
    };
    Ok(answer(service.hold_host(&host, end, &body.reason).await?))
}

async fn release(CallerService(service): CallerService, host: web::Path<String>) -> HandlerResult {
    Ok(answer(service.release_host(&host).await?))
}

async fn reset_breaker(CallerService(service): CallerService, host: web::Path<String>) -> HandlerResult {
    Ok(answer(service.reset_breaker(&host).await?))
}

async fn enable_sources(CallerService(service): CallerService, host: web::Path<String>) -> HandlerResult {
    let enabled = service.enable_sources_of_host(&host).await?;
    Ok(HttpResponse::Ok().json(EnabledSources { enabled }))
}

fn answer(status: HostStatus) -> HttpResponse {
    HttpResponse::Ok().json(HostView::from(status))
}
