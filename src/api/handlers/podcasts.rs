//! Handlers for podcasts.

use actix_web::http::header::LOCATION;
use actix_web::{HttpResponse, web};

use super::super::input::{JsonBody, Parameters, cursor, number, page, page_size, rows};
use super::super::problem::Problem;
use super::super::views::{PodcastBody, PodcastQuery, PodcastUpdate, PodcastView};
use super::super::{Api, BASE};
use super::HandlerResult;
use crate::model::{PodcastChanges, PodcastId};

pub(super) async fn list(api: web::Data<Api>, Parameters(query): Parameters<PodcastQuery>) -> HandlerResult {
    let (limit, after) = (page_size(query.limit)?, cursor(query.cursor.as_deref())?.map(PodcastId));
    let found = api.service.podcasts(query.user_id, after, rows(limit)).await?;
    Ok(HttpResponse::Ok().json(page(found, limit, |podcast| podcast.id.to_string(), PodcastView::from)))
}

pub(super) async fn create(api: web::Data<Api>, JsonBody(body): JsonBody<PodcastBody>) -> HandlerResult {
    let podcast = PodcastView::from(api.service.add_podcast(body.user_id, &body.title).await?);
    let location = (LOCATION, format!("{BASE}/podcasts/{}", podcast.id));
    Ok(HttpResponse::Created().insert_header(location).json(podcast))
}

pub(super) async fn one(api: web::Data<Api>, id: web::Path<String>) -> HandlerResult {
    Ok(HttpResponse::Ok().json(PodcastView::from(api.service.podcast(podcast(&id)?).await?)))
}

pub(super) async fn update(
    api: web::Data<Api>,
    id: web::Path<String>,
    JsonBody(body): JsonBody<PodcastUpdate>,
) -> HandlerResult {
    let changes = PodcastChanges { user_id: body.user_id, title: body.title };
    Ok(HttpResponse::Ok().json(PodcastView::from(api.service.change_podcast(podcast(&id)?, changes).await?)))
}

pub(super) async fn remove(api: web::Data<Api>, id: web::Path<String>) -> HandlerResult {
    api.service.remove_podcast(podcast(&id)?).await?;
    Ok(HttpResponse::NoContent().finish())
}

fn podcast(id: &str) -> Result<PodcastId, Problem> {
    number(id, "podcast").map(PodcastId)
}
