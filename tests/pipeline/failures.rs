//! What failures do to a source, poll by poll: counted, rested, disabled, and forgiven (s1xx, s2xx, s4xx, p24).

use std::time::Duration;

use feedwarden::actors::Scope;
use feedwarden::demo::web::{Elsewhere, RetryAfter, SiteBehaviour};
use feedwarden::model::{FailureClass, FailureKind, RestCause, SourceId, SourceState};
use feedwarden::rules::change::Change;
use feedwarden::rules::{RestRule, hours, minutes};
use rstest::rstest;

use super::publisher::{answer, feed, publisher};
use super::{World, run};
use crate::store::Engine::{self, Postgres, Sqlite};

/// One source in a world where no breaker opens.
async fn one(engine: Engine, behaviour: SiteBehaviour) -> (World, SourceId) {
    let mut world = World::of(engine, &[behaviour]).await;
    world.policy.breaker.after = 1000;
    if behaviour == SiteBehaviour::Hanging {
        world.http.deadline = Duration::from_millis(200);
    }
    let ids = world.start_and_poll_all().await;
    (world, ids[0])
}

async fn state(world: &World, id: SourceId) -> SourceState {
    world.source(id).await.state
}

fn rest_of(state: &SourceState) -> Option<FailureKind> {
    state.rest.as_ref().map(|rest| match rest.cause {
        RestCause::Failures(kind) => kind,
        RestCause::Reported(_) | RestCause::Person(_) => panic!("no person did that"),
    })
}

/// Nothing happens until shortly before this much has passed, and then one poll.
async fn polled_after(world: &World, wait: Duration) {
    let (before, polls) = (world.web.journal().len(), world.handle().statistics().view().settled());
    world.pass(wait - Duration::from_secs(60), 4).await;
    world.quiet().await;
    assert_eq!(world.web.journal().len(), before, "a minute is missing");
    world.advance(Duration::from_secs(60));
    world.settled(polls + 1).await;
}

#[rstest]
fn s112_s203_a_200_and_a_304_are_both_a_success(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let not_found = answer("404 Not Found", &[], "");
        let (read, unchanged) = (feed(&["ETag: \"1\""], &["one"]), answer("304 Not Modified", &[], ""));
        let server = publisher(&[not_found.clone(), read, not_found, unchanged]).await;
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.start(Scope::Daemon);
        let id = world.add_feed(&server.url("/feed")).await;
        world.settled(1).await;
        for _ in 0..2 {
            let failed = state(&world, id).await;
            assert_eq!((failed.failures.consecutive, failed.last_polled), (1, Some(world.now())));
            assert_eq!(failed.failures.last.unwrap().class, FailureClass::Permanent);
            world.poll_again(id).await;
            let well = state(&world, id).await;
            assert_eq!(well.failures, Default::default());
            assert_eq!((well.last_polled, well.last_success_at), (Some(world.now()), Some(world.now())));
            if server.requests().len() < 4 {
                world.poll_again(id).await;
            }
        }
        world.stop().await;
    });
}

