//! Lists of sources, as other readers export them and as ours are written.

use std::io::{self, BufReader, Cursor, Read};

use feedwarden::opml::{BadOutline, OpmlError, Outline, Reader, Why, write};
use proptest::prelude::*;
use rstest::rstest;

/// What a list says, a line for each entry.
fn lines(document: &[u8]) -> Vec<String> {
    let reader = Reader::new(Cursor::new(document)).unwrap_or_else(|error| panic!("{error}"));
    let line = |entry: Result<Outline, BadOutline>| match entry {
        Ok(Outline { title, feed_url, site_url, labels, line }) => {
            let labels: String = labels.iter().map(|label| format!("{label} / ")).collect();
            let site = site_url.map(|url| format!(" at {url}")).unwrap_or_default();
            format!("{line} {labels}{}: {feed_url}{site}", title.as_deref().unwrap_or("(none)"))
        }
        Err(bad) => bad.to_string(),
    };
    reader.map(line).collect()
}

fn fixture(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/opml").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn error(document: &str) -> String {
    Reader::new(document.as_bytes()).err().map_or_else(|| "a list".to_owned(), |error| error.to_string())
}

fn feeds(document: impl AsRef<[u8]>) -> Vec<Outline> {
    Reader::new(document.as_ref()).unwrap().filter_map(Result::ok).collect()
}

#[rstest]
#[case("feedly.opml", &[
    "9 Tech / The Morning Paper: https://paper.example/feed/ at https://paper.example",
    "10 Tech / Q&A: https://qa.example/feeds?tag=rust&sort=newest at https://qa.example/questions",
    "line 13: the same feed as in line 9",
])]
#[case("miniflux.opml", &[
    "9 All / Ünïcode — Blog: https://unicode.example/atom.xml at https://unicode.example/",
    "10 All / (none): https://nameless.example/rss",
    "line 12: \"Empty\" has neither a URL nor anything inside",
])]
#[case("netnewswire.opml", &[
    "8 Root Blog: https://root.example/feed.json at https://root.example/",
    "10 Apple & Co / Fireball: http://fireball.example/feeds/main at https://fireball.example/",
])]
#[case("inoreader.opml", &[
    "8 News / World's News: http://world.example/rss?a=1&b=2 at http://world.example/",
    "10 News / Local / Café Gazette: http://cafe.example/rss",
    "line 14: a feed without a URL",
])]
#[case("newsboat.opml", &[
    "7 Plain: https://plain.example/rss.xml at https://plain.example/",
    "line 8: the feed's URL cannot be used: it is neither http nor https",
    "line 9: the feed's URL cannot be used: it is neither http nor https",
    "10 (none): https://plain.example/comments.xml#latest",
])]
#[case("thunderbird.opml", &[
    "10 Science / Physics / Strings: https://strings.example/feed at https://strings.example/",
])]
#[case("antennapod.opml", &[
    "1 A Podcast: https://pod.example/feed at https://pod.example",
    "1 Another: http://pods.example/another.xml",
])]
#[case("odd.opml", &[
    "3 Shouting: HTTPS://shout.example/FEED",
    "4 Only url: http://only.example/rss",
    "7 Single \"quotes\": https://quotes.example/rss",
    "8 Less < than: http://less.example/?x=a<b",
    "line 9: the feed's URL cannot be used: it begins with neither https:// nor http://",
    "line 10: the feed's URL cannot be used: it is neither http nor https",
    "line 11: the same feed as in line 3",
    "12 A feed with a folder in it: http://outer.example/rss",
    "13 Inner: http://inner.example/rss",
    "15 Two lines: http://lines.example/rss",
])]
fn the_exports_of_other_readers_are_read(#[case] name: &str, #[case] expected: &[&str]) {
    assert_eq!(lines(&fixture(name)), expected);
}

#[test]
fn what_is_no_list_is_one_clear_error() {
    assert_eq!(error(""), "not an OPML document: it is empty");
    assert_eq!(error(" \n "), "not an OPML document: it is empty");
    assert_eq!(error("<rss version='2.0'><channel/></rss>"), "not an OPML document: it begins with <rss>");
    assert_eq!(error("<!doctype html><html><body/></html>"), "not an OPML document: it begins with <html>");
    assert_eq!(error("{\"feeds\": []}"), "not an OPML document: it begins with \"{\\\"feeds\\\": []}\"");
    assert!(error(&"x".repeat(1000)).len() < 120);
    assert_eq!(error("<opml/>"), "a list");
    assert_eq!(lines(b"<opml/>"), [""; 0]);
}

