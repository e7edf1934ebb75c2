//! From the entries of a publisher's feed to the posts in the store (s601–s612, s801–s806).

use feedwarden::actors::{PipelineEvent, Scope};
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::{ContentHash, EventSelection, EventType, LastSeen, Post, PostContent, SourceId, Timestamp};
use feedwarden::rules::hours;
use feedwarden::store::PageBounds;
use rstest::rstest;

use super::publisher::{answer, dated_feed, feed, feed_saying, publisher};
use super::{World, run};
use crate::http::server::Server;
use crate::store::Engine::{self, Postgres, Sqlite};

/// Dated like the moment at which the source is added, and so older than it by a microsecond.
const OLD: (&str, &str) = ("old", "2027-01-15T08:00:00Z");

/// A source of this publisher, added on 2027-01-15 at eight and polled for the first time.
async fn polled_once(engine: Engine, server: &Server) -> (World, SourceId) {
    let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
    world.start(Scope::Daemon);
    let id = world.add_feed(&server.url("/feed")).await;
    world.settled(1).await;
    (world, id)
}

/// Its posts, the oldest first.
async fn posts(world: &World, id: SourceId) -> Vec<Post> {
    let mut posts = world.store.list_posts(Some(id), None, 100).await.unwrap();
    posts.sort_by_key(|post| post.published_at);
    posts
}

async fn bodies(world: &World, id: SourceId) -> Vec<String> {
    posts(world, id).await.into_iter().map(|post| post.content.text).collect()
}

fn moment(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[rstest]
fn html_is_stored_if_it_is_kept_and_the_rest_is_the_same(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[values(true, false)] keeps_html: bool,
) {
    run(async || {
        let item = "<item><guid>7</guid><title>One</title><pubDate>2027-01-15T08:10:00Z</pubDate>\
            <description><![CDATA[<p>two</p><p><a href='/x'>three</a></p>]]></description></item>";
        let server = publisher(&[feed_saying(item, &[], &[])]).await;
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.policy.posts.keeps_html = keeps_html;
        world.start(Scope::Daemon);
        let id = world.add_feed(&server.url("/feed")).await;
        world.settled(1).await;
        let [post] = &posts(&world, id).await[..] else { panic!("one post") };
        let html = format!("<p>two</p><p><a href='{}'>three</a></p>", server.url("/x"));
        let content = PostContent {
            title: "One".into(),
            text: "two\nthree".into(),
            guid: Some("7".into()),
            html: Some(html).filter(|_| keeps_html),
            ..PostContent::default()
        };
        assert_eq!(post.content, content);
        world.stop().await;
    });
}

#[rstest]
fn s601_three_entries_newer_than_the_watermark_become_posts_with_all_their_fields(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let item = |number: u32| {
            format!(
                "<item><title>Title {number}</title><link>http://a.example/{number}</link><author>Ada {number}</author>\
                 <description>Body {number}</description><pubDate>2027-01-15T08:{number}0:00Z</pubDate></item>"
            )
        };
        let three: String = [3, 2, 1, 0].map(item).concat();
        let server = publisher(&[feed_saying(&item(0), &[], &[]), feed_saying(&three, &[], &[])]).await;
        let (mut world, id) = polled_once(engine, &server).await;
        let seen = world.source(id).await.state.last_seen;
        assert_eq!(seen, Some(LastSeen::Published(moment("2027-01-15T08:00:00Z"))), "the watermark");
        world.poll_again(id).await;
        let posts = posts(&world, id).await;
        assert_eq!(posts.len(), 3);
        for (number, post) in (1..).zip(posts) {
            let text = PostContent {
                title: format!("Title {number}"),
                text: format!("Body {number}"),
                url: Some(format!("http://a.example/{number}")),
                author: Some(format!("Ada {number}")),
                ..PostContent::default()
            };
            assert_eq!(post.content, text);
            assert_eq!(post.published_at, Some(moment(&format!("2027-01-15T08:{number}0:00Z"))));
            assert_eq!(post.content_hash, ContentHash::of(&post.content.text));
        }
        world.stop().await;
    });
}

