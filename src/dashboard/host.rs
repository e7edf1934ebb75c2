//! One host: why it gets requests or not, its queue, its sources, its last requests, and what an operator can do.

use actix_web::http::Method;
use actix_web::web;
use maud::{Markup, html};

use super::elements::{
    action_form, button_form, empty, encoded, facts, foreign, host_path, number, query as query_text, relative_time,
    source_link, state, time, time_or, words,
};
use super::form::SignedForm;
use super::hosts::{breaker, hold};
use super::overview::Notice;
use super::page::{HtmlPage, PageResult, go_to};
use super::problem::sentence;
use super::request_chart::requests_section;
use crate::api::views::{
    EnabledSources, HoldBody, HostQueueView, HostRequestView, HostView, Page as ListPage, RobotsView, SourceView,
};
use crate::api::{LocalApi, Problem, ProblemView, SITE};
use crate::model::{SourceId, Timestamp};

/// Sources that the page lists.
const SOURCES_MAX: usize = 50;
/// Requests that the page lists.
const REQUESTS_MAX: usize = 30;

pub(super) fn routes(config: &mut web::ServiceConfig) {
    config
        .service(web::resource(format!("{SITE}/hosts/{{host}}")).get(show))
        .service(web::resource(format!("{SITE}/hosts/{{host}}/hold")).post(hold_host))
        .service(web::resource(format!("{SITE}/hosts/{{host}}/release")).post(release))
        .service(web::resource(format!("{SITE}/hosts/{{host}}/reset-breaker")).post(reset_breaker))
        .service(web::resource(format!("{SITE}/hosts/{{host}}/enable-sources")).post(enable_sources));
}

async fn show(local: LocalApi, host: web::Path<String>, query: web::Query<Notice>) -> PageResult {
    let (name, now) = (host.into_inner(), local.now());
    let path = format!("/hosts/{}", encoded(&name));
    let limit = SOURCES_MAX.to_string();
    let of_host = query_text(&[("host", &name), ("limit", &limit)]);
    let sources: ListPage<SourceView> = local.get(&format!("/sources{of_host}")).await?;
    // A host that was never asked has sources at most.
    let known = match local.get::<HostView>(&path).await {
        Ok(host) => Some(host),
        Err(problem) if problem.status == 404 && !sources.items.is_empty() => None,
        Err(problem) => return Err(problem.into()),
    };
    let name = known.as_ref().map_or(name, |host| host.host.clone());
    let requests = requests(&local, &path).await?;
    let robots: ListPage<RobotsView> = local.get(&format!("{path}/robots")).await?;
    let content = html! {
        h1 { (foreign(&name)) }
        div #host data-live {
            (condition(known.as_ref(), &sources.items, now))
            (requests_section(&requests))
        }
        (actions(&local, &name, known.as_ref(), &sources.items))
        div #host-sources data-live {
            (sources_section(&name, &sources, now))
            (robots_section(&robots.items, now))
        }
        @if local.browser.can_write {
            p { a href=(format!("{SITE}/audit{}", query_text(&[("target", "host"), ("target_id", &name)]))) {
                "Changes of this host" } }
        }
    };
    Ok(HtmlPage::new(&local, "Hosts", name.clone()).live().notice(query.into_inner().notice).show(content))
}

async fn requests(local: &LocalApi, path: &str) -> Result<Vec<HostRequestView>, ProblemView> {
    let found: ListPage<HostRequestView> = local.get(&format!("{path}/requests?limit={REQUESTS_MAX}")).await?;
    Ok(found.items)
}

fn condition(known: Option<&HostView>, sources: &[SourceView], now: Timestamp) -> Markup {
    let Some(host) = known else {
        return html! {
            section.panel {
                h2 { "Condition" }
                p { "No request was sent to this host yet. It can get one as soon as one of its sources is due." }
            }
        };
    };
    html! {
        section.panel {
            h2 { "Condition" }
            p { (state(&host.state)) " " (words(&sentence(&host.turn))) }
            (facts(vec![
                ("Hold", hold(host, now)),
                ("Breaker", breaker(host, now)),
                ("Last request", match host.last_asked_at {
                    Some(at) => html! { (relative_time(at, now)) ", " (time(at)) },
                    None => time_or(None, "none yet"),
                }),
                ("Queue", host.queue.as_ref().map_or_else(
                    || html! { span.none { "not known: the scheduler does not answer" } },
                    |queue| queue_words(queue, sources),
                )),
            ]))
        }
    }
}

fn queue_words(queue: &HostQueueView, sources: &[SourceView]) -> Markup {
    let title = |id: &SourceId| sources.iter().find(|source| source.id == *id).map(SourceView::name);
    html! {
        (number(queue.waiting)) " due and waiting, of " (number(queue.sources)) " scheduled."
        @if queue.under_way.is_empty() { " No poll is in flight." } @else {
            " In flight: "
            @for (place, id) in queue.under_way.iter().enumerate() {
                @if place > 0 { ", " }
                (source_link(*id, title(id).unwrap_or(&format!("source {id}"))))
            }
            "."
        }
    }
}

