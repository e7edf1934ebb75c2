//! The system's time is set while the daemon runs: polls, pauses and holds go by the time that passes, and nothing is
//! removed or left out by a time that is not confirmed.

use std::time::Duration;

use feedwarden::actors::Scope;
use feedwarden::clock::HeldClock;
use feedwarden::demo::web::{RetryAfter, SiteBehaviour};
use feedwarden::model::SourceId;
use feedwarden::rules::change::Change;
use feedwarden::rules::{hours, minutes};
use rstest::rstest;

use super::{World, run};
use crate::store::Engine::{self, Postgres, Sqlite};

const DAYS_30: Duration = hours(30 * 24);

async fn polled(engine: Engine, sites: usize) -> (World, Vec<SourceId>) {
    let mut world = World::of(engine, &vec![SiteBehaviour::Healthy; sites]).await;
    let ids = world.start_and_poll_all().await;
    (world, ids)
}

fn is_six_hours(step: &str) -> impl FnOnce(&HeldClock) + use<> {
    let is_back = step == "back";
    move |clock| if is_back { clock.step_back(hours(6)) } else { clock.step_ahead(hours(6)) }
}

#[rstest]
fn a_clock_that_is_put_back_stops_no_poll(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let (mut world, ids) = polled(engine, 3).await;
        world.step(|clock| clock.step_back(hours(6))).await;
        let told = &world.records.of("clock stepped")[0];
        assert_eq!(
            (&told["level"], &told["direction"], &told["step_seconds"]),
            (&"warn".into(), &"back".into(), &21_600.into())
        );
        assert_eq!(world.handle().statistics().view().settled(), 3, "none is due yet, because none was before");
        world.advance(minutes(60));
        world.settled(6).await;
        // By hand and forced.
        world.advance(Duration::from_secs(1));
        world.change(ids[0], Change::Poll).await;
        world.settled(7).await;
        world.handle().force_next_poll(ids[1]);
        world.change(ids[1], Change::PollForced).await;
        world.settled(8).await;
        for polls in [11, 14] {
            world.advance(minutes(60));
            world.settled(polls).await;
        }
        let status = world.handle().scheduler_status().await;
        assert_eq!(world.service().not_ready_because(status.as_ref()).await, Vec::<String>::new());
        assert!(world.source(ids[0]).await.state.last_polled.unwrap() <= world.now());
        world.stop().await;
    });
}

#[rstest]
fn a_step_ahead_polls_what_is_due_by_the_new_time(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let (mut world, _) = polled(engine, 2).await;
        world.step(|clock| clock.step_ahead(hours(6))).await;
        world.settled(4).await;
        world.advance(minutes(59));
        world.settled(4).await;
        world.advance(minutes(1));
        world.settled(6).await;
        world.stop().await;
    });
}

#[rstest]
fn p28_no_step_shortens_or_prolongs_the_pause_of_a_host(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[values("back", "ahead")] step: &str,
) {
    run(async || {
        let mut world = World::on_one_host(engine, &[SiteBehaviour::Healthy; 3]).await;
        world.policy.delays.by_type.clear();
        let host = world.web.sites()[0].host.clone();
        world.policy.delays.by_host.insert(host, Duration::from_secs(100));
        world.start(Scope::Daemon);
        let ids = world.add_all().await;
        world.handle().sources_changed(ids);
        world.advance(Duration::from_secs(100));
        world.served(1).await;
        world.settled_so_far(1).await;
        let began = world.true_now();
        is_six_hours(step)(&world.clock);
        world.advance(Duration::from_secs(5));
        world.told("clock stepped").await;
        world.breathe().await;
        assert_eq!(world.web.journal().len(), 1, "the pause is not over");
        for seconds in [94, 1] {
            world.advance(Duration::from_secs(seconds));
            world.breathe().await;
        }
        world.served(2).await;
        world.settled_so_far(2).await;
        world.advance(Duration::from_secs(100));
        world.served(3).await;
        let between: Vec<u64> = world.seconds_since(began);
        assert_eq!(between, [0, 100, 200]);
        world.settled_so_far(3).await;
        world.stop().await;
    });
}

