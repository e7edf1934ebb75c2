//! Backfill: older pages of a feed become posts, politely and once.

use std::time::Duration;

use feedwarden::actors::Scope;
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::{FullText, Post, SourceId, SourceType, TextOrigin};
use feedwarden::rules::minutes;
use feedwarden::service::{BackfillEnd, BackfillReport, BackfillRequest, ServiceError};
use rstest::rstest;

use super::publisher::{answer, publisher, publisher_at};
use super::{World, run};
use crate::http::server::Server;
use crate::store::Engine::{self, Postgres, Sqlite};

/// An Atom feed of entries with these ids, all of 2001, which links to an older page.
fn page(ids: &[&str], older: Option<&str>) -> String {
    let entry = |id: &&str| {
        format!(
            "<entry><id>urn:{id}</id><title>{id}</title><updated>2001-01-01T00:00:00Z</updated><content>About {id}.</content></entry>"
        )
    };
    let entries: String = ids.iter().map(entry).collect();
    let link = older.map(|url| format!("<link rel=\"prev-archive\" href=\"{url}\"/>")).unwrap_or_default();
    let body = format!("<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>A feed</title>{link}{entries}</feed>");
    answer("200 OK", &[], &body)
}

async fn polled(engine: Engine, server: &Server) -> (World, SourceId) {
    let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
    world.start(Scope::Daemon);
    let id = world.add_feed(&server.url("/feed")).await;
    world.settled(1).await;
    (world, id)
}

/// Backfills while the clock goes on.
async fn backfilled(world: &World, id: SourceId, pages: u32, wordpress: bool) -> BackfillReport {
    let service = world.service();
    let request = BackfillRequest { pages, wordpress, from: None };
    let backfilling = service.backfill_source(id, request);
    let ticking = async {
        loop {
            world.advance(Duration::from_millis(250));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        report = backfilling => report.unwrap(),
        () = ticking => unreachable!("it goes on"),
    }
}

async fn posts(world: &World, id: SourceId) -> Vec<Post> {
    world.store.list_posts(Some(id), None, 100).await.unwrap()
}

fn paths(server: &Server) -> Vec<String> {
    server.requests().iter().map(|request| request.split(' ').nth(1).unwrap().to_owned()).collect()
}

#[rstest]
fn older_pages_become_posts_once_and_stay_whatever_their_age(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let archive = [
            page(&["five", "four"], Some("/2")),
            page(&["five", "four"], Some("/2")),
            page(&["four", "three"], Some("/3")),
            page(&["two", "one"], None),
        ];
        let server = publisher(&archive).await;
        let (mut world, id) = polled(engine, &server).await;
        assert_eq!(posts(&world, id).await.len(), 0, "all entries are older than the source");
        let report = backfilled(&world, id, 10, false).await;
        assert_eq!((report.pages, report.posts, &report.end), (3, 5, &BackfillEnd::NoOlderPage));
        assert_eq!((report.counts.seen, report.counts.known), (6, 1), "one entry is on two pages");
        assert_eq!(paths(&server), ["/feed", "/feed", "/2", "/3"]);
        let stored = posts(&world, id).await;
        assert!(stored.iter().all(|post| post.is_backfill));
        assert_eq!(world.records.of("source backfilled").len(), 1);
        // The clean-up of the next ticks leaves them, though they are 26 years old.
        world.pass(minutes(3), 3).await;
        assert_eq!(posts(&world, id).await, stored);
        world.stop().await;
    });
}

#[rstest]
fn posts_of_a_backfill_get_their_pages_where_full_text_is_wanted(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let article =
            format!("<article><h1>One</h1>{}</article>", "<p>The lighthouse is told about here.</p>".repeat(20));
        let html = answer("200 OK", &["Content-Type: text/html"], &article);
        let pages = publisher_at("127.3.2.1", &[answer("404 Not Found", &[], ""), html]).await;
        let entry = format!(
            "<entry><id>urn:1</id><title>1</title><link href=\"{}\"/><updated>2001-01-01T00:00:00Z</updated>\
             <content>Short.</content></entry>",
            pages.url("/1")
        );
        let feed = answer("200 OK", &[], &format!("<feed xmlns=\"http://www.w3.org/2005/Atom\">{entry}</feed>"));
        let server = publisher(&[feed.clone(), feed]).await;
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.policy.posts.full_text = FullText::Always;
        world.policy.delays.by_type.insert(SourceType::Website, Duration::ZERO);
        world.start(Scope::Daemon);
        let id = world.add_feed(&server.url("/feed")).await;
        world.settled(1).await;
        assert_eq!(posts(&world, id).await.len(), 0, "the entry is older than the source");
        backfilled(&world, id, 1, false).await;
        let is_fetched = async || posts(&world, id).await[0].content.text_origin == TextOrigin::Article;
        world.until("the page of the post", is_fetched).await;
        let post = posts(&world, id).await.remove(0);
        assert!(post.is_backfill && post.content.text.contains("lighthouse"));
        assert!(post.content.html.unwrap().contains("<p>The lighthouse"));
        world.stop().await;
    });
}

#[rstest]
fn a_backfill_ends_at_the_number_of_pages_at_a_circle_and_at_a_failure(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let (first, second) = (page(&["two"], Some("/2")), page(&["one"], Some("/feed")));
        let broken = answer("500 Internal Server Error", &[], "");
        let answers = [first.clone(), first.clone(), first.clone(), second, first, broken];
        let server = publisher(&answers).await;
        let (mut world, id) = polled(engine, &server).await;
        let next = Some(server.url("/2"));
        let report = backfilled(&world, id, 1, false).await;
        assert_eq!(
            (report.pages, report.posts, report.end, report.next_url),
            (1, 1, BackfillEnd::PageLimit, next.clone())
        );
        let report = backfilled(&world, id, 10, false).await;
        assert_eq!((report.pages, report.posts, report.end), (2, 1, BackfillEnd::Repeated));
        let report = backfilled(&world, id, 10, false).await;
        let end = BackfillEnd::Failed("HTTP 500 Internal Server Error".to_owned());
        assert_eq!((report.pages, report.posts, report.end, report.next_url), (1, 0, end, next));
        let failures = world.source(id).await.state.failures;
        assert_eq!(failures.consecutive, 0, "the source is not blamed");
        world.stop().await;
    });
}

#[rstest]
fn pages_of_wordpress_are_counted_up_only_if_asked_for(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let newest = page(&["three"], None);
        let missing = answer("404 Not Found", &[], "");
        let answers = [newest.clone(), newest.clone(), newest, page(&["two"], None), page(&["one"], None), missing];
        let server = publisher(&answers).await;
        let (mut world, id) = polled(engine, &server).await;
        let report = backfilled(&world, id, 10, false).await;
        assert_eq!((report.pages, report.posts), (1, 1));
        let report = backfilled(&world, id, 10, true).await;
        assert_eq!((report.pages, report.posts, report.end), (3, 2, BackfillEnd::NoOlderPage));
        assert_eq!(paths(&server)[2..], ["/feed", "/feed?paged=2", "/feed?paged=3", "/feed?paged=4"]);
        world.stop().await;
    });
}

#[rstest]
fn the_number_of_pages_is_bounded(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let server = publisher(&[page(&["one"], None)]).await;
        let (mut world, id) = polled(engine, &server).await;
        for pages in [0, 1001] {
            let request = BackfillRequest { pages, wordpress: false, from: None };
            let refused = world.service().backfill_source(id, request).await;
            assert!(matches!(refused, Err(ServiceError::Invalid { .. })));
        }
        assert_eq!(paths(&server).len(), 1);
        world.stop().await;
    });
}
