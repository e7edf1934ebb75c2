//! Endpoints for posts.

use actix_web::http::Method;
use actix_web::{HttpResponse, web};

use super::super::Api;
use super::super::endpoint::Endpoint;
use super::super::input::{Parameters, cursor, number, page_size, rows};
use super::super::problem::Problem;
use super::super::views::{Page, PostQuery, PostView};
use super::HandlerResult;
use crate::model::{Post, PostId, SourceId, Timestamp};
use crate::service::ServiceError;

/// HTML that is sanitised on the thread of the connection, which serves other connections too.
const HTML_BYTES_AT_ONCE: usize = 64 * 1024;

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/posts", "List posts", list)
            .query::<PostQuery>()
            .answers::<Page<PostView>>(200, "Page of posts")
            .refuses(404, "No such source"),
        Endpoint::new(Method::GET, "/posts/{id}", "Get a post", one)
            .answers::<PostView>(200, "Post")
            .refuses(404, "No such post"),
    ]
}

async fn one(api: web::Data<Api>, id: web::Path<String>) -> HandlerResult {
    let id = PostId(number(&id, "post")?);
    let post = api.service.post(id).await?;
    Ok(HttpResponse::Ok().json(views(&api, vec![post]).await?.pop()))
}

async fn list(api: web::Data<Api>, Parameters(query): Parameters<PostQuery>) -> HandlerResult {
    let limit = page_size(query.limit)?;
    source_there(&api, query.source_id).await?;
    let by_time = query.since.is_some() || query.until.is_some();
    let (posts, next_cursor) = match (query.order.as_deref(), by_time) {
        (None | Some("oldest"), false) => oldest_first(&api, &query, limit).await?,
        (Some("newest"), false) => newest_first(&api, &query, limit).await?,
        (None | Some("oldest"), true) => between(&api, &query, limit).await?,
        (Some("newest"), true) => {
            return Err(Problem::invalid("`newest` cannot be combined with `since` and `until`").at("order"));
        }
        (Some(_), _) => return Err(Problem::invalid("write oldest or newest").at("order")),
    };
    let items = views(&api, posts).await?;
    Ok(HttpResponse::Ok().json(Page { items, next_cursor }))
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

type FoundPosts = (Vec<Post>, Option<String>);

async fn oldest_first(api: &Api, query: &PostQuery, limit: usize) -> Result<FoundPosts, Problem> {
    let after = cursor(query.cursor.as_deref())?.map(PostId);
    let posts = api.service.posts_after(query.source_id.map(SourceId), after, rows(limit)).await?;
    Ok(page(posts, limit))
}

async fn newest_first(api: &Api, query: &PostQuery, limit: usize) -> Result<FoundPosts, Problem> {
    let before = cursor(query.cursor.as_deref())?.map(PostId);
    let posts = api.service.posts_before(query.source_id.map(SourceId), before, rows(limit)).await?;
    Ok(page(posts, limit))
}

fn page(posts: Vec<Post>, limit: usize) -> FoundPosts {
    let next = posts.last().filter(|_| posts.len() == limit).map(|post| post.id.to_string());
    (posts, next)
}

/// Oldest first. The cursor consists of a time and an id.
async fn between(api: &Api, query: &PostQuery, limit: usize) -> Result<FoundPosts, Problem> {
    let (since, until) = (query.since.unwrap_or(Timestamp::MIN), query.until.unwrap_or(Timestamp::MAX));
    let after = query.cursor.as_deref().map(moment_and_number).transpose()?;
    let source = query.source_id.map(SourceId);
    let posts = api.service.posts_between(source, since..until, after, rows(limit)).await?;
    let last = posts.last().filter(|_| posts.len() == limit);
    let next = last.map(|post| format!("{}.{}", post.created_at.as_micros(), post.id));
    Ok((posts, next))
}

fn moment_and_number(cursor: &str) -> Result<(Timestamp, PostId), Problem> {
    let parts = cursor.split_once('.').and_then(|(moment, id)| Some((moment.parse().ok()?, id.parse().ok()?)));
    let (moment, id) =
        parts.ok_or_else(|| Problem::invalid("use next_cursor of the previous page unchanged").at("cursor"))?;
    Ok((Timestamp::from_micros(moment), PostId(id)))
}
