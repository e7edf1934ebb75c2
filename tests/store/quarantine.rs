//! A row that cannot be read is skipped everywhere, and everything else goes on.

use feedwarden::model::{DeliveryFormat, EntryKey, HostKey, HostState, NewWebhook, RowKey, SourceToPoll};
use feedwarden::store::{QuarantineNews, SourceSelection, StoreError, stream_sources};
use futures_util::TryStreamExt;
use rstest::rstest;

use super::*;

/// Ways to damage a source by hand, or by a newer version of this program: column, SQL value, value as it is shown.
const DAMAGE: [(&str, &str, &str); 9] = [
    ("type", "'gopher'", "gopher"),
    ("poll_interval_minutes", "-5", "-5"),
    ("max_failures", "5000000000", "5000000000"),
    ("backlog", "'sometimes'", "sometimes"),
    ("full_text", "'perhaps'", "perhaps"),
    ("last_seen_id", "'yesterday'", "yesterday"),
    ("consecutive_failures", "-1", "-1"),
    ("last_error_type", "'haunted'", "haunted"),
    ("skip_days", "70000", "70000"),
];

async fn three(store: &TestStore) -> [Source; 3] {
    let mut sources = Vec::new();
    for name in ["a", "b", "c"] {
        sources.push(store.add(rss(&format!("http://{name}.example/"))).await);
    }
    sources.try_into().unwrap()
}

async fn damage(store: &TestStore, id: SourceId, column: &str, value: &str) {
    let failing = if column == "last_error_type" { ", last_failure_type = 'transient'" } else { "" };
    store.raw(&format!("UPDATE sources SET {column} = {value}{failing} WHERE id = {}", id.0)).await;
}

fn ids(sources: &[Source]) -> Vec<i64> {
    sources.iter().map(|source| source.id.0).collect()
}

#[rstest]
#[tokio::test]
async fn a_bad_source_is_named_and_all_others_are_read(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let [first, bad, last] = three(&store).await;
    for (column, value, shown) in DAMAGE {
        damage(&store, bad.id, column, value).await;
        assert_eq!(ids(&store.list_sources(None, 10).await.unwrap()), [first.id.0, last.id.0], "{column}");
        let rows = store.quarantine().list(10);
        assert_eq!(rows.len(), 1, "{column}");
        let row = &rows[0];
        assert_eq!((row.table, &row.key), ("sources", &RowKey::Id(bad.id.0)));
        assert_eq!((row.column.as_str(), row.value.as_str()), (column, shown));
        assert_eq!(row.url.as_deref(), Some("http://b.example/"));
        let error = store.source(bad.id).await.unwrap_err();
        assert!(matches!(error, StoreError::BadRow(_)), "{error}");
        let text = error.to_string();
        assert!(text.contains(column) && text.contains(shown) && text.contains("correct the value"), "{text}");
        assert!(!error.is_passing() && !error.stops_store());
        // Repair it: the next round damages something else.
        let good = match column {
            "type" => "'rss'",
            "skip_days" | "consecutive_failures" => "0",
            _ => "NULL",
        };
        damage(&store, bad.id, column, good).await;
        store.raw("UPDATE sources SET last_failure_type = NULL").await;
        assert_eq!(store.list_sources(None, 10).await.unwrap().len(), 3);
        assert_eq!(store.quarantine().count(), 0, "{column}");
    }
    let news = store.quarantine().take_news();
    let begun = news.iter().filter(|news| matches!(news, QuarantineNews::Begun(_))).count();
    assert_eq!((begun, news.len()), (DAMAGE.len(), 2 * DAMAGE.len()), "each is news once");
}

