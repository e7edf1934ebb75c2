//! What a poll needs before its request, as its source type says: permission by robots.txt (p29), a key of the owner of
//! its podcast.

use std::sync::Arc;

use actix::fut::WrapFuture;
use actix::{ActorFutureExt, AsyncContext, Context};
use slog::Logger;

use super::HostActor;
use crate::actors::context::PipelineContext;
use crate::actors::poll::{LentKey, NextRequest, Poll};
use crate::fetch::{RobotsAnswer, RobotsFetched, robots_product, robots_refusal, robots_unreachable};
use crate::model::{FailureCause, FailureReport, KeyProvider, RobotsRecord, Timestamp};
use crate::parse::robots::Robots;
use crate::rules::robots::{AGE_MAX, is_stale, origin};
use crate::rules::shown_url::shown_url;
use crate::sources::owner_key;
use crate::store::StoreError;

/// Result of the preparation of a poll.
pub(super) enum Prepared {
    Ready(Box<Poll>),
    /// The poll has failed without a request.
    Refused(Box<Poll>, FailureReport),
    /// The store did not return what the poll needs.
    Unreadable(Box<Poll>, String),
}

pub(super) async fn prepare(mut poll: Box<Poll>, context: Arc<PipelineContext>) -> Prepared {
    if let Some(report) = poll.access_error.clone() {
        return Prepared::Refused(poll, report);
    }
    let found = match (&poll.request, owner_key(poll.source.settings.source_type)) {
        (NextRequest::Undecided, _) => check_robots(&mut poll, &context).await,
        (NextRequest::Document, Some(needed)) => find_key(&mut poll, needed.provider, &context).await.map(|()| None),
        _ => Ok(None),
    };
    match found {
        Ok(None) => Prepared::Ready(poll),
        Ok(Some(report)) => Prepared::Refused(poll, report),
        // Our key does not fit the owner's sealed key: no fault of the source.
        Err(StoreError::Encryption(error)) => {
            Prepared::Refused(poll, FailureReport { cause: FailureCause::Internal, error, retry_after: None })
        }
        Err(error) => Prepared::Unreadable(poll, error.to_string()),
    }
}

/// Obeys the stored robots.txt, or makes a request for it the next one.
async fn check_robots(poll: &mut Poll, context: &PipelineContext) -> Result<Option<FailureReport>, StoreError> {
    Ok(match known_rules(poll.url(), context).await? {
        KnownRules::Missing => {
            poll.request = NextRequest::Robots(None);
            None
        }
        KnownRules::Stored(rules) => obey(poll, rules.as_deref()),
    })
}

/// The robots.txt that governs a URL, as far as it is stored.
pub(super) enum KnownRules {
    /// It has to be fetched.
    Missing,
    /// Its text; none if there are no rules.
    Stored(Option<String>),
}

pub(super) async fn known_rules(url: &str, context: &PipelineContext) -> Result<KnownRules, StoreError> {
    // A URL that is no web address fails later with a better error.
    let Some(origin) = origin(url) else { return Ok(KnownRules::Stored(None)) };
    let known = context.store_watch.retry_while_unavailable(|| context.store.robots(&origin)).await?;
    let now = context.clock.now();
    let fresh = known.filter(|record| !is_stale(record, now, AGE_MAX));
    Ok(fresh.map_or(KnownRules::Missing, |record| KnownRules::Stored(record.rules)))
}

/// Applies the rules to the page; returns a failure if they forbid it.
fn obey(poll: &mut Poll, rules: Option<&str>) -> Option<FailureReport> {
    poll.request = NextRequest::Document;
    refusal(poll.url(), rules, poll.source.settings.user_agent.as_deref())
}

/// The failure of a request for this URL if the rules forbid it to a source with this user agent of its own.
pub(super) fn refusal(url: &str, rules: Option<&str>, user_agent: Option<&str>) -> Option<FailureReport> {
    let url = url::Url::parse(url).ok()?;
    robots_refusal(&Robots::parse(rules?.as_bytes()).allows(robots_product(user_agent), &url))
}

/// Finds the key of the user who owns the podcast of the source (s510). Without a key the fetch reports what is
/// missing.
async fn find_key(poll: &mut Poll, provider: KeyProvider, context: &PipelineContext) -> Result<(), StoreError> {
    let Some(podcast_id) = poll.source.settings.podcast_id else { return Ok(()) };
    let store = &context.store;
    let Some(podcast) = context.store_watch.retry_while_unavailable(|| store.podcast(podcast_id)).await? else {
        return Ok(());
    };
    let owner = podcast.user_id;
    let key = context.store_watch.retry_while_unavailable(|| store.api_key(owner, provider)).await?;
    poll.key = key.map(|key| LentKey { owner, provider, key });
    Ok(())
}

impl HostActor {
    /// The request for the robots.txt of a web page is over.
    pub(super) fn robots_finished(
        &mut self,
        mut poll: Box<Poll>,
        fetched: RobotsFetched,
        ctx: &mut Context<HostActor>,
    ) {
        let rate_limit = fetched.trace.rate_limit;
        let rules = match fetched.answer {
            RobotsAnswer::PendingRedirect(pending_redirect) => {
                self.record_response(None, rate_limit, &mut poll);
                poll.request = NextRequest::Robots(Some(Box::new(pending_redirect)));
                return self.send_next_request(poll, ctx);
            }
            RobotsAnswer::Unreachable(report) => {
                self.record_response(Some(&report), rate_limit, &mut poll);
                return self.fail(poll, robots_unreachable(&report), fetched.trace);
            }
            RobotsAnswer::Found(text) => Some(text),
            RobotsAnswer::Absent => None,
        };
        self.record_response(None, rate_limit, &mut poll);
        // Stored while the poll holds its permit, so that the next poll of a page of this site finds it.
        let storing = store_rules(self.context.clone(), self.log.clone(), poll, rules);
        ctx.spawn(storing.into_actor(self).map(|(mut poll, rules), host, ctx| {
            match obey(&mut poll, rules.as_deref()) {
                Some(report) => host.fail(poll, report, fetched.trace),
                None => host.send_next_request(poll, ctx),
            }
        }));
    }
}

/// Stores the robots.txt that governs the page of the poll, and returns both.
async fn store_rules(
    context: Arc<PipelineContext>,
    log: Logger,
    poll: Box<Poll>,
    rules: Option<String>,
) -> (Box<Poll>, Option<String>) {
    keep_rules(poll.url(), poll.ended_at, rules.clone(), &context, &log).await;
    (poll, rules)
}

/// Stores the robots.txt that governs this URL.
pub(super) async fn keep_rules(
    url: &str,
    fetched_at: Timestamp,
    rules: Option<String>,
    context: &PipelineContext,
    log: &Logger,
) {
    let Some(origin) = origin(url) else { return };
    let record = RobotsRecord { origin, fetched_at, rules };
    if let Err(error) = context.store_watch.retry_while_unavailable(|| context.store.put_robots(record.clone())).await {
        slog::error!(log, "robots.txt not stored"; "url" => shown_url(url), "error" => %error);
    }
}
