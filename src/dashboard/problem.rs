//! Errors as pages: what happened, why, and what to do.

use actix_web::http::StatusCode;
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use maud::html;

use super::page::HtmlPage;
use super::sign_in::{had_session, sign_in_page};
use crate::api::{LocalApi, ProblemView, SITE};

/// The page of a problem; a request without a session gets the page to sign in.
pub(super) fn problem_page(request: &HttpRequest, problem: &ProblemView) -> HttpResponse {
    let Ok(local) = LocalApi::from_request(request, &mut actix_web::dev::Payload::None).into_inner() else {
        return HttpResponse::InternalServerError().finish();
    };
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if status == StatusCode::UNAUTHORIZED {
        let path = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
        let is_entering = request.path().ends_with("/enter");
        let trouble = match had_session(request) || is_entering {
            true if is_entering => Some(problem.detail.clone()),
            true => Some(format!("Your session has ended: {}.", problem.detail)),
            false => None,
        };
        return sign_in_page(&local, status, trouble.as_deref(), if is_entering { SITE } else { &path });
    }
    HtmlPage::new(&local, "", problem.title.clone()).status(status).show(html! {
        div.narrow {
            h1 { (problem.title) }
            p.problem role="alert" { (sentence(&problem.detail)) }
            @if let Some(field) = &problem.field {
                p { "Field: " code { (field) } }
            }
            p { (advice(problem)) }
            p { a href=(SITE) { "Overview" } }
        }
    })
}

fn advice(problem: &ProblemView) -> &'static str {
    match problem.status {
        400 | 413 | 415 | 422 => "Nothing was changed. Go back, correct the input and send it again.",
        403 => "Nothing was changed.",
        404 => "It may have been removed meanwhile, or the address is wrong.",
        409 | 412 => "Nothing was changed. Go back and look at the current state first.",
        421 => "Use an address or a name that the daemon knows.",
        429 => "Wait a moment, then reload the page.",
        503 => "Try again in a moment. If it stays, look at the overview and at the log of the daemon.",
        _ => "The log of the daemon has the details.",
    }
}

/// A text that begins with a capital letter and ends with a full stop.
pub(super) fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let Some(first) = characters.next() else { return String::new() };
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    first.to_uppercase().chain(characters).collect::<String>() + end
}
