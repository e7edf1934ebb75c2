//! Bytes to feeds: within the limits, without what no store can keep, and the same under tight limits as under wide
//! ones.

use std::sync::Arc;

use feedwarden::parse::feed::{Entry, Feed, FeedError, Limits, Note, Text, read};

const BASE_URL: &str = "https://example.org/feeds/feed.xml";
/// So tight that inputs of a few hundred bytes meet them.
const TIGHT: Limits = Limits { bytes_max: 16 << 10, depth_max: 8, nodes_max: 60, entries_max: 4, year_max: 2049 };
/// What a feed may become, as a multiple of its bytes, and what any may.
const SIZES_MAX: usize = 20;
const SLACK_BYTES: usize = 64 << 10;
/// What an operator may be given to read about a document that is no feed.
const ERROR_BYTES_MAX: usize = 20_000;

/// Holds the laws against one document.
pub(crate) fn check(input: &[u8]) {
    let (content_type, document) = super::content_type_and_document(input);
    let wide = check_read(document, content_type, Some(BASE_URL), &Limits::default());
    let tight = check_read(document, content_type, Some(BASE_URL), &TIGHT);
    // Without an address, links are seen from the one that the feed gives itself.
    drop(check_read(document, content_type, None, &Limits::default()));
    if tight.is_ok() {
        assert!(document.len() <= TIGHT.bytes_max, "a document over the limit is read");
        assert_eq!(tight, wide, "limits that were not met change the feed");
    }
}

fn check_read(
    document: &[u8],
    content_type: Option<&str>,
    base_url: Option<&str>,
    limits: &Limits,
) -> Result<Feed, FeedError> {
    let outcome = read(document, content_type, base_url, limits);
    match &outcome {
        Ok(feed) => check_feed(feed, document.len(), limits),
        Err(error) => {
            let text = error.to_string();
            assert!(text.len() <= ERROR_BYTES_MAX, "an error of {} bytes", text.len());
            assert!(!text.contains(super::is_forbidden), "{text:?} holds a control character");
        }
    }
    outcome
}

fn check_feed(feed: &Feed, document_bytes: usize, limits: &Limits) {
    assert!(feed.entries.len() <= limits.entries_max, "{} entries", feed.entries.len());
    assert!(feed.skip_hours < 1 << 24 && feed.skip_days < 1 << 7, "hours or days that no clock knows");
    for (index, note) in feed.notes.iter().enumerate() {
        assert!(!feed.notes[..index].contains(note), "{note} twice");
        assert!(!matches!(note, Note::CharsetRefuted { announced } if *announced == feed.charset), "{note}");
    }
    let links = feed.entries.iter().filter_map(|entry| entry.url.as_deref()).chain(feed.link.as_deref());
    links.for_each(super::check_link);
    feed.entries.iter().for_each(check_details);
    if let Some(url) = &feed.next_archive {
        check_absolute(url);
    }
    let all_bytes = texts(feed).map(str::len).sum::<usize>();
    assert!(all_bytes <= document_bytes * SIZES_MAX + SLACK_BYTES, "{document_bytes} bytes became {all_bytes}");
    for text in texts(feed) {
        assert!(!text.trim().is_empty(), "a blank text instead of none");
        assert!(!text.contains(super::is_forbidden), "{text:?} holds a control character");
    }
}

fn check_details(entry: &Entry) {
    assert_eq!(entry.author.as_ref(), entry.authors.first(), "the author is not the first");
    assert!(entry.authors.len() <= 32 && entry.categories.len() <= 64 && entry.enclosures.len() <= 32, "too many");
    for category in &entry.categories {
        assert!(category.chars().count() <= 200, "a category of {} characters", category.chars().count());
        assert_eq!(category.trim(), &**category, "blanks around a category");
    }
    let links = entry.enclosures.iter().map(|enclosure| &enclosure.url);
    links.chain(&entry.image_url).chain(&entry.comments_url).for_each(|url| check_absolute(url));
}

fn check_absolute(link: &str) {
    super::check_link(link);
    assert!(link.contains(':'), "{link:?} is relative");
}

/// Every text of a feed; those that entries share with each other count where they stand for themselves.
fn texts(feed: &Feed) -> impl Iterator<Item = &str> {
    fn value(text: Option<&Text>) -> Option<&str> {
        text.map(|text| &*text.value)
    }
    let entries = feed.entries.iter().flat_map(|entry| {
        let author = entry.author.as_ref().filter(|author| Arc::strong_count(author) == 1).map(|author| &**author);
        let texts = [value(entry.title.as_ref()), value(entry.summary.as_ref()), value(entry.content.as_ref())];
        let own = entry.details.as_ref().filter(|details| Arc::strong_count(details) == 1);
        let links = own.into_iter().flat_map(|details| {
            let files = details.enclosures.iter().flat_map(|file| {
                [Some(&*file.url), file.media_type.as_deref(), file.title.as_deref()].into_iter().flatten()
            });
            let categories = details.categories.iter().map(|category| &**category);
            files.chain(categories).chain(details.image_url.as_deref()).chain(details.comments_url.as_deref())
        });
        texts.into_iter().chain([entry.id.as_deref(), entry.url.as_deref(), author]).flatten().chain(links)
    });
    [value(feed.title.as_ref()), feed.link.as_deref()].into_iter().flatten().chain(entries)
}
