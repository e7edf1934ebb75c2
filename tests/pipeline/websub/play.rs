//! A publisher, a hub, and a pipeline with a listener for the hub.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use feedwarden::actors::{Scope, WebSubSettings};
use feedwarden::api::{CallbackListener, CallbackServer};
use feedwarden::demo::web::hub::{CallbackReply, Hub, HubRequestSeen};
use feedwarden::model::{SourceId, Subscription, SubscriptionState};

use super::super::World;
use crate::store::Engine;

pub(super) struct Play {
    pub(super) world: World,
    pub(super) hub: Arc<Hub>,
    pub(super) publisher: Arc<Hub>,
    callbacks: Option<CallbackServer>,
}

/// A feed with this in its channel, and entries with these names.
pub(super) fn rss(said: &str, entries: &[&str]) -> String {
    let item = |name: &&str| format!("<item><guid>{name}</guid><title>{name}</title></item>");
    let items: String = entries.iter().map(item).collect();
    format!(
        "<rss version=\"2.0\" xmlns:atom=\"http://www.w3.org/2005/Atom\"><channel><title>A feed</title>{said}{items}\
         </channel></rss>"
    )
}

impl Play {
    /// A pipeline that hubs can reach. Nothing is subscribed yet.
    pub(super) async fn new(engine: Engine) -> Play {
        let mut world = World::of(engine, &[feedwarden::demo::web::SiteBehaviour::Healthy]).await;
        let listen = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let public_url = format!("http://{listen}/in");
        world.settings.websub = Some(WebSubSettings { public_url, listen });
        let hub = Arc::new(Hub::start("127.0.0.3:0").unwrap());
        let publisher = Arc::new(Hub::start("127.0.0.2:0").unwrap());
        let mut play = Play { world, hub, publisher, callbacks: None };
        play.start();
        play
    }

    pub(super) fn settings(&mut self) -> &mut WebSubSettings {
        self.world.settings.websub.as_mut().unwrap()
    }

    pub(super) fn start(&mut self) {
        self.world.start(Scope::Daemon);
        let WebSubSettings { public_url, listen } = self.world.settings.websub.clone().unwrap();
        let opened = CallbackListener::take(listen).unwrap().open(self.world.service(), &public_url).unwrap();
        self.callbacks = Some(opened);
    }

    pub(super) async fn stop(&mut self) {
        self.callbacks.take().unwrap().close().await;
        self.world.stop().await;
    }

    /// The link of a feed to the hub, as an element.
    pub(super) fn hub_link(&self) -> String {
        format!("<atom:link rel=\"hub\" href=\"{}\"/>", self.hub.url("/hub"))
    }

    /// Serves a feed with these entries at `/feed`.
    pub(super) fn publish(&self, entries: &[&str]) {
        self.publisher.put("/feed", 200, &[], &rss(&self.hub_link(), entries));
    }

    /// Adds the feed at this path, and waits until it was polled.
    pub(super) async fn add(&self, path: &str) -> SourceId {
        let settled = self.world.handle().statistics().view().settled();
        let id = self.world.add_feed(&self.publisher.url(path)).await;
        self.world.settled_so_far(settled + 1).await;
        id
    }

    /// Adds the feed at `/feed`, and waits until it is subscribed.
    pub(super) async fn subscribe(&self) -> SourceId {
        self.publish(&["one"]);
        let id = self.add("/feed").await;
        self.reaches(id, SubscriptionState::Active).await;
        id
    }

    pub(super) async fn subscription(&self, id: SourceId) -> Option<Subscription> {
        self.world.store.subscriptions_of_source(id, 1).await.unwrap().pop()
    }

    pub(super) async fn reaches(&self, id: SourceId, state: SubscriptionState) {
        let what = format!("a subscription that is {}", state.name());
        let is_so = async || self.subscription(id).await.is_some_and(|found| found.state == state);
        self.world.until(&what, is_so).await;
    }

    pub(super) async fn asked(&self, count: usize) -> HubRequestSeen {
        self.world.until(&format!("{count} requests at the hub"), async || self.hub.seen().len() >= count).await;
        let seen = self.hub.seen();
        assert_eq!(seen.len(), count, "{seen:#?}");
        seen.into_iter().next_back().unwrap()
    }

    /// Pushes to all subscribers of the feed; the statuses of their answers.
    pub(super) async fn push(&self) -> Vec<u16> {
        let topic = self.publisher.url("/feed");
        let answers = self.at_hub(move |hub| hub.publish(&topic, "<rss/>").unwrap()).await;
        answers.into_iter().map(|(status, _)| status).collect()
    }

    /// Has the hub do something that blocks.
    pub(super) async fn at_hub<T: Send + 'static>(&self, deed: impl FnOnce(&Hub) -> T + Send + 'static) -> T {
        let hub = self.hub.clone();
        tokio::task::spawn_blocking(move || deed(&hub)).await.unwrap()
    }

    /// Sends a body to a callback.
    pub(super) async fn send(&self, callback: &str, signature: Option<String>, body: Vec<u8>) -> CallbackReply {
        let callback = callback.to_owned();
        let pushing = move || feedwarden::demo::web::hub::push(&callback, signature.as_deref(), &body).unwrap();
        tokio::task::spawn_blocking(pushing).await.unwrap()
    }

    pub(super) async fn get(&self, url: String) -> CallbackReply {
        tokio::task::spawn_blocking(move || feedwarden::demo::web::hub::get(&url).unwrap()).await.unwrap()
    }

    /// How often the feed was asked for.
    pub(super) fn polls(&self) -> usize {
        self.publisher.gets("/feed")
    }

    /// Waits until the feed was asked for so often, and nothing is under way.
    pub(super) async fn polled(&self, count: usize) {
        self.world.until(&format!("{count} polls"), async || self.polls() >= count).await;
        self.world.quiet().await;
        assert_eq!(self.polls(), count);
    }

    /// Moves the clock on, and waits until nothing is left to be done.
    pub(super) async fn pass(&self, minutes: u64) {
        self.world.pass(Duration::from_secs(60 * minutes), 1).await;
    }
}
