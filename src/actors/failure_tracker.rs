//! Decides what failures mean: counted, rested, disabled; or our own network's fault, and then nobody's.

use std::sync::Arc;

use actix::fut::WrapFuture;
use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, SpawnHandle};
use slog::{Logger, info, o, warn};

use super::ledger::{Entry, Ledger, write};
use super::messages::{HostAnswered, PollFailed, PollLost, Return};
use super::outcome::Verdict;
use super::poll::Poll;
use super::record;
use super::surroundings::Surroundings;
use crate::fetch::Trace;
use crate::model::{FailureCause, FailureReport, HostKey, SourceToPoll, Timestamp};
use crate::rules::breaker::Heard;
use crate::rules::outage::{Opinion, Outage, OutageStep, heard};

/// Tracks failures.
pub(super) struct FailureTrackerActor {
    around: Arc<Surroundings>,
    ledger: Ledger,
    outage: Outage,
    /// Silences that may be our own network's; as many as polls are under way at the most.
    doubted: Vec<Doubted>,
    alarm: Option<(Timestamp, SpawnHandle)>,
    is_draining: bool,
    log: Logger,
}

/// A silent poll that is not settled yet.
struct Doubted {
    entry: Entry,
    began_at: Timestamp,
    until: Timestamp,
}

impl FailureTrackerActor {
    /// What the fault injection calls it.
    const NAME: &'static str = "failure-tracker";

    pub(super) fn new(around: Arc<Surroundings>) -> FailureTrackerActor {
        let log = around.log.new(o!("actor" => "failure tracker"));
        let outage = Outage::new(around.policy().outage);
        FailureTrackerActor {
            around,
            ledger: Ledger::default(),
            outage,
            doubted: Vec::new(),
            alarm: None,
            is_draining: false,
            log,
        }
    }

    fn settle(&mut self, entry: Entry, ctx: &mut Context<FailureTrackerActor>) {
        self.ledger.push(entry);
        self.write(ctx);
    }

    fn write(&mut self, ctx: &mut Context<FailureTrackerActor>) {
        let Some(batch) = self.ledger.begin() else { return };
        // A task of its own: should the actor crash meanwhile, what is being written is written.
        let writing = actix_rt::spawn(write(self.around.clone(), self.log.clone(), batch));
        ctx.spawn(writing.into_actor(self).map(|_, tracker, ctx| {
            tracker.ledger.end();
            tracker.write(ctx);
        }));
    }

    /// Nobody answered: perhaps it is not the host that is silent.
    fn consider_silence(&mut self, host: &HostKey, entry: Entry, ctx: &mut Context<FailureTrackerActor>) {
        let now = self.around.clock.now();
        let began_at = entry.poll.errand.began_at().unwrap_or(now);
        let (opinion, step) = self.outage.silent(host, began_at, now);
        if let (Opinion::Doubt { until }, Verdict::Failed { report, trace, .. }) = (opinion, &entry.verdict) {
            record::tell_doubt(&self.around, &entry.poll, report, trace, until);
        }
        self.judge(entry, began_at, opinion, ctx);
        self.follow(step);
        self.review(ctx);
    }

    fn judge(
        &mut self,
        mut entry: Entry,
        began_at: Timestamp,
        opinion: Opinion,
        ctx: &mut Context<FailureTrackerActor>,
    ) {
        match opinion {
            Opinion::Doubt { until } => self.doubted.push(Doubted { entry, began_at, until }),
            Opinion::Blame => self.settle(entry, ctx),
            Opinion::OwnFault => {
                entry.verdict = not_blamed(entry.verdict);
                self.settle(entry, ctx);
            }
        }
    }

    /// Looks again at what is in doubt, sends a probe if one is due, and sets the alarm for the next look.
    fn review(&mut self, ctx: &mut Context<FailureTrackerActor>) {
        let now = self.around.clock.now();
        for Doubted { entry, began_at, until } in std::mem::take(&mut self.doubted) {
            // Who is told to end cannot wait to find out, and blames nobody.
            let opinion = match self.is_draining {
                true => Opinion::OwnFault,
                false => self.outage.review(began_at, until, now),
            };
            self.judge(entry, began_at, opinion, ctx);
        }
        if self.outage.is_probe_due(now) {
            self.outage.probe_sent(now);
            self.around.traffic.admit_probe();
        }
        let next = self.doubted.iter().map(|doubted| doubted.until).chain(self.outage.next_probe()).min();
        if self.alarm.as_ref().map(|(at, _)| *at) == next {
            return;
        }
        if let Some((_, handle)) = self.alarm.take() {
            ctx.cancel_future(handle);
        }
        if let Some(at) = next {
            let alarm = self.around.clock.until(at).into_actor(self).map(|(), tracker, ctx| {
                tracker.alarm = None;
                tracker.review(ctx);
            });
            self.alarm = Some((at, ctx.spawn(alarm)));
        }
    }

