//! Pages to articles: an article has a text, and all that is said about it is fit to be shown.

use std::sync::LazyLock;

use feedwarden::parse::feed::linked_feeds;
use feedwarden::parse::text::fold;
use feedwarden::parse::website::{ExtractedPage, extract};
use url::Url;

/// The least number of letters and digits that make an article.
const TEXT_CHARS_MIN: usize = 10;
/// The greatest length of a heading or a name, and of the title that a page gives to a feed.
const VALUE_CHARS_MAX: usize = 300;
/// An author is whatever stands in an attribute; ten names of JSON-LD make a byline.
const ATTRIBUTE_BYTES_MAX: usize = 4096;
const BYLINE_CHARS_MAX: usize = 10 * (VALUE_CHARS_MAX + 2);
const FEED_TITLE_CHARS_MAX: usize = 1024;
/// As many feeds as one page is told to link to.
const FEEDS_MAX: usize = 20;

static PAGE_URL: LazyLock<Url> =
    LazyLock::new(|| "https://example.org/news/page.html".parse().expect("a constant URL is one"));

/// Holds the laws against one page.
pub(crate) fn check(input: &[u8]) {
    let html = String::from_utf8_lossy(input);
    if let Ok(page) = extract(&html, Some(&PAGE_URL)) {
        check_page(&page, html.len());
    }
    let feeds = linked_feeds(&html, Some(&PAGE_URL));
    assert!(feeds.len() <= FEEDS_MAX, "{} linked feeds", feeds.len());
    for feed in feeds {
        super::check_link(&feed.url);
        check_value(feed.title.as_deref(), FEED_TITLE_CHARS_MAX);
    }
}

fn check_page(page: &ExtractedPage, html_bytes: usize) {
    let letters = page.text.chars().filter(|character| character.is_alphanumeric()).count();
    assert!(letters >= TEXT_CHARS_MIN, "{:?} is no article", page.text);
    assert_eq!(fold(&page.text), page.text, "the text is not folded");
    // A NUL becomes U+FFFD, which is three times as long; no text is shown twice.
    assert!(page.text.len() <= html_bytes * 3, "{html_bytes} bytes became {}", page.text.len());
    // Serialised, a character becomes at most six; absolute links may take four times as much and 64 KiB more.
    assert!(page.html.len() <= html_bytes * 24 + (64 << 10), "{html_bytes} bytes became {} of HTML", page.html.len());
    assert_eq!(page.lines.replace('\n', " "), page.text, "the lines have other words");
    for value in [&page.title, &page.author, &page.byline].into_iter().flatten() {
        assert_eq!(fold(value), *value, "{value:?} is not folded");
    }
    check_value(page.title.as_deref(), VALUE_CHARS_MAX);
    check_value(page.author.as_deref(), ATTRIBUTE_BYTES_MAX);
    check_value(page.byline.as_deref(), BYLINE_CHARS_MAX);
    let scheme = page.canonical_url.as_ref().map(Url::scheme);
    assert!(matches!(scheme, None | Some("http" | "https")), "a canonical address under {scheme:?}");
}

/// A heading or a name: not blank, not an article in the wrong place, without control characters.
fn check_value(value: Option<&str>, chars_max: usize) {
    let Some(value) = value else { return };
    assert!(!value.trim().is_empty(), "a blank heading or name");
    assert!(value.chars().count() <= chars_max, "a heading or name of {} bytes", value.len());
    assert!(!value.contains(super::is_forbidden), "{value:?} holds a control character");
}
