//! Actions on many sources: how many there are, the start, and the progress.

use std::time::Duration;

use actix_web::http::Method;
use actix_web::web;
use maud::{Markup, html};

use super::elements::{action_form, button_form, counted, empty, facts, number, relative_time, source_link, state};
use super::form::SignedForm;
use super::overview::Notice;
use super::page::{HtmlPage, PageResult, go_to};
use crate::api::views::{JobBody, JobView, SourceQuery, SourceView};
use crate::api::{LocalApi, Problem, SITE};
use crate::model::SourceId;

/// How long a preview waits for its number, so that most need no second look.
const COLLECT_WITHIN: Duration = Duration::from_millis(600);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

pub(super) fn routes(config: &mut web::ServiceConfig) {
    config
        .service(web::resource(format!("{SITE}/jobs")).get(list).post(create))
        .service(web::resource(format!("{SITE}/jobs/{{id}}")).get(one))
        .service(web::resource(format!("{SITE}/jobs/{{id}}/start")).post(start))
        .service(web::resource(format!("{SITE}/jobs/{{id}}/cancel")).post(cancel));
}

async fn create(local: LocalApi, form: SignedForm) -> PageResult {
    let action = form.text("action").to_owned();
    let detail = form.given("detail");
    let is_label = action.ends_with("_label");
    let filter = |name: &str| form.given(&format!("filter_{name}"));
    let (ids, matching) = match form.text("scope") {
        "matching" => {
            let query = SourceQuery {
                state: filter("state"),
                host: filter("host"),
                source_type: filter("type").map(|name| parsed(&name, "type")).transpose()?,
                label: filter("label"),
                failure: filter("failure").map(|name| parsed(&name, "failure")).transpose()?,
                text: filter("text"),
                ..SourceQuery::default()
            };
            (None, Some(query))
        }
        _ => {
            let ids: Result<Vec<i64>, Problem> = form.all("id").iter().map(|id| parsed(id, "id")).collect();
            (Some(ids?), None)
        }
    };
    let (label, reason) = if is_label { (detail, None) } else { (None, detail) };
    let body = JobBody { action, reason, label, ids, matching };
    let mut job: JobView = local.change(Method::POST, "/jobs", Some(&body)).await?.json()?;
    let watch = crate::clock::Stopwatch::start();
    while job.state == "collecting" && watch.elapsed() < COLLECT_WITHIN {
        tokio::time::sleep(LOOK_AGAIN).await;
        job = local.get(&format!("/jobs/{}", job.id)).await?;
    }
    Ok(go_to(&format!("/jobs/{}", job.id), ""))
}

fn parsed<T: serde::de::DeserializeOwned>(text: &str, field: &str) -> Result<T, Problem> {
    let value = text.parse::<i64>().map_or_else(|_| serde_json::Value::from(text), serde_json::Value::from);
    serde_json::from_value(value).map_err(|_| Problem::invalid(format!("{text:?} is not possible here")).at(field))
}

async fn list(local: LocalApi, query: web::Query<Notice>) -> PageResult {
    let jobs: Vec<JobView> = local.get("/jobs").await?;
    let content = html! {
        h1 { "Jobs" }
        div #jobs data-live {
            @if jobs.is_empty() {
                (empty("No action on several sources since the start of the daemon. Choose sources in their list."))
            } @else {
                div.scroll { table.cards {
                    thead { tr {
                        th scope="col" { "Job" } th scope="col" { "Action" } th scope="col" { "State" }
                        th.number scope="col" { "Sources" } th.number scope="col" { "Done" } th.number scope="col" { "Failed" }
                        th scope="col" { "By" } th scope="col" { "Added" }
                    } }
                    tbody { @for job in &jobs {
                        tr {
                            td data-label="Job" { a href=(format!("{SITE}/jobs/{}", job.id)) { "Job " (job.id) } }
                            td data-label="Action" { (in_words(job)) }
                            td data-label="State" { (state(&job.state)) }
                            td.number data-label="Sources" { (number(job.sources)) }
                            td.number data-label="Done" { (number(job.done)) }
                            td.number data-label="Failed" { (number(job.failed)) }
                            td data-label="By" { (job.who) }
                            td data-label="Added" { (relative_time(job.created_at, local.now())) }
                        }
                    } }
                } }
            }
        }
    };
    Ok(HtmlPage::new(&local, "Jobs", "Jobs").live().notice(query.into_inner().notice).show(content))
}

