//! From a feed's entry to the post it would become: plain text, with something in every place that a reader needs.

use std::borrow::Cow;

use crate::model::{Enclosure, NewPost, PostContent};
use crate::parse::feed::{Details, Entry, EntryEnclosure, Text, TextKind};
use crate::parse::html::with_absolute_links;
use crate::parse::text;

/// The longest heading made of a body.
const HEADING_CHARS_MAX: usize = 100;

/// The post that an entry becomes, with or without its HTML; none if it says nothing that can be shown. Texts that stay
/// as they are move over.
pub(crate) fn from_entry(mut entry: Entry, keeps_html: bool) -> Option<NewPost> {
    if entry.is_blank() {
        return None;
    }
    let (shared, none) = (entry.details.take(), Details::default());
    let details = shared.as_deref().unwrap_or(&none);
    let words = |text: &Option<Text>| text.as_ref().map(lines).filter(|words| !words.is_empty());
    let title = entry.title.as_ref().map(plain).filter(|title| !title.is_empty());
    let url = entry.url.map(String::from);
    let (content, summary) = (words(&entry.content), words(&entry.summary));
    let published = if content.is_some() { entry.content } else { entry.summary };
    let (text, summary) = match (content, summary) {
        (Some(content), summary) => (content, summary.map(|summary| summary.replace('\n', " "))),
        (None, Some(summary)) => (summary, None),
        (None, None) => (title.clone().or_else(|| url.clone())?, None),
    };
    let authors: Vec<String> = match details.authors.len() {
        0 | 1 => Vec::new(),
        _ => details.authors.iter().map(|author| text::fold(author)).collect(),
    };
    let content = PostContent {
        title: title.unwrap_or_else(|| heading(&text.replace('\n', " "))),
        summary: summary.filter(|summary| *summary != text),
        html: published.filter(|_| keeps_html).and_then(|text| html(text, details.base.as_deref())),
        text,
        guid: owned(entry.id.as_deref().map(str::trim).filter(|id| !id.is_empty())),
        url,
        author: entry.author.as_deref().map(text::fold).filter(|author| !author.is_empty()),
        authors,
        language: owned(details.language.as_deref()),
        categories: details.categories.iter().map(|category| category.to_string()).collect(),
        enclosures: details.enclosures.iter().map(enclosure).collect(),
        image_url: owned(details.image_url.as_deref()),
        comments_url: owned(details.comments_url.as_deref()),
        updated_at: entry.updated,
        ..PostContent::default()
    };
    // Atom obliges feeds to say when an entry was changed, not when it was published.
    Some(NewPost::new(content, entry.published.or(entry.updated)))
}

fn owned(text: Option<&str>) -> Option<String> {
    text.map(str::to_owned)
}

fn enclosure(found: &EntryEnclosure) -> Enclosure {
    Enclosure {
        url: found.url.to_string(),
        media_type: owned(found.media_type.as_deref()),
        length: found.length,
        duration_seconds: found.duration_seconds,
        title: owned(found.title.as_deref()),
    }
}

/// A text as published, with absolute links, if it has any markup.
fn html(text: Text, base: Option<&str>) -> Option<String> {
    if text.kind != TextKind::Html || !text.value.contains(['<', '&']) {
        return None;
    }
    match base.map(|base| with_absolute_links(&text.value, base)) {
        Some(Cow::Owned(absolute)) => Some(absolute),
        _ => Some(text.value.into()),
    }
}

/// A text of a feed as plain text, with a line for each paragraph.
fn lines(text: &Text) -> String {
    match text.kind {
        TextKind::Html => text::lines_from_html(&text.value),
        TextKind::Plain => text::lines(&text.value),
    }
}

/// A text of a feed as plain text on one line.
pub(crate) fn plain(text: &Text) -> String {
    match text.kind {
        TextKind::Html => text::from_html(&text.value),
        TextKind::Plain => text::fold(&text.value),
    }
}

