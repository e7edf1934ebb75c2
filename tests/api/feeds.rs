//! Feeds of new posts through the listeners.

use feedwarden::api::feeds::{atom, json_feed};
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::{ContentHash, Post, PostContent, PostId, SourceId, Timestamp};
use feedwarden::parse::feed::{Feed, Format, Limits, TextKind, read};
use proptest::prelude::{any, proptest};
use rstest::rstest;

use super::client::ask;
use super::posts::full_post;
use super::{Answer, ApiWorld};
use crate::pipeline::run;
use crate::store::Engine::{self, Postgres, Sqlite};
use crate::store::post;

async fn get(api: &ApiWorld, path: &str, headers: &[(&str, &str)]) -> Answer {
    ask(api.socket().await, "GET", path, headers, b"").await
}

fn parsed(answer: &Answer) -> Feed {
    assert_eq!(answer.status, 200, "{answer:?}");
    valid(&answer.body, answer.header("content-type"))
}

fn valid(text: &str, content_type: Option<&str>) -> Feed {
    let feed = read(text.as_bytes(), content_type, None, &Limits::default()).unwrap();
    assert_eq!(feed.notes, [], "nothing has to be put right");
    feed
}

fn one_post(title: &str, body: &str) -> Post {
    Post {
        id: PostId(2),
        source_id: SourceId(1),
        content: PostContent {
            title: title.into(),
            text: body.into(),
            url: Some("https://a.example/2?a=1&b=2".into()),
            author: Some("Ann <ann>".into()),
            ..PostContent::default()
        },
        published_at: Some(Timestamp::from_seconds(1_800_000_000)),
        created_at: Timestamp::from_seconds(1_800_000_060),
        changed_at: None,
        revision: 0,
        change_number: 2,
        content_hash: ContentHash([7; 32]),
        is_backfill: false,
    }
}

#[test]
fn our_own_reader_finds_everything_in_both() {
    let posts = [one_post("A & <b>", "Text ]]> & \"quotes\", 1 < 2")];
    for (text, format) in [(atom("a & b", &posts), Format::Atom10), (json_feed("a & b", &posts), Format::JsonFeed11)] {
        let feed = valid(&text, None);
        assert_eq!((feed.format, feed.entries.len()), (format, 1));
        assert_eq!(&*feed.title.unwrap().value, "Feedwarden: a & b");
        let entry = &feed.entries[0];
        assert_eq!(&*entry.title.as_ref().unwrap().value, "A & <b>");
        let body = entry.content.as_ref().or(entry.summary.as_ref()).unwrap();
        assert_eq!((&*body.value, body.kind), ("Text ]]> & \"quotes\", 1 < 2", TextKind::Plain));
        assert_eq!(entry.published, posts[0].published_at);
        assert_eq!(entry.author.as_deref(), Some("Ann <ann>"));
        assert_eq!(entry.url.as_deref(), Some("https://a.example/2?a=1&b=2"));
        assert!(entry.id.as_deref().unwrap().starts_with("urn:feedwarden:post:2:1800000060"));
    }
}

#[test]
fn our_own_reader_finds_an_episode_of_a_podcast_in_both() {
    let mut post = one_post("Episode 1", "One\ntwo");
    let given = full_post();
    post.content = given.content().clone();
    post.changed_at = Some(Timestamp::from_seconds(1_800_000_120));
    for text in [atom("all", &[post.clone()]), json_feed("all", &[post.clone()])] {
        let feed = valid(&text, None);
        let entry = &feed.entries[0];
        let content = entry.content.as_ref().unwrap();
        assert_eq!((&*content.value, content.kind), ("<p>One</p><ul><li>two</li></ul>", TextKind::Html), "{text}");
        assert_eq!(&*entry.summary.as_ref().unwrap().value, "Short");
        assert_eq!(entry.authors.iter().map(|author| &**author).collect::<Vec<_>>(), ["Ann", "Bob"]);
        assert_eq!(entry.categories.iter().map(|name| &**name).collect::<Vec<_>>(), ["tech"]);
        let [enclosure] = &entry.enclosures[..] else { panic!("{:?}", entry.enclosures) };
        assert_eq!(&*enclosure.url, "https://a.example/1.mp3");
        assert_eq!(enclosure.media_type.as_deref(), Some("audio/mpeg"));
        assert_eq!((enclosure.length, enclosure.duration_seconds), (Some(1234), Some(61)), "{text}");
        assert_eq!(entry.image_url.as_deref(), Some("https://a.example/1.png"));
        assert_eq!(entry.language.as_deref(), Some("en"));
        assert_eq!(entry.updated, post.changed_at);
    }
}

