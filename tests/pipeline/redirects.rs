//! Redirects: how far they are followed, when they are believed, and whose turn they wait for (p21, p22, p25).

use std::time::Duration;

use feedwarden::actors::Scope;
use feedwarden::demo::web::{Elsewhere, Mix, SiteBehaviour, WebSettings};
use feedwarden::model::{FailureKind, NewSource, SourceId, SourceSettings, SourceType, Validators};
use feedwarden::rules::hours;
use feedwarden::service::HoldEnd;
use rstest::rstest;

use super::publisher::{answer, feed, header, publisher, publisher_at};
use super::{World, run};
use crate::http::server::{Act, Server};
use crate::store::Engine::{self, Postgres, Sqlite};

/// A chain of so many redirects from host to host, with a feed at its end.
async fn chain(redirects: usize) -> Vec<Server> {
    let mut servers = vec![publisher_at("127.3.1.1", &[feed(&[], &["arrived"])]).await];
    for hop in 0..redirects {
        let location = format!("Location: {}", servers[hop].url("/next"));
        let address = format!("127.3.1.{}", hop + 2);
        servers.push(publisher_at(&address, &[answer("302 Found", &[&location], "")]).await);
    }
    servers.reverse();
    servers
}

async fn poll_once(world: &mut World, url: &str) -> SourceId {
    world.start(Scope::Daemon);
    let id = world.add_feed(url).await;
    world.settled(1).await;
    id
}

#[rstest]
fn p21_five_redirects_across_hosts_are_followed_and_no_sixth(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        let servers = chain(5).await;
        let id = poll_once(&mut world, &servers[0].url("/feed")).await;
        assert_eq!(world.store.bodies(id).await, ["arrived"]);
        drop(servers);
        let servers = chain(6).await;
        let id = world.add_feed(&servers[0].url("/feed")).await;
        world.settled(2).await;
        let last = world.source(id).await.state.failures.last.unwrap();
        assert_eq!((last.kind, last.error.as_str()), (FailureKind::UpstreamFailure, "more than 5 redirects"));
        let asked: Vec<usize> = servers.iter().map(|server| server.requests().len()).collect();
        assert_eq!(asked, [1, 1, 1, 1, 1, 1, 0]);
        world.stop().await;
    });
}

#[rstest]
fn p21_s206_a_loop_is_an_error_in_clear_words(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Loop]).await;
        world.start_and_poll_all().await;
        let failed = &world.records.of("feed poll failed")[0];
        assert!(failed["error"].as_str().unwrap().starts_with("redirect loop: "), "{failed}");
        assert_eq!(failed["url"], world.web.sites()[0].url);
        assert_eq!((&failed["level"], &failed["error_type"]), (&"warn".into(), &"upstream_failure".into()));
        world.stop().await;
    });
}

/// Polls once a day.
async fn daily(engine: Engine, behaviours: &[SiteBehaviour]) -> World {
    let mut world = World::of(engine, behaviours).await;
    world.policy.interval = hours(24);
    world
}

#[rstest]
fn p22_a_permanent_redirect_on_three_days_is_believed_and_nothing_learned_is_lost(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[values(Elsewhere::SameHost, Elsewhere::OtherHost)] elsewhere: Elsewhere,
) {
    run(async || {
        let mut world = daily(engine, &[SiteBehaviour::Moved(elsewhere), SiteBehaviour::Healthy]).await;
        let old_url = world.web.sites()[0].url.clone();
        let id = poll_once(&mut world, &old_url).await;
        for polls in 2..=3 {
            assert_eq!(world.source(id).await.settings.url, old_url);
            world.advance(hours(24));
            world.settled(polls).await;
        }
        world.told("source moved").await;
        world.quiet().await;
        let moved = &world.records.of("source moved")[0];
        let source = world.source(id).await;
        let new_host = usize::from(elsewhere == Elsewhere::OtherHost);
        assert_eq!(source.settings.url, format!("http://{}:{}/0/moved", world.web.hosts()[new_host], world.web.port()));
        assert_eq!((moved["url"].as_str(), moved["from"].as_str()), (Some(&*source.settings.url), Some(&*old_url)));
        assert_eq!(source.state.validators, Validators::default());
        assert!(source.state.last_seen.is_some(), "the watermark stays");
        assert_eq!(source.state.moved, None);
        assert_eq!(world.asked(0).len(), 6, "it was not polled again because of that");
        world.advance(hours(24));
        world.settled(4).await;
        let last = world.asked(0).pop().unwrap();
        assert_eq!((world.asked(0).len(), last.path.as_str()), (7, "/0/moved"), "without the old URL");
        assert_eq!((last.if_none_match, last.if_modified_since), (None, None));
        assert_eq!(world.store.bodies(id).await, world.web.served_entries_of(0));
        world.stop().await;
    });
}

