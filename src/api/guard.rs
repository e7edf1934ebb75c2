//! Authentication and rate limits, before every request: the socket's owner, and tokens over TCP.

use std::net::IpAddr;
use std::time::Duration;

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::{Method, header};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, web};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Api;
use super::problem::Problem;
use super::rate::Payer;
use super::tokens::TokenScope;

/// Health checks need no token.
pub(super) fn needs_no_token(path: &str) -> bool {
    ["/healthz", "/readyz"].contains(&path)
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Peer {
    /// A process of this user, through the socket.
    Socket {
        uid: Option<u32>,
    },
    Tcp {
        address: Option<IpAddr>,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Caller {
    pub(super) sees_secrets: bool,
}

/// Authorizes a request. An error becomes an ordinary response, so that it gets the same headers.
pub(super) async fn guard<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, Error> {
    let Some(api) = request.app_data::<web::Data<Api>>().cloned() else {
        return Ok(refuse(request, &Problem::internal("no state")));
    };
    let caller = match admit(&request, &api) {
        Ok(caller) => caller,
        Err(problem) => return Ok(refuse(request, &problem)),
    };
    request.extensions_mut().insert(caller);
    // No timeout for OPML lists; the connection detects stalled clients.
    let limit = if request.path().ends_with("/opml") { Duration::MAX } else { api.limits.answer_within };
    match tokio::time::timeout(limit, next.call(request)).await {
        Ok(answer) => answer.map(ServiceResponse::map_into_left_body),
        Err(_) => Err(Problem::unavailable("the request took too long").into()),
    }
}

fn refuse<B>(request: ServiceRequest, problem: &Problem) -> ServiceResponse<EitherBody<B>> {
    request.into_response(problem.answer().map_into_right_body())
}

fn admit(request: &ServiceRequest, api: &Api) -> Result<Caller, Problem> {
    match request.conn_data::<Peer>().copied() {
        Some(Peer::Socket { uid: Some(uid) }) if uid == 0 || uid == rustix::process::geteuid().as_raw() => {
            Ok(Caller { sees_secrets: true })
        }
        Some(Peer::Tcp { address: Some(address) }) => admit_tcp(request, api, address),
        Some(Peer::Socket { .. }) => Err(Problem::forbidden("the admin socket is for the daemon's own user")),
        _ => Err(Problem::forbidden("the caller cannot be identified")),
    }
}

fn admit_tcp(request: &ServiceRequest, api: &Api, address: IpAddr) -> Result<Caller, Problem> {
    let (now, rules) = (api.service.now(), api.access_rules.rules());
    let admits = |payer| api.rate.admits(payer, rules.requests_per_second, now);
    let given = token(request);
    // Each verified token has its own rate. Until a token is verified, its requests count for the address, which slows
    // down guessing.
    let own = given.as_ref().map(|(token, _)| Payer::token(token));
    let known = own.filter(|payer| api.rate.knows(*payer));
    if !admits(known.unwrap_or(Payer::Address(address))) {
        return Err(Problem::too_fast(1));
    }
    if needs_no_token(request.path()) {
        return Ok(Caller { sees_secrets: false });
    }
    let Some(verifier) = &rules.verifier else { return Err(Problem::unauthorized("no key is configured")) };
    let (token, scope_max) = given.ok_or_else(|| {
        Problem::unauthorized("send a token: Authorization: Bearer …, or Basic with the token as the password")
    })?;
    let (_, scope) = verifier.verify(&token, now).map_err(Problem::unauthorized)?;
    if let (Some(payer), None) = (own, known)
        && !admits(payer)
    {
        return Err(Problem::too_fast(1));
    }
    let scope = scope.min(scope_max);
    let only_looks = [Method::GET, Method::HEAD, Method::OPTIONS].contains(request.method());
    if scope == TokenScope::Read && !only_looks {
        return Err(Problem::forbidden("this needs a token with the scope write, sent as Bearer"));
    }
    Ok(Caller { sees_secrets: scope == TokenScope::Write })
}

/// The token, and its maximum scope. A token sent as a password is limited to `read`, because browsers attach stored
/// passwords to requests that any page triggers.
fn token(request: &ServiceRequest) -> Option<(String, TokenScope)> {
    let (scheme, credentials) = request.headers().get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let credentials = credentials.trim();
    match scheme.to_ascii_lowercase().as_str() {
        "bearer" => Some((credentials.to_owned(), TokenScope::Write)),
        "basic" => {
            let pair = String::from_utf8(STANDARD.decode(credentials).ok()?).ok()?;
            pair.split_once(':').map(|(_, password)| (password.to_owned(), TokenScope::Read))
        }
        _ => None,
    }
}
