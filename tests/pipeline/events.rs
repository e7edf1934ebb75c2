//! Events of real causes, each stored once, and their delivery.

use std::time::Duration;

use feedwarden::actors::Scope;
use feedwarden::demo::web::{Elsewhere, RetryAfter, SiteBehaviour};
use feedwarden::model::{
    DeliveryFormat, EventSelection, EventSubject, EventType, NewEvent, NewWebhook, SourceId, StreamEvent, WebhookId,
};
use feedwarden::rules::{hours, minutes};
use feedwarden::service::HoldEnd;
use feedwarden::store::PageBounds;
use rstest::rstest;
use serde_json::Value;

use super::publisher::{feed, publisher};
use super::webhooks::{Receiver, Reply, header};
use super::{World, run};
use crate::store::Engine::{self, Postgres, Sqlite};
use crate::store::{post, rss};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

impl World {
    async fn events(&self) -> Vec<StreamEvent> {
        let selection = EventSelection { after: 0, source: None, types: EventType::ALL.to_vec() };
        self.store.events_page(selection, PageBounds::of_rows(1000)).await.unwrap().events
    }

    /// Events other than those of posts.
    async fn other_events(&self) -> Vec<NewEvent> {
        let other = |event: StreamEvent| if let EventSubject::Other(event) = event.what { Some(*event) } else { None };
        self.events().await.into_iter().filter_map(other).collect()
    }

    async fn event_types(&self) -> Vec<EventType> {
        self.other_events().await.iter().map(|event| event.event_type).collect()
    }

    async fn standard_hook(&self, receiver: &Receiver, event_types: &[EventType]) -> WebhookId {
        let new = NewWebhook {
            url: receiver.url(),
            secret: SECRET.into(),
            label: None,
            format: DeliveryFormat::Standard,
            event_types: event_types.to_vec(),
            created_at: self.now(),
        };
        self.store.add_webhook(new).await.unwrap()
    }
}

fn messages(receiver: &Receiver) -> Vec<Value> {
    receiver.bodies().iter().map(|body| serde_json::from_str(body).unwrap()).collect()
}

#[rstest]
fn a_source_that_fails_rests_is_disabled_and_recovers(#[values(Sqlite, Postgres)] engine: Engine) {
    use EventType::{SourceDisabled, SourceRecovered, SourceResting};
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::NotFound]).await;
        world.policy.breaker.after = 1000;
        let id = world.start_and_poll_all().await[0];
        for _ in 0..2 {
            world.poll_again(id).await;
        }
        let events = world.other_events().await;
        assert_eq!(events.len(), 1, "{events:?}");
        assert_eq!((events[0].event_type, events[0].source_id), (SourceResting, Some(id)));
        assert_eq!(events[0].reason.as_deref(), Some("not_found: HTTP 404 Not Found"));
        assert_eq!(events[0].until, Some(world.now() + hours(48)));
        assert_eq!(events[0].url.as_ref(), Some(&world.web.sites()[0].url));
        for _ in 0..2 {
            world.poll_again(id).await;
        }
        world.service().enable_source(id, None).await.unwrap();
        // The fourth failure begins another rest.
        assert_eq!(world.event_types().await, [SourceResting, SourceResting, SourceDisabled, SourceRecovered]);
        world.stop().await;
    });
}

#[rstest]
fn a_success_ends_a_rest_with_an_event(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::NotFound]).await;
        world.policy.breaker.after = 1000;
        let id = world.start_and_poll_all().await[0];
        for _ in 0..2 {
            world.poll_again(id).await;
        }
        world.web.set_behaviour(0, SiteBehaviour::Healthy).unwrap();
        world.poll_again(id).await;
        assert_eq!(world.event_types().await, [EventType::SourceResting, EventType::SourceRecovered]);
        assert_eq!(world.other_events().await[1].reason.as_deref(), Some("a poll succeeded"));
        world.stop().await;
    });
}

