//! A little web, a store and a pipeline between them.

use std::sync::Arc;
use std::time::Duration;

use actix_rt::task::JoinHandle;
use feedwarden::actors::{Parts, Pipeline, PipelineHandle, PipelineSettings, Scope};
use feedwarden::clock::{Clock, HeldClock};
use feedwarden::demo::web::{Character, Mix, Web, WebSettings};
use feedwarden::dice::{Dice, HeldDice};
use feedwarden::fetch::{Fetcher, XSettings};
use feedwarden::http::{Client, HttpSettings};
use feedwarden::model::{NewSource, Source, SourceId, SourceSettings, Timestamp};
use feedwarden::rules::{Policy, minutes};
use feedwarden::store::Added;
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
    pub(crate) x: XSettings,
    pub(crate) dice: Arc<dyn Dice>,
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
        let clock = Arc::new(HeldClock::at(at(NOW)));
        let web = Web::start(web, clock.clone()).unwrap();
        let store = engine.store().await;
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
            clock,
            store,
            web,
            policy: Policy { interval: minutes(60), ..Policy::default() },
            settings,
            http,
            x: XSettings::default(),
            dice: Arc::new(HeldDice(0.0)),
            records: Records::default(),
            running: None,
        }
    }

    /// A world of sites with these characters, all on hosts of their own.
    pub(crate) async fn of(engine: Engine, characters: &[Character]) -> World {
        let count = characters.len();
        let mix = Mix::InTurn(characters.to_vec());
        World::with(engine, WebSettings { hosts: count, sites: count, mix, ..WebSettings::default() }).await
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

    /// What the pipeline would be made of.
    pub(crate) fn parts(&mut self) -> Parts {
        let (log, records) = collecting_logger();
        self.records = records;
        let clock = self.clock.clone();
        let client = Client::new(self.http.clone(), move || clock.now()).unwrap();
        Parts {
            store: self.store.shared(),
            clock: self.clock.clone(),
            dice: self.dice.clone(),
            fetcher: Fetcher::new(client, self.x.clone()),
            x_host: feedwarden::rules::host_key::host_key(self.x.base_url.as_str()),
            policy: self.policy.clone(),
            settings: self.settings.clone(),
            log,
        }
    }

    /// Starts a pipeline. The clock moves on a little first: what was added before was there before.
    pub(crate) fn start(&mut self, scope: Scope) {
        assert!(self.running.is_none(), "one pipeline at a time");
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
        assert_eq!(running.await.unwrap().exit_code(), 0);
    }

    /// Drops it at once, as a killed process would.
    pub(crate) async fn kill(&mut self) {
        let (handle, running) = self.running.take().unwrap();
        handle.kill();
        running.await.unwrap();
    }

    pub(crate) fn handle(&self) -> &PipelineHandle {
        &self.running.as_ref().unwrap().0
    }

    pub(crate) fn advance(&self, duration: Duration) {
        self.clock.advance(duration);
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

    /// Waits until this many polls are settled in all.
    pub(crate) async fn settled(&self, count: u64) {
        let statistics = self.handle().statistics();
        self.until(&format!("{count} settled polls"), async || statistics.view().settled() >= count).await;
        // A poll is counted before its source is back with the scheduler.
        let handle = self.handle().clone();
        self.until("nothing under way", async || handle.under_way() == 0).await;
        assert_eq!(statistics.view().settled(), count, "more polls than expected: {:#?}", self.records.all());
    }
}