#[rstest]
fn p22_a_temporary_redirect_is_never_believed(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = daily(engine, &[SiteBehaviour::Found(Elsewhere::OtherHost), SiteBehaviour::Healthy]).await;
        let url = world.web.sites()[0].url.clone();
        let id = poll_once(&mut world, &url).await;
        for polls in 2..=6 {
            world.advance(hours(24));
            world.settled(polls).await;
        }
        let source = world.source(id).await;
        assert_eq!((source.settings.url, source.state.moved), (url, None));
        world.stop().await;
    });
}

#[rstest]
fn p22_another_target_starts_over_and_three_redirects_on_one_day_count_once(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let target = publisher_at("127.3.2.1", &vec![feed(&[], &["here"]); 9]).await;
        let to = |path: &str| answer("308 Permanent Redirect", &[&format!("Location: {}", target.url(path))], "");
        let server = publisher(&[to("/a"), to("/a"), to("/b"), to("/a"), to("/a"), to("/a")]).await;
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.policy.interval = hours(12);
        let id = poll_once(&mut world, &server.url("/feed")).await;
        let mut days = Vec::new();
        for polls in 2..=6 {
            world.advance(hours(if polls == 2 { 12 } else { 24 }));
            world.settled(polls).await;
            days.push(world.source(id).await.state.moved.map(|moved| moved.days));
        }
        // Eight in the morning and eight in the evening of one day are one day.
        assert_eq!(days, [Some(1), Some(1), Some(1), Some(2), None]);
        assert_eq!(world.source(id).await.settings.url, target.url("/a"));
        world.stop().await;
    });
}

#[rstest]
fn p22_a_source_does_not_move_to_where_another_one_is(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = daily(engine, &[SiteBehaviour::Moved(Elsewhere::OtherHost), SiteBehaviour::Healthy]).await;
        let url = world.web.sites()[0].url.clone();
        let id = poll_once(&mut world, &url).await;
        let there = format!("http://{}:{}/0/moved", world.web.hosts()[1], world.web.port());
        let other = world.add_feed(&there).await;
        world.settled(2).await;
        for days in 2..=3 {
            world.advance(hours(24));
            world.settled(2 * days).await;
        }
        world.told("source not moved").await;
        assert_eq!(world.records.of("source not moved")[0]["other_source_id"], other.0);
        assert_eq!(world.source(id).await.settings.url, url);
        world.stop().await;
    });
}

#[rstest]
fn p25_a_redirect_to_another_host_waits_for_that_hosts_delay(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Found(Elsewhere::OtherHost), SiteBehaviour::Healthy]).await;
        let delay = Duration::from_secs(30);
        world.policy.delays.by_host.insert(world.web.hosts()[1].clone(), delay);
        world.start(Scope::Daemon);
        world.add_feed(&world.web.sites()[1].url.clone()).await;
        world.advance(delay);
        world.settled(1).await;
        let asked_at = world.now();
        world.advance(Duration::from_secs(10));
        world.add_feed(&world.web.sites()[0].url.clone()).await;
        world.served(2).await;
        world.advance(Duration::from_secs(19));
        world.breathe().await;
        assert_eq!(world.web.journal().len(), 2, "the first half only");
        world.advance(Duration::from_secs(1));
        world.settled(2).await;
        assert_eq!(world.seconds_since(asked_at), [0, 10, 30]);
        world.stop().await;
    });
}

