//! The failure tracker: settles polls that failed. A failure that an outage of our own network explains is not counted.

use std::sync::Arc;

use actix::fut::WrapFuture;
use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, SpawnHandle};
use slog::{Logger, debug, info, o, warn};

use super::batcher::{FinishedPoll, SettleBatcher, write};
use super::locked::LockedFailureSettled;
use super::outcome::PollResult;
use super::reversal::{CountedFailure, FailureReversal};
use crate::actors::context::PipelineContext;
use crate::actors::messages::{ClockStepped, Completion, HostAnswered, PolicyChanged, PollFailed, PollLost};
use crate::actors::poll::Poll;
use crate::fetch::{Fetcher, Trace};
use crate::model::{FailureCause, FailureReport, SourceToPoll, Timestamp};
use crate::rules::outage::{Evidence, Outage, OutageStep, Silence, evidence, explained, is_about_source};
use crate::rules::shown_url::shown_url;

pub(in crate::actors) struct FailureTrackerActor {
    context: Arc<PipelineContext>,
    fetcher: Fetcher,
    batcher: SettleBatcher,
    outage: Outage,
    reversal: FailureReversal,
    alarm: Option<(Timestamp, SpawnHandle)>,
    /// Whether the neutral probe is being asked.
    is_checking: bool,
    log: Logger,
}

impl FailureTrackerActor {
    /// Name in fault rules.
    const NAME: &'static str = "failure-tracker";

    pub(in crate::actors) fn new(context: Arc<PipelineContext>, fetcher: Fetcher) -> FailureTrackerActor {
        let log = context.log.new(o!("actor" => "failure-tracker"));
        let policy = context.policy();
        let outage = Outage::new(policy.outage.clone(), policy.interval, context.clock.now());
        FailureTrackerActor {
            context,
            fetcher,
            batcher: SettleBatcher::default(),
            outage,
            reversal: FailureReversal::default(),
            alarm: None,
            is_checking: false,
            log,
        }
    }

    fn settle(&mut self, finished: FinishedPoll, ctx: &mut Context<FailureTrackerActor>) {
        self.batcher.push(finished);
        self.write(ctx);
    }

    fn write(&mut self, ctx: &mut Context<FailureTrackerActor>) {
        let Some(batch) = self.batcher.begin() else {
            if !self.batcher.is_writing() {
                // The failures to take back are in the store by now.
                self.reversal.apply(&self.context, &self.log);
            }
            return;
        };
        // A task of its own: it goes on if the actor crashes meanwhile.
        let writing = actix_rt::spawn(write(self.context.clone(), self.log.clone(), batch));
        ctx.spawn(writing.into_actor(self).map(|written, tracker, ctx| {
            tracker.batcher.end();
            tracker.reversal.note_written(written.unwrap_or_default());
            tracker.write(ctx);
        }));
    }

    /// Settles a failure, counted unless an outage explains it. Silence may reveal that an outage has begun.
    fn assess(&mut self, mut finished: FinishedPoll, ctx: &mut Context<FailureTrackerActor>) {
        let PollResult::Failed { report, .. } = &finished.result else { return self.settle(finished, ctx) };
        let (evidence, now) = (evidence(Some(report)), self.context.clock.now());
        let began_at = finished.poll.in_flight.began_at().unwrap_or(now);
        let is_counted = is_about_source(report) || self.outage.counts(began_at, now);
        let host = finished.poll.permit.as_ref().and_then(|permit| permit.host_entry.key.clone());
        let failures = finished.poll.source.state.failures.consecutive;
        let failure = CountedFailure::of(&finished.poll, report);
        let is_local = report.cause == FailureCause::NoNetwork;
        let mut step = None;
        if let (Evidence::Silence, Some(host)) = (evidence, &host) {
            let hosts_polled = self.context.hosts_polled();
            step = self.outage.silent(Silence { host, is_local, failures, hosts_polled, began_at }, now);
        }
        if let (Evidence::Silence | Evidence::None, Some(host), None, true) =
            (evidence, &host, &step, self.outage.is_on())
        {
            self.context.admission.note_silent(host);
        }
        // An outage that is on, or that this failure reveals.
        if !is_counted || step.is_some() {
            attribute_to_outage(&mut finished.result);
        }
        match failure {
            Some(failure) if is_counted => self.reversal.remember(failure),
            // The breaker of its host counted it before the outage was recognised.
            Some(failure) if failure.has_moved_breaker(&finished.poll) => self.reversal.take_back_later(failure),
            _ => {}
        }
        self.follow_outage(step);
        self.settle(finished, ctx);
        self.probe(ctx);
    }

