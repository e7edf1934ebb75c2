//! From an HTTP answer to entries: a feed's, or the one article of a page.

use crate::http::{Content, Reply};
use crate::model::{FailureCause, FailureReport, Hints, NewPost, PostText, SourceType};
use crate::parse::{charset, feed, website};

use super::{Answer, Document, Fetched, Found, Reading, Trace, post};

/// Reads an answer. The work is done on a thread of its own: a page's tree cannot be sent, a large feed takes
/// milliseconds, and a panic ends there.
pub(super) async fn read(reply: Reply, source_type: SourceType) -> Fetched {
    let trace = Trace {
        status: reply.hops.last().and_then(|hop| hop.status),
        moved_to: reply.moved_to().cloned(),
        hops: reply.hops.clone(),
        ..Trace::default()
    };
    let fresh_until = reply.caching.fresh_for(reply.answered_at).map(|fresh| reply.answered_at + fresh);
    let (bytes, content_type, wire_bytes) = match reply.content {
        Content::NotModified => {
            return Fetched { answer: Answer::NotModified { validators: reply.validators, fresh_until }, trace };
        }
        Content::Body { bytes, content_type, wire_bytes } => (bytes, content_type, wire_bytes),
    };
    let trace = Trace { wire_bytes, body_bytes: bytes.len(), ..trace };
    let url = reply.url;
    let reading = tokio::task::spawn_blocking(move || match source_type {
        SourceType::Website => read_page(&bytes, content_type.as_deref(), &url),
        SourceType::Rss | SourceType::Twitter => read_feed(&bytes, content_type.as_deref(), &url),
    });
    let answer = match reading.await {
        Ok(Ok((hints, entries, document))) => Answer::Read(Box::new(Reading {
            validators: reply.validators,
            hints: Hints { fresh_until, ..hints },
            entries,
            document,
        })),
        Ok(Err(error)) => Answer::Failed(FailureReport { cause: FailureCause::Unreadable, error, retry_after: None }),
        Err(panicked) => Answer::Failed(FailureReport {
            cause: FailureCause::Internal,
            error: format!("the answer made its reader panic: {panicked}"),
            retry_after: None,
        }),
    };
    Fetched { answer, trace }
}

type Readable = (Hints, Vec<Found>, Document);

fn read_feed(bytes: &[u8], content_type: Option<&str>, url: &url::Url) -> Result<Readable, String> {
    let read = feed::read(bytes, content_type, Some(url.as_str()), &feed::Limits::default());
    let read = read.map_err(|error| error.to_string())?;
    let hints = Hints {
        update_period_minutes: read.update_period_minutes,
        skip_hours: read.skip_hours,
        skip_days: read.skip_days,
        ..Hints::default()
    };
    let entries = read.entries.iter().filter_map(post::from_entry).map(|post| Found { post, number: None }).collect();
    let title = read.title.as_ref().map(post::plain).filter(|title| !title.is_empty());
    let document = Document::Feed { format: read.format, charset: read.charset, title, notes: read.notes };
    Ok((hints, entries, document))
}

fn read_page(bytes: &[u8], content_type: Option<&str>, url: &url::Url) -> Result<Readable, String> {
    let decoded = charset::decode(bytes, content_type, url.domain().and_then(|domain| domain.rsplit('.').next()));
    let page = website::extract(&decoded.text, Some(url)).map_err(|error| error.to_string())?;
    let title = page.title.clone();
    let text = PostText {
        title: page.title.unwrap_or_else(|| post::heading(&page.text)),
        body: page.text,
        url: Some(page.canonical_url.unwrap_or_else(|| url.clone()).to_string()),
        author: page.author,
    };
    let found = Found { post: NewPost::new(text, page.published), number: None };
    let feeds = feed::linked_feeds(&decoded.text, Some(url));
    let document = Document::Page { charset: decoded.charset, title, feeds };
    Ok((Hints::default(), vec![found], document))
}
