//! Webhooks: delivered in order, at least once, signed, and given up with a reason, while polling goes on.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use feedwarden::actors::{FaultSettings, Scope};
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::{DeliveryFormat, EntryKey, NewWebhook, SourceId, Webhook, WebhookChange, WebhookId};
use feedwarden::supervision::Intensity;
use hmac::{Hmac, KeyInit, Mac};
use rstest::rstest;
use serde_json::Value;
use sha2::Sha256;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::{World, run};
use crate::store::Engine::{self, Postgres, Sqlite};
use crate::store::{post, rss};

const SECRET: &str = "a secret to sign with";

/// What a receiver does with its next request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Status(u16, &'static str),
    /// Says nothing until the client hangs up.
    Mute,
    /// Waits until it is told to go on, and then fails.
    FailLater(Arc<Notify>),
}

/// One request that came.
#[derive(Clone, Debug)]
struct Received {
    head: String,
    body: String,
}

/// A program that gets posts. It answers as it was told to, in order, and then with 204.
#[derive(Clone)]
pub(crate) struct Receiver {
    address: SocketAddr,
    replies: Arc<Mutex<VecDeque<Reply>>>,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Receiver {
    pub(crate) async fn start(replies: &[Reply]) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let receiver = Receiver {
            address: listener.local_addr().unwrap(),
            replies: Arc::new(Mutex::new(replies.iter().cloned().collect())),
            received: Arc::default(),
        };
        let serving = receiver.clone();
        actix_rt::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let serving = serving.clone();
                actix_rt::spawn(async move { serving.serve(stream).await });
            }
        });
        receiver
    }

    async fn serve(&self, mut stream: TcpStream) {
        let mut bytes = Vec::new();
        let (head, body) = loop {
            if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
                return;
            }
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = header(head, "content-length").unwrap().parse::<usize>().unwrap();
            if body.len() >= length {
                break (head.to_owned(), body.to_owned());
            }
        };
        let reply = self.replies.lock().unwrap().pop_front().unwrap_or(Reply::Status(204, ""));
        self.received.lock().unwrap().push(Received { head, body });
        match reply {
            Reply::Status(status, headers) => {
                let answer = format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: 0\r\n\r\n");
                let _ = stream.write_all(answer.as_bytes()).await;
            }
            Reply::Mute => {
                let _ = stream.read(&mut [0; 1]).await;
            }
            Reply::FailLater(go_on) => {
                go_on.notified().await;
                let _ = stream.write_all(b"HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n").await;
            }
        }
    }

    fn count(&self) -> usize {
        self.received.lock().unwrap().len()
    }

    /// The bodies of the posts of every request.
    fn posts(&self) -> Vec<Vec<String>> {
        let received = self.received.lock().unwrap();
        let read = |one: &Received| {
            let posts: Vec<Value> = serde_json::from_str(&one.body).unwrap();
            posts.iter().map(|post| post["body"].as_str().unwrap().to_owned()).collect()
        };
        received.iter().map(read).collect()
    }

    pub(super) fn bodies(&self) -> Vec<String> {
        self.received.lock().unwrap().iter().map(|one| one.body.clone()).collect()
    }

    pub(super) fn heads(&self) -> Vec<String> {
        self.received.lock().unwrap().iter().map(|one| one.head.clone()).collect()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }
}

pub(super) fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// As a receiver computes it.
fn signature(seconds: i64, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(format!("{seconds}.{body}").as_bytes());
    let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("t={seconds},v1={hex}")
}

impl World {
    /// A world with a source that is not polled.
    async fn with_quiet_source(engine: Engine) -> (World, SourceId) {
        let world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        let source = world.store.add(rss("http://127.0.0.1:9/")).await;
        world.store.raw("UPDATE sources SET enabled = NOT enabled").await;
        (world, source.id)
    }

    async fn hook(&self, receiver: &Receiver, label: Option<&str>) -> WebhookId {
        let label = label.map(str::to_owned);
        let new = NewWebhook {
            url: receiver.url(),
            secret: SECRET.into(),
            label,
            format: DeliveryFormat::Classic,
            event_types: Vec::new(),
            created_at: self.now(),
        };
        self.store.add_webhook(new).await.unwrap()
    }

