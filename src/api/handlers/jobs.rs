//! Endpoints for actions on many sources.

use actix_web::http::Method;
use actix_web::http::header::LOCATION;
use actix_web::{HttpResponse, web};

use super::super::endpoint::Endpoint;
use super::super::guard::CallerService;
use super::super::input::JsonBody;
use super::super::problem::Problem;
use super::super::views::{JobBody, JobView, SourceQuery};
use super::super::{Api, BASE};
use super::HandlerResult;
use super::sources::filter;
use crate::model::SourceId;
use crate::service::{JobAction, JobSelection};

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/jobs", "List actions on many sources", list)
            .answers::<Vec<JobView>>(200, "Jobs, newest first"),
        Endpoint::new(Method::POST, "/jobs", "Collect sources for an action on all of them", create)
            .body::<JobBody>()
            .answers::<JobView>(201, "Job; it changes nothing before it is started")
            .refuses(409, "Too many jobs are open"),
        Endpoint::new(Method::GET, "/jobs/{id}", "Get a job with its progress", one).answers::<JobView>(200, "Job"),
        Endpoint::new(Method::POST, "/jobs/{id}/start", "Start a job whose sources are collected", start)
            .answers::<JobView>(202, "Job runs")
            .refuses(409, "Job is not ready"),
        Endpoint::new(Method::POST, "/jobs/{id}/cancel", "Stop a job; what is done stays done", cancel)
            .answers::<JobView>(200, "Job is cancelled, or had ended before"),
    ]
}

/// Maximum number of named sources.
const IDS_MAX: usize = 10_000;

async fn list(api: web::Data<Api>) -> HandlerResult {
    Ok(HttpResponse::Ok().json(api.service.jobs().into_iter().map(JobView::from).collect::<Vec<_>>()))
}

async fn create(
    api: web::Data<Api>,
    CallerService(service): CallerService,
    JsonBody(body): JsonBody<JobBody>,
) -> HandlerResult {
    let selection = match (&body.ids, &body.matching) {
        (Some(ids), None) if ids.len() <= IDS_MAX => JobSelection::Ids(ids.iter().copied().map(SourceId).collect()),
        (Some(_), None) => return Err(Problem::invalid(format!("at most {IDS_MAX} at once")).at("ids")),
        (None, Some(query)) => {
            let SourceQuery { url: None, sort: None, cursor: None, limit: None, .. } = query else {
                return Err(Problem::invalid("a filter has no url, sort, cursor or limit").at("matching"));
            };
            JobSelection::Matching(filter(&api, query)?)
        }
        _ => return Err(Problem::invalid("give either ids or matching").at("ids")),
    };
    let job = JobView::from(service.add_job(selection, action(&body)?)?);
    let location = (LOCATION, format!("{BASE}/jobs/{}", job.id));
    Ok(HttpResponse::Created().insert_header(location).json(job))
}

fn action(body: &JobBody) -> Result<JobAction, Problem> {
    let reason = body.reason.clone().filter(|reason| !reason.trim().is_empty());
    let label = body.label.clone().unwrap_or_default().trim().to_owned();
    Ok(match body.action.as_str() {
        "poll" => JobAction::Poll,
        "enable" => JobAction::Enable,
        "disable" => JobAction::Disable { reason },
        "rest" => JobAction::Rest { reason: reason.unwrap_or_default() },
        "wake" => JobAction::Wake,
        "add_label" => JobAction::AddLabel(label),
        "remove_label" => JobAction::RemoveLabel(label),
        "remove" => JobAction::Remove,
        _ => {
            let names = "poll, enable, disable, rest, wake, add_label, remove_label or remove";
            return Err(Problem::invalid(format!("write {names}")).at("action"));
        }
    })
}

async fn one(api: web::Data<Api>, id: web::Path<String>) -> HandlerResult {
    Ok(HttpResponse::Ok().json(JobView::from(api.service.job(number(&id)?)?)))
}

async fn start(CallerService(service): CallerService, id: web::Path<String>) -> HandlerResult {
    Ok(HttpResponse::Accepted().json(JobView::from(service.start_job(number(&id)?)?)))
}

async fn cancel(CallerService(service): CallerService, id: web::Path<String>) -> HandlerResult {
    Ok(HttpResponse::Ok().json(JobView::from(service.cancel_job(number(&id)?)?)))
}

fn number(text: &str) -> Result<u64, Problem> {
    super::super::input::number(text, "job").map(i64::unsigned_abs)
}
