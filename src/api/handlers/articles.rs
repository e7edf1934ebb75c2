//! Handlers for articles, which downstream programs make from posts.

use actix_web::http::header::LOCATION;
use actix_web::{HttpResponse, web};

use super::super::input::{Body, Parameters, cursor, number, page_size};
use super::super::problem::Problem;
use super::super::views::{ArticleBody, ArticleView, Page, PageQuery};
use super::super::{Api, BASE};
use super::Answer;
use super::podcasts::check_podcast;
use crate::model::{ArticleId, NewArticle, PostId};

/// Maximum number of posts of an article in one request.
const POSTS_MAX: usize = 100;

pub(super) async fn list(api: web::Data<Api>, Parameters(query): Parameters<PageQuery>) -> Answer {
    let limit = page_size(query.limit)?;
    let after = cursor(query.cursor.as_deref())?.map(ArticleId);
    let found = api.handle.store().list_articles(after, u32::try_from(limit).unwrap_or(1)).await?;
    let next_cursor = found.last().filter(|_| found.len() == limit).map(|last| last.id.to_string());
    let items: Vec<_> = found.into_iter().map(ArticleView::from).collect();
    Ok(HttpResponse::Ok().json(Page { items, next_cursor }))
}

pub(super) async fn one(api: web::Data<Api>, id: web::Path<String>) -> Answer {
    let id = ArticleId(number(&id, "article")?);
    Ok(HttpResponse::Ok().json(found(&api, id).await?))
}

pub(super) async fn create(api: web::Data<Api>, Body(body): Body<ArticleBody>) -> Answer {
    let store = api.handle.store();
    if body.post_ids.len() > POSTS_MAX {
        return Err(Problem::invalid(format!("at most {POSTS_MAX} posts at once")).at("post_ids"));
    }
    check_podcast(&api, body.podcast_id).await?;
    for id in &body.post_ids {
        if store.post(PostId(*id)).await?.is_none() {
            return Err(Problem::invalid(format!("there is no post {id}")).at("post_ids"));
        }
    }
    let new = NewArticle {
        podcast_id: body.podcast_id,
        title: body.title,
        body: body.body,
        url: body.url,
        published_at: body.published_at,
        created_at: api.handle.clock().now(),
    };
    let id = store.add_article(new).await?;
    for post in body.post_ids {
        store.link_post(id, PostId(post)).await?;
    }
    let location = (LOCATION, format!("{BASE}/articles/{id}"));
    Ok(HttpResponse::Created().insert_header(location).json(found(&api, id).await?))
}

pub(super) async fn link(api: web::Data<Api>, path: web::Path<(String, String)>) -> Answer {
    let (article, post) = (ArticleId(number(&path.0, "article")?), PostId(number(&path.1, "post")?));
    let store = api.handle.store();
    if store.article(article).await?.is_none() {
        return Err(Problem::not_found(format!("there is no article {article}")));
    }
    if store.post(post).await?.is_none() {
        return Err(Problem::not_found(format!("there is no post {post}")));
    }
    store.link_post(article, post).await?;
    Ok(HttpResponse::NoContent().finish())
}

pub(super) async fn processed(api: web::Data<Api>, id: web::Path<String>) -> Answer {
    let id = ArticleId(number(&id, "article")?);
    match api.handle.store().mark_processed(id).await? {
        true => Ok(HttpResponse::NoContent().finish()),
        false => Err(Problem::not_found(format!("there is no article {id}"))),
    }
}

async fn found(api: &Api, id: ArticleId) -> Result<ArticleView, Problem> {
    let store = api.handle.store();
    let article = store.article(id).await?.ok_or_else(|| Problem::not_found(format!("there is no article {id}")))?;
    let mut view = ArticleView::from(article);
    view.post_ids = Some(store.posts_of_article(id).await?);
    Ok(view)
}
