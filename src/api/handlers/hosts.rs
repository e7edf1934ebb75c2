//! Handlers for hosts.

use std::time::Duration;

use actix_web::{HttpResponse, web};

use super::super::Api;
use super::super::input::{Body, Parameters, page_size};
use super::super::problem::Problem;
use super::super::views::{EnabledSources, HoldBody, Page, PageQuery};
use super::Answer;
use super::actions::check_reason;
use crate::model::HostKey;

pub(super) async fn list(api: web::Data<Api>, Parameters(query): Parameters<PageQuery>) -> Answer {
    let limit = page_size(query.limit)?;
    let after = query.cursor.as_deref().map(HostKey::from_canonical);
    let items = api.handle.hosts_after(after.as_ref(), u32::try_from(limit).unwrap_or(1)).await?;
    let next_cursor = items.last().filter(|_| items.len() == limit).map(|last| last.host.clone());
    Ok(HttpResponse::Ok().json(Page { items, next_cursor }))
}

pub(super) async fn one(api: web::Data<Api>, host: web::Path<String>) -> Answer {
    let key = named(&api, &host)?;
    match api.handle.host_known(&key).await? {
        Some(view) => Ok(HttpResponse::Ok().json(view)),
        None => Err(unknown(&key)),
    }
}

pub(super) async fn hold(api: web::Data<Api>, host: web::Path<String>, Body(body): Body<HoldBody>) -> Answer {
    let key = named(&api, &host)?;
    check_reason(&body.reason)?;
    let (now, longest) = (api.handle.clock().now(), api.handle.hold_max());
    let (until, field) = match (body.until, body.seconds) {
        (Some(until), None) => (until, "until"),
        (None, Some(seconds)) => (now + Duration::from_secs(seconds), "seconds"),
        _ => return Err(Problem::invalid("give either `until` or `seconds`").at("until")),
    };
    if until <= now {
        return Err(Problem::invalid("this time is in the past").at(field));
    }
    if until > now + longest {
        let text = format!(
            "a host is held for {} seconds, until {}, at the longest (source.retry-after-ceiling-days)",
            longest.as_secs(),
            now + longest
        );
        return Err(Problem::invalid(text).at(field));
    }
    Ok(HttpResponse::Ok().json(api.handle.hold_host(&key, until, body.reason.trim()).await?))
}

pub(super) async fn release(api: web::Data<Api>, host: web::Path<String>) -> Answer {
    let key = known(&api, &host).await?;
    Ok(HttpResponse::Ok().json(api.handle.release_host(&key).await?))
}

pub(super) async fn reset_breaker(api: web::Data<Api>, host: web::Path<String>) -> Answer {
    let key = known(&api, &host).await?;
    Ok(HttpResponse::Ok().json(api.handle.reset_breaker(&key).await?))
}

pub(super) async fn enable_sources(api: web::Data<Api>, host: web::Path<String>) -> Answer {
    let key = known(&api, &host).await?;
    Ok(HttpResponse::Ok().json(EnabledSources { enabled: api.handle.enable_host(&key).await? }))
}

/// Rejects unknown hosts, which have no hold, breaker or sources.
async fn known(api: &Api, name: &str) -> Result<HostKey, Problem> {
    let key = named(api, name)?;
    match api.handle.is_host_known(&key).await? {
        true => Ok(key),
        false => Err(unknown(&key)),
    }
}

fn unknown(key: &HostKey) -> Problem {
    Problem::not_found(format!("unknown host: {key}"))
}

fn named(api: &Api, name: &str) -> Result<HostKey, Problem> {
    // Reject names that would be more than a host in a URL.
    let is_plain = !name.contains(['/', '?', '#', '@', '\\']) && name.len() <= 300;
    let key = is_plain.then(|| api.handle.host_named(name)).flatten();
    key.ok_or_else(|| Problem::not_found("not a host name"))
}
