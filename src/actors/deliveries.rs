//! Delivers events to webhooks: in the order of their numbers, at least once, each webhook at its own pace.
//!
//! Posts and events are the outbox, and the progress of each webhook is in the store: after a crash or a kill only the
//! batch under way is delivered again. No other actor waits for this one. What a delivery looks like and how it is sent
//! is in `delivery`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use actix::fut::WrapFuture;
use actix::{Actor, AsyncContext, Context, Handler, Message, ResponseFuture};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use slog::{Logger, debug, error, info, o, warn};
use tokio::sync::Semaphore;

use super::context::PipelineContext;
use super::side_work::while_working;
use super::store_watch::retry_while_unavailable;
use crate::delivery::{Batch, Delivered, Transports};
use crate::model::{
    DeliveryFormat, DeliveryRecord, EventSelection, EventSubject, EventType, FailureCause, FailureKind, FailureReport,
    PostSource, Shard, SourceId, StreamEvent, Timestamp, Webhook, WebhookId, WebhookProgress, WebhookTarget,
};
use crate::rules::classify::classify;
use crate::rules::shown_url::{shown_url, shown_webhook_url};
use crate::rules::stored_times::corrected_retry;
use crate::rules::webhook::{AfterFailure, after_failure};
use crate::store::{PageBounds, StoreError};

/// The most webhooks that are served.
pub const WEBHOOKS_MAX: u32 = 100;
/// Deliveries at once.
const AT_ONCE: usize = 8;
/// Time between two checks for posts of other nodes and for webhooks that were added or enabled.
const CHECK_EVERY: Duration = Duration::from_secs(15);
/// Wait after a fault of our own.
const INTERNAL_RETRY: Duration = Duration::from_secs(60);
/// Pages that a webhook gets before another one has its turn.
const PAGES_PER_TURN: usize = 20;

pub(super) struct DeliveryActor {
    deliverer: Deliverer,
    /// Bounds the tests at once.
    tests: Arc<Semaphore>,
}

/// Sends a webhook a delivery without events, independently of its other deliveries.
#[derive(Message)]
#[rtype(result = "Result<(), FailureReport>")]
pub(super) struct TestWebhook(pub(super) WebhookId);

/// How a turn of a webhook ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TurnEnd {
    /// There may be more to send; after a failure the store says when.
    Again,
    /// There is nothing to send, or nothing that could be sent.
    Idle,
}

impl DeliveryActor {
    /// Name in fault rules.
    const NAME: &'static str = "webhooks";

