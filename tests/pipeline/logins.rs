//! Validators and freshness belong to a URL and to a login (p07): a login that changes, also while a poll is in flight.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use feedwarden::actors::Scope;
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::{DeliveryFormat, FailureKind, NewWebhook, SourceAccess, SourceId, Validators};
use feedwarden::rules::minutes;
use rstest::rstest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use super::publisher::{answer, feed, header};
use super::{World, run};
use crate::store::Engine::{self, Postgres, Sqlite};

/// What publishers with sloppy caches do: one `ETag` for all logins.
const ETAG: &str = "\"shared\"";

/// A publisher that shows each login its own entry, and answers 304 to its `ETag` for every login.
struct ByLogin {
    url: String,
    /// The name in each request, and whether the request was conditional.
    requests: Arc<parking_lot::Mutex<Vec<(String, bool)>>>,
    /// Holds answers back while set.
    is_held: Arc<AtomicBool>,
    released: Arc<Notify>,
}

impl ByLogin {
    async fn start() -> ByLogin {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let publisher = ByLogin {
            url: format!("http://{}/feed", listener.local_addr().unwrap()),
            requests: Arc::default(),
            is_held: Arc::default(),
            released: Arc::default(),
        };
        let (requests, is_held, released) =
            (publisher.requests.clone(), publisher.is_held.clone(), publisher.released.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                let head = String::from_utf8(head).unwrap();
                let is_conditional = header(&head, "if-none-match").is_some();
                let name = name_in(&head);
                requests.lock().push((name.clone(), is_conditional));
                while is_held.load(Ordering::SeqCst) {
                    released.notified().await;
                }
                let etag = format!("ETag: {ETAG}");
                let fresh = "Cache-Control: max-age=18000";
                let said = match name.as_str() {
                    "wrong" => answer("401 Unauthorized", &[], ""),
                    _ if is_conditional => answer("304 Not Modified", &[&etag], ""),
                    name => feed(&[&etag, fresh, "Connection: close"], &[&format!("for {name}")]),
                };
                stream.write_all(said.as_bytes()).await.unwrap();
                stream.shutdown().await.unwrap();
            }
        });
        publisher
    }

    /// The request is in, and its answer waits.
    async fn asked(&self, world: &World, count: usize) {
        world.until("the request", async || self.requests.lock().len() >= count).await;
    }

    fn hold(&self) {
        self.is_held.store(true, Ordering::SeqCst);
    }

    fn release(&self) {
        self.is_held.store(false, Ordering::SeqCst);
        self.released.notify_one();
    }

    fn asked_by(&self) -> Vec<(String, bool)> {
        self.requests.lock().clone()
    }
}

fn name_in(head: &str) -> String {
    let Some(login) = header(head, "authorization").and_then(|value| value.strip_prefix("Basic ").map(str::to_owned))
    else {
        return "nobody".into();
    };
    let login = String::from_utf8(STANDARD.decode(login).unwrap()).unwrap();
    login.split_once(':').unwrap().0.to_owned()
}

async fn log_in(world: &World, id: SourceId, name: &str) {
    let access = SourceAccess { login: Some((name.into(), "hidden".into())), ..SourceAccess::default() };
    world.service().put_source_access(id, None, access).await.unwrap();
}

#[rstest]
fn p07_a_login_that_changes_while_a_poll_is_in_flight_does_not_inherit_its_validators(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[values("ann", "wrong")] first: &str,
) {
    run(async || {
        let publisher = ByLogin::start().await;
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.start(Scope::Daemon);
        publisher.hold();
        let id = world.add_feed(&publisher.url).await;
        publisher.asked(&world, 1).await;
        // The poll without a login is in flight; it is superseded, and the first login asks next.
        log_in(&world, id, first).await;
        publisher.release();
        publisher.asked(&world, 2).await;
        world.settled(1).await;
        publisher.hold();
        world.advance(minutes(600));
        publisher.asked(&world, 3).await;
        log_in(&world, id, "ben").await;
        publisher.release();
        world.settled(2).await;
        let state = world.source(id).await.state;
        assert_eq!(state.failures.consecutive, 0, "the answer to another login is not counted");
        let asked = publisher.asked_by();
        assert_eq!(asked.last(), Some(&("ben".to_owned(), false)), "{asked:?}");
        assert!(world.store.bodies(id).await.contains(&"for ben".to_owned()));
        assert_eq!(state.validators, Validators { etag: Some(ETAG.into()), last_modified: None });
        world.stop().await;
    });
}

