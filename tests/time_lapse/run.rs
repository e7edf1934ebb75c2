//! Plays one seed: a pipeline, publishers and a store, with a clock that the run moves from one due poll to the next.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use feedwarden::actors::{PipelineHandle, ScheduleState, Scope};
use feedwarden::clock::HeldClock;
use feedwarden::demo::web::{Deed, Mix, SiteBehaviour, WebSettings};
use feedwarden::dice::SeededDice;
use feedwarden::model::{FailureKind, SourceId, Timestamp};
use feedwarden::rules::{AdaptivePolicy, RestRule, hours, minutes};
use feedwarden::store::settings::EngineSettings;
use secrecy::ExposeSecret;
use tempfile::TempDir;

use super::oracle::{
    AGE_MAX, BACKOFF_MAX, Effect, Fault, INTERVAL, INTERVAL_MIN, Intervals, JudgedTime, Requests, TRUSTED_AHEAD,
    judge_posts,
};
use super::plan::{DAYS, Event, HOSTS, SITES, plan};
use crate::pipeline::{World, run};
use crate::store::{Engine, TestStore, connect, server};

/// The pause between two requests to a host at the start.
const PAUSE: Duration = Duration::from_secs(2);
/// The longest time between two probes of an outage.
const PROBE_MAX: Duration = minutes(5);
/// How long the store is away.
const STORE_AWAY: Duration = hours(2);
/// Steps of a second, for pauses between requests.
const SMALL_STEPS_MAX: usize = 40;
/// Far more than it takes: a bound, not a wait.
const LOOKS_MAX: usize = 30_000;
/// The same for a clean-up.
const CLEANING_LOOKS: usize = 400;

