//! Dead hosts are counted, and our own network being down is held against no source (p31). Times are those of the
//! default configuration.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use feedwarden::actors::Scope;
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::dice::SeededDice;
use feedwarden::model::{FailureKind, SourceId, Timestamp};
use feedwarden::rules::change::Change;
use feedwarden::rules::{hours, minutes};
use rstest::rstest;
use serde_json::Value;

use super::{World, run};
use crate::store::Engine::{self, Postgres, Sqlite};

const SECOND: Duration = Duration::from_secs(1);

/// A world in which silence is given up soon: it takes the machine's time, not the clock's.
pub(super) async fn impatient(engine: Engine, behaviours: &[SiteBehaviour]) -> World {
    let mut world = World::of(engine, behaviours).await;
    world.http.connect_timeout = Duration::from_millis(250);
    world
}

/// Adds the sources one after the other, so many seconds apart, each polled at once.
pub(super) async fn add_apart(world: &mut World, apart: Duration) -> Vec<SourceId> {
    world.start(Scope::Daemon);
    let mut ids = Vec::new();
    for site in 0..world.web.sites().len() {
        ids.push(world.add_feed(&world.web.sites()[site].url.clone()).await);
        world.settled(ids.len() as u64).await;
        world.advance(apart);
    }
    ids
}

pub(super) async fn failures(world: &World, ids: &[SourceId]) -> Vec<u32> {
    let mut counts = Vec::new();
    for id in ids {
        counts.push(world.source(*id).await.state.failures.consecutive);
    }
    counts
}

async fn is_taken_back(world: &World, count: usize) {
    world.until("failures are taken back", async || world.records.of("failure reverted").len() == count).await;
}

/// A URL whose host does not resolve: it is too long for a name, so that no resolver has to be asked.
fn url_of_no_name(number: usize) -> String {
    format!("http://{number}{}.example/feed", "a".repeat(63))
}

fn began(world: &World, site: usize) -> Vec<Timestamp> {
    world.asked(site).iter().map(|exchange| exchange.began_at).collect()
}

#[rstest]
#[case::refused(Some(SiteBehaviour::Dead))]
#[case::reset(Some(SiteBehaviour::Reset))]
#[case::no_such_name(None)]
fn p31_s104_six_dead_sites_beside_six_healthy_ones_are_counted_and_delay_nobody(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[case] dead: Option<SiteBehaviour>,
) {
    run(async || {
        let mut characters = vec![SiteBehaviour::Healthy; 6];
        characters.extend(dead.into_iter().flat_map(|dead| [dead; 6]));
        let mut world = World::of(engine, &characters).await;
        let mut urls: Vec<String> = world.web.sites().iter().map(|site| site.url.clone()).collect();
        urls.extend((urls.len()..12).map(url_of_no_name));
        world.start(Scope::Daemon);
        let started = world.now();
        let mut ids = Vec::new();
        for url in &urls {
            ids.push(world.add_feed(url).await);
        }
        world.settled(12).await;
        for id in &ids {
            let mut settings = world.source(*id).await.settings;
            settings.poll_interval_minutes = Some(1);
            world.change(*id, Change::Update { settings, enabled: None, needs_owner_key: false }).await;
        }
        world.pass(minutes(9), 9 * 60).await;
        assert_eq!(world.records.of("outage begun"), Vec::<Value>::new());
        assert_eq!(failures(&world, &ids).await, [0, 0, 0, 0, 0, 0, 3, 3, 3, 3, 3, 3], "after 0, 2 and 6 minutes");
        for (id, url) in ids.iter().zip(&urls).skip(6) {
            let failed = world.records.of("feed poll failed").into_iter().filter(|record| record["source_id"] == id.0);
            let failed: Vec<Value> = failed.collect();
            for (count, record) in (1..).zip(&failed) {
                let kind = (record["level"].as_str(), record["error_type"].as_str(), record["status_code"].as_u64());
                assert_eq!(kind, (Some("warn"), Some("network"), Some(0)), "{record}");
                assert_eq!((record["url"].as_str(), &record["consecutive_failures"]), (Some(&**url), &count.into()));
            }
            assert_eq!(failed.len(), 3);
        }
        for site in 0..6 {
            let on_time: Vec<Timestamp> = (0..=9).map(|minute| started + minutes(minute)).collect();
            assert_eq!(began(&world, site), on_time, "site {site}");
        }
        world.stop().await;
    });
}

#[rstest]
#[case::refused(SiteBehaviour::Dead)]
#[case::reset(SiteBehaviour::Reset)]
fn p31_eight_dead_sites_and_no_healthy_one_are_eight_dead_sites(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[case] behaviour: SiteBehaviour,
) {
    run(async || {
        let mut world = World::of(engine, &[behaviour; 8]).await;
        let ids = world.start_and_poll_all().await;
        assert_eq!(failures(&world, &ids).await, [1; 8]);
        world.pass(minutes(120), 4).await;
        assert_eq!(failures(&world, &ids).await, [2; 8]);
        assert_eq!(world.records.of("outage begun"), Vec::<Value>::new());
        world.stop().await;
    });
}

