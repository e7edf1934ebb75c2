//! Entries that were left out for good: known from then on, together with the state that speaks of them.

use super::cleanup::DAY;
use super::*;
use feedwarden::model::ContentHash;
use rstest::rstest;

/// The settlement of a first reading that stored these posts and left out entries with these bodies.
fn read(source: &Source, posts: &[&str], left_out: &[&str]) -> Settlement {
    let posts = posts.iter().map(|body| post(body)).collect();
    Settlement { left_out: left_out.iter().map(|body| ContentHash::of(body)).collect(), ..found(source, posts) }
}

#[rstest]
#[tokio::test]
async fn s806_what_was_left_out_is_known_to_its_source_alone(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let (a, b) = (store.add(rss("http://a.example/")).await, store.add(rss("http://b.example/")).await);
    let batch = vec![read(&a, &["new"], &["old", "older"]), read(&b, &[], &["other"])];
    let settled = store.settle(batch).await.unwrap();
    assert!(matches!(&settled[0], Settled::Written { new_posts, .. } if new_posts.len() == 1), "{settled:?}");
    assert!(matches!(&settled[1], Settled::Written { new_posts, .. } if new_posts.is_empty()), "{settled:?}");
    let entries = || ["older", "later", "old", "new", "other"].map(post).to_vec();
    store.find(a.id, entries()).await;
    store.find(b.id, entries()).await;
    assert_eq!(store.bodies(a.id).await, ["new", "later", "other"]);
    assert_eq!(store.bodies(b.id).await, ["older", "later", "old", "new"]);
}

#[rstest]
#[tokio::test]
async fn s806_what_is_left_out_twice_is_remembered_once(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let first = read(&source, &[], &["old", "old"]);
    let second = Settlement { version: 2, ..read(&source, &[], &["old"]) };
    let settled = store.settle(vec![first, second]).await.unwrap();
    assert!(matches!(settled[..], [Settled::Written { version: 2, .. }, Settled::Written { version: 3, .. }]));
    assert_eq!(store.remembered().await.as_deref(), Some("1"));
}

#[rstest]
#[tokio::test]
async fn s803_an_undated_entry_with_the_words_of_one_left_out_is_stored(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    store.settle(vec![read(&source, &["same"], &["same"])]).await.unwrap();
    assert_eq!(store.find(source.id, vec![post("same")]).await, []);
    assert_eq!(store.bodies(source.id).await, ["same"]);
    // It goes like every other post, and what is remembered of it stays one row.
    assert_eq!(store.clean_at(NOW + 8 * DAY).await.posts, 1);
    assert_eq!(store.remembered().await.as_deref(), Some("1"));
}

#[rstest]
#[tokio::test]
async fn s806_a_poll_that_is_not_written_leaves_nothing_known(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let (stale, gone) = (store.add(rss("http://a.example/")).await, store.add(rss("http://b.example/")).await);
    store.save_source(stale.clone(), at(NOW)).await.unwrap();
    store.remove_source(gone.id).await.unwrap();
    let settled = store.settle(vec![read(&stale, &[], &["old"]), read(&gone, &[], &["old"])]).await.unwrap();
    assert!(matches!(settled[..], [Settled::Stale(_), Settled::Gone]), "{settled:?}");
    assert_eq!(store.remembered().await.as_deref(), Some("0"));
    assert_eq!(store.find(stale.id, vec![post("old")]).await.len(), 1);
}

#[rstest]
#[tokio::test]
async fn s806_what_was_left_out_is_remembered_with_the_state_or_not_at_all(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let (a, b) = (store.add(rss("http://a.example/")).await, store.add(rss("http://b.example/")).await);
    let batch = vec![read(&a, &[], &["old"]), read(&b, &["new"], &[])];
    store.raw("ALTER TABLE posts RENAME TO posts_away").await;
    store.settle(batch.clone()).await.unwrap_err();
    store.raw("ALTER TABLE posts_away RENAME TO posts").await;
    assert_eq!(store.remembered().await.as_deref(), Some("0"));
    assert_eq!(store.source(a.id).await.unwrap().unwrap(), a);
    store.raw("ALTER TABLE cleaned_posts RENAME TO cleaned_away").await;
    store.settle(vec![batch[0].clone()]).await.unwrap_err();
    store.raw("ALTER TABLE cleaned_away RENAME TO cleaned_posts").await;
    assert_eq!(store.source(a.id).await.unwrap().unwrap(), a);
    store.settle(batch).await.unwrap();
    assert_eq!(store.remembered().await.as_deref(), Some("1"));
}

#[rstest]
#[tokio::test]
async fn a_poll_that_left_entries_out_is_settled_again_as_the_same(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let settlement = read(&source, &["new"], &["old", "older"]);
    let first = store.settle(vec![settlement.clone()]).await.unwrap();
    assert_eq!(store.settle(vec![settlement.clone()]).await.unwrap(), first);
    assert_eq!(store.remembered().await.as_deref(), Some("2"));
    let other = Settlement { left_out: vec![ContentHash::of("another")], ..settlement };
    assert!(matches!(store.settle(vec![other]).await.unwrap()[..], [Settled::Stale(_)]));
    assert_eq!(store.remembered().await.as_deref(), Some("2"));
}

#[rstest]
#[tokio::test]
async fn s806_what_was_left_out_is_remembered_while_it_is_in_its_feed_and_then_forgotten(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    store.settle(vec![read(&source, &[], &["stays", "leaves"])]).await.unwrap();
    for day in (1..=60).step_by(3) {
        store.clean_at(NOW + day * DAY).await;
        assert_eq!(store.read_at(source.id, NOW + day * DAY, vec![post("stays")]).await, 0, "day {day}");
        let expected = if day < 31 { "2" } else { "1" };
        assert_eq!(store.remembered().await.as_deref(), Some(expected), "day {day}");
    }
    // A feed that says 304 still holds it, whatever the time.
    assert_eq!(store.clean_at(NOW + 300 * DAY).await.hashes, 0);
    assert_eq!(store.read_at(source.id, NOW + 300 * DAY, vec![post("stays")]).await, 0);
    store.read_at(source.id, NOW + 303 * DAY, Vec::new()).await;
    assert_eq!(store.clean_at(NOW + 340 * DAY).await.hashes, 1);
    assert_eq!(store.remembered().await.as_deref(), Some("0"));
}
