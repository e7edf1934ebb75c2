//! An unavailable store: polling pauses with one ERROR, no settled poll is lost, no source counts a failure,
//! and it goes on by itself.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use feedwarden::actors::Scope;
use feedwarden::demo::web::{Mix, SiteBehaviour, WebSettings};
use feedwarden::rules::minutes;
use feedwarden::store::settings::{EngineSettings, PostgresSettings};
use secrecy::ExposeSecret;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::{Notify, watch};

use super::{World, run};
use crate::store::{Engine, TestStore};

/// A way to PostgreSQL that can be cut, as if the server had been stopped, and frozen, as if its machine had been.
pub(super) struct Cable {
    address: SocketAddr,
    is_cut: Arc<AtomicBool>,
    cutting: Arc<Notify>,
    /// While true, bytes are accepted and not passed on.
    freezing: watch::Sender<bool>,
}

impl Cable {
    /// Leads to the server behind this socket.
    async fn to(socket: PathBuf) -> Cable {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let cable = Cable {
            address: listener.local_addr().unwrap(),
            is_cut: Arc::default(),
            cutting: Arc::new(Notify::new()),
            freezing: watch::Sender::new(false),
        };
        let (is_cut, cutting, frozen) = (cable.is_cut.clone(), cable.cutting.clone(), cable.freezing.subscribe());
        actix_rt::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                if !is_cut.load(Ordering::SeqCst) {
                    actix_rt::spawn(carry(stream, socket.clone(), cutting.clone(), frozen.clone()));
                }
            }
        });
        cable
    }

    pub(super) fn freeze(&self, is_frozen: bool) {
        self.freezing.send_replace(is_frozen);
    }

    fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
        self.cutting.notify_waiters();
    }

    fn mend(&self) {
        self.is_cut.store(false, Ordering::SeqCst);
    }
}

async fn carry(client: TcpStream, socket: PathBuf, cutting: Arc<Notify>, frozen: watch::Receiver<bool>) {
    let server = UnixStream::connect(socket).await.unwrap();
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    tokio::select! {
        () = cutting.notified() => {}
        () = pass_on(from_client, to_server, frozen.clone()) => {}
        () = pass_on(from_server, to_client, frozen) => {}
    }
}

async fn pass_on(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, mut frozen: watch::Receiver<bool>) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if frozen.wait_for(|is_frozen| !is_frozen).await.is_err() || to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}

/// A PostgreSQL store at the end of a cable.
pub(super) async fn cabled_store(change: impl FnOnce(&mut PostgresSettings)) -> (TestStore, Cable) {
    let directory = tempfile::tempdir().unwrap();
    let mut settings = Engine::Postgres.settings(&directory).await;
    let EngineSettings::Postgres(postgres) = &mut settings.engine else { unreachable!() };
    let url = url::Url::parse(postgres.url.expose_secret()).unwrap();
    let folder = url.host_str().unwrap().replace("%2F", "/").replace("%2f", "/");
    let port = url.port().unwrap_or(5432);
    let cable = Cable::to(PathBuf::from(folder).join(format!(".s.PGSQL.{port}"))).await;
    postgres.url = format!("postgres://{}@{}{}", url.username(), cable.address, url.path()).into();
    postgres.connect_timeout = Duration::from_secs(1);
    change(postgres);
    (TestStore::open(settings, directory).await, cable)
}

pub(super) fn slow_site_and_quick_one() -> WebSettings {
    let mix = Mix::InTurn(vec![SiteBehaviour::Slow, SiteBehaviour::Healthy]);
    WebSettings { hosts: 2, sites: 2, mix, slow: Duration::from_millis(500), ..WebSettings::default() }
}

/// Plays the fault: it comes while one poll is under way and another source is due, and goes.
pub(super) async fn endure(world: &mut World, begin: impl AsyncFnOnce(), end: impl AsyncFnOnce()) {
    world.start(Scope::Daemon);
    let ids = world.add_all().await;
    world.handle().sources_changed(ids.clone());
    world.settled(2).await;
    world.web.publish(0, 1);
    world.web.publish(1, 1);
    world.advance(minutes(60));
    world.until("the slow one is asked", async || world.web.journal().len() >= 3).await;
    begin().await;
    world.until("it is noticed", async || world.handle().store_trouble().is_some()).await;
    assert!(world.service().pause_polling().await.is_err(), "a pause that would be forgotten is none");
    assert_eq!(world.handle().scheduler_status().await.unwrap().paused_since, None);
    // While the store is unavailable, no request is sent.
    let asked = world.web.journal().len();
    world.advance(minutes(600));
    for _ in 0..50 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        world.handle().scheduler_status().await.unwrap();
    }
    assert!(world.web.journal().len() <= asked + 1, "only what was under way came to its end");
    end().await;
    world.until("it is back", async || !world.records.of("store available again").is_empty()).await;
    world.quiet().await;
    assert_eq!(world.handle().store_trouble(), None);
    for (site, id) in ids.iter().enumerate() {
        assert_eq!(world.store.bodies(*id).await, world.web.served_entries_of(site));
        let state = world.source(*id).await.state;
        assert_eq!((state.failures.consecutive, state.enabled), (0, true), "no failure is counted");
    }
    world.stop().await;
    let told = world.records.of("store unavailable");
    assert_eq!(world.records.at("error"), told, "no other ERROR");
    // A connection that ends may be met by a call that succeeds on the next one, before a refusal is.
    assert!(told.len() <= 2, "{told:#?}");
}

#[test]
fn s111_a_postgresql_that_is_stopped_pauses_polling_and_loses_nothing() {
    run(async || {
        let (store, cable) = cabled_store(|_| ()).await;
        let mut world = World::around(store, slow_site_and_quick_one());
        endure(&mut world, async || cable.cut(), async || cable.mend()).await;
    });
}

#[test]
fn s111_an_sqlite_file_that_somebody_else_holds_pauses_polling_and_loses_nothing() {
    run(async || {
        let directory = tempfile::tempdir().unwrap();
        let mut settings = Engine::Sqlite.settings(&directory).await;
        let EngineSettings::Sqlite(sqlite) = &mut settings.engine else { unreachable!() };
        sqlite.busy_timeout = Duration::from_millis(50);
        let path = sqlite.path.clone();
        let mut world = World::around(TestStore::open(settings, directory).await, slow_site_and_quick_one());
        let mut holder = rusqlite::Connection::open(path).unwrap();
        let transaction = holder.transaction_with_behavior(rusqlite::TransactionBehavior::Deferred);
        let transaction = transaction.unwrap();
        // The first write takes the lock.
        let begin = async || transaction.execute_batch("UPDATE sources SET title = title").unwrap();
        let commit = async || transaction.execute_batch("COMMIT").unwrap();
        endure(&mut world, begin, commit).await;
    });
}
