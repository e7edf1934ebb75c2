//! A feed inside a web page: some servers put every answer into one, and some pages show a feed in a `<pre>`.

use std::borrow::Cow;

use crate::parse::entity;
use crate::parse::text::{HtmlToken, HtmlTokens};

/// A start tag of Atom without end within so many bytes is none.
const TAG_BYTES_MAX: usize = 4096;

/// What may be a feed inside a page. Escaped text counts only if the page links to no feed: a page about feeds may show
/// one as an example.
pub(super) fn inner(page: &str, links_to_feeds: bool) -> Option<Cow<'_, str>> {
    match root(page) {
        Some(start) => Some(Cow::Borrowed(&page[start..])),
        None if links_to_feeds => None,
        None => preformatted(page).map(Cow::Owned),
    }
}

/// Where the first element starts that can only be around a feed.
fn root(page: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let start = from + page[from..].find('<')?;
        let tag = &page[start..];
        if tag.starts_with("<!--") {
            from = start + tag.find("-->")?;
        } else if is_root(tag) {
            return Some(start);
        } else {
            from = start + 1;
        }
    }
}

fn is_root(tag: &str) -> bool {
    let is_named = |name: &str| {
        let ends = |next: &u8| next.is_ascii_whitespace() || *next == b'>';
        let bytes = tag.as_bytes();
        bytes.get(1..=name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
            && bytes.get(name.len() + 1).is_some_and(ends)
    };
    if is_named("feed") {
        let end = tag.bytes().take(TAG_BYTES_MAX).position(|byte| byte == b'>').unwrap_or(0);
        let tag = tag[..end].to_ascii_lowercase();
        return tag.contains("xmlns") && tag.contains("atom");
    }
    is_named("rss") || is_named("rdf:rdf")
}

/// The text of the first `<pre>`, if it begins like a feed.
fn preformatted(page: &str) -> Option<String> {
    let mut tokens = HtmlTokens::new(page);
    let mut source: Option<String> = None;
    while let Some(token) = tokens.next() {
        match (token, &mut source) {
            (HtmlToken::Open { name, .. }, None) if name.eq_ignore_ascii_case("pre") => source = Some(String::new()),
            (HtmlToken::Open { name, self_closed, .. }, _) if is_code(name) => tokens.skip_unseen(name, self_closed),
            (HtmlToken::Close { name }, Some(_)) if name.eq_ignore_ascii_case("pre") => break,
            (HtmlToken::Text(text), Some(source)) => source.push_str(text),
            _ => {}
        }
    }
    let source = entity::decode(&source?);
    let beginning = source.trim_start();
    (beginning.starts_with("<?xml") || is_root(beginning)).then_some(source)
}

fn is_code(name: &str) -> bool {
    name.eq_ignore_ascii_case("script") || name.eq_ignore_ascii_case("style")
}
