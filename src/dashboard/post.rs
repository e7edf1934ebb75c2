//! A post: what the publisher says, where it comes from, and what changed between its revisions.

use actix_web::web;
use maud::{Markup, html};
use serde::Deserialize;

use super::difference::sides;
use super::elements::{facts, foreign, number, outside_link, span, time, time_or};
use super::page::{HtmlPage, PageResult};
use super::posts::{of_source, shown_title};
use crate::api::views::{Page as ListPage, PostRevisionView, PostView};
use crate::api::{LocalApi, Problem, ProblemView, SITE};
use crate::model::{Enclosure, PostId, TextOrigin, Timestamp};

/// Longest text that is shown, in characters.
const TEXT_CHARS_MAX: usize = 200_000;
/// Enclosures and categories that are shown.
const SHOWN_MAX: usize = 50;

pub(super) fn routes(config: &mut web::ServiceConfig) {
    config.service(web::resource(format!("{SITE}/posts/{{id}}")).get(post));
}

/// The revisions that are compared; by default the current one and the one before.
#[derive(Deserialize)]
struct Compared {
    left: Option<u32>,
    right: Option<u32>,
}

/// One version of the content.
struct Revision {
    number: u32,
    stored_at: Timestamp,
    title: String,
    text: String,
}

async fn post(local: LocalApi, id: web::Path<String>, compared: web::Query<Compared>) -> PageResult {
    let id: i64 = id.parse().map_err(|_| Problem::not_found(format!("there is no post {:?}", id.as_str())))?;
    let post: PostView = local.get(&format!("/posts/{id}")).await?;
    // The current content is worth a page even if the earlier ones cannot be read.
    let revisions: Result<Vec<Revision>, ProblemView> = match post.revision {
        0 => Ok(Vec::new()),
        _ => {
            let earlier = local.get::<ListPage<PostRevisionView>>(&format!("/posts/{id}/revisions")).await;
            earlier.map(|earlier| all_revisions(&post, earlier.items))
        }
    };
    let title = shown_title(&post);
    let (text, is_cut) = limited(&post.text);
    let content = html! {
        article lang=[post.language.as_deref().filter(|tag| tag.len() < 40)] {
            h1 { (foreign(&title)) }
            section.panel lang="en" aria-label="About this post" { (about(&post)) }
            @if !post.enclosures.is_empty() { (enclosures(&post.enclosures)) }
            section.panel {
                h2 lang="en" { "Text" }
                @if text.trim().is_empty() { p.empty lang="en" { "The post has no text." } }
                @else { div.text dir="auto" { (text) } }
                @if is_cut { p.soft lang="en" { "The text is longer; the API returns the rest." } }
            }
            @if let Some(summary) = post.summary.as_deref().filter(|summary| !summary.trim().is_empty()) {
                section.panel { h2 lang="en" { "Summary" } div.text dir="auto" { (limited(summary).0) } }
            }
        }
        @if post.revision > 0 { (revisions_panel(post.id, &revisions, &compared)) }
        p { a href=(format!("{SITE}/posts")) { "All posts" } }
    };
    let page = HtmlPage::new(&local, "Posts", super::elements::cut(&title, 100).0);
    Ok(if post.enclosures.iter().any(|file| kind_of(file).is_some()) { page.media() } else { page }.show(content))
}

/// The current content first, then the kept earlier ones.
fn all_revisions(post: &PostView, earlier: Vec<PostRevisionView>) -> Vec<Revision> {
    let current = Revision {
        number: post.revision,
        stored_at: post.changed_at.unwrap_or(post.created_at),
        title: post.title.clone(),
        text: post.text.clone(),
    };
    let earlier = earlier.into_iter().map(|old| Revision {
        number: old.revision,
        stored_at: old.stored_at,
        title: old.title,
        text: old.text,
    });
    std::iter::once(current).chain(earlier).collect()
}

