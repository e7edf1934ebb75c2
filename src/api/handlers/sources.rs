//! Handlers for sources.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use actix_web::http::header::{ETAG, LOCATION};
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::json;

use super::super::guard::Caller;
use super::super::input::{Body, Parameters, cursor, expected_version, number, page_size};
use super::super::problem::Problem;
use super::super::views::{
    BulkBody, BulkReport, BulkResult, CreatedSource, LabelView, NewSourceBody, Page, PageQuery, SourceChanges,
    SourceQuery, SourceView,
};
use super::super::{Api, BASE};
use super::Answer;
use super::access::checked;
use super::podcasts::check_podcast;
use super::source_fields;
use super::source_settings::{changed, check_changes, checked_labels, settings};
use crate::actors::control::{Change, PollAnswer, PollOutcome, SourceFilter, SourceStatus, shown_url};
use crate::model::{RestCause, Source, SourceId, SourceSettings};
use crate::store::Added;

/// Maximum number of sources in a bulk request.
const BULK_MAX: usize = 1000;
/// Time to wait for a first poll.
const FIRST_POLL_WITHIN: Duration = Duration::from_secs(45);

pub(super) async fn list(api: web::Data<Api>, caller: Caller, query: Parameters<SourceQuery>) -> Answer {
    let Parameters(query) = query;
    let limit = page_size(query.limit)?;
    let after = cursor(query.cursor.as_deref())?.map(SourceId);
    let filter = filter(&api, &query)?;
    if let Some(url) = &query.url {
        let mut found = api.handle.sources_at(url).await?;
        // A match would confirm a guessed password to a client that may not see it.
        found.retain(|source| caller.sees_secrets || shown_url(&source.settings.url) == source.settings.url);
        let found = found.into_iter().map(|source| (api.handle.status(&source), source));
        let items = views(&api, caller, found.map(|(status, source)| (source, status)).collect()).await?;
        return Ok(HttpResponse::Ok().json(Page { items, next_cursor: None }));
    }
    let found = api.handle.find_sources(&filter, after, limit).await?;
    let next_cursor = found.next.map(|id| id.to_string());
    let items = views(&api, caller, found.sources).await?;
    Ok(HttpResponse::Ok().json(Page { items, next_cursor }))
}

fn filter(api: &Api, query: &SourceQuery) -> Result<SourceFilter, Problem> {
    let state = query.state.as_deref().map(str::parse::<SourceStatus>).transpose();
    let host = query
        .host
        .as_deref()
        .map(|name| api.handle.host_named(name).ok_or_else(|| Problem::invalid("not a host name").at("host")));
    Ok(SourceFilter {
        state: state.map_err(|error| Problem::invalid(error).at("state"))?,
        host: host.transpose()?,
        source_type: query.source_type,
        feed_active: query.feed_active,
        label: query.label.clone(),
        text: query.text.clone(),
    })
}

pub(super) async fn one(api: web::Data<Api>, caller: Caller, id: web::Path<String>) -> Answer {
    answer(&api, caller, SourceId(number(&id, "source")?)).await
}

/// Adds a source. Its first poll is the only request, and its result is stored (p08).
pub(super) async fn create(api: web::Data<Api>, caller: Caller, Body(body): Body<NewSourceBody>) -> Answer {
    let (settings, labels) = settings(&body)?;
    let access = body.access.map(|access| checked(access, settings.source_type, "access.")).transpose()?;
    check_podcast(&api, settings.podcast_id).await?;
    let lacks = api.handle.lacks(&settings).await?;
    if let (Some(lacks), true, false) = (&lacks, body.first_poll, body.anyway) {
        return Err(Problem::does_not_work(lacks).at("podcast_id"));
    }
    let (added, first_poll) = match body.first_poll {
        true => api.handle.add_and_poll(settings, labels, access, FIRST_POLL_WITHIN).await?,
        false => (api.handle.add_source(settings, labels, access).await?, None),
    };
    let id = match added {
        Added::New(id) => id,
        Added::Duplicate(id) => {
            let problem = Problem::duplicate(format!("source {id} has the same URL, type and podcast"));
            return Err(problem.at("url").with(json!({ "source_id": id.0 })));
        }
    };
    if let Some(PollAnswer::Done { poll }) = &first_poll
        && poll.outcome == PollOutcome::Failed
        && !body.anyway
    {
        // Remove the source if its first poll failed.
        api.handle.remove_source(id, None).await?;
        let error = poll.error.clone().unwrap_or_default();
        return Err(Problem::does_not_work(error).at("url").with(json!({ "poll": poll })));
    }
    let source = api.handle.store().source(id).await?;
    let source = source.ok_or_else(|| Problem::not_found(format!("source {id} was removed again")))?;
    let tag = format!("\"{}\"", source.version);
    let source = view(&api, caller, source).await?;
    Ok(HttpResponse::Created()
        .insert_header((LOCATION, format!("{BASE}/sources/{id}")))
        .insert_header((ETAG, tag))
        .json(CreatedSource { source, first_poll, lacks }))
}

