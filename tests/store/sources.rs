//! Sources: added, read, listed, saved, removed.

use super::*;
use feedwarden::model::{Backlog, FullText, PodcastId, SourceState, Timestamp};
use feedwarden::store::{Added, Saved, StoreError, stream_sources};
use futures_util::TryStreamExt;
use rstest::rstest;

#[rstest]
#[tokio::test]
async fn a_source_comes_back_as_it_was_added(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let user = store.add_user("ada", at(NOW)).await.unwrap();
    let podcast = store.add_podcast(user, "Engines", at(NOW)).await.unwrap();
    let settings = SourceSettings {
        podcast_id: Some(podcast),
        source_type: SourceType::Website,
        url: "https://a.example/news?x=1#y".into(),
        title: Some("A's news".into()),
        poll_interval_minutes: Some(15),
        poll_delay_seconds: Some(0),
        max_failures: Some(u32::MAX),
        max_backoff_hours: Some(6),
        backlog: Some(Backlog::All),
        full_text: Some(FullText::WhenShort),
        user_agent: Some("reader/1.0 (+https://a.example)".into()),
        proxy: Some("socks5h://proxy.example:9050".parse().unwrap()),
        websub: Some(feedwarden::model::PushUse::Off),
    };
    let source = store.add(NewSource { settings: settings.clone(), created_at: at(NOW) }).await;
    assert_eq!(source.settings, settings);
    assert_eq!((source.created_at, source.updated_at, source.version), (at(NOW), at(NOW), 1));
}

#[rstest]
#[tokio::test]
async fn a_new_source_is_enabled_and_nothing_is_known_of_it(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    assert_eq!(store.add(rss("http://a.example/")).await.state, SourceState::default());
}

#[rstest]
#[tokio::test]
async fn adding_a_source_again_names_the_one_that_is_there(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let first = store.add(rss("http://a.example/")).await;
    let again = store.add_sources(vec![rss("http://b.example/"), rss("http://a.example/")]).await.unwrap();
    assert!(matches!(again[..], [Added::New(_), Added::Duplicate(id)] if id == first.id), "{again:?}");
}

#[rstest]
#[tokio::test]
async fn duplicates_within_one_list_are_found_too(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let answers = store.add_sources(vec![rss("http://a.example/"), rss("http://a.example/")]).await.unwrap();
    let [Added::New(first), Added::Duplicate(second)] = answers[..] else { panic!("{answers:?}") };
    assert_eq!(first, second);
}

#[rstest]
#[tokio::test]
async fn another_podcast_or_type_makes_another_source(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let user = store.add_user("ada", at(NOW)).await.unwrap();
    let podcast = store.add_podcast(user, "Engines", at(NOW)).await.unwrap();
    let mut for_podcast = rss("http://a.example/");
    for_podcast.settings.podcast_id = Some(podcast);
    let mut as_website = rss("http://a.example/");
    as_website.settings.source_type = SourceType::Website;
    let answers = store.add_sources(vec![rss("http://a.example/"), for_podcast, as_website]).await.unwrap();
    assert!(answers.iter().all(|answer| matches!(answer, Added::New(_))), "{answers:?}");
    assert_eq!(store.sources_with_url("http://a.example/").await.unwrap().len(), 3);
}

#[rstest]
#[tokio::test]
async fn an_unknown_podcast_is_refused_and_none_of_the_list_is_added(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let mut orphan = rss("http://b.example/");
    orphan.settings.podcast_id = Some(PodcastId(99));
    let error = store.add_sources(vec![rss("http://a.example/"), orphan]).await.unwrap_err();
    assert!(matches!(error, StoreError::NoSuchReference(_)), "{error}");
    assert_eq!(store.list_sources(None, 10).await.unwrap(), []);
}

#[rstest]
#[tokio::test]
async fn an_empty_list_adds_nothing(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    assert_eq!(store.add_sources(Vec::new()).await.unwrap(), []);
}

