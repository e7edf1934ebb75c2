//! Streams of posts and of events as server-sent events, which continue after the last received one without gaps or
//! repeats.
//!
//! A stream buffers one small batch and reads the next one when its client has received it, so a slow client costs only
//! its connection. A stream over TCP is open as long as its token is valid: it ends when the token expires and when new
//! keys or a new audience do not accept it any more.

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::Method;
use actix_web::web::{self, Bytes};
use actix_web::{HttpMessage, HttpRequest, HttpResponse};
use futures_util::stream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::watch;

use super::super::Api;
use super::super::access_rules::AccessRules;
use super::super::endpoint::Endpoint;
use super::super::guard::PresentedToken;
use super::super::input::Parameters;
use super::super::problem::Problem;
use super::super::tokens::TokenError;
use super::super::views::{PostView, STREAM_END, StreamEnd, StreamQuery};
use super::HandlerResult;
use super::events::next_events;
use super::posts::{source_there, views};
use crate::clock::Stopwatch;
use crate::model::SourceId;
use crate::service::EventFilter;
use crate::store::PostSelection;

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/posts/stream", "Stream new and changed posts as server-sent events", posts)
            .endless()
            .query::<StreamQuery>()
            .answers_text(
                "text/event-stream",
                "Events `post` (new) and `post-updated` (changed), with the change number as event id; a last event \
                 `end` says why the daemon ends the stream",
            )
            .refuses(404, "No such source"),
    ]
}

const BATCH: u32 = 16;
/// Minimum time between two reads of a stream without new posts, so that many clients do not overload the store.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// Interval of keep-alive comments, and of reads for posts of other nodes.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// What a stream sends.
pub(super) enum Streamed {
    /// New and changed posts, of one source or of all.
    Posts(Option<SourceId>),
    Events(EventFilter),
}

/// What a stream sends next.
pub(super) struct StreamPage {
    /// None if there is nothing to send.
    pub(super) events: Option<Bytes>,
    /// Everything up to this number was sent or is not wanted.
    pub(super) reached: i64,
    pub(super) has_more: bool,
}

struct ApiStream {
    api: web::Data<Api>,
    streamed: Streamed,
    /// Everything up to this number was sent or is not wanted.
    after: i64,
    arrivals: watch::Receiver<u64>,
    /// None on the admin socket.
    token: Option<PresentedToken>,
    rules: watch::Receiver<Arc<AccessRules>>,
    has_begun: bool,
    has_ended: bool,
    /// When the stream last had no more posts.
    caught_up: Option<Stopwatch>,
    _place: OwnedSemaphorePermit,
}

async fn posts(api: web::Data<Api>, request: HttpRequest, Parameters(query): Parameters<StreamQuery>) -> HandlerResult {
    let source = source_there(&api, query.source_id).await?;
    respond(api, &request, Streamed::Posts(source), query.after).await
}

/// Opens a stream.
pub(super) async fn respond(
    api: web::Data<Api>,
    request: &HttpRequest,
    streamed: Streamed,
    after: Option<i64>,
) -> HandlerResult {
    let place = api.streams.clone().try_acquire_owned();
    let place = place.map_err(|_| Problem::unavailable("too many streams are open (api.streams-max)"))?;
    // Subscribe before the first read, so that no post is missed.
    let arrivals = api.service.new_posts();
    let after = match last_event_id(request)?.or(after) {
        Some(number) => number,
        None => api.service.last_change_number().await?,
    };
    let token = request.extensions().get::<PresentedToken>().cloned();
    let rules = api.access_rules.changes();
    let (has_begun, has_ended, caught_up) = (false, false, None);
    let reader =
        ApiStream { api, streamed, after, arrivals, token, rules, has_begun, has_ended, caught_up, _place: place };
    let events = stream::unfold(reader, |mut reader| async move {
        let bytes = reader.next().await?;
        Some((Ok::<_, actix_web::Error>(bytes), reader))
    });
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(events))
}

fn last_event_id(request: &HttpRequest) -> Result<Option<i64>, Problem> {
    let Some(value) = request.headers().get("Last-Event-ID") else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.trim().parse::<i64>().ok()).filter(|number| *number >= 0);
    number
        .map(Some)
        .ok_or_else(|| Problem::invalid("send the id of the last event as it was given").at("Last-Event-ID"))
}

