//! Handlers for podcasts.

use actix_web::http::header::LOCATION;
use actix_web::{HttpResponse, web};

use super::super::input::{Body, Parameters, cursor, number, page, page_size, text};
use super::super::problem::Problem;
use super::super::views::{PodcastBody, PodcastQuery, PodcastUpdate, PodcastView};
use super::super::{Api, BASE};
use super::Answer;
use crate::model::{Podcast, PodcastChanges, PodcastId, UserId};

const TITLE_CHARS_MAX: usize = 500;

pub(super) async fn list(api: web::Data<Api>, Parameters(query): Parameters<PodcastQuery>) -> Answer {
    let (limit, after) = (page_size(query.limit)?, cursor(query.cursor.as_deref())?.map(PodcastId));
    let found = api.handle.store().list_podcasts(query.user_id, after, u32::try_from(limit).unwrap_or(1)).await?;
    Ok(HttpResponse::Ok().json(page(found, limit, |podcast| podcast.id.to_string(), PodcastView::from)))
}

pub(super) async fn create(api: web::Data<Api>, Body(body): Body<PodcastBody>) -> Answer {
    let title = text(&body.title, "title", TITLE_CHARS_MAX)?;
    check_owner(&api, body.user_id).await?;
    let id = api.handle.store().add_podcast(body.user_id, &title, api.handle.clock().now()).await?;
    let location = (LOCATION, format!("{BASE}/podcasts/{id}"));
    Ok(HttpResponse::Created().insert_header(location).json(PodcastView::from(found(&api, id).await?)))
}

pub(super) async fn one(api: web::Data<Api>, id: web::Path<String>) -> Answer {
    let id = PodcastId(number(&id, "podcast")?);
    Ok(HttpResponse::Ok().json(PodcastView::from(found(&api, id).await?)))
}

pub(super) async fn update(api: web::Data<Api>, id: web::Path<String>, Body(body): Body<PodcastUpdate>) -> Answer {
    let id = PodcastId(number(&id, "podcast")?);
    let title = body.title.map(|title| text(&title, "title", TITLE_CHARS_MAX)).transpose()?;
    if let Some(owner) = body.user_id {
        check_owner(&api, owner).await?;
    }
    let changes = PodcastChanges { user_id: body.user_id, title };
    match api.handle.store().change_podcast(id, changes).await? {
        true => {
            if let Some(owner) = body.user_id {
                // The new owner may have the key that its X accounts need.
                api.handle.poll_accounts_of(owner).await?;
            }
            Ok(HttpResponse::Ok().json(PodcastView::from(found(&api, id).await?)))
        }
        false => Err(missing(id)),
    }
}

pub(super) async fn remove(api: web::Data<Api>, id: web::Path<String>) -> Answer {
    let id = PodcastId(number(&id, "podcast")?);
    match api.handle.store().remove_podcast(id).await? {
        true => Ok(HttpResponse::NoContent().finish()),
        false => Err(missing(id)),
    }
}

/// The store would reject an unknown podcast too, without naming the field.
pub(super) async fn check_podcast(api: &Api, podcast: Option<PodcastId>) -> Result<(), Problem> {
    let Some(id) = podcast else { return Ok(()) };
    let wrong = || Problem::invalid(format!("there is no podcast {id}")).at("podcast_id");
    api.handle.store().podcast(id).await?.map(|_| ()).ok_or_else(wrong)
}

/// The store would reject an unknown user too, without naming the field.
async fn check_owner(api: &Api, owner: UserId) -> Result<(), Problem> {
    let wrong = || Problem::invalid(format!("there is no user {owner}")).at("user_id");
    api.handle.store().user(owner).await?.map(|_| ()).ok_or_else(wrong)
}

async fn found(api: &Api, id: PodcastId) -> Result<Podcast, Problem> {
    api.handle.store().podcast(id).await?.ok_or_else(|| missing(id))
}

fn missing(id: PodcastId) -> Problem {
    Problem::not_found(format!("there is no podcast {id}"))
}
