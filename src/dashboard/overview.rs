//! The first page: whether everything is well, what is not, why, and what to do.

use std::collections::{BTreeMap, BTreeSet};

use actix_web::web;
use maud::{Markup, html};
use serde::Deserialize;

use super::chart;
use super::elements::{counted, empty, facts, foreign, grouped, host_link, number, relative_time, state};
use super::hosts::in_state;
use super::page::{HtmlPage, PageResult};
use super::problem::sentence;
use crate::api::views::{
    FleetReport, HostView, Page as ListPage, PollHourView, SilentSourceView, SilentSourcesView, SourcePage, SourceView,
    StatusProblem, StatusView, WebhookView,
};
use crate::api::{LocalApi, SITE};
use crate::model::{PollOutcome, Timestamp};

/// Hosts, webhooks and nodes that the overview shows.
const SHOWN_MAX: usize = 8;
const DISABLED_SHOWN: usize = 5;
/// Kinds of conditions that the status does not have.
const SOME_FAIL: &str = "some_sources_fail";
const MOST_FAIL: &str = "most_sources_fail";
const LOST_NODES: &str = "lost_nodes";

pub(super) fn routes(config: &mut web::ServiceConfig) {
    config.service(web::resource([SITE.to_owned(), format!("{SITE}/")]).get(overview));
}

#[derive(Deserialize)]
pub(super) struct Notice {
    pub(super) notice: Option<String>,
}

async fn overview(local: LocalApi, query: web::Query<Notice>) -> PageResult {
    let status: StatusView = local.get("/status").await?;
    let hours: Vec<PollHourView> = local.get("/statistics/hours").await?;
    let mut hosts = in_state(&local, "breaker_open", SHOWN_MAX).await?;
    hosts.extend(in_state(&local, "held", SHOWN_MAX).await?);
    hosts.truncate(SHOWN_MAX);
    let silent = match local.get::<SilentSourcesView>("/sources/silent").await {
        // Not counted yet; the status says so.
        Err(problem) if problem.status == 503 => SilentSourcesView { total: 0, items: Vec::new() },
        silent => silent?,
    };
    let disabled: SourcePage = local.get(&format!("/sources?state=disabled&limit={DISABLED_SHOWN}")).await?;
    let webhooks: ListPage<WebhookView> = local.get("/webhooks?limit=100").await?;
    let fleet: Option<FleetReport> = if local.is_fleet() { Some(local.get("/fleet").await?) } else { None };
    let content = html! {
        h1 { "Overview" }
        div #overview data-live {
            (verdict(&status, fleet.as_ref()))
            (tiles(&status))
            div.panels.flow {
                (failing_panel(&status))
                @if !disabled.items.is_empty() { (disabled_panel(&disabled.items)) }
                (hosts_panel(&hosts, status.now))
                (webhooks_panel(&webhooks.items, status.now))
                (silent_panel(&silent, status.now))
                @if let Some(fleet) = &fleet { (fleet_panel(fleet)) }
            }
            (charts(&hours, &status))
        }
    };
    Ok(HtmlPage::new(&local, "Overview", "Overview").live().notice(query.into_inner().notice).show(content))
}