    /// Sends a probe if one is due, and sets the alarm for the next.
    fn probe(&mut self, ctx: &mut Context<FailureTrackerActor>) {
        let now = self.context.clock.now();
        if self.outage.is_probe_due(now) {
            self.outage.probe_sent(now);
            if self.outage.is_on() {
                self.context.admission.admit_probe();
            }
            self.check(now, ctx);
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

    /// Asks the neutral probe, if there is one.
    fn check(&mut self, asked_at: Timestamp, ctx: &mut Context<FailureTrackerActor>) {
        let Some(url) = self.context.policy().outage.probe_url.clone().filter(|_| !self.is_checking) else { return };
        self.is_checking = true;
        let fetcher = self.fetcher.clone();
        // Not a local task, as other requests.
        let asking = tokio::spawn(async move { fetcher.probe(&url).await.map_err(|report| (url, report)) });
        ctx.spawn(asking.into_actor(self).map(move |answer, tracker, ctx| {
            tracker.is_checking = false;
            let now = tracker.context.clock.now();
            let step = match answer {
                Ok(Ok(())) => {
                    tracker.reversal.forget();
                    tracker.outage.network_works(now)
                }
                Ok(Err((url, report))) if report.cause != FailureCause::Internal => {
                    debug!(tracker.log, "outage probe failed"; "url" => shown_url(url.as_str()), "error" => &report.error);
                    tracker.outage.network_fails(asked_at, now)
                }
                // A fault of our own says nothing about the network.
                Ok(Err(_)) | Err(_) => None,
            };
            tracker.follow_outage(step);
            if step.is_some() {
                tracker.write(ctx);
            }
            tracker.probe(ctx);
        }));
    }

    /// Suspends or resumes polling, with one log record for the beginning of an outage and one for its end (p31).
    fn follow_outage(&mut self, step: Option<OutageStep>) {
        match step {
            None => {}
            Some(begun @ OutageStep::Begun { hosts, is_confirmed }) => {
                let fresh = self.context.policy().outage.hosts as usize;
                // Before the first answer nothing is known of any host: each is asked once, so that none that is well
                // waits for dead ones.
                let fresh_other = if self.outage.has_heard() { fresh } else { usize::MAX };
                self.context.admission.begin_outage(self.outage.silent_hosts(), fresh, fresh_other);
                // Failures that are not written yet are not counted in the first place.
                let in_time = self.batcher.change_waiting(|finished| {
                    let is_explained = matches!(&finished.result, PollResult::Failed { report, .. }
                        if CountedFailure::of(&finished.poll, report).is_some());
                    if is_explained {
                        attribute_to_outage(&mut finished.result);
                    }
                    is_explained
                });
                // Nor is the failure that revealed the outage; a probe that confirmed it is no failure.
                let in_time = in_time + usize::from(!is_confirmed);
                let taken_back = self.reversal.take_back_all().saturating_sub(in_time);
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

/// Makes a failure one of our own network.
fn attribute_to_outage(result: &mut PollResult) {
    if let PollResult::Failed { report, is_explained, .. } = result {
        report.error = explained(report);
        report.cause = FailureCause::Outage;
        *is_explained = true;
    }
}

impl Actor for FailureTrackerActor {
    type Context = Context<FailureTrackerActor>;

    fn started(&mut self, _: &mut Context<FailureTrackerActor>) {
        // A tracker that was started again knows of no outage; it soon notices one that is on.
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
        self.assess(FinishedPoll { poll, result: PollResult::Failed { report, trace, is_explained } }, ctx);
    }
}

impl Handler<LockedFailureSettled> for FailureTrackerActor {
    type Result = ();

    fn handle(&mut self, settled: LockedFailureSettled, ctx: &mut Context<FailureTrackerActor>) {
        self.reversal.note_settled(settled.key, settled.stored);
        self.write(ctx);
    }
}

impl Handler<ClockStepped> for FailureTrackerActor {
    type Result = ();

    fn handle(&mut self, ClockStepped(step): ClockStepped, ctx: &mut Context<FailureTrackerActor>) {
        self.outage.follow_clock(step);
        self.probe(ctx);
    }
}

impl Handler<HostAnswered> for FailureTrackerActor {
    type Result = ();

    fn handle(&mut self, HostAnswered { host, at }: HostAnswered, ctx: &mut Context<FailureTrackerActor>) {
        if self.context.faults.inject(FailureTrackerActor::NAME, "HostAnswered", ctx) {
            return;
        }
        let step = self.outage.answered(&host, at);
        self.reversal.forget();
        self.follow_outage(step);
        if step.is_some() {
            self.probe(ctx);
        }
    }
}

impl Handler<PolicyChanged> for FailureTrackerActor {
    type Result = ();

    fn handle(&mut self, _: PolicyChanged, ctx: &mut Context<FailureTrackerActor>) {
        self.outage.follow(&self.context.policy().outage, self.context.clock.now());
        self.probe(ctx);
    }
}

impl Handler<PollLost> for FailureTrackerActor {
    type Result = ();

    /// Every poll ends in a record: a poll that was lost in a crash ends as an internal failure.
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
                // The poll was settled; only its completion was lost.
                return in_flight.end(Completion::Superseded);
            }
            let now = tracker.context.clock.now();
            let ready = SourceToPoll { source, access: Ok(Default::default()) };
            let mut poll = Poll::new(in_flight, ready, now);
            poll.ended_at = now;
            let error = "the part of this program that polled it crashed".to_owned();
            let report = FailureReport { cause: FailureCause::Lost, error, retry_after: None };
            let result = PollResult::Failed { report, trace: Box::new(Trace::default()), is_explained: false };
            tracker.settle(FinishedPoll { poll: Box::new(poll), result }, ctx);
        }));
    }
}
