//! Endpoints for users and their keys. Keys are never returned.

use actix_web::http::Method;
use actix_web::http::header::LOCATION;
use actix_web::{HttpResponse, web};
use secrecy::SecretString;

use super::super::endpoint::Endpoint;
use super::super::guard::CallerService;
use super::super::input::{JsonBody, Parameters, cursor, number, page, page_size, rows};
use super::super::problem::Problem;
use super::super::views::{KeyBody, KeyView, Page, UserBody, UserQuery, UserView};
use super::super::{Api, BASE};
use super::HandlerResult;
use crate::model::{KeyProvider, UserId};

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/users", "List users", list)
            .query::<UserQuery>()
            .answers::<Page<UserView>>(200, "Page of users"),
        Endpoint::new(Method::POST, "/users", "Add a user", create)
            .body::<UserBody>()
            .answers::<UserView>(201, "User added")
            .refuses(409, "Name is taken"),
        Endpoint::new(Method::GET, "/users/{id}", "Get a user", one)
            .answers::<UserView>(200, "User")
            .refuses(404, "No such user"),
        Endpoint::new(Method::PATCH, "/users/{id}", "Rename a user", rename)
            .body::<UserBody>()
            .answers::<UserView>(200, "User after the change")
            .refuses(404, "No such user")
            .refuses(409, "Name is taken"),
        Endpoint::new(Method::DELETE, "/users/{id}", "Remove a user and their keys", remove)
            .answers_nothing("User removed")
            .refuses(404, "No such user")
            .refuses(409, "User owns podcasts"),
        Endpoint::new(Method::GET, "/users/{id}/keys/x", "Get when a user's X key was set", x_key)
            .answers::<KeyView>(200, "Provider and time of the key")
            .refuses(404, "No such user, or no key"),
        Endpoint::new(Method::PUT, "/users/{id}/keys/x", "Store or replace a user's X key", put_x_key)
            .body::<KeyBody>()
            .answers::<KeyView>(200, "Stored; used from the next poll on")
            .refuses(404, "No such user")
            .refuses(409, "database.encryption-key is not set"),
        Endpoint::new(Method::DELETE, "/users/{id}/keys/x", "Remove a user's X key", remove_x_key)
            .answers_nothing("Key removed")
            .refuses(404, "No such user, or no key"),
    ]
}

async fn list(api: web::Data<Api>, Parameters(query): Parameters<UserQuery>) -> HandlerResult {
    let (limit, after) = (page_size(query.limit)?, cursor(query.cursor.as_deref())?.map(UserId));
    if let Some(name) = &query.name {
        let found = api.service.user_named(name).await?;
        let items: Vec<UserView> = found.into_iter().map(UserView::from).collect();
        return Ok(HttpResponse::Ok().json(Page { items, next_cursor: None }));
    }
    let found = api.service.users(after, rows(limit)).await?;
    Ok(HttpResponse::Ok().json(page(found, limit, |user| user.id.to_string(), UserView::from)))
}

async fn create(CallerService(service): CallerService, JsonBody(body): JsonBody<UserBody>) -> HandlerResult {
    let user = UserView::from(service.add_user(&body.name).await?);
    let location = (LOCATION, format!("{BASE}/users/{}", user.id));
    Ok(HttpResponse::Created().insert_header(location).json(user))
}

async fn one(api: web::Data<Api>, id: web::Path<String>) -> HandlerResult {
    Ok(HttpResponse::Ok().json(UserView::from(api.service.user(user(&id)?).await?)))
}

async fn rename(
    CallerService(service): CallerService,
    id: web::Path<String>,
    JsonBody(body): JsonBody<UserBody>,
) -> HandlerResult {
    Ok(HttpResponse::Ok().json(UserView::from(service.rename_user(user(&id)?, &body.name).await?)))
}

async fn remove(CallerService(service): CallerService, id: web::Path<String>) -> HandlerResult {
    service.remove_user(user(&id)?).await?;
    Ok(HttpResponse::NoContent().finish())
}

async fn x_key(api: web::Data<Api>, id: web::Path<String>) -> HandlerResult {
    let updated_at = api.service.x_key_at(user(&id)?).await?;
    Ok(HttpResponse::Ok().json(KeyView { provider: KeyProvider::X.name().to_owned(), updated_at }))
}

async fn put_x_key(
    api: web::Data<Api>,
    CallerService(service): CallerService,
    id: web::Path<String>,
    JsonBody(body): JsonBody<KeyBody>,
) -> HandlerResult {
    service.put_x_key(user(&id)?, &SecretString::from(body.key)).await?;
    x_key(api, id).await
}

async fn remove_x_key(CallerService(service): CallerService, id: web::Path<String>) -> HandlerResult {
    service.remove_x_key(user(&id)?).await?;
    Ok(HttpResponse::NoContent().finish())
}

fn user(id: &str) -> Result<UserId, Problem> {
    number(id, "user").map(UserId)
}
