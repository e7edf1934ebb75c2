//! Feeds of new posts, of all sources or by label.

use std::time::{Duration, SystemTime};

use actix_web::http::Method;
use actix_web::http::header::{
    CACHE_CONTROL, ETAG, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
};
use actix_web::{HttpRequest, HttpResponse, web};
use sha2::{Digest, Sha256};

use super::super::endpoint::Endpoint;
use super::super::problem::Problem;
use super::super::{Api, feeds};
use super::HandlerResult;
use crate::model::{Post, PostId, Timestamp};
use crate::store::PostSelection;

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, PATH, "Get the newest posts of a label, or of `all`, as a feed", feed)
            .at_root()
            .answers_text("application/atom+xml", "Feed of the newest posts")
            .answers_object("application/feed+json", "Feed of the newest posts")
            .conditional()
            .refuses(404, "No source has this label"),
    ]
}

pub(super) const PATH: &str = "/feeds/{name:.+}.{format:atom|json}";
/// Name of the feed of all sources; a label of this name has no feed.
const ALL: &str = "all";
/// Number of posts in a feed.
const POSTS_MAX: u32 = 50;

async fn feed(api: web::Data<Api>, request: HttpRequest, path: web::Path<(String, String)>) -> HandlerResult {
    let (name, format) = path.into_inner();
    let posts = posts(&api, &name).await?;
    let modified = feeds::updated(&posts).map(system_time);
    // HTML takes time to sanitise, and the thread serves other connections too.
    let make = move || match format.as_str() {
        "atom" => (feeds::atom(&name, &posts), "application/atom+xml; charset=utf-8"),
        _ => (feeds::json_feed(&name, &posts), "application/feed+json"),
    };
    let (body, media_type) = web::block(make).await.map_err(Problem::internal)?;
    let hash: String = Sha256::digest(body.as_bytes())[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    let etag = format!("\"{hash}\"");
    let is_known = is_known(&request, &etag, modified);
    let mut answer = if is_known { HttpResponse::NotModified() } else { HttpResponse::Ok() };
    answer.insert_header((CACHE_CONTROL, "private, no-cache")).insert_header((ETAG, etag.as_str()));
    if let Some(modified) = modified {
        answer.insert_header((LAST_MODIFIED, httpdate::fmt_http_date(modified)));
    }
    if is_known {
        return Ok(answer.finish());
    }
    Ok(answer.content_type(media_type).body(body))
}

async fn posts(api: &Api, name: &str) -> Result<Vec<Post>, Problem> {
    if name == ALL {
        let newest = PostSelection::Before { source: None, before: PostId(i64::MAX) };
        return Ok(api.service.posts(newest, POSTS_MAX).await?.posts);
    }
    Ok(api.service.newest_posts_with_label(name, POSTS_MAX).await?)
}

/// Whether the client has the current version. `If-None-Match` takes precedence over dates (RFC 9110, 13.2.2).
fn is_known(request: &HttpRequest, etag: &str, modified: Option<SystemTime>) -> bool {
    let header = |name: HeaderName| request.headers().get(name).map(HeaderValue::to_str);
    if let Some(named) = header(IF_NONE_MATCH) {
        let named = named.unwrap_or_default();
        return named.split(',').map(str::trim).any(|one| one == "*" || one.trim_start_matches("W/") == etag);
    }
    let since = header(IF_MODIFIED_SINCE).and_then(|value| httpdate::parse_http_date(value.ok()?).ok());
    since.zip(modified).is_some_and(|(since, modified)| modified <= since)
}

/// Rounds up to whole seconds, so that posts stored later in the same second are not missed.
fn system_time(moment: Timestamp) -> SystemTime {
    let seconds = moment.since(Timestamp::EPOCH).as_micros().div_ceil(1_000_000);
    SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}
