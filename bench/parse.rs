//! How fast feeds are read, beside feed-rs and beside a bare loop over quick-xml's events with namespaces, on the same
//! bytes in the same run. `cargo bench --bench parse` prints a table; the bar is four times the bare loop.
//! `cargo bench --profile dev --bench parse -- fixtures` prints how many of the fixtures of the tests each of the two
//! reads.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use feedwarden::parse::feed::{Limits, read};
use quick_xml::NsReader;
use quick_xml::events::Event;

/// How long each reader is measured on each feed.
const MEASURED_FOR: Duration = Duration::from_millis(400);
/// How often; the fastest time counts, because everything else on the machine can only make it slower.
const ROUNDS: usize = 5;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["fixtures"] => compare_fixtures(),
        ["feed-rs", file] => return read_with_feed_rs(Path::new(file)),
        _ => measure(),
    }
    ExitCode::SUCCESS
}

/// How a reader ends with a document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Read(usize),
    Refused,
    Panicked,
    Aborted,
}

/// feed-rs reads in processes of its own: it can overflow the stack, which ends a process.
fn compare_fixtures() {
    let nested = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    let (open, close) = ("<media:group>".repeat(1_000), "</media:group>".repeat(1_000));
    let start = r#"<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>t</title><item>"#;
    let deep = format!("{start}{open}{close}</item></channel></rss>");
    std::fs::write(nested.path(), deep).expect("a temporary file can be written");
    let files: Vec<PathBuf> = fixtures().into_iter().chain([nested.path().to_owned()]).collect();
    let ends: Vec<(PathBuf, End, End)> = files
        .into_iter()
        .map(|file| {
            let (ours, theirs) = (end_of_ours(&file), end_of_feed_rs(&file));
            (file, ours, theirs)
        })
        .collect();
    let readable = ends.iter().filter(|(_, ours, _)| matches!(ours, End::Read(_))).count();
    println!("{} documents, {readable} of which have entries or a channel that can be read", ends.len());
    for (file, ours, theirs) in &ends {
        let told = match (ours, theirs) {
            (End::Read(_), End::Refused) => "refused",
            (End::Read(ours), End::Read(theirs)) if theirs < ours => "entries lost",
            (_, End::Panicked) => "panicked",
            (_, End::Aborted) => "ended the process",
            _ => continue,
        };
        println!("feed-rs {told:<18} {}", file.display());
    }
    let count = |wanted: fn(End, End) -> bool| ends.iter().filter(|(_, ours, theirs)| wanted(*ours, *theirs)).count();
    println!(
        "feed-rs: {} of {readable} refused, {} with entries lost; {} panics, {} ended processes",
        count(|ours, theirs| matches!(ours, End::Read(_)) && theirs == End::Refused),
        count(|ours, theirs| matches!((ours, theirs), (End::Read(ours), End::Read(theirs)) if theirs < ours)),
        count(|_, theirs| theirs == End::Panicked),
        count(|_, theirs| theirs == End::Aborted),
    );
}

fn fixtures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/feeds");
    let list = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).expect("fixtures can be listed");
        entries.map(|entry| entry.expect("fixtures can be listed").path()).collect()
    };
    let mut files: Vec<PathBuf> = list(&root).iter().flat_map(|folder| list(folder)).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension != "content-type"));
    files.sort();
    files
}

fn end_of_ours(file: &Path) -> End {
    let content_type = std::fs::read_to_string(file.with_extension("content-type")).ok();
    let bytes = std::fs::read(file).expect("fixtures can be read");
    let base = Some("https://example.org/feeds/feed.xml");
    match read(&bytes, content_type.as_deref().map(str::trim), base, &Limits::default()) {
        Ok(feed) => End::Read(feed.entries.len()),
        Err(_) => End::Refused,
    }
}

fn end_of_feed_rs(file: &Path) -> End {
    let program = std::env::current_exe().expect("this program has a path");
    let output = Command::new(program).arg("feed-rs").arg(file).stderr(Stdio::null()).output();
    let output = output.expect("this program can be started");
    let entries = String::from_utf8_lossy(&output.stdout).trim().parse();
    match output.status.code() {
        Some(0) => End::Read(entries.expect("a number of entries")),
        Some(1) => End::Refused,
        Some(_) => End::Panicked,
        None => End::Aborted,
    }
}

/// Prints how many entries feed-rs finds; exit code 1 if it refuses the document. It reads on a thread with the usual
/// stack of 2 MiB, as it would in a runtime.
fn read_with_feed_rs(file: &Path) -> ExitCode {
    let bytes = std::fs::read(file).expect("fixtures can be read");
    let reading = std::thread::spawn(move || feed_rs::parser::parse(bytes.as_slice()).map(|feed| feed.entries.len()));
    match reading.join() {
        Ok(Ok(entries)) => println!("{entries}"),
        Ok(Err(_)) => return ExitCode::FAILURE,
        Err(_) => return ExitCode::from(101),
    }
    ExitCode::SUCCESS
}

fn measure() {
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
