//! Parses and validates bodies, parameters and headers of requests.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::http::header;
use actix_web::{FromRequest, HttpMessage, HttpRequest, web};
use futures_util::StreamExt;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use url::form_urlencoded;

use super::Api;
use super::guard::Caller;
use super::problem::Problem;
use super::settings::ApiLimits;
use super::views::Page;
use crate::model::misspelling;

pub(super) const PAGE_DEFAULT: usize = 100;
pub(super) const PAGE_MAX: usize = 1000;

/// A JSON body; an empty body is an empty object.
pub(super) struct JsonBody<T>(pub(super) T);

pub(super) struct Parameters<T>(pub(super) T);

impl<T: DeserializeOwned + 'static> FromRequest for JsonBody<T> {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<JsonBody<T>, Problem>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, mut payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let ApiLimits { body_bytes: limit, answer_within, .. } = *limits(&request)?;
            let too_large = || Problem::too_large(format!("a body may have {limit} bytes"));
            let said = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
            if said.and_then(|length| length.parse::<usize>().ok()).is_some_and(|length| length > limit) {
                return Err(too_large());
            }
            let reading = async {
                let mut body = web::BytesMut::new();
                while let Some(chunk) = payload.next().await {
                    let chunk = chunk.map_err(|error| Problem::invalid(format!("the body cannot be read: {error}")))?;
                    if body.len() + chunk.len() > limit {
                        return Err(too_large());
                    }
                    body.extend_from_slice(&chunk);
                }
                Ok(body)
            };
            // Half of the response time is for the body, the other half for processing.
            let read = tokio::time::timeout(answer_within / 2, reading).await;
            let body = read.unwrap_or_else(|_| Err(Problem::too_slow("the rest of the body did not come")))?;
            if body.is_empty() {
                return parse(b"{}").map(JsonBody);
            }
            if !request.content_type().eq_ignore_ascii_case("application/json") {
                return Err(Problem::wrong_type("send application/json").at("Content-Type"));
            }
            parse(&body).map(JsonBody)
        })
    }
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    // serde would accept an array as the fields in order.
    if body.trim_ascii_start().first() == Some(&b'[') {
        return Err(Problem::invalid("send a JSON object, not a list"));
    }
    let mut reader = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let text = error.into_inner().to_string();
        problem(&path, &without_value(&text))
    })?;
    reader.end().map_err(Problem::invalid)?;
    Ok(value)
}

/// serde's message without the input, which may contain a secret.
fn without_value(text: &str) -> Cow<'_, str> {
    let kinds = ["invalid type: string ", "invalid value: string "];
    let Some(kind) = kinds.into_iter().find(|kind| text.starts_with(kind)) else { return Cow::Borrowed(text) };
    match text.rfind(", expected ") {
        Some(expected) => Cow::Owned(format!("{}{}", kind.trim_end(), &text[expected..])),
        None => Cow::Borrowed(kind.trim_end()),
    }
}

/// A problem that names its field: by its path, or from serde's message if the field is missing, unknown or
/// duplicate.
fn problem(path: &str, text: &str) -> Problem {
    let named = ["missing field `", "unknown field `", "duplicate field `"];
    let quoted = named.iter().find_map(|start| text.strip_prefix(start)?.split('`').next());
    let field = match (path, quoted) {
        ("" | "." | "?", quoted) => quoted.map(str::to_owned),
        (path, Some(quoted)) if !path.ends_with(quoted) => Some(format!("{path}.{quoted}")),
        (path, _) => Some(path.to_owned()),
    };
    let problem = match nearest_field(text) {
        Some((unknown, meant)) => Problem::invalid(format!("unknown field `{unknown}`; did you mean `{meant}`?")),
        None => Problem::invalid(text),
    };
    match field {
        Some(field) => problem.at(field),
        None => problem,
    }
}

/// Suggests a field for an unknown one, out of those that serde lists.
fn nearest_field(text: &str) -> Option<(&str, &str)> {
    let (unknown, expected) = text.strip_prefix("unknown field `")?.split_once('`')?;
    let names = expected.split('`').skip(1).step_by(2);
    let in_our_style = snake_case(unknown);
    let near = names.filter_map(|name| Some((misspelling(&in_our_style, name)?, name)));
    near.min().map(|(_, meant)| (unknown, meant))
}

