//! Parses a feed of any format, also if damaged, into the fields that a post needs.
//!
//! [`read`] is a pure function of bytes. Texts keep their HTML; `fetch` converts them into
//! posts.

mod attributes;
mod author;
mod declared;
mod details;
mod discovery;
mod document;
mod draft;
mod element;
mod error;
mod field;
mod json;
mod link;
mod mixed;
mod root;
mod schedule;
mod wrapped;

use std::fmt;
use std::sync::Arc;

use url::Url;

use super::{charset, control, date};
use crate::model::{HubLinks, Timestamp};
pub use details::{Details, EntryEnclosure};
pub use discovery::{LinkedFeed, linked_feeds};
pub use error::FeedError;

/// A feed as its publisher wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    pub format: Format,
    /// Detected charset.
    pub charset: &'static str,
    pub title: Option<Text>,
    /// URL of the website.
    pub link: Option<Box<str>>,
    /// Language tag as the publisher wrote it.
    pub language: Option<Arc<str>>,
    /// Absolute URL of a document with older entries (RFC 5005 `prev-archive`, JSON Feed `next_url`).
    pub next_archive: Option<Box<str>>,
    /// Links to hubs and to itself, absolute.
    pub hub_links: HubLinks,
    /// Its entries, in the order of the document.
    pub entries: Vec<Entry>,
    /// Minimum interval between changes (`ttl`, `sy:updatePeriod`; the longer of the two).
    pub update_period_minutes: Option<u32>,
    /// Hours of the day, in universal time, in which it asks not to be polled: bit 0 is midnight.
    pub skip_hours: u32,
    /// Days of the week in which it asks not to be polled: bit 0 is Monday.
    pub skip_days: u8,
    /// Repairs; each at most once.
    pub notes: Vec<Note>,
}

/// One entry of a feed. Everything may be missing; [`Entry::is_blank`] tells when nothing is left to show.
///
/// The texts are boxed because they never grow and a feed may have thousands of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Id given by the publisher.
    pub id: Option<Box<str>>,
    pub title: Option<Text>,
    /// URL; absolute if possible.
    pub url: Option<Box<str>>,
    /// When it was published.
    pub published: Option<Timestamp>,
    /// When it was last changed.
    pub updated: Option<Timestamp>,
    /// The first of [`Details::authors`].
    pub author: Option<Arc<str>>,
    /// Summary, or the only text.
    pub summary: Option<Text>,
    pub content: Option<Text>,
    /// Authors, categories, enclosures and the like. An entry dereferences to them: `entry.categories`.
    pub details: Option<Arc<Details>>,
}

/// A text as it was found, its references decoded once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    pub value: Box<str>,
    /// How to read them.
    pub kind: TextKind,
}

/// How a text is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// As it stands: a `<` is a `<`.
    Plain,
    /// As HTML. RSS does not say, so this is also what is assumed there.
    Html,
}

/// The formats that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// RSS 0.90, the first one, in RDF.
    Rss090,
    /// RSS 0.91.
    Rss091,
    /// RSS 0.92.
    Rss092,
    /// RSS 0.93.
    Rss093,
    /// RSS 0.94.
    Rss094,
    /// RSS 1.0, in RDF.
    Rss10,
    /// RSS 2.0.
    Rss20,
    /// RSS of a version that it does not say or that does not exist.
    RssUnknown,
    /// Atom 0.3.
    Atom03,
    /// Atom 1.0.
    Atom10,
    /// JSON Feed 1.0.
    JsonFeed10,
    /// JSON Feed 1.1.
    JsonFeed11,
}

/// A repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Another charset was announced than the one the bytes are in.
    CharsetRefuted { announced: &'static str },
    /// Some bytes are invalid in the feed's charset.
    BytesReplaced,
    /// Data before the document was ignored.
    JunkSkipped,
    /// Tags were unclosed, misplaced or misspelt.
    MarkupRepaired,
    /// The document ends too early; its complete entries were kept.
    CutOff,
    /// Links were left relative, because making them absolute would have multiplied the document.
    LinksLeftRelative,
}

/// Limits. A feed that exceeds one is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the document.
    pub bytes_max: usize,
    pub depth_max: usize,
    pub nodes_max: usize,
    pub entries_max: usize,
    /// The last year that a year of two digits can mean; give the next year here. The default is the one of RFC 2822.
    pub year_max: i16,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            bytes_max: 32 << 20,
            depth_max: 200,
            nodes_max: 1_000_000,
            entries_max: 10_000,
            year_max: date::YEAR_MAX,
        }
    }
}

