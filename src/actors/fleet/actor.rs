//! The fleet actor: renews the lease, tells the scheduler which shards it has, and reads messages. It has a thread of its
//! own, so that a busy pipeline does not delay a renewal.

use std::sync::Arc;
use std::time::Duration;

use actix::fut::WrapFuture;
use actix::{Actor, AsyncContext, Context};
use slog::{Logger, debug, error, o};

use super::turns::TurnWish;
use super::wire::MessageBody;
use super::{Fleet, FleetShared, NodeReport};
use crate::actors::context::PipelineContext;
use crate::actors::host::{HostTable, PermitRequest};
use crate::actors::messages::{
    AskScheduler, PausePolling, ReadSourcesAgain, ResumePolling, ShardsChanged, SourcesChanged,
};
use crate::clock::Stopwatch;
use crate::model::{HostKey, NodeMessage, Receiver, SourceId, Timestamp};
use crate::store::FleetNews;

/// Messages that are read at once.
const MESSAGES_AT_ONCE: u32 = 200;
/// How often drained shards are looked for while some are being drained.
const DRAIN_LOOK: Duration = Duration::from_millis(100);
/// Announcements of posts are taken together for this long.
const POSTS_TOGETHER: Duration = Duration::from_millis(200);
/// How long the scheduler may take to answer.
const STATUS_WITHIN: Duration = Duration::from_secs(1);
/// How often the end of the window is looked for.
const WINDOW_LOOK: Duration = Duration::from_millis(250);

pub(in crate::actors) struct FleetActor(FleetWorker);

#[derive(Clone)]
struct FleetWorker {
    context: Arc<PipelineContext>,
    table: HostTable,
    /// Deadline of a request.
    deadline: Duration,
    log: Logger,
}

impl FleetActor {
    /// Name in fault rules.
    const NAME: &'static str = "fleet";

    pub(in crate::actors) fn new(context: Arc<PipelineContext>, table: HostTable, deadline: Duration) -> FleetActor {
        let log = context.log.new(o!("actor" => "fleet"));
        FleetActor(FleetWorker { context, table, deadline, log })
    }
}

impl Actor for FleetActor {
    type Context = Context<FleetActor>;

    fn started(&mut self, ctx: &mut Context<FleetActor>) {
        let Some(shared) = self.0.fleet().0.clone() else { return };
        let tasks = [self.0.clone(), self.0.clone(), self.0.clone(), self.0.clone()];
        let [renewing, reading, sending, watching] = tasks;
        let of_task = [shared.clone(), shared.clone(), shared.clone()];
        let [of_renewing, of_reading, of_sending] = of_task;
        ctx.spawn(async move { renewing.renew(&of_renewing).await }.into_actor(self));
        ctx.spawn(async move { reading.read(&of_reading).await }.into_actor(self));
        ctx.spawn(async move { sending.send(&of_sending).await }.into_actor(self));
        ctx.spawn(async move { watching.watch_window(&shared).await }.into_actor(self));
    }
}

impl FleetWorker {
    fn fleet(&self) -> &Fleet {
        &self.context.fleet
    }

    /// Renews the lease, without end.
    async fn renew(&self, shared: &Arc<FleetShared>) {
        let mut rate = PollRate::default();
        let mut paused = None;
        let mut trouble_since = None;
        // A scheduler that was started before this actor has the shards of the join.
        loop {
            let began = Stopwatch::start();
            self.step_aside(shared, &mut trouble_since).await;
            self.context.faults.inject_into_work(FleetActor::NAME, "Renew").await;
            let report = self.report(&mut rate).await;
            let round = shared.round(&report, &self.log).await;
            if round.is_err() {
                // While the database is away, no other node could take over.
                trouble_since = None;
            }
            if let Ok(changes) = round {
                if !changes.left.is_empty() || !changes.gained.is_empty() {
                    let has_gained = !changes.gained.is_empty();
                    self.table.forget_hosts(|host| {
                        let shard = crate::sources::host_shard(host, &self.context.type_settings);
                        changes.left.contains(&shard) && !self.fleet().has_turns_of(host, &self.context.type_settings)
                    });
                    self.context.scheduler.do_send(ShardsChanged { gained: changes.gained, left: changes.left });
                    if has_gained {
                        self.take_messages(shared).await;
                        self.context.full_texts.wake();
                        self.context.events.note_arrival();
                    }
                }
                self.follow_pause(shared.state.lock().member.paused_since, &mut paused);
                // Announcements may be lost with a connection that has not noticed its end yet.
                self.take_messages(shared).await;
            }
            self.wait(shared, shared.windows().renew_every().saturating_sub(began.elapsed())).await;
        }
    }