fn about(post: &PostView) -> Markup {
    let mut rows = vec![
        ("Source", of_source(post)),
        ("Published", time_or(post.published_at, "unknown")),
        ("Stored", time(post.created_at)),
        (
            "Changed",
            match post.changed_at {
                Some(at) => html! { (time(at)) " (" a href="#revisions" { "edited " (number(post.revision)) "×" } ")" },
                None => html! { span.none { "never" } },
            },
        ),
    ];
    if let Some(at) = post.updated_at {
        rows.push(("Changed according to the publisher", time(at)));
    }
    let authors: Vec<&str> = post.authors.iter().chain(&post.byline).map(String::as_str).collect();
    if !authors.is_empty() {
        rows.push(("Authors", list(&authors)));
    }
    if let Some(url) = &post.url {
        rows.push(("Original", outside_link(url, foreign(url))));
    }
    if let Some(url) = &post.comments_url {
        rows.push(("Comments", outside_link(url, foreign(url))));
    }
    if !post.categories.is_empty() {
        rows.push(("Categories", list(&post.categories.iter().map(String::as_str).collect::<Vec<_>>())));
    }
    rows.push(("Text from", html! { (origin(post.text_origin)) }));
    if let Some(error) = &post.full_text_error {
        rows.push(("Full text failed", foreign(error)));
    }
    if let Some(guid) = &post.guid {
        rows.push(("Id of the publisher", foreign(guid)));
    }
    if let Some(language) = &post.language {
        rows.push(("Language", foreign(language)));
    }
    if post.is_backfill {
        rows.push(("Backfill", html! { "stored by a backfill" }));
    }
    facts(rows)
}

fn list(texts: &[&str]) -> Markup {
    html! {
        @for (place, text) in texts.iter().take(SHOWN_MAX).enumerate() { @if place > 0 { ", " } (foreign(text)) }
        @if texts.len() > SHOWN_MAX { " and " (number(texts.len() - SHOWN_MAX)) " more" }
    }
}

fn origin(origin: TextOrigin) -> &'static str {
    match origin {
        TextOrigin::Feed => "the feed",
        TextOrigin::FeedPending => "the feed; the full text is still to be fetched",
        TextOrigin::Page => "the web page of the source",
        TextOrigin::Article => "the page of the post (full text)",
    }
}

fn enclosures(files: &[Enclosure]) -> Markup {
    html! {
        section.panel lang="en" {
            h2 { "Files" }
            ul.plain {
                @for file in files.iter().take(SHOWN_MAX) {
                    li {
                        @match kind_of(file) {
                            Some("audio") => audio controls preload="none" src=(file.url) {},
                            Some(_) => video controls preload="none" src=(file.url) {},
                            None => "",
                        }
                        p {
                            (outside_link(&file.url, foreign(file.title.as_deref().unwrap_or(&file.url))))
                            @if let Some(media_type) = &file.media_type { " " span.soft { (foreign(media_type)) } }
                            @if let Some(bytes) = file.length.filter(|bytes| *bytes > 0) {
                                " " span.soft { (size(bytes)) }
                            }
                            @if let Some(seconds) = file.duration_seconds {
                                " " span.soft { (span(std::time::Duration::from_secs(seconds.into()))) }
                            }
                        }
                    }
                }
            }
            @if files.len() > SHOWN_MAX { p.soft { (number(files.len() - SHOWN_MAX)) " more files" } }
        }
    }
}

/// Whether the browser can play a file: `audio` or `video`, from the web.
fn kind_of(file: &Enclosure) -> Option<&'static str> {
    let start = |text: &str, start: &str| text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start));
    if !start(&file.url, "http://") && !start(&file.url, "https://") {
        return None;
    }
    let media_type = file.media_type.as_deref()?;
    ["audio", "video"].into_iter().find(|kind| start(media_type, &format!("{kind}/")))
}

fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{} MB", super::elements::grouped(bytes / 1_000_000)),
    }
}

fn revisions_panel(id: PostId, revisions: &Result<Vec<Revision>, ProblemView>, compared: &Compared) -> Markup {
    html! {
        section.panel #revisions {
            h2 { "Revisions" }
            @match revisions {
                Ok(revisions) => (comparison(id, revisions, compared)),
                Err(problem) => p.problem { "Earlier revisions cannot be read: " (problem.detail) },
            }
        }
    }
}