#[rstest]
#[tokio::test]
async fn every_way_to_read_sources_passes_a_bad_one(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let [first, bad, last] = three(&store).await;
    damage(&store, bad.id, "type", "'gopher'").await;
    store.raw("UPDATE sources SET enabled = FALSE").await;
    let all = [first.id.0, last.id.0];
    let streamed: Vec<Source> = stream_sources(&*store, 1).try_collect().await.unwrap();
    assert_eq!(ids(&streamed), all, "a page that holds nothing else is not taken for the end");
    let disabled = store.select_sources(SourceSelection::Disabled, None, 10).await.unwrap();
    assert_eq!(ids(&disabled), all);
    let of_host = SourceSelection::OfHost(HostKey::from_canonical("b.example"));
    assert_eq!(store.select_sources(of_host, None, 10).await.unwrap(), []);
    assert_eq!(store.sources_with_url("http://b.example/").await.unwrap(), []);
    let mut ready = store.sources_to_poll(vec![first.id, bad.id, last.id]).await.unwrap();
    ready.sort_by_key(|ready| ready.source.id);
    let ready: Vec<i64> = ready.iter().map(|SourceToPoll { source, .. }| source.id.0).collect();
    assert_eq!(ready, all);
    assert_eq!(store.count_sources().await.unwrap().total, 3);
    // A settlement of an earlier version, beside one that is current.
    store.raw(&format!("UPDATE sources SET version = 7 WHERE id = {}", bad.id.0)).await;
    let settled = store.settle(vec![found(&bad, Vec::new()), found(&first, Vec::new())]).await.unwrap();
    assert!(matches!(settled[..], [Settled::Gone, Settled::Written { .. }]), "{settled:?}");
    let again = store.another().await;
    assert_eq!(again.list_sources(None, 10).await.unwrap().len(), 2, "the store opens");
    assert!(store.remove_source(bad.id).await.unwrap());
    assert_eq!((store.quarantine().count(), store.count_sources().await.unwrap().total), (0, 2));
}

#[rstest]
#[tokio::test]
async fn a_bad_source_without_a_host_does_not_keep_the_store_closed(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let [_, bad, last] = three(&store).await;
    damage(&store, bad.id, "type", "'gopher'").await;
    store.raw("UPDATE sources SET host = NULL").await;
    let again = store.another().await;
    let of_host = SourceSelection::OfHost(HostKey::from_canonical("c.example"));
    assert_eq!(ids(&again.select_sources(of_host, None, 10).await.unwrap()), [last.id.0]);
}

#[rstest]
#[tokio::test]
async fn a_bad_host_is_unknown_until_its_next_poll_writes_it(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let [good, bad] = ["a.example", "b.example"].map(|name| HostState::new(HostKey::from_canonical(name)));
    store.record_hosts(vec![good.clone(), bad.clone()]).await.unwrap();
    store.raw("UPDATE hosts SET breaker_failures = -1 WHERE host = 'b.example'").await;
    let both = vec![good.host.clone(), bad.host.clone()];
    assert_eq!(store.hosts(both.clone()).await.unwrap(), std::slice::from_ref(&good));
    assert_eq!(store.host(&bad.host).await.unwrap(), None);
    assert_eq!(store.list_hosts(Some(&good.host), 1).await.unwrap(), []);
    let rows = store.quarantine().list(10);
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].key.to_string().as_str(), rows[0].column.as_str()), ("b.example", "breaker_failures"));
    assert_eq!(store.quarantine().count_sources(), 0);
    store.record_hosts(vec![bad.clone()]).await.unwrap();
    assert_eq!(store.hosts(both).await.unwrap().len(), 2);
    assert_eq!(store.quarantine().count(), 0);
}

