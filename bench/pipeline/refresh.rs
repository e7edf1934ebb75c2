//! The whole daemon over everything that is in the store, once: scheduler, hosts, fetchers, sink, store and log.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use feedwarden::actors::{Fleet, Parts, Pipeline, PipelineSettings, Scope, StatisticsView};
use feedwarden::clock::{Clock, SystemClock};
use feedwarden::dice::SeededDice;
use feedwarden::fetch::Fetcher;
use feedwarden::http::{Client, HttpSettings};
use feedwarden::rules::Policy;
use feedwarden::sources::TypeSettings;
use feedwarden::store::{self, Store};
use feedwarden::telemetry::{self, LogFormat, LogSettings, Telemetry};
use serde::{Deserialize, Serialize};

use crate::cost::{Cost, Meter, memory_mb};
use crate::process::Engine;
use crate::tls_front::TlsWeb;

/// What a refresh did and cost.
#[derive(Serialize, Deserialize)]
pub(crate) struct Refreshed {
    pub(crate) cost: Cost,
    pub(crate) peak_mb: f64,
    pub(crate) read: u64,
    pub(crate) unchanged: u64,
    pub(crate) new_posts: u64,
    /// Records of settled polls in the log.
    pub(crate) records: usize,
}

/// How to refresh.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct RefreshOrder {
    pub(crate) engine: Engine,
    pub(crate) log: PathBuf,
    pub(crate) keeps_html: bool,
    /// The web over TLS, if it is asked for so.
    pub(crate) tls: Option<TlsWeb>,
    /// Whether a refresh by the same process comes before the one that is measured: the process knows its hosts then.
    pub(crate) is_repeated: bool,
}

/// Refreshes everything. From the opening of the store to its closing and the last record is measured; the loading of
/// the program and of the platform's certificates is not.
pub(crate) fn refresh(order: &RefreshOrder) -> Refreshed {
    let mut settings = http_settings();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    if let Some(tls) = &order.tls {
        std::io::Write::write_all(&mut file, tls.authority.as_bytes()).unwrap();
        settings.authorities = Some(file.path().to_owned());
        settings.static_hosts = tls.addresses();
    }
    let fetcher = Fetcher::new(Client::new(settings, || SystemClock.now()).unwrap());
    if order.is_repeated {
        refresh_once(order, fetcher.clone());
    }
    refresh_once(order, fetcher)
}

fn refresh_once(RefreshOrder { engine, log, keeps_html, .. }: &RefreshOrder, fetcher: Fetcher) -> Refreshed {
    let _ = std::fs::remove_file(log);
    let telemetry = open_log(log, Arc::new(SystemClock));
    let meter = Meter::start(engine.server());
    let done = actix_rt::System::new().block_on(async {
        let store = store::open(&engine.settings(), SystemClock.now()).await.unwrap();
        let mut policy = Policy::default();
        policy.posts.keeps_html = *keeps_html;
        let parts = parts(store.clone(), Arc::new(SystemClock), fetcher, policy, &telemetry);
        let pipeline = Pipeline::new(parts, Scope::Once { ignores_due_times: true });
        let handle = pipeline.handle();
        let running = actix_rt::spawn(pipeline.run());
        handle.finished().await;
        handle.drain().await;
        handle.stop();
        running.await.unwrap();
        store.close().await;
        handle.statistics().view()
    });
    drop(telemetry);
    let (cost, peak_mb) = (meter.read(), memory_mb("VmHWM"));
    let StatisticsView { read, unchanged, new_posts, .. } = done;
    let records = std::fs::read_to_string(log).unwrap().matches("\"source polled\"").count();
    Refreshed { cost, peak_mb, read, unchanged, new_posts, records }
}

/// A log in a file, as a daemon keeps it.
pub(crate) fn open_log(file: &Path, clock: Arc<dyn Clock>) -> Telemetry {
    let settings = LogSettings { file: Some(file.to_owned()), format: LogFormat::Json, ..LogSettings::default() };
    telemetry::start(&settings, clock).unwrap()
}

/// One that may ask loopback.
pub(crate) fn fetcher(clock: Arc<dyn Clock>) -> Fetcher {
    Fetcher::new(Client::new(http_settings(), move || clock.now()).unwrap())
}

fn http_settings() -> HttpSettings {
    HttpSettings { allowed_networks: vec!["127.0.0.0/8".parse().unwrap()], ..HttpSettings::default() }
}

/// What a pipeline is made of.
pub(crate) fn parts(
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    fetcher: Fetcher,
    policy: Policy,
    telemetry: &Telemetry,
) -> Parts {
    Parts {
        store,
        clock,
        dice: Arc::new(SeededDice::new(1)),
        fetcher,
        type_settings: TypeSettings::default(),
        policy,
        settings: PipelineSettings::default(),
        fleet: Fleet::alone(),
        log: telemetry.logger.clone(),
    }
}
