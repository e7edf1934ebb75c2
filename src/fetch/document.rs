//! From an HTTP answer to entries: a feed's, or the one article of a page.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use url::Url;

use crate::clock::Stopwatch;
use crate::http::{self, Reply};
use crate::model::{FailureCause, FailureReport, Hints, NewPost, PostText, SourceType};
use crate::parse::feed::{self, FeedError, LinkedFeed};
use crate::parse::{charset, website};

use super::{Answer, Document, Fetched, Found, Reading, Trace, post};

/// A feed up to this size is read at once, which takes less than a millisecond: another thread would cost it more, in
/// waking and in cold memory, than it keeps others waiting.
const AT_ONCE_BYTES_MAX: usize = 128 * 1024;

/// Reads an answer. What may take milliseconds is done on a thread of its own. A panic ends here in any case.
pub(super) async fn read(reply: Reply, source_type: SourceType) -> Fetched {
    let trace = Trace::of(&reply);
    let fresh_until = reply.caching.fresh_for(reply.answered_at).map(|fresh| reply.answered_at + fresh);
    let (bytes, content_type, wire_bytes) = match reply.content {
        http::Content::NotModified => {
            return Fetched::new(Answer::NotModified { validators: reply.validators, fresh_until }, trace);
        }
        http::Content::Redirect(pending_redirect) => {
            return Fetched::new(Answer::PendingRedirect(pending_redirect), trace);
        }
        http::Content::Body { bytes, content_type, wire_bytes, .. } => (bytes, content_type, wire_bytes),
    };
    let trace = Trace { wire_bytes, body_bytes: bytes.len(), ..trace };
    let url = reply.url;
    let is_small_feed = source_type != SourceType::Website && bytes.len() <= AT_ONCE_BYTES_MAX;
    let reading = move || match source_type {
        SourceType::Website => read_page(&bytes, content_type.as_deref(), &url),
        SourceType::Rss | SourceType::Twitter => read_feed(&bytes, content_type.as_deref(), &url),
    };
    let watch = Stopwatch::start();
    let read = match is_small_feed {
        true => catch_unwind(AssertUnwindSafe(reading)).map_err(|panic| last_words(panic.as_ref())),
        false => tokio::task::spawn_blocking(reading).await.map_err(|panicked| panicked.to_string()),
    };
    let (content, linked_feeds) = read.unwrap_or_else(|panicked| {
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
    Fetched::new(answer, Trace { linked_feeds, reading: Some(watch.elapsed()), ..trace })
}

fn last_words(panic: &(dyn Any + Send)) -> String {
    let literal = panic.downcast_ref::<&str>().map(|words| (*words).to_owned());
    literal.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it said nothing".to_owned())
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
        byline: page.byline,
    };
    let found = Found { post: NewPost::new(text, page.published), number: None };
    (Ok((Hints::default(), vec![found], Document::Page { charset: decoded.charset, title })), feeds)
}
