//! Very many sources of which few are due: what starting costs, what waiting costs, and what falling due costs.
//!
//! The clock is held and moved a tick at a time, so that a day's ticks take seconds and nothing else happens in them.
//! What falls due is measured twice: the scheduler alone, which is paused so that it finds and lines up what is due and
//! hands nothing out, and then the polls themselves, which read one short feed each from a simulated web of 500 hosts.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use feedwarden::actors::{Pipeline, PipelineHandle, Scope};
use feedwarden::clock::{Clock, HeldClock, SystemClock};
use feedwarden::model::{HostKey, Timestamp};
use feedwarden::rules::{Policy, minutes};
use feedwarden::service::{Service, own_user};
use feedwarden::store;
use serde::{Deserialize, Serialize};

use crate::cost::{Cost, Meter, memory_mb};
use crate::process::{Engine, Role, WebProcess, WebSize, run};
use crate::refresh::{fetcher, open_log, parts};

/// The time between two ticks.
const TICK: Duration = Duration::from_secs(60);
/// How often a source is polled.
const INTERVAL: Duration = minutes(24 * 60);
/// Ticks with nothing due that are measured together.
const EMPTY_TICKS: u32 = 100;
/// How many fall due together, and in which tick after the start.
const DUE: [(usize, u32); 2] = [(100, 200), (10_000, 220)];
/// The hosts of the simulated web that holds those that fall due.
const WEB_HOSTS: usize = 500;
/// Far longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Population {
    sources: usize,
    hosts: usize,
    database: PathBuf,
    log: PathBuf,
    /// The moment at which the clock is held first, in microseconds.
    start: i64,
}

/// What was measured with them.
#[derive(Serialize, Deserialize)]
pub(crate) struct Idled {
    start: Cost,
    resident_mb: f64,
    peak_mb: f64,
    empty_ticks: Cost,
    /// For each number of sources that fell due: lining them up, and polling them.
    due: Vec<(Cost, Cost)>,
}

/// Measures a small and a large population, and says how the bars fare.
pub(crate) fn compare(resident_mb_max: f64) -> bool {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let sites = DUE.iter().map(|(count, _)| count).sum();
    let web = WebProcess::start(WebSize { hosts: WEB_HOSTS, sites, entries_min: 1, entries_max: 1, entry_bytes: 200 });
    println!("SQLite; what is due is polled on {WEB_HOSTS} loopback hosts, a feed with one short entry each\n");
    println!(
        "| sources | hosts | start: s | CPU s | resident MB | peak MB | tick, 0 due: CPU µs | 100 fall due: CPU µs \
         | 10,000: CPU µs | µs each | 100 polled: CPU µs each | 10,000: CPU µs each |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    let mut is_good = true;
    for (sources, hosts) in [(20_000, 1_000), (1_000_000, 50_000)] {
        let population = Population {
            sources,
            hosts,
            database: directory.path().join(format!("{sources}.db")),
            log: directory.path().join(format!("{sources}.log")),
            start: SystemClock.now().as_micros(),
        };
        populate(&population, &web.urls);
        let idled: Idled = run(&Role::Idle(population));
        let [(few, few_polled), (many, many_polled)] = idled.due[..] else { panic!("two numbers are measured") };
        println!(
            "| {sources} | {hosts} | {:.2} | {:.2} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.2} | {:.0} | {:.0} |",
            idled.start.wall_seconds,
            idled.start.cpu_seconds,
            idled.resident_mb,
            idled.peak_mb,
            idled.empty_ticks.cpu_micros(EMPTY_TICKS as usize),
            few.cpu_micros(1),
            many.cpu_micros(1),
            many.cpu_micros(DUE[1].0),
            few_polled.cpu_micros(DUE[0].0),
            many_polled.cpu_micros(DUE[1].0),
        );
        is_good &= idled.resident_mb <= resident_mb_max;
    }
    println!("\nresident at most {resident_mb_max:.0} MB: {}", if is_good { "kept" } else { "MISSED" });
    is_good
}

/// Inserts the sources directly: most of them on hosts that are not polled, polled within the last hours; and those
/// of the simulated web among them, each due in its tick.
fn populate(population: &Population, urls: &[String]) {
    let (start, engine) = (Timestamp::from_micros(population.start), population.engine());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { store::open(&engine.settings(), start).await.unwrap().close().await });
    let due_in = DUE.iter().flat_map(|(count, tick)| std::iter::repeat_n(TICK * *tick, *count));
    let mut due: Vec<(&str, Timestamp)> =
        urls.iter().map(String::as_str).zip(due_in.map(|due_in| start + due_in - INTERVAL)).collect();
    let among = population.sources / due.len();
    let mut connection = rusqlite::Connection::open(&population.database).unwrap();
    connection.pragma_update(None, "synchronous", "off").unwrap();
    let transaction = connection.transaction().unwrap();
    let mut insert = transaction
        .prepare(
            "INSERT INTO sources (version, created_at, updated_at, type, url, first_polled_at, last_polled, \
             last_success_at, last_read_at, etag, host) VALUES (2, ?1, ?3, 'rss', ?2, ?1, ?3, ?3, ?3, ?4, ?5)",
        )
        .unwrap();
    let created = start - INTERVAL * 30;
    for number in 0..population.sources {
        // Due between 13 and 24 hours from the start.
        let polled = start - Duration::from_millis(number as u64 * 39_600_000 / population.sources as u64);
        let elsewhere =
            format!("https://www.host-{}.example/feeds/{number}/index.xml", number % (population.hosts - WEB_HOSTS));
        let etag = format!("\"{number:016x}\"");
        // A store that was used before knows the hosts; filling them in is for upgrades.
        let host = |url: &str| HostKey::of_url(url).map(|host| host.to_string());
        match due.pop_if(|_| number % among == 0) {
            Some((url, polled)) => insert.execute((created, url, polled, None::<String>, host(url))).unwrap(),
            None => insert.execute((created, &elsewhere, polled, Some(etag), host(&elsewhere))).unwrap(),
        };
    }
    assert!(due.is_empty(), "all of the simulated web is in the store");
    drop(insert);
    transaction.commit().unwrap();
}

