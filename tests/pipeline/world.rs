//! A simulated web, a store and a pipeline between them.

use std::sync::Arc;
use std::time::Duration;

use actix_rt::task::JoinHandle;
use feedwarden::actors::{Fleet, Parts, Pipeline, PipelineHandle, PipelineSettings, Scope};
use feedwarden::clock::{Clock, HeldClock};
use feedwarden::demo::web::{Exchange, Mix, SiteBehaviour, Web, WebSettings};
use feedwarden::dice::{Dice, HeldDice};
use feedwarden::fetch::Fetcher;
use feedwarden::http::{Client, HttpSettings};
use feedwarden::model::{HostState, NewSource, SettledPoll, Source, SourceId, SourceSettings, SourceType, Timestamp};
use feedwarden::rules::change::{Change, apply};
use feedwarden::rules::due::next_poll;
use feedwarden::rules::{Delays, Policy, minutes};
use feedwarden::service::Service;
use feedwarden::sources::{TypeSettings, default_delays};
use feedwarden::store::{Added, Saved};
use feedwarden::supervision::{Intensity, RootEnd};

use super::{Records, collecting_logger};
use crate::store::{Engine, NOW, TestStore, at};

/// Far longer than anything should take: a bound, not a wait.
const PATIENCE: Duration = Duration::from_secs(30);

/// Everything that a test of the pipeline needs. A pipeline runs in it only between `start` and `stop`.
pub(crate) struct World {
    pub(crate) clock: Arc<HeldClock>,
    pub(crate) store: TestStore,
    pub(crate) web: Web,
    pub(crate) policy: Policy,
    pub(crate) settings: PipelineSettings,
    pub(crate) http: HttpSettings,
    pub(crate) types: TypeSettings,
    pub(crate) dice: Arc<dyn Dice>,
    /// The clock of the pipeline alone, where that has to be another one.
    pub(crate) pipeline_clock: Arc<dyn Clock>,
    pub(crate) records: Records,
    running: Option<(PipelineHandle, JoinHandle<RootEnd>)>,
}

/// Runs a test on an actix system of its own.
pub(crate) fn run(test: impl AsyncFnOnce()) {
    actix_rt::System::new().block_on(test());
}

impl World {
    /// A world with this web; every source polls each hour, and hosts are asked without pause.
    pub(crate) async fn with(engine: Engine, web: WebSettings) -> World {
        World::around(engine.store().await, web)
    }

    /// The same around a store of one's own.
    pub(crate) fn around(store: TestStore, web: WebSettings) -> World {
        let clock = Arc::new(HeldClock::at(at(NOW)));
        let web = Web::start(web, Arc::new(clock.true_time())).unwrap();
        let mut settings = PipelineSettings::default();
        settings.scheduler.look_gap = Duration::ZERO;
        settings.fetch.threads = Some(1);
        settings.intensity = Intensity { delay_first: Duration::ZERO, ..Intensity::default() };
        let http = HttpSettings {
            allowed_networks: vec!["127.0.0.0/8".parse().unwrap()],
            deadline: Duration::from_secs(5),
            ..HttpSettings::default()
        };
        World {
            clock: clock.clone(),
            store,
            web,
            policy: Policy {
                interval: minutes(60),
                adaptive: None,
                delays: Delays { by_type: default_delays(), ..Delays::default() },
                ..Policy::default()
            },
            settings,
            http,
            types: TypeSettings::default(),
            dice: Arc::new(HeldDice(0.0)),
            pipeline_clock: clock.clone(),
            records: Records::default(),
            running: None,
        }
    }

    /// A world of sites with these behaviours, all on hosts of their own.
    pub(crate) async fn of(engine: Engine, behaviours: &[SiteBehaviour]) -> World {
        let count = behaviours.len();
        let mix = Mix::InTurn(behaviours.to_vec());
        World::with(engine, WebSettings { hosts: count, sites: count, mix, ..WebSettings::default() }).await
    }

    /// A world of sites with these behaviours, all on one host.
    pub(crate) async fn on_one_host(engine: Engine, behaviours: &[SiteBehaviour]) -> World {
        let mix = Mix::InTurn(behaviours.to_vec());
        World::with(engine, WebSettings { hosts: 1, sites: behaviours.len(), mix, ..WebSettings::default() }).await
    }

    /// Starts a pipeline, adds a source for every site, and waits until each has been polled.
    pub(crate) async fn start_and_poll_all(&mut self) -> Vec<SourceId> {
        self.start(Scope::Daemon);
        let ids = self.add_all().await;
        self.handle().sources_changed(ids.clone());
        self.settled(ids.len() as u64).await;
        ids
    }