#[rstest]
fn s602_five_entries_of_a_nitter_feed_become_five_posts(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let nitter = include_str!("../fixtures/feeds/rss-2.0/nitter.xml");
        let nitter = nitter.replace("Mon, 16 Nov 2026 08:0", "Fri, 15 Jan 2027 08:1");
        let server = publisher(&[dated_feed(&[OLD]), answer("200 OK", &[], &nitter)]).await;
        let (mut world, id) = polled_once(engine, &server).await;
        world.poll_again(id).await;
        let titles: Vec<String> = posts(&world, id).await.into_iter().map(|post| post.content.title).collect();
        let five =
            ["First thought", "Second thought", "R to @someone: Third thought", "RT by @someone: Fourth", "Image"];
        assert_eq!(titles, five);
        world.stop().await;
    });
}

#[rstest]
fn s603_nothing_newer_stores_no_post_and_still_writes_the_poll(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let entries = [("newest", "2027-01-15T08:00:00Z"), ("older", "2027-01-14T08:00:00Z")];
        let older = [("newest", "2027-01-15T08:00:00Z"), ("overlooked", "2027-01-14T09:00:00Z")];
        let server = publisher(&[dated_feed(&entries), dated_feed(&older)]).await;
        let (mut world, id) = polled_once(engine, &server).await;
        world.poll_again(id).await;
        assert_eq!(bodies(&world, id).await, [""; 0]);
        let state = world.source(id).await.state;
        assert_eq!((state.last_polled, state.last_success_at), (Some(world.now()), Some(world.now())));
        world.stop().await;
    });
}

#[rstest]
fn s604_s605_s606_markup_authors_and_missing_parts_become_what_a_reader_needs(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let items = "<item><title>Marked up</title><author>John Smith</author>\
            <description>&lt;p>Breaking news&lt;/p>&lt;a href=\"http://a.example/1\">link&lt;/a></description></item>\
            <item><title>Only a title</title><author> </author></item>\
            <item><author/><dc:creator>Ada</dc:creator><description>No title</description></item>";
        let server = publisher(&[feed_saying(items, &[], &[])]).await;
        let (mut world, id) = polled_once(engine, &server).await;
        let mut found: Vec<_> = posts(&world, id)
            .await
            .into_iter()
            .map(|post| (post.content.title.clone(), post.content.body().into_owned(), post.content.author))
            .collect();
        found.sort();
        let post = |title: &str, body: &str, author: Option<&str>| {
            (title.to_owned(), body.to_owned(), author.map(str::to_owned))
        };
        let wanted = [
            post("Marked up", "Breaking news link", Some("John Smith")),
            post("No title", "No title", Some("Ada")),
            post("Only a title", "Only a title", None),
        ];
        assert_eq!(found, wanted);
        world.stop().await;
    });
}

#[rstest]
fn s607_an_entry_from_the_future_is_stored_and_hides_nothing_that_comes_after_it(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let future = ("next week", "2027-01-22T08:00:00Z");
        let server =
            publisher(&[dated_feed(&[future]), dated_feed(&[("today", "2027-01-15T08:30:00Z"), future])]).await;
        let (mut world, id) = polled_once(engine, &server).await;
        assert_eq!(bodies(&world, id).await, ["next week"]);
        assert_eq!(world.source(id).await.state.last_seen, None);
        world.poll_again(id).await;
        assert_eq!(bodies(&world, id).await, ["today", "next week"]);
        let seen = world.source(id).await.state.last_seen;
        assert_eq!(seen, Some(LastSeen::Published(moment("2027-01-15T08:30:00Z"))));
        world.stop().await;
    });
}

