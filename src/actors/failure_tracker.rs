//! Decides what failures mean: counted, rested, disabled; or explained by an outage of our own network, and then not
//! counted.

mod amnesty;

use std::sync::Arc;

use actix::fut::WrapFuture;
use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, SpawnHandle};
use slog::{Logger, info, o, warn};

use super::context::PipelineContext;
use super::messages::{Completion, HostAnswered, PollFailed, PollLost};
use super::outcome::Verdict;
use super::poll::Poll;
use super::settle_batcher::{Entry, SettleBatcher, write};
use crate::fetch::Trace;
use crate::model::{FailureCause, FailureReport, SourceToPoll, Timestamp};
use crate::rules::outage::{Evidence, Outage, OutageStep, Silence, evidence, explained};
use crate::rules::shown_url::shown_url;
use amnesty::{Amnesty, CountedFailure};

/// Tracks failures.
pub(super) struct FailureTrackerActor {
    context: Arc<PipelineContext>,
    batcher: SettleBatcher,
    outage: Outage,
    amnesty: Amnesty,
    alarm: Option<(Timestamp, SpawnHandle)>,
    log: Logger,
}

impl FailureTrackerActor {
    /// What the fault injection calls it.
    const NAME: &'static str = "failure-tracker";

    pub(super) fn new(context: Arc<PipelineContext>) -> FailureTrackerActor {
        let log = context.log.new(o!("actor" => "failure tracker"));
        let policy = context.policy();
        let outage = Outage::new(policy.outage, policy.interval, context.clock.now());
        FailureTrackerActor {
            context,
            batcher: SettleBatcher::default(),
            outage,
            amnesty: Amnesty::default(),
            alarm: None,
            log,
        }
    }

    fn settle(&mut self, entry: Entry, ctx: &mut Context<FailureTrackerActor>) {
        self.batcher.push(entry);
        self.write(ctx);
    }

    fn write(&mut self, ctx: &mut Context<FailureTrackerActor>) {
        let Some(batch) = self.batcher.begin() else {
            if !self.batcher.is_writing() {
                // What is to be taken back has been written by now.
                self.amnesty.carry_out(&self.context, &self.log);
            }
            return;
        };
        // A task of its own: should the actor crash meanwhile, what is being written is written.
        let writing = actix_rt::spawn(write(self.context.clone(), self.log.clone(), batch));
        ctx.spawn(writing.into_actor(self).map(|_, tracker, ctx| {
            tracker.batcher.end();
            tracker.write(ctx);
        }));
    }

    /// Counts a failure, unless an outage explains it. A silence may be what an outage is recognised by.
    fn judge(&mut self, mut entry: Entry, ctx: &mut Context<FailureTrackerActor>) {
        let Verdict::Failed { report, .. } = &entry.verdict else { return self.settle(entry, ctx) };
        let (evidence, now) = (evidence(Some(report)), self.context.clock.now());
        let began_at = entry.poll.in_flight.began_at().unwrap_or(now);
        let is_counted = evidence == Evidence::Answer || self.outage.counts(began_at, now);
        let host = entry.poll.turn.as_ref().and_then(|turn| turn.host_entry.key.clone());
        let failures = entry.poll.source.state.failures.consecutive;
        let failure = CountedFailure::of(&entry.poll, report);
        let is_local = report.cause == FailureCause::NoNetwork;
        let mut step = None;
        if let (Evidence::Silence, Some(host)) = (evidence, host) {
            let hosts_polled = self.context.hosts_polled();
            step = self.outage.silent(Silence { host: &host, is_local, failures, hosts_polled }, now);
        }
        // An outage that is on, or that this is recognised by.
        if !is_counted || step.is_some() {
            explain(&mut entry.verdict);
        }
        match failure {
            Some(failure) if is_counted => self.amnesty.remember(failure),
            // Its host has counted it before the outage was recognised.
            Some(failure) if failure.has_moved_breaker(&entry.poll) => self.amnesty.take_back_later(failure),
            _ => {}
        }
        self.follow(step);
        self.settle(entry, ctx);
        self.probe(ctx);
    }

    /// Sends a probe if one is due, and sets the alarm for the next.
    fn probe(&mut self, ctx: &mut Context<FailureTrackerActor>) {
        let now = self.context.clock.now();
        if self.outage.is_probe_due(now) {
            self.outage.probe_sent(now);
            self.context.admission.admit_probe();
        }
        let next = self.outage.next_probe();
        if self.alarm.as_ref().map(|(at, _)| *at) == next {
            return;
        }
        if let Some((_, handle)) = self.alarm.take() {
            ctx.cancel_future(handle);
        }
        if let Some(at) = next {
            let alarm = self.context.clock.until(at).into_actor(self).map(|(), tracker, ctx| {
                tracker.alarm = None;
                tracker.probe(ctx);
            });
            self.alarm = Some((at, ctx.spawn(alarm)));
        }
    }