#[test]
fn bytes_that_cannot_be_had_are_told_with_what_came_before() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    assert!(matches!(Reader::new(BufReader::new(Broken)), Err(OpmlError::Unreadable(_))));
    for padding in [0, 70_000, 200_000] {
        let start = format!("<opml><outline xmlUrl='http://a.example/'/>{}", " ".repeat(padding));
        let input = BufReader::new(Cursor::new(start.clone()).chain(Broken));
        let entries: Vec<_> = match Reader::new(input) {
            Ok(reader) => reader.collect(),
            // A short list is over before anything can be said about it.
            Err(OpmlError::Unreadable(_)) if padding == 0 => continue,
            Err(error) => panic!("{error}"),
        };
        assert_eq!(entries[0].as_ref().unwrap().feed_url, "http://a.example/");
        let Err(bad) = &entries[1] else { panic!("{entries:?}") };
        assert_eq!((bad.why.clone(), entries.len()), (Why::Unreadable("the disk is gone".into()), 2));
    }
}

#[rstest]
#[case::cut_between("<opml><body><outline xmlUrl='http://a.example/'/>", &["1 (none): http://a.example/", "line 1: the document ends early"])]
#[case::cut_inside(
    "<opml>\n<outline text='F'>\n<outline xmlUrl='http://a.example/'/>\n<outline xmlUrl='http://b.exa",
    &["3 F / (none): http://a.example/", "line 4: the document ends early"]
)]
#[case::unclosed_comment("<opml><outline url='http://a.example/'/><!-- <outline url='http://b.example/'/></opml>",
    &["1 (none): http://a.example/", "line 1: the document ends early"])]
#[case::unclosed_quotation(
    "<opml>\n<outline text=\"a>\n<outline text=\"b\" url=\"http://b.example/\"/>\n</outline></opml>",
    &["line 2: the document is damaged here", "3 b: http://b.example/"]
)]
#[case::unclosed_tag("<opml><outline text='f'\n<outline url='http://b.example/'/></outline></opml>",
    &["line 1: the document is damaged here", "2 f / (none): http://b.example/"])]
#[case::too_many_ends("<opml></outline></outline><outline url='http://a.example/'/></opml>", &["1 (none): http://a.example/"])]
#[case::lost_beginning("<outline text='f'><outline url='http://a.example/'/></outline>", &["1 f / (none): http://a.example/"])]
#[case::comment("<opml><!-- <outline url='http://a.example/'/> --><outline url='http://b.example/'/></opml>",
    &["1 (none): http://b.example/"])]
#[case::control_characters("<opml><outline text='a&#1;\u{1}b' url='http://a.example/'/></opml>", &["1 ab: http://a.example/"])]
fn a_damaged_list_is_read_as_far_as_possible(#[case] document: &str, #[case] expected: &[&str]) {
    assert_eq!(lines(document.as_bytes()), expected);
}

#[test]
fn what_has_neither_a_url_nor_anything_inside_is_told() {
    let list = "<opml><body>\n\
        <outline type='rss' text='lost' xmlUrl=''/>\n\
        <outline text='blank' xmlUrl=' '/>\n\
        <outline title='alone'/>\n\
        <outline text='empty'>\n</outline>\n\
        <outline text='full' xmlUrl=''><outline text='in &amp; out'></outline><outline url='http://a.example/'/></outline>\n\
        <outline type='link' text='page' url='http://page.example/'/>\n\
        <outline/>\n\
        </body></opml>";
    let expected = [
        "line 2: a feed without a URL",
        "line 3: a feed without a URL",
        "line 4: \"alone\" has neither a URL nor anything inside",
        "line 5: \"empty\" has neither a URL nor anything inside",
        "line 7: \"in & out\" has neither a URL nor anything inside",
        "7 full / (none): http://a.example/",
    ];
    assert_eq!(lines(list.as_bytes()), expected);
}

