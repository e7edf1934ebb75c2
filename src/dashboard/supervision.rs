//! The supervision tree, the threads, injected faults and rows that cannot be read.

use actix_web::http::Method;
use actix_web::web;
use maud::{Markup, html};
use serde::Deserialize;

use super::elements::{action_form, empty, foreign, number, query as query_text, relative_time, span, state, time};
use super::form::SignedForm;
use super::page::{HtmlPage, PageResult, go_to};
use crate::api::views::{
    CrashView, FaultsChange, FaultsView, FleetReport, QuarantineView, ThreadLine, TreeNode, TreeView,
};
use crate::api::{LocalApi, SITE};
use crate::model::Timestamp;

pub(super) fn routes(config: &mut web::ServiceConfig) {
    config
        .service(web::resource(format!("{SITE}/supervision")).get(show))
        .service(web::resource(format!("{SITE}/supervision/faults")).post(set_faults));
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SupervisionQuery {
    /// Node of the fleet; this one if empty.
    node: String,
    notice: Option<String>,
}

async fn show(local: LocalApi, query: web::Query<SupervisionQuery>) -> PageResult {
    let query = query.into_inner();
    let of_node = |path: &str| format!("{path}{}", query_text(&[("node", &query.node)]));
    let fleet: Option<FleetReport> = if local.is_fleet() { Some(local.get("/fleet").await?) } else { None };
    let path = format!("/tree{}", query_text(&[("backtraces", "true"), ("node", &query.node)]));
    let tree: TreeView = local.get(&path).await?;
    let quarantine: QuarantineView = local.get(&of_node("/quarantine")).await?;
    let faults = match local.get::<FaultsView>(&of_node("/faults")).await {
        Ok(faults) => Some(faults),
        Err(problem) if problem.status == 404 => None,
        Err(problem) => return Err(problem.into()),
    };
    let now = local.now();
    let mut place = 0;
    let content = html! {
        h1 { "Supervision" }
        p.soft { "A supervisor restarts the actors below it when they crash. Their messages wait meanwhile." }
        @if let Some(fleet) = &fleet { (nodes(fleet, &query.node)) }
        div #tree data-live {
            section.panel {
                h2 { "Tree" }
                ul.tree { (node(&tree.root, now, &mut place)) }
            }
            (threads(&tree.threads))
            (quarantine_section(&quarantine))
        }
        (faults_section(&local, faults.as_ref(), &query.node))
    };
    Ok(HtmlPage::new(&local, "Supervision", "Supervision").live().notice(query.notice).show(content))
}

/// Chooses the node whose tree is shown.
fn nodes(fleet: &FleetReport, chosen: &str) -> Markup {
    let chosen = if chosen.is_empty() { fleet.node.as_deref().unwrap_or_default() } else { chosen };
    html! {
        ul.chips aria-label="Node" {
            @for node in fleet.nodes.iter().filter(|node| node.ended_at.is_none()) {
                li { a href=(format!("{SITE}/supervision{}", query_text(&[("node", &node.name)])))
                    aria-current=[(node.name == chosen).then_some("true")] { (node.name) } }
            }
        }
    }
}

/// `place` numbers the nodes, for names of elements.
fn node(found: &TreeNode, now: Timestamp, place: &mut usize) -> Markup {
    *place += 1;
    let id = *place;
    let is_hidden = found.children_total.saturating_sub(found.children.len());
    html! {
        li {
            strong { (foreign(&found.name)) } " " span.soft { (found.kind) } " " (state(&found.state))
            @if let (Some(depth), Some(capacity)) = (found.mailbox_depth, found.mailbox_capacity) {
                " " span.soft { "mailbox " (number(depth)) " of " (number(capacity)) " " }
                meter min="0" max=(capacity.max(1)) high=(capacity / 2 + 1) value=(depth.min(capacity))
                    aria-label=(format!("Mailbox of {}", found.name)) { (depth) }
            }
            @if found.restarts > 0 {
                " " span.soft { (number(found.restarts)) @if found.restarts == 1 { " restart" } @else { " restarts" } }
            }
            @if let Some(seconds) = found.uptime_seconds {
                " " span.soft { "up for " (span(std::time::Duration::from_secs(seconds))) }
            }
            @if let Some(crash) = &found.last_crash { (crash_text(crash, id, now)) }
            @if !found.children.is_empty() {
                ul { @for child in &found.children { (node(child, now, place)) } }
            }
            @if is_hidden > 0 { p.soft { "and " (number(is_hidden)) " more" } }
        }
    }
}

