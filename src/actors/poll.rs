//! A poll in flight: the source as it was read, what its requests have found so far, and its request permit.

use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use tokio::sync::OwnedSemaphorePermit;

use super::fleet::{BorrowedTurn, ShardClaim};
use super::host::{HostEntry, Presence};
use super::in_flight::InFlightPoll;
use crate::fetch::{Task, robots_url};
use crate::http::PendingRedirect;
use crate::model::{
    Breaker, FailureCause, FailureReport, HostKey, HostState, KeyProvider, NewEvent, Source, SourceAccess,
    SourceToPoll, SourceType, Timestamp, UserId,
};
use crate::rules::host_key::host_key;
use crate::sources::{Preparation, TypeSettings, kind};

pub(super) struct Poll {
    pub(super) in_flight: InFlightPoll,
    /// As it stood in the store when it was handed out.
    pub(super) source: Source,
    pub(super) access: SourceAccess,
    /// Why login and headers of the source cannot be used: no request is made.
    pub(super) access_error: Option<FailureReport>,
    /// Hosts make requests in this order.
    pub(super) due_at: Timestamp,
    /// Where redirects have led so far.
    pub(super) pending_redirect: Option<Box<PendingRedirect>>,
    pub(super) request: NextRequest,
    /// The key of its podcast's owner, for sources that need one.
    pub(super) key: Option<LentKey>,
    /// Held until the poll is settled.
    pub(super) permit: Option<RequestPermit>,
    /// Keeps the host in the table.
    pub(super) presence: Option<Presence>,
    /// State of the host of the last request.
    pub(super) host: Option<HostState>,
    /// What happened to hosts of the poll and is not stored yet.
    pub(super) events: Vec<NewEvent>,
    /// The breaker of that host before the last request.
    pub(super) breaker_before: Option<Breaker>,
    /// Whether the next poll of the host comes at once and can use the connection of this one.
    pub(super) keeps_connection: bool,
    /// When the last request of the poll ended.
    pub(super) ended_at: Timestamp,
    /// Duration of all its requests.
    pub(super) request_time: Duration,
    /// The same by the monotonic clock, which the deadline follows (p35).
    pub(super) time_used: Duration,
}

/// A key that a user gave for sources of a type.
#[derive(Clone)]
pub(super) struct LentKey {
    pub(super) owner: UserId,
    pub(super) provider: KeyProvider,
    pub(super) key: SecretString,
}

/// The next request of a poll.
pub(super) enum NextRequest {
    /// Not known yet: robots.txt may have to be read first.
    Undecided,
    /// The robots.txt that governs the page, or the target of its redirect.
    Robots(Option<Box<PendingRedirect>>),
    Document,
}

/// The right to send requests to a host.
pub(super) struct RequestPermit {
    pub(super) host_entry: Arc<HostEntry>,
    /// One request to a host at a time, also if the actor of the host crashes.
    pub(super) _permit: Option<OwnedSemaphorePermit>,
    /// One of the polls in flight at once.
    pub(super) _slot: OwnedSemaphorePermit,
    /// The turn at a host of another node.
    pub(super) _borrowed: Option<BorrowedTurn>,
    /// The shard of a host of this node, which is not released before the request is over.
    pub(super) _host_claim: Option<ShardClaim>,
}

impl RequestPermit {
    /// Whether another node may have the host by now.
    pub(super) fn is_lost(&self) -> bool {
        self._host_claim.as_ref().is_some_and(ShardClaim::is_lost)
    }

    /// Lets other polls ask the host; the slot stays taken.
    pub(super) fn leave_host(&mut self) {
        self._permit = None;
        self._borrowed = None;
        self._host_claim = None;
    }
}

impl Poll {
    pub(super) fn new(in_flight: InFlightPoll, ready: SourceToPoll, due_at: Timestamp) -> Poll {
        let SourceToPoll { source, access } = ready;
        let (access, access_error) = match access {
            Ok(access) if access.is_for(&source.settings.url) => (access, None),
            Ok(access) => {
                let error = format!(
                    "the source's login and headers were given for {}, and the source is elsewhere now; give them again \
                     with `feedwarden source access`",
                    access.origin.as_deref().unwrap_or_default()
                );
                (access, Some((FailureCause::Credentials, error)))
            }
            // Our key does not fit or the row is damaged: not a fault of the source or its login.
            Err(error) => {
                let error = format!("the source's login cannot be read: {error}");
                (SourceAccess::default(), Some((FailureCause::Internal, error)))
            }
        };
        let access_error = access_error.map(|(cause, error)| FailureReport { cause, error, retry_after: None });
        let request = first_request(source.settings.source_type);
        let ended_at = due_at;
        Poll {
            in_flight,
            source,
            access,
            access_error,
            due_at,
            pending_redirect: None,
            request,
            key: None,
            permit: None,
            presence: None,
            host: None,
            events: Vec::new(),
            breaker_before: None,
            keeps_connection: false,
            ended_at,
            request_time: Duration::ZERO,
            time_used: Duration::ZERO,
        }
    }

    /// Follows a redirect of the source. Another page may be governed by another robots.txt.
    pub(super) fn redirect(&mut self, pending_redirect: PendingRedirect) {
        self.pending_redirect = Some(Box::new(pending_redirect));
        self.request = first_request(self.source.settings.source_type);
    }

    /// The URL of the source, or the target of its redirects so far.
    pub(super) fn url(&self) -> &str {
        self.pending_redirect
            .as_ref()
            .map_or(&self.source.settings.url, |pending_redirect| pending_redirect.url().as_str())
    }

    /// The host of the next request; none for a URL without a host (s506).
    pub(super) fn host_key(&self, settings: &TypeSettings) -> Option<HostKey> {
        match &self.request {
            NextRequest::Robots(Some(pending_redirect)) => host_key(pending_redirect.url().as_str()),
            _ => kind(self.source.settings.source_type).host(self.url(), settings),
        }
    }

    /// The next request, if it is for the source itself.
    pub(super) fn task(&self) -> Task {
        let state = &self.source.state;
        let mut task = Task::new(self.source.settings.clone());
        task.validators = state.validators.clone();
        task.last_seen = state.last_seen;
        task.keep_alive = self.keeps_connection;
        task.account_id = state.account_id.clone();
        task.key = self.key.as_ref().map(|lent| lent.key.clone());
        task.access = self.access.clone();
        task.follows = false;
        task.pending_redirect = self.pending_redirect.as_deref().cloned();
        task.time_used = self.time_used;
        task
    }

    pub(super) fn robots_url(&self) -> Option<url::Url> {
        robots_url(self.url())
    }
}

fn first_request(source_type: SourceType) -> NextRequest {
    match kind(source_type).preparation() {
        Preparation::RobotsTxt => NextRequest::Undecided,
        Preparation::Nothing | Preparation::OwnerKey(_) => NextRequest::Document,
    }
}
