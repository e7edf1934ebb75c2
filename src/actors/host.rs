//! The actor of one host: asks it one thing at a time, spaced, in the order in which sources became due.

mod robots;
mod turn;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use actix::fut::WrapFuture;
use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, SpawnHandle};
use actix_rt::task::JoinHandle;
use slog::{Logger, debug, info, o, warn};

use super::context::PipelineContext;
use super::host_table::{HostEntry, WeakHostTable};
use super::messages::{
    Completion, Deferral, FetchFinished, FetchSource, Found, HostAnswered, PollFailed, PollSource, PollSucceeded,
};
use super::poll::{Poll, Turn};
use super::statistics::PipelineEvent;
use crate::fetch::{Answer, Fetched, Trace};
use crate::model::{FailureCause, FailureReport, HostKey, KeyProvider, SourceId, Timestamp};
use crate::rules::breaker::{self, BreakerStep, Heard};
use crate::rules::delay::delay;
use crate::rules::outage::{self, Evidence};
use crate::rules::shown_url::shown_url;
use crate::rules::{failure, hold, spread};
use robots::{Prepared, prepare};
use turn::{Granted, wait_for_turn};

/// More than this nobody waits for one host; the rest is sent back to wait elsewhere.
const QUEUE_MAX: usize = 1024;

/// Where in the line somebody waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// A person wants it polled whatever anybody asked for.
    Forced,
    /// Was asked for already, and was redirected or had to ask for robots.txt first.
    HalfDone,
    /// Became due then.
    DueAt(Timestamp),
}

/// Asks one host.
pub(super) struct HostActor {
    host_entry: Arc<HostEntry>,
    context: Arc<PipelineContext>,
    table: WeakHostTable,
    /// Those that are half done first, then in the order of being due.
    queue: BTreeMap<(Place, SourceId), Box<Poll>>,
    /// While the turn of the first in the queue is waited for.
    waiting: Option<SpawnHandle>,
    log: Logger,
}

impl HostActor {
    /// What the fault injection calls it.
    const NAME: &'static str = "host";

    pub(super) fn new(host_entry: Arc<HostEntry>, context: Arc<PipelineContext>, table: WeakHostTable) -> HostActor {
        let log = context.log.new(o!("host" => host_entry.key.as_ref().map(HostKey::to_string)));
        HostActor { host_entry, context, table, queue: BTreeMap::new(), waiting: None, log }
    }

    fn enqueue(&mut self, poll: Box<Poll>, ctx: &mut Context<HostActor>) {
        if self.queue.len() >= QUEUE_MAX {
            let until = self.context.clock.now() + self.context.settings.scheduler.tick;
            return self.send_back(poll, until, None, "too many wait for it");
        }
        let place = self.place(&poll);
        if matches!(place, Place::Forced | Place::HalfDone)
            && let Some(waiting) = self.waiting.take()
        {
            // Whoever is waited for may have to wait longer than this one: for the host, or for a drain that never ends.
            ctx.cancel_future(waiting);
        }
        self.queue.insert((place, poll.source.id), poll);
        self.wait(ctx);
    }

    /// Waits for the turn of whoever is first, unless that is being done.
    fn wait(&mut self, ctx: &mut Context<HostActor>) {
        if self.waiting.is_some() {
            return;
        }
        let Some(first) = self.queue.values().next() else { return };
        let has_begun = first.in_flight.began_at().is_some();
        let in_flight = turn::Waiting { pause: self.pause(first), has_begun, is_forced: self.is_forced(first) };
        let waiting = wait_for_turn(self.host_entry.clone(), self.context.clone(), in_flight);
        let handle = ctx.spawn(waiting.into_actor(self).map(|granted, host, ctx| {
            host.waiting = None;
            match granted {
                Granted::Turn(turn) => host.take(turn, ctx),
                Granted::Closed { until, because } => {
                    let closed = host.host_entry.key.clone().map(|key| (key, until));
                    host.send_all_back(until, host.context.policy().spread, closed, &because);
                }
                Granted::AfterOutage => {
                    let window = host.context.admission.spread_after_outage(host.context.policy().spread);
                    host.send_all_back(host.context.clock.now(), window, None, "our own network was down");
                }
            }
            host.wait(ctx);
        }));
        self.waiting = Some(handle);
    }

    fn is_forced(&self, poll: &Poll) -> bool {
        self.context.is_forced(poll.source.id)
    }

    fn place(&self, poll: &Poll) -> Place {
        match poll.in_flight.began_at() {
            _ if self.is_forced(poll) => Place::Forced,
            Some(_) => Place::HalfDone,
            None => Place::DueAt(poll.due_at),
        }
    }

    fn pause(&self, poll: &Poll) -> Duration {
        if self.is_forced(poll) {
            return Duration::ZERO;
        }
        delay(&poll.source.settings, self.host_entry.key.as_ref(), &self.context.policy().delays).pause
    }

