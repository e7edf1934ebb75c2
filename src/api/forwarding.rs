//! Requests that another node of the fleet answers: about sources and hosts whose owner it is, since only the owner has
//! their turns and their polls in memory, and those that name a node (`?node=`).
//!
//! The other node makes the request to itself, over its admin socket, so it is handled like any other.

use std::path::{Path, PathBuf};
use std::time::Duration;

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::header::{CONTENT_TYPE, ETAG, HOST, HeaderMap, IF_MATCH, LOCATION};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, HttpResponse, web};
use futures_util::StreamExt;
use hyper::body::Body;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use url::form_urlencoded;

use super::guard::{Caller, Peer, actor_of};
use super::problem::Problem;
use super::{Api, BASE};
use crate::actors::{FleetAnswer, FleetRequest, IncomingCall};
use crate::model::{Actor, Receiver, Shard, SourceId};

/// Header of a request that another node forwarded; its value is what its caller may see.
pub(super) const FORWARDED: &str = "feedwarden-forwarded";
/// Header of a forwarded request: who it is made by, as JSON.
const FORWARDED_ACTOR: &str = "feedwarden-actor";
/// Header of an answer of another node: its name.
const ANSWERED_BY: &str = "feedwarden-node";
/// The largest body of a forwarded request and of its answer.
const BODY_BYTES_MAX: usize = 1 << 20;
/// What is left of the time for the answer when a node stops waiting for another one.
const MARGIN: Duration = Duration::from_secs(2);

/// Has the right node answer a request.
pub(super) async fn forward<B: MessageBody + 'static>(
    mut request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, Error> {
    let Some(api) = request.app_data::<web::Data<Api>>().cloned() else {
        return next.call(request).await.map(ServiceResponse::map_into_left_body);
    };
    let is_forwarded =
        matches!(request.conn_data::<Peer>(), Some(Peer::Socket { .. })) && request.headers().contains_key(FORWARDED);
    if !api.pipeline().fleet().is_shared() || is_forwarded {
        return next.call(request).await.map(ServiceResponse::map_into_left_body);
    }
    let answer = match receiver(&api, &mut request).await {
        Ok(None) => return next.call(request).await.map(ServiceResponse::map_into_left_body),
        Ok(Some(receiver)) => ask(&api, receiver, &mut request).await,
        Err(problem) => Err(problem),
    };
    let answer = answer.unwrap_or_else(|problem| problem.answer());
    Ok(request.into_response(answer.map_into_right_body()))
}

/// The node that answers a request; none if this one does.
async fn receiver(api: &Api, request: &mut ServiceRequest) -> Result<Option<Receiver>, Problem> {
    if let Some(name) = take_node(request) {
        return named(api, &name).await;
    }
    let Some(shard) = shard_of(api, request).await else { return Ok(None) };
    let fleet = api.pipeline().fleet();
    if fleet.owns(shard) {
        return Ok(None);
    }
    let record = match fleet.record().await {
        Some(Ok(record)) => record,
        // This node can do without the others.
        Some(Err(_)) | None => return Ok(None),
    };
    let owner = record.owners.get(usize::from(shard.0)).copied().flatten();
    // Without an owner the row is written here, and the next owner reads it.
    Ok(owner.filter(|owner| Some(*owner) != fleet.node()).map(|_| Receiver::Shard(shard)))
}

async fn named(api: &Api, name: &str) -> Result<Option<Receiver>, Problem> {
    let fleet = api.pipeline().fleet();
    if fleet.name() == Some(name) {
        return Ok(None);
    }
    let record = match fleet.record().await {
        Some(record) => record.map_err(|error| Problem::unavailable(error.to_string()))?,
        None => return Ok(None),
    };
    let live: Vec<_> = record.nodes.iter().filter(|node| node.ended_at.is_none()).collect();
    match live.iter().find(|node| node.name == name) {
        Some(node) => Ok(Some(Receiver::Node(node.id))),
        None => {
            let names: Vec<&str> = live.iter().map(|node| node.name.as_str()).collect();
            let detail = format!("no live node is named {name:?}; there are: {}", names.join(", "));
            Err(Problem::not_found(detail).at("node"))
        }
    }
}