    /// One record for the beginning and one for the end (p31).
    fn follow(&mut self, step: Option<OutageStep>) {
        match step {
            None => {}
            Some(begun @ OutageStep::Begun { hosts }) => {
                let fresh = self.context.policy().outage.hosts as usize;
                self.context.admission.begin_outage(self.outage.silent_hosts(), fresh);
                // What has not been written yet is not counted in the first place.
                let in_time = self.batcher.change_waiting(|finished| {
                    let is_explained = matches!(&finished.verdict, Verdict::Failed { report, .. }
                        if CountedFailure::of(&finished.poll, report).is_some());
                    if is_explained {
                        explain(&mut finished.verdict);
                    }
                    is_explained
                });
                // The poll that the outage was recognised by is explained, too.
                let taken_back = self.amnesty.declare().saturating_sub(in_time + 1);
                warn!(self.log, "outage begun"; "hosts" => hosts, "failures_reverted" => taken_back,
                    "reason" => begun.to_string());
            }
            Some(OutageStep::Ended { lasted }) => {
                self.context.admission.end_outage(lasted);
                info!(self.log, "outage ended"; "lasted_seconds" => lasted.as_secs());
            }
        }
    }
}

/// Makes a failure our own network's.
fn explain(verdict: &mut Verdict) {
    if let Verdict::Failed { report, is_explained, .. } = verdict {
        report.error = explained(report);
        report.cause = FailureCause::Outage;
        *is_explained = true;
    }
}

impl Actor for FailureTrackerActor {
    type Context = Context<FailureTrackerActor>;

    fn started(&mut self, _: &mut Context<FailureTrackerActor>) {
        // One that was started again knows of no outage, and will soon notice if there is one.
        self.context.admission.end_outage(std::time::Duration::ZERO);
    }
}

impl Handler<PollFailed> for FailureTrackerActor {
    type Result = ();

    fn handle(&mut self, failed: PollFailed, ctx: &mut Context<FailureTrackerActor>) {
        if self.context.faults.inject(FailureTrackerActor::NAME, "PollFailed", ctx) {
            return;
        }
        let PollFailed { poll, report, trace, is_explained } = failed;
        self.judge(Entry { poll, verdict: Verdict::Failed { report, trace, is_explained } }, ctx);
    }
}

impl Handler<HostAnswered> for FailureTrackerActor {
    type Result = ();

    fn handle(&mut self, HostAnswered { host, at }: HostAnswered, ctx: &mut Context<FailureTrackerActor>) {
        if self.context.faults.inject(FailureTrackerActor::NAME, "HostAnswered", ctx) {
            return;
        }
        let step = self.outage.answered(&host, at);
        self.amnesty.forget();
        self.follow(step);
        if step.is_some() {
            self.probe(ctx);
        }
    }
}

impl Handler<PollLost> for FailureTrackerActor {
    type Result = ();

    /// Every poll ends in a record: one that was lost in a crash ends as our own fault.
    fn handle(&mut self, lost: PollLost, ctx: &mut Context<FailureTrackerActor>) {
        if self.context.faults.inject(FailureTrackerActor::NAME, "PollLost", ctx) {
            return;
        }
        let PollLost { in_flight } = lost;
        let (source_id, began_at) = (in_flight.source_id(), in_flight.began_at());
        let context = self.context.clone();
        let reading = async move {
            let found = context.store_watch.retry_while_unavailable(|| context.store.source(source_id)).await;
            (in_flight, found)
        };
        ctx.spawn(reading.into_actor(self).map(move |(in_flight, found), tracker, ctx| {
            let source = match found {
                Ok(Some(source)) => source,
                Ok(None) => return in_flight.end(Completion::Gone),
                Err(cause) => {
                    slog::error!(tracker.log, "lost poll not settled"; "source_id" => source_id.0,
                        "url" => shown_url(in_flight.url()), "error" => %cause);
                    return in_flight.end(Completion::Superseded);
                }
            };
            if source.state.last_polled >= began_at {
                // It was settled; only the word of it was lost.
                return in_flight.end(Completion::Superseded);
            }
            let now = tracker.context.clock.now();
            let ready = SourceToPoll { source, access: Ok(Default::default()) };
            let mut poll = Poll::new(in_flight, ready, now);
            poll.ended_at = now;
            let error = "the part of this program that polled it crashed".to_owned();
            let report = FailureReport { cause: FailureCause::Lost, error, retry_after: None };
            let verdict = Verdict::Failed { report, trace: Box::new(Trace::default()), is_explained: false };
            tracker.settle(Entry { poll: Box::new(poll), verdict }, ctx);
        }));
    }
}
