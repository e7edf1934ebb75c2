//! Endpoints for sources.

use actix_web::http::Method;
use actix_web::http::header::{ETAG, LOCATION};
use actix_web::{HttpRequest, HttpResponse, web};

use super::super::endpoint::Endpoint;
use super::super::guard::{Caller, CallerService};
use super::super::input::{JsonBody, Parameters, cursor, expected_version, number, page, page_size, rows};
use super::super::overview::overview;
use super::super::problem::Problem;
use super::super::views::{
    BulkBody, BulkReport, BulkResult, CreatedSource, LabelView, NewSourceBody, Page, PageQuery, SilentSourcesView,
    SourceChanges, SourcePage, SourceQuery, SourceView,
};
use super::super::{Api, BASE};
use super::{HandlerResult, source_fields};
use crate::model::SourceId;
use crate::rules::shown_url::shown_url;
use crate::rules::status::SourceStatus;
use crate::service::{
    FirstPoll, NewSourceRequest, SourceDetails, SourceFilter, SourcePatch, SourceSort, SourceSortKey,
};
use crate::store::Added;

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/sources", "List sources", list)
            .query::<SourceQuery>()
            .answers::<SourcePage>(200, "Page of sources"),
        Endpoint::new(Method::POST, "/sources", "Add a source, optionally with a first poll", create)
            .body::<NewSourceBody>()
            .answers::<CreatedSource>(201, "Source added")
            .refuses(409, "Source exists already; context.source_id names it")
            .refuses(
                422,
                "First poll failed, source not added; context contains the poll and the feeds that a page links to",
            ),
        Endpoint::new(Method::POST, "/sources/bulk", "Add many sources", bulk)
            .body::<BulkBody>()
            .answers::<BulkReport>(200, "Outcome for each source"),
        Endpoint::new(Method::GET, "/sources/silent", "List sources that publish nothing new", silent)
            .answers::<SilentSourcesView>(200, "The longest silent sources; counted anew once in a while")
            .refuses(503, "Not counted yet"),
        Endpoint::new(Method::GET, "/sources/{id}", "Get a source", one)
            .answers::<SourceView>(200, "Source with its current state")
            .refuses(404, "No such source"),
        Endpoint::new(Method::PATCH, "/sources/{id}", "Change settings of a source, enable or disable it", update)
            .body::<SourceChanges>()
            .answers::<SourceView>(200, "Source with its current state")
            .refuses(400, "Invalid field; for one that another endpoint changes, context names its method and path")
            .refuses(404, "No such source")
            .versioned(),
        Endpoint::new(Method::DELETE, "/sources/{id}", "Remove a source with its posts", remove)
            .answers_nothing("Source removed")
            .refuses(404, "No such source")
            .versioned(),
        Endpoint::new(Method::GET, "/labels", "List labels", labels)
            .query::<PageQuery>()
            .answers::<Page<LabelView>>(200, "Page of labels"),
    ]
}

/// Maximum number of sources in a bulk request.
const BULK_MAX: usize = 1000;

async fn list(api: web::Data<Api>, caller: Caller, query: Parameters<SourceQuery>) -> HandlerResult {
    let Parameters(query) = query;
    let limit = page_size(query.limit)?;
    let position = cursor(query.cursor.as_deref())?;
    let filter = filter(&api, &query)?;
    let (sources, next, is_incomplete) = match (&query.url, sort(&query)?) {
        (Some(url), _) => {
            let mut found = api.service.sources_with_url(url).await?;
            // A match would confirm a guessed password to a client that may not see it.
            found.retain(|source| caller.sees_secrets || shown_url(&source.settings.url) == source.settings.url);
            (api.service.details(found).await?, None, false)
        }
        (None, None) => {
            let found = api.service.find_sources(&filter, position.map(SourceId), limit).await?;
            (found.sources, found.next.map(|id| id.0), false)
        }
        (None, Some(sort)) => {
            let offset = usize::try_from(position.unwrap_or(0)).unwrap_or(usize::MAX);
            let found = api.service.sorted_sources(&filter, sort, offset, limit).await?;
            let next = found.has_more.then(|| i64::try_from(offset + limit).unwrap_or(i64::MAX));
            (found.sources, next, found.is_incomplete)
        }
    };
    let items: Vec<_> = sources.into_iter().map(|source| SourceView::new(source, caller.sees_secrets)).collect();
    let next_cursor = next.map(|position| position.to_string());
    Ok(HttpResponse::Ok().json(SourcePage { items, next_cursor, is_incomplete }))
}

async fn silent(api: web::Data<Api>, caller: Caller) -> HandlerResult {
    let counts = overview(&api).await.ok_or_else(|| Problem::unavailable("the sources are not counted yet"))?;
    Ok(HttpResponse::Ok().json(SilentSourcesView::new(counts.silent, caller.sees_secrets)))
}

/// The order of the list; none for that of the ids, which needs no sorting.
fn sort(query: &SourceQuery) -> Result<Option<SourceSort>, Problem> {
    let Some(text) = query.sort.as_deref() else { return Ok(None) };
    let (name, descending) = text.strip_prefix('-').map_or((text, false), |name| (name, true));
    let key = match name {
        "id" => SourceSortKey::Id,
        "url" => SourceSortKey::Url,
        "title" => SourceSortKey::Title,
        "state" => SourceSortKey::State,
        "last_polled" => SourceSortKey::LastPolled,
        "failures" => SourceSortKey::Failures,
        "next_poll" => SourceSortKey::NextPoll,
        _ => {
            let names = "id, url, title, state, last_polled, failures or next_poll";
            return Err(Problem::invalid(format!("write {names}, with - in front for descending")).at("sort"));
        }
    };
    Ok(Some(SourceSort { key, descending }).filter(|sort| *sort != SourceSort::default()))
}