/// The shard whose owner knows the answer, if not every node does.
async fn shard_of(api: &Api, request: &mut ServiceRequest) -> Option<Shard> {
    let path = request.path().strip_prefix(BASE)?.to_owned();
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match (request.method().as_str(), parts.as_slice()) {
        ("POST", ["sources", id, "poll" | "backfill"]) | ("GET" | "HEAD", ["sources", id, "explain"]) => {
            api.service.shard_of_source(SourceId(id.parse().ok()?)).await
        }
        ("GET" | "HEAD", ["hosts", host] | ["hosts", host, "requests"])
        | ("POST", ["hosts", host, "hold" | "release" | "reset-breaker"]) => {
            api.service.shard_of_host(&percent_decoded(host))
        }
        ("POST", ["sources"]) => shard_of_new_source(api, request).await,
        _ => None,
    }
}

/// A source whose first poll is waited for is added by the node that polls it.
async fn shard_of_new_source(api: &Api, request: &mut ServiceRequest) -> Option<Shard> {
    let body = read_body(request).await?;
    request.set_payload(payload(&body));
    let value: serde_json::Value = serde_json::from_slice(&body).ok()?;
    if value.get("first_poll") != Some(&serde_json::Value::Bool(true)) {
        return None;
    }
    let type_name = value.get("type").and_then(|name| name.as_str());
    api.service.shard_of_new_source(value.get("url")?.as_str()?, type_name)
}

/// The node that the query names, without which the request goes on.
fn take_node(request: &mut ServiceRequest) -> Option<String> {
    let query = request.query_string().to_owned();
    let pairs = || form_urlencoded::parse(query.as_bytes());
    let (_, node) = pairs().find(|(name, _)| name == "node")?;
    let others = pairs().filter(|(name, _)| name != "node");
    let rest = form_urlencoded::Serializer::new(String::new()).extend_pairs(others).finish();
    let path = request.path().to_owned();
    let uri = if rest.is_empty() { path } else { format!("{path}?{rest}") };
    let uri: actix_web::http::Uri = uri.parse().ok()?;
    request.head_mut().uri = uri.clone();
    request.match_info_mut().get_mut().update(&uri);
    Some(node.into_owned())
}

async fn ask(api: &Api, receiver: Receiver, request: &mut ServiceRequest) -> Result<HttpResponse, Problem> {
    if request.method() == Method::HEAD {
        return Err(Problem::invalid("another node answers this: send GET instead of HEAD"));
    }
    let Some(body) = read_body(request).await else {
        return Err(Problem::invalid(format!("a request to another node has at most {BODY_BYTES_MAX} bytes")));
    };
    let body = String::from_utf8(body.to_vec()).map_err(|_| Problem::invalid("the body is not UTF-8"))?;
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let sees_secrets = request.extensions().get::<Caller>().is_some_and(|caller| caller.sees_secrets);
    let forwarded = FleetRequest {
        method: request.method().to_string(),
        path: request.uri().path_and_query().map(ToString::to_string).unwrap_or_default(),
        content_type: header(CONTENT_TYPE),
        body,
        if_match: header(IF_MATCH),
        sees_secrets,
        actor: actor_of(request),
    };
    let within = api.limits.answer_within.saturating_sub(MARGIN);
    let answer = api.pipeline().fleet().call(receiver, forwarded, within).await;
    answer.map(into_response).map_err(|error| Problem::unavailable(error.to_string()))
}

fn into_response(answer: FleetAnswer) -> HttpResponse {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let mut response = HttpResponse::build(status);
    for (name, value) in [(CONTENT_TYPE, answer.content_type), (ETAG, answer.etag), (LOCATION, answer.location)] {
        if let Some(value) = value {
            response.insert_header((name, value));
        }
    }
    response.insert_header((ANSWERED_BY, answer.node)).body(answer.body)
}

/// Who a forwarded request is made by. Only the daemon's own user and root can use the socket, so the header is trusted.
pub(super) fn forwarded_actor(headers: &HeaderMap) -> Option<Actor> {
    serde_json::from_str(headers.get(FORWARDED_ACTOR)?.to_str().ok()?).ok()
}

