//! Subscribes to the hubs that feeds name (WebSub), renews the leases, and ends subscriptions that are not wanted any more.
//!
//! What is wanted follows from the sources, and what there is stands in the store: the difference is what is to be done, so
//! no crash and no restart loses anything. Requests wait for the turn of the hub's host. Hubs call back at a listener of
//! its own (`api/callbacks`), at any node. No other actor waits for this one.
//!
//! - `request`: one request to a hub, with its redirects
//! - `push_state`: what pushes change about a source

mod push_state;
mod request;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use actix::fut::WrapFuture;
use actix::{Actor, AsyncContext, Context};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use slog::{debug, error, info};
use tokio::sync::Notify;

use super::context::PipelineContext;
use super::host::DocumentFetcher;
use super::side_work::while_working;
use super::store_watch::retry_while_unavailable;
use super::topology::Scope;
use crate::dice::new_secret;
use crate::fetch::HubMode;
use crate::model::{
    HostKey, NewSubscription, PushCount, Shard, Source, SourceId, Subscription, SubscriptionState, Timestamp,
};
use crate::rules::push::FOLLOW_AFTER;
use crate::rules::shown_url::shown_url;
use crate::rules::subscription::{self, SubscriptionStep};
use crate::store::{Store, StoreError};

pub use push_state::{change_push_state, forget_pushes};

/// Hosts of hubs that are asked, or waited for, at once.
const HOSTS_MAX: usize = 16;
/// Time between two comparisons of what is wanted with what there is.
const CHECK_EVERY: Duration = Duration::from_secs(60);
/// Rows that are read at once.
const PAGE: u32 = 200;
/// Sources whose finds wait to be counted.
const FINDS_MAX: usize = 10_000;

pub(super) struct WebSubActor {
    worker: WebSubWorker,
    scope: Scope,
}

/// What the other actors see of this one.
pub(super) struct WebSub {
    is_on: bool,
    changed: Notify,
    finds: Mutex<HashMap<SourceId, PushCount>>,
}

impl WebSub {
    pub(super) fn new(is_on: bool) -> WebSub {
        WebSub { is_on, changed: Notify::new(), finds: Mutex::default() }
    }

    /// Sources have changed, or what their feeds offer.
    pub(super) fn wake(&self) {
        self.changed.notify_one();
    }

    /// A poll of a subscribed source found something new. Lost if the process ends before it is counted.
    pub(super) fn note_find(&self, source: SourceId, is_by_push: bool) {
        let mut finds = self.finds.lock();
        if self.is_on && (finds.len() < FINDS_MAX || finds.contains_key(&source)) {
            let count = finds.entry(source).or_default();
            count.useful += u32::from(is_by_push);
            count.missed += u32::from(!is_by_push);
        }
    }
}

impl WebSubActor {
    /// Name in fault rules.
    const NAME: &'static str = "websub";

    pub(super) fn new(documents: DocumentFetcher, scope: Scope) -> WebSubActor {
        WebSubActor { worker: WebSubWorker { documents }, scope }
    }
}

impl Actor for WebSubActor {
    type Context = Context<WebSubActor>;

    fn started(&mut self, ctx: &mut Context<WebSubActor>) {
        // A run that ends by itself could not be called back.
        if self.scope == Scope::Daemon {
            let worker = self.worker.clone();
            ctx.spawn(async move { worker.run().await }.into_actor(self));
        }
    }
}

#[derive(Clone)]
struct WebSubWorker {
    documents: DocumentFetcher,
}

impl WebSubWorker {
    /// Asks hubs as subscriptions fall due, without end.
    async fn run(&self) {
        let context = self.context();
        let Some(settings) = context.settings.websub.clone() else { return self.end_all().await };
        let mut under_way = FuturesUnordered::new();
        let mut hosts = HashSet::<HostKey>::new();
        let mut check_at = context.clock.now();
        loop {
            let now = context.clock.now();
            let mut ended = Vec::new();
            let looking = async {
                if check_at <= now {
                    self.count_finds().await;
                    self.compare(&settings.public_url).await?;
                }
                self.due().await
            };
            let found = while_working(&mut under_way, &mut ended, looking).await;
            for host in ended {
                hosts.remove(&host);
            }
            if check_at <= now || check_at > now + CHECK_EVERY {
                check_at = now + CHECK_EVERY;
            }
            let mut wake_at = check_at;
            match found {
                Err(cause) => error!(self.documents.log, "websub subscriptions not read"; "error" => %cause),
                Ok((due, next_at)) => {
                    wake_at = next_at.map_or(wake_at, |at| at.min(wake_at));
                    for (host, subscription) in due {
                        if hosts.len() < HOSTS_MAX && hosts.insert(host.clone()) {
                            under_way.push(self.work_on(host, subscription));
                        }
                    }
                }
            }
            tokio::select! {
                Some(host) = under_way.next(), if !under_way.is_empty() => {
                    hosts.remove(&host);
                }
                () = context.websub.changed.notified() => check_at = context.clock.now(),
                () = context.clock.until(wake_at) => {}
            }
        }
    }

