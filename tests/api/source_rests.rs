//! `feed-disable` with the kind of a failure (s417), and who is active meanwhile (s1003).

use std::time::Duration;

use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::{FailureKind, Rest, RestCause, SourceId};
use feedwarden::rules::hours;
use rstest::rstest;
use serde_json::{Value, json};

use super::ApiWorld;
use crate::pipeline::run;
use crate::store::Engine::{self, Postgres, Sqlite};

/// A healthy source that was polled a second ago.
async fn polled(api: &ApiWorld) -> (SourceId, String) {
    let body = json!({ "url": api.url(0), "first_poll": true });
    let id = api.tell("POST", "/sources", body).await.json()["source"]["id"].as_i64().unwrap();
    api.world.advance(Duration::from_secs(1));
    (SourceId(id), format!("/sources/{id}"))
}

async fn active(api: &ApiWorld, wanted: bool) -> usize {
    let page = api.get(&format!("/sources?feed_active={wanted}")).await.json();
    page["items"].as_array().unwrap().len()
}

#[rstest]
#[case("not_found", 48)]
#[case("gone", 72)]
#[case("forbidden", 24)]
#[case("upstream_failure", 6)]
#[case("network", 12)]
#[case("parse_error", 24)]
#[case("unauthorized", 24)]
fn s417_s1003_a_known_kind_rests_for_its_cooldown_and_is_then_active_and_polled(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[case] kind: &str,
    #[case] cooldown_hours: u32,
) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let (id, path) = polled(&api).await;
        let until = api.world.now() + hours(cooldown_hours);
        let rested = api.tell("PATCH", &format!("{path}/feed-disable"), json!({ "reason": kind })).await;
        let source = rested.json();
        assert_eq!((rested.status, &source["state"]), (200, &json!("resting")), "{source}");
        assert_eq!((&source["feed_disable_reason"], &source["feed_disabled_by"]), (&json!(kind), &json!("person")));
        assert_eq!((&source["feed_disabled_until"], &source["feed_active"]), (&json!(until), &json!(false)));
        let explained = api.get(&format!("{path}/explain")).await.json();
        assert_eq!((&explained["state"], &explained["next_poll_at"]), (&json!("resting"), &json!(until)));
        let summary = explained["summary"].as_str().unwrap();
        assert_eq!(summary, format!("next poll at {until}: it rests because {kind} was reported (feed-disable)"));
        api.world.pass(hours(cooldown_hours) - Duration::from_secs(60), 4).await;
        assert_eq!((active(&api, true).await, active(&api, false).await), (0, 1));
        assert_eq!(api.world.web.journal().len(), 1, "a minute is missing");
        // Before any poll, so that only the end of the cooldown has an effect.
        api.tell("POST", "/scheduler/pause", Value::Null).await;
        api.world.advance(Duration::from_secs(60));
        assert_eq!((active(&api, true).await, active(&api, false).await), (1, 0));
        let source = api.get(&path).await.json();
        assert_eq!((&source["state"], &source["feed_disabled_until"]), (&json!("active"), &json!(until)));
        api.tell("POST", "/scheduler/resume", Value::Null).await;
        api.world.settled(2).await;
        assert_eq!(api.world.source(id).await.state.rest, None, "a success ends it");
        assert_eq!(api.get(&path).await.json()["feed_disabled_until"], Value::Null);
        api.stop().await;
    });
}

#[rstest]
#[case("moving")]
#[case("rate_limited")]
#[case("unexpected")]
#[case("internal")]
#[case("not found")]
fn s417_any_other_reason_holds_until_a_person_ends_it(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[case] reason: &str,
) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let (id, path) = polled(&api).await;
        let source = api.tell("PATCH", &format!("{path}/feed-disable"), json!({ "reason": reason })).await.json();
        assert_eq!((&source["state"], &source["feed_disabled_until"]), (&json!("resting"), &Value::Null));
        assert_eq!(source["feed_disable_reason"], reason);
        api.world.pass(hours(24 * 400), 3).await;
        let explained = api.get(&format!("{path}/explain")).await.json();
        assert_eq!(
            explained["summary"],
            format!("not polled: it rests until an operator ends the rest; reason: {reason}")
        );
        assert_eq!((active(&api, true).await, api.world.web.journal().len()), (0, 1));
        let woken = api.tell("PATCH", &format!("{path}/feed-enable"), Value::Null).await.json();
        assert_eq!((&woken["state"], &woken["feed_disabled_at"]), (&json!("active"), &Value::Null));
        api.world.settled(2).await;
        assert_eq!(api.world.source(id).await.state.rest, None);
        api.stop().await;
    });
}

#[rstest]
fn s417_feed_enable_ends_a_reported_rest_and_clears_the_counters(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::NotFound]).await;
        let body = json!({ "url": api.url(0), "first_poll": true, "anyway": true });
        let id = api.tell("POST", "/sources", body).await.json()["source"]["id"].as_i64().unwrap();
        let path = format!("/sources/{id}");
        let rested = api.tell("PATCH", &format!("{path}/feed-disable"), json!({ "reason": "not_found" })).await.json();
        assert_eq!((&rested["state"], &rested["consecutive_failures"]), (&json!("resting"), &json!(1)));
        let stored = api.world.source(SourceId(id)).await.state.rest;
        let reported = Rest { since: api.world.now(), cause: RestCause::Reported(FailureKind::NotFound) };
        assert_eq!(stored, Some(reported));
        let woken = api.tell("PATCH", &format!("{path}/feed-enable"), Value::Null).await.json();
        assert_eq!((&woken["state"], &woken["consecutive_failures"]), (&json!("active"), &json!(0)));
        api.stop().await;
    });
}

#[rstest]
fn s417_a_poll_by_hand_is_made_during_a_reported_rest(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let (id, path) = polled(&api).await;
        api.tell("PATCH", &format!("{path}/feed-disable"), json!({ "reason": "network" })).await;
        let polled = api.tell("POST", &format!("{path}/poll?wait=20"), Value::Null).await;
        assert_eq!((polled.status, &polled.json()["answer"]), (200, &json!("done")), "{polled:?}");
        assert_eq!(api.world.source(id).await.state.rest, None);
        api.stop().await;
    });
}

#[rstest]
fn s417_a_poll_that_was_asked_for_before_the_report_is_not_made(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let (_, path) = polled(&api).await;
        api.tell("POST", "/scheduler/pause", Value::Null).await;
        api.tell("POST", &format!("{path}/poll"), Value::Null).await;
        api.tell("PATCH", &format!("{path}/feed-disable"), json!({ "reason": "gone" })).await;
        api.tell("POST", "/scheduler/resume", Value::Null).await;
        api.world.pass(hours(71), 3).await;
        assert_eq!(api.world.web.journal().len(), 1);
        api.stop().await;
    });
}
