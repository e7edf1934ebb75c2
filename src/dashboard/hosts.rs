//! Hosts: which ones take requests, which ones do not, and why.

use actix_web::web;
use maud::{Markup, html};
use serde::Deserialize;

use super::elements::{
    counted, empty, encoded, foreign, host_link, next_page, number, query as query_text, relative_time, state, time_or,
    words,
};
use super::page::{HtmlPage, PageResult};
use crate::api::views::{FleetReport, HostView, Page as ListPage, StatusView};
use crate::api::{LocalApi, ProblemView, SITE};
use crate::model::Timestamp;

const PAGE_SIZE: usize = 100;
/// Hosts in one state are listed on one page.
const IN_STATE_MAX: usize = 1000;

/// States that the list can be filtered by, with their words.
const FILTERS: [(&str, &str); 3] = [("", "All"), ("held", "Held"), ("breaker_open", "Breaker open")];

pub(super) fn routes(config: &mut web::ServiceConfig) {
    config.service(web::resource(format!("{SITE}/hosts")).get(list));
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct HostFilterQuery {
    state: String,
    prefix: String,
    cursor: String,
    notice: Option<String>,
}

async fn list(local: LocalApi, query: web::Query<HostFilterQuery>) -> PageResult {
    let query = query.into_inner();
    let status: StatusView = local.get("/status").await?;
    let prefix = query.prefix.trim().to_lowercase();
    let found = match (query.state.as_str(), prefix.as_str()) {
        ("", "") => page_after(&local, &query.cursor).await?,
        ("", prefix) => with_prefix(&local, prefix, &query.cursor).await?,
        (state, prefix) => {
            let mut items = in_state(&local, state, IN_STATE_MAX).await?;
            items.retain(|host| host.host.starts_with(prefix));
            ListPage { items, next_cursor: None }
        }
    };
    let pairs = [("state", query.state.as_str()), ("prefix", prefix.as_str())];
    let content = html! {
        h1 { "Hosts" }
        p.soft { "Every host gets one request at a time, with pauses in between." }
        (filters(&query.state, &prefix, &status))
        div #hosts data-live {
            @if found.items.is_empty() { (nothing(&query.state, &prefix)) } @else { (table(&found.items, status.now)) }
            (next_page("/hosts", &pairs, found.next_cursor.as_deref()))
        }
    };
    Ok(HtmlPage::new(&local, "Hosts", "Hosts").live().notice(query.notice).show(content))
}

async fn page_after(local: &LocalApi, cursor: &str) -> Result<ListPage<HostView>, ProblemView> {
    let limit = PAGE_SIZE.to_string();
    local.get(&format!("/hosts{}", query_text(&[("limit", &limit), ("cursor", cursor)]))).await
}

/// Hosts in alphabetical order whose names begin with this text. A cursor is the name of a host, so the list can start
/// at any name.
async fn with_prefix(local: &LocalApi, prefix: &str, cursor: &str) -> Result<ListPage<HostView>, ProblemView> {
    let mut items = Vec::new();
    if cursor.is_empty() {
        // The list begins after its cursor.
        items.extend(local.get::<HostView>(&format!("/hosts/{}", encoded(prefix))).await.ok());
    }
    let after = page_after(local, if cursor.is_empty() { prefix } else { cursor }).await?;
    let is_last = after.items.last().is_none_or(|last| !last.host.starts_with(prefix));
    items.extend(after.items.into_iter().filter(|host| host.host.starts_with(prefix)));
    Ok(ListPage { items, next_cursor: after.next_cursor.filter(|_| !is_last) })
}

/// Hosts in this state, the latest end first. In a fleet each node knows its own.
pub(super) async fn in_state(local: &LocalApi, state: &str, limit: usize) -> Result<Vec<HostView>, ProblemView> {
    let limit = limit.to_string();
    let path = |node: &str| format!("/hosts{}", query_text(&[("limit", &limit), ("state", state), ("node", node)]));
    if !local.is_fleet() {
        return local.get::<ListPage<HostView>>(&path("")).await.map(|found| found.items);
    }
    let fleet: FleetReport = local.get("/fleet").await?;
    let mut hosts = Vec::new();
    for node in fleet.nodes.iter().filter(|node| node.ended_at.is_none()) {
        match local.get::<ListPage<HostView>>(&path(&node.name)).await {
            Ok(found) => hosts.extend(found.items),
            // A node that has just ended does not take the others' hosts from the page.
            Err(problem) if problem.status >= 500 || problem.status == 404 => {}
            Err(problem) => return Err(problem),
        }
    }
    hosts.sort_by_key(|host| std::cmp::Reverse(host.breaker_open_until.or(host.held_until)));
    Ok(hosts)
}

