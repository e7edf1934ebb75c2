//! One source: why and when it is polled next, what became of its polls, its posts, settings and changes.

use actix_web::web;
use maud::{Markup, html};

use super::elements::{
    counted, empty, encoded, facts, foreign, host_link, number, outside_link, relative_time, source_link, span, state,
    time, words,
};
use super::overview::Notice;
use super::page::{HtmlPage, PageResult};
use super::poll_timeline::{self, poll_table};
use super::problem::sentence;
use super::source_actions::{actions, settings};
use crate::api::views::{AuditView, ConfigurationRow, Explanation, Page as ListPage, PollRecord, PostView, SourceView};
use crate::api::{LocalApi, SITE};
use crate::model::Timestamp;

/// Polls, posts and changes that the page shows.
const POLLS: usize = 60;
const POSTS: usize = 10;
const CHANGES: usize = 10;

pub(super) fn routes(config: &mut web::ServiceConfig) {
    config.service(web::resource(format!("{SITE}/sources/{{id:[0-9]+}}")).get(one));
}

async fn one(local: LocalApi, id: web::Path<String>, query: web::Query<Notice>) -> PageResult {
    let id = encoded(&id);
    let source: SourceView = local.get(&format!("/sources/{id}")).await?;
    let explanation: Explanation = local.get(&format!("/sources/{id}/explain")).await?;
    let polls: ListPage<PollRecord> = local.get(&format!("/sources/{id}/history?limit={POLLS}")).await?;
    let posts: ListPage<PostView> = local.get(&format!("/posts?source_id={id}&order=newest&limit={POSTS}")).await?;
    // Who changed what is for those who may change things.
    let changes: Option<ListPage<AuditView>> = match local.browser.can_write {
        true => Some(local.get(&format!("/audit?target=source&target_id={id}&limit={CHANGES}")).await?),
        false => None,
    };
    let defaults: Vec<ConfigurationRow> = local.get("/configuration").await?;
    let now = local.now();
    let name = source.name();
    let title = super::elements::cut(name, 80).0;
    let content = html! {
        h1 { (foreign(name)) }
        div #source data-live {
            p { (state(&source.state)) " " span.soft { (source.source_type) } " " (outside_link(&source.url, foreign(&source.url))) }
            div.panels.wide {
                (next_panel(&source, &explanation, now))
                (failures_panel(&source, &explanation, now))
            }
            section.panel {
                h2 { "Polls" }
                @if polls.items.is_empty() { (empty("No poll is stored yet.")) } @else {
                    (poll_timeline::chart(&polls.items))
                    details id="polls-table" open[polls.items.len() <= 5] {
                        summary { "The last " (counted(polls.items.len(), "poll")) " as a table" }
                        (poll_table(&polls.items, now))
                    }
                }
            }
            section.panel {
                h2 { "Latest posts" }
                @if posts.items.is_empty() {
                    (empty("None yet. Entries older than the source are skipped unless its backlog is kept."))
                } @else {
                    ul { @for post in &posts.items { li {
                        a href=(format!("{SITE}/posts/{}", post.id)) { (foreign(&post_title(post))) } " "
                        span.soft { (relative_time(post.created_at, now)) }
                    } } }
                    p { a href=(format!("{SITE}/posts?source_id={id}")) { "All posts of this source" } }
                }
            }
        }
        (actions(&local, &source))
        (settings(&local, &source, &defaults))
        @if let Some(changes) = &changes { (changes_panel(&changes.items, &source)) }
    };
    Ok(HtmlPage::new(&local, "Sources", title).live().notice(query.into_inner().notice).show(content))
}

pub(super) fn post_title(post: &PostView) -> String {
    let text = || super::elements::cut(post.body.trim(), 100).0;
    Some(post.title.trim()).filter(|title| !title.is_empty()).map_or_else(text, str::to_owned)
}

/// The next poll with its reasons.
fn next_panel(source: &SourceView, explanation: &Explanation, now: Timestamp) -> Markup {
    html! {
        section.panel {
            h2 { "Next poll" }
            @match explanation.next_poll_at {
                Some(at) if at > now => p.countdown { "in " time datetime=(at) data-time="countdown" title=(at) { (span(at.since(now))) } },
                Some(_) => p.countdown { "now" },
                None => p.countdown { "none" },
            }
            p { (words(&sentence(&explanation.summary))) }
            @if let Some(lacks) = &explanation.lacks { p.problem { (words(&sentence(lacks))) } }
            @for blocker in &explanation.held_up_by { p.problem { "Polling is suspended: " (blocker) } }
            @if !explanation.terms.is_empty() {
                h3 { "What makes it wait" }
                ul { @for term in &explanation.terms {
                    li {
                        @if term.decides { strong { (words(&sentence(&term.reason))) } " This decides." } @else { (words(&sentence(&term.reason))) }
                        " " span.soft { "Until " (time(term.until)) }
                    }
                } }
            }
            (facts(vec![
                ("Interval", html! { (span(std::time::Duration::from_secs(explanation.interval_seconds))) }),
                ("Pause at the host", html! { (explanation.delay.seconds) " s (" (explanation.delay.layer) ")" }),
                ("Host", match &explanation.host {
                    Some(host) => html! { (host_link(&host.host)) " " (state(&host.state)) div.soft { (words(&host.turn)) } },
                    None => html! { "none" },
                }),
                ("In the scheduler", match &explanation.scheduled {
                    Some(scheduled) => html! { (scheduled.place.replace("under_way", "in flight")) " for " (time(scheduled.at)) },
                    None => html! { "no" },
                }),
                ("Hub", hub(source, now)),
                ("Node", html! { (explanation.node.as_deref().unwrap_or("this daemon")) }),
            ]))
        }
    }
}

