//! What pages are made of. Nothing here trusts a text: publishers write titles, URLs and errors.

use maud::{Markup, html};

use crate::api::{LocalApi, SITE};
use crate::model::{SourceId, Timestamp};

/// Longest text of a publisher in a list, in characters.
const TEXT_CHARS_MAX: usize = 160;

/// The hidden field of every form, which a page of another site cannot know.
pub(super) fn form_token(local: &LocalApi) -> Markup {
    html! {
        @if let Some(token) = &local.browser.form_token {
            input type="hidden" name="form_token" value=(token);
        }
    }
}

/// A form with one button; nothing for a session that may only read.
pub(super) fn button_form(local: &LocalApi, action: &str, label: &str, fields: &[(&str, &str)]) -> Markup {
    action_form(
        local,
        action,
        html! {
            @for (name, value) in fields {
                input type="hidden" name=(name) value=(value);
            }
            button type="submit" { (label) }
        },
    )
}

/// A form that changes something; nothing for a session that may only read. `action` is below the dashboard.
pub(super) fn action_form(local: &LocalApi, action: &str, content: Markup) -> Markup {
    html! {
        @if local.browser.can_write {
            form.action method="post" action=(format!("{SITE}{action}")) {
                (form_token(local))
                (content)
            }
        }
    }
}

/// A time: UTC here, the reader's locale with JavaScript, exact on hover.
pub(super) fn time(at: Timestamp) -> Markup {
    html! { time datetime=(at) data-time="full" title=(at) { (shown_time(at)) } }
}

/// A time that may be missing.
pub(super) fn time_or(at: Option<Timestamp>, missing: &str) -> Markup {
    match at {
        Some(at) => time(at),
        None => html! { span.none { (missing) } },
    }
}

/// A text of our own whose times are shown like all others.
pub(super) fn words(text: &str) -> Markup {
    html! {
        @for (place, word) in text.split(' ').enumerate() {
            @if place > 0 { " " }
            @let (start, end) = word.split_at(word.trim_end_matches([':', ',', '.', ';', ')']).len());
            @match start.parse::<Timestamp>() {
                Ok(at) if start.contains('T') => { (time(at)) (end) }
                _ => (word),
            }
        }
    }
}

/// How long ago, or in how long; counts with JavaScript.
pub(super) fn relative_time(at: Timestamp, now: Timestamp) -> Markup {
    let words = if at > now { format!("in {}", span(at.since(now))) } else { format!("{} ago", span(now.since(at))) };
    html! { time datetime=(at) data-time="relative" title=(at) { (words) } }
}

