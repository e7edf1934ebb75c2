//! Handlers for actions on one source.

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};

use super::super::Api;
use super::super::guard::Caller;
use super::super::input::{Body, Parameters, expected_version, number};
use super::super::problem::Problem;
use super::super::views::{DisableBody, PollQuery, RestBody};
use super::Answer;
use super::sources::answer;
use crate::actors::control::{Change, PollAnswer, PollWish};
use crate::model::SourceId;

/// Maximum time to wait for the result of a poll.
const WAIT_SECONDS_MAX: u64 = 50;
const REASON_CHARS_MAX: usize = 500;

pub(super) async fn rest(
    api: web::Data<Api>,
    caller: Caller,
    request: HttpRequest,
    id: web::Path<String>,
    Body(body): Body<RestBody>,
) -> Answer {
    check_reason(&body.reason)?;
    change(&api, caller, &request, &id, Change::Rest(body.reason)).await
}

pub(super) async fn wake(api: web::Data<Api>, caller: Caller, request: HttpRequest, id: web::Path<String>) -> Answer {
    change(&api, caller, &request, &id, Change::Wake).await
}

pub(super) async fn enable(api: web::Data<Api>, caller: Caller, request: HttpRequest, id: web::Path<String>) -> Answer {
    change(&api, caller, &request, &id, Change::Enable).await
}

pub(super) async fn disable(
    api: web::Data<Api>,
    caller: Caller,
    request: HttpRequest,
    id: web::Path<String>,
    Body(body): Body<DisableBody>,
) -> Answer {
    body.reason.as_deref().map(check_reason).transpose()?;
    change(&api, caller, &request, &id, Change::Disable(body.reason)).await
}

pub(super) async fn reset(api: web::Data<Api>, caller: Caller, request: HttpRequest, id: web::Path<String>) -> Answer {
    change(&api, caller, &request, &id, Change::ResetFailures).await
}

pub(super) async fn poll(
    api: web::Data<Api>,
    id: web::Path<String>,
    Parameters(query): Parameters<PollQuery>,
) -> Answer {
    let wait = query.wait.unwrap_or(0);
    if wait > WAIT_SECONDS_MAX {
        return Err(Problem::invalid(format!("write a number from 0 to {WAIT_SECONDS_MAX}")).at("wait"));
    }
    let wish = PollWish { wait: Duration::from_secs(wait), force: query.force.unwrap_or(false) };
    match api.handle.poll_now(SourceId(number(&id, "source")?), wish).await? {
        done @ PollAnswer::Done { .. } => Ok(HttpResponse::Ok().json(done)),
        requested @ PollAnswer::Requested { .. } => Ok(HttpResponse::Accepted().json(requested)),
        PollAnswer::Refused { reason } => Err(Problem::refused(reason)),
    }
}

pub(super) async fn explain(api: web::Data<Api>, id: web::Path<String>) -> Answer {
    let id = SourceId(number(&id, "source")?);
    Ok(HttpResponse::Ok().json(api.handle.explain(id).await?))
}

pub(super) async fn history(api: web::Data<Api>, id: web::Path<String>) -> Answer {
    let id = SourceId(number(&id, "source")?);
    if api.handle.store().source(id).await?.is_none() {
        return Err(Problem::not_found(format!("there is no source {id}")));
    }
    Ok(HttpResponse::Ok().json(api.handle.history(id)))
}

async fn change(api: &Api, caller: Caller, request: &HttpRequest, id: &str, wanted: Change) -> Answer {
    let id = SourceId(number(id, "source")?);
    let expected = expected_version(request)?;
    api.handle.change(id, expected, |_| wanted.clone()).await?;
    answer(api, caller, id).await
}

pub(super) fn check_reason(reason: &str) -> Result<(), Problem> {
    if reason.trim().is_empty() || reason.chars().count() > REASON_CHARS_MAX {
        return Err(Problem::invalid(format!("say why, in 1 to {REASON_CHARS_MAX} characters")).at("reason"));
    }
    Ok(())
}
