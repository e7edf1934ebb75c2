//! What polls are made of, whatever the type of the source: the request for a document, robots.txt, the task and its
//! result; and requests to hubs.
//!
//! Uses `model`, `http` and `parse`. How a source of a type is polled is in `sources`; what becomes of the answer is
//! decided in `rules`. Nothing here counts, filters or remembers.

mod document;
mod hub;
pub(crate) mod post;
mod probe;
mod robots;

use std::time::Duration;

use secrecy::SecretString;
use url::Url;

use crate::http::{Client, Failure, Hop, PendingRedirect, Reply};
use crate::model::{
    ClockStep, FailureReport, FeedLinks, Hints, LastSeen, NewPost, RateLimit, SourceAccess, SourceSettings, Timestamp,
    Validators,
};
use crate::parse::feed::{Format, LinkedFeed, Note};

pub use document::{DocumentContent, DocumentReader, ReadDocument, ReceivedDocument};
pub use hub::{HubAnswer, HubMode, HubRequest};
pub use robots::{
    PRODUCT, RobotsAnswer, RobotsFetched, RobotsTask, robots_product, robots_refusal, robots_unreachable, robots_url,
};

/// Makes the requests of polls and deliveries. Cheap to clone; clones share connections.
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
    /// Whether redirects are followed at once; otherwise each of them is handed back as [`Answer::PendingRedirect`], so
    /// that the next host is asked when it is its turn (p25). X accounts know no redirects.
    pub follows: bool,
    /// The redirect that an earlier fetch of this task was handed back, to be followed now.
    pub pending_redirect: Option<PendingRedirect>,
    /// How much of the deadline earlier requests of this poll took: redirects, robots.txt (p35).
    pub time_used: Duration,
    /// The number of its X account, once it was looked up.
    pub account_id: Option<String>,
    /// The key of its podcast's owner, for sources that need one.
    pub key: Option<SecretString>,
    /// Headers and a login of its own.
    pub access: SourceAccess,
    /// Whether the HTML of entries is wanted. Pages have it all the same.
    pub keeps_html: bool,
}

impl Task {
    /// A first poll of a source.
    pub fn new(settings: SourceSettings) -> Task {
        Task {
            settings,
            validators: Validators::default(),
            last_seen: None,
            keep_alive: false,
            follows: true,
            pending_redirect: None,
            time_used: Duration::ZERO,
            account_id: None,
            key: None,
            access: SourceAccess::default(),
            keeps_html: true,
        }
    }
}

/// How a poll went.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// What the publisher said.
    pub answer: Answer,
    /// How it was got.
    pub trace: Trace,
    /// Other facts about the response, kept even if the poll failed.
    pub learned: Learned,
}

/// What a poll found out beside its answer.
#[derive(Clone, Debug, Default)]
pub struct Learned {
    /// The number of the X account, if it was looked up.
    pub account_id: Option<String>,
    /// What is to be stored instead of the key that was handed in, which is of no use any more.
    pub key: Option<SecretString>,
}

/// What the publisher said.
#[derive(Clone, Debug)]
pub enum Answer {
    Read(Box<Reading>),
    NotModified {
        /// Those that came with it.
        validators: Validators,
        /// How long it says that this stays so.
        fresh_until: Option<Timestamp>,
    },
    /// A redirect, to a task that follows none by itself: the same task goes on from here.
    PendingRedirect(PendingRedirect),
    /// Nothing that can be used.
    Failed(FailureReport),
}

impl Answer {
    /// Moves times of an answer that came before a step of the clock.
    fn follow(&mut self, step: ClockStep) {
        let moments: [&mut Option<Timestamp>; 2] = match self {
            Answer::Read(reading) => [&mut reading.hints.fresh_until, &mut reading.hints.retry_after],
            Answer::NotModified { fresh_until, .. } => [fresh_until, &mut None],
            Answer::Failed(report) => [&mut report.retry_after, &mut None],
            Answer::PendingRedirect(_) => return,
        };
        for moment in moments {
            *moment = moment.map(|moment| step.moved(moment));
        }
    }
}

