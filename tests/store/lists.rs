//! What the lists of the API are made of: selections of sources, labels, posts from either end and by time.

use super::*;
use feedwarden::model::{HostKey, Rest, RestCause};
use feedwarden::store::{Saved, SourceSelection};
use rstest::rstest;

async fn selected(store: &TestStore, selection: SourceSelection) -> Vec<i64> {
    let mut found = Vec::new();
    loop {
        let after = found.last().map(|id| SourceId(*id));
        // Two at a time, so that every selection is paged.
        let page = store.select_sources(selection.clone(), after, 2).await.unwrap();
        if page.is_empty() {
            return found;
        }
        found.extend(page.into_iter().map(|source| source.id.0));
    }
}

#[rstest]
#[tokio::test]
async fn sources_are_selected_by_host_label_and_trouble(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let urls = ["http://a.example/1", "https://A.example:8080/2", "http://b.example/", "no url", "http://a.example/3"];
    let mut ids = Vec::new();
    for url in urls {
        ids.push(store.add(rss(url)).await.id);
    }
    let x = NewSource { settings: SourceSettings::new(SourceType::Twitter, "https://x.com/a"), created_at: at(NOW) };
    let x = store.add(x).await.id.0;
    let all: Vec<i64> = ids.iter().map(|id| id.0).chain([x]).collect();
    assert_eq!(selected(&store, SourceSelection::All).await, all);
    let of = |host: &str| SourceSelection::OfHost(HostKey::from_canonical(host));
    assert_eq!(selected(&store, of("a.example")).await, [ids[0].0, ids[1].0, ids[4].0]);
    assert_eq!(selected(&store, of("x.com")).await, [0_i64; 0], "where X is asked is no host of a source");
    assert_eq!(selected(&store, SourceSelection::OfHost(HostKey::from_canonical("(x)"))).await, [x]);

    let mut moved = store.source(ids[2]).await.unwrap().unwrap();
    moved.settings.url = "http://a.example/moved".into();
    moved.state.enabled = false;
    moved.state.failures.consecutive = 2;
    moved.state.rest = Some(Rest { since: at(NOW), cause: RestCause::Person("tired".into()) });
    store.save_source(moved, at(NOW)).await.unwrap();
    assert_eq!(selected(&store, of("a.example")).await, [ids[0].0, ids[1].0, ids[2].0, ids[4].0]);
    use SourceSelection::{Disabled, Failing, Inactive, OfType, Resting};
    for selection in [Disabled, Resting, Failing, Inactive] {
        assert_eq!(selected(&store, selection).await, [ids[2].0]);
    }
    let mut tired = store.source(ids[3]).await.unwrap().unwrap();
    tired.state.rest = Some(Rest { since: at(NOW), cause: RestCause::Person("tired".into()) });
    store.save_source(tired, at(NOW)).await.unwrap();
    let mut page = store.source(ids[4]).await.unwrap().unwrap();
    page.state.enabled = false;
    page.settings.source_type = SourceType::Website;
    store.save_source(page, at(NOW)).await.unwrap();
    assert_eq!(selected(&store, Inactive).await, [ids[2].0, ids[3].0, ids[4].0]);
    assert_eq!(selected(&store, OfType(SourceType::Website)).await, [ids[4].0]);

    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    store.add_labels(vec![(ids[0], named(&["Tech", "Rust"])), (ids[4], named(&["Tech"]))], at(NOW)).await.unwrap();
    let labelled = store.source(ids[0]).await.unwrap().unwrap();
    assert_eq!(labelled.version, 2, "labels are part of what a version stands for");
    store.add_labels(vec![(ids[0], named(&["Tech"]))], at(NOW)).await.unwrap();
    assert_eq!(store.source(ids[0]).await.unwrap(), Some(labelled.clone()), "nothing was new");
    assert_eq!(selected(&store, SourceSelection::WithLabel("Tech".into())).await, [ids[0].0, ids[4].0]);
    assert_eq!(store.list_labels(None, 9).await.unwrap(), [("Rust".to_owned(), 1), ("Tech".to_owned(), 2)]);
    assert_eq!(store.list_labels(Some("Rust"), 9).await.unwrap(), [("Tech".to_owned(), 2)]);
    let of_first = |name: &str| (ids[0], name.to_owned());
    assert_eq!(store.labels_of(vec![ids[0], ids[1]]).await.unwrap(), [of_first("Tech"), of_first("Rust")]);
    let saved = store.save_source_with_labels(labelled.clone(), named(&["Z", "A"]), at(NOW)).await.unwrap();
    assert_eq!(saved, Saved::Written(3));
    let stale = store.save_source_with_labels(labelled, named(&["lost"]), at(NOW)).await.unwrap();
    assert!(matches!(stale, Saved::Stale(fresh) if fresh.version == 3));
    assert_eq!(store.labels_of(vec![ids[0]]).await.unwrap(), [of_first("Z"), of_first("A")]);
    let counted = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), 1)).collect::<Vec<_>>();
    assert_eq!(store.list_labels(None, 9).await.unwrap(), counted(&["A", "Tech", "Z"]), "no source has Rust any more");
    store.remove_source(ids[4]).await.unwrap();
    assert_eq!(store.list_labels(None, 9).await.unwrap(), counted(&["A", "Z"]), "a source goes with its labels");
    assert_eq!(selected(&store, SourceSelection::WithLabel("Tech".into())).await, [0_i64; 0]);
}

