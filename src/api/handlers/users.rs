//! Handlers for users and their keys. Keys are never returned.

use actix_web::http::header::LOCATION;
use actix_web::{HttpResponse, web};
use secrecy::SecretString;

use super::super::input::{Body, Parameters, cursor, number, page, page_size, text};
use super::super::problem::Problem;
use super::super::views::{KeyBody, KeyView, Page, UserBody, UserQuery, UserView};
use super::super::{Api, BASE};
use super::Answer;
use crate::model::{KeyProvider, User, UserId};
use crate::store::StoreError;

const NAME_CHARS_MAX: usize = 100;
/// Maximum size of a key in bytes, far more than any token needs.
const KEY_BYTES_MAX: usize = 16 * 1024;

pub(super) async fn list(api: web::Data<Api>, Parameters(query): Parameters<UserQuery>) -> Answer {
    let (limit, after) = (page_size(query.limit)?, cursor(query.cursor.as_deref())?.map(UserId));
    if let Some(name) = &query.name {
        let found = api.handle.store().user_named(name).await?;
        let items: Vec<UserView> = found.into_iter().map(UserView::from).collect();
        return Ok(HttpResponse::Ok().json(Page { items, next_cursor: None }));
    }
    let found = api.handle.store().list_users(after, u32::try_from(limit).unwrap_or(1)).await?;
    Ok(HttpResponse::Ok().json(page(found, limit, |user| user.id.to_string(), UserView::from)))
}

pub(super) async fn create(api: web::Data<Api>, Body(body): Body<UserBody>) -> Answer {
    let name = name(&body)?;
    let id = api.handle.store().add_user(&name, api.handle.clock().now()).await.map_err(taken)?;
    let location = (LOCATION, format!("{BASE}/users/{id}"));
    Ok(HttpResponse::Created().insert_header(location).json(UserView::from(found(&api, id).await?)))
}

pub(super) async fn one(api: web::Data<Api>, id: web::Path<String>) -> Answer {
    let id = UserId(number(&id, "user")?);
    Ok(HttpResponse::Ok().json(UserView::from(found(&api, id).await?)))
}

pub(super) async fn rename(api: web::Data<Api>, id: web::Path<String>, Body(body): Body<UserBody>) -> Answer {
    let (id, name) = (UserId(number(&id, "user")?), name(&body)?);
    match api.handle.store().rename_user(id, &name).await.map_err(taken)? {
        true => Ok(HttpResponse::Ok().json(UserView::from(found(&api, id).await?))),
        false => Err(missing(id)),
    }
}

pub(super) async fn remove(api: web::Data<Api>, id: web::Path<String>) -> Answer {
    let id = UserId(number(&id, "user")?);
    match api.handle.store().remove_user(id).await? {
        true => Ok(HttpResponse::NoContent().finish()),
        false => Err(missing(id)),
    }
}

pub(super) async fn x_key(api: web::Data<Api>, id: web::Path<String>) -> Answer {
    let id = UserId(number(&id, "user")?);
    Ok(HttpResponse::Ok().json(key_of(&api, id).await?))
}

pub(super) async fn put_x_key(api: web::Data<Api>, id: web::Path<String>, Body(body): Body<KeyBody>) -> Answer {
    let id = UserId(number(&id, "user")?);
    if body.key.len() > KEY_BYTES_MAX {
        return Err(Problem::invalid(format!("a key has at most {KEY_BYTES_MAX} bytes")).at("key"));
    }
    let key = SecretString::from(body.key);
    found(&api, id).await?;
    api.handle.put_x_key(id, &key).await?;
    Ok(HttpResponse::Ok().json(key_of(&api, id).await?))
}

pub(super) async fn remove_x_key(api: web::Data<Api>, id: web::Path<String>) -> Answer {
    let id = UserId(number(&id, "user")?);
    match api.handle.store().remove_api_key(id, KeyProvider::X).await? {
        true => Ok(HttpResponse::NoContent().finish()),
        false => Err(keyless(id)),
    }
}

async fn key_of(api: &Api, id: UserId) -> Result<KeyView, Problem> {
    let updated_at = found(api, id).await?.x_key_at.ok_or_else(|| keyless(id))?;
    Ok(KeyView { provider: KeyProvider::X.name().to_owned(), updated_at })
}

async fn found(api: &Api, id: UserId) -> Result<User, Problem> {
    api.handle.store().user(id).await?.ok_or_else(|| missing(id))
}

/// Rejects names that could be taken for an id.
fn name(body: &UserBody) -> Result<String, Problem> {
    let name = text(&body.name, "name", NAME_CHARS_MAX)?;
    match name.bytes().all(|byte| byte.is_ascii_digit()) {
        true => {
            Err(Problem::invalid("a name must not consist of digits only, because it could be taken for an id")
                .at("name"))
        }
        false => Ok(name),
    }
}

fn taken(error: StoreError) -> Problem {
    let is_taken = matches!(error, StoreError::NameTaken(_));
    let problem = Problem::from(error);
    if is_taken { problem.at("name") } else { problem }
}

fn missing(id: UserId) -> Problem {
    Problem::not_found(format!("there is no user {id}"))
}

fn keyless(id: UserId) -> Problem {
    Problem::not_found(format!("user {id} has no X key"))
}