    async fn webhook(&self, id: WebhookId) -> Webhook {
        self.store.webhook(id).await.unwrap().unwrap()
    }

    /// Waits until everything that is in the store was taken.
    async fn all_taken(&self, id: WebhookId) {
        let last = self.store.last_change_number().await.unwrap();
        self.until("everything taken", async || self.webhook(id).await.progress.last_change_number == last).await;
    }

    async fn failed(&self, id: WebhookId, count: u32) {
        self.until("a failure", async || self.webhook(id).await.progress.failures == count).await;
    }
}

#[rstest]
fn posts_are_delivered_signed_in_order_and_once_if_all_goes_well(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let (mut world, source) = World::with_quiet_source(engine).await;
        world.store.find(source, vec![post("before")]).await;
        let receiver = Receiver::start(&[]).await;
        let id = world.hook(&receiver, None).await;
        world.store.find(source, (1..=120).map(|number| post(&number.to_string())).collect()).await;
        world.start(Scope::Daemon);
        world.all_taken(id).await;
        let expected: Vec<String> = (1..=120).map(|number| number.to_string()).collect();
        assert_eq!(receiver.posts().concat(), expected);
        let first = receiver.received.lock().unwrap()[0].clone();
        assert!(first.head.starts_with("POST /hook HTTP/1.1\r\n"), "{}", first.head);
        assert_eq!(header(&first.head, "content-type"), Some("application/json"));
        assert!(header(&first.head, "feedwarden-delivery").unwrap().starts_with(&format!("{id}-")));
        let seconds = world.now().as_seconds();
        assert_eq!(header(&first.head, "feedwarden-signature"), Some(signature(seconds, &first.body).as_str()));
        assert!(world.webhook(id).await.last_delivered_at.is_some());
        world.stop().await;
    });
}

#[rstest]
fn what_a_poll_finds_is_delivered_without_waiting_for_a_look(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        let receiver = Receiver::start(&[]).await;
        let id = world.hook(&receiver, None).await;
        let ids = world.start_and_poll_all().await;
        world.store.ping().await.unwrap();
        for _ in 0..20 {
            if !world.store.list_posts(None, None, 1).await.unwrap().is_empty() {
                break;
            }
            world.poll_again(ids[0]).await;
        }
        world.all_taken(id).await;
        let stored = world.store.list_posts(None, None, 1000).await.unwrap().len();
        assert_eq!(receiver.posts().concat().len(), stored);
        world.stop().await;
    });
}

#[rstest]
fn a_failed_delivery_is_made_again_later_and_later(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let (mut world, source) = World::with_quiet_source(engine).await;
        world.policy.webhooks.timeout = Duration::from_millis(200);
        // A redirect is not followed, or its target would be asked too; a mute receiver is given up in time.
        let replies = [
            Reply::Status(500, ""),
            Reply::Status(302, "Location: /elsewhere\r\n"),
            Reply::Mute,
            Reply::Status(429, "Retry-After: 600\r\n"),
        ];
        let receiver = Receiver::start(&replies).await;
        let id = world.hook(&receiver, None).await;
        world.store.find(source, vec![post("1"), post("2")]).await;
        world.start(Scope::Daemon);
        for (count, seconds) in [(1, 10), (2, 20), (3, 40), (4, 600)] {
            world.failed(id, count).await;
            let retry_at = world.webhook(id).await.progress.retry_at.unwrap();
            assert_eq!(retry_at.since(world.now()).as_secs(), seconds, "after {count}");
            // Not a moment earlier, also across a restart.
            world.advance(Duration::from_secs(seconds) - Duration::from_millis(10));
            world.restart().await;
            world.breathe().await;
            assert_eq!(receiver.count(), count as usize);
            world.store.find(source, vec![post(&format!("during {count}"))]).await;
            world.advance(Duration::from_millis(10));
        }
        world.all_taken(id).await;
        let taken = receiver.posts();
        assert_eq!(taken.last().unwrap(), &["1", "2", "during 1", "during 2", "during 3", "during 4"]);
        assert_eq!(taken.len(), 5);
        let webhook = world.webhook(id).await;
        assert_eq!((webhook.progress.failures, webhook.progress.last_error), (0, None));
        world.stop().await;
    });
}