#[rstest]
fn s401_s406_s407_s413_s414_s502_a_404_rests_after_three_and_is_disabled_after_five(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let (mut world, id) = one(engine, SiteBehaviour::NotFound).await;
        polled_after(&world, minutes(120)).await;
        polled_after(&world, minutes(240)).await;
        assert_eq!(rest_of(&state(&world, id).await), Some(FailureKind::NotFound));
        let told = world.records.of("feed disabled");
        assert_eq!(told.len(), 1);
        assert_eq!((told[0]["level"].as_str(), told[0]["source_id"].as_i64()), (Some("warn"), Some(id.0)));
        assert_eq!(told[0]["url"], world.web.sites()[0].url);
        assert_eq!(told[0]["reason"], "not_found");
        assert_eq!(told[0]["decision"], "rests for 48 h after 3 not_found in a row");
        assert_eq!(told[0]["consecutive_failures"], 3);
        polled_after(&world, hours(48)).await;
        world.restart().await;
        polled_after(&world, hours(48)).await;
        let state = state(&world, id).await;
        assert!(!state.enabled);
        assert_eq!(state.disabled_reason.as_deref(), Some("Auto-disabled after 5 consecutive 404 errors"));
        let told = world.records.of("source disabled");
        assert_eq!((told.len(), told[0]["url"].as_str()), (1, Some(&*world.web.sites()[0].url)));
        // Disabled is never polled (s502), whatever happens, until a person says so (s406).
        world.pass(hours(240), 5).await;
        world.restart().await;
        world.pass(hours(240), 5).await;
        world.quiet().await;
        assert_eq!(world.web.journal().len(), 5);
        world.web.set_behaviour(0, SiteBehaviour::Healthy).unwrap();
        world.change(id, Change::Enable).await;
        world.settled(1).await;
        let state = world.source(id).await.state;
        assert!(state.enabled && state.rest.is_none() && state.disabled_reason.is_none());
        assert_eq!(state.failures, Default::default());
        world.stop().await;
    });
}

#[rstest]
fn s402_s404_only_five_permanent_failures_in_a_row_disable_and_the_reason_is_true(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let (mut world, id) = one(engine, SiteBehaviour::NotFound).await;
        let next = [
            SiteBehaviour::Forbidden,
            SiteBehaviour::Unauthorized,
            SiteBehaviour::Broken(500),
            SiteBehaviour::NotFound,
            SiteBehaviour::Forbidden,
            SiteBehaviour::NotFound,
            SiteBehaviour::Forbidden,
        ];
        for behaviour in next {
            world.web.set_behaviour(0, behaviour).unwrap();
            world.poll_again(id).await;
        }
        let before = state(&world, id).await;
        assert!(before.enabled);
        assert_eq!((before.failures.consecutive, before.failures.consecutive_permanent), (8, 4));
        world.web.set_behaviour(0, SiteBehaviour::NotFound).unwrap();
        world.poll_again(id).await;
        let after = state(&world, id).await;
        assert!(!after.enabled);
        assert_eq!(
            after.disabled_reason.as_deref(),
            Some("Auto-disabled after 5 consecutive permanent errors, the last a 404 error")
        );
        assert_eq!(after.failures.consecutive, 9);
        world.stop().await;
    });
}

#[rstest]
#[case(None, 3)]
#[case(Some(2), 2)]
fn s405_the_number_that_disables_is_configured_or_the_sources_own(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[case] own: Option<u32>,
    #[case] expected: u64,
) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Forbidden]).await;
        world.policy.max_failures = 3;
        let ids = world.start_and_poll_all().await;
        let settings = feedwarden::model::SourceSettings { max_failures: own, ..world.site(0) };
        world.change(ids[0], Change::Update { settings, enabled: None, needs_owner_key: false }).await;
        for _ in 1..expected {
            assert!(state(&world, ids[0]).await.enabled);
            world.poll_again(ids[0]).await;
        }
        assert!(!state(&world, ids[0]).await.enabled);
        world.stop().await;
    });
}

#[rstest]
fn s408_s416_p24_a_410_rests_for_72_h_with_its_posts_kept_until_a_success(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let (mut world, id) = one(engine, SiteBehaviour::Healthy).await;
        let bodies = world.store.bodies(id).await;
        world.web.set_behaviour(0, SiteBehaviour::Gone).unwrap();
        world.poll_again(id).await;
        assert_eq!(rest_of(&state(&world, id).await), Some(FailureKind::Gone));
        assert_eq!(world.records.of("feed disabled").len(), 1);
        assert_eq!(world.store.bodies(id).await, bodies);
        polled_after(&world, hours(72)).await;
        // And a success ends it (s416).
        world.web.set_behaviour(0, SiteBehaviour::Healthy).unwrap();
        polled_after(&world, hours(72)).await;
        assert_eq!(state(&world, id).await.rest, None);
        polled_after(&world, hours(1)).await;
        world.stop().await;
    });
}