#[test]
fn a_name_that_is_cut_is_told_once() {
    let (name, label) = ("n".repeat(101), "n".repeat(100));
    let list = format!(
        "<opml><outline text='{name}'><outline url='http://a.example/'/>\n<outline url='http://b.example/'/></outline>\
         <outline text='{label}'><outline url='http://c.example/'/></outline></opml>"
    );
    let told = format!("line 1: the folder's name is too long, and cut to {label:?}");
    let feeds = [format!("1 {label} / (none): http://a.example/"), format!("2 {label} / (none): http://b.example/")];
    let last = format!("2 {label} / (none): http://c.example/");
    assert_eq!(lines(list.as_bytes()), [&[told][..], &feeds, &[last]].concat());
}

#[test]
fn folders_have_a_bounded_depth() {
    let nested = |depth: usize| {
        let folders: String = (1..=depth).map(|number| format!("<outline text='{number}'>")).collect();
        format!("<opml>{folders}<outline url='http://a.example/'/>{}", "</outline>".repeat(depth))
            + "<outline url='http://b.example/'/></opml>"
    };
    let entries = feeds(nested(15));
    assert_eq!((entries[0].labels.len(), entries[1].labels.len()), (15, 0));
    for depth in [16, 100_000] {
        let said = lines(nested(depth).as_bytes());
        assert_eq!(said, ["line 1: inside of more than 16 folders", "1 (none): http://b.example/"], "{depth}");
    }
}

/// A list with Latin-1 letters, in this charset.
fn in_charset(label: &str, declared: &str, padding: usize) -> Vec<u8> {
    let text = format!(
        "<?xml version='1.0' encoding='{declared}'?><opml>{}<outline text='Grüße aus Köln, für später' \
         url='http://a.example/'/></opml>",
        " ".repeat(padding)
    );
    match label {
        "utf-16le" => [0xFEFF].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect(),
        "utf-16be" => [0xFEFF].into_iter().chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect(),
        "utf-16le without mark" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        "utf-8 with mark" => format!("\u{feff}{text}").into_bytes(),
        label => encoding_rs::Encoding::for_label(label.as_bytes()).unwrap().encode(&text).0.into_owned(),
    }
}

#[rstest]
#[case("utf-8", "utf-8")]
#[case("utf-8 with mark", "utf-8")]
#[case("utf-8", "iso-8859-1")]
#[case("iso-8859-1", "iso-8859-1")]
#[case("windows-1252", "utf-8")]
#[case("utf-16le", "utf-16")]
#[case("utf-16be", "utf-16")]
#[case("utf-16le without mark", "utf-16")]
#[case("utf-16le", "utf-8")]
fn the_charset_is_found_wherever_the_first_letter_that_needs_one_stands(#[case] real: &str, #[case] declared: &str) {
    // The pieces that are read at a time are 64 KiB: a letter may be cut in two by their border.
    let before = in_charset("utf-8", declared, 0).iter().position(|byte| !byte.is_ascii()).unwrap();
    for padding in [0, 65_536 - before - 1, 65_536 - before, 70_000, 300_000] {
        let found = feeds(in_charset(real, declared, padding));
        let titles: Vec<_> = found.iter().map(|outline| outline.title.as_deref()).collect();
        assert_eq!(titles, [Some("Grüße aus Köln, für später")], "{real} declared {declared}, {padding}");
    }
}

#[test]
fn a_tag_is_read_whole_wherever_a_piece_of_the_document_ends() {
    let document = |padding: usize| {
        let outlines: String = (0..20)
            .map(|number| {
                let title = format!("{number} > \u{e9}{}", "x".repeat(60));
                format!("<outline text=\"{title}\" xmlUrl=\"http://a.example/{number}\"/>\n")
            })
            .collect();
        format!("<opml><body>{}\n{outlines}</body></opml>", " ".repeat(padding))
    };
    for padding in (30_000..34_000).step_by(97).chain((64_000..66_000).step_by(41)).chain((95_000..99_000).step_by(97))
    {
        let expected: Vec<String> = (0..20)
            .map(|number| format!("{} {number} > \u{e9}{}: http://a.example/{number}", number + 2, "x".repeat(60)))
            .collect();
        assert_eq!(lines(document(padding).as_bytes()), expected, "{padding}");
    }
}

