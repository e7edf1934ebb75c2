//! robots.txt governs web pages, and only those (p29).

use std::time::Duration;

use feedwarden::actors::Scope;
use feedwarden::demo::web::Mix;
use feedwarden::demo::web::{RobotsPolicy, SiteBehaviour, WebSettings};
use feedwarden::model::{FailureKind, HostKey, NewSource, SourceId, SourceSettings, SourceType};
use feedwarden::rules::{hours, minutes};
use rstest::rstest;

use super::publisher::{answer, header, publisher, publisher_at};
use super::{World, run};
use crate::http::server::Server;
use crate::store::Engine::{self, Postgres, Sqlite};

/// A host with so many pages, where nothing waits for spacing.
async fn pages(engine: Engine, count: usize, robots: RobotsPolicy) -> World {
    let mix = Mix::only(SiteBehaviour::Website);
    let settings = WebSettings { hosts: 1, sites: count, mix, robots: Some(robots), ..WebSettings::default() };
    let mut world = World::with(engine, settings).await;
    world.policy.delays.by_type.insert(SourceType::Website, Duration::ZERO);
    world
}

fn paths(world: &World) -> Vec<String> {
    world.web.journal().into_iter().map(|exchange| exchange.path).collect()
}

#[rstest]
#[case(RobotsPolicy::Allowing)]
#[case(RobotsPolicy::Missing)]
fn p29_a_page_is_asked_for_where_robots_allows_it_or_is_missing_and_robots_not_again_within_a_day(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[case] robots: RobotsPolicy,
) {
    run(async || {
        let mut world = pages(engine, 2, robots).await;
        world.start_and_poll_all().await;
        assert_eq!(paths(&world), ["/robots.txt", "/0/page", "/1/page"]);
        // Its age survives a restart.
        world.restart().await;
        for polls in 1..=23 {
            world.advance(minutes(60));
            world.settled(2 * polls).await;
        }
        assert_eq!(paths(&world).iter().filter(|path| *path == "/robots.txt").count(), 1);
        world.advance(minutes(60));
        world.settled(48).await;
        assert_eq!(paths(&world)[49..], ["/robots.txt", "/0/page", "/1/page"], "after 24 h it is asked for again");
        world.stop().await;
    });
}

#[rstest]
fn the_requests_of_a_host_are_those_of_the_process_and_then_the_stored_polls(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let mut world = pages(engine, 2, RobotsPolicy::Allowing).await;
        world.start_and_poll_all().await;
        let host = world.web.hosts()[0].split(':').next().unwrap().to_owned();
        let results = async |world: &World, limit| {
            let requests = world.service().host_requests(&host, limit).await.unwrap();
            requests.iter().map(|request| (request.purpose.name(), request.status_code.unwrap())).collect::<Vec<_>>()
        };
        assert_eq!(results(&world, 10).await, [("poll", 200), ("poll", 200), ("robots_txt", 200)]);
        assert_eq!(results(&world, 1).await, [("poll", 200)]);
        world.restart().await;
        assert_eq!(results(&world, 10).await, [("poll", 200); 2], "from the history");
        world.advance(minutes(60));
        world.settled(2).await;
        assert_eq!(world.handle().requests_of(&HostKey::from_canonical(&host), 10).len(), 2);
        assert_eq!(results(&world, 10).await, [("poll", 304), ("poll", 304), ("poll", 200), ("poll", 200)]);
        assert_eq!(results(&world, 3).await, [("poll", 304), ("poll", 304), ("poll", 200)]);
        world.stop().await;
    });
}

#[rstest]
fn p29_a_forbidden_page_is_never_asked_for(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = pages(engine, 3, RobotsPolicy::Forbidding).await;
        let ids = world.start_and_poll_all().await;
        assert_eq!(paths(&world), ["/robots.txt"], "no page is requested");
        for id in &ids {
            let source = world.source(*id).await;
            let last = source.state.failures.last.unwrap();
            assert_eq!((last.kind, source.state.failures.consecutive), (FailureKind::Forbidden, 1));
            assert!(last.error.starts_with("robots.txt: "), "{}", last.error);
            // Also those that were refused by what was known count from now on.
            assert_eq!(source.state.last_polled, Some(world.now()));
        }
        world.quiet().await;
        // The publisher's mind is known for a day, whatever it is by now; then it is asked for again.
        world.web.set_robots(&world.web.hosts()[0], RobotsPolicy::Allowing).unwrap();
        world.advance(minutes(120));
        world.settled(6).await;
        assert_eq!(paths(&world), ["/robots.txt"]);
        world.advance(hours(22));
        world.settled(9).await;
        assert_eq!(paths(&world), ["/robots.txt", "/robots.txt", "/0/page", "/1/page", "/2/page"]);
        world.stop().await;
    });
}

#[rstest]
fn p29_a_robots_that_fails_with_500_refuses_until_it_can_be_had(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = pages(engine, 1, RobotsPolicy::Broken).await;
        let ids = world.start_and_poll_all().await;
        assert_eq!(paths(&world), ["/robots.txt"]);
        let state = world.source(ids[0]).await.state;
        let last = state.failures.last.unwrap();
        assert_eq!(last.kind, FailureKind::UpstreamFailure);
        assert_eq!(last.error, "robots.txt cannot be had: HTTP 500 Internal Server Error");
        world.web.set_robots(&world.web.hosts()[0], RobotsPolicy::Missing).unwrap();
        world.advance(minutes(120));
        world.settled(2).await;
        assert_eq!(paths(&world), ["/robots.txt", "/robots.txt", "/0/page"], "a failure is not remembered for a day");
        world.stop().await;
    });
}