#[rstest]
#[case::s403_s410_timeouts(SiteBehaviour::Hanging, 10, Some(FailureKind::Network), true, hours(24))]
#[case::s403_s410_resets(SiteBehaviour::Reset, 10, Some(FailureKind::Network), true, hours(24))]
#[case::s410_upstream(SiteBehaviour::Broken(500), 10, Some(FailureKind::UpstreamFailure), true, hours(24))]
#[case::s411_parse_error(SiteBehaviour::BrokenXml, 5, Some(FailureKind::ParseError), true, hours(24))]
#[case::s409_forbidden(SiteBehaviour::Forbidden, 5, None, false, hours(0))]
fn s403_s409_s410_s411_s415_runs_of_one_kind_rest_and_never_end_before_backoff(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[case] behaviour: SiteBehaviour,
    #[case] polls: u32,
    #[case] rest: Option<FailureKind>,
    #[case] enabled: bool,
    #[case] then_after: Duration,
) {
    run(async || {
        let (mut world, id) = one(engine, behaviour).await;
        for nth in 1..polls {
            let before = state(&world, id).await;
            assert_eq!((before.failures.consecutive, before.enabled, &before.rest), (nth, true, &None));
            world.poll_again(id).await;
        }
        let after = state(&world, id).await;
        assert_eq!((rest_of(&after), after.enabled), (rest, enabled));
        if enabled {
            // The rest alone would be over sooner, or as soon: the later of the two counts.
            polled_after(&world, then_after).await;
        }
        world.stop().await;
    });
}

#[rstest]
fn s412_an_unexpected_status_never_rests_nor_disables(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let server = publisher(&vec![answer("418 I'm a teapot", &[], ""); 12]).await;
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.start(Scope::Daemon);
        let id = world.add_feed(&server.url("/feed")).await;
        world.settled(1).await;
        for _ in 1..12 {
            world.poll_again(id).await;
        }
        let state = state(&world, id).await;
        assert_eq!((state.failures.consecutive, state.enabled, state.rest), (12, true, None));
        assert_eq!(world.records.at("error").len(), 12);
        world.stop().await;
    });
}

#[rstest]
fn s417_a_rest_by_hand_holds_until_a_person_ends_it(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let (mut world, id) = one(engine, SiteBehaviour::Broken(500)).await;
        world.change(id, Change::Rest("too noisy".into())).await;
        world.pass(hours(500), 5).await;
        world.restart().await;
        world.pass(hours(500), 5).await;
        world.quiet().await;
        assert_eq!(world.web.journal().len(), 1);
        world.change(id, Change::Wake).await;
        world.settled(1).await;
        let state = state(&world, id).await;
        assert_eq!((state.rest, state.failures.consecutive), (None, 1), "counted from a clean slate");
        world.stop().await;
    });
}

#[rstest]
fn s417_a_reported_kind_rests_for_its_cooldown_through_a_restart_and_is_tried_again(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let (mut world, id) = one(engine, SiteBehaviour::Healthy).await;
        world.policy.rests.set(FailureKind::Network, RestRule { after: 10, cooldown: hours(30) });
        world.restart().await;
        world.change(id, Change::Rest("network".into())).await;
        world.pass(hours(29), 5).await;
        world.restart().await;
        polled_after(&world, hours(1)).await;
        assert_eq!((state(&world, id).await.rest, world.web.journal().len()), (None, 2));
        // What still fails after the cooldown is counted as ever, and rests of its own accord when its run is long
        // enough.
        world.web.set_behaviour(0, SiteBehaviour::Gone).unwrap();
        world.change(id, Change::Rest("upstream_failure".into())).await;
        polled_after(&world, hours(6)).await;
        assert_eq!(rest_of(&state(&world, id).await), Some(FailureKind::Gone));
        world.stop().await;
    });
}