#[derive(Clone, Debug)]
pub struct Reading {
    /// What to ask with next time.
    pub validators: Validators,
    /// What the answer and the feed in it said about coming back.
    pub hints: Hints,
    /// Everything that can become a post, in the publisher's order.
    pub entries: Vec<NewPost>,
    /// Number of entries that say nothing that can be shown.
    pub blank: usize,
    /// Title of the document.
    pub title: Option<String>,
    /// The highest number among all entries, those included that cannot become a post: the watermark moves to it.
    pub newest_number: Option<u64>,
    /// Its links to hubs and to itself, if it is a feed.
    pub links: FeedLinks,
    /// What it was read from.
    pub document: Document,
}

/// What the answer was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Document {
    Feed {
        /// What it is written in.
        format: Format,
        /// The charset it turned out to be in.
        charset: &'static str,
        title: Option<String>,
        /// URL of the page with the entries before these.
        next_archive: Option<String>,
        /// What had to be put right to read it.
        notes: Vec<Note>,
    },
    Page {
        /// The charset it turned out to be in.
        charset: &'static str,
        title: Option<String>,
    },
    /// The posts of an account at a service.
    Account {
        /// What it is, for people: `an X account`.
        what: &'static str,
        name: String,
        id: String,
        /// How many pages of posts were read.
        pages: usize,
        /// Whether there are more new posts than one poll reads; the oldest of them are left out.
        is_cut: bool,
    },
}

impl Document {
    /// The title that it gives itself.
    pub fn title(&self) -> Option<&str> {
        match self {
            Document::Feed { title, .. } | Document::Page { title, .. } => title.as_deref(),
            Document::Account { name, .. } => Some(name),
        }
    }
}

/// How the answer was got, for people and for the memory of redirects.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Every request that was made, those of the fetches before a redirect was handed back included.
    pub hops: Vec<Hop>,
    /// The status of the last answer, if there was one.
    pub status: Option<u16>,
    /// The time of the answer by the publisher's clock (`Date`), with the time that it spent in caches.
    pub date: Option<Timestamp>,
    /// The rate limit that the last answer states.
    pub rate_limit: Option<RateLimit>,
    /// Where permanent redirects led.
    pub moved_to: Option<Url>,
    /// Bytes of body that crossed the wire.
    pub wire_bytes: usize,
    /// Bytes of body after decoding.
    pub body_bytes: usize,
    /// How long it took to read the body, if there was one to be read.
    pub reading: Option<Duration>,
    /// The feeds that the answer links to, where it is a web page.
    pub linked_feeds: Vec<LinkedFeed>,
}

impl Fetcher {
    /// A fetcher that asks through this client.
    pub fn new(client: Client) -> Fetcher {
        Fetcher { client }
    }

    /// The client, for polls that take requests of their own.
    pub fn client(&self) -> &Client {
        &self.client
    }
}

impl Fetched {
    pub(crate) fn new(answer: Answer, trace: Trace) -> Fetched {
        Fetched { answer, trace, learned: Learned::default() }
    }

    /// Moves times of an answer that came before a step of the clock.
    pub fn follow(&mut self, step: ClockStep) {
        self.answer.follow(step);
        self.trace.follow(step);
    }
}

impl Trace {
    /// How a reply was got; what was in it is left open.
    fn of(reply: &Reply) -> Trace {
        Trace {
            status: reply.hops.last().and_then(|hop| hop.status),
            date: reply.caching.date.map(|date| date + reply.caching.age),
            rate_limit: reply.rate_limit,
            moved_to: reply.moved_to().cloned(),
            hops: reply.hops.clone(),
            ..Trace::default()
        }
    }

    /// How a request failed.
    fn of_failure(failure: Failure) -> Trace {
        let Failure { hops, rate_limit, .. } = failure;
        Trace { status: hops.last().and_then(|hop| hop.status), rate_limit, hops, ..Trace::default() }
    }

    fn follow(&mut self, step: ClockStep) {
        self.rate_limit = self.rate_limit.map(|limit| limit.moved(step));
    }
}