fn actions(local: &LocalApi, name: &str, known: Option<&HostView>, sources: &[SourceView]) -> Markup {
    let path = host_path(name);
    let is_held = known.is_some_and(|host| host.held_until.is_some());
    let has_trouble = known.is_some_and(|host| host.breaker_open_until.is_some() || host.silent_requests > 0);
    let disabled = sources.iter().filter(|source| !source.enabled).count();
    html! {
        @if local.browser.can_write {
            section.panel {
                h2 { "Actions" }
                div.actions {
                    (action_form(local, &format!("{path}/hold"), html! {
                        div.field {
                            label for="hold-length" { "Hold for" }
                            input #hold-length type="number" name="length" min="1" max="604800" value="60" required;
                        }
                        div.field {
                            label for="hold-unit" { "Unit" }
                            select #hold-unit name="unit" {
                                option value="seconds" { "seconds" }
                                option value="minutes" selected { "minutes" }
                                option value="hours" { "hours" }
                            }
                        }
                        div.field {
                            label for="hold-reason" { "Reason" }
                            input #hold-reason type="text" name="reason" maxlength="500" required;
                        }
                        button type="submit" { @if is_held { "Change the hold" } @else { "Hold" } }
                    }))
                }
                div.actions {
                    @if is_held { (button_form(local, &format!("{path}/release"), "Release", &[])) }
                    @if has_trouble { (button_form(local, &format!("{path}/reset-breaker"), "Reset the breaker", &[])) }
                    @if disabled > 0 {
                        (button_form(local, &format!("{path}/enable-sources"), "Enable all its disabled sources", &[]))
                    }
                }
                p.soft { "While a host is held, it gets no requests; its sources wait. A release, or the end of the hold, \
                    polls those that are due." }
            }
        }
    }
}

fn sources_section(name: &str, sources: &ListPage<SourceView>, now: Timestamp) -> Markup {
    html! {
        section.panel {
            h2 { "Sources" }
            @if sources.items.is_empty() { (empty("No source is on this host. It is forgotten after a while.")) } @else {
                div.scroll {
                    table.cards {
                        thead { tr {
                            th scope="col" { "Source" }
                            th scope="col" { "State" }
                            th scope="col" { "Last poll" }
                            th scope="col" { "Last error" }
                        } }
                        tbody {
                            @for source in &sources.items {
                                tr {
                                    td data-label="Source" { (source_link(source.id, source.name())) }
                                    td data-label="State" { (state(&source.state)) }
                                    td data-label="Last poll" {
                                        @match source.last_polled {
                                            Some(at) => (relative_time(at, now)),
                                            None => (time_or(None, "not yet")),
                                        }
                                    }
                                    td data-label="Last error" {
                                        @match &source.last_error {
                                            Some(error) => (foreign(error)),
                                            None => span.none { "none" },
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
                @if sources.next_cursor.is_some() {
                    p { a href=(format!("{SITE}/sources{}", query_text(&[("host", name)]))) { "All sources of this host" } }
                }
            }
        }
    }
}

fn robots_section(robots: &[RobotsView], now: Timestamp) -> Markup {
    html! {
        section.panel {
            h2 { "robots.txt" }
            @if robots.is_empty() {
                (empty("None is stored. It is read before the first request for a web page; feeds do not need it."))
            }
            @for (place, file) in robots.iter().enumerate() {
                h3 { code { (foreign(&file.origin)) } }
                p { "Read " (relative_time(file.fetched_at, now)) "." }
                @match &file.rules {
                    None => p { "The host has none, so that everything is allowed." },
                    Some(rules) => {
                        details id=(format!("robots-{place}")) {
                            summary { "Rules" }
                            pre tabindex="0" { (rules) }
                            @if file.is_cut { p.soft { "Only the beginning is shown." } }
                        }
                    }
                }
            }
        }
    }
}

async fn hold_host(local: LocalApi, host: web::Path<String>, form: SignedForm) -> PageResult {
    let length = form.number("length")?.ok_or_else(|| Problem::invalid("give the length of the hold").at("length"))?;
    let unit = match form.text("unit") {
        "seconds" => 1,
        "minutes" => 60,
        "hours" => 3_600,
        _ => return Err(Problem::invalid("write seconds, minutes or hours").at("unit").into()),
    };
    let seconds = Some(length.saturating_mul(unit));
    let body = HoldBody { until: None, seconds, reason: form.text("reason").to_owned() };
    local.change(Method::POST, &api_path(&host, "hold"), Some(&body)).await?;
    Ok(go_to(&host_path(&host), "The host is held."))
}

async fn release(local: LocalApi, host: web::Path<String>, _form: SignedForm) -> PageResult {
    local.change(Method::POST, &api_path(&host, "release"), None::<&()>).await?;
    Ok(go_to(&host_path(&host), "The hold has ended."))
}

async fn reset_breaker(local: LocalApi, host: web::Path<String>, _form: SignedForm) -> PageResult {
    local.change(Method::POST, &api_path(&host, "reset-breaker"), None::<&()>).await?;
    Ok(go_to(&host_path(&host), "The breaker is closed."))
}

async fn enable_sources(local: LocalApi, host: web::Path<String>, _form: SignedForm) -> PageResult {
    let answer = local.change(Method::POST, &api_path(&host, "enable-sources"), None::<&()>).await?;
    let answer: EnabledSources = answer.json()?;
    let notice = match answer.enabled {
        1 => "1 source was enabled.".to_owned(),
        enabled => format!("{enabled} sources were enabled."),
    };
    Ok(go_to(&host_path(&host), &notice))
}

fn api_path(host: &str, verb: &str) -> String {
    format!("/hosts/{}/{verb}", encoded(host))
}