async fn one(local: LocalApi, id: web::Path<String>, query: web::Query<Notice>) -> PageResult {
    let job: JobView = local.get(&format!("/jobs/{}", super::elements::encoded(&id))).await?;
    let is_moving = ["collecting", "running"].contains(&job.state.as_str());
    let page = HtmlPage::new(&local, "Jobs", format!("Job {}", job.id)).notice(query.into_inner().notice);
    let page = if is_moving { page.refresh(1) } else { page };
    let mut first = Vec::new();
    for id in job.first_sources.iter().filter(|_| job.state == "ready") {
        // One that was removed meanwhile keeps its number.
        let source = local.get::<SourceView>(&format!("/sources/{id}")).await;
        first.push((*id, source.map_or_else(|_| id.to_string(), |source| source.name().to_owned())));
    }
    Ok(page.show(html! {
        h1 { "Job " (job.id) ": " (in_words(&job)) }
        section.panel data-reload-after=[is_moving.then_some("700")] {
            @match job.state.as_str() {
                "collecting" => {
                    p role="status" { "Looking for matching sources: " (number(job.examined)) " examined so far." }
                    progress aria-label="Looking for matching sources" {}
                    (button_form(&local, &format!("/jobs/{}/cancel", job.id), "Cancel", &[]))
                }
                "ready" => (preview(&local, &job, &first)),
                "running" => {
                    p role="status" { (number(job.done)) " of " (number(job.sources)) " done, " (number(job.failed)) " failed." }
                    progress max=(job.sources) value=(job.done) aria-label="Progress" {}
                    (button_form(&local, &format!("/jobs/{}/cancel", job.id), "Stop", &[]))
                }
                _ => {
                    p role="status" {
                        (state(&job.state)) " " (number(job.done - job.failed)) " of " (number(job.sources))
                        " sources done, " (number(job.failed)) " failed."
                    }
                    progress max=(job.sources.max(1)) value=(job.done) aria-label="Progress" {}
                    p { a href=(format!("{SITE}/sources")) { "Sources" } }
                }
            }
        }
        (errors(&job))
        section.panel {
            (facts(vec![
                ("By", html! { (job.who) }),
                ("Added", relative_time(job.created_at, local.now())),
                ("Examined", number(job.examined)),
            ]))
            p.soft { "A restart of the daemon ends jobs; what they have done stays done." }
        }
    }))
}

/// `first` names the first sources.
fn preview(local: &LocalApi, job: &JobView, first: &[(SourceId, String)]) -> Markup {
    let start = format!("/jobs/{}/start", job.id);
    html! {
        @if job.sources == 0 { (empty("No source matches; there is nothing to do.")) } @else {
            p { strong { (counted(job.sources, "source")) } " would be changed: " (in_words(job)) ". Nothing has happened yet." }
            @if job.is_cut { p.problem { "More sources match than one job takes; repeat it afterwards." } }
            p {
                "The first ones: "
                @for (place, (id, name)) in first.iter().enumerate() {
                    @if place > 0 { ", " }
                    (source_link(*id, name))
                }
                @if job.sources > first.len() { ", …" }
            }
            div.actions {
                (action_form(local, &start, html! {
                    @if job.action == "remove" {
                        label { input type="checkbox" name="sure" required; " Yes, remove them with their posts" }
                    }
                    button.primary.danger[job.action == "remove"] type="submit" { "Start" }
                }))
                (button_form(local, &format!("/jobs/{}/cancel", job.id), "Cancel", &[]))
            }
        }
    }
}

fn errors(job: &JobView) -> Markup {
    html! {
        @if !job.errors.is_empty() {
            section.panel {
                h2 { "Failures" }
                ul {
                    @for failure in &job.errors {
                        li {
                            @if let Some(id) = failure.source_id { (source_link(id, &format!("source {id}"))) ": " }
                            (failure.error)
                        }
                    }
                }
                @if job.failed > job.errors.len() { p.soft { "… and " (number(job.failed - job.errors.len())) " more" } }
            }
        }
    }
}

async fn start(local: LocalApi, id: web::Path<String>, form: SignedForm) -> PageResult {
    let path = format!("/jobs/{}", super::elements::encoded(&id));
    let job: JobView = local.get(&path).await?;
    if job.action == "remove" && !form.is_checked("sure") {
        return Err(Problem::invalid("confirm that the sources are to be removed").at("sure").into());
    }
    local.change(Method::POST, &format!("{path}/start"), None::<&()>).await?;
    Ok(go_to(&path, ""))
}

async fn cancel(local: LocalApi, id: web::Path<String>, _form: SignedForm) -> PageResult {
    let path = format!("/jobs/{}", super::elements::encoded(&id));
    local.change(Method::POST, &format!("{path}/cancel"), None::<&()>).await?;
    Ok(go_to(&path, "The job is cancelled."))
}

fn in_words(job: &JobView) -> String {
    let detail = job.detail.as_deref().unwrap_or_default();
    match job.action.as_str() {
        "add_label" => format!("add the label {detail}"),
        "remove_label" => format!("remove the label {detail}"),
        "poll" => "poll now".to_owned(),
        "remove" => "remove with posts".to_owned(),
        action if detail.is_empty() => action.to_owned(),
        action => format!("{action} ({detail})"),
    }
}