    /// Leaves the fleet if the store has refused polls for a lease although renewals succeed: other nodes may do better.
    /// Comes back when it takes them again.
    async fn step_aside(&self, shared: &FleetShared, trouble_since: &mut Option<Duration>) {
        if self.context.store_watch.trouble().is_none() {
            *trouble_since = None;
            return;
        }
        let now = self.context.clock.monotonic();
        if now.saturating_sub(*trouble_since.get_or_insert(now)) < shared.lease {
            return;
        }
        if let Some(left) = shared.give_up(&self.log).await {
            self.context.scheduler.do_send(ShardsChanged { gained: Vec::new(), left });
        }
        while self.context.store_watch.trouble().is_some() {
            tokio::time::sleep(shared.windows().renew_every()).await;
        }
        *trouble_since = None;
    }

    /// Waits for the next renewal, and releases shards that are drained meanwhile.
    async fn wait(&self, shared: &FleetShared, time: Duration) {
        let watch = Stopwatch::start();
        loop {
            if shared.state.lock().held.draining() > 0
                && let Err(cause) = shared.release_drained(&self.log).await
            {
                debug!(self.log, "shards not released"; "error" => %cause);
            }
            let left = time.saturating_sub(watch.elapsed());
            if left.is_zero() {
                return;
            }
            let is_draining = shared.state.lock().held.draining() > 0;
            tokio::select! {
                () = tokio::time::sleep(if is_draining { left.min(DRAIN_LOOK) } else { left }) => {}
                () = shared.wake.notified() => return,
            }
        }
    }

    /// Suspends requests while the window for them is closed.
    async fn watch_window(&self, shared: &FleetShared) {
        loop {
            let is_closed = !shared.window.is_open();
            self.context.admission.switch(|blockers| blockers.is_lease_over = is_closed);
            tokio::time::sleep(WINDOW_LOOK).await;
        }
    }

    /// A pause that was stored at another node.
    fn follow_pause(&self, now: Option<Timestamp>, before: &mut Option<Option<Timestamp>>) {
        if *before != Some(now) {
            // The scheduler has read the pause itself at its start.
            if before.is_some() {
                match now {
                    Some(since) => self.context.scheduler.do_send(PausePolling { since }),
                    None => self.context.scheduler.do_send(ResumePolling),
                }
            }
            *before = Some(now);
        }
    }

    async fn report(&self, rate: &mut PollRate) -> NodeReport {
        let status = self.context.scheduler.send(AskScheduler).timeout(STATUS_WITHIN).await.ok();
        let done = self.context.statistics.view();
        let failed = done.failed.iter().sum();
        let polls = done.read + done.unchanged + failed;
        let view = self.fleet().view();
        let now = self.context.clock.now();
        NodeReport {
            sources: status.as_ref().map_or(0, |status| status.scheduled + status.waiting + status.under_way),
            waiting: status.as_ref().map_or(0, |status| status.waiting),
            under_way: status.as_ref().map_or(0, |status| status.under_way),
            lag_seconds: status
                .as_ref()
                .and_then(|status| status.oldest_due_at)
                .map_or(0.0, |due_at| now.since(due_at).as_secs_f64()),
            polls_per_second: rate.note(polls, self.context.clock.monotonic()),
            read: done.read,
            unchanged: done.unchanged,
            failed,
            new_posts: done.new_posts,
            updated_posts: done.updated_posts,
            fenced: done.fenced,
            clock_offset_seconds: view.as_ref().map_or(0.0, |view| view.clock_offset),
            is_paused: status.as_ref().is_some_and(|status| status.paused_since.is_some()),
            shards_draining: view.as_ref().map_or(0, |view| view.shards_draining),
        }
    }