#[rstest]
fn a_webhook_that_keeps_failing_or_is_gone_is_disabled_with_one_warning(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[values(410, 503)] status: u16,
) {
    run(async || {
        let (mut world, source) = World::with_quiet_source(engine).await;
        world.policy.webhooks.failures_max = 2;
        let receiver = Receiver::start(&[Reply::Status(status, ""), Reply::Status(status, "")]).await;
        let id = world.hook(&receiver, None).await;
        world.store.find(source, vec![post("1")]).await;
        world.start(Scope::Daemon);
        world.failed(id, 1).await;
        world.advance(Duration::from_secs(10));
        world.until("disabled", async || !world.webhook(id).await.enabled).await;
        let asked = if status == 410 { 1 } else { 2 };
        assert_eq!(receiver.count(), asked);
        let reason = world.webhook(id).await.disabled_reason.unwrap();
        assert!(reason.contains(&status.to_string()), "{reason}");
        assert_eq!(world.records.of("webhook disabled").len(), 1);
        // A person brings it back, and it goes on where it was.
        world.store.find(source, vec![post("2")]).await;
        receiver.replies.lock().unwrap().clear();
        world.store.switch_webhook(id, None).await.unwrap();
        world.advance(Duration::from_secs(15));
        world.all_taken(id).await;
        assert_eq!(receiver.posts()[asked..].concat(), ["1", "2"]);
        world.stop().await;
    });
}

#[rstest]
fn a_kill_in_the_middle_loses_nothing_and_keeps_the_order(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let (mut world, source) = World::with_quiet_source(engine).await;
        // One post in each request; the third is received, and its answer never comes.
        world.policy.webhooks.body_bytes_max = 1;
        let receiver = Receiver::start(&[Reply::Status(200, ""), Reply::Status(200, ""), Reply::Mute]).await;
        let id = world.hook(&receiver, None).await;
        world.store.find(source, (1..=5).map(|number| post(&number.to_string())).collect()).await;
        world.start(Scope::Daemon);
        world.until("the third request", async || receiver.count() == 3).await;
        world.kill_and_start().await;
        world.all_taken(id).await;
        assert_eq!(receiver.posts().concat(), ["1", "2", "3", "3", "4", "5"]);
        let names: Vec<String> = receiver.received.lock().unwrap()[2..4]
            .iter()
            .map(|one| header(&one.head, "feedwarden-delivery").unwrap().to_owned())
            .collect();
        assert_eq!(names[0], names[1], "the same delivery has the same name");
        world.stop().await;
    });
}

#[rstest]
fn a_label_chooses_and_a_slow_webhook_holds_up_neither_others_nor_polls(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let (mut world, plain) = World::with_quiet_source(engine).await;
        let labelled = world.store.add(rss("http://127.0.0.1:9/labelled")).await.id;
        world.store.raw(&format!("UPDATE sources SET enabled = NOT enabled WHERE id = {labelled}")).await;
        let labels = vec!["other".into(), "news".into()];
        world.store.add_labels(vec![(labelled, labels)], world.now()).await.unwrap();
        let slow = Receiver::start(&[Reply::Mute]).await;
        let quick = Receiver::start(&[]).await;
        world.hook(&slow, None).await;
        let id = world.hook(&quick, Some("news")).await;
        world.store.find(plain, vec![post("1")]).await;
        world.store.find(labelled, vec![post("2")]).await;
        world.store.find(plain, vec![post("3")]).await;
        world.start(Scope::Daemon);
        world.until("the slow one asked", async || slow.count() == 1).await;
        world.all_taken(id).await;
        assert_eq!(quick.posts(), [["2"]]);
        let polled = world.add_feed(&world.web.sites()[0].url.clone()).await;
        world.until("polled", async || world.source(polled).await.state.last_success_at.is_some()).await;
        assert_eq!(slow.count(), 1, "it is still being waited for");
        world.kill().await;
    });
}

