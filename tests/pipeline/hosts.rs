//! One host at a time asks for one thing at a time, spaced, and harms no other (s503–s506, s509, p28).

use std::sync::Arc;
use std::time::Duration;

use feedwarden::actors::{FaultSettings, Scope};
use feedwarden::clock::SystemClock;
use feedwarden::demo::web::{Elsewhere, SiteBehaviour};
use feedwarden::model::{FailureKind, NewSource, SourceType};
use feedwarden::rules::change::Change;
use feedwarden::rules::minutes;
use rstest::rstest;

use super::publisher::feed;
use super::{World, run};
use crate::http::server::{Act, Server};
use crate::store::Engine::{self, Postgres, Sqlite};

const DELAY: Duration = Duration::from_secs(30);

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn pausing(world: &mut World, pause: Duration) {
    world.policy.delays.by_type.insert(SourceType::Rss, pause);
}

#[rstest]
fn s503_a_hanging_host_delays_neither_another_host_nor_the_next_tick(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Hanging, SiteBehaviour::Healthy]).await;
        world.http.deadline = Duration::from_secs(60);
        world.start(Scope::Daemon);
        let ids = world.add_all().await;
        world.handle().sources_changed(ids.clone());
        let statistics = world.handle().statistics();
        for polls in 1..=3 {
            world.until("the other host is polled", async || statistics.view().settled() == polls).await;
            let (now, handle) = (world.now(), world.handle().clone());
            world.until("a tick", async || handle.scheduler_status().await.unwrap().last_tick_at == Some(now)).await;
            assert_eq!(world.handle().under_way(), 1, "the hanging one");
            world.advance(minutes(60));
        }
        assert_eq!(world.source(ids[0]).await.state.last_polled, None);
        world.kill().await;
    });
}

#[rstest]
fn s504_sources_of_one_host_are_asked_for_one_by_one_in_the_order_of_being_due_with_the_delay_between_them(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let mut world = World::on_one_host(engine, &[SiteBehaviour::Healthy; 4]).await;
        pausing(&mut world, DELAY);
        world.start(Scope::Daemon);
        let began = world.now();
        world.quiet().await;
        world.service().pause_polling().await.unwrap();
        let ids = world.add_all().await;
        for site in [2, 0, 3, 1] {
            world.advance(seconds(1));
            world.change(ids[site], Change::Poll).await;
        }
        world.quiet_but_waiting(4).await;
        world.service().resume_polling().await.unwrap();
        // The first request waits as well, because the last request before the start is unknown (p28).
        world.advance(DELAY - seconds(5));
        world.breathe().await;
        assert_eq!(world.web.journal().len(), 0);
        world.advance(seconds(1));
        world.settled_so_far(1).await;
        for polls in 2..=4 {
            world.advance(DELAY - seconds(1));
            world.breathe().await;
            assert_eq!(world.web.journal().len(), polls - 1, "not before its time");
            world.advance(seconds(1));
            world.settled_so_far(polls as u64).await;
        }
        let journal = world.web.journal();
        assert_eq!(journal.iter().map(|asked| asked.site.unwrap()).collect::<Vec<_>>(), [2, 0, 3, 1]);
        assert_eq!(world.seconds_since(began), [30, 60, 90, 120]);
        assert!(journal.iter().all(|asked| !asked.overlapped));
        // The spacing also holds from one tick to the next: by now they are due together.
        world.advance(minutes(70));
        world.settled_so_far(5).await;
        world.breathe().await;
        assert_eq!(world.web.journal().len(), 5);
        world.stop().await;
    });
}

#[rstest]
fn s504_the_delay_holds_by_the_machines_clock_and_requests_never_overlap(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::on_one_host(engine, &[SiteBehaviour::Busy; 6]).await;
        let delay = Duration::from_millis(120);
        world.policy.delays.by_host.insert(world.web.sites()[0].host.clone(), delay);
        world.pipeline_clock = Arc::new(SystemClock);
        world.start_and_poll_all().await;
        let load = &world.web.load()[0];
        assert_eq!((load.requests, load.overlaps), (6, 0));
        assert!(load.gap_min.unwrap() >= delay, "{load:?}");
        world.stop().await;
    });
}

