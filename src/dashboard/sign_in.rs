//! Ways into the dashboard and out of it: a one-time link, or a token.

use actix_web::dev::Payload;
use actix_web::http::StatusCode;
use actix_web::http::header::{COOKIE, LOCATION, SET_COOKIE};
use actix_web::{FromRequest, HttpRequest, HttpResponse, web};
use maud::{Markup, html};
use serde::Deserialize;

use super::form::{SignedForm, read};
use super::page::{HtmlPage, PageResult};
use crate::api::{LocalApi, SITE, cookie_name};

pub(super) fn routes(config: &mut web::ServiceConfig) {
    config
        .service(web::resource(format!("{SITE}/enter")).get(enter))
        .service(web::resource(format!("{SITE}/sign-in")).get(form).post(sign_in))
        .service(web::resource(format!("{SITE}/sign-out")).post(sign_out));
}

#[derive(Deserialize)]
struct EnterQuery {
    code: String,
}

async fn enter(local: LocalApi, request: HttpRequest, query: web::Query<EnterQuery>) -> PageResult {
    let secret = local.enter(&query.code)?;
    Ok(with_cookie(&local, &request, Some(&secret), SITE))
}

async fn form(local: LocalApi) -> HttpResponse {
    sign_in_page(&local, StatusCode::OK, None, SITE)
}

async fn sign_in(request: HttpRequest, payload: web::Payload) -> PageResult {
    let local = LocalApi::from_request(&request, &mut Payload::None).await?;
    let fields = read(payload.into_inner()).await?;
    let field = |name: &str| fields.get(name).and_then(|values| values.first()).map(|text| text.trim()).unwrap_or("");
    let next = safe_path(field("next"));
    match local.sign_in(field("token")) {
        Ok(secret) => Ok(with_cookie(&local, &request, Some(&secret), next)),
        Err(problem) => Ok(sign_in_page(&local, StatusCode::UNAUTHORIZED, Some(&problem.view().detail), next)),
    }
}

async fn sign_out(local: LocalApi, request: HttpRequest, _form: SignedForm) -> PageResult {
    local.sign_out(&request);
    Ok(with_cookie(&local, &request, None, &format!("{SITE}/sign-in")))
}

/// Only pages of the dashboard are returned to.
fn safe_path(path: &str) -> &str {
    let is_ours = path == SITE || path.strip_prefix(SITE).is_some_and(|rest| rest.starts_with(['/', '?']));
    let is_plain = !path.chars().any(|c| c.is_control() || c == '\\');
    if is_ours && is_plain { path } else { SITE }
}

fn with_cookie(local: &LocalApi, request: &HttpRequest, secret: Option<&str>, target: &str) -> HttpResponse {
    let (name, secure) = (cookie_name(request.headers()), if local.browser.is_https { "; Secure" } else { "" });
    let (value, age) = secret.map_or(("", "; Max-Age=0"), |secret| (secret, ""));
    let cookie = format!("{name}={value}; Path={SITE}; HttpOnly; SameSite=Strict{secure}{age}");
    HttpResponse::SeeOther().insert_header((LOCATION, target.to_owned())).insert_header((SET_COOKIE, cookie)).finish()
}

/// The page that asks for a token, or says how to get a link.
pub(super) fn sign_in_page(local: &LocalApi, status: StatusCode, trouble: Option<&str>, next: &str) -> HttpResponse {
    HtmlPage::new(local, "", "Sign in").status(status).show(sign_in_content(local, trouble, safe_path(next)))
}

fn sign_in_content(local: &LocalApi, trouble: Option<&str>, next: &str) -> Markup {
    html! {
        div.narrow {
            h1 { "Sign in" }
            @if let Some(trouble) = trouble {
                p.problem role="alert" { (trouble) }
            }
            @if local.browser.takes_tokens {
                form.stacked method="post" action=(format!("{SITE}/sign-in")) {
                    input type="hidden" name="next" value=(next);
                    label for="token" { "Token" }
                    input #token type="password" name="token" autocomplete="off" required autofocus spellcheck="false";
                    button type="submit" { "Sign in" }
                }
                p { "Create a token on the machine of the daemon: " code { "feedwarden token --scope write" }
                    ". A token with the scope " code { "read" } " sees everything but audit records, and changes nothing." }
            }
            p { "On the machine of the daemon, " code { "feedwarden dashboard" } " opens this page without a token." }
        }
    }
}

/// Whether a request brings a cookie at all, so that a page can tell an ended session from none.
pub(super) fn had_session(request: &HttpRequest) -> bool {
    let name = format!("{}=", cookie_name(request.headers()));
    request.headers().get_all(COOKIE).any(|line| line.to_str().is_ok_and(|line| line.contains(&name)))
}
