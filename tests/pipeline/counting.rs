//! What a failed poll leaves in its source's row, and when the row says that it is polled again (s201–s204, s301–s306).

use std::time::Duration;

use feedwarden::actors::Scope;
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::{FailureKind, NewSource, SourceId, SourceSettings};
use feedwarden::rules::{hours, minutes};
use rstest::rstest;

use super::{World, run};
use crate::store::Engine::{self, Postgres, Sqlite};

const MINUTE: Duration = Duration::from_secs(60);

/// A column of the only source, as it stands in the database.
async fn column(world: &World, name: &str) -> Option<String> {
    world.store.raw_text(&format!("SELECT {name} FROM sources")).await
}

async fn check_columns(world: &World, failures: &str, class: Option<&str>, kind: Option<&str>, error: Option<&str>) {
    assert_eq!(column(world, "consecutive_failures").await.as_deref(), Some(failures));
    assert_eq!(column(world, "last_failure_type").await.as_deref(), class);
    assert_eq!(column(world, "last_error_type").await.as_deref(), kind);
    assert_eq!(column(world, "last_error").await.as_deref(), error);
}

#[rstest]
fn s201_s202_s203_s204_failures_are_counted_with_their_class_kind_and_text_and_a_success_clears_all(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Broken(500)]).await;
        let id = world.start_and_poll_all().await[0];
        let upstream = Some("upstream_failure");
        check_columns(&world, "1", Some("transient"), upstream, Some("HTTP 500 Internal Server Error")).await;
        assert_eq!(world.source(id).await.state.last_polled, Some(world.now()));
        for _ in 0..2 {
            world.poll_again(id).await;
        }
        check_columns(&world, "3", Some("transient"), upstream, Some("HTTP 500 Internal Server Error")).await;
        world.web.set_behaviour(0, SiteBehaviour::NotFound).unwrap();
        world.poll_again(id).await;
        check_columns(&world, "4", Some("permanent"), Some("not_found"), Some("HTTP 404 Not Found")).await;
        assert_eq!(world.source(id).await.state.last_polled, Some(world.now()));
        world.web.set_behaviour(0, SiteBehaviour::Healthy).unwrap();
        world.poll_again(id).await;
        check_columns(&world, "0", None, None, None).await;
        world.stop().await;
    });
}

/// A source that was polled just now and has failed this often, in a store in which no pipeline runs yet.
async fn failed(world: &World, failures: u32, settings: SourceSettings) -> SourceId {
    let now = world.now();
    let id = world.add(vec![NewSource { settings, created_at: now }]).await[0];
    let mut source = world.source(id).await;
    source.state.first_polled_at = Some(now);
    source.state.last_polled = Some(now);
    source.state.failures.consecutive = failures;
    world.store.save_source(source, now).await.unwrap();
    id
}

#[rstest]
#[case::s301_healthy(60, 24, None, 0, minutes(60))]
#[case::s302_once(60, 24, None, 1, minutes(120))]
#[case::s302_twice(60, 24, None, 2, minutes(240))]
#[case::s302_three_times(60, 24, None, 3, minutes(480))]
#[case::s302_four_times(60, 24, None, 4, minutes(960))]
#[case::s303_five_times(60, 24, None, 5, minutes(1440))]
#[case::s303_for_ever(60, 24, None, u32::MAX, minutes(1440))]
#[case::s304_configured_ceiling(60, 6, None, 10, minutes(360))]
#[case::s305_lower_ceiling_of_its_own(60, 24, Some(6), 10, minutes(360))]
#[case::s305_higher_ceiling_of_its_own(60, 6, Some(48), 10, hours(48))]
#[case::s306_interval_beyond_the_ceiling(48 * 60, 24, None, 3, hours(48))]
fn s301_s302_s303_s304_s305_s306_s501_the_scheduler_waits_as_long_as_the_stored_failures_say(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[case] interval_minutes: u32,
    #[case] max_backoff_hours: u32,
    #[case] own_max_backoff_hours: Option<u32>,
    #[case] failures: u32,
    #[case] wait: Duration,
) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.policy.max_backoff = hours(max_backoff_hours);
        let settings = SourceSettings {
            poll_interval_minutes: Some(interval_minutes),
            max_backoff_hours: own_max_backoff_hours,
            ..world.site(0)
        };
        let id = failed(&world, failures, settings).await;
        let polled = world.now();
        world.start(Scope::Daemon);
        world.quiet().await;
        world.advance(wait - world.now().since(polled) - MINUTE);
        world.quiet().await;
        assert_eq!(world.web.journal().len(), 0, "a minute is missing");
        world.advance(MINUTE);
        world.settled(1).await;
        assert_eq!(world.source(id).await.state.failures.consecutive, 0);
        world.stop().await;
    });
}

#[rstest]
fn p34_a_body_over_the_limit_is_recorded_and_asked_for_again_after_its_backoff(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Huge]).await;
        world.http.body_bytes_max = 64 * 1024;
        let id = world.start_and_poll_all().await[0];
        let failures = world.source(id).await.state.failures;
        let last = failures.last.unwrap();
        assert_eq!((last.kind, last.error.as_str()), (FailureKind::Unexpected, "body over 64 KiB"));
        assert_eq!(failures.consecutive, 1);
        assert_eq!(world.store.bodies(id).await, [""; 0]);
        world.advance(minutes(119));
        world.quiet().await;
        assert_eq!(world.web.journal().len(), 1);
        world.advance(MINUTE);
        world.settled(2).await;
        world.stop().await;
    });
}

#[rstest]
fn p36_a_source_at_an_address_that_is_not_allowed_fails_without_a_request(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.http.allowed_networks.clear();
        let id = world.start_and_poll_all().await[0];
        let last = world.source(id).await.state.failures.last.unwrap();
        assert_eq!(last.kind, FailureKind::Forbidden);
        assert_eq!(world.records.of("feed poll failed")[0]["level"], "warn");
        assert!(last.error.ends_with("is refused: loopback; see http.allowed-networks"), "{}", last.error);
        assert_eq!(world.web.journal().len(), 0);
        world.stop().await;
    });
}
