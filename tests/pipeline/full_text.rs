//! Full text: the page of an entry is fetched at the turn of its host, and its article becomes the text of the post.

use std::time::Duration;

use feedwarden::actors::{FaultSettings, Scope};
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::{FullText, Post, SourceId, SourceType, TextOrigin};
use feedwarden::rules::{hours, minutes};
use rstest::rstest;

use super::publisher::{answer, feed_saying, publisher, publisher_at};
use super::{World, run};
use crate::http::server::{Act, Server, answers};
use crate::store::Engine::{self, Postgres, Sqlite};

const ROBOTS: &str = "User-agent: *\nDisallow: /secret\n";

/// A feed of entries without dates: id, text and URL.
fn feed(entries: &[(&str, &str, &str)]) -> String {
    let item = |(id, text, url): &(&str, &str, &str)| {
        format!("<item><guid>{id}</guid><title>{id}</title><description>{text}</description><link>{url}</link></item>")
    };
    let items: String = entries.iter().map(item).collect();
    feed_saying(&items, &[], &[])
}

fn robots() -> String {
    answer("200 OK", &[], ROBOTS)
}

/// A page with a long article about something.
fn page(about: &str) -> String {
    let sentence = format!("The {about} has been studied for many years, and much of what was found is told here.");
    let paragraph = format!("<p>{}</p>", [sentence.as_str(); 4].join(" "));
    let body = format!(
        "<html><head><title>{about}</title></head><body><nav>Home</nav><article><h1>{about}</h1>{}</article></body></html>",
        paragraph.repeat(4)
    );
    answer("200 OK", &["Content-Type: text/html; charset=utf-8"], &body)
}

/// A world that fetches full texts, with pages asked for without pause and rare polls.
async fn world(engine: Engine, mode: FullText) -> World {
    let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
    world.policy.interval = hours(48);
    world.policy.posts.full_text = mode;
    world.policy.delays.by_type.insert(SourceType::Website, Duration::ZERO);
    world.start(Scope::Daemon);
    world
}

async fn posts(world: &World, id: SourceId) -> Vec<Post> {
    world.store.list_posts(Some(id), None, 100).await.unwrap()
}

/// Waits until no post of the source waits for its page.
async fn texts_fetched(world: &World, id: SourceId) -> Vec<Post> {
    let is_pending = |post: &Post| post.content.text_origin == TextOrigin::FeedPending;
    world.until("no pending page", async || !posts(world, id).await.iter().any(is_pending)).await;
    posts(world, id).await
}

fn paths(server: &Server) -> Vec<String> {
    server.requests().iter().map(|request| request.split(' ').nth(1).unwrap().to_owned()).collect()
}

#[rstest]
fn the_article_of_an_entrys_page_becomes_the_text_of_its_post(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let pages = publisher_at("127.3.1.1", &[robots(), page("lighthouse"), page("harbour")]).await;
        let (one, two) = (pages.url("/lighthouse"), pages.url("/harbour"));
        let document = feed(&[("two", "Short.", &two), ("one", "Short, too.", &one)]);
        let server = publisher(&[document.clone(), document]).await;
        let mut world = world(engine, FullText::Always).await;
        let id = world.add_feed(&server.url("/feed")).await;
        world.settled_so_far(1).await;
        let stored = texts_fetched(&world, id).await;
        let about: Vec<(&str, bool)> =
            stored.iter().map(|post| (post.content.title.as_str(), post.content.text.contains("lighthouse"))).collect();
        assert_eq!(about, [("one", true), ("two", false)]);
        for post in &stored {
            assert_eq!(post.content.text_origin, TextOrigin::Article);
            assert!(post.content.text.len() > 500 && post.content.full_text_error.is_none());
            assert_eq!(post.revision, 0, "the entry has not changed");
            assert!(
                post.change_number > stored[1].id.0 && post.changed_at.is_some(),
                "readers by number see the change"
            );
        }
        let changes = world.store.list_changes(stored[1].id.0, 10).await.unwrap();
        assert_eq!(changes.len(), 2);
        let mut asked = paths(&pages);
        asked[1..].sort();
        assert_eq!(asked, ["/robots.txt", "/harbour", "/lighthouse"]);
        world.until("pages noted", async || world.history(id).await[0].full_texts == 2).await;
        assert_eq!(world.history(id).await[0].full_texts_wanted, 2);
        // The feed still has its own text: the entries are known, and their pages are not fetched again.
        world.poll_again(id).await;
        assert_eq!(texts_fetched(&world, id).await, stored);
        assert_eq!(paths(&pages).len(), 3);
        world.stop().await;
    });
}