#[test]
fn long_values_are_cut_or_refused() {
    let long = "x".repeat(10_000);
    let document = format!(
        "<opml><outline text='{long}'><outline text='{long}' url='http://a.example/'/>\
         <outline text='b' url='http://b.example/{long}'/></outline></opml>"
    );
    let entries: Vec<_> = Reader::new(document.as_bytes()).unwrap().collect();
    assert_eq!(entries[0].as_ref().unwrap_err().why, Why::NameCut("x".repeat(100)));
    let first = entries[1].as_ref().unwrap();
    assert_eq!((first.title.as_ref().unwrap().len(), first.labels[0].len()), (500, 100));
    assert_eq!(entries[2].as_ref().unwrap_err().why, Why::BadUrl("it is too long"));
}

#[test]
fn a_url_in_the_place_of_a_name_is_no_name() {
    for url in ["http://a.example/", "http://a.example/?a=1&amp;b=2", "http://a.example/\u{2000}b"] {
        let found = feeds(format!("<opml><outline text='{url}' url='{url}'/></opml>"));
        assert_eq!((found.len(), &found[0].title), (1, &None), "{url}");
    }
}

#[test]
fn what_follows_too_many_feeds_is_left_out() {
    let outlines: String = (0..=250_000).map(|number| format!("<outline url='http://a.example/{number}'/>")).collect();
    let mut reader = Reader::new(Cursor::new(format!("<opml>{outlines}</opml>"))).unwrap();
    assert_eq!(reader.by_ref().take(250_000).filter(Result::is_ok).count(), 250_000);
    assert_eq!(reader.next().unwrap().unwrap_err().why, Why::TooMany);
    assert_eq!(reader.next(), None);
}

#[test]
fn a_written_list_has_a_folder_for_each_label() {
    let outline = |number: u32, labels: &[&str]| Outline {
        title: Some(format!("\"{number}\" <&>")),
        feed_url: format!("http://a.example/{number}?a=1&b=2"),
        labels: labels.iter().map(ToString::to_string).collect(),
        ..Outline::default()
    };
    let list = [outline(1, &[]), outline(2, &["A"]), outline(3, &["A", "B&C"]), outline(4, &["A"]), outline(5, &["D"])];
    let mut written = Vec::new();
    write(&mut written, "Mine & yours", &list).unwrap();
    let feed = |number: u32| {
        let title = format!("&quot;{number}&quot; &lt;&amp;&gt;");
        format!(
            "<outline type=\"rss\" text=\"{title}\" title=\"{title}\" xmlUrl=\"http://a.example/{number}?a=1&amp;b=2\"/>"
        )
    };
    let expected = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<opml version=\"2.0\">\n  <head>\n    \
         <title>Mine &amp; yours</title>\n  </head>\n  <body>\n    {}\n    <outline text=\"A\" title=\"A\">\n      {}\n      \
         <outline text=\"B&amp;C\" title=\"B&amp;C\">\n        {}\n      </outline>\n      {}\n    </outline>\n    \
         <outline text=\"D\" title=\"D\">\n      {}\n    </outline>\n  </body>\n</opml>\n",
        feed(1),
        feed(2),
        feed(3),
        feed(4),
        feed(5)
    );
    assert_eq!(String::from_utf8(written).unwrap(), expected);
}

fn texts() -> impl Strategy<Value = String> {
    // Folded as titles are, with all that has to be escaped.
    "[a-z<>&\"'#;éß語🦀]{1,6}( [a-z<>&\"'#;é]{1,6}){0,2}"
}

fn outlines() -> impl Strategy<Value = Outline> {
    let url = "https?://[a-z]{1,9}\\.example/[a-z0-9?=&'é#;<>%]{0,12}";
    (proptest::option::of(texts()), url, proptest::option::of(url), proptest::collection::vec(texts(), 0..4))
        .prop_map(|(title, feed_url, site_url, labels)| Outline { title, feed_url, site_url, labels, line: 0 })
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(list in proptest::collection::vec(outlines(), 0..20)) {
        let mut seen = std::collections::HashSet::new();
        let canonical = |url: &str| {
            let mut url = url::Url::parse(url).unwrap();
            url.set_fragment(None);
            url
        };
        let list: Vec<Outline> = list.into_iter().filter(|outline| seen.insert(canonical(&outline.feed_url))).collect();
        let mut written = Vec::new();
        write(&mut written, "T", &list).unwrap();
        let read: Result<Vec<Outline>, _> = Reader::new(written.as_slice()).unwrap().collect();
        let read: Vec<Outline> = read.unwrap().into_iter().map(|outline| Outline { line: 0, ..outline }).collect();
        prop_assert_eq!(read, list);
    }
}