#[rstest]
fn private_addresses_are_refused_to_webhooks_as_well(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let (mut world, source) = World::with_quiet_source(engine).await;
        world.http.allowed_networks.clear();
        let receiver = Receiver::start(&[]).await;
        let id = world.hook(&receiver, None).await;
        world.store.find(source, vec![post("1")]).await;
        world.start(Scope::Daemon);
        world.failed(id, 1).await;
        assert_eq!(receiver.count(), 0);
        world.stop().await;
    });
}

#[rstest]
fn every_post_is_delivered_through_crashes_of_the_webhooks(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let (mut world, source) = World::with_quiet_source(engine).await;
        world.policy.webhooks.posts_max = 2;
        let faults = ["webhooks/Deliver=panic@0.2", "webhooks/Delivered=panic@0.2", "webhooks/*=drop@0.1"];
        world.settings.faults = FaultSettings {
            is_enabled: true,
            seed: 7,
            limit: Some(40),
            faults: faults.iter().map(|fault| fault.parse().unwrap()).collect(),
        };
        let delay = Duration::from_millis(1);
        let patient = Intensity { restarts_max: 1_000, delay_first: delay, delay_max: delay, ..Intensity::default() };
        world.settings.intensity = patient;
        let receivers = [Receiver::start(&[]).await, Receiver::start(&[Reply::Status(500, "")]).await];
        let mut ids = Vec::new();
        for receiver in &receivers {
            ids.push(world.hook(receiver, None).await);
        }
        world.store.find(source, (1..=60).map(|number| post(&number.to_string())).collect()).await;
        world.start(Scope::Daemon);
        // The one refusal is recorded, or a fault has cost its record and the posts are sent again at once.
        world
            .until("the refusal is over", async || {
                receivers[1].count() > 1 || world.webhook(ids[1]).await.progress.failures > 0
            })
            .await;
        world.advance(Duration::from_secs(60));
        for id in &ids {
            world.all_taken(*id).await;
        }
        let done = world.handle().statistics().view();
        assert_eq!(world.handle().faults(), 40);
        assert!(done.crashes > 10 && done.restarts_by_actor[5] == done.crashes, "{done:?}");
        for receiver in &receivers {
            // At least once, and in order but for what was sent again.
            let mut highest = 0;
            for number in receiver.posts().concat().iter().map(|body| body.parse::<u32>().unwrap()) {
                assert!(number <= highest + 1, "{number} came before {}", highest + 1);
                highest = highest.max(number);
            }
            assert_eq!(highest, 60);
        }
        assert!(receivers.iter().any(|receiver| receiver.posts().concat().len() > 60), "something was sent again");
        world.stop().await;
    });
}

#[rstest]
fn what_a_person_changes_holds_for_the_next_delivery(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let (mut world, source) = World::with_quiet_source(engine).await;
        let go_on = Arc::new(Notify::new());
        let old = Receiver::start(&[Reply::FailLater(go_on.clone())]).await;
        let new = Receiver::start(&[]).await;
        let id = world.hook(&old, None).await;
        world.store.find(source, vec![post("1")]).await;
        world.start(Scope::Daemon);
        world.until("the old one asked", async || old.count() == 1).await;
        let change = WebhookChange { url: Some(new.url()), ..WebhookChange::default() };
        assert!(world.store.change_webhook(id, change).await.unwrap());
        go_on.notify_one();
        world.failed(id, 1).await;
        world.advance(Duration::from_secs(60));
        world.all_taken(id).await;
        assert_eq!((old.count(), new.posts().concat()), (1, vec!["1".to_owned()]));
        assert!(world.store.switch_webhook(id, Some("enough".into())).await.unwrap());
        world.store.find(source, vec![post("2")]).await;
        world.advance(Duration::from_secs(60));
        world.breathe().await;
        assert_eq!(new.count(), 1, "nothing is sent to a disabled one");
        world.stop().await;
    });
}