#[rstest]
fn p31_s104_s401_names_that_do_not_exist_are_disabled_after_five_polls(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.start(Scope::Daemon);
        let mut ids = Vec::new();
        for number in 0..8 {
            ids.push(world.add_feed(&url_of_no_name(number)).await);
        }
        world.settled(8).await;
        for hours_later in [2, 4, 8, 16] {
            world.pass(hours(hours_later), 4).await;
        }
        for id in &ids {
            let source = world.source(*id).await;
            assert_eq!(source.state.failures.consecutive, 5);
            let reason = source.state.disabled_reason.as_deref();
            assert_eq!((source.state.enabled, reason), (false, Some("Auto-disabled after 5 consecutive DNS errors")));
            assert!(source.state.failures.last.unwrap().error.starts_with("DNS: name does not resolve"));
        }
        assert_eq!(world.records.of("outage begun"), Vec::<Value>::new());
        world.stop().await;
    });
}

#[rstest]
fn p31_eight_sources_polled_seconds_apart_are_not_blamed_for_a_network_that_goes_away(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let mut world = impatient(engine, &[SiteBehaviour::Healthy; 8]).await;
        let ids = add_apart(&mut world, 7 * SECOND).await;
        world.web.set_network_down(true).unwrap();
        world.advance(minutes(60) - 8 * 7 * SECOND);
        for polled in 9..=13 {
            world.settled_so_far(polled).await;
            world.advance(7 * SECOND);
        }
        is_taken_back(&world, 4).await;
        assert_eq!(failures(&world, &ids).await, [0; 8]);
        // Seven hours without a network leave nothing behind.
        for _ in 0..14 {
            world.pass_waiting(minutes(30), 1).await;
            world.until("the probe is over", async || world.handle().under_way() == 0).await;
        }
        assert_eq!(failures(&world, &ids).await, [0; 8]);
        let begun = world.records.of("outage begun");
        assert_eq!(begun.len(), 1);
        let keys = (begun[0]["level"].as_str(), begun[0]["hosts"].as_u64(), begun[0]["failures_reverted"].as_u64());
        assert_eq!(keys, (Some("warn"), Some(5), Some(4)));
        let counted = |record: &&Value| record["msg"] == "feed poll failed";
        assert_eq!(world.records.at("warn").iter().filter(counted).count(), 4, "before it was known to be ours");
        assert_eq!(world.records.at("error"), Vec::<Value>::new());
        world.web.set_network_down(false).unwrap();
        world.pass_waiting(minutes(5), 1).await;
        world.told("outage ended").await;
        let ended = world.now();
        world.pass(minutes(11), 22).await;
        for id in &ids {
            let state = world.source(*id).await.state;
            assert!(state.last_success_at >= Some(ended - minutes(5)), "every source is polled soon");
            assert_eq!(state.failures, Default::default());
        }
        assert_eq!(world.records.of("outage begun").len(), 1);
        world.stop().await;
    });
}

#[rstest]
fn p31_it_works_for_three_sources_as_for_many(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = impatient(engine, &[SiteBehaviour::Healthy; 3]).await;
        let ids = add_apart(&mut world, SECOND).await;
        world.web.set_network_down(true).unwrap();
        world.advance(minutes(60));
        world.told("outage begun").await;
        world.until("all are settled", async || world.handle().under_way() == 0).await;
        world.until("nothing is counted", async || failures(&world, &ids).await == [0; 3]).await;
        world.stop().await;
    });
}

#[rstest]
fn p31_while_the_network_is_away_only_probes_are_made_and_sources_come_back_spread_out(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let mut world = impatient(engine, &[SiteBehaviour::Healthy; 12]).await;
        world.dice = Arc::new(SeededDice::new(5));
        world.policy.breaker.after = 2;
        let ids = world.start_and_poll_all().await;
        world.web.set_network_down(true).unwrap();
        world.advance(minutes(60));
        world.told("outage begun").await;
        world.until("nothing is under way", async || world.handle().under_way() == 0).await;
        let polled = world.handle().statistics().view().settled();
        assert!((17..=24).contains(&polled), "at most one more request per source: {polled}");
        for site in 0..12 {
            let closed = async || world.stored_host(site).await.unwrap().breaker == Default::default();
            world.until("no host is blamed either", closed).await;
        }
        for _ in 0..6 {
            world.pass_waiting(minutes(30), 1).await;
            world.until("the probe is over", async || world.handle().under_way() == 0).await;
        }
        let probed = world.handle().statistics().view().settled() - polled;
        assert!((1..=5 + 6).contains(&probed), "five hosts that had not been asked, then one each half hour: {probed}");
        assert_eq!(failures(&world, &ids).await, [0; 12]);
        assert!(world.records.of("outage ended").is_empty());
        world.web.set_network_down(false).unwrap();
        world.pass_waiting(minutes(5), 1).await;
        world.told("outage ended").await;
        let ended = world.now();
        let before = world.web.journal().len();
        world.pass(minutes(11), 22).await;
        let came: Vec<u64> = world.seconds_since(ended).into_iter().skip(before).collect();
        assert!(came.len() >= 8, "those that waited: {came:?}");
        assert!(came.iter().copied().collect::<BTreeSet<u64>>().len() >= 4, "{came:?}");
        for id in &ids {
            let state = world.source(*id).await.state;
            assert!(state.last_success_at.unwrap() >= ended - minutes(5), "no source is forgotten");
        }
        assert_eq!(world.records.of("outage begun").len(), 1);
        world.stop().await;
    });
}