#[rstest]
#[tokio::test]
async fn s506_what_is_no_url_is_kept_as_it_is(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    for url in ["", "not a url", "http://[::1/", "  http://a.example/  ", "http://例え.テスト/🦀"] {
        assert_eq!(store.add(rss(url)).await.settings.url, url);
        assert_eq!(store.sources_with_url(url).await.unwrap().len(), 1);
    }
}

#[rstest]
#[tokio::test]
async fn a_url_of_any_length_is_kept_found_and_told_apart(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    // Incompressible, so that no engine can shrink it below what its indexes take.
    let long: String =
        (0..10_000u32).map(|n| char::from(b'a' + (n.wrapping_mul(2_654_435_761) >> 24) as u8 % 26)).collect();
    let source = store.add(rss(&long)).await;
    assert_eq!(store.sources_with_url(&long).await.unwrap(), [source]);
    let other = format!("{long}x");
    assert_eq!(store.sources_with_url(&other).await.unwrap(), []);
    store.add(rss(&other)).await;
}

#[rstest]
#[tokio::test]
async fn a_source_that_is_not_there_is_nothing(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    assert_eq!(store.source(SourceId(1)).await.unwrap(), None);
    assert_eq!(store.sources_with_url("http://a.example/").await.unwrap(), []);
}

#[rstest]
#[tokio::test]
async fn saving_writes_settings_and_raises_the_version(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let mut source = store.add(rss("http://a.example/")).await;
    source.settings.title = Some("Renamed".into());
    source.settings.url = "http://b.example/".into();
    assert_eq!(store.save_source(source.clone(), at(NOW + 5)).await.unwrap(), Saved::Written(2));
    let saved = store.source(source.id).await.unwrap().unwrap();
    assert_eq!(saved, Source { version: 2, updated_at: at(NOW + 5), ..source });
}

#[rstest]
#[tokio::test]
async fn saving_what_somebody_else_changed_is_stale_and_shows_the_change(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let mut theirs = source.clone();
    theirs.settings.title = Some("Theirs".into());
    store.save_source(theirs, at(NOW)).await.unwrap();
    let mut ours = source;
    ours.settings.title = Some("Ours".into());
    let Saved::Stale(current) = store.save_source(ours, at(NOW)).await.unwrap() else { panic!("not stale") };
    assert_eq!((current.settings.title.as_deref(), current.version), (Some("Theirs"), 2));
    assert_eq!(store.source(current.id).await.unwrap(), Some(*current));
}

#[rstest]
#[tokio::test]
async fn saving_what_was_removed_resurrects_nothing(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    assert!(store.remove_source(source.id).await.unwrap());
    assert_eq!(store.save_source(source, at(NOW)).await.unwrap(), Saved::Gone);
    assert_eq!(store.list_sources(None, 10).await.unwrap(), []);
}

#[rstest]
#[tokio::test]
async fn saving_onto_another_sources_url_names_that_source(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let other = store.add(rss("http://a.example/")).await;
    let mut source = store.add(rss("http://b.example/")).await;
    source.settings.url = "http://a.example/".into();
    assert_eq!(store.save_source(source.clone(), at(NOW)).await.unwrap(), Saved::Duplicate(other.id));
    assert_eq!(store.source(source.id).await.unwrap().unwrap().settings.url, "http://b.example/");
}

#[rstest]
#[tokio::test]
async fn removing_takes_the_posts_along_and_says_whether_it_was_there(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let (source, other) = (store.add(rss("http://a.example/")).await, store.add(rss("http://b.example/")).await);
    store.find(source.id, vec![post("one"), post("two")]).await;
    store.find(other.id, vec![post("three")]).await;
    assert!(store.remove_source(source.id).await.unwrap());
    assert!(!store.remove_source(source.id).await.unwrap());
    let left = store.list_posts(None, None, 10).await.unwrap();
    assert_eq!(left.iter().map(|post| post.content.text.as_str()).collect::<Vec<_>>(), ["three"]);
}

#[rstest]
#[tokio::test]
async fn a_source_is_removed_by_its_version_in_one_step(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    store.save_source(source.clone(), at(NOW)).await.unwrap();
    assert!(!store.remove_source_version(source.id, source.version).await.unwrap());
    let current = store.source(source.id).await.unwrap().unwrap();
    assert!(!store.remove_source_version(SourceId(source.id.0 + 1), current.version).await.unwrap());
    assert!(store.remove_source_version(source.id, current.version).await.unwrap());
    assert_eq!(store.source(source.id).await.unwrap(), None);
}