/// Plays a seed, and returns what was wrong.
pub(super) fn play(engine: Engine, intervals: Intervals, seed: u64) -> Vec<String> {
    let mut complaints = Vec::new();
    run(async || {
        let mut lapse = TimeLapse::start(engine, intervals, seed).await;
        for (hour, events) in by_hour(seed) {
            lapse.pass_to(hour).await;
            for event in events {
                lapse.happen(event).await;
                lapse.note_judged();
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
    intervals: Intervals,
    ids: Vec<SourceId>,
    began_at: Timestamp,
    /// When the entries of each site were published, by their numbers.
    births: Vec<Vec<Timestamp>>,
    faults: Vec<Fault>,
    /// Beginnings of faults that are on: of our network, of hosts, and of sites that want to be cached.
    network_down: Option<Timestamp>,
    hosts_down: [Option<Timestamp>; HOSTS],
    cached: [Option<Timestamp>; SITES],
    pauses: Vec<(Timestamp, Duration)>,
    restored_at: Option<Timestamp>,
    judged: JudgedTime,
    /// What ages are judged by now, and an hour ago.
    judged_lately: [Timestamp; 2],
    backup: Option<(PathBuf, Timestamp)>,
    complaints: Vec<String>,
    directory: TempDir,
}

impl TimeLapse {
    async fn start(engine: Engine, intervals: Intervals, seed: u64) -> TimeLapse {
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
        let bounds = AdaptivePolicy { interval_min: INTERVAL_MIN, interval_max: INTERVAL, ..AdaptivePolicy::default() };
        world.policy.adaptive = (intervals == Intervals::Adaptive).then_some(bounds);
        world.policy.article_age_max = AGE_MAX;
        world.policy.max_backoff = BACKOFF_MAX;
        world.policy.rests.set(FailureKind::NotFound, RestRule { after: 3, cooldown: BACKOFF_MAX });
        world.policy.delays.by_type.values_mut().for_each(|pause| *pause = PAUSE);
        // Silence is given up soon, in the machine's time; an answer may take long on a busy machine.
        world.http.connect_timeout = Duration::from_millis(250);
        world.http.deadline = Duration::from_secs(20);
        world.dice = Arc::new(SeededDice::new(seed));
        world.start(Scope::Daemon);
        world.advance(Duration::from_secs(5));
        let ids = world.add_all().await;
        world.handle().sources_changed(ids.clone());
        let began_at = world.true_now();
        let mut lapse = TimeLapse {
            world,
            intervals,
            ids,
            began_at,
            births: vec![Vec::new(); SITES],
            faults: Vec::new(),
            network_down: None,
            hosts_down: [None; HOSTS],
            cached: [None; SITES],
            pauses: vec![(began_at, PAUSE)],
            restored_at: None,
            judged: JudgedTime { latest: began_at, before: began_at },
            judged_lately: [began_at; 2],
            backup: None,
            complaints: Vec::new(),
            directory,
        };
        lapse.settle().await;
        lapse.births.iter_mut().for_each(|births| births.push(began_at));
        lapse
    }

    /// Lets the hours up to this one pass, from one due poll to the next.
    async fn pass_to(&mut self, hour: u32) {
        loop {
            let passed = self.world.true_now().since(self.began_at);
            let next = hours(passed.as_secs() as u32 / 3600 + 1);
            if passed >= hours(hour) {
                return;
            }
            let step = self.until_next().await.map_or(next - passed, |wait| wait.min(next - passed));
            self.advance(step);
            self.settle().await;
            if self.world.true_now().since(self.began_at) < next {
                continue;
            }
            self.judge_time();
            if next.as_secs().is_multiple_of(24 * 3600) {
                self.judge_stored().await;
            }
        }
    }

    /// Time until the next poll is due; or until the next probe, if an outage is over and the daemon does not know.
    async fn until_next(&self) -> Option<Duration> {
        let (handle, now) = (self.world.handle(), self.world.now());
        if self.network_down.is_none() && handle.blockers() != Default::default() {
            return Some(PROBE_MAX);
        }
        let mut next: Option<Duration> = None;
        for id in &self.ids {
            if let Some(found) = handle.scheduled(*id).await.filter(|found| found.state == ScheduleState::Scheduled) {
                let wait = found.at.since(now).max(Duration::from_secs(1));
                next = Some(next.map_or(wait, |least| least.min(wait)));
            }
        }
        next
    }

    /// Moves the clock, when all answers so far have their times.
    fn advance(&self, duration: Duration) {
        self.world.web.catch_up();
        self.world.advance(duration);
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
                // An outage keeps everything waiting: time goes on.
                if handle.blockers() != Default::default() || small_steps >= SMALL_STEPS_MAX {
                    return;
                }
                (same, small_steps) = (0, small_steps + 1);
                self.advance(Duration::from_secs(1));
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
                self.note(None, now, Effect::StepsAhead);
            }
            Event::StepBack(size) => {
                self.step(|clock| clock.step_back(size)).await;
                self.note(None, now, Effect::StepsBack(size));
            }
            Event::Suspend(length) => {
                self.advance(length);
                self.note(None, now, Effect::Delays);
                self.settle().await;
            }
            Event::NetworkDown => {
                self.world.web.set_network_down(true).unwrap();
                self.network_down.get_or_insert(now);
            }
            Event::NetworkUp => {
                self.world.web.set_network_down(false).unwrap();
                let from = self.network_down.take().unwrap_or(now);
                self.note(None, from, Effect::Fails);
            }
            Event::HostDown(host) => {
                self.world.web.set_down(&self.host(host), true).unwrap();
                self.hosts_down[host].get_or_insert(now);
            }
            Event::HostUp(host) => {
                self.world.web.set_down(&self.host(host), false).unwrap();
                let from = self.hosts_down[host].take().unwrap_or(now);
                let sites: Vec<usize> = (0..SITES).filter(|site| self.host_of(*site) == host).collect();
                sites.into_iter().for_each(|site| self.note(Some(site), from, Effect::Fails));
            }
            Event::Behave(site, behaviour) => {
                self.world.web.set_behaviour(site, behaviour).unwrap();
                self.end_caching(site);
                self.cached[site] = matches!(behaviour, SiteBehaviour::CacheFor(_)).then_some(now);
            }
            Event::Recover(site) => {
                self.world.web.set_behaviour(site, self.world.web.sites()[site].behaviour).unwrap();
                self.end_caching(site);
            }
            Event::Restart => {
                self.world.restart().await;
                self.note(None, now, Effect::Starts);
                self.settle().await;
            }
            Event::Kill => {
                self.world.kill_and_start().await;
                self.note(None, now, Effect::Starts);
                self.settle().await;
            }
            Event::Reconfigure(pause) => {
                self.world.policy.delays.by_type.values_mut().for_each(|known| *known = pause);
                self.world.handle().set_policy(self.world.policy.clone());
                self.pauses.push((now, pause));
                self.settle().await;
            }
            Event::Backup => {
                let copy = self.directory.path().join("backup");
                let _ = std::fs::remove_file(&copy);
                self.world.store.back_up(&copy, self.world.now()).await;
                self.backup = Some((copy, now));
            }
            Event::Restore => self.restore(now).await,
            Event::StoreOutage => self.take_store_away().await,
        }
    }

    fn end_caching(&mut self, site: usize) {
        if let Some(from) = self.cached[site].take() {
            self.note(Some(site), from, Effect::Caches);
        }
    }

    /// Sets the system's time; the daemon notices it within seconds.
    async fn step(&self, step: impl FnOnce(&HeldClock)) {
        self.world.web.catch_up();
        self.world.follow(step).await;
        self.settle().await;
    }

    async fn restore(&mut self, now: Timestamp) {
        let Some((copy, backed_up)) = self.backup.clone() else { return };
        self.world.stop().await;
        self.world.store.restore(&copy).await;
        self.world.start(Scope::Daemon);
        self.note(None, now, Effect::Starts);
        self.note(None, now, Effect::Restores(backed_up));
        // What was stored since the backup is read again, and what was removed since is removed again.
        self.restored_at = Some(now);
        self.settle().await;
    }

    /// The store is away for a while; polls of that time wait.
    async fn take_store_away(&mut self) {
        let from = self.world.true_now();
        match self.world.store.settings.engine.clone() {
            // Another process writes to the database.
            EngineSettings::Sqlite(engine) => {
                let connection = rusqlite::Connection::open(&engine.path).unwrap();
                connection.busy_timeout(Duration::from_secs(10)).unwrap();
                connection.execute_batch("BEGIN IMMEDIATE").unwrap();
                self.advance(STORE_AWAY);
                tokio::time::sleep(Duration::from_millis(300)).await;
                connection.execute_batch("ROLLBACK").unwrap();
            }
            // The server closes all connections to the database, and accepts no more.
            EngineSettings::Postgres(engine) => {
                let url = engine.url.expose_secret();
                let database = url.rsplit_once('/').unwrap().1;
                let operator = connect(&server().into()).await;
                let end =
                    format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'");
                operator
                    .batch_execute(&format!("ALTER DATABASE {database} ALLOW_CONNECTIONS false; {end}"))
                    .await
                    .unwrap();
                self.advance(STORE_AWAY);
                tokio::time::sleep(Duration::from_millis(300)).await;
                operator.batch_execute(&format!("ALTER DATABASE {database} ALLOW_CONNECTIONS true")).await.unwrap();
            }
        }
        let handle: PipelineHandle = self.world.handle().clone();
        self.world.until("the store", async || !handle.blockers().is_store_down).await;
        self.note(None, from, Effect::Delays);
        self.settle().await;
    }

    /// The time by which the daemon judges ages.
    fn note_judged(&mut self) -> Timestamp {
        let judged = self.world.handle().ages_judged_at().unwrap_or(self.world.now());
        self.judged.latest = self.judged.latest.max(judged);
        judged
    }

    /// Checks by which time the daemon judges ages. To be called each hour.
    fn judge_time(&mut self) {
        let (now, shown) = (self.world.true_now(), self.world.now());
        let judged = self.note_judged();
        self.judged.before = self.judged_lately[1];
        self.judged_lately = [judged, self.judged_lately[0]];
        let is_trusted = shown <= now + TRUSTED_AHEAD;
        // An error that was trusted before may have moved the time that it should be, and a restored store knows an
        // earlier one.
        let is_old = self.restored_at.is_some() || judged + TRUSTED_AHEAD >= now;
        let is_near = judged <= now + TRUSTED_AHEAD && is_old;
        let is_right = if is_trusted { judged == shown } else { is_near };
        // A restored store knows only the time of its backup, until a publisher confirms a later one.
        let is_confirmed = self.restored_at.is_none_or(|at| {
            self.world.web.journal().iter().any(|answer| answer.began_at > at && is_success(answer.deed))
        });
        if !is_right && (is_confirmed || judged > shown.max(now)) {
            self.complaints.push(format!("ages are judged by {judged} at {now}, when the clock says {shown}"));
        }
    }

    /// Judges what is stored. The clean-up of the last tick may still be at work, in the machine's time.
    async fn judge_stored(&mut self) {
        for look in 0.. {
            let complaints = self.look_at_store().await;
            if complaints.is_empty() || look >= CLEANING_LOOKS {
                return self.complaints.extend(complaints);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn look_at_store(&self) -> Vec<String> {
        let (journal, mut complaints) = (self.world.web.journal(), Vec::new());
        for (site, id) in self.ids.iter().enumerate() {
            let posts = self.world.store.list_posts(Some(*id), None, 10_000).await.unwrap();
            let found = self.world.web.compare(site, &posts);
            let is_read = |restored| {
                let mut answers = journal.iter().filter(|exchange| exchange.site == Some(site));
                answers.any(|answer| answer.began_at > restored && is_success(answer.deed))
            };
            let is_complete = self.restored_at.is_none_or(is_read);
            complaints.extend(judge_posts(site, &found, &self.births[site], self.judged, is_complete));
        }
        complaints
    }

    async fn end(mut self) -> Vec<String> {
        self.judge_stored().await;
        let status = self.world.handle().scheduler_status().await;
        let reasons = self.world.service().not_ready_because(status.as_ref()).await;
        self.complaints.extend(reasons.into_iter().map(|reason| format!("not ready at the end: {reason}")));
        let crashes = self.world.records.of("actor crashed");
        self.complaints.extend(crashes.iter().map(|crash| format!("a crash: {crash}")));
        (0..SITES).for_each(|site| self.end_caching(site));
        let hosts_of_sites: Vec<String> = self.world.web.sites().iter().map(|site| site.host.to_string()).collect();
        let requests = Requests {
            intervals: self.intervals,
            journal: &self.world.web.journal(),
            faults: &self.faults,
            pauses: &self.pauses,
            hosts_of_sites: &hosts_of_sites,
            ended_at: self.world.true_now(),
        };
        self.complaints.extend(requests.judge());
        for (site, births) in self.births.iter().enumerate() {
            let served = self.world.web.served(site).len();
            if served != births.len() {
                self.complaints.push(format!("site {site} served {served} of {} entries", births.len()));
            }
        }
        self.world.stop().await;
        self.complaints
    }

    /// Notes a fault that began then and is over now.
    fn note(&mut self, site: Option<usize>, from: Timestamp, effect: Effect) {
        self.faults.push(Fault { site, from, until: self.world.true_now(), effect });
    }

    fn host(&self, host: usize) -> String {
        self.world.web.hosts()[host].clone()
    }

    fn host_of(&self, site: usize) -> usize {
        let name = &self.world.web.sites()[site].host;
        self.world.web.hosts().iter().position(|host| host == name).unwrap()
    }
}

fn is_success(deed: Deed) -> bool {
    matches!(deed, Deed::Answered(200 | 304))
}
