//! The listener for hubs (WebSub): callbacks of subscriptions and nothing else. Anyone who knows the URL of a callback may
//! write to it, so everything is bounded: connections, sizes, times and rates.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix_http::{HttpService, KeepAlive, error::DispatchError};
use actix_server::Server;
use actix_service::{IntoServiceFactory, ServiceFactory, ServiceFactoryExt, fn_service, map_config};
use actix_web::dev::{AppConfig, ServerHandle};
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, RETRY_AFTER};
use actix_web::{App, Error, HttpRequest, HttpResponse, web};
use futures_util::StreamExt;
use tokio::net::TcpStream;

use super::connection::{Connection, Patience};
use super::guard::Peer;
use super::rate::{Payer, Rate};
use crate::service::{CallbackAnswer, PushOutcome, Service, Verification};

const WORKERS: usize = 1;
const CONNECTIONS_MAX: usize = 256;
/// Time limit for the head of a request, and for closing.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// Time limit for the body of a push.
const BODY_WITHIN: Duration = Duration::from_secs(30);
/// The largest push. Its signature is checked while it is read, so it takes no memory.
const BODY_BYTES_MAX: usize = 8 << 20;
const OVERHEAD_BYTES: usize = 256 * 1024;
const SHUTDOWN_SECONDS: u64 = 2;
/// Requests to all callbacks.
const PER_SECOND: u32 = 50;
/// Requests to one callback.
const PER_SECOND_AND_CALLBACK: u32 = 1;
/// Challenges are returned up to this length.
const CHALLENGE_BYTES_MAX: usize = 4096;
/// Length of a token: 32 bytes in hexadecimal.
const TOKEN_CHARS: usize = 64;

struct Callbacks {
    service: Service,
    rate: Rate,
    /// Path of the public URL, without a slash at its end.
    base_path: String,
}

/// Starts serving; needs the thread of an actix system.
pub(super) fn serve(service: Service, public_url: &str, listener: TcpListener) -> io::Result<ServerHandle> {
    let base_path = url::Url::parse(public_url).map(|url| url.path().trim_end_matches('/').to_owned());
    let base_path = base_path.unwrap_or_default();
    let callbacks = web::Data::from(Arc::new(Callbacks { service, rate: Rate::default(), base_path }));
    let patience = Patience { within: BODY_WITHIN, bytes: BODY_BYTES_MAX + OVERHEAD_BYTES };
    let server = Server::build()
        .workers(WORKERS)
        .max_concurrent_connections(CONNECTIONS_MAX)
        .shutdown_timeout(SHUTDOWN_SECONDS)
        .disable_signals()
        .listen("callbacks", listener, move || {
            let connect = move |stream: TcpStream| {
                let address = stream.peer_addr().ok();
                let peer = Peer::Tcp { address: address.map(|address| address.ip()) };
                std::future::ready(Ok((Connection::new(stream, peer, patience), address)))
            };
            fn_service(connect).and_then(http(callbacks.clone()))
        })?
        .run();
    let handle = server.handle();
    actix_rt::spawn(server);
    Ok(handle)
}

type Accepted = (Connection<TcpStream>, Option<SocketAddr>);

fn http(
    callbacks: web::Data<Callbacks>,
) -> impl ServiceFactory<Accepted, Config = (), Response = (), Error = DispatchError, InitError = ()> {
    let app = App::new().app_data(callbacks).default_service(web::to(answer));
    let app = app.into_factory().map_err(|error: Error| error.error_response());
    HttpService::build()
        .keep_alive(KeepAlive::Disabled)
        .client_request_timeout(HEAD_WITHIN)
        .client_disconnect_timeout(HEAD_WITHIN)
        .h1(map_config(app, |()| AppConfig::default()))
}

async fn answer(callbacks: web::Data<Callbacks>, request: HttpRequest, body: web::Payload) -> HttpResponse {
    let Some(token) = callbacks.token(request.path()).map(str::to_owned) else {
        return text(StatusCode::NOT_FOUND, "there is nothing at this path\n");
    };
    let is_push = request.method() == actix_web::http::Method::POST;
    let now = callbacks.service.now();
    let is_admitted = callbacks.rate.admits(Payer::token(""), PER_SECOND, now)
        && callbacks.rate.admits(Payer::token(&token), PER_SECOND_AND_CALLBACK, now);
    if !is_admitted {
        if is_push {
            callbacks.service.count_push(PushOutcome::Limited);
        }
        let mut limited = text(StatusCode::TOO_MANY_REQUESTS, "too many requests; try again later\n");
        limited.headers_mut().insert(RETRY_AFTER, actix_web::http::header::HeaderValue::from_static("5"));
        return limited;
    }
    match request.method().as_str() {
        "POST" => callbacks.push(&token, &request, body).await,
        "GET" => callbacks.verify(&token, request.query_string()).await,
        _ => text(StatusCode::METHOD_NOT_ALLOWED, "hubs send GET and POST\n"),
    }
}

