//! Endpoints for actions on one source.

use std::time::Duration;

use actix_web::http::Method;
use actix_web::{HttpRequest, HttpResponse, web};

use super::super::Api;
use super::super::endpoint::Endpoint;
use super::super::guard::{Caller, CallerService};
use super::super::input::{JsonBody, Parameters, cursor, expected_version, number, page, page_size, rows};
use super::super::problem::Problem;
use super::super::views::{
    BackfillBody, BackfillView, DisableBody, Explanation, Page, PageQuery, PollAnswer, PollQuery, PollRecord, RestBody,
    SourceView,
};
use super::HandlerResult;
use super::sources::answer;
use crate::model::{SourceId, StoredPoll};
use crate::service::PollRequest;

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(
            Method::PATCH,
            "/sources/{id}/feed-disable",
            "Rest a source: do not poll it for a cooldown, or until feed-enable",
            rest,
        )
        .body::<RestBody>()
        .answers::<SourceView>(200, "Source at rest; feed_disabled_until is the end")
        .versioned(),
        Endpoint::new(Method::PATCH, "/sources/{id}/feed-enable", "End the rest of a source", wake)
            .answers::<SourceView>(200, "Source with rest and failure counters cleared")
            .versioned(),
        Endpoint::new(Method::POST, "/sources/{id}/enable", "Enable a source and clear its failure counters", enable)
            .answers::<SourceView>(200, "Source enabled")
            .versioned(),
        Endpoint::new(Method::POST, "/sources/{id}/disable", "Disable a source", disable)
            .body::<DisableBody>()
            .answers::<SourceView>(200, "Source disabled")
            .versioned(),
        Endpoint::new(Method::POST, "/sources/{id}/reset", "Reset the failure counters of a source", reset)
            .answers::<SourceView>(200, "Source with its failure counters reset")
            .versioned(),
        Endpoint::new(
            Method::POST,
            "/sources/{id}/poll",
            "Poll a source now, unless Retry-After or a hold forbids it",
            poll,
        )
        .query::<PollQuery>()
        .answers::<PollAnswer>(200, "Poll finished")
        .answers::<PollAnswer>(202, "Poll scheduled; not_before is null while polling is suspended")
        .refuses(409, "Source is disabled or at rest"),
        Endpoint::new(
            Method::POST,
            "/sources/{id}/backfill",
            "Store the entries of older pages of a feed, page by page at the turns of the host",
            backfill,
        )
        .body::<BackfillBody>()
        .answers::<BackfillView>(200, "Pages read; next_url is the first page that was not")
        .refuses(409, "Source is no feed, or polling is paused"),
        Endpoint::new(Method::GET, "/sources/{id}/explain", "Explain when a source is polled next, and why", explain)
            .answers::<Explanation>(200, "Explanation"),
        Endpoint::new(Method::GET, "/sources/{id}/history", "List the polls of a source", history)
            .query::<PageQuery>()
            .answers::<Page<PollRecord>>(200, "Page of polls, newest first"),
    ]
}

/// Maximum time to wait for the result of a poll.
const WAIT_SECONDS_MAX: u64 = 50;

async fn rest(
    CallerService(service): CallerService,
    caller: Caller,
    request: HttpRequest,
    id: web::Path<String>,
    JsonBody(body): JsonBody<RestBody>,
) -> HandlerResult {
    let (id, version) = target(&request, &id)?;
    Ok(answer(caller, service.rest_source(id, version, &body.reason).await?))
}

async fn wake(
    CallerService(service): CallerService,
    caller: Caller,
    request: HttpRequest,
    id: web::Path<String>,
) -> HandlerResult {
    let (id, version) = target(&request, &id)?;
    Ok(answer(caller, service.wake_source(id, version).await?))
}

async fn enable(
    CallerService(service): CallerService,
    caller: Caller,
    request: HttpRequest,
    id: web::Path<String>,
) -> HandlerResult {
    let (id, version) = target(&request, &id)?;
    Ok(answer(caller, service.enable_source(id, version).await?))
}

async fn disable(
    CallerService(service): CallerService,
    caller: Caller,
    request: HttpRequest,
    id: web::Path<String>,
    JsonBody(body): JsonBody<DisableBody>,
) -> HandlerResult {
    let (id, version) = target(&request, &id)?;
    Ok(answer(caller, service.disable_source(id, version, body.reason).await?))
}

async fn reset(
    CallerService(service): CallerService,
    caller: Caller,
    request: HttpRequest,
    id: web::Path<String>,
) -> HandlerResult {
    let (id, version) = target(&request, &id)?;
    Ok(answer(caller, service.reset_source(id, version).await?))
}

async fn poll(
    CallerService(service): CallerService,
    id: web::Path<String>,
    Parameters(query): Parameters<PollQuery>,
) -> HandlerResult {
    let id = SourceId(number(&id, "source")?);
    let wait = query.wait.unwrap_or(0);
    if wait > WAIT_SECONDS_MAX {
        return Err(Problem::invalid(format!("write a number from 0 to {WAIT_SECONDS_MAX}")).at("wait"));
    }
    let request = PollRequest { wait: Duration::from_secs(wait), force: query.force.unwrap_or(false) };
    match PollAnswer::from(service.poll_source(id, request).await?) {
        done @ PollAnswer::Done { .. } => Ok(HttpResponse::Ok().json(done)),
        requested @ PollAnswer::Requested { .. } => Ok(HttpResponse::Accepted().json(requested)),
        PollAnswer::Refused { reason } => Err(Problem::refused(reason)),
    }
}

async fn backfill(
    CallerService(service): CallerService,
    id: web::Path<String>,
    JsonBody(body): JsonBody<BackfillBody>,
) -> HandlerResult {
    let id = SourceId(number(&id, "source")?);
    Ok(HttpResponse::Ok().json(BackfillView::from(service.backfill_source(id, body.into()).await?)))
}

async fn explain(api: web::Data<Api>, caller: Caller, id: web::Path<String>) -> HandlerResult {
    let id = SourceId(number(&id, "source")?);
    Ok(HttpResponse::Ok().json(Explanation::new(api.service.explain(id).await?, caller.sees_secrets)))
}

async fn history(
    api: web::Data<Api>,
    caller: Caller,
    id: web::Path<String>,
    Parameters(query): Parameters<PageQuery>,
) -> HandlerResult {
    let id = SourceId(number(&id, "source")?);
    let limit = page_size(query.limit)?;
    let found = api.service.history(id, cursor(query.cursor.as_deref())?, rows(limit)).await?;
    let record = |stored: StoredPoll| PollRecord::new(stored.poll, caller.sees_secrets);
    Ok(HttpResponse::Ok().json(page(found, limit, |stored| stored.id.to_string(), record)))
}

/// The source, and the version that it must have.
fn target(request: &HttpRequest, id: &str) -> Result<(SourceId, Option<i64>), Problem> {
    Ok((SourceId(number(id, "source")?), expected_version(request)?))
}