#[rstest]
fn p15_no_step_shortens_a_hold_although_the_host_was_forgotten_meanwhile(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[values("back", "ahead")] step: &str,
) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::RateLimited(RetryAfter::Seconds(7200))]).await;
        let ids = world.start_and_poll_all().await;
        world.pass(minutes(10), 10).await;
        assert_eq!(world.handle().hosts(), 0, "the host is only in the store");
        world.step(is_six_hours(step)).await;
        world.web.set_behaviour(0, SiteBehaviour::Healthy).unwrap();
        world.pass(minutes(109), 60).await;
        assert_eq!(world.web.journal().len(), 1, "two hours are not over");
        world.pass(minutes(2), 4).await;
        // The answer that got the host held comes back behind others, spread over a window.
        world.pass(minutes(11), 11).await;
        assert_eq!(world.web.journal().len(), 2);
        assert!(world.source(ids[0]).await.state.last_success_at.is_some());
        world.stop().await;
    });
}

#[rstest]
fn p31_an_outage_is_probed_at_its_pauses_across_a_step(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let (mut world, _) = polled(engine, 3).await;
        world.http.connect_timeout = Duration::from_millis(250);
        world.restart().await;
        world.web.set_network_down(true).unwrap();
        world.advance(minutes(60));
        world.told("outage begun").await;
        is_six_hours("back")(&world.clock);
        world.advance(Duration::from_secs(5));
        world.told("clock stepped").await;
        world.web.set_network_down(false).unwrap();
        world
            .until("the end of the outage", async || {
                // A probe takes the machine's time, during which the clock stands still.
                if world.handle().under_way() == 0 {
                    world.advance(minutes(1));
                }
                world.breathe().await;
                !world.records.of("outage ended").is_empty()
            })
            .await;
        let seconds = world.records.of("outage ended")[0]["lasted_seconds"].as_u64().unwrap();
        assert!(seconds < 5 * 3600, "{seconds}");
        world.kill().await;
    });
}

#[rstest]
fn a_clock_that_jumps_ahead_removes_nothing_and_leaves_nothing_out(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let (mut world, ids) = polled(engine, 2).await;
        world.step(|clock| clock.step_ahead(DAYS_30)).await;
        world.settled(4).await;
        let told = &world.records.of("clock not trusted")[0];
        assert_eq!((&told["level"], told["ahead_seconds"].as_u64()), (&"warn".into(), Some(30 * 86_400)));
        assert!(world.handle().ages_judged_at().is_some());
        world.web.publish(0, 2);
        world.advance(minutes(60));
        world.settled(6).await;
        assert_eq!(world.store.bodies(ids[0]).await.len(), 3, "what is published meanwhile is stored");
        // Publishers' clocks object, so that no time makes it trusted.
        for _ in 0..40 {
            world.pass(hours(1), 1).await;
        }
        assert_eq!(world.store.bodies(ids[0]).await.len(), 3);
        assert_eq!(world.store.bodies(ids[1]).await.len(), 1);
        assert!(world.records.of("cleaned up").is_empty());
        world.step(|clock| clock.step_back(DAYS_30)).await;
        assert_eq!(world.records.of("clock trusted again").len(), 1);
        assert_eq!(world.handle().ages_judged_at(), None);
        world.web.publish(1, 2);
        world.pass(hours(1), 4).await;
        assert_eq!(world.store.bodies(ids[1]).await.len(), 3, "and afterwards, too");
        // What is really old goes as ever.
        for _ in 0..(8 * 24) {
            world.pass(hours(1), 1).await;
        }
        assert_eq!(world.store.bodies(ids[0]).await.len(), 0);
        world.stop().await;
    });
}

#[rstest]
fn entries_that_a_wrong_clock_took_for_old_are_stored_when_it_is_right(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        // The first start of all is by a wrong clock: nothing tells that it is.
        world.clock.step_ahead(DAYS_30);
        world.clock.restart();
        let ids = world.start_and_poll_all().await;
        world.web.publish(0, 2);
        world.advance(minutes(60));
        world.settled(2).await;
        assert_eq!(world.store.bodies(ids[0]).await.len(), 0, "they are too old for this clock");
        world.step(|clock| clock.step_back(DAYS_30)).await;
        world.pass(minutes(60), 2).await;
        assert_eq!(world.store.bodies(ids[0]).await.len(), 2, "nothing was lost");
        world.stop().await;
    });
}

