//! Authentication, rate limits and host names, before every request: the socket's owner, and tokens over TCP.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::{Method, header};
use actix_web::middleware::Next;
use actix_web::{Error, FromRequest, HttpMessage, HttpRequest, web};
use slog::info;

use super::Api;
use super::access_rules::AccessRules;
use super::authorization::{PresentedCredentials, credentials};
use super::client_address::{client_address, is_https};
use super::forwarding::{FORWARDED, forwarded_actor};
use super::problem::Problem;
use super::rate::Payer;
use super::sessions::{BrowserSession, SessionHolder, cookie};
use super::site::{is_page, is_public, is_sign_out};
use super::tokens::TokenScope;
use crate::model::{Actor, Timestamp};
use crate::service::{Service, user_of};

/// Health checks need no token and have no rate, so that a flood of other requests cannot make them fail.
pub(super) fn is_health_check(path: &str) -> bool {
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
    /// Whether URLs may be shown with what is secret in them.
    pub(super) sees_secrets: bool,
    /// Whether names and addresses of callers may be shown.
    pub(super) sees_callers: bool,
    /// Whether the request came through the admin socket: from the operator, and not from a holder of a token.
    pub(super) is_operator: bool,
}

impl Caller {
    /// A client that may change things sees everything.
    fn with_scope(scope: TokenScope) -> Caller {
        let can_write = scope == TokenScope::Write;
        Caller { sees_secrets: can_write, sees_callers: can_write, is_operator: false }
    }
}

/// The use cases for the caller of a request: their changes are recorded as the caller's.
pub(super) struct CallerService(pub(super) Service);

/// Why a session with a token of the scope `read` changes nothing.
pub(super) const READS_ONLY: &str = "this session may read only; sign in with a token that has the scope write";

/// The session of a browser on the dashboard.
#[derive(Clone, Debug)]
pub(crate) struct Browser {
    /// Who has signed in; none without a session.
    pub(crate) who: Option<String>,
    pub(crate) can_write: bool,
    /// What every form repeats; none on the admin socket, which no page of a browser can reach.
    pub(crate) form_token: Option<Arc<str>>,
    /// Whether the browser reached the daemon over TLS.
    pub(crate) is_https: bool,
    /// Whether a token can be used to sign in.
    pub(crate) takes_tokens: bool,
}

impl Browser {
    pub(crate) fn stranger() -> Browser {
        Browser { who: None, can_write: false, form_token: None, is_https: false, takes_tokens: false }
    }
}

/// Who makes a request.
#[derive(Clone, Debug)]
pub(super) enum Identity {
    Uid(u32),
    Token {
        subject: String,
        address: IpAddr,
    },
    /// By another node, which has authorized its own caller.
    Forwarded(Actor),
}

impl Identity {
    fn actor(&self) -> Actor {
        match self {
            Identity::Uid(uid) => user_of(*uid),
            Identity::Token { subject, address } => {
                let (who, address) = (format!("token:{subject}"), Some(address.to_string()));
                Actor { who, user_name: None, address }
            }
            Identity::Forwarded(actor) => actor.clone(),
        }
    }
}

/// Who the request is made by, for another node.
pub(super) fn actor_of(request: &ServiceRequest) -> Option<Actor> {
    request.extensions().get::<Identity>().map(Identity::actor)
}

impl FromRequest for CallerService {
    type Error = Problem;
    type Future = std::future::Ready<Result<CallerService, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let api = request.app_data::<web::Data<Api>>();
        let actor = request.extensions().get::<Identity>().map(Identity::actor);
        let service = api.zip(actor).map(|(api, actor)| CallerService(api.service.acting_for(actor)));
        std::future::ready(service.ok_or_else(|| Problem::forbidden("the caller cannot be identified")))
    }
}

