//! `feedwarden parse` and `feedwarden extract`: parse documents in files.

use std::fs::File;
use std::io::{self, BufRead, IsTerminal, Read};
use std::path::Path;

use serde_json::{Value, json};
use url::Url;

use super::arguments::{Documents, Extract, Parse};
use super::sanitize::{cut, plain};
use super::times::localized;
use super::{Exit, complain, print};
use crate::clock::{Clock, SystemClock};
use crate::parse::feed::{self, Entry, EntryEnclosure, Limits, Text};
use crate::parse::{charset, website};

struct InputDocument {
    bytes: Vec<u8>,
    content_type: Option<String>,
    url: Option<String>,
}

/// Functions for one type of document.
struct Sort {
    /// Parses a document into JSON fields.
    read: fn(&InputDocument) -> Result<Value, String>,
    /// JSON fields of a document that could not be parsed.
    blank: fn() -> Value,
    /// Formats the fields as text.
    for_people: fn(&Value) -> String,
}

const FEED: Sort =
    Sort { read: read_feed, blank: || json!({ "title": null, "entries": [] }), for_people: feed_for_people };

const PAGE: Sort = Sort {
    read: read_page,
    blank: || json!({ "title": null, "author": null, "byline": null, "published": null, "text": null }),
    for_people: page_for_people,
};

pub(super) fn parse(arguments: &Parse) -> Exit {
    run(&arguments.documents, arguments.base.as_deref(), &FEED)
}

pub(super) fn extract(arguments: &Extract) -> Exit {
    run(&arguments.documents, arguments.url.as_deref(), &PAGE)
}

fn run(documents: &Documents, url: Option<&str>, sort: &Sort) -> Exit {
    if documents.ndjson {
        return answer_lines(sort);
    }
    let for_programs = documents.json || !io::stdout().is_terminal();
    let mut exit = Exit::Success;
    for file in &documents.files {
        let answer = sort.answer(file, documents.content_type.clone(), url.map(str::to_owned));
        if answer["ok"] != true {
            exit = Exit::Failure;
        }
        let text = match answer["error"].as_str() {
            _ if for_programs => format!("{answer}\n"),
            Some(error) => format!("{}: {error}\n", file.display()),
            None => format!("{}: {}", file.display(), (sort.for_people)(&answer)),
        };
        if print(&text) != Exit::Success {
            return Exit::Failure;
        }
    }
    exit
}

/// Answers every line of standard input with one line, flushed at once, for interactive use by programs.
fn answer_lines(sort: &Sort) -> Exit {
    for line in io::stdin().lock().lines() {
        let line = match line {
            Ok(line) => line,
            Err(error) => {
                complain(&format_args!("standard input cannot be read: {error}"));
                return Exit::Failure;
            }
        };
        let mut fields = line.split('\t');
        let path = fields.next().unwrap_or_default();
        let mut field = || fields.next().filter(|field| !field.is_empty()).map(str::to_owned);
        let answer = sort.answer(Path::new(path), field(), field());
        if print(&format!("{answer}\n")) != Exit::Success {
            return Exit::Failure;
        }
    }
    Exit::Success
}

impl Sort {
    /// One JSON object per file, also for errors.
    fn answer(&self, path: &Path, content_type: Option<String>, url: Option<String>) -> Value {
        let read = read_file(path).map_err(|error| format!("it cannot be read: {error}"));
        let fields = read.and_then(|bytes| (self.read)(&InputDocument { bytes, content_type, url }));
        let error = fields.as_ref().err().cloned();
        let mut answer = fields.unwrap_or_else(|_| (self.blank)());
        answer["file"] = path.display().to_string().into();
        answer["ok"] = error.is_none().into();
        answer["error"] = error.into();
        answer
    }
}

/// Reads a file up to the maximum size of the parsers.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let limit = Limits::default().bytes_max as u64 + 1;
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::stdin().lock().take(limit).read_to_end(&mut bytes)?;
    } else {
        File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

fn read_feed(document: &InputDocument) -> Result<Value, String> {
    let InputDocument { bytes, content_type, url } = document;
    // Years of two digits are not ahead.
    let limits = Limits { year_max: SystemClock.now().year() + 1, ..Limits::default() };
    let feed = feed::read(bytes, content_type.as_deref(), url.as_deref(), &limits);
    let feed = feed.map_err(|error| error.to_string())?;
    Ok(json!({
        "title": text(feed.title.as_ref()),
        "format": feed.format.to_string(),
        "charset": feed.charset,
        "entries": feed.entries.iter().map(entry).collect::<Vec<_>>(),
    }))
}

fn entry(entry: &Entry) -> Value {
    json!({
        "id": entry.id,
        "title": text(entry.title.as_ref()),
        "url": entry.url,
        "published": entry.published,
        "updated": entry.updated,
        "author": entry.author.as_deref(),
        "summary": text(entry.summary.as_ref()),
        "content": text(entry.content.as_ref()),
        "authors": entry.authors.iter().map(|author| &**author).collect::<Vec<_>>(),
        "categories": entry.categories.iter().map(|category| &**category).collect::<Vec<_>>(),
        "enclosures": entry.enclosures.iter().map(enclosure).collect::<Vec<_>>(),
        "image_url": entry.image_url.as_deref(),
        "comments_url": entry.comments_url.as_deref(),
        "language": entry.language.as_deref(),
    })
}

fn enclosure(enclosure: &EntryEnclosure) -> Value {
    json!({
        "url": enclosure.url,
        "media_type": enclosure.media_type,
        "length": enclosure.length,
        "duration_seconds": enclosure.duration_seconds,
        "title": enclosure.title,
    })
}

fn text(text: Option<&Text>) -> Option<&str> {
    text.map(|text| &*text.value)
}

fn read_page(document: &InputDocument) -> Result<Value, String> {
    let url = document.url.as_deref().and_then(|url| Url::parse(url).ok());
    let domain = url.as_ref().and_then(Url::domain).and_then(|domain| domain.rsplit('.').next());
    let decoded = charset::decode(&document.bytes, document.content_type.as_deref(), domain);
    let page = website::extract(&decoded.text, url.as_ref()).map_err(|error| error.to_string())?;
    Ok(json!({
        "title": page.title,
        "author": page.author,
        "byline": page.byline,
        "published": page.published,
        "url": page.canonical_url.map(String::from),
        "text": page.text,
        "lines": page.lines,
        "html": page.html,
    }))
}

fn feed_for_people(answer: &Value) -> String {
    let entries = answer["entries"].as_array().map_or(&[][..], Vec::as_slice);
    let title = answer["title"].as_str().unwrap_or("without a title");
    let kind = answer["format"].as_str().unwrap_or_default();
    let mut lines = format!("{title} ({kind}, {} entries)\n", entries.len());
    for entry in entries {
        let field = |name: &str| entry[name].as_str();
        let date = field("published").or(field("updated")).map_or_else(|| "undated".to_owned(), localized);
        let words = field("title").or(field("summary")).or(field("content")).or(field("url")).unwrap_or("blank");
        let words = cut(&plain(&crate::parse::text::from_html(words)), 80);
        lines.push_str(&format!("  {date:<23}  {words}\n"));
    }
    lines
}

fn page_for_people(answer: &Value) -> String {
    let field = |name: &str| answer[name].as_str();
    let by = field("byline").or(field("author")).map_or_else(String::new, |author| format!(", by {author}"));
    let on = field("published").map_or_else(String::new, |published| format!(", {published}"));
    let title = field("title").unwrap_or("without a title");
    format!("{title}{by}{on}\n\n{}\n\n", field("text").unwrap_or_default())
}