    /// Without a URL for callbacks no hub reaches this program: its leases end by themselves.
    async fn end_all(&self) {
        if !self.context().fleet.owns(Shard::COMMON) {
            return;
        }
        let ending = async {
            let mut count = 0;
            loop {
                let now = self.context().clock.now();
                let store = &self.context().store;
                let page = retry_while_unavailable(|| store.subscriptions_to_end("", now, "", PAGE)).await?;
                for subscription in &page {
                    self.forget(subscription.source_id).await?;
                    retry_while_unavailable(|| store.remove_subscription(&subscription.token)).await?;
                    count += 1;
                }
                if page.is_empty() {
                    return Ok::<usize, StoreError>(count);
                }
            }
        };
        match ending.await {
            Ok(0) => {}
            Ok(count) => info!(self.documents.log, "websub subscriptions dropped"; "count" => count,
                "reason" => "websub.public-url and websub.listen are not set any more; hubs stop when the leases end"),
            Err(cause) => error!(self.documents.log, "websub subscriptions not read"; "error" => %cause),
        }
    }

    async fn count_finds(&self) {
        let finds = std::mem::take(&mut *self.context().websub.finds.lock());
        for (source, count) in finds {
            if let Err(cause) = self.context().store.count_finds(source, count).await {
                debug!(self.documents.log, "websub finds not counted"; "source_id" => source.0, "error" => %cause);
            }
        }
    }

    /// Begins to end what is not wanted any more, and adds what is wanted.
    async fn compare(&self, public_url: &str) -> Result<(), StoreError> {
        let PipelineContext { store, clock, .. } = &**self.context();
        let followed_max = clock.now() - FOLLOW_AFTER;
        let mut after = String::new();
        loop {
            let page =
                retry_while_unavailable(|| store.subscriptions_to_end(public_url, followed_max, &after, PAGE)).await?;
            let Some(last) = page.last() else { break };
            after.clone_from(&last.token);
            for mut subscription in page {
                if self.owned_host(&subscription.hub).is_none() {
                    continue;
                }
                subscription::leave(&mut subscription, clock.now());
                if !retry_while_unavailable(|| store.save_subscription(&subscription)).await? {
                    // It was changed meanwhile, such as by the end of a request.
                    self.context().websub.wake();
                } else {
                    self.forget(subscription.source_id).await?;
                    info!(self.documents.log, "websub subscription ending"; "source_id" => subscription.source_id.0,
                        "hub" => shown_url(&subscription.hub), "topic" => shown_url(&subscription.topic));
                }
            }
        }
        let mut after = SourceId(0);
        loop {
            let page = retry_while_unavailable(|| store.sources_to_subscribe(after, PAGE)).await?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = *last;
            for (source_id, offer) in page {
                let Some(hub) = offer.hubs.first().filter(|hub| self.owned_host(hub).is_some()) else { continue };
                let new = NewSubscription {
                    token: new_secret(),
                    secret: new_secret().into(),
                    source_id,
                    hub: hub.clone(),
                    topic: offer.topic.clone(),
                    public_url: public_url.to_owned(),
                    created_at: clock.now(),
                };
                retry_while_unavailable(|| store.add_subscription(new.clone())).await?;
            }
        }
    }

    /// Subscriptions of this node that are due, with the hosts of their hubs; and when the next one is.
    async fn due(&self) -> Result<(Vec<(HostKey, Subscription)>, Option<Timestamp>), StoreError> {
        let PipelineContext { store, clock, .. } = &**self.context();
        if retry_while_unavailable(|| store.paused_since()).await?.is_some() {
            return Ok((Vec::new(), None));
        }
        let now = clock.now();
        let (mut due, mut after) = (Vec::new(), String::new());
        while due.len() < PAGE as usize {
            let page = retry_while_unavailable(|| {
                store.subscriptions_due(now, subscription::unknown_times(now), &after, PAGE)
            });
            let page = page.await?;
            let Some(last) = page.last() else { break };
            after.clone_from(&last.token);
            let with_host = |one: Subscription| Some((self.owned_host(&one.hub)?, one));
            due.extend(page.into_iter().filter_map(with_host));
        }
        let next_at = retry_while_unavailable(|| store.next_subscription_at(now)).await?;
        Ok((due, next_at))
    }

    /// The host of a hub, if this node is the one that asks it.
    fn owned_host(&self, hub: &str) -> Option<HostKey> {
        HostKey::of_url(hub).filter(|host| self.context().fleet.owns(Shard::of_host(Some(host))))
    }

    async fn work_on(&self, host: HostKey, subscription: Subscription) -> HostKey {
        if let Err(cause) = self.work(&host, subscription).await {
            error!(self.documents.log, "websub subscription not stored"; "host" => host.as_str(), "error" => %cause);
            // The same error would follow at once.
            self.context().clock.until(self.context().clock.now() + CHECK_EVERY).await;
        }
        host
    }

