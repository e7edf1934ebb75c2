//! Where the dashboard is attached to the listeners: its pages are below one path, and its errors are pages too.

use actix_web::body::{BoxBody, EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::middleware::Next;
use actix_web::{Error, HttpRequest, HttpResponse, web};

use super::problem::ProblemView;

/// Path of the dashboard; all its pages are below it.
pub const SITE: &str = "/dashboard";

/// The dashboard, as the daemon hands it to the listeners.
#[derive(Clone, Copy)]
pub struct MountedSite {
    pub mount: fn(&mut web::ServiceConfig),
    /// The page that explains why a request was refused or failed.
    pub problem_page: fn(&HttpRequest, &ProblemView) -> HttpResponse,
}

pub(super) fn is_page(path: &str) -> bool {
    path.strip_prefix(SITE).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What a browser needs before it has a session.
pub(super) fn is_public(path: &str) -> bool {
    let rest = path.strip_prefix(SITE).unwrap_or_default();
    ["/sign-in", "/enter"].contains(&rest) || rest.starts_with("/assets/")
}

/// Every session may end itself.
pub(super) fn is_sign_out(path: &str) -> bool {
    path.strip_prefix(SITE) == Some("/sign-out")
}

/// Replaces problem documents by pages.
pub(super) async fn problems_as_pages<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B, BoxBody>>, Error> {
    if !is_page(request.path()) {
        return next.call(request).await.map(ServiceResponse::map_into_left_body);
    }
    let site = request.app_data::<MountedSite>().copied();
    let answer = next.call(request).await?;
    let problem = answer.response().extensions().get::<ProblemView>().cloned();
    let page = site.zip(problem).map(|(site, problem)| (site.problem_page)(answer.request(), &problem));
    Ok(match page {
        Some(page) => answer.into_response(page).map_into_right_body(),
        None => answer.map_into_left_body(),
    })
}
