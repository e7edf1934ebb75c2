//! From an HTTP answer to entries: a feed's, or the one article of a page.

use url::Url;

use crate::http::{self, Reply};
use crate::model::{FailureCause, FailureReport, Hints, NewPost, PostText, SourceType};
use crate::parse::feed::{self, FeedError, LinkedFeed};
use crate::parse::{charset, website};

use super::{Answer, Document, Fetched, Found, Reading, Trace, post};

/// Reads an answer. The work is done on a thread of its own: a page's tree cannot be sent, a large feed takes
/// milliseconds, and a panic ends there.
pub(super) async fn read(reply: Reply, source_type: SourceType) -> Fetched {
    let trace = Trace::of(&reply);
    let fresh_until = reply.caching.fresh_for(reply.answered_at).map(|fresh| reply.answered_at + fresh);
    let (bytes, content_type, wire_bytes) = match reply.content {
        http::Content::NotModified => {
            return Fetched::new(Answer::NotModified { validators: reply.validators, fresh_until }, trace);
        }
        http::Content::Redirect(onward) => return Fetched::new(Answer::Onward(onward), trace),
        http::Content::Body { bytes, content_type, wire_bytes, .. } => (bytes, content_type, wire_bytes),
    };
    let trace = Trace { wire_bytes, body_bytes: bytes.len(), ..trace };
    let url = reply.url;
    let reading = tokio::task::spawn_blocking(move || match source_type {
        SourceType::Website => read_page(&bytes, content_type.as_deref(), &url),
        SourceType::Rss | SourceType::Twitter => read_feed(&bytes, content_type.as_deref(), &url),
    });
    let (content, linked_feeds) = reading.await.unwrap_or_else(|panicked| {
        let error = format!("the answer made its reader panic: {panicked}");
        (Err((FailureCause::Internal, error)), Vec::new())
    });
    let answer = match content {
        Ok((hints, entries, document)) => Answer::Read(Box::new(Reading {
            validators: reply.validators,
            hints: Hints { fresh_until, ..hints },
            entries,
            newest_number: None,
            document,
        })),
        Err((cause, error)) => Answer::Failed(FailureReport { cause, error, retry_after: None }),
    };
    Fetched::new(answer, Trace { linked_feeds, ..trace })
}

/// What a document held, or why nothing could be made of it.
type Content = Result<(Hints, Vec<Found>, Document), (FailureCause, String)>;

fn read_feed(bytes: &[u8], content_type: Option<&str>, url: &Url) -> (Content, Vec<LinkedFeed>) {
    let read = match feed::read(bytes, content_type, Some(url.as_str()), &feed::Limits::default()) {
        Ok(read) => read,
        Err(error) => {
            let text = error.to_string();
            let feeds = if let FeedError::Html { feeds } = error { feeds } else { Vec::new() };
            return (Err((FailureCause::Unreadable, text)), feeds);
        }
    };
    let hints = Hints {
        update_period_minutes: read.update_period_minutes,
        skip_hours: read.skip_hours,
        skip_days: read.skip_days,
        ..Hints::default()
    };
    let entries = read.entries.iter().filter_map(post::from_entry).map(|post| Found { post, number: None }).collect();
    let title = read.title.as_ref().map(post::plain).filter(|title| !title.is_empty());
    let document = Document::Feed { format: read.format, charset: read.charset, title, notes: read.notes };
    (Ok((hints, entries, document)), Vec::new())
}

fn read_page(bytes: &[u8], content_type: Option<&str>, url: &Url) -> (Content, Vec<LinkedFeed>) {
    let decoded = charset::decode(bytes, content_type, url.domain().and_then(|domain| domain.rsplit('.').next()));
    let feeds = feed::linked_feeds(&decoded.text, Some(url));
    let page = match website::extract(&decoded.text, Some(url)) {
        Ok(page) => page,
        Err(error) => return (Err((FailureCause::Unreadable, error.to_string())), feeds),
    };
    let title = page.title.clone();
    let text = PostText {
        title: page.title.unwrap_or_else(|| post::heading(&page.text)),
        body: page.text,
        url: Some(page.canonical_url.unwrap_or_else(|| url.clone()).to_string()),
        author: page.author,
    };
    let found = Found { post: NewPost::new(text, page.published), number: None };
    (Ok((Hints::default(), vec![found], Document::Page { charset: decoded.charset, title })), feeds)
}