pub(super) async fn bulk(api: web::Data<Api>, Body(body): Body<BulkBody>) -> Answer {
    if body.sources.len() > BULK_MAX {
        return Err(Problem::invalid(format!("at most {BULK_MAX} at once")).at("sources"));
    }
    let checked: Vec<_> = body.sources.iter().map(one_of_many).collect();
    let good = checked.iter().filter_map(|checked| checked.as_ref().ok().cloned()).collect();
    let mut added = api.handle.add_sources(good).await?.into_iter();
    let mut report = BulkReport::default();
    for checked in checked {
        let (outcome, id, error) = match (checked, &mut report) {
            (Err(problem), report) => {
                report.rejected += 1;
                ("rejected", None, Some(problem.to_string()))
            }
            (Ok(_), report) => match added.next() {
                Some(Added::New(id)) => {
                    report.added += 1;
                    ("added", Some(id), None)
                }
                Some(Added::Duplicate(id)) => {
                    report.duplicates += 1;
                    ("duplicate", Some(id), None)
                }
                None => return Err(Problem::internal("not everything was answered for")),
            },
        };
        report.results.push(BulkResult { outcome: outcome.to_owned(), id, error });
    }
    Ok(HttpResponse::Ok().json(report))
}

/// Sources of a bulk request take neither `first_poll` nor `access`.
fn one_of_many(body: &NewSourceBody) -> Result<(SourceSettings, Vec<String>), Problem> {
    let for_one = [("access", body.access.is_some()), ("first_poll", body.first_poll), ("anyway", body.anyway)];
    match for_one.iter().find(|(_, is_there)| *is_there) {
        Some((field, _)) => Err(Problem::invalid("not allowed in a bulk request").at(*field)),
        None => settings(body),
    }
}

pub(super) async fn update(
    api: web::Data<Api>,
    caller: Caller,
    request: HttpRequest,
    id: web::Path<String>,
    body: Result<Body<SourceChanges>, Problem>,
) -> Answer {
    let id = SourceId(number(&id, "source")?);
    let changes = source_fields::changes(body, id)?;
    let expected = expected_version(&request)?;
    let store = api.handle.store();
    let there = store.source(id).await?.ok_or_else(|| Problem::not_found(format!("there is no source {id}")))?;
    check_changes(&there.settings, &changes)?;
    check_podcast(&api, changes.podcast_id.flatten()).await?;
    let labels = changes.labels.as_deref().map(checked_labels).transpose()?;
    let change =
        |source: &Source| Change::Update { settings: changed(&source.settings, &changes), enabled: changes.enabled };
    api.handle.change_with_labels(id, expected, labels.as_deref(), change).await?;
    answer(&api, caller, id).await
}

pub(super) async fn remove(api: web::Data<Api>, request: HttpRequest, id: web::Path<String>) -> Answer {
    let id = SourceId(number(&id, "source")?);
    api.handle.remove_source(id, expected_version(&request)?).await?;
    Ok(HttpResponse::NoContent().finish())
}

pub(super) async fn labels(api: web::Data<Api>, Parameters(query): Parameters<PageQuery>) -> Answer {
    let limit = page_size(query.limit)?;
    let found = api.handle.store().list_labels(query.cursor.as_deref(), u32::try_from(limit).unwrap_or(1)).await?;
    let next_cursor = found.last().filter(|_| found.len() == limit).map(|(label, _)| label.clone());
    let items: Vec<_> = found.into_iter().map(|(label, sources)| LabelView { label, sources }).collect();
    Ok(HttpResponse::Ok().json(Page { items, next_cursor }))
}