impl Callbacks {
    /// The token in the path of a callback. A reverse proxy may have taken the path of the public URL away.
    fn token<'a>(&self, path: &'a str) -> Option<&'a str> {
        let token = path.strip_prefix(self.base_path.as_str()).unwrap_or(path).strip_prefix('/')?;
        (token.len() == TOKEN_CHARS && token.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(token)
    }

    async fn verify(&self, token: &str, query: &str) -> HttpResponse {
        let mut asked = Verification { mode: String::new(), topic: None, lease_seconds: None, reason: None };
        let mut challenge = None;
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "hub.mode" => asked.mode = value.into_owned(),
                "hub.topic" => asked.topic = Some(value.into_owned()),
                "hub.lease_seconds" => asked.lease_seconds = value.parse().ok(),
                "hub.reason" => asked.reason = Some(value.into_owned()),
                "hub.challenge" => challenge = Some(value.into_owned()),
                _ => {}
            }
        }
        let needs_challenge = asked.mode != "denied";
        if needs_challenge && challenge.as_ref().is_none_or(|one| one.is_empty() || one.len() > CHALLENGE_BYTES_MAX) {
            return text(StatusCode::BAD_REQUEST, "hub.challenge is missing or too long\n");
        }
        match self.service.verify_subscription(token, &asked).await {
            Ok(CallbackAnswer::Confirmed) => text(StatusCode::OK, challenge.unwrap_or_default()),
            Ok(CallbackAnswer::Refused) => text(StatusCode::NOT_FOUND, "this was not asked for\n"),
            Ok(CallbackAnswer::Gone) => gone(),
            Err(_) => later(),
        }
    }

    /// A push without the right signature is answered as the others: who sent it learns nothing.
    async fn push(&self, token: &str, request: &HttpRequest, mut body: web::Payload) -> HttpResponse {
        let signature = request.headers().get("x-hub-signature").and_then(|value| value.to_str().ok());
        let mut check = match self.service.begin_push(token, signature).await {
            Ok(Some(check)) => check,
            Ok(None) => {
                self.service.count_push(PushOutcome::Unknown);
                return gone();
            }
            Err(_) => return later(),
        };
        let reading = async {
            let mut bytes = 0;
            while let Some(piece) = body.next().await {
                let piece = piece.map_err(|_| StatusCode::BAD_REQUEST)?;
                bytes += piece.len();
                if bytes > BODY_BYTES_MAX {
                    return Err(StatusCode::PAYLOAD_TOO_LARGE);
                }
                check.update(&piece);
            }
            Ok(())
        };
        match tokio::time::timeout(BODY_WITHIN, reading).await.unwrap_or(Err(StatusCode::REQUEST_TIMEOUT)) {
            Ok(()) => {}
            Err(StatusCode::PAYLOAD_TOO_LARGE) => {
                self.service.count_push(PushOutcome::TooLarge);
                return text(StatusCode::PAYLOAD_TOO_LARGE, format!("a push has at most {BODY_BYTES_MAX} bytes\n"));
            }
            Err(status) => return text(status, "the body is incomplete\n"),
        }
        match self.service.finish_push(check).await {
            Ok(outcome) => {
                self.service.count_push(outcome);
                text(StatusCode::ACCEPTED, "")
            }
            Err(_) => later(),
        }
    }
}

fn gone() -> HttpResponse {
    text(StatusCode::GONE, "there is no such subscription\n")
}

/// The store cannot be reached: hubs try again.
fn later() -> HttpResponse {
    text(StatusCode::SERVICE_UNAVAILABLE, "try again later\n")
}

/// As plain text: a challenge must not be read as a page.
fn text(status: StatusCode, body: impl Into<String>) -> HttpResponse {
    let mut answer = HttpResponse::build(status);
    answer.insert_header((CONTENT_TYPE, "text/plain; charset=utf-8"));
    answer.insert_header(("X-Content-Type-Options", "nosniff"));
    answer.body(body.into())
}