/// The verified token of a request over TCP, for responses that outlive its verification.
#[derive(Clone)]
pub(super) struct PresentedToken(pub(super) Arc<str>);

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
    let change = (!only_looks(&request)).then(|| (request.method().clone(), request.path().to_owned()));
    match tokio::time::timeout(limit, next.call(request)).await {
        Ok(Ok(answer)) => {
            if let Some((method, path)) = change {
                log_refusal(&api, &answer, &method, &path);
            }
            Ok(answer.map_into_left_body())
        }
        Ok(Err(error)) => Err(error),
        Err(_) => Err(Problem::unavailable("the request took too long").into()),
    }
}

/// Changes that are made have audit records; those that are refused because of what is stored are in the log only.
fn log_refusal<B>(api: &Api, answer: &ServiceResponse<B>, method: &Method, path: &str) {
    let status = answer.status().as_u16();
    if [403, 409, 412, 422].contains(&status) {
        let who = answer.request().extensions().get::<Identity>().map(|identity| identity.actor().who);
        info!(api.pipeline().log(), "change refused"; "who" => who, "method" => method.as_str(), "path" => path,
            "status" => status);
    }
}

fn only_looks(request: &ServiceRequest) -> bool {
    [Method::GET, Method::HEAD, Method::OPTIONS].contains(request.method())
}

fn refuse<B>(request: ServiceRequest, problem: &Problem) -> ServiceResponse<EitherBody<B>> {
    request.into_response(problem.answer().map_into_right_body())
}

fn admit(request: &ServiceRequest, api: &Api) -> Result<Caller, Problem> {
    match request.conn_data::<Peer>().copied() {
        Some(Peer::Socket { uid: Some(uid) }) if uid == 0 || uid == rustix::process::geteuid().as_raw() => {
            // Another node has authorized its caller, who may be allowed to see less.
            let is_for_reader = request.headers().get(FORWARDED).is_some_and(|sees| sees == "read");
            let is_forwarded = request.headers().contains_key(FORWARDED);
            let forwarded = request.headers().get(FORWARDED).and(forwarded_actor(request.headers()));
            let identity = forwarded.map_or(Identity::Uid(uid), Identity::Forwarded);
            let who = Some(identity.actor().who);
            request.extensions_mut().insert(Browser { who, can_write: !is_for_reader, ..Browser::stranger() });
            request.extensions_mut().insert(identity);
            let scope = if is_for_reader { TokenScope::Read } else { TokenScope::Write };
            Ok(Caller { is_operator: !is_forwarded, ..Caller::with_scope(scope) })
        }
        Some(Peer::Tcp { address: Some(peer) }) => {
            let rules = api.access_rules.rules();
            let client = client_address(peer, request.headers(), &rules.trusted_proxies);
            let admitted = match is_page(request.path()) {
                true => {
                    admit_page(request, api, &rules, client, is_https(peer, request.headers(), &rules.trusted_proxies))
                }
                false => admit_tcp(request, api, &rules, client),
            };
            admitted.inspect_err(|problem| api.refusals.note(api, client, request.path(), problem))
        }
        Some(Peer::Socket { .. }) => Err(Problem::forbidden("the admin socket is for the daemon's own user")),
        _ => Err(Problem::forbidden("the caller cannot be identified")),
    }
}

fn admit_tcp(request: &ServiceRequest, api: &Api, rules: &AccessRules, client: IpAddr) -> Result<Caller, Problem> {
    if is_health_check(request.path()) {
        // Under any name: they reveal nothing, and change nothing.
        return Ok(Caller::with_scope(TokenScope::Read));
    }
    let now = api.service.now();
    let admits = |payer| api.rate.admits(payer, rules.requests_per_second, now);
    let given = presented(request);
    // Each verified token has its own rate. Until a token is verified, its requests count for the address, which slows
    // down guessing.
    let own = given.as_ref().map(|given| Payer::token(&given.token));
    let known = own.filter(|payer| api.rate.knows(*payer));
    if !admits(known.unwrap_or(Payer::Address(client))) {
        return Err(Problem::too_fast(1));
    }
    rules.host_names.check(request.method(), request.headers())?;
    let Some(verifier) = &rules.verifier else { return Err(Problem::unauthorized("no key is configured")) };
    let PresentedCredentials { token, scope_max } = given.ok_or_else(|| {
        Problem::unauthorized("send a token: Authorization: Bearer …, or Basic with the token as the password")
    })?;
    let verified = verifier.verify(&token, now).map_err(Problem::unauthorized)?;
    if let (Some(payer), None) = (own, known)
        && !admits(payer)
    {
        return Err(Problem::too_fast(1));
    }
    let scope = verified.scope.min(scope_max);
    if scope == TokenScope::Read && !only_looks(request) {
        return Err(Problem::forbidden("this needs a token with the scope write, sent as Bearer"));
    }
    request.extensions_mut().insert(Identity::Token { subject: verified.subject, address: client });
    request.extensions_mut().insert(PresentedToken(token.into()));
    Ok(Caller::with_scope(scope))
}

