//! The list of posts, newest first.

use std::time::Duration;

use actix_web::web;
use maud::{Markup, html};
use serde::Deserialize;

use super::elements::{cut, empty, foreign, next_page, number, query, source_link, time};
use super::page::{HtmlPage, PageResult};
use crate::api::views::{LabelView, Page as ListPage, PostView, SourceView};
use crate::api::{LocalApi, SITE};
use crate::model::PostId;

const PAGE_POSTS: usize = 50;
/// Labels that are offered as links; further ones can be typed.
const LABELS_SHOWN: usize = 20;
/// Values of `since`, with their names and lengths.
const PERIODS: [(&str, &str, Duration); 2] =
    [("day", "last 24 hours", Duration::from_secs(86_400)), ("week", "last 7 days", Duration::from_secs(7 * 86_400))];

pub(super) fn routes(config: &mut web::ServiceConfig) {
    config.service(web::resource(format!("{SITE}/posts")).get(list));
}

/// Which posts are listed. Empty texts select all.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct PostFilterQuery {
    text: String,
    label: String,
    source_id: String,
    since: String,
    cursor: String,
    notice: Option<String>,
}

impl PostFilterQuery {
    fn pairs(&self) -> [(&'static str, &str); 4] {
        [("text", &self.text), ("label", &self.label), ("source_id", &self.source_id), ("since", &self.since)]
    }

    /// Path of the list with another value of one field, from its first page on.
    fn with(&self, name: &str, value: &str) -> String {
        let pairs = self.pairs().map(|(field, old)| (field, if field == name { value } else { old }));
        format!("{SITE}/posts{}", query(&pairs))
    }

    fn is_empty(&self) -> bool {
        self.pairs().iter().all(|(_, value)| value.is_empty())
    }
}

async fn list(local: LocalApi, filter: web::Query<PostFilterQuery>) -> PageResult {
    let mut filter = filter.into_inner();
    filter.text = filter.text.trim().to_owned();
    let now = local.now();
    let period = PERIODS.iter().find(|(name, ..)| *name == filter.since);
    let since = period.map(|(_, _, length)| (now - *length).to_string()).unwrap_or_default();
    let limit = PAGE_POSTS.to_string();
    let selection = query(&[
        ("order", "newest"),
        ("limit", &limit),
        ("text", &filter.text),
        ("label", &filter.label),
        ("source_id", &filter.source_id),
        ("since", &since),
        ("cursor", &filter.cursor),
    ]);
    let posts: ListPage<PostView> = local.get(&format!("/posts{selection}")).await?;
    let labels: ListPage<LabelView> = local.get("/labels").await?;
    let source: Option<SourceView> = match filter.source_id.as_str() {
        "" => None,
        id => Some(local.get(&format!("/sources/{}", super::elements::encoded(id))).await?),
    };
    let is_first_page = filter.cursor.is_empty();
    let content = html! {
        h1 { "Posts" }
        (filter_form(&filter, &labels.items))
        (chips(&filter, source.as_ref(), &labels.items))
        div #posts data-live[is_first_page] {
            (table(&posts, &filter))
            (next_page("/posts", &filter.pairs(), posts.next_cursor.as_deref()))
        }
        @if !is_first_page { p { a href=(filter.with("", "")) { "Newest posts" } } }
    };
    let page = HtmlPage::new(&local, "Posts", "Posts").notice(filter.notice.clone());
    Ok(if is_first_page { page.live() } else { page }.show(content))
}

fn filter_form(filter: &PostFilterQuery, labels: &[LabelView]) -> Markup {
    html! {
        form.filters method="get" action=(format!("{SITE}/posts")) role="search" {
            div.field {
                label for="text" { "Title or text contains" }
                input #text type="search" name="text" value=(filter.text) maxlength="200";
            }
            div.field {
                label for="label" { "Label of the source" }
                input #label type="text" name="label" value=(filter.label) list="labels" autocomplete="off";
                datalist #labels { @for label in labels { option value=(label.label) {} } }
            }
            div.field {
                label for="since" { "Stored" }
                select #since name="since" {
                    option value="" { "any time" }
                    @for (name, words, _) in PERIODS {
                        option value=(name) selected[filter.since == name] { (words) }
                    }
                }
            }
            @if !filter.source_id.is_empty() { input type="hidden" name="source_id" value=(filter.source_id); }
            button.primary type="submit" { "Search" }
        }
    }
}