#[rstest]
#[tokio::test]
async fn hosts_of_rows_that_an_earlier_version_wrote_are_computed_at_the_start(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    let store = engine.store().await;
    let source = store.add(rss("http://EARLY.example/feed")).await.id;
    store.raw("UPDATE sources SET host = NULL").await;
    let again = store.another().await;
    let host = SourceSelection::OfHost(HostKey::from_canonical("early.example"));
    assert_eq!(again.select_sources(host, None, 9).await.unwrap()[0].id, source);
}

#[rstest]
#[tokio::test]
async fn posts_are_listed_from_the_newest_and_by_time(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let (one, two) = (store.add(rss("http://a.example/")).await.id, store.add(rss("http://b.example/")).await.id);
    let mut ids = store.find(one, vec![post("a"), post("b")]).await;
    ids.extend(store.find(two, vec![post("c")]).await);
    let newest = |posts: Vec<feedwarden::model::Post>| posts.into_iter().map(|post| post.id).collect::<Vec<_>>();
    assert_eq!(newest(store.list_posts_before(None, None, 2).await.unwrap()), [ids[2], ids[1]]);
    assert_eq!(newest(store.list_posts_before(None, Some(ids[1]), 2).await.unwrap()), [ids[0]]);
    assert_eq!(newest(store.list_posts_before(Some(one), None, 9).await.unwrap()), [ids[1], ids[0]]);
    let stored_at = at(NOW) + minutes(1);
    let (before, later) = (at(NOW), stored_at + minutes(1));
    assert_eq!(newest(store.list_posts_between(None, stored_at, later, None, 9).await.unwrap()), ids);
    let after = Some((stored_at, ids[0]));
    assert_eq!(newest(store.list_posts_between(None, before, later, after, 9).await.unwrap()), ids[1..]);
    assert_eq!(newest(store.list_posts_between(Some(one), before, later, after, 9).await.unwrap()), [ids[1]]);
    assert_eq!(newest(store.list_posts_between(Some(one), stored_at, later, None, 9).await.unwrap()), ids[..2]);
    assert!(store.list_posts_between(Some(one), before, stored_at, None, 9).await.unwrap().is_empty());
    let early = Some((before, ids[2]));
    assert_eq!(newest(store.list_posts_between(None, stored_at, later, early, 9).await.unwrap()), ids);
    assert!(
        store.list_posts_between(None, before, stored_at, None, 9).await.unwrap().is_empty(),
        "the end is left out"
    );
}
