//! The list of sources: search, filters in the URL, order, and actions on some or on everything that matches.

use actix_web::web;
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use super::elements::{
    counted, empty, foreign, form_token, host_link, next_page, number, query, relative_time, source_link, state,
};
use super::page::{HtmlPage, PageResult};
use crate::api::views::{LabelView, Page as ListPage, SourcePage, SourceView};
use crate::api::{LocalApi, SITE};
use crate::model::{FailureKind, SourceType, Timestamp};

/// Rows of a page.
const ROWS: usize = 50;
/// Requests for one page: each examines a few hundred sources, so a rare match may need many pages.
const REQUESTS_MAX: usize = 8;
/// Labels that the list offers.
const LABELS_MAX: usize = 200;

pub(super) fn routes(config: &mut web::ServiceConfig) {
    config.service(web::resource(format!("{SITE}/sources")).get(list));
}

/// What the URL of the list says.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct SourceListQuery {
    pub(super) text: String,
    pub(super) state: String,
    pub(super) label: String,
    #[serde(rename = "type")]
    pub(super) source_type: String,
    pub(super) host: String,
    pub(super) failure: String,
    pub(super) sort: String,
    cursor: String,
    notice: String,
}

impl SourceListQuery {
    /// The filter without order and position.
    pub(super) fn filter(&self) -> [(&'static str, &str); 6] {
        [
            ("text", self.text.trim()),
            ("state", &self.state),
            ("label", &self.label),
            ("type", &self.source_type),
            ("host", self.host.trim()),
            ("failure", &self.failure),
        ]
    }

    fn with_sort(&self) -> Vec<(&'static str, &str)> {
        self.filter().into_iter().chain([("sort", self.sort.as_str())]).collect()
    }

    /// A link to the list with one part changed.
    fn link(&self, name: &str, value: &str) -> String {
        let pairs: Vec<(&str, &str)> =
            self.with_sort().into_iter().map(|(given, own)| (given, if given == name { value } else { own })).collect();
        format!("{SITE}/sources{}", query(&pairs))
    }
}

struct Found {
    sources: Vec<SourceView>,
    next: Option<String>,
    is_incomplete: bool,
}

async fn list(local: LocalApi, given: web::Query<SourceListQuery>) -> PageResult {
    let given = given.into_inner();
    let found = find(&local, &given).await?;
    let labels: ListPage<LabelView> = local.get(&format!("/labels?limit={LABELS_MAX}")).await?;
    let is_filtered = given.filter().iter().any(|(_, value)| !value.is_empty());
    let content = html! {
        h1 { "Sources" }
        (filters(&given, &labels.items))
        div.row {
            @if local.browser.can_write {
                a.button href=(format!("{SITE}/sources/new")) { "Add a source" }
                a.button href=(format!("{SITE}/opml")) { "Import OPML" }
            }
            a.button href=(format!("{SITE}/opml/export")) { "Export OPML" }
        }
        @if found.is_incomplete {
            p.notice { "The order covers the first 10,000 matches only. Narrow the filter to sort all of them." }
        }
        div #sources data-live {
            @if found.sources.is_empty() && found.next.is_none() {
                @if is_filtered {
                    (empty("No source matches. Remove a filter above."))
                } @else {
                    (empty("There are no sources yet. Add one, or import the list of another reader."))
                }
            } @else {
                (table(&local, &given, &found, is_filtered))
            }
            @if found.sources.is_empty() && found.next.is_some() {
                (empty("No match among the sources examined so far; the next page goes on."))
            }
            (next_page("/sources", &given.with_sort(), found.next.as_deref()))
        }
    };
    Ok(HtmlPage::new(&local, "Sources", "Sources").live().notice(Some(given.notice)).show(content))
}