#[rstest]
fn p31_five_silent_sites_keep_no_healthy_host_waiting_and_are_counted(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = impatient(engine, &[SiteBehaviour::Healthy; 10]).await;
        let ids = add_apart(&mut world, SECOND).await;
        let started = world.now() - 10 * SECOND;
        for site in 0..5 {
            world.web.set_silent(&world.web.sites()[site].host.clone(), true).unwrap();
        }
        // The five are polled in a row without a response, which looks like an outage until another host responds.
        world.advance(minutes(60) - 10 * SECOND);
        for polled in 11..=15 {
            world.settled_so_far(polled).await;
            world.advance(SECOND);
        }
        world.told("outage begun").await;
        is_taken_back(&world, 4).await;
        world.pass_waiting(5 * SECOND, 5).await;
        world.told("outage ended").await;
        world.until("the healthy ones are asked", async || world.handle().statistics().view().unchanged >= 5).await;
        for site in 5..10 {
            let due = started + minutes(60) + SECOND * site as u32;
            let late = began(&world, site)[1].since(due);
            assert!(late <= SECOND, "site {site} was asked {late:?} late");
        }
        // Now it is known that the network is there, and the five are asked again and counted.
        world
            .until("they are counted", async || {
                world.advance(SECOND);
                failures(&world, &ids).await[..5] == [1; 5]
            })
            .await;
        world.pass(hours(5), 20).await;
        assert_eq!(failures(&world, &ids).await, [2, 2, 2, 2, 2, 0, 0, 0, 0, 0]);
        assert_eq!(world.records.of("outage begun").len(), 1);
        assert_eq!(world.source(ids[0]).await.state.failures.last.unwrap().kind, FailureKind::Network);
        world.stop().await;
    });
}

#[rstest]
fn p31_however_many_sites_are_silent_no_healthy_host_waits_for_them(#[values(Sqlite, Postgres)] engine: Engine) {
    const HEALTHY: usize = 6;
    run(async || {
        let mut world = impatient(engine, &[SiteBehaviour::Healthy; HEALTHY + 24]).await;
        world.policy.interval = minutes(1);
        for site in HEALTHY..HEALTHY + 24 {
            world.web.set_silent(&world.web.sites()[site].host.clone(), true).unwrap();
        }
        let ids = world.start_and_poll_all().await;
        world.told("outage begun").await;
        let started = world.now();
        for minute in 1..=9 {
            world.pass_waiting(minutes(1), 6).await;
            // The clock stands still meanwhile, so that a poll that waited for a probe would never end.
            let succeeded = (minute as usize + 1) * HEALTHY;
            let are_polled = async || world.records.of("source polled").len() >= succeeded;
            world.until(&format!("the healthy hosts are polled in minute {minute}"), are_polled).await;
            for site in 0..HEALTHY {
                assert_eq!(began(&world, site)[minute as usize], started + minutes(minute), "site {site}");
            }
        }
        let counted = async || failures(&world, &ids).await[HEALTHY..].iter().all(|failures| *failures > 0);
        world.until("every silent site is counted", counted).await;
        assert_eq!(failures(&world, &ids).await[..HEALTHY], [0; HEALTHY]);
        world.kill().await;
    });
}

#[rstest]
fn p31_a_failure_is_taken_back_as_it_was_written_also_where_a_person_changed_its_source_meanwhile(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let mut behaviours = [SiteBehaviour::Healthy; 8];
        behaviours[0] = SiteBehaviour::NotFound;
        let mut world = World::of(engine, &behaviours).await;
        world.http.connect_timeout = SECOND;
        let ids = add_apart(&mut world, SECOND).await;
        assert_eq!(failures(&world, &ids[..1]).await, [1]);
        world.web.set_network_down(true).unwrap();
        world.change(ids[0], Change::Poll).await;
        world.until("its publisher is asked", async || world.handle().unsettled() == 1).await;
        world.change(ids[0], Change::ResetFailures).await;
        world.settled(9).await;
        assert_eq!(failures(&world, &ids[..1]).await, [1], "counted from the state that the person left");
        world.advance(minutes(60) - 7 * SECOND);
        for polled in 10..=13 {
            world.settled_so_far(polled).await;
            world.advance(SECOND);
        }
        world.told("outage begun").await;
        is_taken_back(&world, 4).await;
        assert_eq!(failures(&world, &ids).await, [0; 8]);
        world.stop().await;
    });
}