    /// It is the host's turn to be asked: by whoever is first now.
    fn take(&mut self, turn: Turn, ctx: &mut Context<HostActor>) {
        let Some((key, mut poll)) = self.queue.pop_first() else { return };
        if !self.is_forced(&poll) && !turn::is_spaced(&self.host_entry, self.pause(&poll), &self.context) {
            // Somebody who was due earlier came meanwhile, and asks for a longer pause.
            self.queue.insert(key, poll);
            return;
        }
        poll.in_flight.begin_asking(self.context.clock.now());
        poll.turn = Some(turn);
        let preparing = prepare(poll, self.context.clone());
        ctx.spawn(preparing.into_actor(self).map(|prepared, host, ctx| match prepared {
            Prepared::Ask(poll) => {
                host.context.fetcher().do_send(FetchSource { poll, host: ctx.address() });
            }
            Prepared::Refused(mut poll, report) => {
                poll.ended_at = host.context.clock.now();
                host.fail(poll, report, Trace::default());
            }
            Prepared::Unreadable(poll, error) => {
                let until = host.context.clock.now() + host.context.settings.scheduler.tick;
                slog::error!(host.log, "poll not prepared"; "source_id" => poll.source.id.0,
                    "url" => shown_url(&poll.source.settings.url), "error" => error);
                defer(*poll, until, None, "the store refused what the poll needs", &host.context);
            }
        }));
    }

    /// Sends everybody back who waits, to come again at different moments within the window (p19, p33).
    fn send_all_back(
        &mut self,
        freed_at: Timestamp,
        window: Duration,
        closed: Option<(HostKey, Timestamp)>,
        because: &str,
    ) {
        for poll in std::mem::take(&mut self.queue).into_values() {
            let until = spread::spread(freed_at, poll.due_at, window, self.context.dice.roll());
            self.send_back(poll, until, closed.clone(), because);
        }
    }

    /// Sends a poll back. If somebody was asked for it already it ends here, and nobody is blamed: every poll that asked
    /// ends in a record.
    fn send_back(&self, poll: Box<Poll>, until: Timestamp, closed: Option<(HostKey, Timestamp)>, because: &str) {
        if poll.in_flight.began_at().is_none() {
            return defer(*poll, until, closed, because, &self.context);
        }
        let host = self.host_entry.key.as_ref().map(HostKey::to_string).unwrap_or_default();
        let error = format!("it led to {host}, which is not asked before {until}: {because}");
        let report = FailureReport { cause: FailureCause::Internal, error, retry_after: None };
        let trace = Box::new(Trace::default());
        self.context.failure_tracker.do_send(PollFailed { poll, report, trace, is_explained: true });
    }

    /// The source itself was asked for.
    fn document_finished(&mut self, poll: Box<Poll>, fetched: Box<Fetched>, ctx: &mut Context<HostActor>) {
        match self.keep_renewed_key(&poll, &fetched) {
            None => self.follow(poll, fetched, ctx),
            // The poll keeps its turn until the key is stored: whoever is next would still find the old one.
            Some(keeping) => {
                ctx.spawn(keeping.into_actor(self).map(|_, host, ctx| host.follow(poll, fetched, ctx)));
            }
        }
    }

    /// What follows from an answer, or from none.
    fn follow(&mut self, mut poll: Box<Poll>, fetched: Box<Fetched>, ctx: &mut Context<HostActor>) {
        match &fetched.answer {
            Answer::PendingRedirect(pending_redirect) => {
                self.record_response(None, &mut poll);
                poll.redirect(pending_redirect.clone());
                self.go_on(poll, ctx);
            }
            Answer::Failed(report) => {
                let report = report.clone();
                self.record_response(Some(&report), &mut poll);
                self.fail(poll, report, fetched.trace);
            }
            Answer::Read(_) | Answer::NotModified { .. } => {
                self.record_response(None, &mut poll);
                self.context.post_sink.do_send(PollSucceeded { poll, fetched });
            }
        }
    }

    fn fail(&self, poll: Box<Poll>, report: FailureReport, trace: Trace) {
        let trace = Box::new(trace);
        self.context.failure_tracker.do_send(PollFailed { poll, report, trace, is_explained: false });
    }

    /// The poll needs another request: here when the host's pause is over, or at another host when that one is free (p25).
    fn go_on(&mut self, mut poll: Box<Poll>, ctx: &mut Context<HostActor>) {
        let key = poll.host_key(self.context.x_host.as_ref());
        let turn = poll.turn.take();
        if key == self.host_entry.key {
            return self.enqueue(poll, ctx);
        }
        let Some(table) = self.table.get() else { return };
        let (context, log, left) = (self.context.clone(), self.log.clone(), poll.host.take());
        actix_rt::spawn(async move {
            // The poll will be settled with the host that it ends at, so what this one said is stored now (p28), while
            // nobody else can have asked it.
            if let Err(error) = context
                .store_watch
                .retry_while_unavailable(|| context.store.record_hosts(Vec::from_iter(left.clone())))
                .await
            {
                slog::error!(log, "host state not stored"; "error" => %error);
            }
            drop(turn);
            match table.open(HashSet::from([key.clone()]), &context).await {
                Ok(()) => table.send(&key, poll, &context),
                Err(error) => slog::error!(log, "host state not read"; "source_id" => poll.source.id.0,
                    "url" => shown_url(&poll.source.settings.url), "error" => %error),
            }
        });
    }

