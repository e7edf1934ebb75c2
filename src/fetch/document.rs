//! The poll of a source that is one document: request, answer, and reading it on the right thread.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use url::Url;

use crate::clock::Stopwatch;
use crate::http::{self, Credentials, Reply, Request};
use crate::model::{FailureCause, FailureReport, FeedLinks, Hints, HubLinks, NewPost, Timestamp};
use crate::parse::feed::LinkedFeed;
use crate::parse::link_header::hub_links;

use super::{Answer, Document, Fetched, Fetcher, Reading, Task, Trace};

/// How the documents of a type are read.
#[derive(Clone, Copy)]
pub struct DocumentReader {
    /// Reads a document. It may panic.
    pub read: fn(&ReceivedDocument<'_>) -> ReadDocument,
    /// Documents up to this size are read on the thread of the request, larger ones on a blocking thread: reading must
    /// not keep other requests waiting for milliseconds.
    pub at_once_bytes_max: usize,
}

/// A document as it was received.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedDocument<'a> {
    pub bytes: &'a [u8],
    pub content_type: Option<&'a str>,
    /// Where it came from.
    pub url: &'a Url,
    pub answered_at: Timestamp,
    /// Whether the HTML of its entries is wanted.
    pub keeps_html: bool,
}

/// What reading a document came to.
pub struct ReadDocument {
    /// What was in it, or why it cannot be read.
    pub content: Result<DocumentContent, String>,
    /// The feeds that it links to, where it is a web page.
    pub linked_feeds: Vec<LinkedFeed>,
}

/// What was in a document.
pub struct DocumentContent {
    /// What it says about coming back.
    pub hints: Hints,
    /// Everything in it that can become a post, in the publisher's order.
    pub entries: Vec<NewPost>,
    /// Number of entries that say nothing that can be shown.
    pub blank: usize,
    /// Its links to hubs and to itself.
    pub hub_links: HubLinks,
    /// What it is.
    pub document: Document,
}

impl Fetcher {
    /// Polls a source that is one document: a conditional GET of its URL, whose answer is read. A panic of the reader
    /// becomes a failure.
    pub async fn document(&self, task: &Task, reader: DocumentReader) -> Fetched {
        let mut request = Request::new(task.settings.url.as_str());
        request.validators = task.validators.clone();
        request.keep_alive = task.keep_alive;
        request.follows = task.follows;
        request.pending_redirect = task.pending_redirect.clone();
        request.time_used = task.time_used;
        request.headers = task.access.headers.clone();
        request.user_agent = task.settings.user_agent.clone();
        request.proxy = task.settings.proxy.clone();
        let login = task.access.login.clone();
        request.credentials = login.map(|(name, password)| Credentials::Basic { name, password });
        match self.client.send(&request).await {
            Ok(reply) => read(reply, reader, task.keeps_html).await,
            Err(failure) => {
                let report = failure.report.clone();
                Fetched::new(Answer::Failed(report), Trace::of_failure(failure))
            }
        }
    }
}

async fn read(reply: Reply, reader: DocumentReader, keeps_html: bool) -> Fetched {
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
    let header: Vec<String> = reply.headers.all("link").collect();
    let header = hub_links(header.iter().map(String::as_str), &url);
    let is_small = bytes.len() <= reader.at_once_bytes_max;
    let answered_at = reply.answered_at;
    let memory = reply.memory;
    let reading = move || {
        let content_type = content_type.as_deref();
        let read = (reader.read)(&ReceivedDocument { bytes: &bytes, content_type, url: &url, answered_at, keeps_html });
        drop((bytes, memory));
        read
    };
    let watch = Stopwatch::start();
    let read = match is_small {
        true => catch_unwind(AssertUnwindSafe(reading)).map_err(|panic| last_words(panic.as_ref())),
        false => tokio::task::spawn_blocking(reading).await.map_err(|panicked| panicked.to_string()),
    };
    let (answer, linked_feeds) = match read {
        Ok(ReadDocument {
            content: Ok(DocumentContent { hints, entries, blank, hub_links, document }),
            linked_feeds,
        }) => {
            let reading = Reading {
                validators: reply.validators,
                hints: Hints { fresh_until, ..hints },
                entries,
                blank,
                title: document.title().map(str::to_owned),
                newest_number: None,
                links: FeedLinks { header, document: hub_links },
                document,
            };
            (Answer::Read(Box::new(reading)), linked_feeds)
        }
        Ok(ReadDocument { content: Err(error), linked_feeds }) => {
            (failed(FailureCause::Unreadable, error), linked_feeds)
        }
        Err(panicked) => {
            let error = format!("the answer made its reader panic: {panicked}");
            (failed(FailureCause::Internal, error), Vec::new())
        }
    };
    Fetched::new(answer, Trace { linked_feeds, reading: Some(watch.elapsed()), ..trace })
}

fn failed(cause: FailureCause, error: String) -> Answer {
    Answer::Failed(FailureReport { cause, error, retry_after: None })
}

fn last_words(panic: &(dyn Any + Send)) -> String {
    let literal = panic.downcast_ref::<&str>().map(|words| (*words).to_owned());
    literal.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it said nothing".to_owned())
}