#[rstest]
fn only_short_entries_get_their_page_if_that_is_wanted(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let pages = publisher_at("127.3.1.2", &[robots(), page("harbour")]).await;
        let long = "word ".repeat(200);
        let document = feed(&[
            ("long", &long, &pages.url("/long")),
            ("short", "Short.", &pages.url("/short")),
            ("none", "None.", ""),
        ]);
        let server = publisher(&[document]).await;
        let mut world = world(engine, FullText::WhenShort).await;
        let id = world.add_feed(&server.url("/feed")).await;
        world.settled_so_far(1).await;
        let stored = texts_fetched(&world, id).await;
        let origins: Vec<_> =
            stored.iter().map(|post| (post.content.title.as_str(), post.content.text_origin)).collect();
        assert_eq!(origins, [("none", TextOrigin::Feed), ("short", TextOrigin::Article), ("long", TextOrigin::Feed)]);
        assert_eq!(paths(&pages), ["/robots.txt", "/short"]);
        world.stop().await;
    });
}

#[rstest]
fn a_page_that_fails_leaves_the_text_of_the_feed_and_the_error_and_is_fetched_three_times(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let broken = answer("500 Internal Server Error", &[], "");
        let pages = publisher_at("127.3.1.3", &[robots(), broken.clone(), broken.clone(), broken, page("late")]).await;
        let server = publisher(&[feed(&[("one", "Short.", &pages.url("/one"))])]).await;
        let mut world = world(engine, FullText::Always).await;
        let id = world.add_feed(&server.url("/feed")).await;
        world.settled_so_far(1).await;
        for (attempt, wait) in [(2, minutes(10)), (3, hours(2)), (4, hours(2))] {
            world.until("the attempt", async || paths(&pages).len() >= attempt).await;
            world.until("its end", async || world.handle().full_texts_under_way() == 0).await;
            let post = posts(&world, id).await.remove(0);
            assert_eq!(post.content.text, "Short.");
            assert_eq!(post.content.full_text_error.as_deref(), Some("HTTP 500 Internal Server Error"));
            let is_last = attempt == 4;
            let origin = if is_last { TextOrigin::Feed } else { TextOrigin::FeedPending };
            assert_eq!((post.content.text_origin, post.change_number > post.id.0), (origin, is_last));
            world.advance(wait);
            world.breathe().await;
        }
        world.advance(hours(3));
        world.breathe().await;
        assert_eq!(paths(&pages).len(), 4, "no fourth attempt");
        assert_eq!(world.records.of("full text failed").len(), 2);
        assert_eq!(world.records.of("full text given up").len(), 1);
        let source = world.source(id).await;
        assert_eq!((source.state.failures.consecutive, source.state.enabled), (0, true), "the source is not blamed");
        world.stop().await;
    });
}

#[rstest]
fn p29_a_page_that_robots_forbid_is_not_fetched(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let pages = publisher_at("127.3.1.4", &[robots(), page("open")]).await;
        let document = feed(&[("secret", "S.", &pages.url("/secret/1")), ("open", "O.", &pages.url("/open"))]);
        let server = publisher(&[document]).await;
        let mut world = world(engine, FullText::Always).await;
        let id = world.add_feed(&server.url("/feed")).await;
        world.settled_so_far(1).await;
        let stored = texts_fetched(&world, id).await;
        assert_eq!(stored[0].content.text_origin, TextOrigin::Article);
        assert_eq!((stored[1].content.text.as_str(), stored[1].content.text_origin), ("S.", TextOrigin::Feed));
        assert!(stored[1].content.full_text_error.as_ref().unwrap().starts_with("robots.txt: "));
        assert_eq!(paths(&pages), ["/robots.txt", "/open"]);
        world.until("failure noted", async || world.history(id).await[0].full_text_failures == 1).await;
        world.stop().await;
    });
}

#[rstest]
fn p28_pages_of_one_host_are_fetched_with_its_pause_between_them(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let pages = publisher_at("127.3.1.5", &[robots(), page("one"), page("two")]).await;
        let document = feed(&[("one", "1", &pages.url("/one")), ("two", "2", &pages.url("/two"))]);
        let server = publisher(&[document]).await;
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.policy.posts.full_text = FullText::Always;
        world.policy.delays.by_type.insert(SourceType::Website, Duration::from_secs(30));
        world.start(Scope::Daemon);
        let id = world.add_feed(&server.url("/feed")).await;
        world.settled_so_far(1).await;
        for requests in 1..=3 {
            world.pass_waiting(Duration::from_secs(29), 1).await;
            assert_eq!(paths(&pages).len(), requests - 1);
            world.advance(Duration::from_secs(1));
            world.until("a request", async || paths(&pages).len() == requests).await;
            world.until("its end", async || world.handle().under_way() == 0).await;
        }
        texts_fetched(&world, id).await;
        world.stop().await;
    });
}

#[rstest]
fn a_page_that_never_answers_delays_neither_the_settling_of_its_poll_nor_other_polls(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let mut acts = answers(&[robots()]);
        acts.extend([Act::Read, Act::Mute]);
        let pages = Server::play_at("127.3.1.6:0", acts).await;
        let server = publisher(&[feed(&[("one", "Short.", &pages.url("/one"))])]).await;
        let other = publisher_at("127.3.1.7", &[feed(&[("other", "Other.", "")])]).await;
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.http.deadline = Duration::from_millis(1500);
        world.policy.posts.full_text = FullText::Always;
        world.policy.delays.by_type.insert(SourceType::Website, Duration::ZERO);
        world.start(Scope::Daemon);
        let id = world.add_feed(&server.url("/feed")).await;
        world.settled_so_far(1).await;
        world.until("the page is asked for", async || paths(&pages).len() == 2).await;
        let post = posts(&world, id).await.remove(0);
        assert_eq!((post.content.text.as_str(), post.content.text_origin), ("Short.", TextOrigin::FeedPending));
        let other = world.add_feed(&other.url("/feed")).await;
        world.settled_so_far(2).await;
        assert_eq!((posts(&world, other).await.len(), world.handle().full_texts_under_way()), (1, 1));
        world.told("full text failed").await;
        world.stop().await;
    });
}