impl ApiStream {
    /// Shorter than the time limit for stalled connections.
    fn heartbeat(&self) -> Duration {
        HEARTBEAT.min(self.api.limits.answer_within / 4)
    }

    async fn page(&self, rows: u32) -> Option<StreamPage> {
        match &self.streamed {
            Streamed::Posts(source) => next_posts(&self.api, *source, self.after, rows).await,
            Streamed::Events(filter) => next_events(&self.api, filter, self.after, rows).await,
        }
    }

    /// The next events, or a keep-alive comment; after the last event, none.
    async fn next(&mut self) -> Option<Bytes> {
        if self.has_ended {
            return None;
        }
        if !self.has_begun {
            self.has_begun = true;
            // In a comment: a client that gets no post before the connection ends can go on from here.
            return Some(format!(": welcome {}\n\n", self.after).into());
        }
        match self.events().await {
            Ok(events) => Some(events),
            Err(end) => {
                self.has_ended = true;
                Some(
                    format!("event: {STREAM_END}\ndata: {}\n\n", serde_json::to_string(&end).unwrap_or_default())
                        .into(),
                )
            }
        }
    }

    /// How long the token allows the stream; without end on the admin socket.
    fn time_left(&mut self) -> Result<Duration, StreamEnd> {
        let Some(PresentedToken(token)) = &self.token else { return Ok(Duration::MAX) };
        let (now, rules) = (self.api.service.now(), self.rules.borrow_and_update().clone());
        let verified = match &rules.verifier {
            Some(verifier) => verifier.verify(token, now),
            None => Err(TokenError::Token("no key is configured")),
        };
        verified.map(|verified| verified.ends_at.since(now)).map_err(|error| StreamEnd::token(&error))
    }

    async fn events(&mut self) -> Result<Bytes, StreamEnd> {
        loop {
            // Before every read, so that nothing is sent that the token does not allow any more.
            let left = self.time_left()?;
            if let Some(since) = self.caught_up.take() {
                tokio::time::sleep(LOOK_AGAIN.saturating_sub(since.elapsed())).await;
            }
            self.arrivals.borrow_and_update();
            // If it fails, the client reconnects and continues after its last event.
            let page = self.page(BATCH).await.ok_or_else(StreamEnd::unavailable)?;
            if !page.has_more {
                self.caught_up = Some(Stopwatch::start());
            }
            self.after = page.reached;
            if let Some(events) = page.events {
                return Ok(events);
            }
            if page.has_more {
                continue;
            }
            let heartbeat = self.heartbeat();
            tokio::select! {
                arrived = self.arrivals.changed() => arrived.map_err(|_| StreamEnd::shutting_down())?,
                // The token is verified again.
                _ = self.rules.changed() => {}
                () = tokio::time::sleep(heartbeat.min(left)) => {
                    let is_still_valid = self.time_left().is_ok();
                    // Posts of other nodes cause no notification here, so read regularly.
                    if is_still_valid && self.page(1).await.is_some_and(|page| page.events.is_none() && !page.has_more) {
                        return Ok(Bytes::from_static(b": still here\n\n"));
                    }
                }
            }
        }
    }
}

/// The next posts of a stream.
async fn next_posts(api: &Api, source: Option<SourceId>, after: i64, rows: u32) -> Option<StreamPage> {
    let page = api.service.posts(PostSelection::Changes { source, after }, rows).await.ok()?;
    let (reached, has_more) = (page.posts.last().map_or(after, |last| last.change_number), page.has_more);
    let views = views(api, page.posts).await.ok()?;
    let events = (!views.is_empty()).then(|| views.iter().map(event).collect::<String>().into());
    Some(StreamPage { events, reached, has_more })
}

fn event(post: &PostView) -> String {
    let data = serde_json::to_string(post).unwrap_or_default();
    let name = if post.change_number == post.id.0 { "post" } else { "post-updated" };
    format!("id: {}\nevent: {name}\ndata: {data}\n\n", post.change_number)
}