/// Two revisions beside each other, with their differences marked. The first revision is the current one.
fn comparison(id: PostId, revisions: &[Revision], compared: &Compared) -> Markup {
    let find = |number: u32| revisions.iter().find(|revision| revision.number == number);
    let right = compared.right.and_then(find).or(revisions.first());
    let before = right.and_then(|right| revisions.iter().find(|revision| revision.number < right.number));
    let left = compared.left.and_then(find).or(before);
    html! {
        @if let (Some(left), Some(right)) = (left, right) {
            (choice(id, revisions, left, right))
            (columns(left, right))
        } @else {
            p.empty { "Earlier revisions of this post are not kept." }
        }
    }
}

fn choice(id: PostId, revisions: &[Revision], left: &Revision, right: &Revision) -> Markup {
    let field = |name: &str, label: &str, chosen: u32| {
        html! {
            div.field {
                label for=(name) { (label) }
                select id=(name) name=(name) {
                    @for (place, revision) in revisions.iter().enumerate() {
                        option value=(revision.number) selected[revision.number == chosen] {
                            "Revision " (revision.number) @if place == 0 { " (current)" }
                            ", " (revision.stored_at)
                        }
                    }
                }
            }
        }
    };
    html! {
        @if revisions.len() > 2 {
            form.filters method="get" action=(format!("{SITE}/posts/{id}#revisions")) {
                (field("left", "Left", left.number))
                (field("right", "Right", right.number))
                button type="submit" { "Compare" }
            }
        }
    }
}

fn columns(left: &Revision, right: &Revision) -> Markup {
    let titles = sides(&left.title, &right.title);
    let texts = sides(limited(&left.text).0, limited(&right.text).0);
    let column = |revision: &Revision, title: &Markup, text: &Markup| {
        html! {
            div {
                h3 { "Revision " (revision.number) ", " (time(revision.stored_at)) }
                p.text dir="auto" { strong { (title) } }
                div.text dir="auto" { (text) }
            }
        }
    };
    html! {
        @if !texts.is_marked { p.soft { "The texts are too long to mark their differences." } }
        @else if left.title == right.title && left.text == right.text {
            p.soft { "Title and text are the same." }
        }
        div.beside {
            (column(left, &titles.left, &texts.left))
            (column(right, &titles.right, &texts.right))
        }
    }
}

/// The beginning of a text, and whether there is more.
fn limited(text: &str) -> (&str, bool) {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((end, _)) => (text.get(..end).unwrap_or(text), true),
        None => (text, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(revisions: &[(u32, &str)], left: Option<u32>, right: Option<u32>) -> String {
        let revision = |(number, text): &(u32, &str)| Revision {
            number: *number,
            stored_at: Timestamp::from_seconds(1_790_000_000),
            title: format!("Title {number}"),
            text: (*text).to_owned(),
        };
        let revisions = revisions.iter().map(revision).collect::<Vec<_>>();
        comparison(PostId(7), &revisions, &Compared { left, right }).into_string()
    }

    #[test]
    fn the_current_revision_is_beside_the_one_before() {
        let page = shown(&[(2, "one two <b>"), (1, "one 2 <b>"), (0, "zero")], None, None);
        assert!(page.contains("one <del>2</del> &lt;b&gt;") && page.contains("one <ins>two</ins> &lt;b&gt;"), "{page}");
        assert!(page.contains("<option value=\"2\" selected>Revision 2 (current)"), "{page}");
    }

    #[test]
    fn other_revisions_are_chosen_by_their_numbers() {
        let all = [(2, "two"), (1, "one"), (0, "zero")];
        let page = shown(&all, Some(0), Some(1));
        assert!(page.contains("<del>zero</del>") && page.contains("<ins>one</ins>"), "{page}");
        // Unknown numbers count as not given, and the left one is then older than the right one.
        let page = shown(&all, Some(9), Some(1));
        assert!(page.contains("<del>zero</del>") && page.contains("<ins>one</ins>"), "{page}");
        let page = shown(&all, Some(1), Some(1));
        assert!(page.contains("Title and text are the same"), "{page}");
    }

    #[test]
    fn a_revision_without_earlier_ones_is_not_compared() {
        assert!(shown(&[(3, "now")], None, None).contains("not kept"));
    }
}