fn crash_text(crash: &CrashView, id: usize, now: Timestamp) -> Markup {
    html! {
        div {
            "Last crash " (relative_time(crash.at, now)) " (" (time(crash.at)) "): " (foreign(&crash.message))
            @if let Some(place) = &crash.place { " at " code { (place) } }
            @if let Some(backtrace) = &crash.backtrace {
                details id=(format!("backtrace-{id}")) {
                    summary { "Backtrace" }
                    pre tabindex="0" { (backtrace) }
                }
            }
        }
    }
}

fn threads(threads: &[ThreadLine]) -> Markup {
    html! {
        section.panel {
            h2 { "Threads" }
            p.soft { "A watchdog asks each thread. A thread that is blocked gets a replacement for its actors." }
            div.scroll role="region" aria-label="Threads" tabindex="0" { table {
                thead { tr {
                    th scope="col" { "Thread" } th scope="col" { "State" } th.number scope="col" { "Replaced" }
                } }
                tbody { @for thread in threads {
                    tr {
                        th scope="row" { (thread.name) }
                        td { (state(&thread.state)) }
                        td.number { (number(thread.replaced)) }
                    }
                } }
            } }
        }
    }
}

fn quarantine_section(quarantine: &QuarantineView) -> Markup {
    html! {
        section.panel #quarantine {
            h2 { "Rows that cannot be read" }
            @if quarantine.rows.is_empty() { (empty("Every row of the database can be read.")) } @else {
                p { "These rows are skipped. Correct the values in the database; the daemon reads them again within minutes." }
                div.scroll { table.cards {
                    caption { (number(quarantine.total)) @if quarantine.total == 1 { " row" } @else { " rows" }
                        @if quarantine.rows.len() < quarantine.total { ", the first " (number(quarantine.rows.len())) " are shown" } }
                    thead { tr {
                        th scope="col" { "Table" } th scope="col" { "Row" } th scope="col" { "Column" }
                        th scope="col" { "Value" } th scope="col" { "Why it cannot be read" }
                    } }
                    tbody { @for row in &quarantine.rows {
                        tr {
                            td data-label="Table" { (row.table) }
                            td data-label="Row" { (foreign(&row.key)) @if let Some(url) = &row.url { " " span.soft { (foreign(url)) } } }
                            td data-label="Column" { (row.column) }
                            td data-label="Value" { code { (foreign(&row.value)) } }
                            td data-label="Why" { (foreign(&row.reason)) }
                        }
                    } }
                } }
            }
        }
    }
}

fn faults_section(local: &LocalApi, faults: Option<&FaultsView>, node: &str) -> Markup {
    let Some(faults) = faults else {
        return html! {
            section.panel #faults {
                h2 { "Injected faults" }
                p { "Fault injection is not enabled. To try how the daemon survives crashes, set "
                    code { "faults.enabled" } " to true in the configuration and restart the daemon. Not for production." }
            }
        };
    };
    html! {
        section.panel #faults {
            h2 { "Injected faults" }
            p { (state(if faults.is_enabled { "on" } else { "off" })) " "
                (number(faults.struck)) @if faults.struck == 1 { " fault" } @else { " faults" } " injected since the start." }
            @if faults.rules.is_empty() { (empty("There are no rules, so that no fault is injected.")) } @else {
                ul { @for rule in &faults.rules { li { code { (rule) } } } }
            }
            (action_form(local, "/supervision/faults", html! {
                @if !node.is_empty() { input type="hidden" name="node" value=(node); }
                div.stacked {
                    label for="fault-rules" { "Rules, one a line: ACTOR/MESSAGE=ACTION@PROBABILITY. Actions: panic, drop, \
                        stall:MILLISECONDS; * stands for any actor or message." }
                    textarea #fault-rules name="rules" rows="4" spellcheck="false" placeholder="host/PollSource=panic@0.01" {
                        (faults.rules.join("\n"))
                    }
                    div.row {
                        label { input type="checkbox" name="is_enabled" value="true" checked[faults.is_enabled]; " inject faults" }
                        button type="submit" { "Save" }
                    }
                }
            }))
        }
    }
}

async fn set_faults(local: LocalApi, form: SignedForm) -> PageResult {
    let rules = form.text("rules").lines().map(str::trim).filter(|rule| !rule.is_empty()).map(str::to_owned);
    let change = FaultsChange { is_enabled: form.is_checked("is_enabled"), rules: Some(rules.collect()) };
    let node = query_text(&[("node", form.text("node"))]);
    local.change(Method::PUT, &format!("/faults{node}"), Some(&change)).await?;
    let notice = if change.is_enabled { "Faults are injected by these rules." } else { "No faults are injected." };
    Ok(go_to(&format!("/supervision{node}#faults"), notice))
}
