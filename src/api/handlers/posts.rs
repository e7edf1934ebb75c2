//! Endpoints for posts.

use actix_web::http::Method;
use actix_web::{HttpResponse, web};

use super::super::Api;
use super::super::endpoint::Endpoint;
use super::super::input::{Parameters, cursor, number, page_size, rows};
use super::super::problem::Problem;
use super::super::views::{Page, PostCount, PostCountQuery, PostQuery, PostRevisionView, PostView};
use super::HandlerResult;
use crate::model::{Post, PostId, SourceId, Timestamp};
use crate::service::{PostFilter, ServiceError};
use crate::store::PostSelection;

/// Maximum length of a text to search for.
const TEXT_CHARS_MAX: usize = 200;
/// HTML that is sanitised on the thread of the connection, which serves other connections too.
const HTML_BYTES_AT_ONCE: usize = 64 * 1024;

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/posts", "List posts", list)
            .query::<PostQuery>()
            .answers::<Page<PostView>>(200, "Page of posts")
            .refuses(404, "No such source"),
        Endpoint::new(Method::GET, "/posts/count", "Count posts", count)
            .query::<PostCountQuery>()
            .answers::<PostCount>(200, "Number of posts")
            .refuses(404, "No such source"),
        Endpoint::new(Method::GET, "/posts/{id}", "Get a post", one)
            .answers::<PostView>(200, "Post")
            .refuses(404, "No such post"),
        Endpoint::new(Method::GET, "/posts/{id}/revisions", "List previous revisions of a post", revisions)
            .answers::<Page<PostRevisionView>>(200, "Previous revisions, newest first, at most about 8 MiB of texts")
            .refuses(404, "No such post"),
    ]
}

async fn one(api: web::Data<Api>, id: web::Path<String>) -> HandlerResult {
    let id = PostId(number(&id, "post")?);
    let post = api.service.post(id).await?;
    Ok(HttpResponse::Ok().json(views(&api, vec![post]).await?.pop()))
}

async fn revisions(api: web::Data<Api>, id: web::Path<String>) -> HandlerResult {
    let id = PostId(number(&id, "post")?);
    let revisions = api.service.post_revisions(id).await?;
    let html_bytes = revisions.iter().filter_map(|revision| revision.html.as_ref()).map(String::len).sum();
    let make = move || revisions.into_iter().map(PostRevisionView::from).collect();
    let items: Vec<PostRevisionView> = sanitised(html_bytes, make).await?;
    Ok(HttpResponse::Ok().json(Page { items, next_cursor: None }))
}

async fn count(api: web::Data<Api>, Parameters(query): Parameters<PostCountQuery>) -> HandlerResult {
    let source = source_there(&api, query.source_id).await?;
    let posts = match (source, query.since) {
        (Some(_), Some(_)) => return Err(Problem::invalid("cannot be combined with `source_id`").at("since")),
        (None, Some(since)) => api.service.count_posts_since(since).await?,
        (source, None) => api.service.count_posts(source).await?,
    };
    Ok(HttpResponse::Ok().json(PostCount { posts }))
}

