//! Handlers for logins and headers of sources. Secrets are never returned.

use actix_web::http::header::ETAG;
use actix_web::{HttpRequest, HttpResponse, web};

use super::super::Api;
use super::super::input::{JsonBody, expected_version, number};
use super::super::views::{AccessBody, AccessView};
use super::HandlerResult;
use crate::model::{SourceAccess, SourceId};

pub(super) async fn one(api: web::Data<Api>, id: web::Path<String>) -> HandlerResult {
    let id = SourceId(number(&id, "source")?);
    Ok(answer(api.service.source_access(id).await?))
}

pub(super) async fn put(
    api: web::Data<Api>,
    request: HttpRequest,
    id: web::Path<String>,
    JsonBody(body): JsonBody<AccessBody>,
) -> HandlerResult {
    let id = SourceId(number(&id, "source")?);
    Ok(answer(api.service.put_source_access(id, expected_version(&request)?, body.into()).await?))
}

pub(super) async fn remove(api: web::Data<Api>, request: HttpRequest, id: web::Path<String>) -> HandlerResult {
    let id = SourceId(number(&id, "source")?);
    let version = api.service.remove_source_access(id, expected_version(&request)?).await?;
    Ok(HttpResponse::NoContent().insert_header((ETAG, format!("\"{version}\""))).finish())
}

fn answer((access, version): (SourceAccess, i64)) -> HttpResponse {
    HttpResponse::Ok().insert_header((ETAG, format!("\"{version}\""))).json(AccessView::from(access))
}