/// The hub of a source, and what its pushes were good for.
fn hub(source: &SourceView, now: Timestamp) -> Markup {
    html! {
        @match (&source.subscription, source.hubs.first()) {
            (Some(subscription), _) => {
                (foreign(&subscription.hub)) " " (subscription.state)
                div.soft {
                    (number(subscription.pushes)) " pushes"
                    @if let Some(at) = subscription.last_push_at { ", last " (relative_time(at, now)) }
                    "; finds with a push " (number(subscription.useful)) ", without " (number(subscription.missed))
                }
                @if let Some(error) = &subscription.last_error { div.soft { (foreign(error)) } }
            }
            (None, Some(hub)) => { (foreign(hub)) " not subscribed" },
            (None, None) => "none",
        }
    }
}

/// What failed, and what the rules made of it.
fn failures_panel(source: &SourceView, explanation: &Explanation, now: Timestamp) -> Markup {
    let optional = |at: Option<Timestamp>| at.map_or_else(|| html! { "never" }, |at| relative_time(at, now));
    html! {
        section.panel {
            h2 { "Failures and what follows from them" }
            @if source.consecutive_failures == 0 {
                p { "The last poll did not fail." }
            } @else {
                p {
                    strong { (counted(source.consecutive_failures, "failure")) " in a row" }
                    @if let Some(kind) = source.last_error_type { ", the last one " strong { (kind.to_string().replace('_', " ")) } }
                    @if let Some(class) = source.last_failure_type { " (" (class) ")" }
                    "."
                }
                @if let Some(error) = &source.last_error { p { (foreign(error)) } }
                @if source.consecutive_permanent_failures > 0 {
                    p { (number(source.consecutive_permanent_failures)) " of them in a row are permanent; too many disable the source." }
                }
            }
            @if let Some(reason) = &source.disabled_reason { p.problem { "Disabled: " (foreign(reason)) } }
            @if let Some(reason) = &source.feed_disable_reason {
                p.problem {
                    @match source.feed_disabled_until {
                        Some(until) => { "Rests until " (time(until)) ": " },
                        None => "Rests until a user wakes it: ",
                    }
                    (foreign(reason))
                }
            }
            @if source.gaps > 0 {
                p.problem {
                    (counted(source.gaps, "gap")) ": entries may be missing between two polls"
                    @if let Some(at) = source.last_gap_at { ", last " (relative_time(at, now)) }
                    ". A shorter interval helps."
                }
            }
            @if let Some(target) = &source.moved_to { p { "Redirected permanently to " (foreign(target)) ", not taken over yet." } }
            (facts(vec![
                ("Last poll", optional(source.last_polled)),
                ("Last success", optional(source.last_success_at)),
                ("Last new document", optional(source.last_read_at)),
                ("Not before (publisher)", optional(source.retry_after)),
                ("Fresh until (publisher)", optional(source.fresh_until)),
                ("Added", relative_time(source.created_at, now)),
                ("Login or headers", html! { (if explanation.has_access { "yes" } else { "no" }) }),
            ]))
        }
    }
}

fn changes_panel(changes: &[AuditView], source: &SourceView) -> Markup {
    html! {
        section.panel {
            h2 { "Changes by users and programs" }
            @if changes.is_empty() { (empty("None is recorded.")) } @else {
                ul { @for change in changes { li {
                    (time(change.at)) " " strong { (change.action) } " by " (change.user_name.as_deref().unwrap_or(&change.who))
                    @let (before, after) = (change.before.to_string(), change.after.to_string());
                    @if !after.is_empty() || !before.is_empty() {
                        div.soft { (foreign(&before)) " → " (foreign(&after)) }
                    }
                } } }
                p { a href=(format!("{SITE}/audit?target=source&target_id={}", source.id)) { "All changes of this source" } }
            }
            p.soft { "Version " (source.version) ", " (source_link(source.id, "link to this page")) }
        }
    }
}
