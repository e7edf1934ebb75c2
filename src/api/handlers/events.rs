//! Endpoints for events.

use actix_web::http::Method;
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, web};

use super::super::Api;
use super::super::endpoint::Endpoint;
use super::super::input::{Parameters, cursor, page_size};
use super::super::problem::Problem;
use super::super::views::{EventList, EventQuery, EventStreamQuery, MissedEvents};
use super::HandlerResult;
use super::posts::source_there;
use super::stream::{StreamPage, Streamed, respond};
use crate::delivery::EventMessage;
use crate::model::{EventType, StreamEvent};
use crate::service::{EventFilter, FoundEvents};

/// Bytes of HTML that are sanitised on the thread of the request; more on a thread of its own.
const HTML_BYTES_AT_ONCE: usize = 64 * 1024;

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/events/stream", "Stream events as server-sent events", stream)
            .endless()
            .query::<EventStreamQuery>()
            .answers_text(
                "text/event-stream",
                "Events with their types as names and their numbers as ids; `missed` says that the clean-up removed \
                 events before they were sent; a last event `end` says why the daemon ends the stream",
            )
            .refuses(404, "No such source"),
        Endpoint::new(Method::GET, "/events", "List events in the order of their numbers", list)
            .query::<EventQuery>()
            .answers::<EventList<'static>>(200, "Page of events")
            .refuses(404, "No such source"),
    ]
}

async fn list(api: web::Data<Api>, Parameters(query): Parameters<EventQuery>) -> HandlerResult {
    let source = source_there(&api, query.source_id).await?;
    let limit = page_size(query.limit)?;
    let filter = EventFilter { types: types(query.types.as_deref())?, source, label: query.label, since: query.since };
    let after = match (cursor(query.cursor.as_deref())?.or(query.after), query.since) {
        (Some(number), _) => number,
        (None, Some(since)) => api.service.event_number_before(since).await?,
        (None, None) => 0,
    };
    let found = api.service.events(&filter, after, u32::try_from(limit).unwrap_or(u32::MAX)).await?;
    let page = in_place_or_apart(found, |found| {
        let page = EventList {
            next_cursor: found.has_more.then(|| found.reached.to_string()),
            reached: found.reached,
            removed_up_to: found.removed_up_to,
            items: messages(found),
        };
        serde_json::to_string(&page).unwrap_or_default()
    });
    Ok(HttpResponse::Ok().content_type("application/json").body(page.await?))
}

async fn stream(
    api: web::Data<Api>,
    request: HttpRequest,
    Parameters(query): Parameters<EventStreamQuery>,
) -> HandlerResult {
    let source = source_there(&api, query.source_id).await?;
    let filter = EventFilter { types: types(query.types.as_deref())?, source, label: query.label, since: None };
    respond(api, &request, Streamed::Events(filter), query.after).await
}

/// The next events of a stream.
pub(super) async fn next_events(api: &Api, filter: &EventFilter, after: i64, rows: u32) -> Option<StreamPage> {
    let found = api.service.events(filter, after, rows).await.ok()?;
    let (has_more, removed) = (found.has_more, found.removed_up_to);
    let reached = found.reached.max(removed.unwrap_or(0));
    let events = in_place_or_apart(found, |found| {
        let missed = found.removed_up_to.map(|removed_up_to| {
            let data = serde_json::to_string(&MissedEvents { removed_up_to }).unwrap_or_default();
            format!("event: missed\ndata: {data}\n\n")
        });
        let events = messages(found).into_iter().map(|message| {
            format!("id: {}\nevent: {}\ndata: {}\n\n", message.data.number, message.event_type, message.to_json())
        });
        missed.into_iter().chain(events).collect::<String>()
    });
    let events = events.await.ok()?;
    Some(StreamPage { events: (!events.is_empty()).then(|| Bytes::from(events)), reached, has_more })
}

fn messages(found: &FoundEvents) -> Vec<EventMessage<'_>> {
    let source = |event: &StreamEvent| event.source_id().and_then(|id| found.sources.get(&id));
    found.events.iter().map(|event| EventMessage::new(event, source(event))).collect()
}

/// Writes events; those with much HTML, which is sanitised, on a thread of its own.
async fn in_place_or_apart(
    found: FoundEvents,
    write: impl FnOnce(&FoundEvents) -> String + Send + 'static,
) -> Result<String, Problem> {
    let html = found.events.iter().filter_map(|event| event.post()?.content.html.as_ref());
    match html.map(String::len).sum::<usize>() <= HTML_BYTES_AT_ONCE {
        true => Ok(write(&found)),
        false => web::block(move || write(&found)).await.map_err(Problem::internal),
    }
}

/// The types in a query.
fn types(names: Option<&str>) -> Result<Vec<EventType>, Problem> {
    let names = names.into_iter().flat_map(|names| names.split(',')).map(str::trim).filter(|name| !name.is_empty());
    names.map(|name| name.parse().map_err(|error| Problem::invalid(error).at("type"))).collect()
}
