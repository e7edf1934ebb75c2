//! What is old goes on the polling schedule, before sources are polled, and does not come back (s901–s904).

use feedwarden::actors::Scope;
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::{ArticleId, NewArticle, Timestamp};
use feedwarden::rules::{hours, minutes};
use feedwarden::store::settings::EngineSettings;
use rstest::rstest;

use super::publisher::{feed, publisher};
use super::{World, run};
use crate::store::Engine::{self, Postgres, Sqlite};

async fn article(world: &World, published_at: Timestamp) -> ArticleId {
    let (title, body) = ("Title".to_owned(), "Body".to_owned());
    let (podcast_id, url, published_at, created_at) = (None, None, Some(published_at), world.now());
    world.store.add_article(NewArticle { podcast_id, title, body, url, published_at, created_at }).await.unwrap()
}

#[rstest]
fn s901_s902_old_articles_go_at_a_tick_unless_they_are_processed(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        let days = |count: u32| world.now() - hours(24 * count);
        let (old, ages_old) = (article(&world, days(8)).await, article(&world, days(800)).await);
        let (young, processed) = (article(&world, days(6)).await, article(&world, days(800)).await);
        assert!(world.store.mark_processed(processed).await.unwrap());
        world.start(Scope::Daemon);
        world.told("cleaned up").await;
        let store = world.store.shared();
        let is_there = async |id| store.article(id).await.unwrap().is_some();
        assert_eq!((is_there(old).await, is_there(ages_old).await), (false, false));
        assert!(is_there(young).await && is_there(processed).await);
        // One that grows old goes at the tick after that.
        world.quiet().await;
        world.advance(hours(24) - minutes(2));
        world.breathe().await;
        assert!(is_there(young).await);
        world.advance(minutes(3));
        world.until("it goes", async || !is_there(young).await).await;
        assert!(is_there(processed).await);
        assert_eq!(world.records.of("cleaned up")[1]["articles"], 1);
        world.stop().await;
    });
}

#[rstest]
fn s901_cleaning_comes_before_the_polls_of_the_same_tick(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy; 3]).await;
        world.start_and_poll_all().await;
        world.stop().await;
        // So many that polls which did not wait for the end of the cleaning would be over before it.
        article(&world, world.now() - hours(24 * 30)).await;
        let more =
            "WITH RECURSIVE numbers(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 10000)
            INSERT INTO articles (title, body, published_at, created_at)
            SELECT title, body, published_at, created_at FROM articles CROSS JOIN numbers";
        world.store.raw(more).await;
        // All of them are due when the next process starts.
        world.advance(minutes(60));
        world.start(Scope::Daemon);
        world.settled(3).await;
        let told: Vec<_> = world.records.all().into_iter().map(|record| record["msg"].clone()).collect();
        let place = |message: &str| told.iter().position(|told| told == message).unwrap();
        assert!(place("cleaned up") < place("source polled"), "{told:?}");
        assert_eq!(world.records.of("cleaned up")[0]["articles"], 10_001);
        // Also at a later tick at which they are due.
        article(&world, world.now() - hours(24 * 30)).await;
        world.advance(minutes(60));
        world.settled(6).await;
        let told: Vec<_> = world.records.all().into_iter().map(|record| record["msg"].clone()).collect();
        let cleaned = told.iter().rposition(|told| told == "cleaned up").unwrap();
        assert_eq!(told[cleaned + 1..].iter().filter(|told| *told == "source polled").count(), 3, "{told:?}");
        world.stop().await;
    });
}

#[rstest]
fn s903_s904_old_posts_go_unless_an_article_was_made_of_them_and_do_not_come_back(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        // Without dates, nothing but the memory of them keeps them from coming back.
        let answers = vec![feed(&[], &["one", "two"]), feed(&[], &["one", "two"]), feed(&[], &["one", "two", "three"])];
        let server = publisher(&answers).await;
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.policy.interval = hours(8 * 24);
        world.start(Scope::Daemon);
        let id = world.add_feed(&server.url("/feed")).await;
        world.settled(1).await;
        let posts = world.store.list_posts(Some(id), None, 10).await.unwrap();
        let two = posts.iter().find(|post| post.content.text == "two").unwrap().id;
        let made = article(&world, world.now()).await;
        world.store.link_post(made, two).await.unwrap();
        assert!(world.store.mark_processed(made).await.unwrap());
        for polls in 2..=3 {
            world.advance(hours(8 * 24));
            world.settled(polls).await;
        }
        assert_eq!(world.store.bodies(id).await, ["two", "three"]);
        let cleaned: u64 = world.records.of("cleaned up").iter().map(|record| record["posts"].as_u64().unwrap()).sum();
        assert_eq!(cleaned, 1);
        world.stop().await;
    });
}

#[test]
fn a_reader_that_keeps_the_write_ahead_log_from_being_emptied_is_warned_of_once() {
    run(async || {
        let mut world = World::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let EngineSettings::Sqlite(sqlite) = &world.store.settings.engine else { unreachable!("SQLite") };
        let reader = rusqlite::Connection::open(&sqlite.path).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM sources").unwrap();
        world.store.raw("CREATE TABLE much (x); INSERT INTO much VALUES (zeroblob(70000000))").await;
        world.start_and_poll_all().await;
        world.told("write-ahead log grows").await;
        world.advance(minutes(60));
        world.settled(2).await;
        let warned = world.records.of("write-ahead log grows");
        assert_eq!((warned.len(), warned[0]["level"].as_str()), (1, Some("warn")));
        assert!(warned[0]["bytes"].as_u64().unwrap() > 64 << 20, "{warned:?}");
        reader.execute_batch("COMMIT").unwrap();
        world.advance(minutes(60));
        world.told("write-ahead log emptied").await;
        world.stop().await;
    });
}