fn filters(chosen: &str, prefix: &str, status: &StatusView) -> Markup {
    let count = |kind: &str| status.problems.iter().find(|problem| problem.kind == kind).map(|problem| problem.count);
    html! {
        ul.chips aria-label="State" {
            @for (name, words) in FILTERS {
                li {
                    a href=(format!("{SITE}/hosts{}", query_text(&[("state", name), ("prefix", prefix)])))
                        aria-current=[(name == chosen).then_some("true")] {
                        (words)
                        @match name {
                            "held" => { " " (number(count("held_hosts").unwrap_or(0))) }
                            "breaker_open" => { " " (number(count("open_breakers").unwrap_or(0))) }
                            _ => {}
                        }
                    }
                }
            }
        }
        form.filters method="get" action=(format!("{SITE}/hosts")) role="search" {
            @if !chosen.is_empty() { input type="hidden" name="state" value=(chosen); }
            div.field {
                label for="prefix" { "Name begins with" }
                input #prefix type="search" name="prefix" value=(prefix) maxlength="300" spellcheck="false"
                    autocapitalize="off";
            }
            button type="submit" { "Search" }
            @if !prefix.is_empty() {
                a.button href=(format!("{SITE}/hosts{}", query_text(&[("state", chosen)]))) { "Clear" }
            }
        }
    }
}

fn nothing(state: &str, prefix: &str) -> Markup {
    match (state, prefix) {
        (_, prefix) if !prefix.is_empty() => empty("No host has a name that begins so."),
        ("held", _) => empty("No host is held."),
        ("breaker_open", _) => empty("Every host answers: no circuit breaker is open."),
        _ => html! {
            p.empty {
                "No host is known yet. A host appears here after its first request: "
                a href=(format!("{SITE}/sources")) { "add a source" } "."
            }
        },
    }
}

fn table(hosts: &[HostView], now: Timestamp) -> Markup {
    html! {
        div.scroll {
            table.cards {
                caption { (counted(hosts.len(), "host")) }
                thead { tr {
                    th scope="col" { "Host" }
                    th scope="col" { "State" }
                    th scope="col" { "Hold" }
                    th scope="col" { "Breaker" }
                    th scope="col" { "Last request" }
                    th scope="col" { "Next request" }
                } }
                tbody {
                    @for host in hosts {
                        tr {
                            td data-label="Host" { (host_link(&host.host)) }
                            td data-label="State" { (state(&host.state)) }
                            td.minor[host.held_until.is_none()] data-label="Hold" { (hold(host, now)) }
                            td.minor[host.breaker_open_until.is_none() && host.silent_requests == 0] data-label="Breaker" { (breaker(host, now)) }
                            td data-label="Last request" {
                                @match host.last_asked_at {
                                    Some(at) => (relative_time(at, now)),
                                    None => (time_or(None, "none yet")),
                                }
                            }
                            td.minor[host.state == "available"] data-label="Next request" { (words(&host.turn)) }
                        }
                    }
                }
            }
        }
    }
}

/// End and reason of a hold.
pub(super) fn hold(host: &HostView, now: Timestamp) -> Markup {
    html! {
        @match host.held_until {
            Some(until) => {
                "ends " (relative_time(until, now))
                @if let Some(reason) = &host.held_reason { ": " span.soft { (foreign(reason)) } }
            }
            None => span.none { "none" },
        }
    }
}

/// State of the circuit breaker, with the requests that were not answered.
pub(super) fn breaker(host: &HostView, now: Timestamp) -> Markup {
    html! {
        @match host.breaker_open_until {
            Some(until) => { "open; next probe " (relative_time(until, now)) }
            None => "closed",
        }
        @if host.silent_requests > 0 {
            " " span.soft {
                "(" (counted(host.silent_requests, "request")) " without a response)"
            }
        }
    }
}
