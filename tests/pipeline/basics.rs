//! One poll from end to end, and when the next one comes.

use std::sync::Arc;
use std::time::Duration;

use feedwarden::actors::Scope;
use feedwarden::demo::web::{Mix, RetryAfter, SiteBehaviour, WebSettings};
use feedwarden::dice::SeededDice;
use feedwarden::model::{FailureKind, RestCause};
use feedwarden::rules::{hours, minutes};
use feedwarden::service::{PollRequest, RequestedPoll};
use rstest::rstest;

use super::{World, run};
use crate::store::Engine::{self, Postgres, Sqlite};

#[rstest]
fn a_daemon_without_sources_says_what_to_do(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.start(Scope::Daemon);
        world.told("no sources").await;
        let [record] = &world.records.of("no sources")[..] else { panic!("one record") };
        assert!(record["reason"].as_str().unwrap().contains("`feedwarden source add URL`"), "{record}");
        world.stop().await;
    });
}

#[rstest]
fn s508_a_source_that_is_added_while_it_runs_is_polled_at_once_and_then_at_its_interval(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.start(Scope::Daemon);
        let ids = world.add_all().await;
        world.handle().sources_changed(ids.clone());
        world.settled(1).await;
        let bodies = world.store.bodies(ids[0]).await;
        assert_eq!(bodies, world.web.served_entries_of(0));
        assert_eq!(bodies.len(), 1);
        world.advance(minutes(59));
        world.web.publish(0, 2);
        world.advance(minutes(1));
        world.settled(2).await;
        assert_eq!(world.store.bodies(ids[0]).await.len(), 3);
        world.advance(minutes(60));
        world.settled(3).await;
        let statistics = world.handle().statistics().view();
        assert_eq!((statistics.read, statistics.unchanged, statistics.new_posts), (2, 1, 3));
        world.stop().await;
        let polled = world.records.of("source polled");
        assert_eq!(polled.len(), 3);
        assert_eq!(polled[0]["source_id"], ids[0].0);
        assert_eq!(polled[0]["url"], world.web.sites()[0].url);
        assert_eq!(polled[0]["status_code"], 200);
        assert_eq!(polled[0]["new_posts"], 1);
        assert_eq!(polled[0]["reason"].as_str().unwrap().split(": ").last(), Some("the interval of an active source"));
        assert_eq!(polled[2]["status_code"], 304);
        assert_eq!(world.records.at("error"), Vec::<serde_json::Value>::new());
    });
}

#[rstest]
fn s205_a_failed_poll_is_told_once_with_all_its_keys(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::NotFound]).await;
        world.start(Scope::Daemon);
        let ids = world.add_all().await;
        world.handle().sources_changed(ids.clone());
        world.settled(1).await;
        world.stop().await;
        let failed = world.records.of("feed poll failed");
        assert_eq!(failed.len(), 1);
        assert_eq!(failed[0]["level"], "warn");
        assert_eq!(failed[0]["source_id"], ids[0].0);
        assert_eq!(failed[0]["url"], world.web.sites()[0].url);
        assert_eq!(failed[0]["error_type"], "not_found");
        assert_eq!(failed[0]["status_code"], 404);
        assert_eq!(failed[0]["error"], "HTTP 404 Not Found");
        assert_eq!(failed[0]["consecutive_failures"], 1);
        let state = world.source(ids[0]).await.state;
        assert_eq!(state.failures.last.unwrap().kind, FailureKind::NotFound);
        assert_eq!(state.failures.consecutive, 1);
        assert!(world.records.of("source polled").is_empty());
    });
}

#[rstest]
fn p17_a_source_that_gets_its_host_held_again_and_again_does_not_starve_the_others(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        // Its Retry-After is longer than its own backoff, so that it is due when the hold ends.
        let often = SiteBehaviour::RateLimited(RetryAfter::Seconds(3 * 3600));
        let behaviours = vec![often, SiteBehaviour::Healthy, SiteBehaviour::Healthy, SiteBehaviour::Healthy];
        let web = WebSettings { sites: 4, mix: Mix::InTurn(behaviours), ..WebSettings::default() };
        let mut world = World::with(engine, web).await;
        world.dice = Arc::new(SeededDice::new(5));
        world.start(Scope::Daemon);
        let ids = world.add_all().await;
        world.handle().sources_changed(ids.clone());
        world.until("the host is held", async || !world.records.of("host held").is_empty()).await;
        for _ in 0..100 {
            world.advance(minutes(5));
            world.quiet().await;
        }
        for id in &ids[1..] {
            assert!(world.source(*id).await.state.last_success_at.is_some(), "{id} was never asked");
        }
        assert!(world.records.of("host held").len() > 1);
        world.stop().await;
    });
}