#[test]
fn an_entry_keeps_its_id_when_its_post_changes() {
    let first = one_post("Title", "first");
    let mut second = one_post("Title", "second");
    (second.content_hash, second.revision, second.change_number) = (ContentHash([8; 32]), 1, 9);
    let ids = [&first, &second].map(|post| valid(&atom("all", &[post.clone()]), None).entries[0].id.clone());
    assert_eq!(ids[0], ids[1]);
}

proptest! {
    #[test]
    fn any_text_makes_a_feed_that_can_be_read(title in any::<String>(), body in any::<String>()) {
        let posts = [one_post(&title, &body)];
        for text in [atom(&title, &posts), json_feed(&title, &posts)] {
            let feed = read(text.as_bytes(), None, None, &Limits::default()).unwrap();
            assert_eq!(feed.entries.len(), 1, "{text}");
        }
    }
}

fn titles(feed: &Feed) -> Vec<String> {
    feed.entries.iter().map(|entry| entry.title.as_ref().unwrap().value.to_string()).collect()
}

#[rstest]
fn feeds_hold_the_newest_posts_of_a_label_or_of_all(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let one = SourceId(api.add_quiet("http://a.example/").await);
        let two = SourceId(api.add_quiet("http://b.example/").await);
        let store = &api.world.store;
        let labels = vec!["first".into(), "tech/rust & co".into()];
        store.add_labels(vec![(two, labels)], api.world.now()).await.unwrap();
        assert_eq!(parsed(&get(&api, "/feeds/first.atom", &[]).await).entries.len(), 0);
        store.find(one, vec![post("1"), post("2")]).await;
        store.find(two, vec![post("3"), post("4")]).await;
        let all = get(&api, "/feeds/all.atom", &[]).await;
        assert_eq!(all.header("content-type"), Some("application/atom+xml; charset=utf-8"));
        assert_eq!(titles(&parsed(&all)), ["About 4", "About 3", "About 2", "About 1"]);
        assert_eq!(parsed(&all).format, Format::Atom10);
        for path in ["/feeds/tech/rust%20&%20co", "/feeds/tech%2Frust%20%26%20co"] {
            let labelled = get(&api, &format!("{path}.json"), &[]).await;
            assert_eq!(titles(&parsed(&labelled)), ["About 4", "About 3"]);
            assert_eq!(parsed(&labelled).format, Format::JsonFeed11);
        }
        store.find(one, (0..60).map(|number| post(&format!("many {number}"))).collect()).await;
        assert_eq!(parsed(&get(&api, "/feeds/all.json", &[]).await).entries.len(), 50);
        assert_eq!(get(&api, "/feeds/nobody.atom", &[]).await.status, 404);
        assert_eq!(get(&api, "/feeds/all.rss", &[]).await.status, 404);
        assert_eq!(ask(api.tcp().await, "GET", "/feeds/all.atom", &[], b"").await.status, 401);
        api.stop().await;
    });
}

#[rstest]
fn feeds_are_not_sent_again_to_who_has_them(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let source = SourceId(api.add_quiet("http://a.example/").await);
        api.world.store.find(source, vec![post("1")]).await;
        let first = get(&api, "/feeds/all.atom", &[]).await;
        let (etag, modified) = (first.header("etag").unwrap(), first.header("last-modified").unwrap());
        for header in [("If-None-Match", etag), ("If-None-Match", "*"), ("If-Modified-Since", modified)] {
            let again = get(&api, "/feeds/all.atom", &[header]).await;
            assert_eq!((again.status, again.body.as_str()), (304, ""), "{header:?}");
            assert_eq!(again.header("etag"), Some(etag));
        }
        let other = [("If-None-Match", "\"other\""), ("If-Modified-Since", modified)];
        assert_eq!(get(&api, "/feeds/all.atom", &other).await.status, 200, "what is named counts");
        let long_ago = [("If-Modified-Since", "Thu, 01 Jan 2015 00:00:00 GMT")];
        assert_eq!(get(&api, "/feeds/all.atom", &long_ago).await.status, 200);
        api.world.store.find(source, vec![post("2")]).await;
        let changed = get(&api, "/feeds/all.atom", &[("If-None-Match", etag)]).await;
        assert_eq!(parsed(&changed).entries.len(), 2);
        assert_ne!(changed.header("etag"), Some(etag));
        api.stop().await;
    });
}
