//! The feeds that a web page links to.

use url::Url;

use super::link::{Resolved, resolve};
use crate::parse::entity;
use crate::parse::xml::{Tag, XmlToken, XmlTokens};

/// More links than this on one page are not worth naming.
const FEEDS_MAX: usize = 20;

/// Feeds are linked from the head of a page: what comes later is not searched.
const PAGE_BYTES_MAX: usize = 512 * 1024;
/// A tag without end within so many bytes is none.
const TAG_BYTES_MAX: usize = 1024;

/// A feed that a page links to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedFeed {
    /// What the page calls it.
    pub title: Option<String>,
    pub url: String,
}

/// Finds the `<link rel="alternate">` elements of a page that lead to feeds.
///
/// The text is not read as a document: scripts and broken markup would lead a reader astray, and a link is a link
/// wherever it stands.
pub fn linked_feeds(page: &str, page_url: Option<&Url>) -> Vec<LinkedFeed> {
    let end = (0..=page.len().min(PAGE_BYTES_MAX)).rev().find(|end| page.is_char_boundary(*end)).unwrap_or(0);
    let page = &page[..end];
    let base = tags(page, "base").find_map(|tag| {
        let href = attribute(&tag, "href")?;
        match page_url {
            Some(page_url) => page_url.join(&href).ok(),
            None => Url::parse(&href).ok(),
        }
    });
    let base = base.as_ref().or(page_url);
    let mut feeds: Vec<LinkedFeed> = Vec::new();
    for tag in tags(page, "link") {
        let Some(feed) = linked_feed(&tag, base) else { continue };
        if !feeds.iter().any(|known| known.url == feed.url) {
            feeds.push(feed);
        }
        if feeds.len() == FEEDS_MAX {
            break;
        }
    }
    feeds
}

fn linked_feed(tag: &Tag<'_>, base: Option<&Url>) -> Option<LinkedFeed> {
    let rel = attribute(tag, "rel")?;
    if !rel.split_whitespace().any(|word| word.eq_ignore_ascii_case("alternate") || word.eq_ignore_ascii_case("feed")) {
        return None;
    }
    let media_type = attribute(tag, "type")?.to_ascii_lowercase();
    let is_feed = ["rss", "atom+xml", "rdf+xml", "feed+json"].iter().any(|part| media_type.contains(part))
        || ["application/xml", "text/xml", "application/json"].contains(&media_type.as_str());
    if !is_feed {
        return None;
    }
    let url = match resolve(base, &attribute(tag, "href")?)? {
        Resolved::AsFound(url) | Resolved::Joined(url) | Resolved::Relative(url) => url.into_string(),
    };
    let title = attribute(tag, "title").map(|title| title.trim().to_owned()).filter(|title| !title.is_empty());
    Some(LinkedFeed { title, url })
}

/// The tags of one name, in any case.
fn tags<'a>(page: &'a str, name: &'static str) -> impl Iterator<Item = Tag<'a>> {
    page.match_indices('<').filter_map(move |(start, _)| {
        let after = page.get(start + 1..start + 1 + name.len())?;
        let ends_name = page[start + 1 + name.len()..].starts_with(|next: char| next.is_whitespace() || next == '/');
        if !after.eq_ignore_ascii_case(name) || !ends_name {
            return None;
        }
        let end = page.as_bytes()[start..].iter().take(TAG_BYTES_MAX).position(|byte| *byte == b'>')?;
        match XmlTokens::new(&page[start..=start + end]).next() {
            XmlToken::Open(tag) => Some(tag),
            _ => None,
        }
    })
}

fn attribute(tag: &Tag<'_>, name: &str) -> Option<String> {
    tag.attributes().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| entity::decode(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_wherever_and_however_they_are_written() {
        let page = r#"<!doctype html><HTML><head><script>if (a<b) "</script>"</script>
            <LINK REL=alternate TYPE=application/rss+xml HREF=/feed.xml title=News>
            <link rel="stylesheet" type="text/css" href="style.css">
            <link rel="alternate" hreflang="de" href="/de/">
            <link href='comments.atom?a=1&amp;b=2' type='application/atom+xml' rel='alternate nofollow'/>
            <link rel="alternate" type="application/feed+json" href="https://example.net/feed.json" title=" ">
            <link rel="alternate" type="application/rss+xml" href="/feed.xml" title="Again">"#;
        let base = Url::parse("https://example.org/blog/").unwrap();
        let found: Vec<_> = linked_feeds(page, Some(&base)).into_iter().map(|feed| (feed.title, feed.url)).collect();
        assert_eq!(
            found,
            [
                (Some("News".to_owned()), "https://example.org/feed.xml".to_owned()),
                (None, "https://example.org/blog/comments.atom?a=1&b=2".to_owned()),
                (None, "https://example.net/feed.json".to_owned()),
            ]
        );
    }

    #[test]
    fn the_page_may_set_its_own_base() {
        let page = r#"<base href="/sub/"><link rel=alternate type="application/rss+xml" href="feed">"#;
        let base = Url::parse("https://example.org/").unwrap();
        assert_eq!(linked_feeds(page, Some(&base))[0].url, "https://example.org/sub/feed");
    }

    #[test]
    fn a_flood_of_links_is_bounded() {
        let page: String =
            (0..100).map(|number| format!("<link rel=alternate type=text/xml href=/{number}>")).collect();
        assert_eq!(linked_feeds(&page, None).len(), FEEDS_MAX);
    }
}
