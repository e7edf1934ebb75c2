//! Hostile feeds: none may panic, overflow the stack or use more than twenty times its size in memory. And lists of
//! sources, which may use no more than a few megabytes, whatever their size. And many hostile answers at once (`bombs`).
//!
//! Each feed is read in a process of its own, which asks the system for its peak before it ends: memory that one feed
//! left behind cannot hide what the next one takes, and a crash is seen as what it is. Linux alone tells the peak.

#[path = "memory/bombs.rs"]
mod bombs;

use std::io::{BufReader, Read};
use std::process::{Command, ExitCode};

use feedwarden::opml::Reader;
use feedwarden::parse::feed::{Limits, read};

/// What the reader may use, as a multiple of the document.
const SIZES_MAX: usize = 20;
/// What a process touches anyway: pages of code, tables, the allocator's own.
const SLACK_BYTES: usize = 512 << 10;

/// A feed that makes the reader touch its code and tables.
const CALM: &[u8] = b"<rss version='2.0'><channel><title>T</title><item><title>A &amp; b</title><link>/a</link>\
    <guid>1</guid><pubDate>Mon, 16 Nov 2026 10:00:00 GMT</pubDate><description>&lt;p>x&lt;/p></description></item>\
    </channel></rss>";

struct Hostile {
    name: &'static str,
    document: fn() -> Vec<u8>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, word, name] = arguments.as_slice()
        && word == "child"
    {
        return child(name);
    }
    if !cfg!(target_os = "linux") {
        println!("skipped: only Linux tells the peak of a process");
        return ExitCode::SUCCESS;
    }
    let mut failed = 0;
    let names = HOSTILES.iter().map(|hostile| hostile.name).chain(LISTS.iter().map(|list| list.name));
    let names: Vec<&str> = names.chain([bombs::NAME]).collect();
    for name in &names {
        let program = std::env::current_exe().expect("a running program has a path");
        let output = Command::new(program).args(["child", *name]).output().expect("a child starts");
        let report = String::from_utf8_lossy(&output.stdout);
        let verdict = if output.status.success() { "ok" } else { "FAILED" };
        println!("{verdict:<7} {name:<34} {}", report.trim());
        if !output.status.success() {
            failed += 1;
            println!("{}", String::from_utf8_lossy(&output.stderr));
        }
    }
    // The output format of the standard test harness.
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    println!("test result: {verdict}. {} passed; {failed} failed;", names.len() - failed);
    ExitCode::from(u8::from(failed > 0))
}

/// Reads one document and reports what it took.
fn child(name: &str) -> ExitCode {
    if let Some(list) = LISTS.iter().find(|list| list.name == name) {
        return child_list(list);
    }
    if name == bombs::NAME {
        return bombs::child(status_bytes);
    }
    let hostile = HOSTILES.iter().find(|hostile| hostile.name == name).expect("a known name");
    let document = (hostile.document)();
    // Code that was not used yet is not what the document takes.
    let _ = read(CALM, None, Some("https://example.org/"), &Limits::default());
    // Writing 5 resets the peak to what is in use now.
    std::fs::write("/proc/self/clear_refs", "5").expect("a process may reset its own peak");
    let before = status_bytes("VmRSS:");
    let outcome = read(&document, None, Some("https://example.org/"), &Limits::default());
    let peak = status_bytes("VmHWM:").saturating_sub(before);
    let outcome = match outcome {
        Ok(feed) => format!("{} entries", feed.entries.len()),
        Err(error) => error.to_string(),
    };
    let sizes = peak as f64 / document.len() as f64;
    println!("{:>6} KB {:>6} KB peak {sizes:>5.1}x  {outcome}", document.len() / 1024, peak / 1024);
    ExitCode::from(u8::from(peak > document.len() * SIZES_MAX + SLACK_BYTES))
}

/// Reads one list as it is made, so that the list itself takes no memory, and reports what that took.
fn child_list(list: &List) -> ExitCode {
    // Code that was not used yet is not what the list takes.
    let calm = "<opml version='2.0'><body><outline type='rss' xmlUrl='https://example.org/'/><outline</body></opml>";
    Reader::new(calm.as_bytes()).expect("a list").for_each(drop);
    std::fs::write("/proc/self/clear_refs", "5").expect("a process may reset its own peak");
    let before = status_bytes("VmRSS:");
    let pieces = Pieces { list, next: 0, rest: Vec::new() };
    let (mut good, mut bad) = (0, 0);
    for entry in Reader::new(BufReader::new(pieces)).expect("a list") {
        *if entry.is_ok() { &mut good } else { &mut bad } += 1;
    }
    let peak = status_bytes("VmHWM:").saturating_sub(before);
    println!("{:>6} KB peak  {good} sources, {bad} problems", peak / 1024);
    ExitCode::from(u8::from(peak > list.peak_bytes_max || (good, bad) != list.found))
}

