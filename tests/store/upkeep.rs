//! The SQLite file gives space back, and its write-ahead log stays bounded.

use super::*;
use feedwarden::store::settings::{EngineSettings, SqliteSettings};
use feedwarden::store::{Upkeep, check, compact};
use rstest::rstest;

fn sqlite(store: &TestStore) -> SqliteSettings {
    match &store.settings.engine {
        EngineSettings::Sqlite(sqlite) => sqlite.clone(),
        EngineSettings::Postgres(_) => panic!("SQLite"),
    }
}

/// Fills the file with a few megabytes of posts, and removes them.
async fn fill_and_empty(store: &TestStore) {
    let source = store.add(rss("http://a.example/")).await;
    let posts = (0..400).map(|number| post(&format!("{number} {}", "long ".repeat(4000)))).collect();
    store.find(source.id, posts).await;
    store.raw("DELETE FROM posts").await;
}

async fn file_bytes(store: &TestStore) -> u64 {
    check(&store.settings).await.unwrap().bytes
}

#[tokio::test]
async fn a_file_shrinks_in_small_steps_and_keeps_a_little_for_new_posts() {
    let store = Sqlite.store().await;
    fill_and_empty(&store).await;
    let full = file_bytes(&store).await;
    let first = store.tend().await.unwrap();
    assert!((1..=256 * 8192).contains(&first.freed_bytes), "{first:?}");
    for _ in 0..20 {
        store.tend().await.unwrap();
    }
    assert_eq!(store.tend().await.unwrap().freed_bytes, 0);
    let (left, kept) = (file_bytes(&store).await, check(&store.settings).await.unwrap().free_bytes);
    assert!(left < full / 2 && kept <= 128 * 8192, "{full} before, {left} now, {kept} of them free");
}

#[tokio::test]
async fn a_file_of_an_earlier_version_shrinks_once_it_is_rewritten() {
    let directory = tempfile::tempdir().unwrap();
    let settings = Sqlite.settings(&directory).await;
    let store = {
        let EngineSettings::Sqlite(sqlite) = &settings.engine else { unreachable!("SQLite") };
        let earlier = rusqlite::Connection::open(&sqlite.path).unwrap();
        earlier.execute_batch("PRAGMA journal_mode = wal; CREATE TABLE a (x); DROP TABLE a").unwrap();
        drop(earlier);
        TestStore::open(settings, directory).await
    };
    fill_and_empty(&store).await;
    assert!(!check(&store.settings).await.unwrap().can_shrink);
    assert_eq!(store.tend().await.unwrap().freed_bytes, 0);
    store.close().await;
    let done = compact(&sqlite(&store)).unwrap();
    assert!(done.bytes_after < done.bytes_before / 2, "{done:?}");
    let report = check(&store.settings).await.unwrap();
    assert!(report.can_shrink && report.problem_count == 0, "{report:?}");
}

#[tokio::test]
async fn a_reader_that_does_not_end_is_noticed_and_the_log_is_emptied_after_it() {
    let store = Sqlite.store().await;
    let path = sqlite(&store).path;
    let reader = rusqlite::Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM sources").unwrap();
    store.raw("CREATE TABLE much (x); INSERT INTO much VALUES (zeroblob(70000000))").await;
    let held = store.tend().await.unwrap();
    assert!(held.is_wal_held && held.wal_bytes > 64 << 20, "{held:?}");
    reader.execute_batch("COMMIT").unwrap();
    let free = store.tend().await.unwrap();
    assert!(!free.is_wal_held && free.wal_bytes == 0, "{free:?}");
}

#[rstest]
#[tokio::test]
async fn a_server_looks_after_its_own_files(#[values(Postgres)] engine: Engine) {
    assert_eq!(engine.store().await.tend().await.unwrap(), Upkeep::default());
}
