//! The runs themselves.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use feedwarden::clock::{Clock, SystemClock};
use feedwarden::demo::web::{Deed, EntryHabit, Habits, Site, SiteBehaviour, Web};
use feedwarden::model::{
    DeliveryFormat, FullText, NewSource, NewWebhook, Shard, Source, SourceId, SourceSettings, SourceType,
};
use feedwarden::rules::change::{Change, apply};
use feedwarden::store::settings::EngineSettings;
use feedwarden::store::{self, Added, Saved, Store};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rustix::process::{Pid, Signal, kill_process};
use secrecy::ExposeSecret;
use tempfile::TempDir;

use super::oracle::{Judged, replay, told, unexplained};
use super::plan::{PAUSE, Plan};
use super::publishers::web_settings;
use super::receiver::Receiver;
use crate::store::Engine;

/// A bound on waits, not a wait.
const PATIENCE: Duration = Duration::from_secs(600);

/// How large a run is.
pub(super) struct Size {
    pub(super) sources: usize,
    pub(super) hosts: usize,
    interval_ms: u64,
    crashes: u64,
    /// How likely a message is to crash who gets it.
    panic: f64,
    kills: usize,
}

impl Size {
    pub(super) fn from_environment() -> Size {
        match std::env::var("FEEDWARDEN_ENDURANCE").as_deref() {
            Ok("long") => Size { sources: 2000, hosts: 300, interval_ms: 4000, crashes: 1000, panic: 0.004, kills: 50 },
            _ => Size { sources: 120, hosts: 30, interval_ms: 1000, crashes: 40, panic: 0.02, kills: 5 },
        }
    }
}

/// The given seed, or a random one.
pub(super) fn seed() -> u64 {
    match std::env::var("FEEDWARDEN_ENDURANCE_SEED") {
        Ok(seed) => seed.parse().expect("the seed is a number"),
        Err(_) => rand::random_range(0..1_000_000),
    }
}

pub(super) fn endure_crashes(engine: Engine, size: &Size, seed: u64) {
    let rules = ["scheduler", "host", "fetch", "post-sink", "failure-tracker", "webhooks", "full-text"]
        .iter()
        .flat_map(|actor| {
            let share = if *actor == "scheduler" { 0.1 } else { 1.0 };
            [("panic", 1.0), ("drop", 0.1), ("stall:50", 0.1)]
                .map(|(action, part)| format!("{actor}/*={action}@{}", size.panic * part * share))
        });
    // Drops and stalls count as faults, too.
    let arena = Arena::new(engine, size, seed, rules.collect(), size.crashes * 2);
    let mut daemon = arena.start();
    let settling = arena.resident_after(&daemon, size.crashes / 3);
    arena.wait_for_crashes(&daemon, size.crashes);
    let at_the_end = daemon.resident_bytes();
    let tree = daemon.stop();
    let (records, sources) = arena.judge(0);
    arena.recover_and_compare(&sources);
    let crashes = arena.crashes();
    assert!(crashes >= size.crashes, "{crashes} crashes");
    assert!(
        at_the_end < settling + settling / 4 + 16 * 1024 * 1024,
        "memory grew from {settling} to {at_the_end} bytes (seed {seed})"
    );
    println!("{tree}");
    arena.report("crashes", crashes as usize, records, &format!("{settling} → {at_the_end} bytes resident"));
}

pub(super) fn endure_kills(engine: Engine, size: &Size, seed: u64) {
    let arena = Arena::new(engine, size, seed, Vec::new(), 0);
    let mut dice = StdRng::seed_from_u64(seed);
    for _ in 0..size.kills {
        let daemon = arena.start();
        std::thread::sleep(Duration::from_millis(dice.random_range(300..2500)));
        daemon.kill();
    }
    let mut daemon = arena.start();
    std::thread::sleep(Duration::from_millis(size.interval_ms * 2));
    daemon.stop();
    let (records, sources) = arena.judge(size.kills);
    arena.recover_and_compare(&sources);
    arena.report("kills", size.kills, records, "");
}

/// A web, a database, and everything that was told.
struct Arena {
    web: Web,
    plan: Plan,
    plan_path: PathBuf,
    seed: u64,
    /// The site of each source.
    sites: BTreeMap<SourceId, usize>,
    /// Where the daemon's webhook leads.
    receiver: Receiver,
    started: Instant,
    _directory: TempDir,
}

/// A child that polls.
struct Daemon {
    process: Child,
    output: Option<BufReader<std::process::ChildStdout>>,
}