    /// Learns from an answer, or from silence, what it says about the host, and leaves it with the poll to be stored.
    fn record_response(&self, failure: Option<&FailureReport>, poll: &mut Poll) {
        let (now, policy) = (self.context.clock.now(), self.context.policy());
        // What is silent while our own network is down says nothing about the host (p31).
        let is_outage = self.context.admission.watch().borrow().is_outage;
        let heard = breaker::heard(failure).filter(|heard| !is_outage || *heard == Heard::Answer);
        if let (Evidence::Answer, Some(host)) = (outage::evidence(failure), &self.host_entry.key) {
            self.context.failure_tracker.do_send(HostAnswered { host: host.clone(), at: now });
        }
        poll.breaker_before = self.host_entry.state().map(|state| state.breaker);
        let hold = failure.and_then(|report| {
            let after = failure::after_failure(&poll.source, report, &policy, now).state;
            hold::hold(report, &after, &policy, now)
        });
        let mut step = None;
        poll.host = self.host_entry.change(|state| {
            if let Some(heard) = heard {
                (state.breaker, step) = breaker::after(&state.breaker, heard, &policy.breaker, now);
            }
            if let Some(hold) = &hold
                && state.held_until.is_none_or(|until| until < hold.until)
            {
                (state.held_until, state.held_reason) = (Some(hold.until), Some(hold.reason.clone()));
            }
        });
        if let Some(hold) = hold {
            warn!(self.log, "host held"; "until" => %hold.until, "reason" => &hold.reason);
            self.tell(|| format!("held until {}: {}", hold.until, hold.reason));
        }
        match step {
            Some(BreakerStep::Opened { until, failures }) => {
                warn!(self.log, "host breaker opened"; "until" => %until, "failures" => failures);
                self.tell(|| format!("silent {failures} times: left alone until {until}"));
            }
            Some(BreakerStep::Reopened { until }) => debug!(self.log, "host probe failed"; "until" => %until),
            Some(BreakerStep::Closed) => {
                info!(self.log, "host breaker closed");
                self.tell(|| "answers again".to_owned());
            }
            None => {}
        }
    }

    fn tell(&self, what: impl FnOnce() -> String) {
        self.context.statistics.emit(|| PipelineEvent::Host {
            host: self.host_entry.key.as_ref().map(HostKey::to_string).unwrap_or_default(),
            what: what(),
        });
    }

    /// A renewed X key is the only one that works from now on, so it is stored whatever becomes of the poll, unless a
    /// person has given another meanwhile or taken it away.
    fn keep_renewed_key(&self, poll: &Poll, fetched: &Fetched) -> Option<JoinHandle<()>> {
        let (Some((owner, used)), Some(key)) = (&poll.key, &fetched.learned.key) else { return None };
        let (context, log) = (self.context.clone(), self.log.clone());
        let (owner, used, key) = (*owner, used.clone(), key.clone());
        // A task of its own: should the actor crash meanwhile, the key is stored.
        Some(actix_rt::spawn(async move {
            let now = context.clock.now();
            let renewing = || context.store.renew_api_key(owner, KeyProvider::X, &used, &key, now);
            match context.store_watch.retry_while_unavailable(renewing).await {
                Ok(true) => {}
                // A person's word counts for more than what became of the key that was there before it.
                Ok(false) => info!(log, "renewed key discarded"; "user_id" => owner.0),
                Err(error) => slog::error!(log, "renewed key not stored"; "user_id" => owner.0, "error" => %error),
            }
        }))
    }
}

/// Sends a poll back undone.
fn defer(poll: Poll, until: Timestamp, closed: Option<(HostKey, Timestamp)>, because: &str, context: &PipelineContext) {
    context.statistics.count_deferred();
    debug!(context.log, "source deferred"; "source_id" => poll.source.id.0,
        "url" => shown_url(&poll.source.settings.url), "until" => %until, "reason" => because);
    poll.in_flight.end(Completion::Deferred(Deferral { until, closed }));
}

impl Actor for HostActor {
    type Context = Context<HostActor>;
}

impl Handler<PollSource> for HostActor {
    type Result = ();

    fn handle(&mut self, PollSource(poll): PollSource, ctx: &mut Context<HostActor>) {
        if self.context.faults.inject(HostActor::NAME, "PollSource", ctx) {
            return;
        }
        self.enqueue(poll, ctx);
    }
}

impl Handler<FetchFinished> for HostActor {
    type Result = ();

    fn handle(&mut self, FetchFinished { poll, found }: FetchFinished, ctx: &mut Context<HostActor>) {
        if self.context.faults.inject(HostActor::NAME, "FetchFinished", ctx) {
            return;
        }
        match found {
            Found::Document(fetched) => self.document_finished(poll, fetched, ctx),
            Found::Robots(fetched) => self.robots_finished(poll, *fetched, ctx),
        }
    }
}
