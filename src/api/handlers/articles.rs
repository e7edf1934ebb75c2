//! Endpoints for articles, which downstream programs make from posts.

use actix_web::http::Method;
use actix_web::http::header::LOCATION;
use actix_web::{HttpResponse, web};

use super::super::endpoint::Endpoint;
use super::super::guard::CallerService;
use super::super::input::{JsonBody, Parameters, cursor, number, page, page_size, rows};
use super::super::views::{ArticleBody, ArticleView, Page, PageQuery};
use super::super::{Api, BASE};
use super::HandlerResult;
use crate::model::{Article, ArticleId, NewArticle, PostId};

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/articles", "List articles", list)
            .query::<PageQuery>()
            .answers::<Page<ArticleView>>(200, "Page of articles"),
        Endpoint::new(Method::POST, "/articles", "Add an article made of posts", create)
            .body::<ArticleBody>()
            .answers::<ArticleView>(201, "Article added"),
        Endpoint::new(Method::GET, "/articles/{id}", "Get an article with its posts", one)
            .answers::<ArticleView>(200, "Article")
            .refuses(404, "No such article"),
        Endpoint::new(Method::PUT, "/articles/{id}/posts/{post_id}", "Link a post to an article", link)
            .answers_nothing("Post linked"),
        Endpoint::new(Method::POST, "/articles/{id}/processed", "Mark an article as processed", processed)
            .answers_nothing("Article processed"),
    ]
}

async fn list(api: web::Data<Api>, Parameters(query): Parameters<PageQuery>) -> HandlerResult {
    let (limit, after) = (page_size(query.limit)?, cursor(query.cursor.as_deref())?.map(ArticleId));
    let found = api.service.articles(after, rows(limit)).await?;
    Ok(HttpResponse::Ok().json(page(found, limit, |article| article.id.to_string(), ArticleView::from)))
}

async fn one(api: web::Data<Api>, id: web::Path<String>) -> HandlerResult {
    let id = ArticleId(number(&id, "article")?);
    Ok(HttpResponse::Ok().json(view(api.service.article(id).await?)))
}

async fn create(CallerService(service): CallerService, JsonBody(body): JsonBody<ArticleBody>) -> HandlerResult {
    let posts: Vec<PostId> = body.post_ids.into_iter().map(PostId).collect();
    let new = NewArticle {
        podcast_id: body.podcast_id,
        title: body.title,
        body: body.body,
        url: body.url,
        published_at: body.published_at,
        created_at: service.now(),
    };
    let article = view(service.add_article(new, &posts).await?);
    let location = (LOCATION, format!("{BASE}/articles/{}", article.id));
    Ok(HttpResponse::Created().insert_header(location).json(article))
}

async fn link(CallerService(service): CallerService, path: web::Path<(String, String)>) -> HandlerResult {
    let (article, post) = (ArticleId(number(&path.0, "article")?), PostId(number(&path.1, "post")?));
    service.link_post(article, post).await?;
    Ok(HttpResponse::NoContent().finish())
}

async fn processed(CallerService(service): CallerService, id: web::Path<String>) -> HandlerResult {
    service.mark_processed(ArticleId(number(&id, "article")?)).await?;
    Ok(HttpResponse::NoContent().finish())
}

fn view((article, posts): (Article, Vec<PostId>)) -> ArticleView {
    ArticleView { post_ids: Some(posts), ..ArticleView::from(article) }
}