    async fn work(&self, host: &HostKey, mut subscription: Subscription) -> Result<(), StoreError> {
        // Held until the answer is stored: meanwhile no other node asks this hub.
        let Some(_claim) = self.context().fleet.claim(Shard::of_host(Some(host))) else { return Ok(()) };
        let PipelineContext { store, clock, dice, .. } = &**self.context();
        let source = retry_while_unavailable(|| store.source(subscription.source_id)).await.unwrap_or_default();
        let now = clock.now();
        if subscription::is_unverified(&subscription, now) {
            let error = subscription::unverified();
            self.note_refusal(&mut subscription, &error, &hubs_of(source.as_ref()), dice.roll()).await?;
            return Ok(());
        }
        let mode = match subscription::step(&subscription, now) {
            SubscriptionStep::Wait => return Ok(()),
            SubscriptionStep::Remove => return self.remove(&subscription).await,
            SubscriptionStep::Subscribe => HubMode::Subscribe,
            SubscriptionStep::Unsubscribe => HubMode::Unsubscribe,
        };
        let turn = match self.turn(&subscription, source.as_ref()).await {
            Ok(turn) => turn,
            Err(no_turn) => {
                debug!(self.documents.log, "websub request deferred"; "host" => host.as_str(),
                    "until" => %no_turn.until, "reason" => no_turn.because);
                subscription.next_attempt_at = no_turn.until.max(now + Duration::from_secs(1));
                return retry_while_unavailable(|| store.save_subscription(&subscription)).await.map(|_| ());
            }
        };
        if subscription::has_lapsed(&subscription, clock.now()) {
            info!(self.documents.log, "websub lease over"; "source_id" => subscription.source_id.0,
                "hub" => shown_url(&subscription.hub), "error" => subscription.last_error.clone());
            self.forget(subscription.source_id).await?;
        }
        subscription::begin(&mut subscription, clock.now());
        if !retry_while_unavailable(|| store.save_subscription(&subscription)).await? {
            return Ok(());
        }
        if self.context().faults.inject_into_work(WebSubActor::NAME, "Ask").await {
            return Ok(());
        }
        let asked = self.ask(turn, &subscription, mode, source.as_ref()).await;
        if self.context().faults.inject_into_work(WebSubActor::NAME, "Asked").await {
            return Ok(());
        }
        // The hub may have verified the request meanwhile.
        let token = subscription.token.clone();
        while let Some(mut fresh) = retry_while_unavailable(|| store.subscription(&token)).await? {
            let is_saved = match &asked {
                Ok(()) => {
                    subscription::accepted(&mut fresh);
                    debug!(self.documents.log, "websub request accepted"; "source_id" => fresh.source_id.0,
                        "mode" => mode.name(), "hub" => shown_url(&fresh.hub));
                    retry_while_unavailable(|| store.save_subscription(&fresh)).await?
                }
                Err(_) if fresh.asked_at.is_none() => true,
                Err(error) => self.note_refusal(&mut fresh, error, &hubs_of(source.as_ref()), dice.roll()).await?,
            };
            if is_saved {
                break;
            }
        }
        Ok(())
    }

    async fn note_refusal(
        &self,
        subscription: &mut Subscription,
        error: &str,
        hubs: &[String],
        dice: f64,
    ) -> Result<bool, StoreError> {
        let hub = shown_url(&subscription.hub);
        subscription::refused(subscription, error, hubs, self.context().clock.now(), dice);
        let store = &self.context().store;
        let is_saved = retry_while_unavailable(|| store.save_subscription(subscription)).await?;
        if is_saved {
            info!(self.documents.log, "websub request failed"; "source_id" => subscription.source_id.0, "hub" => hub,
                "error" => error, "attempts" => subscription.attempts,
                "retry_at" => subscription.next_attempt_at.to_string());
        }
        Ok(is_saved)
    }

    async fn remove(&self, subscription: &Subscription) -> Result<(), StoreError> {
        let store = &self.context().store;
        if subscription.state != SubscriptionState::Leaving {
            self.forget(subscription.source_id).await?;
        }
        retry_while_unavailable(|| store.remove_subscription(&subscription.token)).await?;
        info!(self.documents.log, "websub subscription removed"; "source_id" => subscription.source_id.0,
            "hub" => shown_url(&subscription.hub), "reason" => "the hub was not told, or did not confirm it; its pushes \
                are answered with 410");
        self.context().websub.wake();
        Ok(())
    }

    /// No pushes can be expected for a source any more.
    async fn forget(&self, source: SourceId) -> Result<(), StoreError> {
        let PipelineContext { store, clock, scheduler, .. } = &**self.context();
        let store: &dyn Store = store.as_ref();
        if retry_while_unavailable(|| forget_pushes(store, source, clock.now())).await? {
            scheduler.do_send(super::messages::SourcesChanged(vec![source]));
        }
        Ok(())
    }

    fn context(&self) -> &Arc<PipelineContext> {
        &self.documents.context
    }
}

fn hubs_of(source: Option<&Source>) -> Vec<String> {
    source.and_then(|source| source.state.push.offer.as_ref()).map(|offer| offer.hubs.clone()).unwrap_or_default()
}