/// Whether everything is well, what is not, and what to do: the first thing that a reader sees.
fn verdict(status: &StatusView, fleet: Option<&FleetReport>) -> Markup {
    let (mut waits, mut needs): (Vec<_>, Vec<_>) = status
        .problems
        .iter()
        .cloned()
        .partition(|problem| ["held_hosts", "open_breakers"].contains(&problem.kind.as_str()));
    needs.extend(fleet.and_then(lost_nodes));
    if let Some(problem) = failing(status) {
        if problem.kind == MOST_FAIL { &mut needs } else { &mut waits }.push(problem);
    }
    let is_suspended = !status.held_up_by.is_empty() || status.store_trouble.is_some();
    let (tone, words) = match (status.is_ready, needs.len()) {
        (false, _) => ("bad", "Not ready".to_owned()),
        (true, 0) if is_suspended => ("warn", "Ready, but polling is suspended".to_owned()),
        (true, 0) if waits.is_empty() => ("good", "Everything is well".to_owned()),
        (true, 0) => ("good", "Nothing needs you".to_owned()),
        (true, 1) => ("warn", "Ready, but one thing needs you".to_owned()),
        (true, count) => ("warn", format!("Ready, but {count} things need you")),
    };
    let line = |problem: &StatusProblem| {
        html! {
            li {
                a href=(format!("{SITE}{}", where_to_look(problem))) { (sentence(&problem.detail)) }
                " " span.soft { (what_to_do(problem)) }
            }
        }
    };
    html! {
        section class=(format!("panel verdict {tone}")) aria-label="Verdict" {
            h2 { (words) }
            ul.troubles {
                @for reason in &status.not_ready_because { li { strong { (sentence(reason)) } } }
                @for reason in &status.held_up_by { li { "Requests to all hosts are suspended: " (reason) "." } }
                @if let Some(trouble) = &status.store_trouble { li { "The database is not available: " (trouble) "." } }
                @if let Some(reason) = &status.not_loaded_because { li { "Not all sources are loaded yet: " (reason) "." } }
                @for problem in &needs { (line(problem)) }
            }
            @if !waits.is_empty() { ul.troubles.waits { @for problem in &waits { (line(problem)) } } }
        }
    }
}

/// Sources whose last poll failed, as a condition besides those of the status. A few are part of every day; when most
/// of them fail, the cause is rather here.
fn failing(status: &StatusView) -> Option<StatusProblem> {
    let counts = status.store_counts.as_ref()?;
    let count: u64 = counts.failing_by_kind.values().sum();
    let kind = if count * 2 > counts.sources { MOST_FAIL } else { SOME_FAIL };
    let detail = match count {
        1 => "1 source fails".to_owned(),
        _ => format!("{} of {} sources fail", grouped(count), grouped(counts.sources)),
    };
    (count > 0).then(|| StatusProblem { kind: kind.to_owned(), count, detail })
}

/// Nodes that ended in the last day without leaving, and that have not come back.
fn lost_nodes(fleet: &FleetReport) -> Option<StatusProblem> {
    let is_back = |name: &str| fleet.nodes.iter().any(|node| node.name == name && node.ended_at.is_none());
    let lost = fleet.nodes.iter().filter(|node| node.state == "expired" && !is_back(&node.name));
    let names: BTreeSet<&str> = lost.map(|node| node.name.as_str()).collect();
    let list = names.iter().copied().collect::<Vec<_>>().join(", ");
    let detail = match names.len() {
        0 => return None,
        1 => format!("Node {list} ended without leaving the fleet"),
        count => format!("{count} nodes ended without leaving the fleet: {list}"),
    };
    Some(StatusProblem { kind: LOST_NODES.to_owned(), count: names.len() as u64, detail })
}

fn tiles(status: &StatusView) -> Markup {
    let toned = |tone: &'static str, label: &str, value: Markup, link: String| {
        html! { li class=[Some(tone).filter(|tone| !tone.is_empty())] {
            a href=(format!("{SITE}{link}")) { span.value { (value) } " " span.label { (label) } }
        } }
    };
    let tile = |label: &str, value: Markup, link: String| toned("", label, value, link);
    let lag = status.scheduler.as_ref().and_then(|scheduler| scheduler.oldest_due_at);
    html! {
        ul.tiles {
            @if let Some(counts) = &status.store_counts {
                (tile("sources", number(counts.sources), "/sources".to_owned()))
                @for (name, label, tone) in [("active", "active", "good"), ("backing_off", "backing off", "warn"),
                    ("resting", "resting", "warn"), ("disabled", "disabled", "bad")] {
                    @let count = counts.sources_by_state.get(name).copied().unwrap_or(0);
                    (toned(if count > 0 { tone } else { "" }, label, number(count), format!("/sources?state={name}")))
                }
                (tile("posts", number(counts.posts), "/posts".to_owned()))
                (tile("new posts in 24 h", number(counts.posts_last_day), "/posts?since=day".to_owned()))
            } @else {
                li { span.value { "–" } " " span.label { "counts cannot be read yet" } }
            }
            (tile("due lag", match lag {
                Some(at) if at < status.now => html! { (super::elements::span(status.now.since(at))) },
                _ => html! { "none" },
            }, "/hosts".to_owned()))
            @if let Some(scheduler) = &status.scheduler {
                (tile("polls in flight", number(scheduler.under_way), "/hosts".to_owned()))
                (tile("due and waiting", number(scheduler.waiting), "/hosts".to_owned()))
            }
        }
    }
}