/// A duration in its two largest units.
pub(super) fn span(length: std::time::Duration) -> String {
    let seconds = length.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// A number with separators; the reader's with JavaScript.
pub(super) fn number(value: impl TryInto<u64>) -> Markup {
    let value: u64 = value.try_into().unwrap_or(u64::MAX);
    html! { data value=(value) title=(value) { (grouped(value)) } }
}

/// A number with its noun, which gets an `s` unless there is one.
pub(super) fn counted(value: impl TryInto<u64>, noun: &str) -> Markup {
    let value: u64 = value.try_into().unwrap_or(u64::MAX);
    html! { (number(value)) " " (noun) @if value != 1 { "s" } }
}

pub(super) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A text of a publisher, cut, in its own direction; the whole text on hover.
pub(super) fn foreign(text: &str) -> Markup {
    let (short, is_cut) = cut(text, TEXT_CHARS_MAX);
    html! {
        @if is_cut { bdi title=(cut(text, 2_000).0) { (short) "…" } } @else { bdi { (short) } }
    }
}

/// The first characters of a text on one line, and whether there were more.
pub(super) fn cut(text: &str, most: usize) -> (String, bool) {
    let mut characters = text.chars();
    let short: String = characters.by_ref().take(most).map(|c| if c.is_control() { ' ' } else { c }).collect();
    (short, characters.next().is_some())
}

/// A link to a publisher: http and https only; other texts are shown as they are.
pub(super) fn outside_link(url: &str, text: Markup) -> Markup {
    let is_web = ["http://", "https://"]
        .iter()
        .any(|scheme| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    html! {
        @if is_web {
            a href=(url) rel="noopener noreferrer" target="_blank" { (text) }
        } @else {
            (text)
        }
    }
}

pub(super) fn source_link(id: SourceId, name: &str) -> Markup {
    html! { a href=(format!("{SITE}/sources/{id}")) { (foreign(name)) } }
}

pub(super) fn host_link(host: &str) -> Markup {
    html! { a href=(format!("{SITE}{}", host_path(host))) { (foreign(host)) } }
}

/// Path of the page of a host, below the dashboard.
pub(super) fn host_path(host: &str) -> String {
    format!("/hosts/{}", encoded(host))
}

/// A part of a path or query.
pub(super) fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

/// A query with its question mark, without empty values; nothing if there is none.
pub(super) fn query(pairs: &[(&str, &str)]) -> String {
    let given = pairs.iter().filter(|(_, value)| !value.is_empty());
    let text = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(given).finish();
    if text.is_empty() { text } else { format!("?{text}") }
}

/// A state in words, with a colour besides.
pub(super) fn state(name: &str) -> Markup {
    let tone = match name {
        "active" | "available" | "running" | "up" | "responsive" | "live" | "ok" | "read" | "unchanged" | "enabled"
        | "done" => "good",
        "backing_off" | "held" | "resting" | "late" | "waiting" | "draining" | "starting" | "restarting" | "paused"
        | "stopping" | "waiting to restart" => "warn",
        "disabled" | "breaker_open" | "failed" | "expired" | "failing" | "stopped" | "given_up" | "stuck"
        | "given up" | "gone" => "bad",
        name if name.starts_with("blocked") => "bad",
        _ => "plain",
    };
    html! { span class=(format!("state {tone}")) { (name.replace('_', " ")) } }
}

/// Name and value pairs.
pub(super) fn facts(rows: Vec<(&str, Markup)>) -> Markup {
    html! {
        dl.facts {
            @for (name, value) in rows {
                div { dt { (name) } dd { (value) } }
            }
        }
    }
}

/// What an empty list says, and what to do about it.
pub(super) fn empty(text: &str) -> Markup {
    html! { p.empty { (text) } }
}

/// A link to the next page of a list, if there is one. `pairs` are the other parts of the query.
pub(super) fn next_page(path: &str, pairs: &[(&str, &str)], cursor: Option<&str>) -> Markup {
    html! {
        @if let Some(cursor) = cursor {
            nav.pages aria-label="Pages" {
                @let pairs = [pairs, &[("cursor", cursor)]].concat();
                a rel="next" href=(format!("{SITE}{path}{}", query(&pairs))) { "Next page" }
            }
        }
    }
}

fn shown_time(at: Timestamp) -> String {
    let text = at.to_string();
    let day_and_time = text.get(..19).map(|start| start.replace('T', " "));
    day_and_time.map_or(text, |text| format!("{text} UTC"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        let cases = [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")];
        for (value, text) in cases {
            assert_eq!(grouped(value), text);
        }
    }

    #[test]
    fn only_web_addresses_become_links() {
        let link = |url: &str| outside_link(url, html! { "x" }).into_string();
        assert!(link("https://example.org/").contains("rel=\"noopener noreferrer\""));
        assert!(link("HTTP://example.org/").contains("href"));
        for url in ["javascript:alert(1)", "data:text/html,x", "ftp://example.org", "//example.org", ""] {
            assert_eq!(link(url), "x", "{url}");
        }
    }

    #[test]
    fn foreign_texts_are_escaped_and_cut() {
        let shown = foreign(&format!("<script>{}", "x".repeat(10_000))).into_string();
        assert!(!shown.contains("<script"), "{shown}");
        assert!(shown.len() < 3_000);
        assert!(foreign("\u{202e}abc").into_string().starts_with("<bdi>"));
    }

    #[test]
    fn times_in_sentences_are_shown_like_others() {
        let shown = words("next poll at 2027-01-21T19:00:00.000001Z: <the> interval 5.").into_string();
        let time = "<time datetime=\"2027-01-21T19:00:00.000001Z\" data-time=\"full\" \
                    title=\"2027-01-21T19:00:00.000001Z\">2027-01-21 19:00:00 UTC</time>";
        assert_eq!(shown, format!("next poll at {time}: &lt;the&gt; interval 5."));
    }

    #[test]
    fn queries_leave_out_what_is_empty() {
        assert_eq!(query(&[("a", ""), ("b", "c d&")]), "?b=c+d%26");
        assert_eq!(query(&[("a", "")]), "");
    }
}