struct List {
    name: &'static str,
    /// The document: its pieces by number, and how many there are.
    piece: fn(usize) -> String,
    count: usize,
    /// How many sources are in it, and how many problems.
    found: (usize, usize),
    peak_bytes_max: usize,
}

/// A list that is made while it is read.
struct Pieces<'a> {
    list: &'a List,
    next: usize,
    rest: Vec<u8>,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.rest.is_empty() && self.next < self.list.count {
            self.rest = (self.list.piece)(self.next).into_bytes();
            self.next += 1;
        }
        let length = self.rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&self.rest[..length]);
        self.rest.drain(..length);
        Ok(length)
    }
}

const LISTS: [List; 4] = [
    List {
        name: "a hundred thousand outlines",
        piece: |number| match number {
            0 => "<opml version='2.0'><body>\n".to_owned(),
            100_001 => "</body></opml>".to_owned(),
            // About 40 MB in all.
            number => format!(
                "<outline text='Folder'><outline type='rss' text='{}' xmlUrl='https://example.org/{number}/feed.xml'/></outline>\n",
                "A title & more ".repeat(20)
            ),
        },
        count: 100_002,
        found: (100_000, 0),
        peak_bytes_max: 10 << 20,
    },
    List {
        name: "long folders over many outlines",
        piece: |number| match number {
            0 => format!("<opml>{}", format!("<outline text='{}'>", "語".repeat(3_000)).repeat(15)),
            number => format!("<outline url='http://a/{number}'/>"),
        },
        count: 100_001,
        // Each folder's name is cut, and the end is missing.
        found: (100_000, 16),
        peak_bytes_max: 32 << 20,
    },
    List {
        name: "a comment without end",
        piece: |number| if number == 0 { "<opml><!--".to_owned() } else { "x".repeat(10_000) },
        count: 5_000,
        found: (0, 1),
        peak_bytes_max: 2 << 20,
    },
    List {
        name: "a quotation without end",
        piece: |number| match number {
            0 => "<opml><outline url='http://a.example/'/><outline text=\"".to_owned(),
            _ => "x".repeat(10_000),
        },
        count: 5_000,
        found: (1, 1),
        peak_bytes_max: 2 << 20,
    },
];

fn status_bytes(key: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells the state of a process");
    let line = status.lines().find(|line| line.starts_with(key)).expect("the line is there");
    line.split_whitespace().nth(1).and_then(|number| number.parse::<usize>().ok()).expect("a number") * 1024
}

/// A feed with something repeated in it.
fn feed(head: &str, repeated: &str, count: usize, tail: &str) -> Vec<u8> {
    format!("{head}{}{tail}", repeated.repeat(count)).into_bytes()
}

const RSS: &str = "<rss><channel><title>t</title>";
const ATOM: &str = r#"<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title>"#;

