//! Writes that fail for anybody count: the daemon is not ready at once, no publisher is asked while nothing can be kept,
//! and it goes on by itself, unless the data is damaged.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use feedwarden::actors::Scope;
use feedwarden::demo::web::{Mix, SiteBehaviour, WebSettings};
use feedwarden::rules::minutes;
use feedwarden::store::settings::{EngineSettings, StoreSettings};
use rstest::rstest;
use secrecy::ExposeSecret;

use super::{World, run};
use crate::store::Engine::{self, Postgres, Sqlite};
use crate::store::{TestStore, connect, rss, server};

/// Makes all writes fail, or succeed again; reads succeed.
async fn refuse_writes(settings: &StoreSettings, is_refused: bool, holder: &mut Option<rusqlite::Connection>) {
    match &settings.engine {
        EngineSettings::Sqlite(sqlite) => {
            let connection = holder.get_or_insert_with(|| rusqlite::Connection::open(&sqlite.path).unwrap());
            connection.execute_batch(if is_refused { "BEGIN IMMEDIATE" } else { "ROLLBACK" }).unwrap();
        }
        EngineSettings::Postgres(postgres) => {
            let database = postgres.url.expose_secret().rsplit_once('/').unwrap().1;
            let change = if is_refused { "SET default_transaction_read_only = on" } else { "RESET ALL" };
            let client = connect(&server().into()).await;
            client.batch_execute(&format!("ALTER DATABASE {database} {change}")).await.unwrap();
            let end = format!(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity \
                 WHERE datname = '{database}' AND application_name = 'feedwarden'"
            );
            client.batch_execute(&end).await.unwrap();
        }
    }
}

#[rstest]
fn a_write_that_only_the_api_has_tried_makes_the_daemon_not_ready(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let directory = tempfile::tempdir().unwrap();
        let mut settings = engine.settings(&directory).await;
        if let EngineSettings::Sqlite(sqlite) = &mut settings.engine {
            sqlite.busy_timeout = Duration::from_millis(50);
        }
        let web =
            WebSettings { hosts: 1, sites: 1, mix: Mix::InTurn(vec![SiteBehaviour::Healthy]), ..Default::default() };
        let mut world = World::around(TestStore::open(settings, directory).await, web);
        world.start_and_poll_all().await;
        let service = world.service();
        let mut holder = None;
        refuse_writes(&world.store.settings, true, &mut holder).await;
        // A connection that was ended is no refusal yet.
        let failed = async || service.add_user("ada").await.is_err() && service.store_trouble().await.is_some();
        world.until("a write of the API fails", failed).await;
        let status = world.handle().scheduler_status().await;
        assert_ne!(service.not_ready_because(status.as_ref()).await, Vec::<String>::new());
        world.told("store unavailable").await;
        let asked = world.web.journal().len();
        world.advance(minutes(300));
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            world.handle().scheduler_status().await.unwrap();
        }
        assert_eq!(world.web.journal().len(), asked, "no host is asked while nothing can be kept");
        refuse_writes(&world.store.settings, false, &mut holder).await;
        world.until("it is ready by itself", async || service.store_trouble().await.is_none()).await;
        world.settled(2).await;
        assert_eq!(service.add_user("ada").await.unwrap().name, "ada");
        world.stop().await;
    });
}

/// Overwrites a page of the table of posts with rubbish.
async fn damage_posts(settings: &mut StoreSettings) {
    match &mut settings.engine {
        EngineSettings::Sqlite(sqlite) => {
            let connection = rusqlite::Connection::open(&sqlite.path).unwrap();
            connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
            let page = |name: &str| {
                let query =
                    "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_master WHERE name = ?1";
                connection.query_row(query, [name], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
            };
            let (root, size): (u32, u32) = page("posts");
            let (root, size) = (u64::from(root), u64::from(size));
            drop(connection);
            overwrite(&sqlite.path, (root - 1) * size, size);
        }
        EngineSettings::Postgres(postgres) => {
            // A copy of the files, none of whose pages is in the memory of the server.
            let url = postgres.url.expose_secret().to_owned();
            let (address, original) = url.rsplit_once('/').unwrap();
            let copy = format!("{original}_damaged");
            let client = connect(&server().into()).await;
            client.batch_execute("CHECKPOINT").await.unwrap();
            let copying = format!("CREATE DATABASE {copy} TEMPLATE {original} STRATEGY FILE_COPY");
            client.batch_execute(&copying).await.unwrap();
            let path = |file: &str| PathBuf::from(file);
            let directory: String = client.query_one("SHOW data_directory", &[]).await.unwrap().get(0);
            let oid = format!("SELECT oid::text FROM pg_database WHERE datname = '{copy}'");
            let oid: String = client.query_one(&oid, &[]).await.unwrap().get(0);
            let in_original = connect(&postgres.url).await;
            let file: String = in_original.query_one("SELECT pg_relation_filepath('posts')", &[]).await.unwrap().get(0);
            let file = path(&directory).join("base").join(oid).join(path(&file).file_name().unwrap());
            overwrite(&file, 0, 8192);
            postgres.url = format!("{address}/{copy}").into();
        }
    }
}

fn overwrite(path: &Path, offset: u64, length: u64) {
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&vec![0xA5; length as usize], offset).unwrap();
    file.sync_all().unwrap();
}

#[rstest]
fn a_damaged_store_asks_no_publisher_and_says_what_to_do(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let directory = tempfile::tempdir().unwrap();
        let mut settings = engine.settings(&directory).await;
        let seeded = feedwarden::store::open(&settings, crate::store::at(crate::store::NOW)).await.unwrap();
        let added = seeded.add_sources(vec![rss("http://a.example/")]).await.unwrap();
        assert_eq!(added.len(), 1);
        let source = seeded.list_sources(None, 1).await.unwrap().pop().unwrap();
        let posts = (0..50).map(|number| crate::store::post(&format!("{number}"))).collect();
        seeded.settle(vec![crate::store::found(&source, posts)]).await.unwrap();
        seeded.remove_source(source.id).await.unwrap();
        seeded.close().await;
        damage_posts(&mut settings).await;
        let web =
            WebSettings { hosts: 2, sites: 2, mix: Mix::InTurn(vec![SiteBehaviour::Healthy]), ..Default::default() };
        let mut world = World::around(TestStore::open(settings, directory).await, web);
        world.start(Scope::Daemon);
        let ids = world.add_all().await;
        world.handle().sources_changed(ids.clone());
        world.told("store unavailable").await;
        let asked = world.web.journal().len();
        assert!(asked <= 2, "each publisher once at most");
        for _ in 0..3 {
            world.advance(minutes(120));
            for _ in 0..10 {
                tokio::time::sleep(Duration::from_millis(5)).await;
                world.handle().scheduler_status().await.unwrap();
            }
        }
        assert!(world.web.journal().len() <= 2, "no host is asked again");
        let status = world.handle().scheduler_status().await;
        let reasons = world.service().not_ready_because(status.as_ref()).await.join("; ");
        assert!(reasons.contains("damaged") && reasons.contains("restore a backup"), "{reasons}");
        for id in ids {
            let state = world.source(id).await.state;
            assert_eq!((state.failures.consecutive, state.enabled), (0, true), "no source is blamed");
        }
        assert_eq!(world.records.at("error").len(), 1, "{:#?}", world.records.at("error"));
        world.kill().await;
    });
}
