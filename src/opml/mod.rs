//! OPML: lists of sources from and for other readers. Uses `model` and `parse`; knows nothing of stores.
//!
//! [`Reader`] takes a list of any length from any reader of bytes, holds a small part of it at a time, and goes on after
//! every entry that cannot be used. [`write()`] writes a list that any other reader takes.

mod bytes;
mod outline;
mod reader;
mod writer;

use std::fmt;
use std::io;

pub use reader::Reader;
pub use writer::write;

/// More sources than this in one list are not read.
pub const OUTLINES_MAX: usize = 250_000;
/// Folders within folders, as far as they become labels.
const DEPTH_MAX: usize = 16;

/// One source of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// What a person calls it.
    pub title: Option<String>,
    /// Where its feed is: http or https.
    pub feed_url: String,
    /// Where its pages are.
    pub site_url: Option<String>,
    /// The folders that it is in, the outermost first.
    pub labels: Vec<String>,
    /// The line of the list that it begins in, from one; of no meaning for writing.
    pub line: u64,
}

/// Something in a list that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadOutline {
    /// The line that it begins in, from one.
    pub line: u64,
    /// What is wrong.
    pub why: Why,
}

/// What is wrong with a part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The same feed is in the list already.
    Duplicate {
        /// The line of the first one.
        first_line: u64,
    },
    /// It says that it is a feed, and not where.
    NoUrl,
    /// It has a name, and neither a URL nor anything inside.
    Empty(String),
    /// The name of a folder is too long for a label; its beginning is used.
    NameCut(String),
    /// Where it says that the feed is, there can be none.
    BadUrl(&'static str),
    /// It is inside of too many folders.
    TooDeep,
    /// There are more sources than are read; the rest is left out.
    TooMany,
    /// The document is damaged here; what follows was read as a person would.
    Damaged,
    /// The document ends early; what stands before was read.
    CutOff,
    /// The bytes cannot be had; what stands before was read.
    Unreadable(String),
}

/// Why something is no list at all.
#[derive(Debug, thiserror::Error)]
pub enum OpmlError {
    /// The bytes cannot be had.
    #[error("the list cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// It is something else.
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