/// What is selected, each with a link that removes it, and labels to choose.
fn chips(filter: &PostFilterQuery, source: Option<&SourceView>, labels: &[LabelView]) -> Markup {
    let chip = |name: &str, words: Markup| {
        html! {
            li { a href=(filter.with(name, "")) aria-current="true" {
                (words) " ✕" span.visually-hidden { " (remove)" }
            } }
        }
    };
    let offered = labels.iter().filter(|label| label.label != filter.label).take(LABELS_SHOWN);
    html! {
        @if !filter.is_empty() || !labels.is_empty() {
            ul.chips aria-label="Filters" {
                @if !filter.text.is_empty() { (chip("text", html! { "contains “" (foreign(&filter.text)) "”" })) }
                @if !filter.label.is_empty() { (chip("label", html! { "label " (foreign(&filter.label)) })) }
                @if let Some(source) = source { (chip("source_id", html! { "source " (foreign(source.name())) })) }
                @if let Some((_, words, _)) = PERIODS.iter().find(|(name, ..)| *name == filter.since) {
                    (chip("since", html! { (words) }))
                }
                @for label in offered {
                    li { a href=(filter.with("label", &label.label)) { (foreign(&label.label)) } }
                }
            }
        }
    }
}

fn table(posts: &ListPage<PostView>, filter: &PostFilterQuery) -> Markup {
    html! {
        @if posts.items.is_empty() {
            @match (&posts.next_cursor, filter.is_empty()) {
                (Some(_), _) => (empty("No match among the posts searched so far; the next page continues the search.")),
                (None, false) => (empty("No post matches. Remove a filter to see more.")),
                (None, true) => (empty("There are no posts yet. Add a source, and its posts appear after its first poll.")),
            }
        } @else {
            div.scroll { table.cards {
                caption { "Newest first" }
                thead { tr {
                    th scope="col" { "Stored" }
                    th scope="col" { "Title" }
                    th scope="col" { "Source" }
                    th scope="col" { "Labels" }
                } }
                tbody { @for post in &posts.items { (row(post, filter)) } }
            } }
        }
    }
}

fn row(post: &PostView, filter: &PostFilterQuery) -> Markup {
    html! {
        tr {
            td.short data-label="Stored" { (time(post.created_at)) }
            td data-label="Title" {
                span {
                    (post_link(post.id, &shown_title(post)))
                    @if post.revision > 0 {
                        " " a.state.plain href=(format!("{SITE}/posts/{}#revisions", post.id)) {
                            "edited " (number(post.revision)) "×"
                        }
                    }
                    @if post.is_backfill { " " span.soft { "backfill" } }
                }
            }
            td data-label="Source" { (of_source(post)) }
            td data-label="Labels" {
                span { @for label in post.source.iter().flat_map(|source| &source.labels) {
                    a.tag href=(filter.with("label", label)) title=(label) { (foreign(label)) } " "
                } }
            }
        }
    }
}

/// The source of a post, which may have been removed.
pub(super) fn of_source(post: &PostView) -> Markup {
    match &post.source {
        Some(source) => source_link(source.id, source.title.as_deref().unwrap_or(&source.url)),
        None => html! { span.none { "removed source" } },
    }
}

pub(super) fn post_link(id: PostId, title: &str) -> Markup {
    html! { a href=(format!("{SITE}/posts/{id}")) { (foreign(title)) } }
}

/// The title, or else the beginning of the text.
pub(super) fn shown_title(post: &PostView) -> String {
    let beginning = || Some(cut(post.body.trim(), 100).0).filter(|text| !text.is_empty());
    let title = Some(post.title.trim()).filter(|title| !title.is_empty()).map(str::to_owned);
    title.or_else(beginning).unwrap_or_else(|| format!("Post {}", post.id))
}
