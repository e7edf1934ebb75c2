//! Handlers for users and their keys. Keys are never returned.

use actix_web::http::header::LOCATION;
use actix_web::{HttpResponse, web};
use secrecy::SecretString;

use super::super::input::{JsonBody, Parameters, cursor, number, page, page_size, rows};
use super::super::problem::Problem;
use super::super::views::{KeyBody, KeyView, Page, UserBody, UserQuery, UserView};
use super::super::{Api, BASE};
use super::HandlerResult;
use crate::model::{KeyProvider, UserId};

pub(super) async fn list(api: web::Data<Api>, Parameters(query): Parameters<UserQuery>) -> HandlerResult {
    let (limit, after) = (page_size(query.limit)?, cursor(query.cursor.as_deref())?.map(UserId));
    if let Some(name) = &query.name {
        let found = api.service.user_named(name).await?;
        let items: Vec<UserView> = found.into_iter().map(UserView::from).collect();
        return Ok(HttpResponse::Ok().json(Page { items, next_cursor: None }));
    }
    let found = api.service.users(after, rows(limit)).await?;
    Ok(HttpResponse::Ok().json(page(found, limit, |user| user.id.to_string(), UserView::from)))
}

pub(super) async fn create(api: web::Data<Api>, JsonBody(body): JsonBody<UserBody>) -> HandlerResult {
    let user = UserView::from(api.service.add_user(&body.name).await?);
    let location = (LOCATION, format!("{BASE}/users/{}", user.id));
    Ok(HttpResponse::Created().insert_header(location).json(user))
}

pub(super) async fn one(api: web::Data<Api>, id: web::Path<String>) -> HandlerResult {
    Ok(HttpResponse::Ok().json(UserView::from(api.service.user(user(&id)?).await?)))
}

pub(super) async fn rename(
    api: web::Data<Api>,
    id: web::Path<String>,
    JsonBody(body): JsonBody<UserBody>,
) -> HandlerResult {
    Ok(HttpResponse::Ok().json(UserView::from(api.service.rename_user(user(&id)?, &body.name).await?)))
}

pub(super) async fn remove(api: web::Data<Api>, id: web::Path<String>) -> HandlerResult {
    api.service.remove_user(user(&id)?).await?;
    Ok(HttpResponse::NoContent().finish())
}

pub(super) async fn x_key(api: web::Data<Api>, id: web::Path<String>) -> HandlerResult {
    let updated_at = api.service.x_key_at(user(&id)?).await?;
    Ok(HttpResponse::Ok().json(KeyView { provider: KeyProvider::X.name().to_owned(), updated_at }))
}

pub(super) async fn put_x_key(
    api: web::Data<Api>,
    id: web::Path<String>,
    JsonBody(body): JsonBody<KeyBody>,
) -> HandlerResult {
    api.service.put_x_key(user(&id)?, &SecretString::from(body.key)).await?;
    x_key(api, id).await
}

pub(super) async fn remove_x_key(api: web::Data<Api>, id: web::Path<String>) -> HandlerResult {
    api.service.remove_x_key(user(&id)?).await?;
    Ok(HttpResponse::NoContent().finish())
}

fn user(id: &str) -> Result<UserId, Problem> {
    number(id, "user").map(UserId)
}