    /// Reads announcements and messages, without end.
    async fn read(&self, shared: &Arc<FleetShared>) {
        loop {
            match shared.store.news().await {
                FleetNews::Message(receiver) if self.is_for_us(shared, receiver) => self.take_messages(shared).await,
                FleetNews::Message(_) => {}
                FleetNews::Free => shared.wake.notify_one(),
                FleetNews::Posts => {
                    tokio::time::sleep(POSTS_TOGETHER).await;
                    self.context.events.note_arrival();
                    self.context.full_texts.wake();
                }
                FleetNews::Missed => {
                    self.context.scheduler.do_send(ReadSourcesAgain);
                    self.context.events.note_arrival();
                    self.context.full_texts.wake();
                    self.take_messages(shared).await;
                }
            }
        }
    }

    fn is_for_us(&self, shared: &FleetShared, receiver: Receiver) -> bool {
        let state = shared.state.lock();
        match receiver {
            Receiver::Shard(shard) => state.held.since(shard).is_some(),
            Receiver::Node(node) => node == state.membership.node(),
        }
    }

    async fn take_messages(&self, shared: &Arc<FleetShared>) {
        loop {
            let (node, shards) = {
                let state = shared.state.lock();
                (state.membership.node(), state.held.all().collect())
            };
            match shared.store.take_messages(node, shards, MESSAGES_AT_ONCE).await {
                Ok(messages) => {
                    let is_last = messages.len() < MESSAGES_AT_ONCE as usize;
                    messages.into_iter().for_each(|message| self.handle(node == message.sender, message));
                    if is_last {
                        return;
                    }
                }
                Err(cause) => return debug!(self.log, "messages not read"; "error" => %cause),
            }
        }
    }

    fn handle(&self, is_own: bool, NodeMessage { sender, body, age }: NodeMessage) {
        let body = match serde_json::from_str(&body) {
            Ok(body) => body,
            // A newer version may send what this one does not know.
            Err(error) => return debug!(self.log, "message not understood"; "error" => %error),
        };
        let fleet = self.fleet();
        match body {
            // The scheduler of the node that made the change knows it.
            MessageBody::SourcesChanged(_) if is_own => {}
            MessageBody::SourcesChanged(ids) => {
                self.context.scheduler.do_send(SourcesChanged(ids.into_iter().map(SourceId).collect()));
            }
            MessageBody::Borrow { turn, host, pause_ms, is_forced } => {
                let request = PermitRequest {
                    pause: Duration::from_millis(pause_ms),
                    has_begun: true,
                    is_forced,
                    is_healthy: false,
                };
                let wish = TurnWish { borrower: sender, turn, host: HostKey::from_canonical(&host), request };
                let worker = self.clone();
                actix_rt::spawn(async move {
                    let FleetWorker { context, table, deadline, .. } = &worker;
                    worker.fleet().lend_turn_once(wish, context, table, *deadline).await;
                });
            }
            MessageBody::Granted { turn, state } => fleet.take_grant(turn, state, age, &self.context.type_settings),
            MessageBody::Refused { turn, until, because } => fleet.take_refusal(turn, until, because),
            MessageBody::Returned { turn, state } => fleet.take_return(sender, turn, state),
            MessageBody::Call { call, request } => fleet.take_call(sender, call, request),
            MessageBody::Answer { call, answer } => fleet.take_answer(call, answer),
        }
    }

    /// Sends messages, without end. The queue outlives the actor.
    async fn send(&self, shared: &FleetShared) {
        let mut outbox = shared.sending.lock().await;
        loop {
            let mut batch = Vec::new();
            if outbox.recv_many(&mut batch, MESSAGES_AT_ONCE as usize).await == 0 {
                return;
            }
            let written =
                batch.iter().filter_map(|(receiver, body)| Some((*receiver, serde_json::to_string(body).ok()?)));
            let messages: Vec<(Receiver, String)> = written.collect();
            let node = shared.state.lock().membership.node();
            if let Err(cause) = shared.store.send_messages(node, messages).await {
                // Callers that wait for an answer learn that none came.
                error!(self.log, "messages not sent"; "count" => batch.len(), "error" => %cause);
            }
        }
    }
}

/// Polls per second between two reports.
#[derive(Default)]
struct PollRate {
    last: Option<(u64, Duration)>,
}

impl PollRate {
    fn note(&mut self, polls: u64, at: Duration) -> f64 {
        let rate = self.last.map_or(0.0, |(before, since)| {
            let seconds = at.saturating_sub(since).as_secs_f64();
            if seconds > 0.0 { polls.saturating_sub(before) as f64 / seconds } else { 0.0 }
        });
        self.last = Some((polls, at));
        (rate * 100.0).round() / 100.0
    }
}