    pub(super) fn new(context: Arc<PipelineContext>, transports: Transports) -> DeliveryActor {
        let log = context.log.new(o!("actor" => "webhooks"));
        DeliveryActor { deliverer: Deliverer { context, transports, log }, tests: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl Actor for DeliveryActor {
    type Context = Context<DeliveryActor>;

    fn started(&mut self, ctx: &mut Context<DeliveryActor>) {
        let deliverer = self.deliverer.clone();
        ctx.spawn(async move { deliverer.run().await }.into_actor(self));
    }
}

impl Handler<TestWebhook> for DeliveryActor {
    type Result = ResponseFuture<Result<(), FailureReport>>;

    fn handle(&mut self, TestWebhook(id): TestWebhook, _: &mut Context<DeliveryActor>) -> Self::Result {
        let (deliverer, tests) = (self.deliverer.clone(), self.tests.clone());
        Box::pin(async move {
            let _slot = tests.acquire().await;
            let target = deliverer.target(id).await?;
            let batch = deliverer.batch(id, Vec::new(), HashMap::new(), true);
            deliverer.transports.deliver(&target, &batch).await.failure.map_or(Ok(()), Err)
        })
    }
}

/// The shard whose owner delivers to a webhook.
fn shard_of(id: WebhookId) -> Shard {
    Shard::of_name(&format!("webhook {id}"))
}

#[derive(Clone)]
struct Deliverer {
    context: Arc<PipelineContext>,
    transports: Transports,
    log: Logger,
}

impl Deliverer {
    /// Gives turns to the webhooks, without end. A webhook has one turn at a time, and none before it may have new
    /// posts.
    async fn run(&self) {
        let mut arrivals = self.context.events.arrivals();
        let mut turns = FuturesUnordered::new();
        let mut under_way = HashMap::<WebhookId, u64>::new();
        let mut idle = HashSet::<WebhookId>::new();
        // Counts the arrivals of posts: a webhook whose turn began before one is not idle after it.
        let mut news = 0_u64;
        let mut check_at = self.context.clock.now() + CHECK_EVERY;
        loop {
            let mut wake_at = check_at;
            let mut ended = Vec::new();
            let webhooks = while_working(&mut turns, &mut ended, self.webhooks()).await;
            for (id, turn) in ended {
                if under_way.remove(&id) == Some(news) && turn == TurnEnd::Idle {
                    idle.insert(id);
                }
            }
            for webhook in webhooks {
                let is_free = !under_way.contains_key(&webhook.id) && !idle.contains(&webhook.id);
                let (now, wait_max) = (self.context.clock.now(), self.context.policy().webhooks.retry_max);
                if !self.is_ours(webhook.id) {
                    continue;
                }
                match webhook.progress.retry_at.map(|at| corrected_retry(at, wait_max, now)) {
                    _ if !is_free || !webhook.enabled => {}
                    Some(at) if at > now => wake_at = wake_at.min(at),
                    _ if turns.len() >= AT_ONCE => {}
                    _ => {
                        under_way.insert(webhook.id, news);
                        turns.push(self.turn(webhook.id));
                    }
                }
            }
            tokio::select! {
                Some((id, turn)) = turns.next(), if !turns.is_empty() => {
                    if under_way.remove(&id) == Some(news) && turn == TurnEnd::Idle {
                        idle.insert(id);
                    }
                    continue;
                }
                Ok(()) = arrivals.changed() => {}
                () = self.context.clock.until(wake_at) => {}
            }
            news += 1;
            idle.clear();
            check_at = self.context.clock.now() + CHECK_EVERY;
        }
    }

    async fn webhooks(&self) -> Vec<Webhook> {
        let read = retry_while_unavailable(|| self.context.store.list_webhooks(None, WEBHOOKS_MAX)).await;
        read.unwrap_or_else(|cause| {
            error!(self.log, "webhooks not read"; "error" => %cause);
            Vec::new()
        })
    }

    /// Whether this node delivers to a webhook.
    fn is_ours(&self, id: WebhookId) -> bool {
        self.context.fleet.owns(shard_of(id))
    }

    async fn turn(&self, id: WebhookId) -> (WebhookId, TurnEnd) {
        // Held until the turn is over: meanwhile no other node delivers to it.
        let Some(_claim) = self.context.fleet.claim(shard_of(id)) else { return (id, TurnEnd::Idle) };
        let turn = self.pages(id).await.unwrap_or_else(|cause| {
            error!(self.log, "webhook delivery not prepared"; "webhook_id" => id.0, "error" => %cause);
            TurnEnd::Idle
        });
        (id, turn)
    }

    async fn pages(&self, id: WebhookId) -> Result<TurnEnd, StoreError> {
        let store = &self.context.store;
        for _ in 0..PAGES_PER_TURN {
            if !self.is_ours(id) {
                return Ok(TurnEnd::Idle);
            }
            // Read again for every page: it may have been changed, disabled or removed.
            let webhook = retry_while_unavailable(|| store.webhook(id)).await?.filter(|webhook| webhook.enabled);
            let Some(webhook) = webhook else { return Ok(TurnEnd::Idle) };
            let policy = self.context.policy().webhooks.clone();
            let selection =
                EventSelection { after: webhook.progress.last_change_number, source: None, types: types_of(&webhook) };
            // More than fits into a delivery, because only the events with the label of the webhook go into it.
            let bounds = PageBounds { rows: policy.posts_max, bytes: 4 * policy.body_bytes_max as u64 };
            let page = retry_while_unavailable(|| store.events_page(selection.clone(), bounds)).await?;
            if let Some(removed) = page.removed_up_to {
                warn!(self.log, "events missed"; "webhook_id" => id.0, "up_to" => removed,
                    "reason" => "the clean-up removed events before they were delivered (events.days, events.max)");
            }
            let reached = page.reached.max(page.removed_up_to.unwrap_or(0));
            let sources = self.sources_of(&page.events).await?;
            let wanted: Vec<StreamEvent> =
                page.events.into_iter().filter(|event| is_wanted(&webhook, event, &sources)).collect();
            let from = webhook.progress.last_change_number;
            if wanted.is_empty() {
                if reached > from {
                    let progress = WebhookProgress { last_change_number: reached, ..webhook.progress };
                    self.record(id, from, progress, None, None).await?;
                }
                match page.has_more {
                    true => continue,
                    false => return Ok(TurnEnd::Idle),
                }
            }
            if self.context.faults.inject_into_work(DeliveryActor::NAME, "Deliver").await {
                return Ok(TurnEnd::Again);
            }
            let numbers: Vec<i64> = wanted.iter().map(|event| event.number).collect();
            let sent = match self.target(id).await {
                // Disabled since the events were read.
                Ok(target) if !target.enabled => return Ok(TurnEnd::Idle),
                // The types depend on the format.
                Ok(target) if target.format != webhook.format => continue,
                Ok(target) => self.transports.deliver(&target, &self.batch(id, wanted, sources, false)).await,
                Err(report) => Delivered { taken: 0, failure: Some(report) },
            };
            if self.context.faults.inject_into_work(DeliveryActor::NAME, "Delivered").await {
                return Ok(TurnEnd::Again);
            }
            let Delivered { taken, failure } = sent;
            let mut webhook = webhook;
            if taken > 0 {
                self.context.statistics.count_delivery(Some(taken));
                debug!(self.log, "webhook delivered"; "webhook_id" => id.0, "events" => taken);
                // What is behind the last wanted event is not wanted.
                let reached = if taken == numbers.len() { reached } else { numbers[taken - 1] };
                webhook.progress =
                    WebhookProgress { last_change_number: reached, failures: 0, retry_at: None, last_error: None };
                self.record(id, from, webhook.progress.clone(), Some(self.context.clock.now()), None).await?;
            }
            if let Some(report) = failure {
                self.context.statistics.count_delivery(None);
                self.failed(webhook, report).await?;
                return Ok(TurnEnd::Again);
            }
        }
        Ok(TurnEnd::Again)
    }

    fn batch(
        &self,
        receiver: WebhookId,
        events: Vec<StreamEvent>,
        sources: HashMap<SourceId, PostSource>,
        is_test: bool,
    ) -> Batch {
        let policy = self.context.policy();
        let (timeout, body_bytes_max) = (policy.webhooks.timeout, policy.webhooks.body_bytes_max);
        Batch { receiver, events, sources, timeout, body_bytes_max, is_test }
    }

    /// The sources of these events, with their labels and without credentials in their URLs.
    async fn sources_of(&self, events: &[StreamEvent]) -> Result<HashMap<SourceId, PostSource>, StoreError> {
        let store = &self.context.store;
        let ids: HashSet<SourceId> = events.iter().filter_map(StreamEvent::source_id).collect();
        let ids: Vec<SourceId> = ids.into_iter().collect();
        let sources = retry_while_unavailable(|| store.sources_of_posts(ids.clone())).await?.into_iter();
        let shown = |source: PostSource| (source.id, PostSource { url: shown_url(&source.url), ..source });
        let mut sources: HashMap<SourceId, PostSource> = sources.map(shown).collect();
        for (id, label) in retry_while_unavailable(|| store.labels_of(ids.clone())).await? {
            if let Some(source) = sources.get_mut(&id) {
                source.labels.push(label);
            }
        }
        Ok(sources)
    }

    /// Where a delivery goes, read just before it is sent: what a person changed while it was prepared holds for it.
    async fn target(&self, id: WebhookId) -> Result<WebhookTarget, FailureReport> {
        let store = &self.context.store;
        let error = match retry_while_unavailable(|| store.webhook_target(id)).await {
            Ok(Some(target)) => return Ok(target),
            Ok(None) => "it was removed".to_owned(),
            Err(cause) => cause.to_string(),
        };
        Err(FailureReport { cause: FailureCause::Internal, error, retry_after: None })
    }

    async fn failed(&self, webhook: Webhook, report: FailureReport) -> Result<(), StoreError> {
        let PipelineContext { clock, dice, .. } = &*self.context;
        let mut progress = webhook.progress;
        progress.last_error = Some(report.error.clone());
        let (id, url) = (webhook.id.0, shown_webhook_url(&webhook.url));
        if classify(report.cause).kind == FailureKind::Internal {
            // Not the receiver's fault, such as a secret that our key does not open: not counted, tried again.
            let at = clock.now() + INTERNAL_RETRY;
            error!(self.log, "webhook delivery not prepared"; "webhook_id" => id, "error" => report.error,
                "retry_at" => at.to_string());
            progress.retry_at = Some(at);
            return self.record(webhook.id, progress.last_change_number, progress, None, None).await;
        }
        progress.failures = progress.failures.saturating_add(1);
        let policy = &self.context.policy().webhooks;
        let reason = match after_failure(progress.failures, &report, policy, clock.now(), dice.roll()) {
            AfterFailure::Retry(at) => {
                info!(self.log, "webhook failed"; "webhook_id" => id, "url" => url, "error" => report.error,
                    "failures" => progress.failures, "retry_at" => at.to_string());
                progress.retry_at = Some(at);
                None
            }
            AfterFailure::Disable(reason) => {
                warn!(self.log, "webhook disabled"; "webhook_id" => id, "url" => url, "reason" => &reason,
                    "failures" => progress.failures);
                progress.retry_at = None;
                Some(reason)
            }
        };
        self.record(webhook.id, progress.last_change_number, progress, None, reason).await
    }

    async fn record(
        &self,
        id: WebhookId,
        from: i64,
        progress: WebhookProgress,
        delivered_at: Option<Timestamp>,
        disabled_reason: Option<String>,
    ) -> Result<(), StoreError> {
        let record = DeliveryRecord { progress, delivered_at, disabled_reason };
        let store = &self.context.store;
        // Another node may have moved it since; then its progress counts.
        retry_while_unavailable(|| store.record_delivery(id, from, record.clone())).await.map(|_| ())
    }
}

/// Types of the events that a webhook may get.
fn types_of(webhook: &Webhook) -> Vec<EventType> {
    if webhook.format == DeliveryFormat::Classic { EventType::POSTS.to_vec() } else { webhook.wanted_types() }
}

fn is_wanted(webhook: &Webhook, event: &StreamEvent, sources: &HashMap<SourceId, PostSource>) -> bool {
    // In the classic format a post that was changed before it was sent is sent once, with its last change.
    if let (DeliveryFormat::Classic, EventSubject::Created(post)) = (webhook.format, &event.what)
        && post.change_number != event.number
    {
        return false;
    }
    let Some(label) = &webhook.label else { return true };
    let source = event.source_id().and_then(|id| sources.get(&id));
    source.is_some_and(|source| source.labels.contains(label))
}
