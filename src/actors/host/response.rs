//! What follows from the answer of a host, or from none: for the poll, and for what is known of the host.

use std::collections::HashSet;

use actix::fut::WrapFuture;
use actix::{ActorFutureExt, AsyncContext, Context};
use actix_rt::task::JoinHandle;
use slog::{Logger, debug, error, info, warn};

use super::{HostActor, HostEntry};
use crate::actors::context::PipelineContext;
use crate::actors::events::PipelineEvent;
use crate::actors::messages::{HostAnswered, PollFailed, PollSucceeded};
use crate::actors::poll::{LentKey, Poll};
use crate::fetch::{Answer, Fetched, Trace};
use crate::model::{FailureReport, FailureState, HostKey, HostState, NewEvent, RateLimit, Timestamp};
use crate::rules::breaker::{self, BreakerStep, Heard};
use crate::rules::events::host_held;
use crate::rules::outage::{self, Evidence};
use crate::rules::shown_url::shown_url;
use crate::rules::{failure, hold};

/// The response of a host to a request, or the failure to get one.
pub(super) struct HostResponse<'a> {
    pub(super) failure: Option<&'a FailureReport>,
    pub(super) rate_limit: Option<RateLimit>,
    /// Failures of the source before this one, if the request is part of a poll.
    pub(super) failures: &'a FailureState,
    pub(super) at: Timestamp,
}

/// Updates breaker and hold of a host after a response, and returns its new state, which is not stored yet, with the event
/// of a hold that begins.
pub(super) fn record(
    host_entry: &HostEntry,
    response: &HostResponse<'_>,
    context: &PipelineContext,
    log: &Logger,
) -> (Option<HostState>, Option<NewEvent>) {
    let HostResponse { failure, rate_limit, failures, at: now } = *response;
    let policy = context.policy();
    // Silence while our own network is down says nothing about the host (p31).
    let is_outage = context.admission.watch().borrow().is_outage;
    let heard = breaker::heard(failure).filter(|heard| !is_outage || *heard == Heard::Answer);
    if let (Evidence::Answer, Some(host)) = (outage::evidence(failure), &host_entry.key) {
        context.failure_tracker.do_send(HostAnswered { host: host.clone(), at: context.clock.now() });
    }
    let failures = failure.map_or_else(FailureState::default, |report| failure::failures_after(failures, report));
    let hold = hold::hold(failure, rate_limit, &failures, &policy, now);
    let mut step = None;
    let before = host_entry.state();
    let state = host_entry.change(|state| {
        if let Some(heard) = heard {
            (state.breaker, step) = breaker::after(&state.breaker, heard, &policy.breaker, now);
        }
        if let Some(hold) = &hold
            && state.held_until.is_none_or(|until| until < hold.until)
        {
            (state.held_until, state.held_reason) = (Some(hold.until), Some(hold.reason.clone()));
        }
    });
    let host = || host_entry.key.as_ref().map(HostKey::to_string).unwrap_or_default();
    let emit = |what: String| context.events.emit(|| PipelineEvent::Host { host: host(), what });
    if let Some(hold) = hold {
        match failure {
            Some(_) => warn!(log, "host held"; "until" => %hold.until, "reason" => &hold.reason),
            None => info!(log, "host held"; "until" => %hold.until, "reason" => &hold.reason),
        }
        emit(format!("held until {}: {}", hold.until, hold.reason));
    }
    match step {
        Some(BreakerStep::Opened { until, failures }) => {
            warn!(log, "host breaker opened"; "until" => %until, "failures" => failures);
            emit(format!("no response {failures} times: no requests before {until}"));
        }
        Some(BreakerStep::Reopened { until }) => debug!(log, "host probe failed"; "until" => %until),
        Some(BreakerStep::Closed) => {
            info!(log, "host breaker closed");
            emit("answers again".to_owned());
        }
        None => {}
    }
    let held = state.as_ref().and_then(|state| host_held(before.as_ref(), state, now));
    (state, held)
}

impl HostActor {
    /// The request for the source itself is over.
    pub(super) fn document_finished(&mut self, poll: Box<Poll>, fetched: Box<Fetched>, ctx: &mut Context<HostActor>) {
        match self.keep_renewed_key(&poll, &fetched) {
            None => self.follow(poll, fetched, ctx),
            // The poll keeps its permit until the key is stored: the next poll would still find the old key.
            Some(keeping) => {
                ctx.spawn(keeping.into_actor(self).map(|_, host, ctx| host.follow(poll, fetched, ctx)));
            }
        }
    }