#[rstest]
fn after_a_long_downtime_publishers_confirm_the_time_and_old_posts_go(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let (mut world, ids) = polled(engine, 2).await;
        world.stop().await;
        world.advance(hours(20 * 24));
        world.start(Scope::Daemon);
        world.told("clock not trusted").await;
        world.told("clock trusted again").await;
        assert!(world.records.of("clock trusted again")[0]["reason"].as_str().unwrap().contains("2 publishers"));
        world.quiet().await;
        world.pass(minutes(2), 2).await;
        world.until("old posts go", async || world.store.bodies(ids[0]).await.is_empty()).await;
        world.stop().await;
    });
}

#[rstest]
fn a_clock_that_is_behind_at_the_start_is_not_trusted_and_its_correction_is_no_jump(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let (mut world, ids) = polled(engine, 2).await;
        world.stop().await;
        // The clock has lost its battery. Two starts, so that the second reads what the first has noted.
        world.clock.step_back(DAYS_30);
        for _ in 0..2 {
            world.start(Scope::Daemon);
            world.told("clock not trusted").await;
            world.pass(minutes(20), 4).await;
            world.stop().await;
        }
        world.start(Scope::Daemon);
        world.told("clock not trusted").await;
        world.step(|clock| clock.step_ahead(DAYS_30)).await;
        world.pass(minutes(60), 4).await;
        for told in world.records.of("clock not trusted") {
            assert!(told["behind_seconds"].as_u64().is_some_and(|behind| behind > 29 * 86_400), "{told}");
        }
        assert_eq!(world.records.of("clock trusted again").len(), 1);
        assert_eq!(world.store.bodies(ids[0]).await.len(), 1);
        world.stop().await;
    });
}

#[rstest]
fn a_step_ahead_to_the_time_that_publishers_have_is_no_reason_for_doubt(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy; 2]).await;
        // The first start of all is by a clock without a battery: nothing tells that it is behind, but publishers.
        world.clock.step_back(DAYS_30);
        world.clock.restart();
        world.start_and_poll_all().await;
        world.pass(minutes(2), 2).await;
        world.advance(minutes(60));
        world.settled(4).await;
        world.step(|clock| clock.step_ahead(DAYS_30)).await;
        world.pass(minutes(60), 4).await;
        assert_eq!(world.records.of("clock not trusted"), Vec::<serde_json::Value>::new());
        assert_eq!(world.handle().ages_judged_at(), None);
        world.stop().await;
    });
}

#[rstest]
fn a_small_step_back_makes_no_interval_longer(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let (mut world, ids) = polled(engine, 2).await;
        world.advance(minutes(30));
        // Their last polls do not lie in the future after it.
        world.step(|clock| clock.step_back(minutes(10))).await;
        world.advance(minutes(30));
        world.settled(4).await;
        assert_eq!(world.source(ids[0]).await.state.last_polled, Some(world.now()));
        world.stop().await;
    });
}

#[rstest]
fn polls_that_wait_for_the_end_of_an_outage_come_after_it_although_the_clock_was_set_back(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy; 8]).await;
        world.http.connect_timeout = Duration::from_millis(250);
        let ids = world.start_and_poll_all().await;
        world.web.set_network_down(true).unwrap();
        world.advance(minutes(60));
        world.told("outage begun").await;
        world.until("the polls are over", async || world.handle().under_way() == 0).await;
        // Those that were reverted are due again, and wait.
        world.advance(minutes(2));
        let in_flight = async || world.handle().scheduler_status().await.unwrap().under_way;
        let wait_at_hosts = async || world.handle().under_way() == 0 && in_flight().await >= 4;
        world.until("they wait at their hosts", wait_at_hosts).await;
        world.follow(|clock| clock.step_back(DAYS_30)).await;
        world.web.set_network_down(false).unwrap();
        world.pass_waiting(minutes(5), 1).await;
        world.told("outage ended").await;
        let ended = world.now();
        world.pass(minutes(15), 30).await;
        for id in &ids {
            let state = world.source(*id).await.state;
            let explained = world.service().explain(*id).await.unwrap().summary;
            assert!(state.last_success_at >= Some(ended - minutes(5)), "{id:?}: {explained}; {state:?}");
        }
        world.stop().await;
    });
}
