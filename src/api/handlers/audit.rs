//! The endpoint for audit records.

use actix_web::http::Method;
use actix_web::{HttpResponse, web};

use super::super::Api;
use super::super::endpoint::Endpoint;
use super::super::guard::Caller;
use super::super::input::{Parameters, cursor, page, page_size, rows};
use super::super::problem::Problem;
use super::super::views::{AuditQuery, AuditView, Page};
use super::HandlerResult;
use crate::model::AuditFilter;

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/audit", "List changes by users and programs, newest first", list)
            .query::<AuditQuery>()
            .answers::<Page<AuditView>>(200, "Page of audit records")
            .refuses(403, "Needs the scope write"),
    ]
}

/// Names and addresses of callers are for those who may change things.
async fn list(api: web::Data<Api>, caller: Caller, Parameters(query): Parameters<AuditQuery>) -> HandlerResult {
    if !caller.sees_callers {
        return Err(Problem::forbidden("audit records need a token with the scope write, sent as Bearer"));
    }
    if query.target_id.is_some() && query.target.is_none() {
        return Err(Problem::invalid("an id needs the kind of its thing").at("target"));
    }
    let (limit, before) = (page_size(query.limit)?, cursor(query.cursor.as_deref())?);
    // PostgreSQL does not take NUL characters, and no record has one.
    let text = |text: Option<String>| text.map(|text| text.replace('\0', "\u{fffd}"));
    let filter = AuditFilter {
        action: text(query.action),
        target: text(query.target),
        target_id: text(query.target_id),
        who: text(query.who),
        since: query.since,
    };
    let found = api.service.audit_records(filter, before, rows(limit)).await?;
    Ok(HttpResponse::Ok().json(page(found, limit, |record| record.id.to_string(), AuditView::from)))
}