#[rstest]
fn two_polls_of_a_host_share_a_connection_only_if_the_second_follows_at_once(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        for (pause, connections) in [(Duration::ZERO, 1), (DELAY, 2)] {
            let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
            pausing(&mut world, pause);
            let answer = || Act::Send(feed(&[], &["one"]).into_bytes());
            let mut acts = vec![Act::Read, answer(), Act::Read, answer()];
            if connections == 2 {
                acts.insert(2, Act::NextConnection);
            }
            // A connection more than that would never be answered.
            let server = Server::play(acts).await;
            world.start(Scope::Daemon);
            world.advance(DELAY);
            world.quiet().await;
            world.service().pause_polling().await.unwrap();
            for path in ["/1", "/2"] {
                world.add_feed(&server.url(path)).await;
            }
            world.quiet_but_waiting(2).await;
            world.service().resume_polling().await.unwrap();
            world.settled_so_far(1).await;
            world.advance(pause);
            world.settled_so_far(2).await;
            let requests = server.requests();
            let closes: Vec<bool> = requests.iter().map(|head| head.contains("\r\nConnection: close\r\n")).collect();
            assert_eq!(closes, [connections == 2, true], "{requests:?}");
            world.stop().await;
        }
    });
}

#[rstest]
#[case(Some(40), Some(20), Some(10), 40)]
#[case(None, Some(20), Some(10), 20)]
#[case(None, None, Some(10), 10)]
#[case(None, None, None, 0)]
#[case(Some(0), Some(20), Some(10), 0)]
fn s505_the_delay_of_a_source_is_its_own_or_its_hosts_or_its_types_or_none(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[case] own: Option<u32>,
    #[case] of_host: Option<u64>,
    #[case] of_type: Option<u64>,
    #[case] expected: u64,
) {
    run(async || {
        let mut world = World::on_one_host(engine, &[SiteBehaviour::Healthy; 3]).await;
        world.policy.delays.by_type.clear();
        world.policy.delays.by_type.extend(of_type.map(|pause| (SourceType::Rss, seconds(pause))));
        let host = world.web.sites()[0].host.clone();
        world.policy.delays.by_host.extend(of_host.map(|pause| (host, seconds(pause))));
        world.start(Scope::Daemon);
        let began = world.now();
        let new = (0..3).map(|site| NewSource { settings: world.site(site), created_at: began });
        let new = new.map(|mut new| {
            new.settings.poll_delay_seconds = own;
            new
        });
        let ids = world.add(new.collect()).await;
        world.handle().sources_changed(ids);
        for polls in (1..=3).filter(|_| expected > 0) {
            world.advance(seconds(expected - 1));
            world.breathe().await;
            assert_eq!(world.web.journal().len(), polls - 1);
            world.advance(seconds(1));
            world.settled_so_far(polls as u64).await;
        }
        world.settled(3).await;
        let expected: Vec<u64> = (1..=3).map(|nth| nth * expected).collect();
        assert_eq!(world.seconds_since(began), expected);
        world.stop().await;
    });
}

#[rstest]
fn s506_what_is_no_url_fails_as_unexpected_without_a_delay_and_harms_nobody(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        pausing(&mut world, DELAY);
        world.start(Scope::Daemon);
        let mut broken = Vec::new();
        for url in ["no url at all", "http://", "mailto:somebody@example.org"] {
            broken.push(world.add_feed(url).await);
        }
        world.settled(3).await;
        for id in &broken {
            let failures = world.source(*id).await.state.failures;
            assert_eq!(failures.last.unwrap().kind, FailureKind::Unexpected);
            assert_eq!(failures.consecutive, 1);
        }
        let ids = world.add_all().await;
        world.handle().sources_changed(ids);
        world.advance(DELAY);
        world.settled(4).await;
        assert_eq!(world.handle().statistics().view().read, 1);
        assert_eq!(world.records.at("error").len(), 3);
        world.stop().await;
    });
}