/// A heading for a text that has none: its beginning, cut between two words.
pub(crate) fn heading(body: &str) -> String {
    let Some((end, _)) = body.char_indices().nth(HEADING_CHARS_MAX) else { return body.to_owned() };
    let cut = body[..end].rfind(' ').filter(|space| *space > 0).unwrap_or(end);
    format!("{}…", body[..cut].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Timestamp;

    fn html(value: &str) -> Option<Text> {
        Some(Text { value: value.into(), kind: TextKind::Html })
    }

    fn post(entry: Entry) -> NewPost {
        from_entry(entry, true).expect("the entry says something")
    }

    #[test]
    fn s604_markup_becomes_plain_text() {
        let entry = Entry {
            title: html("One &amp; <i>two</i>"),
            content: html(r#"<p>Breaking news</p><a href="http://a.example/">link</a>"#),
            ..Entry::default()
        };
        let post = post(entry);
        assert_eq!((post.content().title.as_str(), post.content().text.as_str()), ("One & two", "Breaking news\nlink"));
        assert_eq!(post.content().body(), "Breaking news link");
    }

    #[test]
    fn plain_text_keeps_its_angle_brackets() {
        let text = Text { value: "if a <b and\n c> d".into(), kind: TextKind::Plain };
        assert_eq!(post(Entry { content: Some(text), ..Entry::default() }).content().text, "if a <b and\nc> d");
    }

    #[test]
    fn s605_a_blank_author_is_none() {
        let by = |author: &str| Entry { title: html("x"), author: Some(author.into()), ..Entry::default() };
        assert_eq!(post(by(" John  Smith ")).content().author.as_deref(), Some("John Smith"));
        assert_eq!(post(by(" \n")).content().author, None);
    }

    #[test]
    fn s606_the_body_falls_back_to_summary_title_and_link() {
        let entry = Entry {
            title: html("The title"),
            url: Some("http://a.example/1".into()),
            summary: html("The summary"),
            content: html("<p> </p>"),
            ..Entry::default()
        };
        assert_eq!(post(entry.clone()).content().text, "The summary");
        assert_eq!(post(Entry { summary: None, ..entry.clone() }).content().text, "The title");
        assert_eq!(post(Entry { summary: None, title: None, ..entry }).content().text, "http://a.example/1");
    }

    #[test]
    fn s606_an_entry_without_a_title_gets_one_from_its_body() {
        assert_eq!(post(Entry { content: html("Short news"), ..Entry::default() }).content().title, "Short news");
        let long = post(Entry { content: html(&"word ".repeat(50)), ..Entry::default() });
        assert_eq!(long.content().title, format!("{}…", ["word"; 20].join(" ")));
        let unbroken = post(Entry { content: html(&"語".repeat(200)), ..Entry::default() });
        assert_eq!(unbroken.content().title, format!("{}…", "語".repeat(100)));
    }

    #[test]
    fn without_html_everything_else_is_the_same() {
        let entry = Entry { title: html("One"), content: html("<p>two</p><p>three</p>"), ..Entry::default() };
        let (with, without) = (post(entry.clone()), from_entry(entry, false).unwrap());
        assert_eq!((with.content().html.as_deref(), &without.content().html), (Some("<p>two</p><p>three</p>"), &None));
        assert_eq!(with.without_html(), without);
    }

    #[test]
    fn an_entry_that_says_nothing_becomes_nothing() {
        assert_eq!(from_entry(Entry { id: Some("7".into()), ..Entry::default() }, true), None);
        assert_eq!(from_entry(Entry { title: html("<b></b>"), ..Entry::default() }, true), None);
    }

    #[test]
    fn an_atom_entry_that_only_says_when_it_was_changed_is_dated_by_that() {
        let (published, updated) = (Timestamp::from_seconds(1), Timestamp::from_seconds(2));
        let entry = Entry { title: html("x"), updated: Some(updated), ..Entry::default() };
        assert_eq!(post(entry.clone()).published_at(), Some(updated));
        assert_eq!(post(Entry { published: Some(published), ..entry }).published_at(), Some(published));
    }
}
