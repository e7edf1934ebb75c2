//! A check of a store finds what is wrong with it, and changes nothing.

use super::*;
use feedwarden::store::settings::EngineSettings;
use feedwarden::store::{CheckReport, StoreError, StoreProblemKind, check};
use rstest::rstest;

async fn checked(store: &TestStore) -> CheckReport {
    check(&store.settings).await.unwrap()
}

type Found = (StoreProblemKind, Option<&'static str>, Option<String>, Option<&'static str>);

fn found(report: &CheckReport) -> Vec<Found> {
    report.problems.iter().map(|one| (one.kind, one.table, one.row.clone(), one.column)).collect()
}

#[rstest]
#[tokio::test]
async fn a_sound_store_is_counted_while_it_is_open(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    store.find(source.id, vec![post("one"), post("two")]).await;
    let report = checked(&store).await;
    assert_eq!((report.problem_count, found(&report)), (0, Vec::new()), "{report:?}");
    assert_eq!(report.engine, engine.name());
    assert_eq!(report.schema_version, Some(store.about().schema_version));
    assert_eq!(report.counts[..2], [("sources", 1), ("posts", 2)]);
    assert!(report.bytes > 0 && report.can_shrink);
}

#[rstest]
#[tokio::test]
async fn rows_that_cannot_be_read_are_named_and_the_others_are_read(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    for name in ["a", "b", "c", "d"] {
        let source = store.add(rss(&format!("http://{name}.example/"))).await;
        store.find(source.id, vec![post("one")]).await;
    }
    store.raw("UPDATE sources SET type = 'gopher' WHERE id = 2").await;
    store.raw("UPDATE sources SET max_failures = -1 WHERE id = 3").await;
    store.raw("UPDATE posts SET categories = 'no list' WHERE id = 4").await;
    let report = checked(&store).await;
    let row =
        |table, id: i64, column| (StoreProblemKind::UnreadableRow, Some(table), Some(id.to_string()), Some(column));
    assert_eq!(
        found(&report),
        [row("sources", 2, "type"), row("sources", 3, "max_failures"), row("posts", 4, "categories")]
    );
    assert!(report.problems[0].reason.contains("gopher"), "{report:?}");
    assert_eq!(report.problem_count, 3);
}

#[rstest]
#[tokio::test]
async fn a_number_that_would_be_issued_twice_and_a_strange_schema_are_found(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    store.find(source.id, vec![post("one")]).await;
    store.raw("UPDATE posts SET changed_number = 90").await;
    let report = checked(&store).await;
    assert_eq!(found(&report), [(StoreProblemKind::Numbers, Some("posts"), None, None)]);
    store.raw("DELETE FROM schema_migrations WHERE version > 3").await;
    let report = checked(&store).await;
    assert_eq!(found(&report), [(StoreProblemKind::Schema, None, None, None)]);
    assert!(report.problems[0].reason.contains("schema version is 3"), "{report:?}");
    store.raw("DROP TABLE schema_migrations").await;
    assert!(checked(&store).await.problems[0].reason.contains("never used"));
}

#[tokio::test]
async fn damage_and_lost_references_in_a_file_are_found() {
    let store = Sqlite.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let posts = (0..200).map(|number| post(&format!("{number} {}", "long ".repeat(400)))).collect();
    store.find(source.id, posts).await;
    store.close().await;
    let EngineSettings::Sqlite(sqlite) = &store.settings.engine else { unreachable!("SQLite") };
    let connection = rusqlite::Connection::open(&sqlite.path).unwrap();
    connection
        .execute_batch("PRAGMA foreign_keys = off; DELETE FROM sources; PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    drop(connection);
    let report = checked(&store).await;
    assert_eq!(report.problem_count, 200, "a post without its source: {:?}", report.problems[0]);
    assert!(found(&report).iter().all(|one| one.0 == StoreProblemKind::Reference && one.1 == Some("posts")));
    let mut bytes = std::fs::read(&sqlite.path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 20_000].fill(7);
    std::fs::write(&sqlite.path, &bytes).unwrap();
    let report = checked(&store).await;
    assert!(found(&report).iter().any(|one| one.0 == StoreProblemKind::Integrity), "{report:?}");
    bytes[..100].fill(7);
    std::fs::write(&sqlite.path, &bytes).unwrap();
    let report = check(&store.settings).await;
    let is_reported = match &report {
        Ok(report) => found(report).iter().any(|one| one.0 == StoreProblemKind::Integrity),
        Err(error) => matches!(error, StoreError::Unusable(_)),
    };
    assert!(is_reported, "{report:?}");
}