pub(super) fn filter(api: &Api, query: &SourceQuery) -> Result<SourceFilter, Problem> {
    let state = query.state.as_deref().map(str::parse::<SourceStatus>).transpose();
    let key = |name| api.service.host_key(name).ok_or_else(|| Problem::invalid("not a host name").at("host"));
    Ok(SourceFilter {
        state: state.map_err(|error| Problem::invalid(error).at("state"))?,
        host: query.host.as_deref().map(key).transpose()?,
        source_type: query.source_type,
        feed_active: query.feed_active,
        label: query.label.clone(),
        failure: query.failure,
        text: query.text.clone(),
    })
}

async fn one(api: web::Data<Api>, caller: Caller, id: web::Path<String>) -> HandlerResult {
    let id = SourceId(number(&id, "source")?);
    Ok(answer(caller, api.service.source_details(id).await?))
}

async fn create(
    CallerService(service): CallerService,
    caller: Caller,
    JsonBody(body): JsonBody<NewSourceBody>,
) -> HandlerResult {
    let first_poll = match (body.first_poll, body.anyway) {
        (false, _) => FirstPoll::NotAwaited,
        (true, true) => FirstPoll::Awaited,
        (true, false) => FirstPoll::MustSucceed,
    };
    let added = service.add_source(body.into(), first_poll).await?;
    let source = &added.source.source;
    let location = (LOCATION, format!("{BASE}/sources/{}", source.id));
    let tag = (ETAG, format!("\"{}\"", source.version));
    let created = CreatedSource::new(added, caller.sees_secrets);
    Ok(HttpResponse::Created().insert_header(location).insert_header(tag).json(created))
}

async fn bulk(CallerService(service): CallerService, JsonBody(body): JsonBody<BulkBody>) -> HandlerResult {
    if body.sources.len() > BULK_MAX {
        return Err(Problem::invalid(format!("at most {BULK_MAX} at once")).at("sources"));
    }
    let checked: Vec<Result<NewSourceRequest, Problem>> = body.sources.into_iter().map(one_of_many).collect();
    let requests: Vec<_> = checked.iter().filter_map(|checked| checked.as_ref().ok().cloned()).collect();
    let mut added = service.add_many(&requests).await?.into_iter();
    let mut report = BulkReport::default();
    for checked in checked {
        let outcome = match checked {
            Err(problem) => Err(problem),
            Ok(_) => match added.next() {
                Some(added) => added.map_err(Problem::from),
                None => return Err(Problem::internal("not everything was answered for")),
            },
        };
        report.results.push(counted(outcome, &mut report.added, &mut report.duplicates, &mut report.rejected));
    }
    Ok(HttpResponse::Ok().json(report))
}

fn counted(
    outcome: Result<Added, Problem>,
    added: &mut usize,
    duplicates: &mut usize,
    rejected: &mut usize,
) -> BulkResult {
    let (counter, outcome, id, error) = match outcome {
        Ok(Added::New(id)) => (added, "added", Some(id), None),
        Ok(Added::Duplicate(id)) => (duplicates, "duplicate", Some(id), None),
        Err(problem) => (rejected, "rejected", None, Some(problem.to_string())),
    };
    *counter += 1;
    BulkResult { outcome: outcome.to_owned(), id, error }
}

/// Sources of a bulk request take neither `first_poll` nor `access`.
fn one_of_many(body: NewSourceBody) -> Result<NewSourceRequest, Problem> {
    let for_one = [("access", body.access.is_some()), ("first_poll", body.first_poll), ("anyway", body.anyway)];
    match for_one.iter().find(|(_, is_there)| *is_there) {
        Some((field, _)) => Err(Problem::invalid("not allowed in a bulk request").at(*field)),
        None => Ok(body.into()),
    }
}

async fn update(
    CallerService(service): CallerService,
    caller: Caller,
    request: HttpRequest,
    id: web::Path<String>,
    body: Result<JsonBody<SourceChanges>, Problem>,
) -> HandlerResult {
    let id = SourceId(number(&id, "source")?);
    let patch = SourcePatch::from(source_fields::changes(body, id)?);
    Ok(answer(caller, service.patch_source(id, expected_version(&request)?, &patch).await?))
}

async fn remove(CallerService(service): CallerService, request: HttpRequest, id: web::Path<String>) -> HandlerResult {
    let id = SourceId(number(&id, "source")?);
    service.remove_source(id, expected_version(&request)?).await?;
    Ok(HttpResponse::NoContent().finish())
}

async fn labels(api: web::Data<Api>, Parameters(query): Parameters<PageQuery>) -> HandlerResult {
    let limit = page_size(query.limit)?;
    let found = api.service.labels(query.cursor.as_deref(), rows(limit)).await?;
    let view = |(label, sources)| LabelView { label, sources };
    Ok(HttpResponse::Ok().json(page(found, limit, |(label, _)| label.clone(), view)))
}

/// A source with its ETag.
pub(super) fn answer(caller: Caller, details: SourceDetails) -> HttpResponse {
    let tag = (ETAG, format!("\"{}\"", details.source.version));
    HttpResponse::Ok().insert_header(tag).json(SourceView::new(details, caller.sees_secrets))
}