impl Arena {
    #[expect(clippy::disallowed_methods, reason = "how long the run took is part of its report")]
    fn new(engine: Engine, size: &Size, seed: u64, faults: Vec<String>, faults_max: u64) -> Arena {
        println!("seed {seed}");
        let directory = tempfile::tempdir().unwrap();
        let web = Web::start(web_settings(size, seed), Arc::new(SystemClock)).unwrap();
        let dealt: HashSet<Habits> = web.sites().iter().map(|site| site.habits).collect();
        assert!(Habits::lifelike().iter().all(|habits| dealt.contains(habits)), "too few feeds for all habits");
        let settings = block_on(engine.settings(&directory));
        let database = match &settings.engine {
            EngineSettings::Sqlite(sqlite) => sqlite.path.display().to_string(),
            EngineSettings::Postgres(postgres) => postgres.url.expose_secret().to_owned(),
        };
        let path = |name: &str| directory.path().join(name);
        let log = path("log.json").display().to_string();
        let plan = Plan { seed, database, log, interval_ms: size.interval_ms, faults_max, faults };
        fs::write(path("plan.json"), serde_json::to_string(&plan).unwrap()).unwrap();
        let plan_path = path("plan.json");
        let sites = block_on(add_sources(&plan, &web));
        let receiver = Receiver::start();
        block_on(add_webhook(&plan, receiver.url()));
        Arena { web, plan, plan_path, seed, sites, receiver, started: Instant::now(), _directory: directory }
    }