/// Sources whose last poll failed, by the kind of the failure.
fn failing_panel(status: &StatusView) -> Markup {
    let mut kinds: Vec<(&String, u64)> = status
        .store_counts
        .iter()
        .flat_map(|counts| counts.failing_by_kind.iter().map(|(kind, count)| (kind, *count)))
        .filter(|(_, count)| *count > 0)
        .collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    html! {
        section.panel {
            h2 { "Failing sources" }
            @if kinds.is_empty() { (empty("No enabled source fails.")) } @else {
                ul.plain {
                    @for (kind, count) in kinds {
                        li {
                            a href=(format!("{SITE}/sources?failure={kind}")) { (number(count)) " " (kind.replace('_', " ")) }
                        }
                    }
                }
            }
        }
    }
}

/// The first disabled sources with their reasons; the verdict says how many there are.
fn disabled_panel(sources: &[SourceView]) -> Markup {
    html! {
        section.panel {
            h2 { "Disabled sources" }
            ul {
                @for source in sources {
                    li {
                        a href=(format!("{SITE}/sources/{}", source.id)) { (foreign(source.name())) } " "
                        @if let Some(reason) = &source.disabled_reason { span.soft { (foreign(reason)) } }
                    }
                }
            }
            p { a href=(format!("{SITE}/sources?state=disabled")) { "All disabled sources" } }
        }
    }
}

fn where_to_look(problem: &StatusProblem) -> &'static str {
    match problem.kind.as_str() {
        SOME_FAIL | MOST_FAIL => "/sources?sort=-failures",
        LOST_NODES => "/fleet",
        "paused" | "untrusted_clock" | "low_disk_space" => "/settings",
        "quarantined_rows" => "/supervision#quarantine",
        "unauthorized_sources" => "/sources?failure=unauthorized",
        "disabled_sources" => "/sources?state=disabled",
        "locked_sources" => "/sources",
        "failing_webhooks" | "disabled_webhooks" => "/webhooks",
        "held_hosts" => "/hosts?state=held",
        "open_breakers" => "/hosts?state=breaker_open",
        _ => "",
    }
}

fn what_to_do(problem: &StatusProblem) -> &'static str {
    match problem.kind.as_str() {
        SOME_FAIL => "They are polled less often and recover by themselves; look at those that fail for days.",
        MOST_FAIL => "Look at the kinds of failures below: the cause may be here, such as the network or a proxy.",
        LOST_NODES => "The other nodes have taken its sources over. Start it again, or do without it.",
        "paused" => "Resume it when you are ready.",
        "low_disk_space" => {
            "Make room, or keep posts and polls for fewer days (source.max-article-age-days, history.days)."
        }
        "untrusted_clock" => "Correct the clock of the machine.",
        "quarantined_rows" => "Look at the values and correct them in the database.",
        "unauthorized_sources" => "Give them a new login or key.",
        "disabled_sources" => "Read the reasons; enable or remove them.",
        "locked_sources" => "End the session of the database that locks them.",
        "failing_webhooks" => "Look at the last error.",
        "disabled_webhooks" => "Enable or remove them.",
        "held_hosts" => "They asked us to wait; nothing to do unless you held them.",
        "open_breakers" => "Look whether they are gone for good.",
        _ => "",
    }
}

