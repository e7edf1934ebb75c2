//! OPML, the exchange format of feed readers. Uses `model` and `parse`.
//!
//! [`Reader`] parses a list of any length in bounded memory, and continues after
//! every unusable entry. [`write()`] writes a list.

mod bytes;
mod outline;
mod reader;
mod writer;

use std::fmt;
use std::io;

use crate::model::SourceType;

pub use reader::Reader;
pub use writer::write;

/// Type of the sources in a list: other feed readers know only feeds.
pub const SOURCE_TYPE: SourceType = SourceType::Rss;
/// Maximum number of sources in a list.
pub const OUTLINES_MAX: usize = 250_000;
/// Maximum depth of folders that become labels.
const DEPTH_MAX: usize = 16;

/// One source of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    pub title: Option<String>,
    /// URL of the feed: http or https.
    pub feed_url: String,
    /// URL of the website.
    pub site_url: Option<String>,
    /// Folders, outermost first.
    pub labels: Vec<String>,
    /// First line in the list, from one; ignored when writing.
    pub line: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadOutline {
    /// First line, from one.
    pub line: u64,
    pub why: Why,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The same feed is in the list already.
    Duplicate {
        /// The line of the first one.
        first_line: u64,
    },
    /// A feed without a URL.
    NoUrl,
    /// A name without a URL or children.
    Empty(String),
    /// The name of a folder is too long for a label; its beginning is used.
    NameCut(String),
    /// The URL is invalid.
    BadUrl(&'static str),
    TooDeep,
    /// Too many sources; the rest is skipped.
    TooMany,
    /// The document is damaged here; parsing continued.
    Damaged,
    /// The document is cut off; the part before was parsed.
    CutOff,
    /// Read error; the part before was parsed.
    Unreadable(String),
}

#[derive(Debug, thiserror::Error)]
pub enum OpmlError {
    #[error("the list cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    #[error("not an OPML document: {0}")]
    NotOpml(String),
}

impl fmt::Display for BadOutline {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.why)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Duplicate { first_line } => write!(formatter, "the same feed as in line {first_line}"),
            Why::NoUrl => write!(formatter, "a feed without a URL"),
            Why::Empty(name) => write!(formatter, "{name:?} has neither a URL nor anything inside"),
            Why::NameCut(name) => write!(formatter, "the folder's name is too long, and cut to {name:?}"),
            Why::BadUrl(reason) => write!(formatter, "the feed's URL cannot be used: {reason}"),
            Why::TooDeep => write!(formatter, "inside of more than {DEPTH_MAX} folders"),
            Why::TooMany => write!(formatter, "more than {OUTLINES_MAX} feeds; the rest is left out"),
            Why::Damaged => write!(formatter, "the document is damaged here"),
            Why::CutOff => write!(formatter, "the document ends early"),
            Why::Unreadable(error) => write!(formatter, "the rest cannot be read: {error}"),
        }
    }
}