#[rstest]
fn s801_the_same_body_in_two_polls_is_stored_once_whatever_surrounds_it(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let item = |title: &str| format!("<item><title>{title}</title><description>Same words</description></item>");
        let answers = ["First", "Second"].map(|title| feed_saying(&item(title), &[], &[]));
        let server = publisher(&answers).await;
        let (mut world, id) = polled_once(engine, &server).await;
        world.poll_again(id).await;
        let titles: Vec<String> = posts(&world, id).await.into_iter().map(|post| post.content.title).collect();
        assert_eq!(titles, ["First"]);
        assert_eq!(world.handle().statistics().view().new_posts, 1);
        world.stop().await;
    });
}

#[rstest]
fn s803_s804_s805_the_first_poll_takes_what_is_younger_than_the_source_and_what_has_no_date(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let item = |(text, date): (&str, &str)| {
            format!("<item><description>{text}</description><pubDate>{date}</pubDate></item>")
        };
        let dated = [("younger", "2027-01-15T08:30:00Z"), OLD, ("older", "2027-01-13T08:00:00Z")].map(item).concat();
        let server = publisher(&[feed_saying(&dated, &[], &["undated"])]).await;
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.start(Scope::Daemon);
        world.service().pause_polling().await.unwrap();
        let id = world.add_feed(&server.url("/feed")).await;
        world.advance(hours(1));
        world.service().resume_polling().await.unwrap();
        world.settled(1).await;
        let mut found = bodies(&world, id).await;
        found.sort();
        assert_eq!(found, ["undated", "younger"]);
        world.stop().await;
    });
}

#[rstest]
fn s802_s806_later_polls_look_at_the_age_limit_and_not_at_the_age_of_the_source(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let dated = [("six days old", "2027-01-09T09:00:00Z"), ("eight days old", "2027-01-07T09:00:00Z")];
        // Without a date in the first answer there is no watermark that could hide anything.
        let server = publisher(&[feed(&[], &["undated"]), dated_feed(&dated)]).await;
        let (mut world, id) = polled_once(engine, &server).await;
        assert_eq!(bodies(&world, id).await, ["undated"]);
        world.poll_again(id).await;
        let mut found = bodies(&world, id).await;
        found.sort();
        assert_eq!(found, ["six days old", "undated"]);
        world.stop().await;
    });
}

/// One entry of a feed.
fn item(id: &str, url: &str, date: &str, body: &str) -> String {
    format!(
        "<item><guid isPermaLink=\"false\">{id}</guid><link>{url}</link><title>{id}</title>\
         <pubDate>2027-01-15T{date}:00Z</pubDate><description>{body}</description></item>"
    )
}

/// Polls a source once for each document, and returns what is stored after each poll.
async fn stored_after(engine: Engine, documents: &[Vec<String>]) -> (World, SourceId, Vec<Vec<String>>) {
    let answers: Vec<String> = documents.iter().map(|items| feed_saying(&items.concat(), &[], &[])).collect();
    let server = publisher(&answers).await;
    let (world, id) = polled_once(engine, &server).await;
    let mut stored = vec![bodies(&world, id).await];
    for _ in 1..documents.len() {
        world.poll_again(id).await;
        stored.push(bodies(&world, id).await);
    }
    (world, id, stored)
}

#[rstest]
fn s609_an_edited_entry_updates_its_post_newest_or_not_dated_as_before_or_anew(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let before =
            vec![item("2", "http://a.example/2", "09:00", "two"), item("1", "http://a.example/1", "08:30", "one")];
        let newest = vec![item("2", "http://a.example/2", "09:00", "two, edited"), before[1].clone()];
        let old = vec![newest[0].clone(), item("1", "http://a.example/1", "10:00", "one, edited")];
        let (mut world, id, stored) = stored_after(engine, &[before, newest, old.clone(), old]).await;
        assert_eq!(
            stored,
            [["one", "two"], ["one", "two, edited"], ["two, edited", "one, edited"], ["two, edited", "one, edited"]]
        );
        let posts = posts(&world, id).await;
        assert!(posts.iter().all(|post| post.revision == 1 && post.change_number > post.id.0), "{posts:?}");
        let view = world.handle().statistics().view();
        assert_eq!((view.new_posts, view.updated_posts), (2, 2));
        world.stop().await;
    });
}