    fn start(&self) -> Daemon {
        let mut process = Command::new(crate::child("endure"))
            .arg(&self.plan_path)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut ready = String::new();
        output.read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready\n", "the child did not start (seed {})", self.seed);
        Daemon { process, output: Some(output) }
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.plan.log).unwrap_or_default()
    }

    fn crashes(&self) -> u64 {
        self.log().matches("\"actor crashed\"").count() as u64
    }

    fn wait_for_crashes(&self, daemon: &Daemon, count: u64) {
        let until = self.started.elapsed() + PATIENCE;
        while self.crashes() < count {
            assert!(self.started.elapsed() < until, "only {} crashes (seed {})", self.crashes(), self.seed);
            assert!(daemon.is_alive(), "the child ended (seed {}): {}", self.seed, self.last_records());
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn resident_after(&self, daemon: &Daemon, crashes: u64) -> u64 {
        self.wait_for_crashes(daemon, crashes);
        daemon.resident_bytes()
    }

    fn last_records(&self) -> String {
        let log = self.log();
        let mut lines: Vec<&str> = log.lines().rev().take(20).collect();
        lines.reverse();
        lines.join("\n")
    }

    /// Compares the hosts' load and the sources' states with what should be; returns how many polls were told, and the
    /// sources.
    fn judge(&self, kills: usize) -> (usize, Vec<Source>) {
        for host in self.web.load() {
            assert_eq!(host.overlaps, 0, "{} was asked two things at once (seed {})", host.host, self.seed);
            if let Some(gap) = host.gap_min {
                assert!(gap >= PAUSE, "{} had a pause of {gap:?} only (seed {})", host.host, self.seed);
            }
        }
        let polls = told(&self.log());
        self.compare_with_journal(&polls, kills);
        let store = block_on(store::open(&self.plan.store(), SystemClock.now())).unwrap();
        let sources = block_on(store.list_sources(None, 100_000)).unwrap();
        let mut untold = 0;
        for source in &sources {
            let behaviour = self.web.sites()[self.sites[&source.id]].behaviour;
            let told = polls.get(&source.id).map_or(&[][..], Vec::as_slice);
            // The source is version 1, its jitter another, and so is every settled poll. A kill can come between a
            // commit and the record of it.
            let missing = usize::try_from(source.version).unwrap() - 2 - told.len();
            untold += missing;
            if missing > 0 {
                assert!(kills > 0, "a poll of {} was settled and not told (seed {})", source.settings.url, self.seed);
                continue;
            }
            let wanted = replay(source, told, behaviour, &self.plan);
            assert_eq!(
                Judged::of(source),
                wanted,
                "{} ({}) is not what the rules make of its answers (seed {}): {told:#?}",
                source.settings.url,
                behaviour.name(),
                self.seed
            );
        }
        assert!(
            untold <= kills * 8,
            "{untold} polls were settled and not told, with {kills} kills (seed {})",
            self.seed
        );
        block_on(store.close());
        (polls.values().map(Vec::len).sum(), sources)
    }

    /// What was told is what was served. Redirects are served by several sites at once, and the dead serve nothing.
    fn compare_with_journal(&self, polls: &BTreeMap<SourceId, Vec<serde_json::Value>>, kills: usize) {
        let mut served = BTreeMap::<usize, Vec<Deed>>::new();
        for exchange in self.web.journal() {
            if let Some(site) = exchange.site {
                served.entry(site).or_default().push(exchange.deed);
            }
        }
        let mut unexplained_total = 0;
        for (id, told) in polls {
            let site = &self.web.sites()[self.sites[id]];
            use SiteBehaviour::{Dead, Found, Loop, Moved};
            if matches!(site.behaviour, Moved(_) | Found(_) | Loop | Dead) {
                continue;
            }
            let served = served.get(&self.sites[id]).map_or(&[][..], Vec::as_slice);
            match unexplained(told, served) {
                Ok(count) => unexplained_total += count,
                Err(problem) => panic!("{} (seed {}): {problem}", site.url, self.seed),
            }
        }
        // Each kill can cost every host the one poll that was under way.
        let bound = kills * self.web.hosts().len();
        assert!(
            unexplained_total <= bound,
            "{unexplained_total} answers were told without a request (seed {})",
            self.seed
        );
    }

    /// Lets everything recover, polls all of it once more, and compares what was served with what is stored.
    fn recover_and_compare(&self, sources: &[Source]) {
        for site in 0..self.web.sites().len() {
            if self.web.behaviour(site).publishes() && !matches!(self.web.behaviour(site), SiteBehaviour::Website) {
                self.web.set_behaviour(site, SiteBehaviour::NoValidators).unwrap();
            }
            // What a lost poll saw may be hidden now.
            self.web.calm(site);
        }
        let store = block_on(store::open(&self.plan.store(), SystemClock.now())).unwrap();
        for source in sources {
            block_on(ask_for_poll(store.as_ref(), source.clone()));
        }
        block_on(store.close());
        let plan = Plan { faults: Vec::new(), ..self.plan.clone() };
        fs::write(&self.plan_path, serde_json::to_string(&plan).unwrap()).unwrap();
        let asked_at = SystemClock.now();
        let mut daemon = self.start();
        let until = self.started.elapsed() + PATIENCE;
        loop {
            let store = block_on(store::open(&self.plan.store(), SystemClock.now())).unwrap();
            let sources = block_on(store.list_sources(None, 100_000)).unwrap();
            // The webhook gets posts, and goes no further than they do.
            let posts = block_on(store.list_posts(None, None, 1_000_000)).unwrap();
            let newest = posts.iter().map(|post| post.change_number).max();
            let reached = block_on(store.list_webhooks(None, 1))
                .unwrap()
                .pop()
                .map(|webhook| webhook.progress.last_change_number);
            let pages = block_on(store.full_text_hosts(&Shard::all().collect::<Vec<_>>(), 1)).unwrap();
            block_on(store.close());
            let is_read = |source: &Source| source.state.last_success_at.is_some_and(|at| at > asked_at);
            let publishes = |source: &Source| self.web.behaviour(self.sites[&source.id]).publishes();
            let left: Vec<&Source> = sources.iter().filter(|source| publishes(source) && !is_read(source)).collect();
            if left.is_empty() && newest == reached && pages.is_empty() {
                break;
            }
            let waiting = format!("{} sources, webhook at {reached:?} of {newest:?}, pages at {pages:?}", left.len());
            assert!(self.started.elapsed() < until, "{waiting} do not recover: {:#?}", left.first());
            std::thread::sleep(Duration::from_millis(100));
        }
        daemon.stop();
        self.compare();
    }

    /// Every entry that was served is stored exactly once, in its newest version, with the text of its page or the
    /// reason why not where full text is wanted, and every post that the webhook is said to have was sent to it.
    fn compare(&self) {
        let store = block_on(store::open(&self.plan.store(), SystemClock.now())).unwrap();
        let webhook = block_on(store.list_webhooks(None, 1)).unwrap().pop().unwrap();
        let posts = block_on(store.list_posts(None, None, 1_000_000)).unwrap();
        let stored = posts.iter().map(|post| post.change_number);
        let stored = stored.filter(|number| *number <= webhook.progress.last_change_number);
        let taken = self.receiver.taken();
        let missed: Vec<i64> = stored.filter(|id| !taken.contains(id)).collect();
        assert!(webhook.enabled && !taken.is_empty() && missed.is_empty(), "{missed:?} (seed {})", self.seed);
        let (mut with_page, mut wanting_page) = (0, 0);
        for (id, site) in &self.sites {
            let posts = block_on(store.list_posts(Some(*id), None, 1_000_000)).unwrap();
            let Site { url, behaviour, habits, .. } = &self.web.sites()[*site];
            let mut found = match wants_full_text(*site, &self.web.sites()[*site]) {
                true => self.web.compare_with_pages(*site, &posts),
                false => self.web.compare(*site, &posts),
            };
            with_page += found.with_page;
            wanting_page += if wants_full_text(*site, &self.web.sites()[*site]) { found.served.len() } else { 0 };
            if *behaviour == SiteBehaviour::Website {
                // A page shows one article: what a lost poll saw is gone when the next one comes.
                found.missing.retain(|number| found.served.last() == Some(number));
            }
            assert!(found.is_exact(), "{url} with {habits:?} (seed {}): {found:?}", self.seed);
        }
        assert!(
            2 * with_page > wanting_page,
            "{with_page} of {wanting_page} posts have their page (seed {})",
            self.seed
        );
        println!("{with_page} of {wanting_page} posts have the text of their page");
        block_on(store.close());
    }

    fn report(&self, what: &str, count: usize, records: usize, more: &str) {
        let load = self.web.load();
        let requests: u64 = load.iter().map(|host| host.requests).sum();
        let gap = load.iter().filter_map(|host| host.gap_min).min().unwrap_or_default();
        let entries: usize = self.web.served_entries().iter().map(Vec::len).sum();
        println!(
            "seed {}: {count} {what}, {} sources on {} hosts, {requests} requests, {records} polls told, {entries} entries \
             served and stored once each, {} posts sent on, 0 overlaps, shortest pause {gap:?} of {PAUSE:?}, {:.0?} {more}",
            self.seed,
            self.sites.len(),
            load.len(),
            self.receiver.taken().len(),
            self.started.elapsed(),
        );
    }
}

impl Daemon {
    fn is_alive(&self) -> bool {
        fs::metadata(format!("/proc/{}/exe", self.process.id())).is_ok()
    }

    fn resident_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
    }

    /// Lets it drain; returns the tree that it showed.
    fn stop(&mut self) -> String {
        kill_process(Pid::from_child(&self.process), Signal::TERM).unwrap();
        let mut tree = String::new();
        self.output.take().unwrap().read_to_string(&mut tree).unwrap();
        assert_eq!(self.process.wait().unwrap().code(), Some(0), "{tree}");
        tree
    }

    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn add_sources(plan: &Plan, web: &Web) -> BTreeMap<SourceId, usize> {
    let store = store::open(&plan.store(), SystemClock.now()).await.unwrap();
    let created_at = SystemClock.now();
    let new = web.sites().iter().enumerate().map(|(number, site)| {
        let mut settings = SourceSettings::new(site.source_type, site.url.as_str());
        // What is flaky must not be given up: what it served last would be missing for a good reason.
        settings.max_failures = (site.behaviour == SiteBehaviour::Flaky).then_some(1_000_000);
        settings.full_text = wants_full_text(number, site).then_some(FullText::Always);
        NewSource { settings, created_at }
    });
    let added = store.add_sources(new.collect()).await.unwrap();
    store.close().await;
    let id = |added: &Added| match added {
        Added::New(id) | Added::Duplicate(id) => *id,
    };
    let sites: BTreeMap<SourceId, usize> = added.iter().map(id).zip(0..).collect();
    assert_eq!(sites.len(), web.sites().len());
    sites
}

/// Every third feed wants full text, unless its links lead to https, where nothing answers.
fn wants_full_text(number: usize, site: &Site) -> bool {
    site.source_type == SourceType::Rss && number.is_multiple_of(3) && !site.habits.has(EntryHabit::HttpsLinks)
}

async fn add_webhook(plan: &Plan, url: String) {
    let store = store::open(&plan.store(), SystemClock.now()).await.unwrap();
    let secret = "a secret to sign with".into();
    store
        .add_webhook(NewWebhook {
            url,
            secret,
            label: None,
            format: DeliveryFormat::Classic,
            event_types: Vec::new(),
            created_at: SystemClock.now(),
        })
        .await
        .unwrap();
    store.close().await;
}

async fn ask_for_poll(store: &dyn Store, mut source: Source) {
    let now = SystemClock.now();
    apply(&mut source, Change::Enable, now);
    apply(&mut source, Change::Wake, now);
    apply(&mut source, Change::Poll, now);
    source.state.hints = Default::default();
    assert!(matches!(store.save_source(source, now).await.unwrap(), Saved::Written(_)));
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
