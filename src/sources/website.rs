//! Web pages whose article is followed.
//!
//! The source URL is any http or https URL, asked at its own host, if the robots.txt of the site allows it. One
//! conditional GET reads it. The page is one entry, whose dates say nothing about whether it is new: only its content
//! does (s704).

use std::time::Duration;

use super::{Polling, Preparation, SourceKind};
use crate::fetch::{Document, DocumentContent, DocumentReader, ReadDocument, ReceivedDocument, post};
use crate::model::{Hints, HubLinks, NewPost, PostContent, TextOrigin, Watermark};
use crate::parse::{charset, feed, website};

pub(super) struct Website;

impl SourceKind for Website {
    fn preparation(&self) -> Preparation {
        Preparation::RobotsTxt
    }

    /// Finding the article of a page takes milliseconds, so it never happens on the thread of the request.
    fn polling(&self) -> Polling {
        Polling::Document(DocumentReader { read, at_once_bytes_max: 0 })
    }

    fn watermark(&self) -> Watermark {
        Watermark::None
    }

    fn default_delay(&self) -> Duration {
        Duration::from_secs(2)
    }
}

fn read(received: &ReceivedDocument<'_>) -> ReadDocument {
    let ReceivedDocument { bytes, content_type, url, .. } = *received;
    let decoded = charset::decode(bytes, content_type, url.domain().and_then(|domain| domain.rsplit('.').next()));
    let linked_feeds = feed::linked_feeds(&decoded.text, Some(url));
    let page = match website::extract(&decoded.text, Some(url)) {
        Ok(page) => page,
        Err(error) => return ReadDocument { content: Err(error.to_string()), linked_feeds },
    };
    let title = page.title.clone();
    let content = PostContent {
        title: page.title.unwrap_or_else(|| post::heading(&page.text)),
        text: page.lines,
        html: Some(page.html).filter(|html| !html.is_empty()),
        url: Some(page.canonical_url.unwrap_or_else(|| url.clone()).to_string()),
        author: page.author,
        byline: page.byline,
        text_origin: TextOrigin::Page,
        ..PostContent::default()
    };
    let entries = vec![NewPost::of_page(content, page.published)];
    let document = Document::Page { charset: decoded.charset, title };
    ReadDocument {
        content: Ok(DocumentContent {
            hints: Hints::default(),
            entries,
            blank: 0,
            hub_links: HubLinks::default(),
            document,
        }),
        linked_feeds,
    }
}