#[rstest]
fn s205_s206_every_kind_is_told_once_as_loud_as_it_deserves(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let cases = [
            (SiteBehaviour::NotFound, "not_found", 404, "warn"),
            (SiteBehaviour::Broken(500), "upstream_failure", 500, "warn"),
            (SiteBehaviour::Unavailable(RetryAfter::Unsaid), "upstream_failure", 503, "warn"),
            (SiteBehaviour::Reset, "network", 0, "warn"),
            (SiteBehaviour::Cut, "network", 0, "warn"),
            (SiteBehaviour::Dead, "network", 0, "warn"),
            (SiteBehaviour::Unauthorized, "unauthorized", 401, "warn"),
            (SiteBehaviour::Forbidden, "forbidden", 403, "warn"),
            (SiteBehaviour::Gone, "gone", 410, "warn"),
            (SiteBehaviour::RateLimited(RetryAfter::Unsaid), "rate_limited", 429, "warn"),
            (SiteBehaviour::BrokenXml, "parse_error", 200, "warn"),
            (SiteBehaviour::NotAFeed, "parse_error", 200, "warn"),
            (SiteBehaviour::Loop, "upstream_failure", 302, "warn"),
            (SiteBehaviour::Broken(418), "unexpected", 418, "error"),
        ];
        let mut world = World::of(engine, &cases.map(|(behaviour, ..)| behaviour)).await;
        let ids = world.start_and_poll_all().await;
        let failed = world.records.of("feed poll failed");
        assert_eq!(failed.len(), cases.len());
        for (site, (behaviour, kind, status, level)) in cases.into_iter().enumerate() {
            let record = failed.iter().find(|record| record["source_id"] == ids[site].0).unwrap();
            let keys = (record["error_type"].as_str(), record["level"].as_str(), record["status_code"].as_u64());
            assert_eq!(keys, (Some(kind), Some(level), Some(status)), "{behaviour}: {record}");
            assert_eq!(record["consecutive_failures"], 1);
            let last = state(&world, ids[site]).await.failures.last.unwrap();
            assert_eq!((last.kind.name(), Some(&*last.error)), (kind, record["error"].as_str()));
            let poll = world.history(ids[site]).await.remove(0);
            assert_eq!((poll.error_type, poll.error.as_deref()), (Some(last.kind), record["error"].as_str()));
            if kind != "network" {
                assert_eq!(poll.status_code.map(u64::from), Some(status), "{behaviour}: {poll:?}");
            }
        }
        for record in world.records.all().iter().filter(|record| record.get("source_id").is_some()) {
            assert!(record["url"].as_str().is_some_and(|url| url.starts_with("http://127.")), "{record}");
        }
        world.stop().await;
    });
}

#[rstest]
fn s101_s102_s106_s108_a_day_of_refusals_is_no_error_of_ours(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(
            engine,
            &[
                SiteBehaviour::NotFound,
                SiteBehaviour::Forbidden,
                SiteBehaviour::RateLimited(RetryAfter::Seconds(1800)),
                SiteBehaviour::RateLimited(RetryAfter::Unsaid),
                SiteBehaviour::Unavailable(RetryAfter::Unsaid),
                SiteBehaviour::Unavailable(RetryAfter::Date(1800)),
                SiteBehaviour::Broken(500),
                SiteBehaviour::Broken(502),
                SiteBehaviour::Moved(Elsewhere::SameHost),
            ],
        )
        .await;
        world.start_and_poll_all().await;
        world.pass(hours(24), 96).await;
        world.quiet().await;
        assert!(world.handle().statistics().view().settled() >= 9 * 3);
        assert_eq!(world.records.at("error"), Vec::<serde_json::Value>::new());
        assert_eq!(world.handle().statistics().view().crashes, 0);
        world.stop().await;
    });
}