fn hosts_panel(hosts: &[HostView], now: Timestamp) -> Markup {
    html! {
        section.panel {
            h2 { "Worst hosts" }
            @if hosts.is_empty() { (empty("No host is held, and every host answers.")) } @else {
                ul {
                    @for host in hosts {
                        li {
                            (host_link(&host.host)) " " (state(&host.state)) " "
                            @match (host.breaker_open_until, host.held_until) {
                                (Some(until), _) => { "next probe " (relative_time(until, now)) }
                                (None, Some(until)) => { "ends " (relative_time(until, now)) }
                                (None, None) => {}
                            }
                            @if let Some(reason) = &host.held_reason { " " span.soft { (reason) } }
                            @if host.silent_requests > 0 {
                                " " span.soft { (counted(host.silent_requests, "request")) " without an answer" }
                            }
                        }
                    }
                }
            }
            p { a href=(format!("{SITE}/hosts")) { "All hosts" } }
        }
    }
}

fn webhooks_panel(webhooks: &[WebhookView], now: Timestamp) -> Markup {
    let behind: Vec<&WebhookView> =
        webhooks.iter().filter(|webhook| webhook.failures > 0 || !webhook.enabled).collect();
    html! {
        section.panel {
            h2 { "Webhooks behind" }
            @if behind.is_empty() {
                (empty(if webhooks.is_empty() { "There are no webhooks." } else { "All deliveries arrive." }))
            } @else {
                ul {
                    @for webhook in behind.iter().take(SHOWN_MAX) {
                        li {
                            a href=(format!("{SITE}/webhooks")) { (foreign(&webhook.url)) } " "
                            (state(if webhook.enabled { "failing" } else { "disabled" })) " "
                            @if let Some(error) = &webhook.last_error { span.soft { (error) } " " }
                            @if let Some(at) = webhook.retry_at { "next try " (relative_time(at, now)) }
                        }
                    }
                }
            }
        }
    }
}

fn silent_panel(silent: &SilentSourcesView, now: Timestamp) -> Markup {
    html! {
        section.panel {
            h2 { "Silent sources" }
            @if silent.items.is_empty() { (empty("Every source that is polled publishes.")) } @else {
                p { (number(silent.total)) " polled without failures, but nothing new for " code { "source.silent-days" } "." }
                ul {
                    @for SilentSourceView { source, silent_since } in silent.items.iter().take(SHOWN_MAX) {
                        li {
                            a href=(format!("{SITE}/sources/{}", source.id)) { (foreign(source.name())) } " "
                            span.soft { "nothing new since " (relative_time(*silent_since, now)) }
                        }
                    }
                }
            }
        }
    }
}

fn daemon_panel(status: &StatusView) -> Markup {
    let counters = &status.statistics;
    html! {
        section.panel {
            h2 { "Daemon" }
            (facts(vec![
                ("Version", html! { (status.version) }),
                ("Started", relative_time(status.started_at, status.now)),
                ("Database", html! { (status.database_engine) ", schema " (status.schema_version) }),
                ("Polls since the start", number(counters.polls)),
                ("Crashes and restarts", html! {
                    a href=(format!("{SITE}/supervision")) { (number(counters.crashes)) ", " (number(counters.restarts)) }
                }),
                ("Received", html! { (number(counters.wire_bytes / 1_000_000)) " MB" }),
                ("Lost log records", number(counters.log_records_dropped)),
            ]))
        }
    }
}

fn fleet_panel(fleet: &FleetReport) -> Markup {
    html! {
        section.panel {
            h2 { "Nodes" }
            ul {
                @for node in fleet.nodes.iter().filter(|node| node.ended_at.is_none()).take(SHOWN_MAX) {
                    li {
                        a href=(format!("{SITE}/fleet")) { (node.name) } " " (state(&node.state)) " "
                        span.soft { (counted(node.sources, "source")) ", " (format!("{:.1}", node.polls_per_second)) " polls/s" }
                    }
                }
            }
            @if fleet.free_shards > 0 {
                p.problem { (counted(fleet.free_shards, "shard")) " without an owner: their sources are not polled." }
            }
        }
    }
}

