//! The stream of events through the listeners.

use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::Cutoffs;
use feedwarden::model::{EventType, NewEvent, Timestamp};
use rstest::rstest;
use serde_json::{Value, json};

use super::ApiWorld;
use super::client::ask;
use super::posts::Tail;
use crate::pipeline::run;
use crate::store::Engine::{self, Postgres, Sqlite};

/// The next event: its number, its type and its data.
async fn next(tail: &mut Tail) -> (String, String, Value) {
    let number = tail.line("id: ").await[4..].to_owned();
    let event_type = tail.line("event: ").await[7..].to_owned();
    let data: Value = serde_json::from_str(&tail.line("data: ").await[6..]).unwrap();
    assert_eq!((&data["type"], &data["data"]["number"].to_string()), (&json!(event_type), &number));
    (number, event_type, data)
}

#[rstest]
fn events_are_streamed_and_go_on_where_the_stream_ended(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let mut tail = Tail::open_at(&api, "/events/stream", None).await;
        let body = json!({ "url": api.url(0), "first_poll": true, "labels": ["news"] });
        let id = api.tell("POST", "/sources", body).await.json()["source"]["id"].as_i64().unwrap();
        let (_, event_type, data) = next(&mut tail).await;
        assert_eq!(event_type, "post.created");
        assert_eq!(data["data"]["source"]["labels"], json!(["news"]), "{data}");
        let reason = json!({ "reason": "too loud" });
        api.tell("POST", &format!("/sources/{id}/disable"), reason).await;
        let (disabled, event_type, data) = next(&mut tail).await;
        assert_eq!((event_type.as_str(), &data["data"]["reason"]), ("source.disabled", &json!("too loud")), "{data}");
        drop(tail);
        api.tell("POST", &format!("/sources/{id}/enable"), Value::Null).await;
        let mut tail = Tail::open_at(&api, "/events/stream", Some(&disabled)).await;
        assert_eq!(next(&mut tail).await.1, "source.recovered");
        for (query, first) in [
            ("?after=0&type=source.disabled", "source.disabled"),
            ("?after=0&label=news", "post.created"),
            (&format!("?after={disabled}&source_id={id}"), "source.recovered"),
        ] {
            let mut tail = Tail::open_at(&api, &format!("/events/stream{query}"), None).await;
            assert_eq!(next(&mut tail).await.1, first, "{query}");
        }
        let listed = api.get("/events?label=other").await.json();
        assert_eq!(listed["items"], json!([]), "{listed}");
        let wrong = ask(api.socket().await, "GET", "/api/v1/events/stream", &[("Last-Event-ID", "x")], b"").await;
        wrong.is_problem(400, "invalid", Some("Last-Event-ID"));
        api.get("/events?type=post.eaten").await.is_problem(400, "invalid", Some("type"));
        api.stop().await;
    });
}

#[rstest]
fn a_reader_whose_events_were_removed_is_told(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        for _ in 0..3 {
            let held =
                NewEvent { host: Some("a.example".into()), ..NewEvent::new(EventType::HostHeld, api.world.now()) };
            api.world.store.add_events(vec![held]).await.unwrap();
        }
        let numbers: Vec<i64> = api.get("/events").await.json()["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| event["data"]["number"].as_i64().unwrap())
            .collect();
        let cutoffs = Cutoffs {
            now: api.world.now(),
            articles_before: Timestamp::MIN,
            posts_before: Timestamp::MIN,
            hashes_before: Timestamp::MIN,
            robots_before: Timestamp::MIN,
            audit_before: Timestamp::MIN,
            audit_records_max: 1000,
            events_before: Timestamp::MIN,
            events_max: 1,
        };
        api.world.store.clean(cutoffs, 100).await.unwrap();
        let mut tail = Tail::open_at(&api, "/events/stream", Some(&numbers[0].to_string())).await;
        tail.line("event: missed").await;
        let data: Value = serde_json::from_str(&tail.line("data: ").await[6..]).unwrap();
        assert_eq!(data["removed_up_to"], numbers[1], "{data}");
        assert_eq!(next(&mut tail).await.0, numbers[2].to_string());
        assert_eq!(api.get(&format!("/events?after={}", numbers[0])).await.json()["removed_up_to"], numbers[1]);
        assert_eq!(api.get(&format!("/events?after={}", numbers[1])).await.json()["removed_up_to"], Value::Null);
        api.stop().await;
    });
}
