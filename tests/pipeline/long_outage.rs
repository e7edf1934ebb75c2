//! An outage of our own network leaves no source worse off, however many there are (p31); with a neutral probe, also
//! where there is one host only.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use feedwarden::actors::Scope;
use feedwarden::demo::web::{Mix, SiteBehaviour, WebSettings};
use feedwarden::dice::SeededDice;
use feedwarden::model::{Breaker, SourceId};
use feedwarden::rules::{OutagePolicy, hours, minutes};
use rstest::rstest;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use url::Url;

use super::{World, run};
use crate::store::Engine::{self, Postgres, Sqlite};

const SECOND: Duration = Duration::from_secs(1);

/// What `outage.probe-url` names: a server that answers while our own network works.
struct Probe {
    url: Url,
    is_down: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
}

impl Probe {
    async fn start() -> Probe {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let probe = Probe { url, is_down: Arc::default(), asked: Arc::default() };
        let (is_down, asked) = (probe.is_down.clone(), probe.asked.clone());
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                asked.fetch_add(1, Ordering::SeqCst);
                if !is_down.load(Ordering::SeqCst) {
                    // An error is an answer as good as any.
                    let _ = stream.read(&mut [0; 1024]).await;
                    let _ = stream.write_all(b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n").await;
                }
            }
        });
        probe
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// Healthy sites on so many hosts. Silence is given up soon: it takes the machine's time, not the clock's.
async fn healthy(engine: Engine, hosts: usize, sites: usize) -> World {
    let mix = Mix::InTurn(vec![SiteBehaviour::Healthy; sites]);
    let mut world = World::with(engine, WebSettings { hosts, sites, mix, ..WebSettings::default() }).await;
    world.http.connect_timeout = Duration::from_millis(250);
    world.dice = Arc::new(SeededDice::new(5));
    world
}

fn set_network_down(world: &World, probe: &Probe, is_down: bool) {
    probe.is_down.store(is_down, Ordering::SeqCst);
    world.web.set_network_down(is_down).unwrap();
}

/// Whether nothing is held against these sources and their hosts.
async fn is_unblamed(world: &World, ids: &[SourceId]) -> bool {
    for id in ids {
        let state = world.source(*id).await.state;
        let failures = &state.failures;
        if failures.consecutive != 0 || failures.run.is_some() || state.rest.is_some() || !state.enabled {
            return false;
        }
    }
    for site in 0..world.web.hosts().len() {
        let host = world.stored_host(site).await.unwrap();
        if host.breaker != Breaker::default() || host.held_until.is_some() {
            return false;
        }
    }
    true
}

#[rstest]
#[case::three(3, 3, false)]
#[case::eight(8, 8, false)]
#[case::eight_hundred(200, 800, false)]
#[case::one_with_a_probe(1, 1, true)]
#[case::three_with_a_probe(3, 3, true)]
#[case::eight_on_one_host_with_a_probe(1, 8, true)]
#[case::eight_hundred_on_one_host_with_a_probe(1, 800, true)]
fn p31_seven_hours_without_a_network_leave_nothing_behind(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[case] hosts: usize,
    #[case] sources: usize,
    #[case] has_probe: bool,
) {
    run(async || {
        let probe = Probe::start().await;
        let mut world = healthy(engine, hosts, sources).await;
        world.policy.outage.probe_url = has_probe.then(|| probe.url.clone());
        let ids = world.start_and_poll_all().await;
        assert_eq!(probe.asked(), 0, "nothing is suspected");
        set_network_down(&world, &probe, true);
        world.advance(minutes(60));
        world.told("outage begun").await;
        for _ in 0..7 {
            world.pass_waiting(hours(1), 1).await;
            world.until("the probe is over", async || world.handle().under_way() == 0).await;
        }
        world.until("nothing is held against anyone", async || is_unblamed(&world, &ids).await).await;
        assert!(world.records.of("outage ended").is_empty());
        set_network_down(&world, &probe, false);
        world.pass_waiting(minutes(5), 1).await;
        world.told("outage ended").await;
        let (ended, before) = (world.now(), world.web.journal().len());
        world.pass(minutes(11), 22).await;
        assert!(is_unblamed(&world, &ids).await);
        for id in &ids {
            let state = world.source(*id).await.state;
            assert!(state.last_success_at.unwrap() >= ended - minutes(5), "no source is forgotten");
        }
        let came: Vec<u64> = world.seconds_since(ended).into_iter().skip(before).collect();
        let moments = came.iter().copied().collect::<BTreeSet<u64>>().len();
        assert!(hosts < 8 || moments >= 4, "they come back spread out: {came:?}");
        assert_eq!(world.records.of("outage begun").len(), 1);
        assert_eq!(world.records.at("error"), Vec::<Value>::new());
        world.stop().await;
    });
}