fn charts(hours: &[PollHourView], status: &StatusView) -> Markup {
    let now = status.now;
    let failures = |since_hours: u64| {
        let since = now - std::time::Duration::from_secs(since_hours * 3_600);
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        for hour in hours.iter().filter(|hour| hour.outcome == PollOutcome::Failed && hour.hour >= since) {
            let kind = hour.error_type.map_or_else(|| "unknown".to_owned(), |kind| kind.to_string());
            *kinds.entry(kind).or_default() += hour.polls;
        }
        let mut kinds: Vec<(String, u64)> = kinds.into_iter().collect();
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        kinds
    };
    let polls = |step, steps| chart::by_step(hours, now, step, steps, chart::outcomes, 3);
    let posts = |step, steps| chart::by_step(hours, now, step, steps, chart::new_posts, 1);
    html! {
        div.panels.wide {
            section.panel {
                h2 { "Polls, last day" }
                (chart::bars("polls-day", "Polls by hour, last day", &chart::OUTCOMES, &polls(1, 24)))
            }
            section.panel {
                h2 { "Polls, last week" }
                (chart::bars("polls-week", "Polls by six hours, last week", &chart::OUTCOMES, &polls(6, 28)))
            }
            section.panel {
                h2 { "New posts, last day" }
                (chart::bars("posts-day", "New posts by hour, last day", &chart::NEW_POSTS, &posts(1, 24)))
            }
            section.panel {
                h2 { "New posts, last week" }
                (chart::bars("posts-week", "New posts by six hours, last week", &chart::NEW_POSTS, &posts(6, 28)))
            }
            section.panel {
                h2 { "Failures by kind" }
                @let (day, week) = (failures(24), failures(7 * 24));
                @if week.is_empty() { (empty("No poll failed in the last week.")) } @else {
                    div.scroll { table {
                        thead { tr { th scope="col" { "Kind" } th.number scope="col" { "Last day" } th.number scope="col" { "Last week" } } }
                        tbody {
                            @for (kind, count) in &week {
                                @let today = day.iter().find(|(name, _)| name == kind).map_or(0, |(_, count)| *count);
                                tr {
                                    th scope="row" { a href=(format!("{SITE}/sources?failure={kind}")) { (kind.replace('_', " ")) } }
                                    td.number { (number(today)) }
                                    td.number { (number(*count)) }
                                }
                            }
                        }
                    } }
                }
            }
            (daemon_panel(status))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::views::FleetTotals;

    #[test]
    fn nodes_are_lost_that_expired_and_have_not_come_back() {
        let node = |name: &str, state: &str, ended: bool| {
            serde_json::json!({
                "name": name, "state": state, "joined_at": "2027-01-21T19:00:00Z",
                "ended_at": ended.then_some("2027-01-21T20:00:00Z"), "ended_by": null, "version": "1",
                "has_same_settings": true, "lease_left_seconds": 0.0, "shards": 0, "shards_draining": 0, "sources": 0,
                "waiting": 0, "under_way": 0, "polls_per_second": 0.0, "lag_seconds": 0.0, "clock_offset_seconds": 0.0,
                "is_paused": false, "fenced": 0,
            })
        };
        let lost = |nodes: &[serde_json::Value]| {
            let fleet: FleetReport = serde_json::from_value(serde_json::json!({
                "is_shared": true, "node": "a", "shards": 256, "lease_seconds": 30.0, "quiet_seconds": 0.0, "free_shards": 0,
                "messages_waiting": 0, "nodes": nodes, "owners": [],
                "totals": FleetTotals::default(),
            }))
            .expect("a report");
            lost_nodes(&fleet).map(|problem| problem.detail)
        };
        assert_eq!(lost(&[node("a", "live", false), node("b", "left", true)]), None);
        assert_eq!(lost(&[node("a", "live", false), node("a", "expired", true)]), None);
        let gone = [node("a", "live", false), node("b", "expired", true), node("b", "expired", true)];
        assert_eq!(lost(&gone).as_deref(), Some("Node b ended without leaving the fleet"));
        let two = [node("b", "expired", true), node("c", "expired", true)];
        assert_eq!(lost(&two).as_deref(), Some("2 nodes ended without leaving the fleet: b, c"));
    }
}
