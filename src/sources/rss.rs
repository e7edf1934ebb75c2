//! Feeds: RSS, Atom, RDF and JSON Feed.
//!
//! The source URL is any http or https URL, asked at its own host without preparation, since a person subscribed to it.
//! One conditional GET reads it. Entries are told apart by their time of publication.

use super::{Polling, SourceKind};
use crate::fetch::{Document, DocumentContent, DocumentReader, ReadDocument, ReceivedDocument, post};
use crate::model::{Hints, NewPost, Watermark};
use crate::parse::feed::{self, FeedError};

/// A feed up to this size is read on the thread of its request, which takes less than a millisecond: another thread
/// would cost it more, in waking and in cold memory, than it keeps others waiting.
const AT_ONCE_BYTES_MAX: usize = 128 * 1024;

pub(super) struct Rss;

impl SourceKind for Rss {
    fn polling(&self) -> Polling {
        Polling::Document(DocumentReader { read, at_once_bytes_max: AT_ONCE_BYTES_MAX })
    }

    fn watermark(&self) -> Watermark {
        Watermark::Published
    }
}

fn read(received: &ReceivedDocument<'_>) -> ReadDocument {
    let ReceivedDocument { bytes, content_type, url, answered_at, keeps_html } = *received;
    // A year of two digits is not years ahead.
    let limits = feed::Limits { year_max: answered_at.year() + 1, ..feed::Limits::default() };
    let read = match feed::read(bytes, content_type, Some(url.as_str()), &limits) {
        Ok(read) => read,
        Err(error) => {
            let text = error.to_string();
            let linked_feeds = if let FeedError::Html { feeds } = error { feeds } else { Vec::new() };
            return ReadDocument { content: Err(text), linked_feeds };
        }
    };
    let hints = Hints {
        update_period_minutes: read.update_period_minutes,
        skip_hours: read.skip_hours,
        skip_days: read.skip_days,
        ..Hints::default()
    };
    let listed = read.entries.len();
    let entries: Vec<NewPost> =
        read.entries.into_iter().filter_map(|entry| post::from_entry(entry, keeps_html)).collect();
    let blank = listed - entries.len();
    let title = read.title.as_ref().map(post::plain).filter(|title| !title.is_empty());
    let next_archive = read.next_archive.map(String::from);
    let hub_links = read.hub_links;
    let document =
        Document::Feed { format: read.format, charset: read.charset, title, next_archive, notes: read.notes };
    ReadDocument {
        content: Ok(DocumentContent { hints, entries, blank, hub_links, document }),
        linked_feeds: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use url::Url;

    #[test]
    fn a_two_digit_year_is_read_by_the_time_of_the_answer() {
        let url = Url::parse("http://a.example/feed").unwrap();
        let published = |date: &str| {
            let text = format!("<rss><channel><item><title>x</title><pubDate>{date}</pubDate></item></channel></rss>");
            let answered_at = "2026-11-17T08:00:00Z".parse().unwrap();
            let bytes = text.as_bytes();
            let received = ReceivedDocument { bytes, content_type: None, url: &url, answered_at, keeps_html: true };
            let read = read(&received).content.ok().unwrap();
            read.entries[0].published_at().map(|date| date.to_string())
        };
        assert_eq!(published("16 Nov 26 08:00:00 GMT").as_deref(), Some("2026-11-16T08:00:00Z"));
        assert_eq!(published("16 Nov 32 08:00:00 GMT").as_deref(), Some("1932-11-16T08:00:00Z"));
        assert_eq!(published("16 Nov 99 08:00:00 GMT").as_deref(), Some("1999-11-16T08:00:00Z"));
    }
}
