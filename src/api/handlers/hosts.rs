//! Endpoints for hosts.

use std::time::Duration;

use actix_web::http::Method;
use actix_web::{HttpResponse, web};

use super::super::Api;
use super::super::endpoint::Endpoint;
use super::super::guard::CallerService;
use super::super::input::{JsonBody, Parameters, page, page_size, rows};
use super::super::problem::Problem;
use super::super::views::{
    EnabledSources, HoldBody, HostRequestView, HostRequestsQuery, HostView, HostsQuery, Page, RobotsView,
};
use super::HandlerResult;
use crate::model::HostKey;
use crate::service::{HOST_REQUESTS_MAX, HoldEnd, HostCondition, HostStatus};

/// Requests that a list has unless the caller asks for another number.
const REQUESTS_DEFAULT: usize = 50;

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/hosts", "List known hosts", list)
            .query::<HostsQuery>()
            .answers::<Page<HostView>>(200, "Page of hosts"),
        Endpoint::new(Method::GET, "/hosts/{host}", "Get a host", one)
            .answers::<HostView>(200, "Host with its current state")
            .refuses(404, "Unknown host"),
        Endpoint::new(
            Method::GET,
            "/hosts/{host}/requests",
            "List the last requests to a host, newest first",
            requests,
        )
        .query::<HostRequestsQuery>()
        .answers::<Page<HostRequestView>>(200, "Requests, without further pages")
        .refuses(404, "Unknown host"),
        Endpoint::new(Method::GET, "/hosts/{host}/robots", "List the stored robots.txt files of a host", robots)
            .answers::<Page<RobotsView>>(200, "Files by origin, without further pages")
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

async fn list(api: web::Data<Api>, Parameters(query): Parameters<HostsQuery>) -> HandlerResult {
    let limit = page_size(query.limit)?;
    if let Some(state) = &query.state {
        let condition = [HostCondition::Held, HostCondition::BreakerOpen].into_iter().find(|one| one.name() == state);
        let wrong = || Problem::invalid("write `held` or `breaker_open`").at("state");
        let found = api.service.troubled_hosts_in(Some(condition.ok_or_else(wrong)?), limit);
        let items = found.into_iter().map(HostView::from).collect();
        return Ok(HttpResponse::Ok().json(Page { items, next_cursor: None }));
    }
    let after = query.cursor.as_deref().map(HostKey::from_canonical);
    let found = api.service.hosts(after.as_ref(), rows(limit)).await?;
    Ok(HttpResponse::Ok().json(page(found, limit, |status| status.host.to_string(), HostView::from)))
}

async fn one(api: web::Data<Api>, host: web::Path<String>) -> HandlerResult {
    let status = api.service.host(&host).await?;
    let queue = api.service.host_queue(&host).await?.map(Into::into);
    Ok(HttpResponse::Ok().json(HostView { queue, ..HostView::from(status) }))
}

async fn requests(
    api: web::Data<Api>,
    host: web::Path<String>,
    Parameters(query): Parameters<HostRequestsQuery>,
) -> HandlerResult {
    let limit = query.limit.unwrap_or(REQUESTS_DEFAULT);
    if !(1..=HOST_REQUESTS_MAX).contains(&limit) {
        return Err(Problem::invalid(format!("write a number from 1 to {HOST_REQUESTS_MAX}")).at("limit"));
    }
    let found = api.service.host_requests(&host, limit).await?;
    let items = found.into_iter().map(HostRequestView::from).collect();
    Ok(HttpResponse::Ok().json(Page { items, next_cursor: None }))
}

async fn robots(api: web::Data<Api>, host: web::Path<String>) -> HandlerResult {
    let items: Vec<RobotsView> = api.service.host_robots(&host).await?.into_iter().map(RobotsView::from).collect();
    Ok(HttpResponse::Ok().json(Page { items, next_cursor: None }))
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
