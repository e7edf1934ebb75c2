//! Audit records: in the transaction of their change, and bounded.

use super::*;
use feedwarden::model::{Actor, AuditFilter, AuditedChange, Cutoffs, NewAuditRecord, Timestamp, UserId};
use feedwarden::store::{self, statement};
use rstest::rstest;

fn record(action: &'static str, seconds: i64) -> NewAuditRecord {
    let actor = Actor { who: "uid:7".into(), user_name: Some("ann\0".into()), address: None };
    let change = AuditedChange::new(action, "user", None).named("bob").before("name", "a").after("name", None::<&str>);
    NewAuditRecord { at: at(seconds), actor, node: None, change }
}

async fn actions(store: &TestStore) -> Vec<String> {
    let records = store.list_audit_records(AuditFilter::default(), None, 1000).await.unwrap();
    records.into_iter().map(|record| record.action).collect()
}

#[rstest]
#[tokio::test]
async fn a_change_and_its_record_are_stored_together(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let id = store.audited(record("user.add", NOW)).add_user("bob", at(NOW)).await.unwrap();
    let stored = store.list_audit_records(AuditFilter::default(), None, 10).await.unwrap().pop().unwrap();
    let id = id.to_string();
    assert_eq!((stored.target_id.as_deref(), stored.actor.user_name.as_deref()), (Some(id.as_str()), Some("ann")));
    assert_eq!((stored.before.to_string(), stored.after.to_string()), ("name: \"a\"".into(), "name: none".into()));
    assert_eq!(stored.at, at(NOW));

    // A change without effect leaves no record, and neither does one that fails.
    assert!(!store.audited(record("user.rename", NOW)).rename_user(UserId(99), "eve").await.unwrap());
    store.audited(record("user.add", NOW)).add_user("bob", at(NOW)).await.unwrap_err();
    assert_eq!(actions(&store).await, ["user.add"]);

    // A change whose record cannot be stored is not made.
    store.raw("ALTER TABLE audit RENAME TO audit_away").await;
    store.audited(record("user.add", NOW)).add_user("eve", at(NOW)).await.unwrap_err();
    store.audited(record("source.add", NOW)).add_sources(vec![rss("http://a.example/")]).await.unwrap_err();
    store.raw("ALTER TABLE audit_away RENAME TO audit").await;
    assert_eq!(store.user_named("eve").await.unwrap(), None);
    assert_eq!(store.list_sources(None, 10).await.unwrap(), Vec::new());
    assert_eq!(actions(&store).await, ["user.add"]);
}

#[rstest]
#[tokio::test]
async fn records_are_selected_by_caller_target_and_action(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    for (place, (who, action, id)) in [
        ("uid:7", "user.add", "1"),
        ("uid:8", "user.add", "1"),
        ("uid:7", "user.rename", "2"),
        ("uid:7", "user.add", "1"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut new = record(action, NOW + place as i64);
        new.actor.who = who.into();
        new.change = AuditedChange::new(action, "user", Some(id.into()));
        store.add_audit_record(new).await.unwrap();
    }
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    for (who, target, id, action, since, found) in [
        ("", "", "", "", 0, vec![4, 3, 2, 1]),
        ("uid:7", "", "", "", 0, vec![4, 3, 1]),
        ("uid:7", "", "", "", NOW + 2, vec![4, 3]),
        ("uid:7", "user", "", "user.add", 0, vec![4, 1]),
        ("uid:8", "user", "1", "", 0, vec![2]),
        ("uid:9", "", "", "", 0, vec![]),
        ("", "user", "1", "", 0, vec![4, 2, 1]),
    ] {
        let [who, target, target_id, action] = [who, target, id, action].map(some);
        let filter = AuditFilter { who, target, target_id, action, since: Some(at(since)) };
        let records = store.list_audit_records(filter.clone(), None, 100).await.unwrap();
        assert_eq!(records.iter().map(|record| record.id).collect::<Vec<_>>(), found, "{filter:?}");
        let second = store.list_audit_records(filter, found.first().copied(), 1).await.unwrap();
        let second: Vec<i64> = second.iter().map(|record| record.id).collect();
        assert_eq!(second, found.get(1..2).unwrap_or_default(), "the page after the first record");
    }
}

/// PostgreSQL has the same index, and reads a table as small as that of a test without any.
#[tokio::test]
async fn the_records_of_a_caller_and_of_a_target_are_found_by_an_index() {
    let store = Sqlite.store().await;
    for (name, index) in [("caller", "audit_by_caller"), ("target", "audit_by_target")] {
        let path = format!("{}/sql/shared/list_audit_of_{name}.sql", env!("CARGO_MANIFEST_DIR"));
        let sql = statement::for_sqlite(&std::fs::read_to_string(path).unwrap());
        let store::settings::EngineSettings::Sqlite(settings) = &store.settings.engine else { unreachable!() };
        let connection = rusqlite::Connection::open(&settings.path).unwrap();
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN\n{sql}")).unwrap();
        let unknown = rusqlite::params![9, 0, "x", "1", "", "x", 1];
        let steps: Vec<String> = plan.query_map(unknown, |row| row.get(3)).unwrap().collect::<Result<_, _>>().unwrap();
        assert!(steps.iter().all(|step| step.contains(index)) && steps.len() == 1, "{name}: {steps:?}");
    }
}

#[rstest]
#[tokio::test]
async fn several_sources_have_one_record_with_their_number(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let urls = ["http://a.example/", "http://b.example/", "http://a.example/"];
    let new = || urls.map(rss).to_vec();
    store.audited(record("source.add-many", NOW)).add_sources(new()).await.unwrap();
    store.audited(record("source.add-many", NOW)).add_sources(new()).await.unwrap();
    let records = store.list_audit_records(AuditFilter::default(), None, 10).await.unwrap();
    assert_eq!(records.len(), 1, "nothing is added the second time");
    assert_eq!((records[0].after.to_string().as_str(), &records[0].target_id), ("added: 2, name: none", &None));
}

#[rstest]
#[tokio::test]
async fn old_records_and_those_beyond_the_bound_go_in_batches(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    for seconds in 0..20 {
        store.add_audit_record(record("user.add", NOW + seconds)).await.unwrap();
    }
    let cutoffs = |audit_before, audit_records_max| Cutoffs {
        now: at(NOW),
        articles_before: Timestamp::MIN,
        posts_before: Timestamp::MIN,
        hashes_before: Timestamp::MIN,
        robots_before: Timestamp::MIN,
        audit_before,
        audit_records_max,
        events_before: Timestamp::MIN,
        events_max: 1000,
    };
    let cleaned = store.clean(cutoffs(at(NOW + 5), 1000), 3).await.unwrap();
    assert_eq!((cleaned.audit_records, cleaned.more), (3, true), "a step is bounded");
    let cleaned = store.clean(cutoffs(at(NOW + 5), 1000), 3).await.unwrap();
    assert_eq!((cleaned.audit_records, cleaned.more), (2, false));
    store.clean(cutoffs(Timestamp::MIN, 10), 100).await.unwrap();
    let left = store.list_audit_records(AuditFilter::default(), None, 100).await.unwrap();
    assert_eq!((left.len(), left[9].at), (10, at(NOW + 10)), "the newest ones stay");
}