#[rstest]
fn p24_a_404_backs_off_first_and_a_410_stops_at_once_with_its_posts_kept(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy, SiteBehaviour::Healthy]).await;
        world.start(Scope::Daemon);
        let ids = world.add_all().await;
        world.handle().sources_changed(ids.clone());
        world.settled(2).await;
        world.web.set_behaviour(0, SiteBehaviour::NotFound).unwrap();
        world.web.set_behaviour(1, SiteBehaviour::Gone).unwrap();
        world.advance(minutes(60));
        world.settled(4).await;
        let [missing, gone] = [world.source(ids[0]).await.state, world.source(ids[1]).await.state];
        assert_eq!((missing.rest, missing.failures.consecutive), (None, 1), "backs off");
        assert_eq!(gone.rest.unwrap().cause, RestCause::Failures(FailureKind::Gone));
        assert_eq!(world.records.of("feed disabled").len(), 1, "and says so");
        for id in &ids {
            assert_eq!(world.store.bodies(*id).await.len(), 1, "its posts are kept");
        }
        // The 404 is tried again after two hours, the 410 is not.
        world.advance(minutes(120));
        world.settled(5).await;
        world.stop().await;
    });
}

#[rstest]
fn s206_every_record_that_names_a_source_carries_its_url(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let behaviours =
            [SiteBehaviour::Healthy, SiteBehaviour::Gone, SiteBehaviour::Broken(500), SiteBehaviour::BrokenXml];
        let mut world = World::of(engine, &behaviours).await;
        world.start(Scope::Daemon);
        let ids = world.add_all().await;
        world.handle().sources_changed(ids.clone());
        world.settled(4).await;
        world.stop().await;
        let named: Vec<_> =
            world.records.all().into_iter().filter(|record| record.get("source_id").is_some()).collect();
        assert!(named.len() >= 5, "{named:#?}");
        for record in named {
            let site = ids.iter().position(|id| record["source_id"] == id.0).unwrap();
            assert_eq!(record["url"], world.web.sites()[site].url, "{record}");
        }
    });
}

#[rstest]
fn s206_a_url_that_cannot_be_parsed_is_told_as_it_is_stored(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.start(Scope::Daemon);
        let told = [
            ("no url at all", "no url at all"),
            ("http://exa mple/feed", "http://exa mple/feed"),
            ("http://ann:word@exa mple/feed", "http://exa mple/feed"),
            ("http://exa mple/\u{1b}[31m", r"http://exa mple/\u{1b}[31m"),
        ];
        let mut ids = Vec::new();
        for (url, _) in told {
            ids.push(world.add_feed(url).await);
        }
        world.settled(4).await;
        world.stop().await;
        for (id, (_, shown)) in ids.iter().zip(told) {
            let named = |record: &serde_json::Value| record["source_id"] == id.0;
            let records: Vec<_> = world.records.all().into_iter().filter(named).collect();
            assert_eq!(records.len(), 1);
            assert_eq!((records[0]["url"].as_str(), records[0]["status_code"].as_u64()), (Some(shown), Some(0)));
        }
        assert!(!format!("{:?}", world.records.all()).contains("word"), "no password in a log");
    });
}

#[rstest]
fn the_history_of_polls_survives_a_restart_and_is_bounded_by_age(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        let id = world.start_and_poll_all().await[0];
        let first = world.history(id).await;
        assert_eq!((first.len(), first[0].at), (1, world.now()));
        world.restart().await;
        world.advance(minutes(60));
        world.settled(1).await;
        let both = world.history(id).await;
        assert_eq!((both.len(), &both[1]), (2, &first[0]));
        // The sums of both processes.
        world.handle().store_poll_hours().await.unwrap();
        let sums = world.store.poll_hours(first[0].at - minutes(120)).await.unwrap();
        assert_eq!(sums.iter().map(|hour| hour.sums.polls).sum::<u64>(), 2, "{sums:?}");
        world.advance(hours(8 * 24));
        world.settled(2).await;
        // The newest poll stays until there is another one.
        world.advance(minutes(60));
        world.settled(3).await;
        world
            .until("old polls are removed", async || world.history(id).await.iter().all(|poll| poll.at > both[0].at))
            .await;
        world.stop().await;
    });
}

#[rstest]
fn without_history_nothing_is_stored_and_a_requested_poll_is_answered(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.policy.history.age_max = Duration::ZERO;
        let id = world.start_and_poll_all().await[0];
        let service = world.service();
        let request = PollRequest { wait: Duration::from_secs(20), force: true };
        world.advance(Duration::from_secs(1));
        let polled = service.poll_source(id, request).await.unwrap();
        assert!(matches!(polled, RequestedPoll::Done(_)), "{polled:?}");
        assert_eq!(world.history(id).await, []);
        assert!(service.history(id, None, 9).await.unwrap().is_empty());
        world.stop().await;
    });
}
