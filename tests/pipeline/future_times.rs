//! Times that a clock that was ahead has stored: what they are about is due now, and each row is corrected once.

use std::time::Duration;

use feedwarden::actors::Scope;
use feedwarden::demo::web::{RetryAfter, SiteBehaviour};
use feedwarden::rules::{hours, minutes};
use rstest::rstest;

use super::{World, run};
use crate::store::Engine::{self, Postgres, Sqlite};

const DAYS_30: Duration = hours(30 * 24);

/// A world whose sources were polled by an earlier process with a clock that was ahead, and that is right now.
async fn ahead(engine: Engine, behaviours: &[SiteBehaviour], by: Duration) -> World {
    let mut world = World::of(engine, behaviours).await;
    world.clock.step_ahead(by);
    world.clock.restart();
    world.start_and_poll_all().await;
    world.stop().await;
    world.clock.step_back(by);
    world
}

#[rstest]
fn sources_that_were_polled_in_the_future_are_due_now_and_their_rows_are_corrected(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[values(hours(6), DAYS_30)] by: Duration,
) {
    run(async || {
        let mut world = ahead(engine, &[SiteBehaviour::Healthy, SiteBehaviour::CacheFor(3600)], by).await;
        world.advance(minutes(5));
        world.start(Scope::Daemon);
        world.settled(2).await;
        let told = &world.records.of("stored times corrected")[0];
        assert_eq!((&told["level"], &told["sources"]), (&"warn".into(), &2.into()));
        assert_eq!(world.records.of("stored times of hosts corrected").len(), 1);
        for source in world.store.list_sources(None, 9).await.unwrap() {
            assert_eq!(source.state.last_polled, Some(world.now()));
        }
        // Once: the next ones come at their interval.
        world.advance(minutes(60));
        world.settled(4).await;
        world.kill_and_start().await;
        world.quiet().await;
        assert!(world.records.of("stored times corrected").is_empty());
        assert!(world.records.of("stored times of hosts corrected").is_empty());
        world.stop().await;
    });
}

#[rstest]
fn a_row_is_corrected_in_the_store_before_its_source_is_polled(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = ahead(engine, &[SiteBehaviour::Healthy], DAYS_30).await;
        world.store.pause_polling(world.now()).await.unwrap();
        world.start(Scope::Daemon);
        world.told("stored times corrected").await;
        world.quiet_but_waiting(1).await;
        let state = world.store.list_sources(None, 1).await.unwrap().remove(0).state;
        assert_eq!((state.last_polled, state.validators.etag), (None, None));
        assert!(state.last_success_at.unwrap() <= world.now());
        world.stop().await;
    });
}

#[rstest]
fn a_rest_a_retry_after_and_a_hold_of_a_clock_that_was_ahead_end(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let behaviours = [SiteBehaviour::Gone, SiteBehaviour::RateLimited(RetryAfter::Seconds(7200))];
        let mut world = ahead(engine, &behaviours, DAYS_30).await;
        for site in [0, 1] {
            world.web.set_behaviour(site, SiteBehaviour::Healthy).unwrap();
        }
        world.advance(minutes(5));
        world.start(Scope::Daemon);
        world.settled(2).await;
        for source in world.store.list_sources(None, 9).await.unwrap() {
            assert_eq!((source.state.last_success_at, source.state.rest), (Some(world.now()), None));
        }
        world.stop().await;
    });
}

#[rstest]
fn p10_a_hold_of_a_clock_that_was_a_little_ahead_is_as_long_as_it_was(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let behaviours = [SiteBehaviour::RateLimited(RetryAfter::Seconds(7200))];
        let mut world = ahead(engine, &behaviours, hours(6)).await;
        world.web.set_behaviour(0, SiteBehaviour::Healthy).unwrap();
        world.start(Scope::Daemon);
        world.pass(minutes(119), 30).await;
        assert_eq!(world.web.journal().len(), 1, "not sooner than it was asked");
        world.pass(minutes(15), 15).await;
        assert_eq!(world.web.journal().len(), 2, "and not six hours later");
        world.stop().await;
    });
}