#[rstest]
fn p07_p11_the_freshness_of_an_answer_ends_with_its_login(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let publisher = ByLogin::start().await;
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.start(Scope::Daemon);
        let id = world.add_feed(&publisher.url).await;
        world.settled(1).await;
        assert!(world.source(id).await.state.hints.fresh_until.is_some());
        world.advance(Duration::from_secs(90));
        log_in(&world, id, "ann").await;
        world.settled(2).await;
        assert_eq!(publisher.asked_by(), [("nobody".to_owned(), false), ("ann".to_owned(), false)]);
        assert_eq!(world.store.bodies(id).await, ["for nobody", "for ann"]);
        // Nothing else asks for a poll: the next one is due when the new answer is stale.
        world.advance(minutes(60));
        world.quiet().await;
        assert_eq!(publisher.asked_by().len(), 2);
        world.service().remove_source_access(id, None).await.unwrap();
        world.settled(3).await;
        assert_eq!(publisher.asked_by()[2], ("nobody".to_owned(), false));
        world.stop().await;
    });
}

#[rstest]
fn a_login_that_does_not_open_is_our_own_fault_and_disables_no_source(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let publisher = ByLogin::start().await;
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.start(Scope::Daemon);
        let id = world.add_feed(&publisher.url).await;
        world.settled(1).await;
        world.stop().await;
        world.advance(minutes(600));
        log_in_past_the_service(&world, id).await;
        world.store.raw("UPDATE source_access SET sealed = substr(sealed, 2)").await;
        world.start(Scope::Daemon);
        for polls in 1..=12 {
            world.settled(polls).await;
            world.advance(minutes(600));
        }
        let state = world.source(id).await.state;
        assert!(state.enabled && state.rest.is_none(), "{state:?}");
        assert_eq!((state.failures.consecutive, state.failures.consecutive_permanent), (0, 0));
        let last = state.failures.last.unwrap();
        assert_eq!(last.kind, FailureKind::Internal);
        assert!(last.error.contains("database.encryption-key"), "{}", last.error);
        assert_eq!(publisher.asked_by().len(), 1, "nothing is asked without the login");
        world.kill().await;
    });
}

async fn log_in_past_the_service(world: &World, id: SourceId) {
    let access = SourceAccess { login: Some(("ann".into(), "hidden".into())), ..SourceAccess::default() };
    world.store.save_source_access(id, Some(&access), None, world.now()).await.unwrap();
}

#[rstest]
fn a_webhook_whose_secret_does_not_open_is_tried_again_and_not_disabled(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        let (url, secret) = ("http://127.0.0.1:1/".to_owned(), "a secret to sign with".into());
        let new = NewWebhook {
            url,
            secret,
            label: None,
            format: DeliveryFormat::Classic,
            event_types: Vec::new(),
            created_at: world.now(),
        };
        let id = world.store.add_webhook(new).await.unwrap();
        world.store.raw("UPDATE webhooks SET sealed = substr(sealed, 2)").await;
        world.policy.webhooks.failures_max = 3;
        world.start_and_poll_all().await;
        for count in 1..=5 {
            let told = async || world.records.of("webhook delivery not prepared").len() >= count;
            world.until("the delivery is tried", told).await;
            world.advance(minutes(2));
        }
        let webhook = world.store.webhook(id).await.unwrap().unwrap();
        assert!(webhook.enabled && webhook.progress.failures == 0, "{webhook:?}");
        assert!(webhook.progress.last_error.unwrap().contains("database.encryption-key"));
        world.stop().await;
    });
}