#[rstest]
fn a_move_and_a_hold_have_one_event_each(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let behaviours = [SiteBehaviour::Moved(Elsewhere::SameHost)];
        let mut world = World::of(engine, &behaviours).await;
        world.policy.interval = hours(24);
        world.start_and_poll_all().await;
        for polls in 2..=3 {
            world.advance(hours(24));
            world.settled(polls).await;
        }
        world.told("source moved").await;
        world.quiet().await;
        let events = world.other_events().await;
        assert_eq!(events.len(), 1, "{events:?}");
        assert_eq!(events[0].event_type, EventType::SourceMoved);
        assert_eq!(events[0].url.as_ref(), Some(&world.web.sites()[0].url));
        assert!(events[0].new_url.as_ref().unwrap().ends_with("/0/moved"), "{events:?}");
        let service = world.service();
        for seconds in [600, 1200] {
            let end = HoldEnd::In(Duration::from_secs(seconds));
            service.hold_host("a.example", end, "maintenance").await.unwrap();
        }
        let events = world.other_events().await;
        assert_eq!(events.len(), 2, "a hold that becomes longer has no event: {events:?}");
        assert_eq!((events[1].event_type, events[1].host.as_deref()), (EventType::HostHeld, Some("a.example")));
        assert_eq!(events[1].until, Some(world.now() + minutes(10)));
        world.stop().await;
    });
}

#[rstest]
fn a_429_holds_its_host_with_one_event(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::RateLimited(RetryAfter::Seconds(600))]).await;
        world.start_and_poll_all().await;
        let events = world.other_events().await;
        assert_eq!(events.len(), 1, "{events:?}");
        let host = world.stored_host(0).await.unwrap();
        assert_eq!((events[0].event_type, events[0].host.as_deref()), (EventType::HostHeld, Some(host.host.as_str())));
        assert_eq!((events[0].until, &events[0].reason), (host.held_until, &host.held_reason));
        world.stop().await;
    });
}

#[rstest]
fn a_silent_source_has_one_event(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.policy.interval = hours(24);
        world.policy.article_age_max = hours(24 * 100);
        world.policy.silent_after = Some(hours(24 * 10));
        let server = publisher(&vec![feed(&[], &["old"]); 20]).await;
        world.start(Scope::Daemon);
        let id = world.add_feed(&server.url("/feed")).await;
        world.settled(1).await;
        for _ in 0..12 {
            world.poll_again(id).await;
            world.breathe().await;
        }
        world.until("an event", async || !world.other_events().await.is_empty()).await;
        world.poll_again(id).await;
        world.breathe().await;
        let events = world.other_events().await;
        assert_eq!(events.len(), 1, "{events:?}");
        assert_eq!((events[0].event_type, events[0].source_id), (EventType::SourceSilent, Some(id)));
        world.stop().await;
    });
}

#[rstest]
fn a_daemon_that_stops_to_be_ready_has_one_event_each_time(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Broken(500)]).await;
        world.policy.breaker.after = 1000;
        let id = world.start_and_poll_all().await[0];
        let watch = actix_rt::spawn(world.service().watch_readiness());
        for told in 1..=2 {
            // No poll succeeds for a day.
            world.poll_again(id).await;
            world.advance(hours(24));
            for _ in 0..4 {
                world.breathe().await;
                world.advance(Duration::from_secs(20));
            }
            let not_ready = async || {
                let events = world.other_events().await;
                events.into_iter().filter(|event| event.event_type == EventType::DaemonNotReady).collect::<Vec<_>>()
            };
            world.until("an event", async || not_ready().await.len() == told).await;
            let reason = not_ready().await.pop().unwrap().reason.unwrap();
            assert!(reason.contains("no poll has succeeded since"), "{reason}");
            world.web.set_behaviour(0, SiteBehaviour::Healthy).unwrap();
            world.poll_again(id).await;
            world.advance(Duration::from_secs(20));
            world.breathe().await;
            world.web.set_behaviour(0, SiteBehaviour::Broken(500)).unwrap();
        }
        watch.abort();
        world.stop().await;
    });
}

