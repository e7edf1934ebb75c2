//! Errors of the feed parser, with messages for the operator.

use std::fmt;

use super::LinkedFeed;

/// Why a document could not be read as a feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedError {
    Empty,
    /// More bytes than allowed.
    TooLarge {
        bytes_max: usize,
    },
    /// Elements inside elements inside elements.
    TooDeep {
        /// How many levels are allowed.
        depth_max: usize,
    },
    /// More elements than allowed.
    TooManyNodes {
        nodes_max: usize,
    },
    /// More entries than allowed.
    TooManyEntries {
        entries_max: usize,
    },
    Html {
        /// The feeds it links to.
        feeds: Vec<LinkedFeed>,
    },
    /// JSON, but no JSON Feed.
    Json {
        /// What is wrong with it.
        reason: String,
    },
    /// XML of another kind.
    OtherXml {
        root: String,
    },
    /// Text without any markup.
    PlainText {
        beginning: String,
    },
    /// No text at all.
    Binary,
    /// The document ends before its first complete entry.
    CutOff,
}

/// As many linked feeds as an error text names; there are pages with hundreds.
const NAMED_FEEDS_MAX: usize = 5;

impl std::error::Error for FeedError {}

impl fmt::Display for FeedError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FeedError::Empty => formatter.write_str("the document is empty"),
            FeedError::TooLarge { bytes_max } => write!(formatter, "the feed is larger than {bytes_max} bytes"),
            FeedError::TooDeep { depth_max } => {
                write!(formatter, "the feed's elements are nested more than {depth_max} deep")
            }
            FeedError::TooManyNodes { nodes_max } => write!(formatter, "the feed has more than {nodes_max} elements"),
            FeedError::TooManyEntries { entries_max } => {
                write!(formatter, "the feed has more than {entries_max} entries")
            }
            FeedError::Html { feeds } => write_page(formatter, feeds),
            FeedError::Json { reason } => write!(formatter, "the document is JSON but no JSON Feed: {reason}"),
            FeedError::OtherXml { root } => {
                write!(formatter, "the document is XML but no feed: its first element is <{root}>")
            }
            FeedError::PlainText { beginning } => {
                write!(formatter, "the document is plain text, not a feed: it begins with {beginning:?}")
            }
            FeedError::Binary => formatter.write_str("the document is binary data, not a feed"),
            FeedError::CutOff => formatter.write_str("the feed is cut off before its first complete entry"),
        }
    }
}

fn write_page(formatter: &mut fmt::Formatter<'_>, feeds: &[LinkedFeed]) -> fmt::Result {
    formatter.write_str("the document is a web page, not a feed")?;
    match feeds.len() {
        0 => return formatter.write_str("; it links to no feed"),
        1 => formatter.write_str("; it links to this feed: ")?,
        count => write!(formatter, "; it links to {count} feeds: ")?,
    }
    for (index, feed) in feeds.iter().take(NAMED_FEEDS_MAX).enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        match &feed.title {
            Some(title) => write!(formatter, "{comma}{} ({title})", feed.url)?,
            None => write!(formatter, "{comma}{}", feed.url)?,
        }
    }
    if feeds.len() > NAMED_FEEDS_MAX { formatter.write_str(", …") } else { Ok(()) }
}