#[rstest]
fn p29_feeds_are_not_governed_by_robots(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.web.set_robots(&world.web.hosts()[0], RobotsPolicy::Broken).unwrap();
        world.start_and_poll_all().await;
        assert_eq!(paths(&world), ["/0/feed"]);
        world.stop().await;
    });
}

#[rstest]
fn p29_p28_robots_and_the_page_are_two_requests_with_the_delay_between_them(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let mut world = pages(engine, 1, RobotsPolicy::Allowing).await;
        let delay = Duration::from_secs(30);
        world.policy.delays.by_type.insert(SourceType::Website, delay);
        world.start(Scope::Daemon);
        let began = world.now();
        let ids = world.add_all().await;
        world.handle().sources_changed(ids);
        world.advance(delay);
        world.served(1).await;
        world.until("the first request is over", async || world.handle().under_way() == 0).await;
        world.advance(delay - Duration::from_secs(1));
        world.breathe().await;
        assert_eq!(paths(&world), ["/robots.txt"]);
        world.advance(Duration::from_secs(1));
        world.settled(1).await;
        assert_eq!(paths(&world), ["/robots.txt", "/0/page"]);
        assert_eq!(world.seconds_since(began), [30, 60]);
        world.stop().await;
    });
}

async fn add_page(world: &mut World, server: &Server) -> SourceId {
    world.policy.delays.by_type.insert(SourceType::Website, Duration::ZERO);
    world.start(Scope::Daemon);
    let settings = SourceSettings::new(SourceType::Website, server.url("/page"));
    let ids = world.add(vec![NewSource { settings, created_at: world.now() }]).await;
    world.handle().sources_changed(ids.clone());
    world.settled(1).await;
    ids[0]
}

#[rstest]
fn p29_a_robots_elsewhere_speaks_for_the_site_it_was_asked_for_at(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let elsewhere = publisher_at("127.3.0.2", &[answer("200 OK", &[], "User-agent: *\nDisallow: /page\n")]).await;
        let location = format!("Location: {}", elsewhere.url("/the-robots.txt"));
        let server = publisher(&[answer("301 Moved Permanently", &[&location], "")]).await;
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        let id = add_page(&mut world, &server).await;
        assert!(server.requests()[0].starts_with("GET /robots.txt "));
        assert!(elsewhere.requests()[0].starts_with("GET /the-robots.txt "));
        assert_eq!(world.source(id).await.state.failures.last.unwrap().kind, FailureKind::Forbidden);
        let origin = feedwarden::rules::robots::origin(&server.url("/page")).unwrap();
        assert!(world.store.robots(&origin).await.unwrap().unwrap().rules.is_some());
        assert_eq!(server.requests().len(), 1, "the page is not asked for");
        world.stop().await;
    });
}

#[rstest]
fn p29_a_page_that_redirects_elsewhere_obeys_the_robots_of_both_hosts(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let elsewhere =
            publisher_at("127.3.0.3", &[answer("200 OK", &[], "User-agent: feedwarden\nDisallow: /\n")]).await;
        let location = format!("Location: {}", elsewhere.url("/article"));
        let server = publisher(&[answer("404 Not Found", &[], ""), answer("302 Found", &[&location], "")]).await;
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        let id = add_page(&mut world, &server).await;
        assert_eq!(server.requests().len(), 2);
        assert_eq!(elsewhere.requests().len(), 1);
        assert!(elsewhere.requests()[0].starts_with("GET /robots.txt "));
        assert_eq!(world.source(id).await.state.failures.last.unwrap().kind, FailureKind::Forbidden);
        world.stop().await;
    });
}

/// The robots.txt is requested as the page is: with the user agent of the source, whose name its rules are read for, and
/// through its proxy, which is the only server here that answers.
#[rstest]
fn p27_p29_a_source_with_its_own_agent_and_proxy_uses_them_for_robots_too(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let rules = "User-agent: reader\nDisallow: /closed\n\nUser-agent: feedwarden\nDisallow: /\n";
        let page =
            "<html><body><article><p>Words of a page that are long enough to be read.</p></article></body></html>";
        let texts = [answer("200 OK", &[], rules), answer("200 OK", &["Content-Type: text/html"], page)];
        let proxy = publisher(&texts).await;
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.policy.delays.by_type.insert(SourceType::Website, Duration::ZERO);
        world.start(Scope::Daemon);
        let add = async |path: &str| {
            let settings = SourceSettings {
                user_agent: Some("reader/2 (+https://a.example)".into()),
                proxy: Some(proxy.url("").parse().unwrap()),
                ..SourceSettings::new(SourceType::Website, format!("http://pages.invalid{path}"))
            };
            let ids = world.add(vec![NewSource { settings, created_at: world.now() }]).await;
            world.handle().sources_changed(ids.clone());
            ids[0]
        };
        let open = add("/open").await;
        world.settled_so_far(1).await;
        let closed = add("/closed").await;
        world.settled_so_far(2).await;
        let requests = proxy.requests();
        let lines: Vec<&str> = requests.iter().filter_map(|request| request.lines().next()).collect();
        assert_eq!(
            lines,
            ["GET http://pages.invalid/robots.txt HTTP/1.1", "GET http://pages.invalid/open HTTP/1.1"],
            "the politeness of the host counts, whatever the proxy"
        );
        for request in &requests {
            assert_eq!(header(request, "User-Agent").as_deref(), Some("reader/2 (+https://a.example)"));
        }
        assert_eq!(world.history(open).await[0].status_code, Some(200));
        let refused = world.history(closed).await.remove(0);
        assert_eq!(refused.error_type, Some(FailureKind::Forbidden));
        assert!(refused.error.unwrap().starts_with("robots.txt: "));
        world.stop().await;
    });
}