/// One page of rows, from as many answers of the API as it takes.
async fn find(local: &LocalApi, given: &SourceListQuery) -> Result<Found, crate::api::ProblemView> {
    let mut found = Found { sources: Vec::new(), next: Some(given.cursor.clone()), is_incomplete: false };
    for _ in 0..REQUESTS_MAX {
        let Some(cursor) = found.next.take() else { break };
        let limit = (ROWS - found.sources.len()).to_string();
        let mut pairs = given.with_sort();
        pairs.extend([("cursor", cursor.as_str()), ("limit", limit.as_str())]);
        let page: SourcePage = local.get(&format!("/sources{}", query(&pairs))).await?;
        found.sources.extend(page.items);
        found.next = page.next_cursor;
        found.is_incomplete |= page.is_incomplete;
        if found.sources.len() >= ROWS {
            break;
        }
    }
    Ok(found)
}

fn filters(given: &SourceListQuery, labels: &[LabelView]) -> Markup {
    let states = ["", "active", "backing_off", "resting", "disabled"];
    let types: Vec<String> = SourceType::ALL.iter().map(ToString::to_string).collect();
    let kinds: Vec<String> = FailureKind::ALL.iter().map(ToString::to_string).collect();
    let option = |value: &str, text: &str, chosen: &str| {
        html! { option value=(value) selected[value == chosen] { (text) } }
    };
    let choice = |name: &str, label: &str, all: &str, values: &[String], chosen: &str| {
        html! {
            div.field {
                label for=(name) { (label) }
                select id=(name) name=(name) {
                    (option("", all, chosen))
                    @for value in values { (option(value, &value.replace('_', " "), chosen)) }
                    @if !chosen.is_empty() && !values.iter().any(|value| value == chosen) {
                        (option(chosen, chosen, chosen))
                    }
                }
            }
        }
    };
    let names: Vec<String> = labels.iter().map(|label| label.label.clone()).collect();
    html! {
        nav aria-label="States" {
            ul.chips {
                @for name in states {
                    li {
                        a href=(given.link("state", name)) aria-current=[(given.state == name).then_some("true")] {
                            (if name.is_empty() { "all states".to_owned() } else { name.replace('_', " ") })
                        }
                    }
                }
            }
        }
        form.filters method="get" action=(format!("{SITE}/sources")) role="search" {
            input type="hidden" name="state" value=(given.state);
            input type="hidden" name="sort" value=(given.sort);
            div.field {
                label for="text" { "URL or title" }
                input #text type="search" name="text" value=(given.text) maxlength="200";
            }
            (choice("label", "Label", "any label", &names, &given.label))
            (choice("type", "Type", "any type", &types, &given.source_type))
            (choice("failure", "Failure", "any", &kinds, &given.failure))
            div.field {
                label for="host" { "Host" }
                input #host name="host" value=(given.host) maxlength="300";
            }
            button type="submit" { "Search" }
        }
        @let chosen: Vec<_> =
            given.filter().into_iter().filter(|(name, value)| *name != "state" && !value.is_empty()).collect();
        @if !chosen.is_empty() {
            ul.chips aria-label="Filters" {
                @for (name, value) in chosen {
                    li {
                        a href=(given.link(name, "")) aria-label=(format!("Remove the filter {name} {value}")) {
                            (name) ": " (foreign(value)) " ×"
                        }
                    }
                }
            }
        }
    }
}

fn table(local: &LocalApi, given: &SourceListQuery, found: &Found, is_filtered: bool) -> Markup {
    let can_write = local.browser.can_write;
    let rows = html! {
        div.scroll {
            table.cards {
                caption { (counted(found.sources.len(), "source")) " on this page" }
                thead { tr {
                    @if can_write {
                        th.check { input type="checkbox" data-all="id" aria-label="Choose all on this page" hidden; }
                    }
                    (heading(given, &[("id", "Id")]))
                    (heading(given, &[("title", "Title")]))
                    (heading(given, &[("url", "URL")]))
                    (heading(given, &[("state", "State")]))
                    (heading(given, &[("last_polled", "Last poll"), ("next_poll", "next poll")]))
                    (heading(given, &[("failures", "Failures")]))
                    th scope="col" { "Host" }
                    th scope="col" { "Labels" }
                } }
                tbody { @for source in &found.sources { (row(given, source, can_write, local.now())) } }
            }
        }
    };
    html! {
        @if can_write {
            form method="post" action=(format!("{SITE}/jobs")) {
                (form_token(local))
                @for (name, value) in given.filter() { input type="hidden" name=(format!("filter_{name}")) value=(value); }
                (rows)
                (bulk(is_filtered))
            }
        } @else { (rows) }
    }
}

