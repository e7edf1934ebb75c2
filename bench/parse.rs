//! How fast feeds are read, beside feed-rs and beside a bare loop over quick-xml's events with namespaces, on the same
//! bytes in the same run. `cargo bench --bench parse` prints a table; the bar is four times the bare loop.

use std::hint::black_box;
use std::time::{Duration, Instant};

use feedwarden::parse::feed::{Limits, read};
use quick_xml::NsReader;
use quick_xml::events::Event;

/// How long each reader is measured on each feed.
const MEASURED_FOR: Duration = Duration::from_millis(400);
/// How often; the fastest time counts, because everything else on the machine can only make it slower.
const ROUNDS: usize = 5;

fn main() {
    let feeds = [
        ("RSS 30 KB", rss(30_000)),
        ("RSS 300 KB", rss(300_000)),
        ("Atom 30 KB", atom(30_000)),
        ("Atom 300 KB", atom(300_000)),
    ];
    println!("{:<12} {:>14} {:>14} {:>14} {:>8}", "feed", "ours", "feed-rs", "bare loop", "ratio");
    for (name, feed) in &feeds {
        let bytes = feed.as_bytes();
        let (mut ours, mut theirs, mut bare) = (f64::MAX, f64::MAX, f64::MAX);
        for _ in 0..ROUNDS {
            ours = ours.min(seconds_per_call(|| {
                let feed = read(black_box(bytes), None, Some("https://example.org/feed"), &Limits::default());
                feed.expect("a good feed").entries.len()
            }));
            theirs = theirs
                .min(seconds_per_call(|| feed_rs::parser::parse(black_box(bytes)).expect("a good feed").entries.len()));
            bare = bare.min(seconds_per_call(|| bare_loop(black_box(feed))));
        }
        let cell = |seconds: f64| format!("{:.0} MB/s", bytes.len() as f64 / seconds / 1e6);
        println!("{name:<12} {:>14} {:>14} {:>14} {:>7.2}x", cell(ours), cell(theirs), cell(bare), ours / bare);
    }
}

fn bare_loop(feed: &str) -> usize {
    let mut reader = NsReader::from_str(feed);
    let mut count = 0;
    loop {
        match reader.read_resolved_event().expect("well-formed") {
            (_, Event::Eof) => return count,
            (namespace, event) => {
                black_box((namespace, event));
                count += 1;
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a bench measures real time")]
fn seconds_per_call(mut call: impl FnMut() -> usize) -> f64 {
    let start = Instant::now();
    let mut calls = 0_u32;
    while start.elapsed() < MEASURED_FOR / 5 {
        black_box(call());
        calls += 1;
    }
    start.elapsed().as_secs_f64() / f64::from(calls)
}

const WORDS: [&str; 16] = [
    "the",
    "morning",
    "paper",
    "said",
    "that",
    "größere",
    "Wellen",
    "would",
    "reach",
    "coast",
    "before",
    "night",
    "falls",
    "—",
    "and",
    "boats",
];

fn prose(seed: usize, words: usize) -> String {
    (0..words).map(|index| WORDS[(seed * 7 + index * index + index / 3) % WORDS.len()]).collect::<Vec<_>>().join(" ")
}

/// As WordPress writes it: a short description and the whole text in a CDATA section.
fn rss(bytes: usize) -> String {
    let mut feed = String::from(
        r#"<?xml version="1.0" encoding="UTF-8"?><rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:wfw="http://wellformedweb.org/CommentAPI/" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:sy="http://purl.org/rss/1.0/modules/syndication/" xmlns:slash="http://purl.org/rss/1.0/modules/slash/"><channel><title>A blog</title><atom:link href="https://example.org/feed/" rel="self" type="application/rss+xml"/><link>https://example.org</link>"#,
    );
    let mut number = 0;
    while feed.len() < bytes {
        number += 1;
        let paragraphs: String =
            (0..number % 5 + 1).map(|part| format!("<p class=\"x\">{}</p>\n", prose(number + part, 60))).collect();
        feed += &format!(
            "\n\t<item>\n\t\t<title>{}</title>\n\t\t<link>https://example.org/{number}/</link>\n\t\t<comments>https://example.org/{number}/#respond</comments>\n\t\t<dc:creator><![CDATA[Ada]]></dc:creator>\n\t\t<pubDate>Mon, 16 Nov 2026 08:30:00 +0000</pubDate>\n\t\t<category><![CDATA[News]]></category>\n\t\t<guid isPermaLink=\"false\">https://example.org/?p={number}</guid>\n\t\t<description><![CDATA[{} [&#8230;]]]></description>\n\t\t<content:encoded><![CDATA[{paragraphs}]]></content:encoded>\n\t\t<slash:comments>0</slash:comments>\n\t</item>",
            prose(number, 8),
            prose(number, 30),
        );
    }
    feed + "</channel></rss>"
}

/// As many generators write it: escaped HTML, so that every angle bracket is a reference.
fn atom(bytes: usize) -> String {
    let mut feed = String::from(
        r#"<?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom"><title>A blog</title><link href="https://example.org/"/><updated>2026-11-16T08:30:00Z</updated><id>urn:feed</id><author><name>Ada</name></author>"#,
    );
    let mut number = 0;
    while feed.len() < bytes {
        number += 1;
        let paragraphs: String =
            (0..number % 5 + 1).map(|part| format!("&lt;p&gt;{}&lt;/p&gt;\n", prose(number + part, 60))).collect();
        feed += &format!(
            "\n  <entry>\n    <title>{}</title>\n    <link rel=\"alternate\" type=\"text/html\" href=\"https://example.org/{number}\"/>\n    <id>tag:example.org,2026:{number}</id>\n    <published>2026-11-16T08:30:00Z</published>\n    <updated>2026-11-16T09:30:00Z</updated>\n    <summary>{}</summary>\n    <content type=\"html\">{paragraphs}</content>\n  </entry>",
            prose(number, 8),
            prose(number, 30),
        );
    }
    feed + "</feed>"
}
