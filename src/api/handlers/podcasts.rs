//! Endpoints for podcasts.

use actix_web::http::Method;
use actix_web::http::header::LOCATION;
use actix_web::{HttpResponse, web};

use super::super::endpoint::Endpoint;
use super::super::guard::CallerService;
use super::super::input::{JsonBody, Parameters, cursor, number, page, page_size, rows};
use super::super::problem::Problem;
use super::super::views::{Page, PodcastBody, PodcastQuery, PodcastUpdate, PodcastView};
use super::super::{Api, BASE};
use super::HandlerResult;
use crate::model::{PodcastChanges, PodcastId};

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/podcasts", "List podcasts", list)
            .query::<PodcastQuery>()
            .answers::<Page<PodcastView>>(200, "Page of podcasts"),
        Endpoint::new(Method::POST, "/podcasts", "Add a podcast", create)
            .body::<PodcastBody>()
            .answers::<PodcastView>(201, "Podcast added"),
        Endpoint::new(Method::GET, "/podcasts/{id}", "Get a podcast", one)
            .answers::<PodcastView>(200, "Podcast")
            .refuses(404, "No such podcast"),
        Endpoint::new(Method::PATCH, "/podcasts/{id}", "Change the title or owner of a podcast", update)
            .body::<PodcastUpdate>()
            .answers::<PodcastView>(200, "Podcast after the change")
            .refuses(404, "No such podcast"),
        Endpoint::new(Method::DELETE, "/podcasts/{id}", "Remove a podcast", remove)
            .answers_nothing("Podcast removed")
            .refuses(404, "No such podcast")
            .refuses(409, "Podcast has sources or articles"),
    ]
}

async fn list(api: web::Data<Api>, Parameters(query): Parameters<PodcastQuery>) -> HandlerResult {
    let (limit, after) = (page_size(query.limit)?, cursor(query.cursor.as_deref())?.map(PodcastId));
    let found = api.service.podcasts(query.user_id, after, rows(limit)).await?;
    Ok(HttpResponse::Ok().json(page(found, limit, |podcast| podcast.id.to_string(), PodcastView::from)))
}

async fn create(CallerService(service): CallerService, JsonBody(body): JsonBody<PodcastBody>) -> HandlerResult {
    let podcast = PodcastView::from(service.add_podcast(body.user_id, &body.title).await?);
    let location = (LOCATION, format!("{BASE}/podcasts/{}", podcast.id));
    Ok(HttpResponse::Created().insert_header(location).json(podcast))
}

async fn one(api: web::Data<Api>, id: web::Path<String>) -> HandlerResult {
    Ok(HttpResponse::Ok().json(PodcastView::from(api.service.podcast(podcast(&id)?).await?)))
}

async fn update(
    CallerService(service): CallerService,
    id: web::Path<String>,
    JsonBody(body): JsonBody<PodcastUpdate>,
) -> HandlerResult {
    let changes = PodcastChanges { user_id: body.user_id, title: body.title };
    Ok(HttpResponse::Ok().json(PodcastView::from(service.change_podcast(podcast(&id)?, changes).await?)))
}

async fn remove(CallerService(service): CallerService, id: web::Path<String>) -> HandlerResult {
    service.remove_podcast(podcast(&id)?).await?;
    Ok(HttpResponse::NoContent().finish())
}

fn podcast(id: &str) -> Result<PodcastId, Problem> {
    number(id, "podcast").map(PodcastId)
}
