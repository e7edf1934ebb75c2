//! Handlers for logins and headers of sources. Secrets are never returned.

use actix_web::http::header::ETAG;
use actix_web::{HttpRequest, HttpResponse, web};

use super::super::Api;
use super::super::input::{Body, expected_version, number};
use super::super::problem::Problem;
use super::super::views::{AccessBody, AccessView};
use super::Answer;
use crate::actors::control::check_access;
use crate::model::{Source, SourceAccess, SourceId, SourceType};

pub(super) async fn one(api: web::Data<Api>, id: web::Path<String>) -> Answer {
    let source = found(&api, &id).await?;
    let access = api.handle.store().source_access(source.id).await?.ok_or_else(|| none(source.id))?;
    Ok(HttpResponse::Ok().insert_header((ETAG, format!("\"{}\"", source.version))).json(AccessView::from(access)))
}

pub(super) async fn put(
    api: web::Data<Api>,
    request: HttpRequest,
    id: web::Path<String>,
    Body(body): Body<AccessBody>,
) -> Answer {
    let source = found(&api, &id).await?;
    let access = checked(body, source.settings.source_type, "")?;
    let version = api.handle.save_access(source.id, Some(access), expected_version(&request)?).await?;
    let access = api.handle.store().source_access(source.id).await?.ok_or_else(|| none(source.id))?;
    Ok(HttpResponse::Ok().insert_header((ETAG, format!("\"{version}\""))).json(AccessView::from(access)))
}

pub(super) async fn remove(api: web::Data<Api>, request: HttpRequest, id: web::Path<String>) -> Answer {
    let source = found(&api, &id).await?;
    // Does not decrypt the data, so that undecryptable data can be removed.
    if api.handle.store().sources_with_access(vec![source.id]).await?.is_empty() {
        return Err(none(source.id));
    }
    let version = api.handle.save_access(source.id, None, expected_version(&request)?).await?;
    Ok(HttpResponse::NoContent().insert_header((ETAG, format!("\"{version}\""))).finish())
}

/// Validates the body. `within` is the prefix of its field names.
pub(super) fn checked(body: AccessBody, source_type: SourceType, within: &str) -> Result<SourceAccess, Problem> {
    if source_type == SourceType::Twitter {
        let problem = Problem::invalid("an X account uses only the X key of its podcast's owner");
        return Err(problem.at(format!("{within}login")));
    }
    let access = SourceAccess::from(body);
    check_access(&access).map_err(|wrong| Problem::invalid(&wrong).at(format!("{within}{}", wrong.field)))?;
    Ok(access)
}

async fn found(api: &Api, id: &str) -> Result<Source, Problem> {
    let id = SourceId(number(id, "source")?);
    let missing = || Problem::not_found(format!("there is no source {id}"));
    api.handle.store().source(id).await?.ok_or_else(missing)
}

fn none(id: SourceId) -> Problem {
    Problem::not_found(format!("source {id} has neither a login nor headers"))
}
