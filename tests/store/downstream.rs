//! What programs downstream rely on (docs/downstream.md): the view, the order of numbers, notifications.

use std::collections::HashMap;
use std::pin::pin;
use std::time::Duration;

use feedwarden::store::settings::EngineSettings;
use futures_util::StreamExt;
use futures_util::stream::poll_fn;
use rstest::rstest;
use secrecy::ExposeSecret;
use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, NoTls};

use super::*;

const DOCUMENT: &str = include_str!("../../docs/downstream.md");

/// The columns of the first table of the document, each with its type on SQLite and on PostgreSQL.
fn documented() -> Vec<[String; 3]> {
    let section = DOCUMENT.split("## ").find(|section| section.starts_with("The view")).unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let cell = |text: &str| text.trim().trim_matches('`').to_owned();
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').collect();
        [cell(cells[1]), cell(cells[2]), cell(cells[3])]
    })
    .collect()
}

fn url(store: &TestStore) -> &secrecy::SecretString {
    match &store.settings.engine {
        EngineSettings::Postgres(settings) => &settings.url,
        EngineSettings::Sqlite(_) => panic!("a file has no URL"),
    }
}

#[rstest]
#[tokio::test]
async fn the_view_has_exactly_the_documented_columns(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let expected: Vec<String> = documented().into_iter().map(|[name, ..]| name).collect();
    assert_eq!(expected.len(), 11);
    let found = match &store.settings.engine {
        EngineSettings::Sqlite(settings) => {
            let connection = rusqlite::Connection::open(&settings.path).unwrap();
            let statement = connection.prepare("SELECT * FROM posts_v1").unwrap();
            statement.column_names().map(str::to_owned).collect::<Vec<_>>()
        }
        EngineSettings::Postgres(settings) => {
            let statement = connect(&settings.url).await.prepare("SELECT * FROM posts_v1").await.unwrap();
            let types: HashMap<&str, &str> =
                HashMap::from([("int8", "bigint"), ("text", "text"), ("timestamptz", "timestamptz")]);
            for (column, [name, _, kind]) in statement.columns().iter().zip(documented()) {
                assert_eq!(types[column.type_().name()], kind, "{name}");
            }
            statement.columns().iter().map(|column| column.name().to_owned()).collect()
        }
    };
    assert_eq!(found, expected);
}

#[rstest]
#[tokio::test]
async fn the_view_shows_what_was_stored(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let mut new = rss("http://ann:word@a.example/");
    new.settings.title = Some("Ann".into());
    let source = store.add(new).await;
    let ids = store.find(source.id, vec![post("first"), dated_post("second", Some(NOW - 60))]).await;
    let hash = store.post(ids[1]).await.unwrap().unwrap().content_hash.to_string();
    let seconds = |column: &str| match engine {
        Sqlite => format!("({column} / 1000000)"),
        Postgres => format!("extract(epoch FROM {column})::bigint"),
    };
    let row = format!(
        "SELECT id || '|' || source_id || '|' || source_type || '|' || source_title || '|' || title || '|' || body \
         || '|' || coalesce(url, 'none') || '|' || {} || '|' || {} || '|' || content_hash \
         FROM posts_v1 WHERE id > {} ORDER BY id LIMIT 1",
        seconds("published_at"),
        seconds("created_at"),
        ids[0]
    );
    let expected =
        format!("{}|{}|rss|Ann|About second|second|none|{}|{}|{hash}", ids[1], source.id, NOW - 60, NOW + 60);
    assert_eq!(store.raw_text(&row).await, Some(expected));
    assert_eq!(hash.len(), 64);
}

/// A transaction that has its numbers and is not committed keeps others from getting higher ones that are seen earlier.
#[tokio::test]
async fn posts_become_visible_in_the_order_of_their_numbers() {
    let store = Postgres.store().await;
    let (a, b) = (store.add(rss("http://a.example/")).await, store.add(rss("http://b.example/")).await);
    let mut other = connect(url(&store)).await;
    let slow = other.transaction().await.unwrap();
    let insert = "INSERT INTO posts (source_id, title, text, created_at, content_hash)
        VALUES ($1, '', 'slow', now(), sha256('slow')) RETURNING id";
    let first: i64 = slow.query_one(insert, &[&a.id.0]).await.unwrap().get(0);
    let shared = store.shared();
    let settling = tokio::spawn(async move { shared.settle(vec![found(&b, vec![post("quick")])]).await.unwrap() });
    let waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    while store.raw_text(waits).await.as_deref() != Some("1") {
        assert!(!settling.is_finished(), "a later post was seen before an earlier one");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(store.list_posts(None, None, 9).await.unwrap(), []);
    slow.commit().await.unwrap();
    let settled = settling.await.unwrap();
    let [Settled::Written { new_posts, .. }] = &settled[..] else { panic!("{settled:?}") };
    assert!(new_posts[0].0 > first);
}

/// Everything that is sent on the channel from now on.
async fn listen(store: &TestStore) -> (tokio_postgres::Client, mpsc::UnboundedReceiver<String>) {
    let (client, mut connection) = tokio_postgres::connect(url(store).expose_secret(), NoTls).await.unwrap();
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut messages = pin!(poll_fn(move |context| connection.poll_message(context)));
        while let Some(Ok(message)) = messages.next().await {
            if let AsyncMessage::Notification(note) = message {
                assert_eq!(note.channel(), "feedwarden_posts");
                let _ = sender.send(note.payload().to_owned());
            }
        }
    });
    client.batch_execute("LISTEN feedwarden_posts").await.unwrap();
    (client, receiver)
}

#[tokio::test]
async fn a_listener_is_told_once_for_each_transaction_with_new_posts() {
    let store = Postgres.store().await;
    let (a, b) = (store.add(rss("http://a.example/")).await, store.add(rss("http://b.example/")).await);
    let (client, mut notes) = listen(&store).await;
    // Two settlements of one source make two transactions.
    let mut again = found(&a, vec![post("3")]);
    again.version += 1;
    let together = vec![found(&a, vec![post("1"), post("2")]), found(&b, vec![post("x")]), again];
    store.settle(together).await.unwrap();
    let highest = store.list_posts_before(None, None, 1).await.unwrap()[0].id;
    let first = highest.0 - 1;
    // Nothing new, nothing said: neither for known posts nor for a settlement that comes too late.
    store.find(a.id, vec![post("1")]).await;
    store.settle(vec![found(&b, vec![post("late")])]).await.unwrap();
    let last = store.find(b.id, vec![post("y")]).await[0];
    // What this connection says itself comes after everything that was committed before.
    client.batch_execute("NOTIFY feedwarden_posts, 'end'").await.unwrap();
    let mut told = Vec::new();
    while told.last().is_none_or(|note| note != "end") {
        told.push(tokio::time::timeout(Duration::from_secs(20), notes.recv()).await.unwrap().unwrap());
    }
    let expected = [
        format!(r#"{{"highest_id":{first},"count":3,"highest_change_number":{first},"changed":0}}"#),
        format!(r#"{{"highest_id":{highest},"count":1,"highest_change_number":{highest},"changed":0}}"#),
        format!(r#"{{"highest_id":{last},"count":1,"highest_change_number":{last},"changed":0}}"#),
        "end".to_owned(),
    ];
    assert_eq!(told, expected);
}