#[rstest]
fn p31_a_probe_that_answers_proves_that_the_only_host_is_down(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let probe = Probe::start().await;
        let mut world = healthy(engine, 1, 3).await;
        world.policy.outage.probe_url = Some(probe.url.clone());
        let ids = world.start_and_poll_all().await;
        world.web.set_network_down(true).unwrap();
        world.advance(minutes(60));
        world.settled(6).await;
        world.until("the probe is asked", async || probe.asked() == 1).await;
        for id in &ids {
            assert_eq!(world.source(*id).await.state.failures.consecutive, 1);
        }
        assert_eq!(world.records.of("outage begun"), Vec::<Value>::new());
        world.stop().await;
    });
}

#[rstest]
fn p31_without_a_probe_the_only_host_is_taken_to_be_down(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = healthy(engine, 1, 1).await;
        let ids = world.start_and_poll_all().await;
        world.web.set_network_down(true).unwrap();
        world.advance(minutes(60));
        world.settled(2).await;
        assert_eq!(world.source(ids[0]).await.state.failures.consecutive, 1);
        assert_eq!(world.records.of("outage begun"), Vec::<Value>::new());
        world.stop().await;
    });
}

#[rstest]
fn p31_a_source_that_failed_several_times_before_the_outage_was_recognised_is_restored(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let mut world = healthy(engine, 2, 2).await;
        let ids = world.start_and_poll_all().await;
        let mut settings = world.source(ids[0]).await.settings;
        settings.poll_interval_minutes = Some(10);
        let often = feedwarden::rules::change::Change::Update { settings, enabled: None, needs_owner_key: false };
        world.change(ids[0], often).await;
        world.web.set_network_down(true).unwrap();
        // Polled after 10 and 30 minutes, and then it is the other host's turn.
        world.pass(minutes(59), 59).await;
        assert_eq!(world.source(ids[0]).await.state.failures.consecutive, 2);
        world.advance(minutes(2));
        world.told("outage begun").await;
        world.until("nothing is held against anyone", async || is_unblamed(&world, &ids).await).await;
        world.kill().await;
    });
}

#[rstest]
fn p31_a_name_that_does_not_exist_is_counted_during_an_outage(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = healthy(engine, 6, 6).await;
        world.web.set_network_down(true).unwrap();
        world.start_and_poll_all().await;
        world.told("outage begun").await;
        let url = format!("http://{}.example/feed", "a".repeat(64));
        let dead = world.add_feed(&url).await;
        let failures = async || world.source(dead).await.state.failures.consecutive;
        world.until("the dead name is counted", async || failures().await == 1).await;
        // It is polled again between the probes, and counted.
        for _ in 0..36 {
            world.pass_waiting(minutes(5), 1).await;
            world.until("the probe is over", async || world.handle().under_way() == 0).await;
        }
        assert!(failures().await >= 2, "{}", failures().await);
        world.kill().await;
    });
}

#[rstest]
fn p31_at_a_first_start_no_healthy_host_waits_for_silent_ones(#[values(Sqlite, Postgres)] engine: Engine) {
    const SILENT: usize = 14;
    run(async || {
        let mut world = healthy(engine, SILENT + 1, SILENT + 1).await;
        // So few at once that the outage is suspected before the healthy host has been asked.
        world.settings.fetch.concurrency = 3;
        for site in 0..SILENT {
            world.web.set_silent(&world.web.sites()[site].host.clone(), true).unwrap();
        }
        world.start(Scope::Daemon);
        for site in 0..SILENT {
            world.add_feed(&world.web.sites()[site].url.clone()).await;
        }
        // Due later than the silent ones, so that it is asked last.
        world.advance(SECOND);
        world.add_feed(&world.web.sites()[SILENT].url.clone()).await;
        // From here on the clock stands still, so that a poll that waited for a probe would never end.
        world.until("the healthy host is asked", async || !world.asked(SILENT).is_empty()).await;
        world.told("outage ended").await;
        world.kill().await;
    });
}

#[rstest]
fn p31_another_policy_is_followed_during_an_outage(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = healthy(engine, 3, 3).await;
        world.start_and_poll_all().await;
        world.web.set_network_down(true).unwrap();
        world.advance(minutes(60));
        world.told("outage begun").await;
        world.until("nothing is under way", async || world.handle().under_way() == 0).await;
        world.pass_waiting(hours(1), 12).await;
        world.until("the probe is over", async || world.handle().under_way() == 0).await;
        world.web.set_network_down(false).unwrap();
        // The next probe is minutes away, until the operator wants one every two seconds.
        let outage = OutagePolicy { probe_first: 2 * SECOND, probe_max: 2 * SECOND, ..OutagePolicy::default() };
        world.handle().set_policy(feedwarden::rules::Policy { outage, ..world.policy.clone() });
        // Sources that a probe has asked in vain are due again after a minute.
        world.pass_waiting(minutes(2), 60).await;
        world.told("outage ended").await;
        world.stop().await;
    });
}
