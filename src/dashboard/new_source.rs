//! New sources: one by its URL, with the feeds that a page links to, or a list from another reader.

use actix_multipart::Multipart;
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpResponse, web};
use futures_util::StreamExt;
use maud::{Markup, html};
use serde::Deserialize;

use super::elements::{action_form, counted, foreign, form_token, number};
use super::form::{SignedForm, check_token};
use super::page::{HtmlPage, PageResult, go_to};
use super::problem::sentence;
use crate::api::views::{CreatedSource, ImportReport, NewSourceBody, PollAnswer, PollRecord};
use crate::api::{LocalApi, Problem, ProblemView, SITE};
use crate::model::{Backlog, SourceType};

pub(super) fn routes(config: &mut web::ServiceConfig) {
    config
        .service(web::resource(format!("{SITE}/sources/new")).get(form).post(add))
        .service(web::resource(format!("{SITE}/opml")).get(import_form).post(import))
        .service(web::resource(format!("{SITE}/opml/export")).get(export));
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NewSourceQuery {
    url: String,
}

async fn form(local: LocalApi, query: web::Query<NewSourceQuery>) -> HttpResponse {
    let given = NewSourceBody { url: query.into_inner().url, ..NewSourceBody::default() };
    new_source_page(&local, &given, None)
}

async fn add(local: LocalApi, form: SignedForm) -> PageResult {
    let url = form.text("url");
    let has_scheme = url.contains("://") || url.starts_with('@');
    let body = NewSourceBody {
        // A name alone is tried with https.
        url: if has_scheme { url.to_owned() } else { format!("https://{url}") },
        source_type: form.given("type").and_then(|name| name.parse::<SourceType>().ok()),
        title: form.given("title"),
        poll_interval_minutes: form.number("poll_interval_minutes")?.and_then(|minutes| u32::try_from(minutes).ok()),
        backlog: form.is_checked("backlog").then_some(Backlog::Keep),
        labels: form
            .text("labels")
            .split(',')
            .map(str::trim)
            .filter(|label| !label.is_empty())
            .map(str::to_owned)
            .collect(),
        first_poll: true,
        anyway: form.is_checked("anyway"),
        ..NewSourceBody::default()
    };
    match local.change(Method::POST, "/sources", Some(&body)).await {
        Ok(answer) => {
            let created: CreatedSource = answer.json()?;
            let first = match &created.first_poll {
                Some(PollAnswer::Done { poll }) => match &poll.entries_text {
                    Some(entries) => format!(" Its first poll: {entries}."),
                    None => {
                        poll.error.as_ref().map(|error| format!(" Its first poll failed: {error}.")).unwrap_or_default()
                    }
                },
                Some(PollAnswer::Requested { reason, .. }) => format!(" Its first poll is scheduled: {reason}."),
                _ => String::new(),
            };
            let notice = format!("Source {} is added.{first}", created.source.id);
            Ok(go_to(&format!("/sources/{}", created.source.id), &notice))
        }
        Err(problem) if [400, 409, 422].contains(&problem.status) => Ok(new_source_page(&local, &body, Some(&problem))),
        Err(problem) => Err(problem.into()),
    }
}

fn new_source_page(local: &LocalApi, given: &NewSourceBody, problem: Option<&ProblemView>) -> HttpResponse {
    let status = problem.and_then(|problem| StatusCode::from_u16(problem.status).ok());
    let page = HtmlPage::new(local, "Sources", "Add a source").status(status.unwrap_or(StatusCode::OK));
    page.show(html! {
        div.narrow {
            h1 { "Add a source" }
            @if let Some(problem) = problem { (refusal(local, given, problem)) }
            @if !local.browser.can_write { p.problem { "This session may read only." } }
            (action_form(local, "/sources/new", html! { div.stacked {
                label for="url" { "URL of a feed, a page or an X account" }
                input #url name="url" required value=(given.url) maxlength="2000" placeholder="https://example.org/feed.xml";
                label for="type" { "Type" }
                select #type name="type" {
                    option value="" { "by the URL (feed, or X account)" }
                    @for source_type in SourceType::ALL {
                        @let name = source_type.to_string();
                        option value=(name) selected[given.source_type == Some(source_type)] { (name) }
                    }
                }
                label for="labels" { "Labels, separated by commas" }
                input #labels name="labels" value=(given.labels.join(", "));
                label for="title" { "Title (otherwise that of the feed)" }
                input #title name="title" value=[given.title.as_ref()] maxlength="500";
                label for="interval" { "Interval in minutes (otherwise the configured one)" }
                input #interval name="poll_interval_minutes" type="number" min="1" max="525600" value=[given.poll_interval_minutes];
                label { input type="checkbox" name="backlog" checked[given.backlog.is_some()]; " Store entries that are older than now, too" }
                label { input type="checkbox" name="anyway" checked[given.anyway]; " Add it even if its first poll fails" }
                button.primary type="submit" { "Add and poll" }
            } }))
        }
    })
}

