//! Plays one seed: a pipeline, publishers and a store, with a clock that the run moves hour by hour.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use feedwarden::actors::Scope;
use feedwarden::clock::HeldClock;
use feedwarden::demo::web::{Mix, SiteBehaviour, WebSettings};
use feedwarden::dice::SeededDice;
use feedwarden::model::{FailureKind, SourceId, Timestamp};
use feedwarden::rules::{RestRule, hours};
use feedwarden::store::settings::EngineSettings;
use tempfile::TempDir;

use super::oracle::{AGE_MAX, Excuse, INTERVAL, judge_posts, judge_requests};
use super::plan::{DAYS, Event, HOSTS, SITES, plan};
use crate::pipeline::{World, run};
use crate::store::{Engine, TestStore};

/// The shortest pause between two requests to a host that any configuration of a run has.
const PAUSE_MIN: Duration = Duration::from_secs(1);
/// The longest backoff and rest, which bound the time that a site takes to recover.
const BACKOFF_MAX: Duration = hours(12);
/// Steps of a few seconds within an hour, for pauses between requests.
const SMALL_STEPS_MAX: usize = 40;
/// Far more than it takes: a bound, not a wait.
const LOOKS_MAX: usize = 30_000;

/// Plays a seed, and returns what was wrong.
pub(super) fn play(engine: Engine, seed: u64) -> Vec<String> {
    let mut complaints = Vec::new();
    run(async || {
        let mut lapse = TimeLapse::start(engine, seed).await;
        for (hour, events) in by_hour(seed) {
            lapse.pass_to(hour).await;
            for event in events {
                lapse.happen(event).await;
            }
        }
        lapse.pass_to(DAYS * 24).await;
        complaints = lapse.end().await;
    });
    complaints
}

fn by_hour(seed: u64) -> Vec<(u32, Vec<Event>)> {
    let mut hours = Vec::<(u32, Vec<Event>)>::new();
    for (hour, event) in plan(seed) {
        match hours.last_mut() {
            Some((last, events)) if *last == hour => events.push(event),
            _ => hours.push((hour, vec![event])),
        }
    }
    hours
}

struct TimeLapse {
    world: World,
    ids: Vec<SourceId>,
    began_at: Timestamp,
    /// When the entries of each site were published, by their numbers.
    births: Vec<Vec<Timestamp>>,
    excuses: Vec<Excuse>,
    /// From when on all entries must be stored, and old ones be gone.
    complete_from: Timestamp,
    cleaned_from: Timestamp,
    /// How wrong the system's time is. What is old goes later by a clock that is behind, or that is not trusted.
    wrong_by: Duration,
    backup: Option<PathBuf>,
    complaints: Vec<String>,
    directory: TempDir,
}

impl TimeLapse {
    async fn start(engine: Engine, seed: u64) -> TimeLapse {
        let directory = tempfile::tempdir().unwrap();
        let store_directory = tempfile::tempdir().unwrap();
        let mut settings = engine.settings(&store_directory).await;
        if let EngineSettings::Sqlite(sqlite) = &mut settings.engine {
            sqlite.busy_timeout = Duration::from_millis(20);
        }
        let store = TestStore::open(settings, store_directory).await;
        let web = WebSettings {
            hosts: HOSTS,
            sites: SITES,
            seed,
            mix: Mix::InTurn(vec![SiteBehaviour::Healthy, SiteBehaviour::NoValidators, SiteBehaviour::Gzip]),
            entries: 60..=60,
            ..WebSettings::default()
        };
        let mut world = World::around(store, web);
        world.policy.interval = INTERVAL;
        world.policy.article_age_max = AGE_MAX;
        world.policy.max_backoff = BACKOFF_MAX;
        world.policy.rests.set(FailureKind::NotFound, RestRule { after: 3, cooldown: BACKOFF_MAX });
        world.policy.delays.by_type.values_mut().for_each(|pause| *pause = Duration::from_secs(2));
        // Silence is given up soon, in the machine's time; an answer may take long on a busy machine.
        world.http.connect_timeout = Duration::from_millis(250);
        world.http.deadline = Duration::from_secs(20);
        world.dice = Arc::new(SeededDice::new(seed));
        world.start(Scope::Daemon);
        world.advance(Duration::from_secs(5));
        let ids = world.add_all().await;
        world.handle().sources_changed(ids.clone());
        let (began_at, births) = (world.true_now(), vec![Vec::new(); SITES]);
        let (complete_from, cleaned_from) = (began_at, began_at);
        let (excuses, complaints, backup) = (Vec::new(), Vec::new(), None);
        let mut lapse = TimeLapse {
            world,
            ids,
            began_at,
            births,
            excuses,
            complete_from,
            cleaned_from,
            wrong_by: Duration::ZERO,
            backup,
            complaints,
            directory,
        };
        lapse.settle().await;
        lapse.births.iter_mut().for_each(|births| births.push(began_at));
        lapse
    }

