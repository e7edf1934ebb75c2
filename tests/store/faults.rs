//! What goes wrong around the store is told for what it is, and nothing is half done.

use std::time::Duration;

use super::*;
use feedwarden::store::settings::{EngineSettings, PostgresSettings, StoreSettings, Tls};
use feedwarden::store::{self, StoreError};
use rstest::rstest;
use tempfile::tempdir;

async fn open_error(settings: &StoreSettings) -> StoreError {
    store::open(settings, at(NOW)).await.map(|_| ()).unwrap_err()
}

fn at_path(path: &std::path::Path) -> StoreSettings {
    let engine = store::settings::SqliteSettings {
        path: path.to_owned(),
        synchronous: store::settings::Synchronous::Full,
        readers: 1,
        busy_timeout: Duration::from_millis(200),
    };
    StoreSettings { engine: EngineSettings::Sqlite(engine), encryption_key: None }
}

fn at_url(url: &str, change: impl FnOnce(&mut PostgresSettings)) -> StoreSettings {
    let mut engine = PostgresSettings {
        pool_size: 2,
        connect_timeout: Duration::from_secs(5),
        statement_timeout: Duration::from_secs(5),
        ..PostgresSettings::new(url.into())
    };
    change(&mut engine);
    StoreSettings { engine: EngineSettings::Postgres(engine), encryption_key: None }
}

#[rstest]
#[tokio::test]
async fn a_settle_that_fails_halfway_leaves_nothing(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let (a, b) = (store.add(rss("http://a.example/")).await, store.add(rss("http://b.example/")).await);
    store.raw("ALTER TABLE hosts RENAME TO hidden").await;
    let host = feedwarden::model::HostState::new(feedwarden::model::HostKey::from_canonical("b.example"));
    let batch = vec![found(&a, vec![post("one")]), Settlement { host: Some(host), ..found(&b, vec![post("two")]) }];
    let error = store.settle(batch.clone()).await.unwrap_err();
    assert!(matches!(error, StoreError::Internal(_)), "{error}");
    assert_eq!(store.list_posts(None, None, 10).await.unwrap(), []);
    assert_eq!(store.source(a.id).await.unwrap(), Some(a));
    store.raw("ALTER TABLE hidden RENAME TO hosts").await;
    assert_eq!(store.settle(batch).await.unwrap().len(), 2);
    assert_eq!(store.list_posts(None, None, 10).await.unwrap().len(), 2);
}