pub(super) async fn answer(api: &Api, caller: Caller, id: SourceId) -> Answer {
    let source = api.handle.store().source(id).await?;
    let source = source.ok_or_else(|| Problem::not_found(format!("there is no source {id}")))?;
    let tag = format!("\"{}\"", source.version);
    Ok(HttpResponse::Ok().insert_header((ETAG, tag)).json(view(api, caller, source).await?))
}

async fn view(api: &Api, caller: Caller, source: Source) -> Result<SourceView, Problem> {
    let status = api.handle.status(&source);
    let views = views(api, caller, vec![(source, status)]).await?;
    views.into_iter().next().ok_or_else(|| Problem::internal("a source got lost"))
}

async fn views(api: &Api, caller: Caller, sources: Vec<(Source, SourceStatus)>) -> Result<Vec<SourceView>, Problem> {
    let ids: Vec<SourceId> = sources.iter().map(|(source, _)| source.id).collect();
    let store = api.handle.store();
    let mut labels: HashMap<SourceId, Vec<String>> = HashMap::new();
    for (id, label) in store.labels_of(ids.clone()).await? {
        labels.entry(id).or_default().push(label);
    }
    let with_access: HashSet<SourceId> = store.sources_with_access(ids).await?.into_iter().collect();
    let shown = |(source, status): (Source, SourceStatus)| {
        let labels = labels.remove(&source.id).unwrap_or_default();
        let host = api.handle.host_of(&source).map(|host| host.to_string());
        let has_access = with_access.contains(&source.id);
        let feed_disabled_until = api.handle.rest_until(&source);
        SourceView { labels, host, has_access, feed_disabled_until, ..show(source, status, caller) }
    };
    Ok(sources.into_iter().map(shown).collect())
}

/// A source without the fields that are not columns.
fn show(source: Source, status: SourceStatus, caller: Caller) -> SourceView {
    let Source { settings, state, .. } = source;
    let url = if caller.sees_secrets { settings.url } else { shown_url(&settings.url) };
    let (reason, by) = match state.rest.as_ref().map(|rest| &rest.cause) {
        None => (None, None),
        Some(RestCause::Failures(kind)) => (Some(kind.to_string()), Some("failures".to_owned())),
        Some(RestCause::Reported(kind)) => (Some(kind.to_string()), Some("person".to_owned())),
        Some(RestCause::Person(reason)) => (Some(reason.clone()), Some("person".to_owned())),
    };
    let last_polled = state.polled_at();
    let last = state.failures.last;
    SourceView {
        id: source.id,
        version: source.version,
        url,
        source_type: settings.source_type,
        title: settings.title,
        podcast_id: settings.podcast_id,
        poll_interval_minutes: settings.poll_interval_minutes,
        poll_delay_seconds: settings.poll_delay_seconds,
        max_failures: settings.max_failures,
        max_backoff_hours: settings.max_backoff_hours,
        labels: Vec::new(),
        has_access: false,
        host: None,
        state: status.to_string(),
        feed_active: status.is_feed_active(),
        enabled: state.enabled,
        disabled_reason: state.disabled_reason,
        feed_disabled_at: state.rest.as_ref().map(|rest| rest.since),
        feed_disable_reason: reason,
        feed_disabled_by: by,
        feed_disabled_until: None,
        created_at: source.created_at,
        updated_at: source.updated_at,
        first_polled_at: state.first_polled_at,
        last_polled,
        poll_requested_at: state.poll_requested_at,
        last_success_at: state.last_success_at,
        last_read_at: state.last_read_at,
        retry_after: state.hints.retry_after,
        fresh_until: state.hints.fresh_until,
        consecutive_failures: state.failures.consecutive,
        consecutive_permanent_failures: state.failures.consecutive_permanent,
        last_failure_type: last.as_ref().map(|last| last.class),
        last_error_type: last.as_ref().map(|last| last.kind),
        last_error: last.map(|last| last.error),
        moved_to: state.moved.map(|moved| moved.to),
    }
}