/// Why the source was not added, and what would work.
fn refusal(local: &LocalApi, given: &NewSourceBody, problem: &ProblemView) -> Markup {
    let context = problem.context.as_ref();
    let known = context.and_then(|context| context.get("source_id")).and_then(serde_json::Value::as_i64);
    let poll: Option<PollRecord> =
        context.and_then(|context| serde_json::from_value(context.get("poll")?.clone()).ok());
    let feeds = poll.map(|poll| poll.linked_feeds).unwrap_or_default();
    html! {
        p.problem role="alert" { (sentence(&problem.detail)) }
        @if let Some(id) = known { p { a href=(format!("{SITE}/sources/{id}")) { "Show source " (id) } } }
        @if !feeds.is_empty() {
            h2 { "Feeds of this page" }
            ul {
                @for feed in feeds.iter().take(20) {
                    li {
                        (foreign(feed)) " "
                        (action_form(local, "/sources/new", html! {
                            input type="hidden" name="url" value=(feed);
                            input type="hidden" name="labels" value=(given.labels.join(", "));
                            button type="submit" { "Add this feed" }
                        }))
                    }
                }
            }
        }
    }
}

async fn import_form(local: LocalApi) -> HttpResponse {
    import_page(&local, None)
}

fn import_page(local: &LocalApi, report: Option<&ImportReport>) -> HttpResponse {
    HtmlPage::new(local, "Sources", "Import OPML").show(html! {
        div.narrow {
            h1 { "Import OPML" }
            @if let Some(report) = report {
                p.notice role="status" {
                    (counted(report.added, "source")) " added, " (number(report.duplicates)) " known already, "
                    (number(report.rejected)) " invalid."
                }
                @if !report.problems.is_empty() {
                    h2 { "Not imported" }
                    ul { @for problem in report.problems.iter().take(50) { li { (foreign(problem)) } } }
                }
                p { a href=(format!("{SITE}/sources")) { "Sources" } }
            }
            @if local.browser.can_write {
                form.stacked.drop method="post" action=(format!("{SITE}/opml")) enctype="multipart/form-data" data-once {
                    (form_token(local))
                    label for="file" { "List of another reader (OPML); folders become labels. Drop the file here, or choose it." }
                    input #file type="file" name="file" accept=".opml,.xml,text/x-opml,text/xml" required;
                    button.primary type="submit" { "Import" }
                }
            } @else { p.problem { "This session may read only." } }
        }
    })
}

async fn import(local: LocalApi, mut parts: Multipart) -> PageResult {
    let (mut token, mut file) = (None, None);
    while let Some(part) = parts.next().await {
        let mut part = part.map_err(Problem::invalid)?;
        let name = part.name().unwrap_or_default().to_owned();
        if name == "file" {
            // The token comes first in our own form.
            check_token(&local.browser, token.as_deref())?;
        }
        let most = if name == "file" { local.import_bytes_max() } else { 1024 };
        let mut bytes = web::BytesMut::new();
        while let Some(piece) = part.next().await {
            bytes.extend_from_slice(&piece.map_err(Problem::invalid)?);
            if bytes.len() > most {
                return Err(Problem::too_large(format!("a list has at most {most} bytes")).at(name).into());
            }
        }
        match name.as_str() {
            "form_token" => token = Some(String::from_utf8_lossy(&bytes).into_owned()),
            "file" => file = Some(bytes.freeze()),
            _ => {}
        }
    }
    check_token(&local.browser, token.as_deref())?;
    let Some(file) = file.filter(|file| !file.is_empty()) else {
        return Err(Problem::invalid("choose a file").at("file").into());
    };
    let report: ImportReport = local.upload("/opml", "text/x-opml", file).await?.json()?;
    Ok(import_page(&local, Some(&report)))
}

/// Streams the list of the API.
async fn export(local: LocalApi) -> PageResult {
    Ok(local.pass("/opml").await?)
}