#[rstest]
fn a_webhook_that_is_disabled_while_a_delivery_is_prepared_does_not_get_it(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let (mut world, source) = World::with_quiet_source(engine).await;
        let receiver = Receiver::start(&[]).await;
        let id = world.hook(&receiver, None).await;
        world.settings.faults = FaultSettings {
            is_enabled: true,
            seed: 1,
            limit: Some(1),
            faults: vec!["webhooks/Deliver=stall:2000@1".parse().unwrap()],
        };
        world.store.find(source, vec![post("1")]).await;
        world.start(Scope::Daemon);
        // The posts are read, and the delivery is not sent yet.
        world.until("it is prepared", async || world.handle().faults() == 1).await;
        assert!(world.store.switch_webhook(id, Some("enough".into())).await.unwrap());
        tokio::time::sleep(Duration::from_millis(2200)).await;
        world.breathe().await;
        assert_eq!(receiver.count(), 0);
        assert!(world.store.switch_webhook(id, None).await.unwrap());
        world.advance(Duration::from_secs(60));
        world.all_taken(id).await;
        assert_eq!(receiver.posts().concat(), ["1"], "nothing was lost");
        world.stop().await;
    });
}

#[rstest]
fn a_test_is_signed_marked_and_moves_nothing(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let (mut world, _) = World::with_quiet_source(engine).await;
        let receiver = Receiver::start(&[Reply::Status(204, ""), Reply::Status(418, "")]).await;
        let id = world.hook(&receiver, None).await;
        let before = world.webhook(id).await;
        world.start(Scope::Daemon);
        assert_eq!(world.handle().test_webhook(id).await, Ok(()));
        let refused = world.handle().test_webhook(id).await.unwrap_err();
        assert!(refused.contains("418"), "{refused}");
        let sent = receiver.received.lock().unwrap()[0].clone();
        assert_eq!((sent.body.as_str(), header(&sent.head, "feedwarden-test")), ("[]", Some("true")));
        assert_eq!(header(&sent.head, "feedwarden-delivery"), Some(format!("{id}-test").as_str()));
        let seconds = world.now().as_seconds();
        assert_eq!(header(&sent.head, "feedwarden-signature"), Some(signature(seconds, "[]").as_str()));
        assert_eq!(world.webhook(id).await, before);
        assert_eq!(world.handle().statistics().view().deliveries_taken, 0);
        world.stop().await;
    });
}

#[rstest]
fn a_changed_post_is_delivered_again_with_its_source(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let (mut world, source) = World::with_quiet_source(engine).await;
        let receiver = Receiver::start(&[]).await;
        let id = world.hook(&receiver, None).await;
        let entry = |body: &str| post(body).with_key(EntryKey::of("id", &[b"1"]));
        world.store.find(source, vec![entry("first")]).await;
        world.start(Scope::Daemon);
        world.all_taken(id).await;
        world.store.find(source, vec![entry("second")]).await;
        world.advance(Duration::from_secs(60));
        world.all_taken(id).await;
        let received = receiver.received.lock().unwrap().clone();
        let sent: Vec<Value> =
            received.iter().flat_map(|one| serde_json::from_str::<Vec<Value>>(&one.body).unwrap()).collect();
        assert_eq!(sent.len(), 2, "{sent:?}");
        assert_eq!((&sent[0]["change"], &sent[0]["body"]), (&"new".into(), &"first".into()));
        assert_eq!((&sent[1]["change"], &sent[1]["body"]), (&"updated".into(), &"second".into()));
        assert_eq!((&sent[1]["id"], &sent[1]["revision"]), (&sent[0]["id"], &1.into()));
        assert!(sent[1]["change_number"].as_i64() > sent[0]["change_number"].as_i64());
        assert_eq!(sent[1]["source"]["url"], "http://127.0.0.1:9/");
        world.stop().await;
    });
}
