//! Headers of every response, errors included: no caching, framing, sniffing or scripts.

use actix_web::Error;
use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::InternalError;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::middleware::Next;

const HEADERS: [(&str, &str); 5] = [
    ("cache-control", "no-store"),
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
];

pub(super) async fn add_headers<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    match next.call(request).await {
        Ok(mut answer) => {
            add(answer.headers_mut());
            Ok(answer)
        }
        // An error has no request any more, only its response.
        Err(error) => {
            let mut answer = error.error_response();
            add(answer.headers_mut());
            Err(InternalError::from_response(error, answer).into())
        }
    }
}

/// Headers set by a handler take precedence.
fn add(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        let name = HeaderName::from_static(name);
        if !headers.contains_key(&name) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
}