#[rstest]
fn events_are_delivered_one_by_one_signed_and_in_order(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        let source = world.store.add(rss("http://127.0.0.1:9/")).await;
        world.store.raw("UPDATE sources SET enabled = NOT enabled").await;
        let receiver = Receiver::start(&[Reply::Status(500, "")]).await;
        let id = world.standard_hook(&receiver, &[EventType::PostCreated, EventType::HostHeld]).await;
        world.store.find(source.id, vec![post("one"), post("two")]).await;
        let held = NewEvent { host: Some("a.example".into()), ..NewEvent::new(EventType::HostHeld, world.now()) };
        let gap = NewEvent { source_id: Some(source.id), ..NewEvent::new(EventType::SourceGap, world.now()) };
        world.store.add_events(vec![gap, held]).await.unwrap();
        world.start(Scope::Daemon);
        let progress = async || world.store.webhook(id).await.unwrap().unwrap().progress;
        world.until("a failure", async || progress().await.failures == 1).await;
        world.advance(Duration::from_secs(10));
        let last = world.events().await.last().unwrap().number;
        world.until("all", async || progress().await.last_change_number == last).await;
        let sent = messages(&receiver);
        let types: Vec<&str> = sent.iter().map(|one| one["type"].as_str().unwrap()).collect();
        assert_eq!(types, ["post.created", "post.created", "post.created", "host.held"], "the first one again");
        assert_eq!(sent[1]["data"]["post"]["body"], "one");
        assert_eq!(sent[1]["data"]["source"]["id"], source.id.0);
        assert_eq!(sent[3]["data"]["host"], "a.example");
        let heads = receiver.heads();
        let ids: Vec<String> = heads.iter().map(|head| header(head, "webhook-id").unwrap().to_owned()).collect();
        assert_eq!(ids[0], ids[1], "a repeat has the same id");
        assert_eq!(ids[1], format!("evt_{}", sent[1]["data"]["number"]));
        assert!(header(&heads[1], "webhook-signature").unwrap().starts_with("v1,"));
        assert_eq!(header(&heads[1], "webhook-timestamp").unwrap(), world.now().as_seconds().to_string());
        world.stop().await;
    });
}

/// A kill at any moment costs repeats at most.
#[rstest]
fn a_kill_in_the_middle_misses_no_event(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        let source: SourceId = world.store.add(rss("http://127.0.0.1:9/")).await.id;
        world.store.raw("UPDATE sources SET enabled = NOT enabled").await;
        let receiver = Receiver::start(&[]).await;
        let id = world.standard_hook(&receiver, &EventType::ALL).await;
        world.start(Scope::Daemon);
        for round in 0..5 {
            for number in 0..5 {
                world.store.find(source, vec![post(&format!("{round} {number}"))]).await;
                let held = NewEvent::new(EventType::HostHeld, world.now());
                world.store.add_events(vec![held]).await.unwrap();
            }
            world.handle().events().note_arrival();
            let wanted = 10 * round + 1;
            world.until("some", async || receiver.bodies().len() > wanted).await;
            world.kill_and_start().await;
        }
        let last = world.events().await.last().unwrap().number;
        let progress = async || world.store.webhook(id).await.unwrap().unwrap().progress;
        world.until("all", async || progress().await.last_change_number == last).await;
        let numbers: Vec<i64> = messages(&receiver).iter().map(|one| one["data"]["number"].as_i64().unwrap()).collect();
        let mut once = numbers.clone();
        once.sort_unstable();
        once.dedup();
        let stored: Vec<i64> = world.events().await.iter().map(|event| event.number).collect();
        assert_eq!(once, stored, "each at least once");
        world.stop().await;
    });
}