impl Population {
    fn engine(&self) -> Engine {
        Engine::Sqlite { path: self.database.clone() }
    }
}

/// Runs the daemon with them.
pub(crate) fn idle(population: &Population) -> Idled {
    let clock = Arc::new(HeldClock::at(Timestamp::from_micros(population.start)));
    let telemetry = open_log(&population.log, clock.clone());
    let fetcher = fetcher(clock.clone());
    actix_rt::System::new().block_on(async {
        let meter = Meter::start(None);
        let store = store::open(&population.engine().settings(), clock.now()).await.unwrap();
        let policy = Policy { interval: INTERVAL, adaptive: None, ..Policy::default() };
        let pipeline = Pipeline::new(parts(store.clone(), clock.clone(), fetcher, policy, &telemetry), Scope::Daemon);
        let driven = Driven { handle: pipeline.handle(), clock };
        let running = actix_rt::spawn(pipeline.run());
        driven.until(async || driven.handle.scheduler_status().await.is_some_and(|status| status.is_loaded)).await;
        let (start, resident_mb) = (meter.read(), memory_mb("VmRSS"));

        let meter = Meter::start(None);
        for _ in 0..EMPTY_TICKS {
            driven.tick().await;
        }
        let empty_ticks = meter.read();
        let mut due = Vec::new();
        let mut ticks = EMPTY_TICKS;
        for (count, tick) in DUE {
            while ticks + 1 < tick {
                driven.tick().await;
                ticks += 1;
            }
            due.push(driven.fall_due(count).await);
            ticks += 1;
        }
        driven.handle.drain().await;
        driven.handle.stop();
        running.await.unwrap();
        store.close().await;
        Idled { start, resident_mb, peak_mb: memory_mb("VmHWM"), empty_ticks, due }
    })
}

/// A pipeline, and the clock by which it is driven.
struct Driven {
    handle: PipelineHandle,
    clock: Arc<HeldClock>,
}

impl Driven {
    /// A tick, up to the moment when the scheduler has looked at what is due.
    async fn tick(&self) {
        self.clock.advance(TICK);
        let now = self.clock.now();
        self.until(async || {
            self.handle.scheduler_status().await.is_some_and(|status| status.last_tick_at == Some(now))
        })
        .await;
    }

    /// A tick in which so many fall due: lining them up, and polling them.
    async fn fall_due(&self, count: usize) -> (Cost, Cost) {
        let before = self.handle.statistics().view().settled();
        Service::new(self.handle.clone(), own_user()).pause_polling().await.expect("a pause is kept");
        self.until(async || self.handle.scheduler_status().await.is_some_and(|status| status.paused_since.is_some()))
            .await;
        let meter = Meter::start(None);
        self.clock.advance(TICK);
        self.until(async || self.handle.scheduler_status().await.is_some_and(|status| status.waiting == count)).await;
        let lined_up = meter.read();
        let meter = Meter::start(None);
        Service::new(self.handle.clone(), own_user()).resume_polling().await.expect("its end is kept");
        self.until(async || self.handle.statistics().view().settled() == before + count as u64).await;
        let polled = meter.read();
        self.until(async || self.handle.under_way() == 0).await;
        let failed = self.handle.statistics().view().failed_total();
        assert_eq!(failed, 0, "all polls succeed");
        (lined_up, polled)
    }

    /// Waits until something is so. Looking costs some CPU, which counts as the daemon's.
    async fn until(&self, mut is_so: impl AsyncFnMut() -> bool) {
        let waiting = async {
            while !is_so().await {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.expect("what is waited for comes");
    }
}
