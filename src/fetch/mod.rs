//! One poll without storing anything: asks the publisher, reads the answer, and hands over what was found.
//!
//! Uses `model`, `http` and `parse`. What becomes of the answer is decided in `rules`; nothing here counts, filters or
//! remembers.

mod document;
mod post;

use url::Url;

use crate::http::{Client, Hop, Request};
use crate::model::{
    FailureCause, FailureReport, Hints, LastSeen, NewPost, SourceSettings, SourceType, Timestamp, Validators,
};
use crate::parse::feed::{Format, LinkedFeed, Note};

/// Polls sources of every type. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct Fetcher {
    client: Client,
}

/// What is to be polled, and what earlier polls left behind for this one.
#[derive(Clone, Debug)]
pub struct Task {
    /// What a person said about the source.
    pub settings: SourceSettings,
    /// What to ask "anything new?" with.
    pub validators: Validators,
    /// How far its entries were seen.
    pub last_seen: Option<LastSeen>,
    /// Whether more is wanted from the same host soon.
    pub keep_alive: bool,
}

impl Task {
    /// A first poll of a source.
    pub fn new(settings: SourceSettings) -> Task {
        Task { settings, validators: Validators::default(), last_seen: None, keep_alive: false }
    }
}

/// How a poll went.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// What the publisher said.
    pub answer: Answer,
    /// How it was got.
    pub trace: Trace,
}

/// What the publisher said.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Entries.
    Read(Box<Reading>),
    /// Nothing new.
    NotModified {
        /// Those that came with it.
        validators: Validators,
        /// How long it says that this stays so.
        fresh_until: Option<Timestamp>,
    },
    /// Nothing that can be used.
    Failed(FailureReport),
}

/// What was read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// What to ask with next time.
    pub validators: Validators,
    /// What the answer and the feed in it said about coming back.
    pub hints: Hints,
    /// Everything that can become a post, in the publisher's order.
    pub entries: Vec<Found>,
    /// What it was read from.
    pub document: Document,
}

/// An entry that can become a post.
#[derive(Clone, Debug)]
pub struct Found {
    /// The post it would become.
    pub post: NewPost,
    /// Its number, for sources that count.
    pub number: Option<u64>,
}

/// What the answer was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Document {
    /// A feed.
    Feed {
        /// What it is written in.
        format: Format,
        /// The charset it turned out to be in.
        charset: &'static str,
        /// Its name.
        title: Option<String>,
        /// What had to be put right to read it.
        notes: Vec<Note>,
    },
    /// A web page.
    Page {
        /// The charset it turned out to be in.
        charset: &'static str,
        /// Its heading.
        title: Option<String>,
    },
}

/// How the answer was got, for people and for the memory of redirects.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Every request that was made.
    pub hops: Vec<Hop>,
    /// The status of the last answer, if there was one.
    pub status: Option<u16>,
    /// Where permanent redirects led.
    pub moved_to: Option<Url>,
    /// Bytes of body that crossed the wire.
    pub wire_bytes: usize,
    /// Bytes of body after decoding.
    pub body_bytes: usize,
    /// The feeds that the answer links to, where it is a web page.
    pub linked_feeds: Vec<LinkedFeed>,
}

impl Fetcher {
    /// A fetcher that asks through this client.
    pub fn new(client: Client) -> Fetcher {
        Fetcher { client }
    }

    /// Polls a source once. Never panics: a reader that does is reported as our own fault.
    pub async fn fetch(&self, task: &Task) -> Fetched {
        match task.settings.source_type {
            SourceType::Rss | SourceType::Website => self.fetch_document(task).await,
            SourceType::Twitter => failed(FailureReport {
                cause: FailureCause::Credentials,
                error: "X accounts need the key of their podcast's owner, and there is none".into(),
                retry_after: None,
            }),
        }
    }

    async fn fetch_document(&self, task: &Task) -> Fetched {
        let mut request = Request::new(task.settings.url.as_str());
        request.validators = task.validators.clone();
        request.keep_alive = task.keep_alive;
        match self.client.get(&request).await {
            Ok(reply) => document::read(reply, task.settings.source_type).await,
            Err(failure) => {
                let status = failure.hops.last().and_then(|hop| hop.status);
                let trace = Trace { hops: failure.hops, status, ..Trace::default() };
                Fetched { answer: Answer::Failed(failure.report), trace }
            }
        }
    }
}

fn failed(report: FailureReport) -> Fetched {
    Fetched { answer: Answer::Failed(report), trace: Trace::default() }
}