    /// Adds a feed at this URL, and tells the pipeline if one runs.
    pub(crate) async fn add_feed(&self, url: &str) -> SourceId {
        let settings = SourceSettings::new(SourceType::Rss, url);
        let ids = self.add(vec![NewSource { settings, created_at: self.clock.now() }]).await;
        if let Some((handle, _)) = &self.running {
            handle.sources_changed(ids.clone());
        }
        ids[0]
    }

    /// Does to a source what a person wants, and tells the pipeline if one runs.
    pub(crate) async fn change(&self, id: SourceId, change: Change) {
        let mut source = self.source(id).await;
        apply(&mut source, change, self.now());
        assert!(matches!(self.store.save_source(source, self.now()).await.unwrap(), Saved::Written(_)));
        if let Some((handle, _)) = &self.running {
            handle.sources_changed(vec![id]);
        }
    }

    /// What the store knows of the host of a site.
    pub(crate) async fn stored_host(&self, site: usize) -> Option<HostState> {
        let key = feedwarden::rules::host_key::host_key(&self.web.sites()[site].url).unwrap();
        self.store.host(&key).await.unwrap()
    }

    /// What a site was asked, its robots.txt aside.
    pub(crate) fn asked(&self, site: usize) -> Vec<Exchange> {
        self.web.journal().into_iter().filter(|exchange| exchange.site == Some(site)).collect()
    }

    /// The seconds between this moment and the beginnings of all requests so far.
    pub(crate) fn seconds_since(&self, moment: Timestamp) -> Vec<u64> {
        self.web.journal().iter().map(|exchange| exchange.began_at.since(moment).as_secs()).collect()
    }

    /// Adds a source for every site, now.
    pub(crate) async fn add_all(&self) -> Vec<SourceId> {
        let sites = 0..self.web.sites().len();
        let new = sites.map(|site| NewSource { settings: self.site(site), created_at: self.clock.now() }).collect();
        self.add(new).await
    }

    pub(crate) async fn add(&self, new: Vec<NewSource>) -> Vec<SourceId> {
        let added = self.store.add_sources(new).await.unwrap().into_iter();
        added
            .map(|added| match added {
                Added::New(id) | Added::Duplicate(id) => id,
            })
            .collect()
    }

    pub(crate) fn site(&self, site: usize) -> SourceSettings {
        let site = &self.web.sites()[site];
        SourceSettings::new(site.source_type, site.url.as_str())
    }

    pub(crate) async fn source(&self, id: SourceId) -> Source {
        self.store.source(id).await.unwrap().unwrap()
    }

    /// The stored polls of a source, newest first.
    pub(crate) async fn history(&self, id: SourceId) -> Vec<SettledPoll> {
        let polls = self.store.polls_of_source(id, None, 1000).await.unwrap();
        polls.into_iter().map(|stored| stored.poll).collect()
    }

    /// What the pipeline would be made of.
    pub(crate) fn parts(&mut self) -> Parts {
        let (log, records) = collecting_logger();
        self.records = records;
        let clock = self.pipeline_clock.clone();
        let client = Client::new(self.http.clone(), move || clock.now()).unwrap();
        Parts {
            store: self.store.shared(),
            clock: self.pipeline_clock.clone(),
            dice: self.dice.clone(),
            fetcher: Fetcher::new(client),
            type_settings: self.types.clone(),
            policy: self.policy.clone(),
            settings: self.settings.clone(),
            fleet: Fleet::alone(),
            log,
        }
    }

    /// Starts a pipeline. The clock moves on a little first: what was added before was there before.
    pub(crate) fn start(&mut self, scope: Scope) {
        assert!(self.running.is_none(), "one pipeline at a time");
        self.clock.restart();
        self.clock.advance(Duration::from_micros(1));
        let pipeline = Pipeline::new(self.parts(), scope);
        let handle = pipeline.handle();
        self.running = Some((handle, actix_rt::spawn(pipeline.run())));
    }

    /// Drains and stops it, as the daemon does.
    pub(crate) async fn stop(&mut self) {
        let (handle, running) = self.running.take().unwrap();
        tokio::time::timeout(PATIENCE, handle.drain()).await.expect("what is under way ends");
        handle.stop();
        assert!(matches!(running.await.unwrap(), RootEnd::Stopped));
    }

    /// Drops it at once, as a killed process would.
    pub(crate) async fn kill(&mut self) {
        let (handle, running) = self.running.take().unwrap();
        handle.kill();
        running.await.unwrap();
    }

    /// Stops it and starts another one on the same store.
    pub(crate) async fn restart(&mut self) {
        self.stop().await;
        self.start(Scope::Daemon);
    }

    /// Kills it and starts another one on the same store.
    pub(crate) async fn kill_and_start(&mut self) {
        self.kill().await;
        self.start(Scope::Daemon);
    }

    pub(crate) fn handle(&self) -> &PipelineHandle {
        &self.running.as_ref().unwrap().0
    }