#[rstest]
#[tokio::test]
async fn a_closed_store_is_unavailable_and_says_so(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    store.ping().await.unwrap();
    store.close().await;
    for error in [store.ping().await.unwrap_err(), store.settle(Vec::new()).await.unwrap_err()] {
        assert!(error.is_passing(), "{error}");
        assert_eq!(error.to_string(), "the database is not available: it is closed");
    }
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_waits_for_what_is_under_way(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    store.add_sources((0..100).map(|n| rss(&format!("http://{n}.example/"))).collect()).await.unwrap();
    let sources = store.list_sources(None, 100).await.unwrap();
    let posts = || (0..30).map(|n| post(&format!("{n} {}", "x".repeat(500)))).collect();
    let batch: Vec<_> = sources.iter().map(|source| found(source, posts())).collect();
    let settling = store.settle(batch);
    let mut settling = std::pin::pin!(settling);
    // Once it has been polled, the settle is in the queue or on its way.
    assert!(futures_util::poll!(settling.as_mut()).is_pending());
    let (settled, ()) = tokio::join!(settling, store.close());
    assert_eq!(settled.unwrap().len(), 100);
    assert_eq!(store.another().await.list_posts(None, None, 10_000).await.unwrap().len(), 3000);
}

#[rstest]
#[tokio::test]
async fn what_was_written_is_there_after_reopening(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    store.find(source.id, vec![post("one")]).await;
    store.close().await;
    let reopened = store.another().await;
    assert_eq!(reopened.list_posts(Some(source.id), None, 10).await.unwrap().len(), 1);
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_stops_waiting_breaks_nothing(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    for round in 0..20 {
        let current = store.source(source.id).await.unwrap().unwrap();
        let settling = store.settle(vec![found(&current, vec![post(&round.to_string())])]);
        // A wait this short ends before, during or after the settle, as it happens.
        let _ = tokio::time::timeout(Duration::from_micros(50 * round), settling).await;
    }
    let after = store.find(source.id, vec![post("last")]).await;
    assert_eq!(after.len(), 1);
    let source = store.source(source.id).await.unwrap().unwrap();
    let posts = store.bodies(source.id).await.len();
    assert_eq!(source.version, 1 + i64::try_from(posts).unwrap(), "each settle is whole or not there");
}

#[tokio::test]
async fn sqlite_in_a_directory_that_is_not_there_names_the_file() {
    let error = open_error(&at_path("/nowhere/at/all/feedwarden.db".as_ref())).await;
    assert!(error.is_passing() && error.to_string().contains("/nowhere/at/all/feedwarden.db"), "{error}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_left_alone() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("notes.txt");
    let text = "not a database, but somebody's notes\n".repeat(100);
    std::fs::write(&path, &text).unwrap();
    let error = open_error(&at_path(&path)).await;
    assert!(matches!(error, StoreError::Unusable(_)) && error.to_string().contains("notes.txt"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[tokio::test]
async fn sqlite_held_by_another_process_is_unavailable_after_the_wait() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("feedwarden.db");
    let store = store::open(&at_path(&path), at(NOW)).await.unwrap();
    let holder = rusqlite::Connection::open(&path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.add_sources(vec![rss("http://a.example/")]).await.unwrap_err();
    assert!(error.is_passing(), "{error}");
    assert_eq!(store.list_sources(None, 10).await.unwrap(), [], "readers do not wait");
    holder.execute_batch("ROLLBACK").unwrap();
    assert_eq!(store.add_sources(vec![rss("http://a.example/")]).await.unwrap().len(), 1);
}

#[tokio::test]
async fn sqlite_on_a_full_disk_is_unavailable_loses_nothing_and_recovers() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("feedwarden.db");
    let store = store::open(&at_path(&path), at(NOW)).await.unwrap();
    store.add_sources(vec![rss("http://a.example/")]).await.unwrap();
    let source = store.list_sources(None, 1).await.unwrap().pop().unwrap();
    // A limit on the size of files fails writes the way a full disk does, once the signal for it is ignored.
    let child = crate::child("settle_until_killed");
    let filled = std::process::Command::new("sh")
        .args([
            "-c",
            "trap '' XFSZ; ulimit -f 2048; exec \"$0\" \"$1\" 100000",
            child.to_str().unwrap(),
            path.to_str().unwrap(),
        ])
        .env("FEEDWARDEN_CHILD_BODY_BYTES", "100000")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&filled.stderr);
    assert!(said.starts_with("the database is not available"), "{filled:?}");
    let acknowledged = String::from_utf8_lossy(&filled.stdout).lines().count();
    assert!(acknowledged > 0, "it worked until the disk was full");
    let after = store.source(source.id).await.unwrap().unwrap();
    let posts = store.list_posts(Some(source.id), None, 100_000).await.unwrap().len();
    assert_eq!(posts, acknowledged, "what was acknowledged is there, and nothing else");
    assert_eq!(after.version, 1 + i64::try_from(posts).unwrap());
    let settled = store.settle(vec![found(&after, vec![post("afterwards")])]).await.unwrap();
    assert!(matches!(settled[..], [Settled::Written { .. }]), "{settled:?}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unavailable() {
    let error = open_error(&at_url("postgres://nobody@127.0.0.1:1/none", |_| ())).await;
    assert!(error.is_passing() && error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn a_database_that_is_not_there_is_unusable_by_name() {
    let (address, _) = server().rsplit_once('/').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let error = open_error(&at_url(&format!("{address}/missing"), |_| ())).await;
    assert!(matches!(error, StoreError::Unusable(_)) && error.to_string().contains("missing"), "{error}");
}

#[tokio::test]
async fn a_url_that_makes_no_sense_is_unusable_and_keeps_its_password() {
    let error = open_error(&at_url("postgres://ada:secret@[::1:5432/x", |_| ())).await;
    assert!(matches!(error, StoreError::Unusable(_)) && !error.to_string().contains("secret"), "{error}");
}

#[tokio::test]
async fn a_statement_beyond_its_time_is_unavailable() {
    let store = Postgres.store().await;
    let EngineSettings::Postgres(settings) = &store.settings.engine else { unreachable!("it is PostgreSQL") };
    let url = secrecy::ExposeSecret::expose_secret(&settings.url);
    let hasty = store::open(&at_url(url, |engine| engine.statement_timeout = Duration::from_millis(200)), at(NOW))
        .await
        .unwrap();
    let source = store.add(rss("http://a.example/")).await;
    let holder = connect(&settings.url).await;
    holder.batch_execute("BEGIN; SELECT * FROM sources FOR UPDATE").await.unwrap();
    let error = hasty.settle(vec![found(&source, Vec::new())]).await.unwrap_err();
    assert!(error.is_passing() && error.to_string().contains("statement timeout"), "{error}");
    holder.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(hasty.settle(vec![found(&source, Vec::new())]).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_lost_connection_is_unavailable_and_the_next_one_works() {
    let store = Postgres.store().await;
    let source = store.add(rss("http://a.example/")).await;
    store
        .raw(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE application_name = 'feedwarden' AND datname = current_database()",
        )
        .await;
    // Each connection of the pool may be found dead once, as something that is worth trying again.
    let mut failures = 0;
    while let Err(error) = store.ping().await {
        assert!(error.is_passing(), "{error}");
        failures += 1;
        assert!(failures < 100, "it never recovers: {error}");
        tokio::task::yield_now().await;
    }
    assert_eq!(store.settle(vec![found(&source, Vec::new())]).await.unwrap().len(), 1);
}

#[tokio::test]
async fn tls_is_not_skipped_where_it_is_required() {
    let error = open_error(&at_url("postgres://nobody@127.0.0.1:1/none", |engine| {
        engine.tls = Tls::Require;
        engine.tls_ca_file = Some("/nowhere/ca.pem".into());
    }))
    .await;
    assert!(error.to_string().contains("database.postgres.tls-ca-file /nowhere/ca.pem"), "{error}");
}

#[tokio::test]
async fn a_server_that_wants_a_password_and_gets_none_is_unusable() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://ada@{}/none", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        // AuthenticationCleartextPassword, and then silence until the client goes.
        tokio::io::AsyncWriteExt::write_all(&mut client, b"R\0\0\0\x08\0\0\0\x03").await.unwrap();
        tokio::io::AsyncReadExt::read_to_end(&mut client, &mut Vec::new()).await.ok();
    });
    let error = open_error(&at_url(&url, |_| ())).await;
    assert!(matches!(error, StoreError::Unusable(_)) && error.to_string().contains("password missing"), "{error}");
    server.await.unwrap();
}

#[tokio::test]
async fn a_server_that_says_nothing_is_unavailable_for_that_reason() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://ada@{}/none", listener.local_addr().unwrap());
    let error = open_error(&at_url(&url, |engine| engine.connect_timeout = Duration::from_millis(200))).await;
    assert!(error.is_passing() && error.to_string().contains("did not answer in time"), "{error}");
}

#[tokio::test]
async fn a_role_that_may_create_nothing_is_unusable() {
    let store = Postgres.store().await;
    let EngineSettings::Postgres(settings) = &store.settings.engine else { unreachable!("it is PostgreSQL") };
    let role = format!("weak_{}", std::process::id());
    store.raw(&format!("CREATE ROLE {role} LOGIN")).await;
    let url = secrecy::ExposeSecret::expose_secret(&settings.url).replace("postgres@", &format!("{role}@"));
    let error = open_error(&at_url(&url, |_| ())).await;
    assert!(matches!(error, StoreError::Unusable(_)) && error.to_string().contains("permission denied"), "{error}");
    store.raw(&format!("DROP ROLE {role}")).await;
}

#[tokio::test]
async fn a_limit_of_the_server_is_not_called_passing() {
    let store = Postgres.store().await;
    // Digests, since the server packs what repeats itself before it measures an index entry.
    let name: String = (0..100).map(|n| feedwarden::model::ContentHash::of(&n.to_string()).to_string()).collect();
    let error = store.add_user(&name, at(NOW)).await.unwrap_err();
    assert!(!error.is_passing() && error.to_string().contains("index row"), "{error}");
}

#[tokio::test]
async fn the_sqlite_file_of_another_program_is_refused_without_repeating_our_schema() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("other.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE sources (x)").unwrap();
    let text = open_error(&at_path(&path)).await.to_string();
    assert!(text.contains("other.db: it is the database of another program (it has the tables sources)"), "{text}");
    assert!(!text.contains("CREATE"), "{text}");
}

#[tokio::test]
async fn settling_stays_fast_when_a_table_has_outgrown_its_statistics() {
    let store = Postgres.store().await;
    let EngineSettings::Postgres(settings) = &store.settings.engine else { unreachable!("it is PostgreSQL") };
    let url = secrecy::ExposeSecret::expose_secret(&settings.url);
    let hasty = at_url(url, |engine| (engine.pool_size, engine.statement_timeout) = (1, Duration::from_secs(5)));
    let hasty = store::open(&hasty, at(NOW)).await.unwrap();
    let source = store.add(rss("http://a.example/")).await;
    let posts: Vec<_> = (0..1500).map(|number| post(&number.to_string())).collect();
    store.find(source.id, posts.clone()).await;
    store.raw("ANALYZE").await;
    // After five of them the server keeps one plan, made for a table that was empty.
    for round in 0..7 {
        if round == 6 {
            store
                .raw(&format!(
                    "INSERT INTO cleaned_posts SELECT {}, sha256(('cleaned ' || n)::bytea), now() \
                     FROM generate_series(1, 100000) AS n",
                    source.id
                ))
                .await;
        }
        let current = store.source(source.id).await.unwrap().unwrap();
        let settled = hasty.settle(vec![found(&current, posts.clone())]).await.unwrap();
        assert!(matches!(settled[..], [Settled::Written { .. }]), "{settled:?}");
    }
}