/// Reads a feed. `content_type` is the HTTP header of that name, `base_url` the address that the bytes came from.
pub fn read(
    bytes: &[u8],
    content_type: Option<&str>,
    base_url: Option<&str>,
    limits: &Limits,
) -> Result<Feed, FeedError> {
    if bytes.len() > limits.bytes_max {
        return Err(FeedError::TooLarge { bytes_max: limits.bytes_max });
    }
    let base = base_url.and_then(|base| Url::parse(base).ok());
    let top_level_domain = base.as_ref().and_then(Url::domain).and_then(|domain| domain.rsplit('.').next());
    let decoded = charset::decode(bytes, content_type, top_level_domain);
    let cleaned = control::without_forbidden(&decoded.text);
    let text = cleaned.trim_start_matches(|first: char| first.is_whitespace() || first == '\u{feff}');
    if text.is_empty() {
        return Err(FeedError::Empty);
    }
    let mut feed = match read_text(text, base.as_ref(), limits) {
        Err(FeedError::PlainText { .. } | FeedError::OtherXml { .. }) if is_binary(&decoded.text) => {
            return Err(FeedError::Binary);
        }
        outcome => outcome?,
    };
    feed.charset = decoded.charset;
    if decoded.has_replacements {
        feed.notes.insert(0, Note::BytesReplaced);
    }
    if let Some(announced) = decoded.refuted {
        feed.notes.insert(0, Note::CharsetRefuted { announced });
    }
    Ok(feed)
}

/// Reads text as JSON or as XML, by how it begins.
fn read_text(text: &str, base: Option<&Url>, limits: &Limits) -> Result<Feed, FeedError> {
    if !text.starts_with(['{', '[']) {
        return document::read(text, base, limits);
    }
    match json::read(text, base, limits) {
        // `[Warning] …` before an XML document begins like JSON too.
        Err(error @ FeedError::Json { .. }) => document::read(text, base, limits).map_err(|_| error),
        outcome => outcome,
    }
}

/// True if a text is more than a tenth control characters, as no text is.
fn is_binary(text: &str) -> bool {
    let (mut controls, mut all) = (0_usize, 0_usize);
    for character in text.chars().take(1024) {
        all += 1;
        controls += usize::from(
            character == char::REPLACEMENT_CHARACTER || character.is_control() && !character.is_whitespace(),
        );
    }
    controls * 10 > all
}

impl Feed {
    fn new(format: Format) -> Feed {
        Feed {
            format,
            charset: "UTF-8",
            title: None,
            link: None,
            language: None,
            next_archive: None,
            hub_links: HubLinks::default(),
            entries: Vec::new(),
            update_period_minutes: None,
            skip_hours: 0,
            skip_days: 0,
            notes: Vec::new(),
        }
    }

    /// Adds an entry, which shares its details with the one before it if they are equal.
    fn push(&mut self, mut entry: Entry) {
        if let Some(last) = self.entries.last().filter(|last| last.details == entry.details) {
            entry.details.clone_from(&last.details);
        }
        self.entries.push(entry);
    }
}

impl Entry {
    /// True if there is nothing in it that a post could be made of: no title, no text, no link.
    pub fn is_blank(&self) -> bool {
        self.title.is_none() && self.url.is_none() && self.summary.is_none() && self.content.is_none()
    }
}

impl Format {
    /// True for both versions of Atom, whose entries inherit the feed's author.
    const fn is_atom(self) -> bool {
        matches!(self, Format::Atom03 | Format::Atom10)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Format::Rss090 => "RSS 0.90",
            Format::Rss091 => "RSS 0.91",
            Format::Rss092 => "RSS 0.92",
            Format::Rss093 => "RSS 0.93",
            Format::Rss094 => "RSS 0.94",
            Format::Rss10 => "RSS 1.0",
            Format::Rss20 => "RSS 2.0",
            Format::RssUnknown => "RSS",
            Format::Atom03 => "Atom 0.3",
            Format::Atom10 => "Atom 1.0",
            Format::JsonFeed10 => "JSON Feed 1.0",
            Format::JsonFeed11 => "JSON Feed 1.1",
        })
    }
}

impl fmt::Display for Note {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::CharsetRefuted { announced } => write!(formatter, "announced as {announced}, which it is not"),
            Note::BytesReplaced => formatter.write_str("some bytes mean nothing in its charset"),
            Note::JunkSkipped => formatter.write_str("something stood before the document"),
            Note::MarkupRepaired => formatter.write_str("its markup had to be repaired"),
            Note::CutOff => formatter.write_str("it is cut off; the complete entries were kept"),
            Note::LinksLeftRelative => formatter.write_str("some links were left relative"),
        }
    }
}