#[rstest]
fn p28_the_spacing_holds_across_a_restart_and_a_kill(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[values(false, true)] killed: bool,
) {
    run(async || {
        let mut world = World::on_one_host(engine, &[SiteBehaviour::Healthy; 2]).await;
        pausing(&mut world, DELAY);
        world.start(Scope::Daemon);
        world.add_feed(&world.web.sites()[0].url.clone()).await;
        world.advance(DELAY);
        world.settled(1).await;
        world.advance(seconds(10));
        if killed {
            world.kill_and_start().await;
        } else {
            world.restart().await;
        }
        let began = world.now();
        world.add_feed(&world.web.sites()[1].url.clone()).await;
        world.advance(DELAY - seconds(1));
        world.breathe().await;
        assert_eq!(world.web.journal().len(), 1);
        world.advance(seconds(1));
        world.settled(1).await;
        assert_eq!(world.seconds_since(began)[1], 30, "a killed process may have asked just before it died");
        world.stop().await;
    });
}

#[rstest]
#[case::asked_itself(SiteBehaviour::Healthy)]
#[case::led_elsewhere(SiteBehaviour::Found(Elsewhere::OtherHost))]
fn p28_a_host_that_was_left_is_still_spaced_when_it_comes_back(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[case] first: SiteBehaviour,
) {
    run(async || {
        let mut world = World::of(engine, &[first, SiteBehaviour::Healthy]).await;
        world.start(Scope::Daemon);
        world.advance(minutes(30));
        let id = world.add_feed(&world.web.sites()[0].url.clone()).await;
        world.settled(1).await;
        let began = world.now();
        pausing(&mut world, minutes(10));
        world.handle().set_policy(world.policy.clone());
        leave(&world).await;
        let asked = world.asked(0).len();
        world.change(id, Change::Poll).await;
        world.pass_waiting(minutes(10) - world.now().since(began) - seconds(1), 3).await;
        assert_eq!(world.asked(0).len(), asked);
        world.advance(seconds(1));
        world.served(asked + 1).await;
        assert_eq!(world.seconds_since(began)[asked], 600);
        world.kill().await;
    });
}

/// Waits until all idle host actors have ended.
async fn leave(world: &World) {
    let handle = world.handle().clone();
    for _ in 0..2 {
        world.advance(seconds(61));
        world.quiet().await;
    }
    world.until("the hosts leave", async || handle.hosts() == 0).await;
}

#[rstest]
fn hosts_that_nobody_needs_leave_after_a_minute_and_come_back(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy; 5]).await;
        world.start_and_poll_all().await;
        assert_eq!(world.handle().hosts(), 5);
        leave(&world).await;
        let hosts_in_tree = || world.handle().tree(10).unwrap().to_string();
        world.until("their actors leave", async || !hosts_in_tree().contains("127.1.0")).await;
        world.advance(minutes(58));
        world.settled(10).await;
        assert_eq!(world.handle().hosts(), 5);
        world.stop().await;
    });
}