#[rstest]
#[tokio::test]
async fn bad_posts_do_not_hide_the_posts_behind_them(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let posts = store.find(source.id, (0..200).map(|number| post(&number.to_string())).collect()).await;
    let (first, last) = (posts[0].0, posts[150].0);
    store.raw(&format!("UPDATE posts SET revision = -1 WHERE id >= {first} AND id < {last}")).await;
    for limit in [1, 3, 100] {
        let listed = store.list_posts(None, None, limit).await.unwrap();
        assert_eq!(listed[0].id.0, last, "{limit}");
        assert_eq!(store.list_changes(first - 1, limit).await.unwrap()[0].id.0, last, "{limit}");
    }
    let newest = store.list_posts_before(None, Some(PostId(last + 1)), 5).await.unwrap();
    assert_eq!(newest.iter().map(|post| post.id.0).collect::<Vec<_>>(), [last]);
    assert!(matches!(store.post(PostId(first)).await.unwrap_err(), StoreError::BadRow(_)));
    assert_eq!((store.quarantine().count(), store.quarantine().count_sources()), (150, 0));
    store.raw("UPDATE posts SET revision = 0").await;
    assert_eq!(store.list_posts(None, None, 1000).await.unwrap().len(), 200);
    assert_eq!(store.quarantine().count(), 0);
}

#[rstest]
#[tokio::test]
async fn a_bad_webhook_does_not_hide_the_others(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let mut ids = Vec::new();
    for name in ["a", "b", "c"] {
        let url = format!("http://{name}.example/hook");
        let new = NewWebhook {
            url,
            secret: "0123456789abcdef".into(),
            label: None,
            format: DeliveryFormat::Classic,
            event_types: Vec::new(),
            created_at: at(NOW),
        };
        ids.push(store.add_webhook(new).await.unwrap());
    }
    store.raw(&format!("UPDATE webhooks SET failures = -3 WHERE id = {}", ids[0].0)).await;
    let listed = store.list_webhooks(None, 1).await.unwrap();
    assert_eq!(listed.iter().map(|webhook| webhook.id).collect::<Vec<_>>(), [ids[1]]);
    assert!(matches!(store.webhook(ids[0]).await.unwrap_err(), StoreError::BadRow(_)));
    assert_eq!(store.quarantine().count(), 1);
    assert!(store.remove_webhook(ids[0]).await.unwrap());
    assert_eq!(store.quarantine().count(), 0);
}

#[rstest]
#[tokio::test]
async fn a_bad_post_counts_as_unchanged_and_hides_no_other_entry(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let other = store.add(rss("http://b.example/")).await;
    let entry = |id: &str, body: &str| post(body).with_key(EntryKey::of("id", &[id.as_bytes()]));
    let posts = store.find(source.id, vec![entry("1", "one"), entry("2", "two"), entry("3", "three")]).await;
    store.find(other.id, vec![entry("1", "other")]).await;
    store.raw(&format!("UPDATE posts SET revision = -1 WHERE id = {}", posts[1].0)).await;
    let query = |source: SourceId, entries: &[NewPost]| EntryQuery {
        source_id: source,
        entries: entries.iter().map(|post| (post.key(), post.content_hash())).collect(),
    };
    // The second and the third are edited, the fourth is new, and the fifth has the text of the bad one.
    let read = [entry("2", "2b"), entry("3", "3b"), entry("4", "four"), entry("5", "two")];
    let queries = vec![query(source.id, &read), query(other.id, &[entry("1", "other")])];
    let known = store.known_entries(queries).await.unwrap();
    let of = |post: &NewPost| known[0].by_key.iter().find(|known| known.key == Some(post.key()));
    let bad = of(&read[0]).unwrap();
    assert_eq!((bad.id, bad.content_hash), (Some(posts[1]), read[0].content_hash()), "as if it were not edited");
    assert_eq!(of(&read[1]).unwrap().content_hash, entry("3", "three").content_hash());
    assert_eq!((of(&read[2]), of(&read[3])), (None, None));
    assert!(known[0].others.iter().all(|known| known.id != Some(posts[1])));
    assert_eq!(known[1].by_key.len(), 1);
    let rows = store.quarantine().list(10);
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].table, &rows[0].key), ("posts", &RowKey::Id(posts[1].0)));
    assert_eq!((rows[0].column.as_str(), rows[0].value.as_str()), ("revision", "-1"));
}