    /// The use cases of the pipeline that runs.
    pub(crate) fn service(&self) -> Service {
        Service::new(self.handle().clone(), feedwarden::service::own_user())
    }

    pub(crate) fn advance(&self, duration: Duration) {
        self.clock.advance(duration);
    }

    /// Sets the system's time and waits until the pipeline has followed it and has built its schedule again.
    pub(crate) async fn step(&self, step: impl FnOnce(&HeldClock)) {
        self.follow(step).await;
        self.quiet().await;
    }

    /// The same; what falls due by it may be under way.
    pub(crate) async fn follow(&self, step: impl FnOnce(&HeldClock)) {
        let loaded = self.records.of("sources loaded").len();
        step(&self.clock);
        self.advance(Duration::from_secs(5));
        let is_built = || self.records.of("sources loaded").len() > loaded;
        self.until("the step", async || self.clock.has_followed() && is_built()).await;
    }

    /// The true time, whatever the system's clock says.
    pub(crate) fn true_now(&self) -> Timestamp {
        self.clock.true_time().now()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Waits until something is so.
    pub(crate) async fn until(&self, what: &str, mut is_so: impl AsyncFnMut() -> bool) {
        let waiting = async {
            while !is_so().await {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        if tokio::time::timeout(PATIENCE, waiting).await.is_err() {
            let tree = self.running.as_ref().and_then(|(handle, _)| handle.tree(10)).map(|tree| tree.to_string());
            let records: Vec<String> = self.records.all().iter().map(ToString::to_string).collect();
            panic!("never came: {what}\n{}\n{}", records.join("\n"), tree.unwrap_or_default());
        }
    }

    /// Moves the clock to the moment at which this source is due, and waits until it has been polled.
    pub(crate) async fn poll_again(&self, id: SourceId) {
        let settled = self.handle().statistics().view().settled();
        let next = next_poll(&self.source(id).await, None, &self.policy, self.now());
        self.advance(next.at().unwrap().since(self.now()));
        self.settled(settled + 1).await;
    }

    /// Waits until nothing is left to be done at this moment of the clock.
    pub(crate) async fn quiet(&self) {
        let handle = self.handle().clone();
        let mut calm = 0;
        self.until("quiet", async || {
            let status = handle.scheduler_status().await.unwrap();
            let is_calm = status.is_loaded && status.waiting + status.under_way + handle.under_way() == 0;
            calm = if is_calm { calm + 1 } else { 0 };
            calm > 3
        })
        .await;
    }

    /// Waits until this many sources wait for their hosts.
    pub(crate) async fn quiet_but_waiting(&self, count: usize) {
        let handle = self.handle().clone();
        let waiting = async || handle.scheduler_status().await.unwrap().waiting == count;
        self.until(&format!("{count} waiting"), waiting).await;
    }

    /// Waits until nothing more can happen at this time, with a client waiting.
    pub(crate) async fn breathe(&self) {
        for _ in 0..5 {
            self.handle().scheduler_status().await.unwrap();
            self.store.ping().await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Moves the clock on by a time, in so many steps, and waits at each until nothing is left to be done.
    pub(crate) async fn pass(&self, duration: Duration, steps: u32) {
        let until = self.now() + duration;
        for left in (1..=steps).rev() {
            self.advance(until.since(self.now()) / left);
            self.quiet().await;
        }
    }

    /// The same with a client waiting.
    pub(crate) async fn pass_waiting(&self, duration: Duration, steps: u32) {
        let until = self.now() + duration;
        for left in (1..=steps).rev() {
            self.advance(until.since(self.now()) / left);
            self.breathe().await;
        }
    }

    /// Waits until this many requests have been served.
    pub(crate) async fn served(&self, count: usize) {
        self.until(&format!("{count} requests"), async || self.web.journal().len() >= count).await;
    }

    /// Waits until a record with this message was written.
    pub(crate) async fn told(&self, message: &str) {
        self.until(message, async || !self.records.of(message).is_empty()).await;
    }

    /// Waits until this many polls are settled in all, while others may be under way.
    pub(crate) async fn settled_so_far(&self, count: u64) {
        let statistics = self.handle().statistics();
        self.until(&format!("{count} settled polls"), async || statistics.view().settled() >= count).await;
        assert_eq!(statistics.view().settled(), count, "more polls than expected: {:#?}", self.records.all());
    }

    /// Waits until this many polls are settled in all.
    pub(crate) async fn settled(&self, count: u64) {
        let statistics = self.handle().statistics();
        self.settled_so_far(count).await;
        // A poll is counted before its source is back with the scheduler.
        let handle = self.handle().clone();
        self.until("nothing under way", async || handle.under_way() == 0).await;
        assert_eq!(statistics.view().settled(), count, "more polls than expected: {:#?}", self.records.all());
    }
}