#[rstest]
fn s610_an_entry_that_appears_later_than_a_newer_one_is_stored(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let newer = item("2", "http://a.example/2", "08:50", "two");
        let late = item("1", "http://a.example/1", "08:20", "late");
        let documents = [Vec::new(), vec![newer.clone()], vec![newer, late]];
        let (mut world, id, stored) = stored_after(engine, &documents).await;
        assert_eq!(stored, [vec![], vec!["two"], vec!["late", "two"]]);
        let history = world.history(id).await;
        assert_eq!(history[0].entries.unwrap().to_string(), "2 entries: 1 new (1 late), 1 known");
        world.stop().await;
    });
}

#[rstest]
fn s611_entries_of_one_document_with_one_body_are_all_stored(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let link = |number: u32| {
            item(&number.to_string(), &format!("http://a.example/{number}"), &format!("08:{number}"), "Comments")
        };
        let first = (10..40).map(link).collect();
        let second = (20..50).map(link).collect();
        let (mut world, id, stored) = stored_after(engine, &[first, second]).await;
        assert_eq!(stored.iter().map(Vec::len).collect::<Vec<_>>(), [30, 40]);
        assert!(world.source(id).await.state.bodies_repeat);
        world.stop().await;
    });
}

#[rstest]
fn s612_the_same_entry_under_another_id_with_https_or_tracking_is_not_stored_again(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let documents = [
            vec![item("a", "http://a.example/1", "09:00", "one")],
            vec![item("b", "http://a.example/1", "09:00", "one")],
            vec![item("https://a.example/1", "https://a.example/1", "09:00", "one")],
            vec![item("c", "https://www.a.example/1?utm_source=feed", "11:00", "one")],
            vec![item("c", "https://www.a.example/1?utm_source=feed", "11:00", "one, edited")],
        ];
        let (mut world, _, stored) = stored_after(engine, &documents).await;
        assert_eq!(stored, [["one"], ["one"], ["one"], ["one"], ["one, edited"]]);
        world.stop().await;
    });
}

#[rstest]
fn a_document_without_any_known_entry_is_a_gap(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let entry = |number: u32| {
            item(
                &number.to_string(),
                &format!("http://a.example/{number}"),
                &format!("08:{number}"),
                &number.to_string(),
            )
        };
        let documents = [vec![entry(10), entry(11)], vec![entry(11), entry(12)], vec![entry(20), entry(21)]];
        let answers = documents.map(|items| feed_saying(&items.concat(), &[], &[]));
        let server = publisher(&answers).await;
        let (mut world, id) = polled_once(engine, &server).await;
        let mut events = world.handle().events().listen();
        for _ in 1..answers.len() {
            world.poll_again(id).await;
        }
        let mut gaps = Vec::new();
        while let Ok(event) = events.try_recv() {
            gaps.extend(if let PipelineEvent::Gap { source_id, .. } = event { Some(source_id) } else { None });
        }
        assert_eq!(gaps, [id]);
        let selection = EventSelection { after: 0, source: Some(id), types: vec![EventType::SourceGap] };
        let events = world.store.events_page(selection, PageBounds::of_rows(9)).await.unwrap().events;
        assert_eq!(events.len(), 1, "{events:?}");
        let state = world.source(id).await.state;
        assert_eq!((state.gaps, state.last_gap_at), (1, Some(world.now())));
        let gaps: Vec<bool> = world.history(id).await.iter().map(|poll| poll.is_gap).collect();
        assert_eq!(gaps, [true, false, false], "the newest poll first");
        assert_eq!(world.handle().statistics().view().gaps, 1);
        world.stop().await;
    });
}