    /// Lets the hours up to this one pass.
    async fn pass_to(&mut self, hour: u32) {
        loop {
            let passed = self.world.true_now().since(self.began_at);
            let next = hours(passed.as_secs() as u32 / 3600 + 1);
            if passed >= hours(hour) {
                return;
            }
            self.world.advance(next - passed);
            self.settle().await;
            if next.as_secs().is_multiple_of(24 * 3600) {
                self.judge_stored().await;
            }
        }
    }

    /// Waits until nothing is left to be done. Requests that wait for the pause of their host get some more time.
    async fn settle(&self) {
        let handle = self.world.handle().clone();
        let (mut calm, mut same, mut small_steps, mut before) = (0, 0, 0, None);
        for _ in 0..LOOKS_MAX {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let status = handle.scheduler_status().await.expect("the scheduler answers");
            if handle.under_way() > 0 {
                // It ends by itself, in the machine's time.
                (calm, same) = (0, 0);
                continue;
            }
            let work = (status.waiting, status.under_way, handle.statistics().view().settled());
            calm = if status.is_loaded && status.waiting + status.under_way == 0 { calm + 1 } else { 0 };
            if calm > 2 {
                return;
            }
            same = if before == Some(work) { same + 1 } else { 0 };
            before = Some(work);
            if same >= 10 {
                // An outage keeps everything waiting: the next hour goes on.
                if handle.blockers() != Default::default() || small_steps >= SMALL_STEPS_MAX {
                    return;
                }
                (same, small_steps) = (0, small_steps + 1);
                self.world.advance(Duration::from_secs(5));
            }
        }
        panic!("a poll does not end");
    }

    async fn happen(&mut self, event: Event) {
        let now = self.world.true_now();
        match event {
            Event::Publish(site, count) => {
                self.world.web.publish(site, count);
                self.births[site].extend(vec![now; count]);
            }
            Event::StepAhead(size) => {
                self.step(|clock| clock.step_ahead(size)).await;
                // A source that was polled before counts its interval by the new time.
                self.excuse(None, now, INTERVAL, false, true);
                self.note_error();
            }
            Event::StepBack(size) => {
                self.step(|clock| clock.step_back(size)).await;
                self.note_error();
            }
            Event::Suspend(length) => {
                self.excuse(None, now, length + INTERVAL, true, false);
                self.world.advance(length);
                self.settle().await;
            }
            Event::NetworkDown => self.world.web.set_network_down(true).unwrap(),
            Event::NetworkUp => {
                self.world.web.set_network_down(false).unwrap();
                self.excuse(None, now - hours(12), hours(12) + BACKOFF_MAX * 2, true, true);
            }
            Event::HostDown(host) => self.world.web.set_down(&self.host(host), true).unwrap(),
            Event::HostUp(host) => {
                self.world.web.set_down(&self.host(host), false).unwrap();
                self.excuse_host(host, now - hours(31), hours(31) + BACKOFF_MAX * 2);
            }
            Event::Behave(site, behaviour) => self.world.web.set_behaviour(site, behaviour).unwrap(),
            Event::Recover(site) => {
                self.world.web.set_behaviour(site, self.world.web.sites()[site].behaviour).unwrap();
                let host = self.host_of(site);
                self.excuse_host(host, now - hours(41), hours(41) + BACKOFF_MAX * 2);
            }
            Event::Restart => {
                self.world.restart().await;
                self.settle().await;
            }
            Event::Kill => {
                self.world.kill_and_start().await;
                self.settle().await;
            }
            Event::Reconfigure(pause) => {
                self.world.policy.delays.by_type.values_mut().for_each(|known| *known = pause);
                self.world.handle().set_policy(self.world.policy.clone());
                self.settle().await;
            }
            Event::Backup => self.back_up().await,
            Event::Restore => self.restore(now).await,
            Event::StoreOutage => self.lock_store().await,
        }
    }

    fn note_error(&mut self) {
        // The clock has followed the step, and stands where the true time is if it was set right.
        let (now, shown) = (self.world.true_now(), self.world.now());
        self.wrong_by = now.since(shown).max(shown.since(now));
        self.cleaned_from = self.cleaned_from.max(now + hours(48));
    }