const HOSTILES: [Hostile; 36] = [
    Hostile {
        name: "a calm feed",
        document: || feed(RSS, "<item><title>Hello there</title></item>", 9_000, "</channel></rss>"),
    },
    Hostile { name: "nested media groups", document: || feed("<rss><channel><item>", "<media:group>", 400_000, "") },
    Hostile { name: "nested unknown elements", document: || feed("<rss><channel><item>", "<x>", 1_000_000, "") },
    Hostile {
        name: "nested divs in xhtml",
        document: || {
            feed(&format!("{ATOM}<entry><content type='xhtml'>"), "<div>", 900_000, "</content></entry></feed>")
        },
    },
    Hostile { name: "nested descriptions", document: || feed("<rss><channel><item>", "<description>", 400_000, "") },
    Hostile {
        name: "nested long bases",
        document: || {
            let base = format!("<feed xml:base='{}/'>", "x".repeat(2_000));
            feed(&format!("<feed><entry>{}", base.repeat(150)), "<entry><link href='a'/>", 9_000, "")
        },
    },
    Hostile {
        name: "a long base under many links",
        document: || {
            feed(
                &format!("<feed xml:base='https://example.org/{}/'>", "x".repeat(1_900)),
                "<entry><link href='a'/>",
                9_999,
                "</entry></feed>",
            )
        },
    },
    Hostile {
        name: "a long feed link under many links",
        document: || {
            feed(
                &format!("<rss><channel><link>https://example.org/{}/</link>", "x".repeat(100_000)),
                "<item><link>a</link>",
                9_999,
                "</item></channel></rss>",
            )
        },
    },
    Hostile {
        name: "a long author over many entries",
        document: || {
            feed(
                &format!("<feed><author><name>{}</name></author>", "x".repeat(100_000)),
                "<entry><id>a</id>",
                9_999,
                "</entry></feed>",
            )
        },
    },
    Hostile { name: "a million empty items", document: || feed(RSS, "<item/>", 1_000_000, "</channel></rss>") },
    Hostile {
        name: "ten thousand tiny items",
        document: || feed(RSS, "<item><link>a", 10_000, "</item></channel></rss>"),
    },
    Hostile {
        name: "ten thousand items that say nothing",
        document: || feed(RSS, "<item><x/>", 10_000, "</item></channel></rss>"),
    },
    Hostile {
        name: "ten thousand tiny entries",
        document: || feed("<feed>", "<entry><id>a", 10_000, "</entry></feed>"),
    },
    Hostile {
        name: "a million named references",
        document: || feed(&format!("{RSS}<item><title>"), "&gl;", 1_000_000, "</title></item></channel></rss>"),
    },
    Hostile {
        name: "a million unknown references",
        document: || feed(&format!("{RSS}<item><title>"), "&x;", 1_000_000, "</title></item></channel></rss>"),
    },
    Hostile {
        name: "a million bare ampersands",
        document: || feed(&format!("{RSS}<item><title>"), "&", 4_000_000, "</title></item></channel></rss>"),
    },
    Hostile {
        name: "a million bare brackets",
        document: || feed(&format!("{RSS}<item><title>"), "< ", 2_000_000, "</title></item></channel></rss>"),
    },
    Hostile {
        name: "billion laughs",
        document: || {
            let mut text = String::from("<!DOCTYPE rss [<!ENTITY a0 'ha'>");
            for level in 1..100 {
                text += &format!("<!ENTITY a{level} '{}'>", format!("&a{};", level - 1).repeat(100));
            }
            feed(&format!("{text}]>{RSS}<item><title>"), "&a99;", 200_000, "</title></item></channel></rss>")
        },
    },
    Hostile {
        name: "a million attributes",
        document: || feed("<rss><channel><item ", "a='b' ", 1_000_000, "><title>t</title></item></channel></rss>"),
    },
    Hostile {
        name: "a million attributes without value",
        document: || feed("<rss><channel><item ", "a ", 2_000_000, "><title>t</title></item></channel></rss>"),
    },
    Hostile {
        name: "a hundred thousand namespaces",
        document: || {
            let declarations: String = (0..100_000).map(|number| format!(" xmlns:n{number}='urn:{number}'")).collect();
            feed(
                &format!("<rss{declarations}><channel>"),
                "<item><zz:a>b</zz:a><title>t</title></item>",
                9_000,
                "</channel></rss>",
            )
        },
    },
    Hostile { name: "tags that never close", document: || feed(RSS, "<a ", 2_000_000, "") },
    Hostile { name: "quotation marks that never close", document: || feed(RSS, "<a b=\"", 1_000_000, "") },
    Hostile { name: "quotation marks of both kinds", document: || feed(RSS, "<a b='\"><c d=\"'>", 300_000, "") },
    Hostile {
        name: "sections that never close",
        document: || feed(&format!("{RSS}<item><title>"), "<![CDATA[</title>", 300_000, "]]>"),
    },
    Hostile { name: "unknown sections", document: || feed(RSS, "<![x[", 1_000_000, "") },
    Hostile { name: "instructions that never close", document: || feed(RSS, "<?x >", 1_000_000, "") },
    Hostile {
        name: "one long title in latin 1",
        document: || {
            [RSS.as_bytes(), b"<item><title>", &vec![0xE9; 5_000_000], b"</title></item></channel></rss>"].concat()
        },
    },
    Hostile {
        name: "one long title in windows-1252",
        document: || {
            [b"\x01<rss><channel><item><title>".as_slice(), &vec![0x80; 4_000_000], b"</title></item></channel></rss>"]
                .concat()
        },
    },
    Hostile {
        name: "one long title in utf-16",
        document: || {
            let text = format!("{RSS}<item><title>{}</title></item></channel></rss>", "日".repeat(2_000_000));
            text.encode_utf16().flat_map(u16::to_le_bytes).collect()
        },
    },
    Hostile {
        name: "bytes that are no utf-8",
        document: || {
            [
                b"<?xml version='1.0' encoding='utf-8'?>".as_slice(),
                RSS.as_bytes(),
                "é".repeat(2_000_000).as_bytes(),
                b"<item><title>",
                &vec![0xFF; 1_500_000],
                b"</title></item></channel></rss>",
            ]
            .concat()
        },
    },
    Hostile { name: "a page of links", document: || feed("<!doctype html>", "<link ", 1_000_000, "") },
    Hostile { name: "a million empty json items", document: || feed(r#"{"items":["#, "{},", 1_000_000, "{}]}") },
    Hostile {
        name: "ten thousand tiny json items",
        document: || feed(r#"{"items":["#, r#"{"id":1},"#, 9_999, r#"{"id":1}]}"#),
    },
    Hostile { name: "nested json lists", document: || feed(r#"{"x":"#, "[", 4_000_000, "") },
    Hostile {
        name: "nested json authors",
        document: || feed(r#"{"items":[{"id":1,"authors":"#, r#"[{"name":"#, 500_000, ""),
    },
];
