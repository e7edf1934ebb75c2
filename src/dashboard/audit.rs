//! Audit records: which caller changed what, newest first.

use std::time::Duration;

use actix_web::web;
use maud::{Markup, html};
use serde::Deserialize;

use super::elements::{empty, encoded, foreign, next_page, query, time};
use super::page::{HtmlPage, PageResult};
use crate::api::views::{AuditView, Page as ListPage};
use crate::api::{LocalApi, Problem, SITE};
use crate::model::{AuditValue, Timestamp};

const PAGE_RECORDS: usize = 100;
/// Short values of `since`, with their names and lengths.
const PERIODS: [(&str, &str, u64); 3] =
    [("day", "last 24 hours", 86_400), ("week", "last 7 days", 7 * 86_400), ("month", "last 30 days", 30 * 86_400)];
/// Kinds of things that audit records are about.
const TARGETS: [&str; 10] =
    ["source", "host", "webhook", "label", "daemon", "polling", "user", "podcast", "article", "store"];

pub(super) fn routes(config: &mut web::ServiceConfig) {
    config.service(web::resource(format!("{SITE}/audit")).get(list));
}

/// Which records are listed. Empty texts select all.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct AuditFilterQuery {
    action: String,
    target: String,
    target_id: String,
    who: String,
    /// The name of a period, or a time.
    since: String,
    cursor: String,
}

impl AuditFilterQuery {
    fn pairs(&self) -> [(&'static str, &str); 5] {
        [
            ("action", &self.action),
            ("target", &self.target),
            ("target_id", &self.target_id),
            ("who", &self.who),
            ("since", &self.since),
        ]
    }

    /// Path of the list with other values of some fields, from its first page on.
    fn with(&self, changes: &[(&str, &str)]) -> String {
        let pairs = self.pairs().map(|(field, old)| {
            let change = changes.iter().find(|(name, _)| *name == field);
            (field, change.map_or(old, |(_, value)| *value))
        });
        format!("{SITE}/audit{}", query(&pairs))
    }

    fn since(&self, now: Timestamp) -> Result<String, Problem> {
        if self.since.is_empty() {
            return Ok(String::new());
        }
        match PERIODS.iter().find(|(name, ..)| *name == self.since) {
            Some((_, _, seconds)) => Ok((now - Duration::from_secs(*seconds)).to_string()),
            None => {
                let at: Result<Timestamp, _> = self.since.parse();
                at.map(|at| at.to_string()).map_err(|error| Problem::invalid(error).at("since"))
            }
        }
    }
}

async fn list(local: LocalApi, filter: web::Query<AuditFilterQuery>) -> PageResult {
    let mut filter = filter.into_inner();
    for text in [&mut filter.action, &mut filter.target, &mut filter.target_id, &mut filter.who, &mut filter.since] {
        *text = text.trim().to_owned();
    }
    let now = local.now();
    let (since, limit) = (filter.since(now)?, PAGE_RECORDS.to_string());
    let selection = query(&[
        ("action", &filter.action),
        ("target", &filter.target),
        ("target_id", &filter.target_id),
        ("who", &filter.who),
        ("since", &since),
        ("limit", &limit),
        ("cursor", &filter.cursor),
    ]);
    let records: ListPage<AuditView> = local.get(&format!("/audit{selection}")).await?;
    let is_first_page = filter.cursor.is_empty();
    let content = html! {
        h1 { "Audit" }
        (filter_form(&filter))
        (chips(&filter))
        div #audit data-live[is_first_page] {
            @if records.items.is_empty() {
                (empty(match filter.pairs().iter().all(|(_, value)| value.is_empty()) {
                    true => "There are no records yet.",
                    false => "No record matches. Remove a filter to see more.",
                }))
            } @else {
                (table(&records.items, &filter))
            }
            (next_page("/audit", &filter.pairs(), records.next_cursor.as_deref()))
        }
        @if !is_first_page { p { a href=(filter.with(&[])) { "Newest records" } } }
    };
    let page = HtmlPage::new(&local, "Audit", "Audit");
    Ok(if is_first_page { page.live() } else { page }.show(content))
}