/// Admits a browser to the dashboard by its session. Forms are checked when they are read.
fn admit_page(
    request: &ServiceRequest,
    api: &Api,
    rules: &AccessRules,
    client: IpAddr,
    is_https: bool,
) -> Result<Caller, Problem> {
    let now = api.service.now();
    let secret = cookie(request.headers());
    let session = secret.as_deref().and_then(|secret| api.sessions.find(secret, api.service.uptime()));
    let payer = match (&session, &secret) {
        (Some(_), Some(secret)) => Payer::token(secret),
        _ => Payer::Address(client),
    };
    if !api.rate.admits(payer, rules.requests_per_second, now) {
        return Err(Problem::too_fast(1));
    }
    rules.host_names.check(request.method(), request.headers())?;
    let takes_tokens = rules.verifier.is_some();
    let mut browser = Browser { is_https, takes_tokens, ..Browser::stranger() };
    let signed_in = match session {
        Some(session) => sign_in(&session, rules, now, client).map(|(identity, scope)| (session, identity, scope)),
        None => Err(Problem::unauthorized("there is no session, or it has ended")),
    };
    let refused = match signed_in {
        Ok((session, identity, scope)) => {
            browser.who = Some(identity.actor().who);
            browser.can_write = scope == TokenScope::Write;
            browser.form_token = Some(session.form_token);
            request.extensions_mut().insert(identity);
            None
        }
        Err(problem) => Some(problem).filter(|_| !is_public(request.path())),
    };
    let can_change = browser.can_write || is_public(request.path()) || is_sign_out(request.path());
    request.extensions_mut().insert(browser);
    match refused {
        Some(problem) => Err(problem),
        None if !can_change && !only_looks(request) => Err(Problem::forbidden(READS_ONLY)),
        None => Ok(Caller::with_scope(TokenScope::Read)),
    }
}

/// Whether a request that was admitted would be admitted again.
pub(super) fn is_signed_in(api: &Api, request: &HttpRequest) -> bool {
    let peer = match request.conn_data::<Peer>() {
        Some(Peer::Tcp { address: Some(peer) }) => *peer,
        _ => return true,
    };
    let session = cookie(request.headers()).and_then(|secret| api.sessions.find(&secret, api.service.uptime()));
    let rules = api.access_rules.rules();
    session.is_some_and(|session| sign_in(&session, &rules, api.service.now(), peer).is_ok())
}

/// Who a session belongs to, as long as its token is valid.
fn sign_in(
    session: &BrowserSession,
    rules: &AccessRules,
    now: Timestamp,
    client: IpAddr,
) -> Result<(Identity, TokenScope), Problem> {
    match &session.holder {
        SessionHolder::Uid(uid) => Ok((Identity::Uid(*uid), TokenScope::Write)),
        SessionHolder::Token(token) => {
            let Some(verifier) = &rules.verifier else { return Err(Problem::unauthorized("no key is configured")) };
            let verified = verifier.verify(token, now).map_err(Problem::unauthorized)?;
            Ok((Identity::Token { subject: verified.subject, address: client }, verified.scope))
        }
    }
}

fn presented(request: &ServiceRequest) -> Option<PresentedCredentials> {
    credentials(request.headers().get(header::AUTHORIZATION)?.to_str().ok()?)
}