async fn list(api: web::Data<Api>, Parameters(query): Parameters<PostQuery>) -> HandlerResult {
    let limit = rows(page_size(query.limit)?);
    let source = source_there(&api, query.source_id).await?;
    let newest_first = match query.order.as_deref() {
        None | Some("oldest") => false,
        Some("newest") => true,
        Some(_) => return Err(Problem::invalid("write oldest or newest").at("order")),
    };
    let (by_time, by_match) =
        (query.since.is_some() || query.until.is_some(), query.label.is_some() || query.text.is_some());
    if query.changed_after.is_some() && (newest_first || by_time || by_match) {
        return Err(Problem::invalid("can be combined with `source_id` only").at("changed_after"));
    }
    let number = |text: &Option<String>| cursor(text.as_deref());
    let (selection, next): (_, fn(&Post) -> String) = if let Some(after) = query.changed_after {
        let after = number(&query.cursor)?.unwrap_or(after);
        (PostSelection::Changes { source, after }, |post| post.change_number.to_string())
    } else if by_match || by_time && newest_first {
        return found(&api, query, source, newest_first, limit).await;
    } else if by_time {
        let (since, until) = (query.since.unwrap_or(Timestamp::MIN), query.until.unwrap_or(Timestamp::MAX));
        let after = query.cursor.as_deref().map(moment_and_number).transpose()?;
        let next = |post: &Post| format!("{}.{}", post.created_at.as_micros(), post.id);
        (PostSelection::Between { source, since, until, after }, next)
    } else if newest_first {
        let before = PostId(number(&query.cursor)?.unwrap_or(i64::MAX));
        (PostSelection::Before { source, before }, |post| post.id.to_string())
    } else {
        let after = PostId(number(&query.cursor)?.unwrap_or(0));
        (PostSelection::After { source, after }, |post| post.id.to_string())
    };
    let page = api.service.posts(selection, limit).await?;
    let next_cursor = page.posts.last().filter(|_| page.has_more).map(next);
    Ok(HttpResponse::Ok().json(Page { items: views(&api, page.posts).await?, next_cursor }))
}

/// Posts by label and text.
async fn found(api: &Api, query: PostQuery, source: Option<SourceId>, newest_first: bool, limit: u32) -> HandlerResult {
    if query.text.as_ref().is_some_and(|text| text.is_empty() || text.chars().count() > TEXT_CHARS_MAX) {
        return Err(Problem::invalid(format!("a text has 1 to {TEXT_CHARS_MAX} characters")).at("text"));
    }
    let start = cursor(query.cursor.as_deref())?.map(PostId);
    let filter = PostFilter {
        source,
        label: query.label,
        text: query.text,
        since: query.since,
        until: query.until,
        newest_first,
    };
    let found = api.service.find_posts(filter, start, limit).await?;
    let next_cursor = found.next.map(|id| id.to_string());
    Ok(HttpResponse::Ok().json(Page { items: views(api, found.posts).await?, next_cursor }))
}

/// Posts with their sources. HTML is sanitised, many posts at once on a thread of their own.
pub(super) async fn views(api: &Api, posts: Vec<Post>) -> Result<Vec<PostView>, Problem> {
    let sources = api.service.sources_of(&posts).await?;
    let html_bytes: usize = posts.iter().filter_map(|post| post.content.html.as_ref()).map(String::len).sum();
    let make = move || {
        let view = |post: Post| {
            let source = sources.get(&post.source_id).cloned();
            PostView::new(post, source)
        };
        posts.into_iter().map(view).collect()
    };
    sanitised(html_bytes, make).await
}

/// Makes views that sanitise so much HTML; much of it on a thread of its own.
async fn sanitised<T: Send + 'static>(
    html_bytes: usize,
    make: impl FnOnce() -> Vec<T> + Send + 'static,
) -> Result<Vec<T>, Problem> {
    match html_bytes <= HTML_BYTES_AT_ONCE {
        true => Ok(make()),
        false => web::block(make).await.map_err(Problem::internal),
    }
}

/// The source of the query; an unknown source is an error.
pub(super) async fn source_there(api: &Api, id: Option<i64>) -> Result<Option<SourceId>, Problem> {
    let Some(id) = id.map(SourceId) else { return Ok(None) };
    match api.service.source(id).await {
        Ok(source) => Ok(Some(source.id)),
        Err(missing @ ServiceError::NotFound { .. }) => Err(Problem::from(missing).at("source_id")),
        Err(error) => Err(error.into()),
    }
}

fn moment_and_number(cursor: &str) -> Result<(Timestamp, PostId), Problem> {
    let parts = cursor.split_once('.').and_then(|(moment, id)| Some((moment.parse().ok()?, id.parse().ok()?)));
    let (moment, id) =
        parts.ok_or_else(|| Problem::invalid("use next_cursor of the previous page unchanged").at("cursor"))?;
    Ok((Timestamp::from_micros(moment), PostId(id)))
}