#[rstest]
#[case("host/PollSource=panic@1")]
#[case("host/FetchFinished=panic@1")]
#[case("host/PollSource=drop@1")]
fn s509_a_crash_in_one_hosts_work_harms_no_other_and_loses_nothing(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[case] fault: &str,
) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy; 6]).await;
        let faults = vec![fault.parse().unwrap()];
        world.settings.faults = FaultSettings { is_enabled: true, seed: 1, limit: Some(3), faults };
        world.start(Scope::Daemon);
        world.quiet().await;
        let ids = world.add_all().await;
        world.handle().sources_changed(ids.clone());
        let statistics = world.handle().statistics();
        world.until("the others are polled", async || statistics.view().read >= 3).await;
        assert_eq!(world.handle().faults(), 3);
        let is_asked_before_the_crash = fault.contains("FetchFinished");
        if is_asked_before_the_crash {
            // Those are settled as our own fault, and made again about a minute later.
            world.settled(6).await;
        } else {
            world.until("those are back", async || world.records.of("poll lost").len() == 3).await;
        }
        world.pass(seconds(59), 1).await;
        assert_eq!(statistics.view().read, 3);
        world.advance(seconds(1));
        world
            .until("all are polled", async || {
                let mut is_all = true;
                for id in &ids {
                    is_all &= world.source(*id).await.state.last_success_at.is_some();
                }
                is_all
            })
            .await;
        world.quiet().await;
        for (site, id) in ids.iter().enumerate() {
            assert_eq!(world.store.bodies(*id).await, world.web.served_entries_of(site));
            assert_eq!(world.source(*id).await.state.failures.consecutive, 0, "no failure is counted");
        }
        let crashes = if fault.contains("panic") { 3 } else { 0 };
        assert_eq!((statistics.view().crashes, statistics.view().restarts), (crashes, crashes));
        assert_eq!(world.records.of("actor crashed").len() as u64, crashes);
        world.stop().await;
    });
}

#[rstest]
fn s509_a_poll_that_is_lost_again_waits_for_its_interval(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        let faults = vec!["host/FetchFinished=panic@1".parse().unwrap()];
        world.settings.faults = FaultSettings { is_enabled: true, seed: 1, limit: Some(3), faults };
        let ids = world.start_and_poll_all().await;
        let lost = world.source(ids[0]).await.state;
        assert_eq!((lost.failures.consecutive, lost.failures.last.unwrap().kind), (0, FailureKind::Internal));
        let told = world.records.of("feed poll failed");
        assert_eq!(told[0]["error"], "the part of this program that polled it crashed");
        let reason = told[0]["reason"].as_str().unwrap();
        assert!(reason.ends_with("the last poll was lost to an internal fault and is repeated"), "{reason}");
        // Lost, made again after a minute, lost again: then it waits for its interval, every time.
        for (wait, polled) in [(minutes(1), 2), (minutes(60), 3), (minutes(60), 4)] {
            world.pass(wait - seconds(1), 3).await;
            assert_eq!(world.handle().statistics().view().settled(), polled - 1);
            world.advance(seconds(1));
            world.settled(polled).await;
        }
        let state = world.source(ids[0]).await.state;
        assert_eq!(state.last_success_at, Some(world.now()), "the fourth is not lost");
        world.stop().await;
    });
}

#[rstest]
fn s509_a_poll_that_is_lost_twice_before_anybody_was_asked_waits_for_the_interval_of_its_source(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        let faults = vec!["host/PollSource=panic@1".parse().unwrap()];
        world.settings.faults = FaultSettings { is_enabled: true, seed: 1, limit: Some(2), faults };
        world.start(Scope::Daemon);
        world.quiet().await;
        let mut settings = world.site(0);
        settings.poll_interval_minutes = Some(7);
        let id = world.add(vec![NewSource { settings, created_at: world.now() }]).await[0];
        world.handle().sources_changed(vec![id]);
        for (lost, wait) in [(1, minutes(1)), (2, minutes(7))] {
            world.until("it is lost", async || world.records.of("poll lost").len() == lost).await;
            world.pass(wait - seconds(1), 2).await;
            assert_eq!((world.records.of("poll lost").len(), world.web.journal().len()), (lost, 0));
            world.advance(seconds(1));
        }
        world.settled(1).await;
        assert_eq!(world.source(id).await.state.last_success_at, Some(world.now()));
        let told = world.records.of("poll lost");
        assert_eq!(
            (told[0]["url"].as_str(), told[0]["level"].as_str()),
            (Some(&*world.web.sites()[0].url), Some("error"))
        );
        world.stop().await;
    });
}