/// The name of a field in the style of this API: `max_failures` for `maxFailures` and `max-failures`.
pub(super) fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for (place, character) in name.char_indices() {
        if character.is_ascii_uppercase() && place > 0 {
            snake.push('_');
        }
        snake.push(if character == '-' { '_' } else { character.to_ascii_lowercase() });
    }
    snake
}

fn limits(request: &HttpRequest) -> Result<&ApiLimits, Problem> {
    let api = request.app_data::<web::Data<Api>>().ok_or_else(|| Problem::internal("no state"))?;
    Ok(&api.limits)
}

impl<T: DeserializeOwned + 'static> FromRequest for Parameters<T> {
    type Error = Problem;
    type Future = std::future::Ready<Result<Parameters<T>, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        std::future::ready(parameters(request.query_string()).map(Parameters))
    }
}

/// Names the invalid parameter, which `web::Query` does not.
fn parameters<T: DeserializeOwned>(query: &str) -> Result<T, Problem> {
    let pairs = serde_urlencoded::Deserializer::new(form_urlencoded::parse(query.as_bytes()));
    serde_path_to_error::deserialize(pairs).map_err(|error| {
        let path = error.path().to_string();
        problem(&path, &error.into_inner().to_string())
    })
}

impl FromRequest for Caller {
    type Error = Problem;
    type Future = std::future::Ready<Result<Caller, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let caller = request.extensions().get::<Caller>().copied();
        std::future::ready(caller.ok_or_else(|| Problem::forbidden("the caller cannot be identified")))
    }
}

/// The version in `If-Match`; none if the header is absent or `*`.
pub(super) fn expected_version(request: &HttpRequest) -> Result<Option<i64>, Problem> {
    let Some(value) = request.headers().get(header::IF_MATCH) else { return Ok(None) };
    let wrong = || Problem::invalid("write the ETag as it was given, such as \"7\", or *").at("If-Match");
    let text = value.to_str().map_err(|_| wrong())?.trim();
    if text == "*" {
        return Ok(None);
    }
    let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).ok_or_else(wrong)?;
    inside.parse().map(Some).map_err(|_| wrong())
}

/// The id in a path.
pub(super) fn number(text: &str, noun: &str) -> Result<i64, Problem> {
    let number = text.parse::<i64>().ok().filter(|number| *number > 0);
    number.ok_or_else(|| {
        Problem::not_found(format!("there is no {noun} {:?}", text.chars().take(64).collect::<String>()))
    })
}

pub(super) fn page_size(limit: Option<usize>) -> Result<usize, Problem> {
    match limit.unwrap_or(PAGE_DEFAULT) {
        size @ 1..=PAGE_MAX => Ok(size),
        _ => Err(Problem::invalid(format!("a page holds 1 to {PAGE_MAX}")).at("limit")),
    }
}

/// The id in a cursor.
pub(super) fn cursor(text: Option<&str>) -> Result<Option<i64>, Problem> {
    let wrong = || Problem::invalid("use next_cursor of the previous page unchanged").at("cursor");
    text.map(|text| text.parse::<i64>().ok().filter(|number| *number >= 0).ok_or_else(wrong)).transpose()
}

/// A page; with a cursor if there may be more items.
pub(super) fn page<T, V>(found: Vec<T>, limit: usize, cursor: impl Fn(&T) -> String, view: impl Fn(T) -> V) -> Page<V> {
    let next_cursor = found.last().filter(|_| found.len() == limit).map(cursor);
    Page { items: found.into_iter().map(view).collect(), next_cursor }
}

/// The size of a page as the store takes it.
pub(super) fn rows(limit: usize) -> u32 {
    u32::try_from(limit).unwrap_or(u32::MAX)
}

/// Distinguishes null from an absent field.
pub(super) fn nullable<'de, T, D>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::<T>::deserialize(deserializer).map(Some)
}