/// A heading that sorts by these keys; a second use turns the order around.
fn heading(given: &SourceListQuery, keys: &[(&str, &str)]) -> Markup {
    let sort = if given.sort.is_empty() { "id" } else { &given.sort };
    let (name, is_descending) = sort.strip_prefix('-').map_or((sort, false), |name| (name, true));
    let own = keys.iter().any(|(key, _)| *key == name);
    let order = own.then_some(if is_descending { "descending" } else { "ascending" });
    html! {
        th scope="col" aria-sort=[order] {
            @for (place, (key, label)) in keys.iter().enumerate() {
                @if place > 0 { " · " }
                @let is_own = *key == name;
                @let target = if is_own && !is_descending { format!("-{key}") } else { (*key).to_owned() };
                a href=(given.link("sort", &target)) { (label) }
                @if is_own { (if is_descending { " ▼" } else { " ▲" }) }
            }
        }
    }
}

fn row(given: &SourceListQuery, source: &SourceView, can_write: bool, now: Timestamp) -> Markup {
    let title = source.title.as_ref().or(source.feed_title.as_ref());
    html! {
        tr.bad-row[source.consecutive_failures > 0 || !source.enabled] {
            @if can_write {
                td.check {
                    input type="checkbox" name="id" value=(source.id) aria-label=(format!("Choose source {}", source.id));
                }
            }
            td.short.minor data-label="Id" { a href=(format!("{SITE}/sources/{}", source.id)) { (source.id) } }
            td data-label="Title" { @if let Some(title) = title { (source_link(source.id, title)) } @else { span.none { "none yet" } } }
            td data-label="URL" { (source_link(source.id, &source.url)) }
            td data-label="State" {
                (state(&source.state)) " " span.soft { (source.source_type) }
                @if let Some(reason) = source.disabled_reason.as_ref().or(source.feed_disable_reason.as_ref()) {
                    div.soft { (foreign(reason)) }
                }
            }
            td data-label="Last poll" {
                @match source.last_polled {
                    Some(at) => (relative_time(at, now)),
                    None => span.none { "never" },
                }
            }
            td data-label="Failures" {
                @if source.consecutive_failures > 0 {
                    (number(source.consecutive_failures)) " "
                    @if let Some(kind) = source.last_error_type { (kind.to_string().replace('_', " ")) ": " }
                    @if let Some(error) = &source.last_error { span.soft { (foreign(error)) } }
                } @else { span.none { "none" } }
            }
            td.minor data-label="Host" { @if let Some(host) = &source.host { (host_link(host)) } }
            td data-label="Labels" {
                @for label in &source.labels { a.tag href=(given.link("label", label)) title=(label) { (foreign(label)) } " " }
            }
        }
    }
}

/// Actions on the chosen rows, or on everything that matches.
fn bulk(is_filtered: bool) -> Markup {
    let all = if is_filtered { "everything that matches the filter" } else { "all sources" };
    html! {
        fieldset.actions {
            legend { "Act on " span data-chosen { "the chosen sources" } }
            div.field {
                label for="scope" { "Which" }
                select #scope name="scope" {
                    option value="chosen" { "chosen rows" }
                    option value="matching" { (all) }
                }
            }
            div.field {
                label for="action" { "Action" }
                select #action name="action" {
                    option value="poll" { "poll now" }
                    option value="enable" { "enable" }
                    option value="disable" { "disable" }
                    option value="rest" { "rest" }
                    option value="wake" { "wake (end the rest)" }
                    option value="add_label" { "add the label" }
                    option value="remove_label" { "remove the label" }
                    option value="remove" { "remove with their posts" }
                }
            }
            div.field {
                label for="detail" { "Label or reason" }
                input #detail name="detail" maxlength="500";
            }
            button type="submit" { "Preview" }
        }
    }
}
