//! Silent sources: polled without failures, and nothing new for a long time.

use super::cleanup::DAY;
use super::*;
use feedwarden::model::{LastSeen, Rest, RestCause, Timestamp};
use rstest::rstest;

/// Days since something new came.
const SILENT_DAYS: i64 = 30;

fn days_ago(days: i64) -> Timestamp {
    at(NOW - days * DAY)
}

impl TestStore {
    /// Adds a source that was added this many days ago and has been read successfully by now.
    async fn add_read(&self, url: &str, added_days_ago: i64, change: impl FnOnce(&mut Source)) -> SourceId {
        let new = NewSource { created_at: days_ago(added_days_ago), ..rss(url) };
        let mut source = self.add(new).await;
        source.state.last_success_at = Some(days_ago(0));
        source.state.last_read_at = Some(days_ago(0));
        change(&mut source);
        let saved = self.save_source(source.clone(), at(NOW)).await.unwrap();
        assert!(matches!(saved, feedwarden::store::Saved::Written(_)), "{saved:?}");
        source.id
    }

    /// Stores a post of a source as of this many days ago.
    async fn post_days_ago(&self, source: SourceId, body: &str, days: i64) {
        let source = self.source(source).await.unwrap().unwrap();
        let settlement = Settlement {
            posts: vec![post(body)],
            settled_at: days_ago(days),
            ..Settlement::of_state(&source, days_ago(days))
        };
        let settled = self.settle(vec![settlement]).await.unwrap();
        assert!(matches!(settled[..], [Settled::Written { .. }]), "{settled:?}");
    }

    async fn silent(&self, limit: u32) -> (u64, Vec<(SourceId, Timestamp)>) {
        let (total, sources) = self.silent_sources(days_ago(SILENT_DAYS), limit).await.unwrap();
        (total, sources.into_iter().map(|(source, since)| (source.id, since)).collect())
    }
}

#[rstest]
#[tokio::test]
async fn a_source_is_silent_since_its_newest_post(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    assert_eq!(store.silent(20).await, (0, Vec::new()));
    let quiet = store.add_read("http://quiet.example/", 100, |_| {}).await;
    let quieter = store.add_read("http://quieter.example/", 100, |_| {}).await;
    let lively = store.add_read("http://lively.example/", 100, |_| {}).await;
    // In the order of their times, as polls store them.
    store.post_days_ago(quieter, "old", 80).await;
    store.post_days_ago(lively, "old", 70).await;
    store.post_days_ago(quiet, "old", 60).await;
    store.post_days_ago(quiet, "newer", 40).await;
    store.post_days_ago(lively, "new", 2).await;
    let expected = vec![(quieter, days_ago(80)), (quiet, days_ago(40))];
    assert_eq!(store.silent(20).await, (2, expected.clone()), "although documents changed today");
    assert_eq!(store.silent(1).await, (2, expected[..1].to_vec()), "all are counted");
    store.post_days_ago(quieter, "new", 1).await;
    assert_eq!(store.silent(20).await, (1, expected[1..].to_vec()));
}

#[rstest]
#[tokio::test]
async fn a_source_whose_posts_were_removed_is_silent_since_its_watermark(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let published =
        |days| move |source: &mut Source| source.state.last_seen = Some(LastSeen::Published(days_ago(days)));
    let quiet = store.add_read("http://quiet.example/", 100, published(45)).await;
    let old = store.add_read("http://old.example/", 50, published(900)).await;
    store.add_read("http://lively.example/", 100, published(10)).await;
    let never = store.add_read("http://never.example/", 70, |_| {}).await;
    let expected = vec![(old, days_ago(900)), (never, days_ago(70)), (quiet, days_ago(45))];
    assert_eq!(store.silent(20).await, (3, expected));
}

#[rstest]
#[tokio::test]
async fn an_undated_source_whose_posts_were_removed_is_silent_while_its_document_does_not_change(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    let store = engine.store().await;
    let read = |days| move |source: &mut Source| source.state.last_read_at = Some(days_ago(days));
    let unchanged = store.add_read("http://unchanged.example/", 100, read(50)).await;
    let changing = store.add_read("http://changing.example/", 100, read(0)).await;
    let numbered = store
        .add_read("http://numbered.example/", 100, |source| {
            source.state.last_seen = Some(LastSeen::PostNumber(1_234_567_890_123));
            source.state.last_read_at = Some(days_ago(40));
        })
        .await;
    store.post_days_ago(unchanged, "removed", 60).await;
    store.post_days_ago(changing, "removed", 60).await;
    assert_eq!(store.clean_at(NOW).await.posts, 2);
    assert_eq!(store.silent(20).await, (2, vec![(unchanged, days_ago(50)), (numbered, days_ago(40))]));
}

#[rstest]
#[tokio::test]
async fn only_old_sources_that_are_polled_without_failures_are_silent(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    store.add_read("http://young.example/", 29, |_| {}).await;
    store.add_read("http://disabled.example/", 100, |source| source.state.enabled = false).await;
    store.add_read("http://failing.example/", 100, |source| source.state.failures.consecutive = 1).await;
    let rest = Rest { since: days_ago(1), cause: RestCause::Person("enough".into()) };
    store.add_read("http://resting.example/", 100, |source| source.state.rest = Some(rest)).await;
    let stopped = |source: &mut Source| source.state.last_success_at = Some(days_ago(31));
    store.add_read("http://stopped.example/", 100, stopped).await;
    store.add_read("http://unread.example/", 100, |source| source.state.last_success_at = None).await;
    assert_eq!(store.silent(20).await, (0, Vec::new()));
    let silent = store.add_read("http://silent.example/", 31, |_| {}).await;
    assert_eq!(store.silent(20).await, (1, vec![(silent, days_ago(31))]));
}
