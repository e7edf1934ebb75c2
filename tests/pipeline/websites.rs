//! Pages, from the publisher to the store: one post for each text, whatever stands around it or dates it (s701–s704).

use std::time::Duration;

use feedwarden::actors::Scope;
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::{NewSource, Post, SourceId, SourceSettings, SourceType, Timestamp};
use feedwarden::rules::{hours, minutes};
use rstest::rstest;

use super::publisher::{answer, publisher};
use super::{World, run};
use crate::http::server::Server;
use crate::store::Engine::{self, Postgres, Sqlite};

const BRIDGE: &str =
    "The council met on Tuesday, after long talks, to decide about the bridge, and agreed to repair it.";
const FERRY: &str = "The ferry left the landing at noon, with eleven passengers and a goat, and nobody was told of it.";

/// A page with this text, said to be published at this moment, and so many comments.
fn page(text: &str, published: Option<Timestamp>, comments: usize) -> String {
    let date = published
        .map_or_else(String::new, |moment| format!("<meta property='article:published_time' content='{moment}'>"));
    let comment = "<div class=comment><p>I cross that bridge daily, and nobody asked me about it.</p></div>";
    let body = format!(
        "<title>Bridge</title>{date}<meta name=author content='https://a.example/ada'>\
        <article><h1>Bridge</h1><p class=byline>By Ada Moss</p><p>{text}</p>\
        <p><a href='#comments'>{comments} comments</a></p><div id=comments>{}</div></article>",
        comment.repeat(comments)
    );
    answer("200 OK", &[], &body)
}

fn no_robots() -> String {
    answer("404 Not Found", &[], "")
}

/// A world that polls the page of this publisher at this interval, after the first poll.
async fn polled(engine: Engine, server: &Server, interval: Duration) -> (World, SourceId) {
    let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
    world.policy.interval = interval;
    world.policy.delays.by_type.insert(SourceType::Website, Duration::ZERO);
    world.start(Scope::Daemon);
    let settings = SourceSettings::new(SourceType::Website, server.url("/page"));
    let ids = world.add(vec![NewSource { settings, created_at: world.now() }]).await;
    world.handle().sources_changed(ids.clone());
    world.settled(1).await;
    (world, ids[0])
}

async fn posts(world: &World, id: SourceId) -> Vec<Post> {
    world.store.list_posts(Some(id), None, 10).await.unwrap()
}

#[rstest]
fn s701_s702_a_page_is_one_post_however_many_comments_it_gets(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut answers = vec![no_robots()];
        answers.extend([0, 1, 5, 30].map(|comments| page(BRIDGE, None, comments)));
        answers.push(page(FERRY, None, 31));
        let server = publisher(&answers).await;
        let (mut world, id) = polled(engine, &server, hours(1)).await;
        for polls in 2..=4 {
            world.advance(hours(1));
            world.settled(polls).await;
            assert_eq!(world.store.bodies(id).await, [BRIDGE], "after poll {polls}");
        }
        world.advance(hours(1));
        world.settled(5).await;
        assert_eq!(world.store.bodies(id).await, [BRIDGE, FERRY]);
        world.stop().await;
    });
}

#[rstest]
fn s703_the_author_is_stored_as_it_stands_and_the_byline_beside_it(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let without_author = page(FERRY, None, 1).replace("name=author", "name=someone");
        let server = publisher(&[no_robots(), page(BRIDGE, None, 1), without_author]).await;
        let (mut world, id) = polled(engine, &server, hours(1)).await;
        world.advance(hours(1));
        world.settled(2).await;
        let authors: Vec<_> =
            posts(&world, id).await.into_iter().map(|post| (post.content.author, post.content.byline)).collect();
        let named = |name: &str| Some(name.to_owned());
        assert_eq!(authors, [(named("https://a.example/ada"), named("Ada Moss")), (None, named("Ada Moss"))]);
        world.stop().await;
    });
}

/// Where a page's date lies, from the moment at which its source is added.
#[rstest]
fn s704_a_page_is_stored_whatever_its_date_and_cleaned_up_by_when_it_was_stored(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[values(-365 * 24, -30 * 24, -24, -1, 24, 20 * 24)] hours_from_now: i64,
) {
    run(async || {
        let published = Timestamp::from_seconds(crate::store::NOW + hours_from_now * 3600);
        let page = || page(BRIDGE, Some(published), 1);
        // Robots.txt is asked for again on another day.
        let server = publisher(&[no_robots(), page(), no_robots(), page(), no_robots(), page()]).await;
        let (mut world, id) = polled(engine, &server, hours(5 * 24)).await;
        let stored = posts(&world, id).await;
        let dates: Vec<_> = stored.iter().map(|post| (post.content.text.as_str(), post.published_at)).collect();
        assert_eq!(dates, [(BRIDGE, Some(published))]);
        assert_eq!(world.source(id).await.state.last_seen, None);
        // The next ticks, and the next poll, leave it alone.
        world.advance(minutes(5));
        world.breathe().await;
        world.advance(hours(5 * 24));
        world.settled(2).await;
        assert_eq!(posts(&world, id).await, stored);
        // It goes when it has been stored for a week, and does not come back while the page shows the same (s904).
        world.advance(hours(2 * 24));
        world.until("it is cleaned up", async || posts(&world, id).await.is_empty()).await;
        world.advance(hours(3 * 24));
        world.settled(3).await;
        assert_eq!(posts(&world, id).await, []);
        let cleaned: u64 = world.records.of("cleaned up").iter().map(|record| record["posts"].as_u64().unwrap()).sum();
        assert_eq!(cleaned, 1);
        world.stop().await;
    });
}

#[rstest]
fn s704_a_new_text_with_an_older_date_is_a_new_post(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let at = |hours: i64| Some(Timestamp::from_seconds(crate::store::NOW + hours * 3600));
        let server = publisher(&[no_robots(), page(BRIDGE, at(0), 0), page(FERRY, at(-240), 0)]).await;
        let (mut world, id) = polled(engine, &server, hours(1)).await;
        world.advance(hours(1));
        world.settled(2).await;
        assert_eq!(world.store.bodies(id).await, [BRIDGE, FERRY]);
        world.stop().await;
    });
}