#[rstest]
#[tokio::test]
async fn a_removed_sources_number_is_not_given_again(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let first = store.add(rss("http://a.example/")).await;
    store.remove_source(first.id).await.unwrap();
    assert!(store.add(rss("http://a.example/")).await.id > first.id);
}

#[rstest]
#[tokio::test]
async fn sources_are_listed_in_order_page_by_page(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let new = (0..25).map(|n| rss(&format!("http://{n}.example/"))).collect();
    store.add_sources(new).await.unwrap();
    let mut met = Vec::new();
    let mut after = None;
    loop {
        let page = store.list_sources(after, 7).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        assert!(page.len() <= 7);
        met.extend(page.into_iter().map(|source| source.settings.url));
    }
    assert_eq!(met, (0..25).map(|n| format!("http://{n}.example/")).collect::<Vec<_>>());
}

#[rstest]
#[tokio::test]
async fn paging_misses_nobody_while_rows_come_and_go(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    store.add_sources((0..20).map(|n| rss(&format!("http://{n}.example/"))).collect()).await.unwrap();
    let first = store.list_sources(None, 10).await.unwrap();
    for source in &first[..5] {
        store.remove_source(source.id).await.unwrap();
    }
    store.add(rss("http://late.example/")).await;
    let rest = store.list_sources(Some(first[9].id), 100).await.unwrap();
    let urls: Vec<_> = rest.iter().map(|source| source.settings.url.as_str()).collect();
    assert_eq!(urls[..2], ["http://10.example/", "http://11.example/"]);
    assert_eq!((urls.len(), urls[10]), (11, "http://late.example/"));
}

#[rstest]
#[tokio::test]
async fn a_hundred_thousand_sources_are_streamed_exactly_once(#[values(Sqlite, Postgres)] engine: Engine) {
    const COUNT: usize = 100_000;
    let store = engine.store().await;
    for start in (0..COUNT).step_by(10_000) {
        let new = (start..start + 10_000).map(|n| rss(&format!("http://host{}.example/feed/{n}", n % 997))).collect();
        store.add_sources(new).await.unwrap();
    }
    let mut met = std::collections::HashSet::with_capacity(COUNT);
    let mut last = SourceId(0);
    let mut sources = std::pin::pin!(stream_sources(&*store, 1_000));
    while let Some(source) = sources.try_next().await.unwrap() {
        assert!(source.id > last, "in order");
        last = source.id;
        assert!(met.insert(source.settings.url), "met twice");
    }
    assert_eq!(met.len(), COUNT);
}

#[rstest]
#[tokio::test]
async fn an_empty_store_streams_nobody(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let none: Vec<Source> = stream_sources(&*store, 10).try_collect().await.unwrap();
    assert_eq!(none, []);
}

#[rstest]
#[tokio::test]
async fn a_nul_in_any_text_of_a_person_is_dropped(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let mut new = rss("http://a.example/\0feed");
    new.settings.title = Some("\0A\0".into());
    let source = store.add(new).await;
    assert_eq!((source.settings.url.as_str(), source.settings.title.as_deref()), ("http://a.example/feed", Some("A")));
    assert_eq!(store.sources_with_url("http://a.example/\0feed").await.unwrap().len(), 1);
    let again = store.add_sources(vec![rss("http://a.example/feed\0")]).await.unwrap();
    assert_eq!(again, [Added::Duplicate(source.id)]);
}

#[rstest]
#[tokio::test]
async fn a_source_keeps_its_time_of_creation_to_the_microsecond(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    for micros in [0, -1, 1_800_000_000_123_456, Timestamp::MIN.as_micros(), Timestamp::MAX.as_micros()] {
        let created_at = Timestamp::from_micros(micros);
        let source = store.add(NewSource { created_at, ..rss(&format!("http://a.example/{micros}")) }).await;
        assert_eq!(source.created_at, created_at);
    }
}