    /// One record for the beginning and one for the end (p31).
    fn follow(&self, step: Option<OutageStep>) {
        match step {
            None => {}
            Some(OutageStep::Begun { hosts }) => {
                self.around.traffic.switch(|lights| lights.is_outage = true);
                warn!(self.log, "outage begun"; "hosts" => hosts, "reason" => OutageStep::Begun { hosts }.to_string());
            }
            Some(OutageStep::Ended { lasted }) => {
                self.around.traffic.end_outage();
                info!(self.log, "outage ended"; "lasted_seconds" => lasted.as_secs());
            }
        }
    }
}

/// The same failure, as our own.
fn not_blamed(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Failed { report, trace, .. } => {
            let error = format!("our own network or name server seems to be down: {}", report.error);
            let report = FailureReport { cause: FailureCause::Internal, error, ..report };
            Verdict::Failed { report, trace, is_explained: true }
        }
        answered @ Verdict::Answered(_) => answered,
    }
}

impl Actor for FailureTrackerActor {
    type Context = Context<FailureTrackerActor>;

    fn started(&mut self, ctx: &mut Context<FailureTrackerActor>) {
        // One that was started again knows of no outage, and will soon notice if there is one.
        self.around.traffic.end_outage();
        let mut lights = self.around.traffic.watch();
        let draining = async move { lights.wait_for(|lights| lights.is_draining).await.is_ok() };
        ctx.spawn(draining.into_actor(self).map(|is_draining, tracker, ctx| {
            tracker.is_draining = is_draining;
            tracker.review(ctx);
        }));
    }
}

impl Handler<PollFailed> for FailureTrackerActor {
    type Result = ();

    fn handle(&mut self, failed: PollFailed, ctx: &mut Context<FailureTrackerActor>) {
        if self.around.faults.befall(FailureTrackerActor::NAME, "PollFailed", ctx) {
            return;
        }
        let PollFailed { poll, report, trace, is_explained } = failed;
        let host = poll.turn.as_ref().and_then(|turn| turn.seat.key.clone());
        let silent_host = host.filter(|_| heard(Some(&report)) == Some(Heard::Silence));
        let entry = Entry { poll, verdict: Verdict::Failed { report, trace, is_explained } };
        match silent_host {
            Some(host) => self.consider_silence(&host, entry, ctx),
            None => self.settle(entry, ctx),
        }
    }
}

impl Handler<HostAnswered> for FailureTrackerActor {
    type Result = ();

    fn handle(&mut self, HostAnswered { at }: HostAnswered, ctx: &mut Context<FailureTrackerActor>) {
        if self.around.faults.befall(FailureTrackerActor::NAME, "HostAnswered", ctx) {
            return;
        }
        let step = self.outage.answered(at);
        self.follow(step);
        if !self.doubted.is_empty() || step.is_some() {
            self.review(ctx);
        }
    }
}

impl Handler<PollLost> for FailureTrackerActor {
    type Result = ();

    /// Every poll ends in a record: one that was lost in a crash ends as our own fault.
    fn handle(&mut self, lost: PollLost, ctx: &mut Context<FailureTrackerActor>) {
        if self.around.faults.befall(FailureTrackerActor::NAME, "PollLost", ctx) {
            return;
        }
        let PollLost { errand } = lost;
        let (source_id, began_at) = (errand.source_id(), errand.began_at());
        let around = self.around.clone();
        let reading = async move {
            let found = around.store_watch.insist(|| around.store.source(source_id)).await;
            (errand, found)
        };
        ctx.spawn(reading.into_actor(self).map(move |(errand, found), tracker, ctx| {
            let source = match found {
                Ok(Some(source)) => source,
                Ok(None) => return errand.end(Return::Gone),
                Err(cause) => {
                    slog::error!(tracker.log, "lost poll not settled"; "source_id" => source_id.0, "error" => %cause);
                    return errand.end(Return::Superseded);
                }
            };
            if source.state.last_polled >= began_at {
                // It was settled; only the word of it was lost.
                return errand.end(Return::Superseded);
            }
            let now = tracker.around.clock.now();
            let ready = SourceToPoll { source, access: Ok(Default::default()) };
            let mut poll = Poll::new(errand, ready, now);
            poll.ended_at = now;
            let error = "the part of this program that polled it crashed; it is polled again".to_owned();
            let report = FailureReport { cause: FailureCause::Internal, error, retry_after: None };
            let verdict = Verdict::Failed { report, trace: Box::new(Trace::default()), is_explained: false };
            tracker.settle(Entry { poll: Box::new(poll), verdict }, ctx);
        }));
    }
}