fn filter_form(filter: &AuditFilterQuery) -> Markup {
    let is_period = PERIODS.iter().any(|(name, ..)| *name == filter.since);
    html! {
        form.filters method="get" action=(format!("{SITE}/audit")) role="search" {
            div.field {
                label for="action" { "Action" }
                input #action type="text" name="action" value=(filter.action) placeholder="source.edit";
            }
            div.field {
                label for="target" { "Kind" }
                input #target type="text" name="target" value=(filter.target) list="targets" placeholder="source";
                datalist #targets { @for target in TARGETS { option value=(target) {} } }
            }
            div.field {
                label for="target_id" { "Id or name" }
                input #target_id type="text" name="target_id" value=(filter.target_id);
            }
            div.field {
                label for="who" { "Who" }
                input #who type="text" name="who" value=(filter.who) placeholder="uid:1000";
            }
            div.field {
                label for="since" { "Since" }
                select #since name="since" {
                    option value="" { "any time" }
                    @for (name, words, _) in PERIODS {
                        option value=(name) selected[filter.since == name] { (words) }
                    }
                    @if !filter.since.is_empty() && !is_period {
                        option value=(filter.since) selected { (filter.since) }
                    }
                }
            }
            button.primary type="submit" { "Show" }
        }
    }
}

fn chips(filter: &AuditFilterQuery) -> Markup {
    let given: Vec<_> = filter.pairs().into_iter().filter(|(_, value)| !value.is_empty()).collect();
    html! {
        @if !given.is_empty() {
            ul.chips aria-label="Filters" {
                @for (name, value) in given {
                    // An id means nothing without its kind.
                    @let without = if name == "target" { vec![(name, ""), ("target_id", "")] } else { vec![(name, "")] };
                    @let link = filter.with(&without);
                    li { a href=(link) aria-current="true" {
                        (name.replace('_', " ")) " " (foreign(value)) " ✕" span.visually-hidden { " (remove)" }
                    } }
                }
            }
        }
    }
}

fn table(records: &[AuditView], filter: &AuditFilterQuery) -> Markup {
    html! {
        div.scroll { table.cards {
            caption { "Newest first" }
            thead { tr {
                th scope="col" { "Time" }
                th scope="col" { "Who" }
                th scope="col" { "Action" }
                th scope="col" { "What" }
                th scope="col" { "Before → after" }
            } }
            tbody {
                @for record in records {
                    tr {
                        td.short data-label="Time" { (time(record.at)) }
                        td data-label="Who" {
                            span {
                                a href=(filter.with(&[("who", &record.who)])) { (foreign(&record.who)) }
                                @if let Some(name) = &record.user_name { " " span.soft { "(" (foreign(name)) ")" } }
                                @if let Some(address) = &record.address { " " span.soft { (address) } }
                                @if let Some(node) = &record.node { " " span.soft { "on " (foreign(node)) } }
                            }
                        }
                        td data-label="Action" {
                            a href=(filter.with(&[("action", &record.action)])) { code { (record.action) } }
                        }
                        td data-label="What" { span { (thing(record)) } }
                        td data-label="Before → after" { (changes(record)) }
                    }
                }
            }
        } }
    }
}

/// The changed thing, with a link to its page.
fn thing(record: &AuditView) -> Markup {
    let name = record.target_name.as_deref().or(record.target_id.as_deref());
    let page = record.target_id.as_deref().and_then(|id| match record.target.as_str() {
        // The page of a removed thing would be an error.
        _ if record.action.ends_with(".remove") => None,
        "source" => Some(format!("/sources/{}", encoded(id))),
        "host" => Some(format!("/hosts/{}", encoded(id))),
        "webhook" => Some(format!("/webhooks#webhook-{}", encoded(id))),
        _ => None,
    });
    html! {
        (record.target) " "
        @match (page, name) {
            (Some(page), Some(name)) => a href=(format!("{SITE}{page}")) { (foreign(name)) },
            (_, Some(name)) => (foreign(name)),
            _ => "",
        }
        @if let Some(id) = &record.target_id {
            @let history = query(&[("target", &record.target), ("target_id", id)]);
            " " a.soft href=(format!("{SITE}/audit{history}")) { "history" }
        }
    }
}

/// The changed fields, each with its value before and after.
fn changes(record: &AuditView) -> Markup {
    let names: std::collections::BTreeSet<&str> = record.before.names().chain(record.after.names()).collect();
    html! {
        @if names.is_empty() { span.none { "–" } } @else {
            ul.plain {
                @for name in names {
                    li {
                        span.soft { (name) ": " }
                        @if let Some(before) = record.before.get(name) { del { (value(before)) } " → " }
                        @match record.after.get(name) {
                            Some(after) => ins { (value(after)) },
                            None => span.none { "none" },
                        }
                    }
                }
            }
        }
    }
}

fn value(value: &AuditValue) -> Markup {
    match value {
        AuditValue::Text(text) => foreign(text),
        AuditValue::List(items) if items.is_empty() => html! { "none" },
        AuditValue::List(items) => html! {
            @for (place, item) in items.iter().enumerate() { @if place > 0 { ", " } (foreign(item)) }
        },
        other => html! { (other.to_string()) },
    }
}