#[rstest]
fn p17_p25_a_poll_that_leads_to_a_host_that_is_left_alone_is_settled_and_blames_nobody(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Found(Elsewhere::OtherHost), SiteBehaviour::Healthy]).await;
        world.start(Scope::Daemon);
        let target = world.web.hosts()[1].clone();
        world.service().hold_host(&target, HoldEnd::In(hours(5)), "a person says so").await.unwrap();
        let led = world.add_feed(&world.web.sites()[0].url.clone()).await;
        world.settled(1).await;
        let state = world.source(led).await.state;
        assert_eq!((state.failures.consecutive, state.last_polled), (0, Some(world.now())));
        let error = state.failures.last.unwrap().error;
        assert!(error.starts_with("its next request goes to ") && error.ends_with("a person says so"), "{error}");
        assert_eq!(world.records.of("feed poll failed")[0]["level"], "info");
        world.service().release_host(&target).await.unwrap();
        world.advance(hours(1));
        world.settled(2).await;
        assert_eq!((world.asked(0).len(), world.source(led).await.state.failures.last), (3, None));
        world.stop().await;
    });
}

#[rstest]
fn p25_s503_a_slow_target_does_not_block_the_host_that_led_there(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mix = Mix::InTurn(vec![
            SiteBehaviour::Found(Elsewhere::OtherHost),
            SiteBehaviour::Hanging,
            SiteBehaviour::Healthy,
        ]);
        let mut world = World::with(engine, WebSettings { hosts: 2, sites: 3, mix, ..WebSettings::default() }).await;
        assert_eq!(world.web.sites()[0].host, world.web.sites()[2].host);
        world.http.deadline = Duration::from_secs(60);
        world.start(Scope::Daemon);
        world.add_feed(&world.web.sites()[1].url.clone()).await;
        world.until("the target hangs", async || world.handle().under_way() == 1).await;
        let led = world.add_feed(&world.web.sites()[0].url.clone()).await;
        world.until("led there", async || world.asked(0).len() == 1).await;
        world.add_feed(&world.web.sites()[2].url.clone()).await;
        world.settled_so_far(1).await;
        assert_eq!((world.asked(2).len(), world.asked(0).len()), (1, 1));
        assert_eq!(world.source(led).await.state.last_polled, None);
        world.kill().await;
    });
}

/// Reads a request and takes 1.2 seconds to send this answer.
fn slowly(answer: &str) -> Vec<Act> {
    let pause = Duration::from_millis(1200) / u32::try_from(answer.len()).unwrap();
    vec![Act::Read, Act::Drip(answer.as_bytes().to_vec(), pause), Act::NextConnection]
}

/// Neither request takes too long by itself.
#[rstest]
#[case::redirect(SourceType::Rss)]
#[case::robots(SourceType::Website)]
fn p35_one_deadline_covers_all_requests_of_a_poll(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[case] source_type: SourceType,
) {
    run(async || {
        let (first, last) = match source_type {
            SourceType::Website => {
                (answer("404 Not Found", &[], ""), answer("200 OK", &[], "<article>Words</article>"))
            }
            _ => (answer("302 Found", &["Location: /new"], ""), feed(&[], &["one"])),
        };
        let server = Server::play([slowly(&first), slowly(&last)].concat()).await;
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.http.deadline = Duration::from_secs(2);
        world.policy.delays.by_type.clear();
        world.start(Scope::Daemon);
        let settings = SourceSettings::new(source_type, server.url("/feed"));
        let id = world.add(vec![NewSource { settings, created_at: world.now() }]).await[0];
        world.handle().sources_changed(vec![id]);
        world.settled(1).await;
        let last = world.source(id).await.state.failures.last.unwrap();
        assert_eq!(last.kind, FailureKind::Network);
        assert!(last.error.starts_with("timed out after 2 s "), "{}", last.error);
        assert_eq!(world.store.bodies(id).await, [""; 0]);
        world.stop().await;
    });
}

#[rstest]
fn p01_validators_travel_along_a_redirect(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let not_modified = answer("304 Not Modified", &[], "");
        let target = publisher_at("127.3.3.1", &[feed(&["ETag: \"1\""], &["here"]), not_modified]).await;
        let led = answer("302 Found", &[&format!("Location: {}", target.url("/"))], "");
        let server = publisher(&[led.clone(), led]).await;
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        poll_once(&mut world, &server.url("/feed")).await;
        world.advance(hours(1));
        world.settled(2).await;
        assert_eq!(header(&target.requests()[1], "if-none-match"), Some("\"1\"".into()));
        assert_eq!(world.handle().statistics().view().unchanged, 1);
        world.stop().await;
    });
}
