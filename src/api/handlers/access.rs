//! Endpoints for logins and headers of sources. Secrets are never returned.

use actix_web::http::Method;
use actix_web::http::header::ETAG;
use actix_web::{HttpRequest, HttpResponse, web};

use super::super::Api;
use super::super::endpoint::Endpoint;
use super::super::guard::CallerService;
use super::super::input::{JsonBody, expected_version, number};
use super::super::views::{AccessBody, AccessView};
use super::HandlerResult;
use crate::model::{SourceAccess, SourceId};

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/sources/{id}/access", "Get the names of the login and headers of a source", one)
            .answers::<AccessView>(200, "Names without values")
            .refuses(404, "No such source, or nothing stored for it")
            .refuses(409, "Stored login or headers cannot be decrypted"),
        Endpoint::new(Method::PUT, "/sources/{id}/access", "Replace the login and headers of a source", put)
            .body::<AccessBody>()
            .answers::<AccessView>(200, "Stored; used from the next poll on")
            .refuses(404, "No such source")
            .refuses(409, "database.encryption-key is not set")
            .versioned(),
        Endpoint::new(Method::DELETE, "/sources/{id}/access", "Remove the login and headers of a source", remove)
            .answers_nothing("Login and headers removed")
            .refuses(404, "No such source, or nothing stored for it")
            .versioned(),
    ]
}

async fn one(api: web::Data<Api>, id: web::Path<String>) -> HandlerResult {
    let id = SourceId(number(&id, "source")?);
    Ok(answer(api.service.source_access(id).await?))
}

async fn put(
    CallerService(service): CallerService,
    request: HttpRequest,
    id: web::Path<String>,
    JsonBody(body): JsonBody<AccessBody>,
) -> HandlerResult {
    let id = SourceId(number(&id, "source")?);
    Ok(answer(service.put_source_access(id, expected_version(&request)?, body.into()).await?))
}

async fn remove(CallerService(service): CallerService, request: HttpRequest, id: web::Path<String>) -> HandlerResult {
    let id = SourceId(number(&id, "source")?);
    let version = service.remove_source_access(id, expected_version(&request)?).await?;
    Ok(HttpResponse::NoContent().insert_header((ETAG, format!("\"{version}\""))).finish())
}

fn answer((access, version): (SourceAccess, i64)) -> HttpResponse {
    HttpResponse::Ok().insert_header((ETAG, format!("\"{version}\""))).json(AccessView::from(access))
}