/// JSON that is allowed in a header.
fn ascii_json(actor: &Actor) -> Result<String, serde_json::Error> {
    let json = serde_json::to_string(actor)?;
    let mut text = String::with_capacity(json.len());
    for unit in json.encode_utf16() {
        match u8::try_from(unit).ok().filter(u8::is_ascii) {
            Some(byte) => text.push(char::from(byte)),
            None => text.push_str(&format!("\\u{unit:04x}")),
        }
    }
    Ok(text)
}

/// The whole body, if it is not too large.
async fn read_body(request: &mut ServiceRequest) -> Option<web::Bytes> {
    let mut payload = request.take_payload();
    let mut body = web::BytesMut::new();
    while let Some(piece) = payload.next().await {
        body.extend_from_slice(&piece.ok()?);
        if body.len() > BODY_BYTES_MAX {
            return None;
        }
    }
    Some(body.freeze())
}

fn payload(body: &web::Bytes) -> Payload {
    let (_, mut payload) = actix_http::h1::Payload::create(true);
    payload.unread_data(body.clone());
    payload.into()
}

fn percent_decoded(part: &str) -> String {
    // A plus sign stands for itself in a path.
    let pair = format!("={}", part.replace('+', "%2B"));
    form_urlencoded::parse(pair.as_bytes()).next().map(|(_, value)| value.into_owned()).unwrap_or_default()
}

/// Answers the requests of other nodes, until the receiver ends.
pub async fn answer_calls(socket: PathBuf, node: String, mut calls: mpsc::Receiver<IncomingCall>, within: Duration) {
    while let Some(call) = calls.recv().await {
        let (socket, node) = (socket.clone(), node.clone());
        actix_rt::spawn(async move {
            let asked = tokio::time::timeout(within, ask_self(&socket, &call.request)).await;
            let mut answer = match asked {
                Ok(Ok(answer)) => answer,
                Ok(Err(error)) => refusal(&error),
                Err(_) => refusal("the request took too long"),
            };
            answer.node = node;
            call.answer(answer);
        });
    }
}

fn refusal(error: &str) -> FleetAnswer {
    let problem = Problem::unavailable(error);
    FleetAnswer {
        node: String::new(),
        status: 503,
        content_type: Some("application/problem+json".to_owned()),
        etag: None,
        location: None,
        body: problem.json().to_string(),
    }
}

async fn ask_self(socket: &Path, forwarded: &FleetRequest) -> Result<FleetAnswer, String> {
    // The socket is closed first when a node stops.
    let stopping =
        |error| format!("the node that has it is stopping ({error}); another one has it in a moment: try again");
    let stream = UnixStream::connect(socket).await.map_err(stopping)?;
    let failed = |error: hyper::Error| error.to_string();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
    // It ends with the response.
    tokio::spawn(connection);
    let sees = if forwarded.sees_secrets { "write" } else { "read" };
    let mut request = hyper::Request::builder()
        .method(forwarded.method.as_str())
        .uri(&forwarded.path)
        .header(HOST.as_str(), "localhost")
        .header(FORWARDED, sees);
    if let Some(actor) = forwarded.actor.as_ref().and_then(|actor| ascii_json(actor).ok()) {
        request = request.header(FORWARDED_ACTOR, actor);
    }
    for (name, value) in [(CONTENT_TYPE, &forwarded.content_type), (IF_MATCH, &forwarded.if_match)] {
        if let Some(value) = value {
            request = request.header(name.as_str(), value);
        }
    }
    let request = request.body(forwarded.body.clone()).map_err(|error| error.to_string())?;
    let response = sender.send_request(request).await.map_err(failed)?;
    let (head, mut body) = response.into_parts();
    let mut bytes = Vec::new();
    while let Some(frame) = std::future::poll_fn(|context| std::pin::Pin::new(&mut body).poll_frame(context)).await {
        if let Ok(data) = frame.map_err(failed)?.into_data() {
            bytes.extend_from_slice(&data);
        }
        if bytes.len() > BODY_BYTES_MAX {
            return Err(format!("the answer has more than {BODY_BYTES_MAX} bytes: ask that node directly"));
        }
    }
    let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    Ok(FleetAnswer {
        node: String::new(),
        status: head.status.as_u16(),
        content_type: header("content-type"),
        etag: header("etag"),
        location: header("location"),
        body: String::from_utf8(bytes).map_err(|_| "the answer is not UTF-8".to_owned())?,
    })
}