    /// Sets the system's time; the daemon notices it within seconds.
    async fn step(&self, step: impl FnOnce(&HeldClock)) {
        let loaded = self.world.records.of("sources loaded").len();
        step(&self.world.clock);
        self.world.advance(Duration::from_secs(5));
        // Within this hour the schedule is built again.
        let is_built = async || self.world.records.of("sources loaded").len() > loaded;
        self.world.until("the step", async || self.world.clock.has_followed() && is_built().await).await;
        self.settle().await;
    }

    async fn back_up(&mut self) {
        let EngineSettings::Sqlite(engine) = self.world.store.settings.engine.clone() else { return };
        let (copy, now) = (self.directory.path().join("backup.db"), self.world.now());
        let target = copy.clone();
        let copying = move || feedwarden::store::backup(&engine, &target, true, now, |_, _| ());
        tokio::task::spawn_blocking(copying).await.unwrap().unwrap();
        self.backup = Some(copy);
    }

    async fn restore(&mut self, now: Timestamp) {
        let Some(copy) = self.backup.clone() else { return };
        self.world.stop().await;
        self.world.store.restore(&copy).await;
        self.world.start(Scope::Daemon);
        // What was stored since the backup is read again within an interval, and waits since then are forgotten.
        self.complete_from = now + INTERVAL * 2;
        self.cleaned_from = self.cleaned_from.max(now + hours(24));
        self.excuse(None, now, INTERVAL, true, true);
        self.settle().await;
    }

    /// Another process writes to the database for a while; polls of that time wait.
    async fn lock_store(&mut self) {
        let EngineSettings::Sqlite(engine) = &self.world.store.settings.engine else { return };
        let connection = rusqlite::Connection::open(&engine.path).unwrap();
        connection.busy_timeout(Duration::from_secs(10)).unwrap();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        self.excuse(None, self.world.true_now(), INTERVAL, true, false);
        self.world.advance(hours(2));
        tokio::time::sleep(Duration::from_millis(300)).await;
        connection.execute_batch("ROLLBACK").unwrap();
        let handle = self.world.handle().clone();
        self.world.until("the store", async || !handle.blockers().is_store_down).await;
        self.settle().await;
    }

    async fn judge_stored(&mut self) {
        let now = self.world.true_now();
        let (is_complete, is_cleaned) = (now > self.complete_from, now > self.cleaned_from && self.wrong_by.is_zero());
        for (site, id) in self.ids.iter().enumerate() {
            let posts = self.world.store.list_posts(Some(*id), None, 10_000).await.unwrap();
            let found = self.world.web.compare(site, &posts);
            let births = &self.births[site];
            self.complaints.extend(judge_posts(site, &found, births, now, is_complete, is_cleaned));
        }
    }

    async fn end(mut self) -> Vec<String> {
        self.judge_stored().await;
        let status = self.world.handle().scheduler_status().await;
        let reasons = self.world.service().not_ready_because(status.as_ref()).await;
        self.complaints.extend(reasons.into_iter().map(|reason| format!("not ready at the end: {reason}")));
        let crashes = self.world.records.of("actor crashed");
        self.complaints.extend(crashes.iter().map(|crash| format!("a crash: {crash}")));
        let (journal, now) = (self.world.web.journal(), self.world.true_now());
        self.complaints.extend(judge_requests(&journal, SITES, &self.excuses, PAUSE_MIN, now));
        for (site, births) in self.births.iter().enumerate() {
            let served = self.world.web.served(site).len();
            if served != births.len() {
                self.complaints.push(format!("site {site} served {served} of {} entries", births.len()));
            }
        }
        self.world.stop().await;
        self.complaints
    }

    fn excuse(&mut self, site: Option<usize>, from: Timestamp, length: Duration, late: bool, early: bool) {
        self.excuses.push(Excuse { site, from, until: from + length, late, early });
    }

    /// Sources of a host that failed back off, and come back at different times.
    fn excuse_host(&mut self, host: usize, from: Timestamp, length: Duration) {
        let sites: Vec<usize> = (0..SITES).filter(|site| self.host_of(*site) == host).collect();
        for site in sites {
            self.excuse(Some(site), from, length, true, true);
        }
    }

    fn host(&self, host: usize) -> String {
        self.world.web.hosts()[host].clone()
    }

    fn host_of(&self, site: usize) -> usize {
        let name = &self.world.web.sites()[site].host;
        self.world.web.hosts().iter().position(|host| host == name).unwrap()
    }
}
