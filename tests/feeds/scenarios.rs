//! The scenarios that are decided while reading.

use feedwarden::parse::feed::{Feed, FeedError, Limits, TextKind, read};

use super::fixtures::read_fixture;

fn fixture(name: &str) -> Feed {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/feeds").join(name);
    read_fixture(&path).expect("a good feed")
}

fn read_text(text: &str) -> Result<Feed, FeedError> {
    read(text.as_bytes(), None, None, &Limits::default())
}

#[test]
fn s602_a_nitter_feed_with_five_entries_has_five_entries() {
    let feed = fixture("rss-2.0/nitter.xml");
    let titles: Vec<&str> = feed.entries.iter().filter_map(|entry| Some(&*entry.title.as_ref()?.value)).collect();
    assert_eq!(
        titles,
        ["First thought", "Second thought", "R to @someone: Third thought", "RT by @someone: Fourth", "Image"]
    );
}

#[test]
fn s605_the_author_is_the_entrys_own_then_the_first_with_a_name_and_a_blank_is_nobody() {
    let authors = |name: &str| -> Vec<Option<String>> {
        fixture(name).entries.iter().map(|entry| entry.author.as_deref().map(str::to_owned)).collect()
    };
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(authors("authors/mail-with-name.xml"), [named("Joe Bloggs"), named("Joe Bloggs"), named("John Smith")]);
    assert_eq!(authors("atom-1.0/several-authors.xml"), [named("Second")]);
    assert_eq!(authors("authors/blank.xml"), [None, named("Fallback")]);
    assert_eq!(
        authors("atom-1.0/inherited-author.xml"),
        [named("Feed Author"), named("Entry Author"), named("Source Author")]
    );
}

#[test]
fn s613_a_date_of_the_year_1_or_of_the_start_of_1970_is_none_and_another_date_of_the_entry_counts() {
    let feed = read_text(
        "<feed xmlns='http://www.w3.org/2005/Atom'>\
        <entry><title>a</title><published>0001-01-01T00:00:00Z</published><updated>2026-11-16T08:00:00Z</updated></entry>\
        <entry><title>b</title><published>1970-01-01T00:00:00Z</published></entry>\
        <entry><title>c</title><published>2026-11-16T08:00:00Z</published><updated>1970-01-01T00:00:00Z</updated></entry>\
        </feed>",
    )
    .unwrap();
    let good = Some("2026-11-16T08:00:00Z".parse().unwrap());
    let dates: Vec<_> = feed.entries.iter().map(|entry| (entry.published, entry.updated)).collect();
    assert_eq!(dates, [(None, good), (None, None), (good, None)]);
    let feed = read_text(
        "<rss><channel><item><title>a</title><pubDate>Thu, 01 Jan 1970 00:00:00 GMT</pubDate></item></channel></rss>",
    );
    assert_eq!(feed.unwrap().entries[0].published, None);
}

#[test]
fn s606_an_entry_without_title_or_without_text_is_kept_with_what_it_has() {
    let titleless = fixture("rss-2.0/mastodon-titleless.xml");
    assert_eq!(titleless.entries[0].title, None);
    assert_eq!(&*titleless.entries[0].summary.as_ref().unwrap().value, "<p>No title here</p>");
    let textless = fixture("rss-2.0/no-version.xml");
    assert_eq!(&*textless.entries[0].title.as_ref().unwrap().value, "One");
    assert_eq!((&textless.entries[0].summary, &textless.entries[0].content), (&None, &None));
    let links = fixture("rss-2.0/link-only.xml");
    assert_eq!(links.entries[0].url.as_deref(), Some("https://example.org/bare-link"));
}

#[test]
fn an_entry_with_nothing_to_show_is_known_as_blank() {
    let feed = read_text(
        "<rss><channel><item/><item><category>x</category></item><item><guid>1</guid></item><item><link>https://example.org/</link></item></channel></rss>",
    )
    .unwrap();
    let blanks: Vec<bool> = feed.entries.iter().map(|entry| entry.is_blank()).collect();
    assert_eq!(blanks, [true, true, false]);
}

#[test]
fn p14_what_a_feed_says_about_coming_back_is_read() {
    let feed = fixture("schedule/skip-outside-wrappers.xml");
    assert_eq!(feed.update_period_minutes, Some(1440));
    assert_eq!(feed.skip_hours, 1 | 1 << 23);
    assert_eq!(feed.skip_days, 0b1_0001);
}

#[test]
fn s109_a_web_page_is_refused_with_the_feeds_it_links_to() {
    let page = r#"<!doctype html><head><link rel="alternate" type="application/rss+xml" href="https://example.org/feed" title="News"></head>"#;
    let error = read_text(page).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the document is a web page, not a feed; it links to this feed: https://example.org/feed (News)"
    );
}

#[test]
fn without_an_address_relative_links_are_seen_from_the_feeds_own_link() {
    let feed = read_text(
        "<rss><channel><link>https://example.org/blog/</link><item><link>one</link></item><item><link>https://example.net/two</link></item></channel></rss>",
    )
    .unwrap();
    let urls: Vec<_> = feed.entries.iter().map(|entry| entry.url.as_deref()).collect();
    assert_eq!(urls, [Some("https://example.org/blog/one"), Some("https://example.net/two")]);
}

#[test]
fn plain_text_and_html_are_told_apart_where_the_format_does() {
    let feed = fixture("atom-1.0/text-types.xml");
    let kinds: Vec<_> = feed.entries.iter().map(|entry| entry.title.as_ref().unwrap().kind).collect();
    assert_eq!(kinds, [TextKind::Plain, TextKind::Html, TextKind::Html, TextKind::Plain, TextKind::Plain]);
}

#[test]
fn each_bound_is_an_error_that_names_it() {
    let limits = Limits { bytes_max: 2_000, depth_max: 10, nodes_max: 50, entries_max: 5, ..Limits::default() };
    let check = |body: &str, expected: &str| {
        let error = read(body.as_bytes(), None, None, &limits).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(&"x".repeat(2_001), "the feed is larger than 2000 bytes");
    check(&format!("<rss>{}", "<media:group>".repeat(20)), "the feed's elements are nested more than 10 deep");
    check(&format!("<rss>{}", "<a/>".repeat(60)), "the feed has more than 50 elements");
    check(&format!("<rss>{}", "<item/>".repeat(6)), "the feed has more than 5 entries");
    check(&format!(r#"{{"items":[{}{{}}]}}"#, "{},".repeat(5)), "the feed has more than 5 entries");
}