#[rstest]
fn a_kill_loses_no_page(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut acts = answers(&[robots()]);
        acts.extend([Act::Read, Act::Mute, Act::NextConnection]);
        acts.extend(answers(&[page("lighthouse")]));
        let pages = Server::play_at("127.3.1.8:0", acts).await;
        let server = publisher(&[feed(&[("one", "Short.", &pages.url("/one"))])]).await;
        let mut world = world(engine, FullText::Always).await;
        let id = world.add_feed(&server.url("/feed")).await;
        world.settled_so_far(1).await;
        world.until("the page is asked for", async || paths(&pages).len() == 2).await;
        world.kill_and_start().await;
        world.quiet().await;
        world.advance(minutes(10));
        let stored = texts_fetched(&world, id).await;
        assert_eq!(stored[0].content.text_origin, TextOrigin::Article);
        assert_eq!(paths(&pages), ["/robots.txt", "/one", "/one"]);
        world.stop().await;
    });
}

#[rstest]
fn every_page_is_fetched_through_crashes_of_the_actor(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[values("full-text/Fetch=panic@1", "full-text/Fetched=panic@1", "full-text/Fetched=drop@1")] fault: &str,
) {
    run(async || {
        let pages = publisher_at("127.3.1.11", &[robots(), page("one"), page("one"), page("one")]).await;
        let server = publisher(&[feed(&[("one", "Short.", &pages.url("/one"))])]).await;
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.policy.interval = hours(48);
        world.policy.posts.full_text = FullText::Always;
        world.policy.delays.by_type.insert(SourceType::Website, Duration::ZERO);
        world.settings.faults = FaultSettings {
            is_enabled: true,
            limit: Some(1),
            faults: vec![fault.parse().unwrap()],
            ..world.settings.faults
        };
        world.start(Scope::Daemon);
        let id = world.add_feed(&server.url("/feed")).await;
        world.settled_so_far(1).await;
        world.until("a fault", async || world.handle().faults() == 1).await;
        world.handle().cease_faults();
        world.until("its end", async || world.handle().full_texts_under_way() == 0).await;
        assert_eq!(posts(&world, id).await[0].content.text_origin, TextOrigin::FeedPending);
        world.pass_waiting(minutes(11), 2).await;
        assert_eq!(texts_fetched(&world, id).await[0].content.text_origin, TextOrigin::Article);
        world.stop().await;
    });
}

#[rstest]
fn an_edited_entry_gets_its_page_again(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let pages = publisher_at("127.3.1.9", &[robots(), page("lighthouse"), robots(), page("harbour")]).await;
        let url = pages.url("/one");
        let server = publisher(&[feed(&[("one", "Short.", &url)]), feed(&[("one", "Edited.", &url)])]).await;
        let mut world = world(engine, FullText::Always).await;
        let id = world.add_feed(&server.url("/feed")).await;
        world.settled_so_far(1).await;
        let before = texts_fetched(&world, id).await;
        world.quiet().await;
        world.poll_again(id).await;
        let after = texts_fetched(&world, id).await;
        assert!(before[0].content.text.contains("lighthouse") && after[0].content.text.contains("harbour"));
        assert_eq!((after.len(), after[0].revision, after[0].id), (1, 1, before[0].id));
        assert_eq!(paths(&pages), ["/robots.txt", "/one", "/robots.txt", "/one"], "robots.txt is two days old");
        world.stop().await;
    });
}

#[rstest]
fn pages_of_a_held_host_wait_and_count_no_attempt(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let held = answer("429 Too Many Requests", &["Retry-After: 1800"], "");
        let pages = publisher_at("127.3.1.10", &[robots(), held, page("one"), page("two")]).await;
        let document = feed(&[("two", "2", &pages.url("/two")), ("one", "1", &pages.url("/one"))]);
        let server = publisher(&[document]).await;
        let mut world = world(engine, FullText::Always).await;
        let id = world.add_feed(&server.url("/feed")).await;
        world.settled_so_far(1).await;
        world.told("full texts deferred").await;
        world.pass_waiting(minutes(20), 2).await;
        assert_eq!(paths(&pages).len(), 2, "no request before the end of the hold");
        world.advance(minutes(11));
        let stored = texts_fetched(&world, id).await;
        assert!(stored.iter().all(|post| post.content.text_origin == TextOrigin::Article));
        assert_eq!(paths(&pages).len(), 4);
        world.stop().await;
    });
}