    fn follow(&mut self, mut poll: Box<Poll>, fetched: Box<Fetched>, ctx: &mut Context<HostActor>) {
        if let (Some(date), Some(host)) = (fetched.trace.date, &self.host_entry.key) {
            self.context.timeline.hear(host, date, self.context.hosts_polled());
        }
        let rate_limit = fetched.trace.rate_limit;
        match &fetched.answer {
            Answer::PendingRedirect(pending_redirect) => {
                self.record_response(None, rate_limit, &mut poll);
                poll.redirect(pending_redirect.clone());
                self.send_next_request(poll, ctx);
            }
            Answer::Failed(report) => {
                let report = report.clone();
                self.record_response(Some(&report), rate_limit, &mut poll);
                self.fail(poll, report, fetched.trace);
            }
            Answer::Read(_) | Answer::NotModified { .. } => {
                self.record_response(None, rate_limit, &mut poll);
                self.context.post_sink.do_send(PollSucceeded { poll, fetched });
            }
        }
    }

    pub(super) fn fail(&self, poll: Box<Poll>, report: FailureReport, trace: Trace) {
        let trace = Box::new(trace);
        self.context.failure_tracker.do_send(PollFailed { poll, report, trace, is_explained: false });
    }

    /// Queues the next request of a poll, here or at another host (p25).
    pub(super) fn send_next_request(&mut self, mut poll: Box<Poll>, ctx: &mut Context<HostActor>) {
        let key = poll.host_key(&self.context.type_settings);
        let permit = poll.permit.take();
        if key == self.host_entry.key {
            return self.enqueue(poll, ctx);
        }
        let Some(table) = self.table.get() else { return };
        let (context, log, left) = (self.context.clone(), self.log.clone(), poll.host.take());
        let store = self.context.store.telling(std::mem::take(&mut poll.events));
        actix_rt::spawn(async move {
            // The poll is settled with the host that it ends at, so the state of this host is stored now (p28), while
            // the poll holds its permit.
            if let Err(error) =
                context.store_watch.retry_while_unavailable(|| store.record_hosts(Vec::from_iter(left.clone()))).await
            {
                error!(log, "host state not stored"; "error" => %error);
            }
            drop(permit);
            match table.open(HashSet::from([key.clone()]), &context).await {
                Ok(()) => table.send(&key, poll, &context),
                Err(error) => error!(log, "host state not read"; "source_id" => poll.source.id.0,
                    "url" => shown_url(&poll.source.settings.url), "error" => %error),
            }
        });
    }

    /// Updates breaker and hold of the host after an answer or a failure, and leaves the new state with the poll to be
    /// stored.
    pub(super) fn record_response(
        &self,
        failure: Option<&FailureReport>,
        rate_limit: Option<RateLimit>,
        poll: &mut Poll,
    ) {
        poll.breaker_before = self.host_entry.state().map(|state| state.breaker);
        // The moment that the poll is settled with, so that host, source and log agree.
        let response = HostResponse { failure, rate_limit, failures: &poll.source.state.failures, at: poll.ended_at };
        let (host, held) = record(&self.host_entry, &response, &self.context, &self.log);
        poll.host = host;
        poll.events.extend(held);
    }

    /// Stores a renewed key, which is the only valid one from now on, whatever becomes of the poll. A key that was
    /// replaced or removed meanwhile stays as it is.
    fn keep_renewed_key(&self, poll: &Poll, fetched: &Fetched) -> Option<JoinHandle<()>> {
        let (Some(lent), Some(key)) = (&poll.key, &fetched.learned.key) else { return None };
        let (context, log) = (self.context.clone(), self.log.clone());
        let (LentKey { owner, provider, key: used }, key) = (lent.clone(), key.clone());
        // A task of its own: it stores the key even if the actor crashes meanwhile.
        Some(actix_rt::spawn(async move {
            let now = context.clock.now();
            let renewing = || context.store.renew_api_key(owner, provider, &used, &key, now);
            match context.store_watch.retry_while_unavailable(renewing).await {
                Ok(true) => {}
                Ok(false) => info!(log, "renewed key discarded"; "user_id" => owner.0),
                Err(error) => error!(log, "renewed key not stored"; "user_id" => owner.0, "error" => %error),
            }
        }))
    }
}
