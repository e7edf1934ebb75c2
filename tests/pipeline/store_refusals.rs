//! A PostgreSQL that is frozen, or that refuses connections, is a store that is away: polls in flight are kept, no
//! publisher is asked meanwhile, and it goes on by itself.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use feedwarden::demo::web::WebSettings;
use feedwarden::store::settings::EngineSettings;
use rstest::rstest;
use secrecy::ExposeSecret;

use super::store_faults::{cabled_store, endure, slow_site_and_quick_one};
use super::{World, run};
use crate::store::{Engine, TestStore, connect, server};

#[test]
fn a_frozen_connection_is_noticed_and_thrown_away() {
    run(async || {
        let (store, cable) = cabled_store(|postgres| {
            postgres.statement_timeout = Duration::from_millis(500);
            postgres.response_timeout = Duration::from_millis(800);
        })
        .await;
        let mut world = World::around(store, slow_site_and_quick_one());
        endure(&mut world, async || cable.freeze(true), async || cable.freeze(false)).await;
        let error = world.records.of("store unavailable")[0]["error"].as_str().unwrap().to_owned();
        assert!(error.contains("did not answer"), "{error}");
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_method_ends_on_a_frozen_connection_and_the_next_one_gets_another() {
    tokio::task::LocalSet::new()
        .run_until(async {
            let (store, cable) = cabled_on_this_thread().await;
            let source = store.add(crate::store::rss("http://a.example/")).await;
            cable.freeze(true);
            let within = Duration::from_secs(5);
            let settling = store.settle(vec![crate::store::found(&source, Vec::new())]);
            let error = tokio::time::timeout(within, settling).await.expect("a write ends").unwrap_err();
            assert!(error.is_passing() && error.to_string().contains("did not answer"), "{error}");
            let reading = tokio::time::timeout(within, store.list_sources(None, 10)).await;
            assert!(reading.expect("a read ends").unwrap_err().is_passing());
            // A caller that stops waiting leaves no frozen connection to the next one.
            let _ = tokio::time::timeout(Duration::from_millis(100), store.ping()).await;
            cable.freeze(false);
            let mut failures = 0;
            while let Err(error) = store.ping().await {
                failures += 1;
                assert!(failures < 20, "it never recovers: {error}");
            }
            assert_eq!(store.settle(vec![crate::store::found(&source, Vec::new())]).await.unwrap().len(), 1);
        })
        .await;
}

async fn cabled_on_this_thread() -> (TestStore, super::store_faults::Cable) {
    cabled_store(|postgres| {
        postgres.pool_size = 2;
        postgres.statement_timeout = Duration::from_millis(300);
        postgres.response_timeout = Duration::from_millis(500);
    })
    .await
}

/// How a server refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    DatabaseClosed,
    TooManyConnections,
    PasswordChanged,
    LoginRevoked,
    DatabaseRenamed,
    ReadOnly,
}

/// A store whose database belongs to a role of its own, which logs in with a password.
async fn own_role() -> (TestStore, String, String) {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let directory = tempfile::tempdir().unwrap();
    let mut settings = Engine::Postgres.settings(&directory).await;
    let EngineSettings::Postgres(postgres) = &mut settings.engine else { unreachable!() };
    let role = format!("role_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let url = postgres.url.expose_secret().to_owned();
    let database = url.rsplit_once('/').unwrap().1.to_owned();
    let client = connect(&server().into()).await;
    client
        .batch_execute(
            "DO $$ BEGIN CREATE ROLE password_required; EXCEPTION WHEN duplicate_object OR unique_violation THEN END $$",
        )
        .await
        .unwrap();
    let make = format!("CREATE ROLE {role} LOGIN PASSWORD 'first' IN ROLE password_required");
    client.batch_execute(&make).await.unwrap();
    client.batch_execute(&format!("ALTER DATABASE {database} OWNER TO {role}")).await.unwrap();
    postgres.url = url.replace("postgres://postgres@", &format!("postgres://{role}:first@")).into();
    postgres.connect_timeout = Duration::from_secs(2);
    (TestStore::open(settings, directory).await, role, database)
}

/// Carries out statements as the superuser, from another database.
async fn administer(client: &tokio_postgres::Client, statements: &[String]) {
    for statement in statements {
        client.batch_execute(statement).await.unwrap();
    }
}

fn end_sessions(role: &str) -> String {
    format!("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = '{role}'")
}

#[rstest]
fn a_server_that_refuses_is_a_store_that_is_away(
    #[values(
        Refusal::DatabaseClosed,
        Refusal::TooManyConnections,
        Refusal::PasswordChanged,
        Refusal::LoginRevoked,
        Refusal::DatabaseRenamed,
        Refusal::ReadOnly
    )]
    refusal: Refusal,
) {
    run(async || {
        let (store, role, database) = own_role().await;
        let (begin, end, said) = match refusal {
            Refusal::DatabaseClosed => (
                format!("ALTER DATABASE {database} ALLOW_CONNECTIONS false"),
                format!("ALTER DATABASE {database} ALLOW_CONNECTIONS true"),
                "not currently accepting connections",
            ),
            Refusal::TooManyConnections => (
                format!("ALTER ROLE {role} CONNECTION LIMIT 0"),
                format!("ALTER ROLE {role} CONNECTION LIMIT -1"),
                "too many connections",
            ),
            Refusal::PasswordChanged => (
                format!("ALTER ROLE {role} PASSWORD 'second'"),
                format!("ALTER ROLE {role} PASSWORD 'first'"),
                "password authentication failed",
            ),
            Refusal::LoginRevoked => {
                (format!("ALTER ROLE {role} NOLOGIN"), format!("ALTER ROLE {role} LOGIN"), "not permitted to log in")
            }
            Refusal::DatabaseRenamed => (
                format!("ALTER DATABASE {database} RENAME TO {database}_away"),
                format!("ALTER DATABASE {database}_away RENAME TO {database}"),
                "does not exist",
            ),
            Refusal::ReadOnly => (
                format!("ALTER DATABASE {database} SET default_transaction_read_only = on"),
                format!("ALTER DATABASE {database} RESET default_transaction_read_only"),
                "read-only transaction",
            ),
        };
        let web = WebSettings { slow: Duration::from_millis(1500), ..slow_site_and_quick_one() };
        let mut world = World::around(store, web);
        let client = connect(&server().into()).await;
        let begin = async || match refusal {
            // A database in use cannot be renamed.
            Refusal::DatabaseRenamed => {
                let close = format!("ALTER DATABASE {database} ALLOW_CONNECTIONS false");
                let open = format!("ALTER DATABASE {database}_away ALLOW_CONNECTIONS true");
                administer(&client, &[close, end_sessions(&role), begin, open]).await;
            }
            _ => administer(&client, &[begin, end_sessions(&role)]).await,
        };
        let end = async || match refusal {
            Refusal::ReadOnly => administer(&client, &[end, end_sessions(&role)]).await,
            _ => administer(&client, &[end]).await,
        };
        endure(&mut world, begin, end).await;
        let error = world.records.of("store unavailable")[0]["error"].to_string();
        let told: Vec<String> = world.records.all().iter().map(ToString::to_string).collect();
        // The first record may tell of the connection that was ended.
        assert!(error.contains(said) || told.iter().any(|record| record.contains(said)), "{error}");
    });
}
