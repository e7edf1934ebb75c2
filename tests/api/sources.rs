//! Sources through the listeners.

use std::sync::Arc;
use std::time::Duration;

use feedwarden::api::settings::{ApiLimits, TokenKey};
use feedwarden::api::tokens::TokenScope;
use feedwarden::clock::Stopwatch;
use feedwarden::demo::web::{RetryAfter, SiteBehaviour};
use feedwarden::dice::HeldDice;
use feedwarden::model::{FailureKind, Rest, RestCause, SourceId};
use feedwarden::rules::{hours, minutes};
use feedwarden::service::{SourceFilter, SourceSort, SourceSortKey};
use rstest::rstest;
use serde_json::{Value, json};

use super::ApiWorld;
use super::client::ask;
use super::world::SECRET;
use crate::pipeline::{World, run};
use crate::store::Engine::{self, Postgres, Sqlite};

#[rstest]
fn s1001_s1002_a_source_is_put_to_rest_and_woken_over_tcp_with_a_token(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let id = api.add_quiet("http://a.example/feed").await;
        let token = api.token(TokenScope::Write);
        let path = format!("/sources/{id}/feed-disable");
        let rested = api.tell_tcp("PATCH", &path, r#"{"reason":"moving"}"#, Some(&token)).await;
        assert_eq!(rested.status, 200, "{rested:?}");
        let source = rested.json();
        assert_eq!((source["state"].as_str(), source["feed_disabled_by"].as_str()), (Some("resting"), Some("person")));
        let stored = api.world.source(SourceId(id)).await;
        assert_eq!(stored.state.rest.unwrap().cause, RestCause::Person("moving".into()));
        api.tell_tcp("PATCH", &path, r#"{"reason":" "}"#, Some(&token)).await.is_problem(
            400,
            "invalid",
            Some("reason"),
        );
        api.tell_tcp("PATCH", &path, "", Some(&token)).await.is_problem(400, "invalid", Some("reason"));
        let refused = api.tell("POST", &format!("/sources/{id}/poll"), Value::Null).await;
        refused.is_problem(409, "refused", None);
        let woken = api.tell_tcp("PATCH", &format!("/sources/{id}/feed-enable"), "", Some(&token)).await;
        assert_eq!((woken.status, woken.json()["state"].as_str()), (200, Some("active")));
        assert_eq!(api.world.source(SourceId(id)).await.state.rest, None);
        api.stop().await;
    });
}

#[rstest]
fn s1002_s417_feed_enable_ends_a_rest_and_clears_the_failures_too(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let id = api.add_quiet("http://a.example/feed").await;
        let mut source = api.world.source(SourceId(id)).await;
        source.state.rest = Some(Rest { since: api.world.now(), cause: RestCause::Failures(FailureKind::NotFound) });
        source.state.failures.consecutive = 3;
        api.world.store.save_source(source, api.world.now()).await.unwrap();
        let woken = api.tell("PATCH", &format!("/sources/{id}/feed-enable"), Value::Null).await;
        assert_eq!((woken.status, woken.json()["state"].as_str()), (200, Some("active")));
        let state = api.world.source(SourceId(id)).await.state;
        assert_eq!((state.rest, state.failures.consecutive), (None, 0));
        api.stop().await;
    });
}

#[rstest]
fn s1003_only_what_is_enabled_and_awake_is_feed_active(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let mut ids = Vec::new();
        for name in ["plain", "disabled", "tired", "cooling", "cooled"] {
            ids.push(api.add_quiet(&format!("http://{name}.example/feed")).await);
        }
        let now = api.world.now();
        let gone = |ago| Some(Rest { since: now - hours(ago), cause: RestCause::Failures(FailureKind::Gone) });
        let tired = Some(Rest { since: now, cause: RestCause::Person("tired".into()) });
        for (id, rest, enabled) in
            [(ids[1], None, false), (ids[2], tired, true), (ids[3], gone(71), true), (ids[4], gone(72), true)]
        {
            let mut source = api.world.source(SourceId(id)).await;
            (source.state.rest, source.state.enabled) = (rest, enabled);
            api.world.store.save_source(source, now).await.unwrap();
        }
        let listed = async |query: &str| -> Vec<i64> {
            let answer = api.get(&format!("/sources?{query}")).await;
            assert_eq!(answer.status, 200, "{answer:?}");
            answer.json()["items"].as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap()).collect()
        };
        assert_eq!(listed("feed_active=true").await, [ids[0], ids[4]]);
        assert_eq!(listed("feed_active=false").await, [ids[1], ids[2], ids[3]]);
        assert_eq!(listed("state=disabled").await, [ids[1]]);
        assert_eq!(listed("state=resting").await, [ids[2], ids[3]]);
        assert_eq!(listed("host=COOLED.example").await, [ids[4]]);
        assert_eq!(listed("text=Cool&feed_active=true").await, [ids[4]]);
        assert_eq!(listed("type=website").await, [0_i64; 0]);
        assert_eq!(listed("url=http://tired.example/feed").await, [ids[2]]);
        api.get("/sources?state=asleep").await.is_problem(400, "invalid", Some("state"));
        api.get("/sources?limit=0").await.is_problem(400, "invalid", Some("limit"));
        api.get("/sources?cursor=x").await.is_problem(400, "invalid", Some("cursor"));
        api.get("/sources?colour=red").await.is_problem(400, "invalid", Some("colour"));
        api.stop().await;
    });
}

#[rstest]
fn two_clients_never_lose_an_update(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let id = api.add_quiet("http://a.example/feed").await;
        let path = format!("/sources/{id}");
        let seen = api.get(&path).await.header("etag").unwrap().to_owned();
        let first = api.tell_if("PATCH", &path, json!({ "title": "One" }), Some(&seen)).await;
        assert_eq!(first.status, 200, "{first:?}");
        let second = api.tell_if("PATCH", &path, json!({ "max_failures": 9 }), Some(&seen)).await;
        second.is_problem(412, "conflict", None);
        assert_eq!(second.header("etag"), first.header("etag"), "it says what to base the change on");
        for path in [path.clone(), format!("{path}/feed-enable"), format!("{path}/enable"), format!("{path}/reset")] {
            let method = if path.ends_with("-enable") { "PATCH" } else { "POST" };
            let method = if path.matches('/').count() == 2 { "DELETE" } else { method };
            api.tell_if(method, &path, Value::Null, Some(&seen)).await.is_problem(412, "conflict", None);
        }
        // Without a version, changes of different settings meet and both are kept.
        let many = (0..10).map(|number| {
            let (api, path) = (&api, &path);
            let body = if number % 2 == 0 { json!({ "max_failures": 9 }) } else { json!({ "poll_delay_seconds": 7 }) };
            async move { api.tell("PATCH", path, body).await.status }
        });
        assert!(futures_util::future::join_all(many).await.into_iter().all(|status| status == 200));
        let source = api.get(&path).await.json();
        assert_eq!((&source["title"], &source["max_failures"]), (&json!("One"), &json!(9)));
        assert_eq!(source["poll_delay_seconds"], 7);
        let cleared = api.tell("PATCH", &path, json!({ "title": null, "labels": ["B", "A"] })).await.json();
        assert_eq!((&cleared["title"], &cleared["labels"]), (&Value::Null, &json!(["B", "A"])));
        assert_eq!(api.tell("DELETE", &path, Value::Null).await.status, 204);
        api.get(&path).await.is_problem(404, "not-found", None);
        api.stop().await;
    });
}

#[rstest]
fn labels_are_part_of_the_version_and_none_is_lost(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let path = format!("/sources/{}", api.add_quiet("http://a.example/feed").await);
        let seen = api.get(&path).await.header("etag").unwrap().to_owned();
        let ann = api.tell_if("PATCH", &path, json!({ "labels": ["ann"] }), Some(&seen)).await;
        assert_eq!(ann.status, 200, "{ann:?}");
        let now = ann.header("etag").unwrap();
        assert_ne!(now, seen, "labels alone move the version");
        let bob = api.tell_if("PATCH", &path, json!({ "labels": ["bob"] }), Some(&seen)).await;
        bob.is_problem(412, "conflict", None);
        assert_eq!(api.get(&path).await.json()["labels"], json!(["ann"]));
        let again = api.tell_if("PATCH", &path, json!({ "labels": ["ann", "bob"] }), bob.header("etag")).await;
        assert_eq!((again.status, &again.json()["labels"]), (200, &json!(["ann", "bob"])));
        // Labels and settings are written together or not at all.
        let both = json!({ "title": "Two", "labels": ["late"] });
        api.tell_if("PATCH", &path, both, Some(now)).await.is_problem(412, "conflict", None);
        api.tell("PATCH", &path, json!({ "title": "Two", "labels": [""] })).await.is_problem(
            400,
            "invalid",
            Some("labels"),
        );
        let kept = api.get(&path).await;
        assert_eq!((&kept.json()["title"], &kept.json()["labels"]), (&Value::Null, &json!(["ann", "bob"])));
        // What changes nothing moves nothing.
        let same = api.tell("PATCH", &path, json!({ "labels": ["ann", "bob"] })).await;
        assert_eq!(same.header("etag"), kept.header("etag"));
        // An import that gives a source one more label is a change, too.
        let list = r#"<opml version="2.0"><body><outline text="News">
            <outline xmlUrl="http://a.example/feed"/></outline></body></opml>"#;
        let headers = [("Content-Type", "text/x-opml")];
        assert_eq!(ask(api.socket().await, "POST", "/api/v1/opml", &headers, list.as_bytes()).await.status, 200);
        let labels = json!({ "labels": [] });
        api.tell_if("PATCH", &path, labels, kept.header("etag")).await.is_problem(412, "conflict", None);
        assert_eq!(api.get(&path).await.json()["labels"].as_array().unwrap().len(), 3);
        api.stop().await;
    });
}

#[rstest]
fn paging_meets_everybody_once_while_rows_come_and_go(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        api.tell("POST", "/scheduler/pause", Value::Null).await;
        let sources: Vec<Value> =
            (0..50).map(|number| json!({ "url": format!("http://h{number}.example/") })).collect();
        let report = api.tell("POST", "/sources/bulk", json!({ "sources": sources })).await.json();
        assert_eq!((&report["added"], &report["rejected"]), (&json!(50), &json!(0)));
        let (mut met, mut cursor, mut round) = (Vec::new(), String::new(), 0);
        loop {
            let page = api.get(&format!("/sources?limit=7{cursor}")).await.json();
            met.extend(page["items"].as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap()));
            // A source is added, and one that was listed already is removed.
            let url = format!("http://late{round}.example/");
            api.tell("POST", "/sources", json!({ "url": url })).await;
            if round < 3 {
                api.tell("DELETE", &format!("/sources/{}", met[round]), Value::Null).await;
            }
            round += 1;
            match page["next_cursor"].as_str() {
                Some(next) if round < 30 => cursor = format!("&cursor={next}"),
                _ => break,
            }
        }
        let mut once = met.clone();
        once.dedup();
        assert_eq!(once, met, "no source is listed twice");
        assert!(met.len() >= 50 && met.is_sorted());
        api.stop().await;
    });
}

#[rstest]
fn what_makes_no_sense_is_refused_with_its_field(#[values(Sqlite)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        for (body, field) in [
            (json!({}), "url"),
            (json!({ "url": "" }), "url"),
            (json!({ "url": "ftp://a.example/" }), "url"),
            (json!({ "url": 7 }), "url"),
            (json!({ "url": "http://a.example/", "type": "gopher" }), "type"),
            (json!({ "url": "http://a.example/", "poll_interval_minutes": 0 }), "poll_interval_minutes"),
            (json!({ "url": "http://a.example/", "max_failures": -1 }), "max_failures"),
            (json!({ "url": "http://a.example/", "labels": [""] }), "labels"),
            (json!({ "url": "http://a.example/", "colour": "red" }), "colour"),
        ] {
            let answer = api.tell("POST", "/sources", body.clone()).await;
            answer.is_problem(400, "invalid", Some(field));
        }
        api.tell("POST", "/sources/bulk", json!([[]])).await.is_problem(400, "invalid", None);
        let id = api.add_quiet("http://user:secret@a.example/").await;
        let again = api.tell("POST", "/sources", json!({ "url": "http://user:secret@a.example/" })).await;
        again.is_problem(409, "duplicate", Some("url"));
        assert_eq!(again.json()["context"]["source_id"], id);
        let other = api.add_quiet("http://b.example/").await;
        let moved = json!({ "url": "http://user:secret@a.example/" });
        api.tell("PATCH", &format!("/sources/{other}"), moved).await.is_problem(409, "duplicate", Some("url"));
        let seen = api.tell_tcp("GET", &format!("/sources/{id}"), "", Some(&api.token(TokenScope::Read))).await;
        assert_eq!(seen.json()["url"], "http://a.example/", "who may only look sees no password");
        assert_eq!(api.get(&format!("/sources/{id}")).await.json()["url"], "http://user:secret@a.example/");
        api.stop().await;
    });
}

#[rstest]
fn p08_adding_costs_one_request_whose_result_is_used(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api =
            ApiWorld::of(engine, &[SiteBehaviour::Healthy, SiteBehaviour::NotFound, SiteBehaviour::NotAFeed]).await;
        let created = api.tell("POST", "/sources", json!({ "url": api.url(0), "first_poll": true })).await;
        assert_eq!(created.status, 201, "{created:?}");
        let created = created.json();
        assert_eq!(created["first_poll"]["answer"], "done");
        assert_eq!(created["first_poll"]["poll"]["status_code"], 200);
        let id = SourceId(created["source"]["id"].as_i64().unwrap());
        assert_eq!(api.world.web.journal().len(), 1);
        assert_eq!(api.world.store.bodies(id).await, api.world.web.served_entries_of(0));
        for site in [1, 2] {
            let refused = api.tell("POST", "/sources", json!({ "url": api.url(site), "first_poll": true })).await;
            refused.is_problem(422, "source-does-not-work", Some("url"));
            assert_eq!(refused.json()["context"]["poll"]["outcome"], "failed");
        }
        assert_eq!(api.get("/sources").await.json()["items"].as_array().unwrap().len(), 1, "they were not added");
        // No source failed: there is none.
        assert!(api.world.records.of("feed poll failed").is_empty());
        assert_eq!(api.world.handle().statistics().view().failed_total(), 0);
        let refused = api.world.records.of("source not added");
        assert_eq!(refused.len(), 2);
        assert_eq!((&refused[0]["level"], &refused[0]["error_type"]), (&json!("info"), &json!("not_found")));
        assert_eq!((&refused[0]["url"], &refused[0]["status_code"]), (&json!(api.url(1)), &json!(404)));
        let anyway = json!({ "url": api.url(1), "first_poll": true, "anyway": true });
        let added = api.tell("POST", "/sources", anyway).await;
        assert_eq!((added.status, added.json()["source"]["state"].as_str()), (201, Some("backing_off")));
        assert_eq!(api.world.records.of("feed poll failed").len(), 1, "it stays, and has failed");
        assert_eq!(api.world.web.journal().len(), 4);
        api.stop().await;
    });
}

#[rstest]
fn p31_a_host_that_refuses_is_told_and_counted_at_once(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Dead]).await;
        let body = json!({ "url": api.url(0), "first_poll": true });
        let refused = api.tell("POST", "/sources", body.clone()).await;
        refused.is_problem(422, "source-does-not-work", Some("url"));
        let poll = &refused.json()["context"]["poll"];
        assert_eq!((&poll["outcome"], &poll["error_type"]), (&json!("failed"), &json!("network")));
        assert!(poll["next"].as_str().unwrap().ends_with("failures in a row: 1"), "{poll}");
        assert_eq!(api.get("/sources").await.json()["items"], json!([]));
        let anyway = json!({ "url": api.url(0), "first_poll": true, "anyway": true });
        let added = api.tell("POST", "/sources", anyway).await;
        assert_eq!((added.status, added.json()["source"]["state"].as_str()), (201, Some("backing_off")));
        api.stop().await;
    });
}

#[rstest]
fn p20_a_poll_by_hand_obeys_retry_after_and_says_so_unless_forced(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::RateLimited(RetryAfter::Seconds(3600))]).await;
        let body = json!({ "url": api.url(0), "first_poll": true, "anyway": true });
        let id = api.tell("POST", "/sources", body).await.json()["source"]["id"].as_i64().unwrap();
        // What is asked for at the very moment of the last poll has just been done.
        api.world.advance(Duration::from_secs(1));
        let asked = api.tell("POST", &format!("/sources/{id}/poll?wait=5"), Value::Null).await;
        assert_eq!(asked.status, 202, "{asked:?}");
        let reason = asked.json()["reason"].as_str().unwrap().to_owned();
        assert!(reason.contains("Retry-After"), "{reason}");
        assert!(asked.json()["not_before"].as_str().unwrap() > api.world.now().to_string().as_str());
        assert_eq!(api.world.web.journal().len(), 1, "no request was sent");
        let explained = api.get(&format!("/sources/{id}/explain")).await.json();
        assert!(explained["terms"].as_array().unwrap().iter().any(|term| term["decides"] == true), "{explained}");
        assert_eq!(explained["host"]["state"], "held");
        assert_eq!(explained["last_polls"][0]["status_code"], 429);
        let forced = api.tell("POST", &format!("/sources/{id}/poll?wait=20&force=true"), Value::Null).await;
        assert_eq!((forced.status, forced.json()["answer"].as_str()), (200, Some("done")), "{forced:?}");
        assert_eq!(api.world.web.journal().len(), 2);
        let page = api.get(&format!("/sources/{id}/history?limit=1")).await.json();
        assert_eq!((page["items"].as_array().unwrap().len(), &page["items"][0]["status_code"]), (1, &json!(429)));
        let cursor = page["next_cursor"].as_str().unwrap();
        let page = api.get(&format!("/sources/{id}/history?limit=2&cursor={cursor}")).await.json();
        assert_eq!((page["items"].as_array().unwrap().len(), &page["next_cursor"]), (1, &Value::Null), "{page}");
        let hours = api.get("/statistics/hours").await.json();
        let hour = &hours[0];
        assert_eq!((hours.as_array().unwrap().len(), &hour["polls"]), (1, &json!(2)), "{hours}");
        assert_eq!((&hour["outcome"], &hour["error_type"]), (&json!("failed"), &json!("rate_limited")));
        let later = (api.world.now() + Duration::from_secs(3600)).to_string();
        assert_eq!(api.get(&format!("/statistics/hours?since={later}")).await.json(), json!([]));
        api.stop().await;
    });
}

#[rstest]
fn who_waits_for_a_poll_that_cannot_come_in_time_is_told_at_once(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy, SiteBehaviour::Healthy]).await;
        let watch = Stopwatch::start();
        let host = api.world.web.sites()[0].host.clone();
        api.tell("POST", &format!("/hosts/{host}/hold"), json!({ "seconds": 3600, "reason": "be kind" })).await;
        let held = api.tell("POST", "/sources", json!({ "url": api.url(0), "first_poll": true })).await;
        assert_eq!((held.status, &held.json()["first_poll"]["answer"]), (201, &json!("requested")), "{held:?}");
        assert!(held.json()["first_poll"]["reason"].as_str().unwrap().contains("be kind"), "{held:?}");
        assert!(held.json()["first_poll"]["not_before"].is_string(), "{held:?}");
        api.tell("POST", "/scheduler/pause", Value::Null).await;
        let paused = api.tell("POST", "/sources", json!({ "url": api.url(1), "first_poll": true })).await;
        assert_eq!(paused.status, 201, "{paused:?}");
        let id = paused.json()["source"]["id"].clone();
        let polled = api.tell("POST", &format!("/sources/{id}/poll?wait=50"), Value::Null).await;
        let forced = api.tell("POST", &format!("/sources/{id}/poll?wait=50&force=true"), Value::Null).await;
        for answer in [&paused.json()["first_poll"], &polled.json(), &forced.json()] {
            assert_eq!((&answer["answer"], &answer["not_before"]), (&json!("requested"), &Value::Null), "{answer}");
            assert!(answer["reason"].as_str().unwrap().starts_with("polling is paused"), "{answer}");
        }
        assert!(watch.elapsed() < Duration::from_secs(30), "the response did not wait: {:?}", watch.elapsed());
        assert_eq!(api.world.web.journal().len(), 0);
        let explained = api.get(&format!("/sources/{id}/explain")).await.json();
        assert_eq!(explained["held_up_by"][0], polled.json()["reason"], "the same words everywhere");
        api.tell("POST", "/scheduler/resume", Value::Null).await;
        api.world.settled(1).await;
        api.stop().await;
    });
}

#[rstest]
fn s507_the_moment_that_jitter_stores_is_not_shown_as_a_poll(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.dice = Arc::new(HeldDice(0.5));
        let id = world.add_all().await[0];
        let api = ApiWorld::around(world, TokenKey::Secret(SECRET.into()), ApiLimits::default());
        api.world.quiet().await;
        assert!(api.world.source(id).await.state.last_polled.is_some(), "jitter left its mark");
        let path = format!("/sources/{id}");
        for source in [api.get(&path).await.json(), api.get("/sources").await.json()["items"][0].clone()] {
            assert_eq!((&source["first_polled_at"], &source["last_polled"]), (&Value::Null, &Value::Null));
        }
        let explained = api.get(&format!("{path}/explain")).await.json();
        assert!(explained["summary"].as_str().unwrap().contains("first polls are spread"), "{explained}");
        assert_eq!(explained["next_poll_at"], json!(api.world.now() + minutes(30)));
        api.world.advance(minutes(30));
        api.world.settled(1).await;
        assert_eq!(api.get(&path).await.json()["last_polled"], json!(api.world.now()));
        let explained = api.get(&format!("{path}/explain")).await.json();
        assert!(explained["summary"].as_str().unwrap().contains("active source"), "{explained}");
        api.stop().await;
    });
}

#[rstest]
fn sources_are_sorted_by_any_column_and_their_ids_collected(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let mut ids = Vec::new();
        for (url, title) in
            [("http://c.example/", "Beta"), ("http://a.example/", "alpha"), ("http://b.example/", "Gamma")]
        {
            let id = api.add_quiet(url).await;
            api.tell("PATCH", &format!("/sources/{id}"), json!({ "title": title })).await;
            ids.push(id);
        }
        api.tell("POST", &format!("/sources/{}/disable", ids[0]), json!({ "reason": "noise" })).await;
        let (service, all) = (api.world.service(), SourceFilter::default());
        let page = async |key, descending, offset, limit| {
            let found = service.sorted_sources(&all, SourceSort { key, descending }, offset, limit).await.unwrap();
            let places =
                found.sources.iter().map(|details| ids.iter().position(|id| *id == details.source.id.0).unwrap());
            assert!(!found.is_incomplete);
            (places.collect::<Vec<_>>(), found.has_more)
        };
        assert_eq!(page(SourceSortKey::Id, false, 0, 2).await, (vec![0, 1], true));
        assert_eq!(page(SourceSortKey::Id, false, 2, 2).await, (vec![2], false));
        assert_eq!(page(SourceSortKey::Id, true, 0, 9).await, (vec![2, 1, 0], false));
        assert_eq!(page(SourceSortKey::Url, false, 0, 9).await, (vec![1, 2, 0], false));
        assert_eq!(page(SourceSortKey::Title, false, 0, 2).await, (vec![1, 0], true));
        assert_eq!(page(SourceSortKey::Title, true, 1, 9).await, (vec![0, 1], false));
        assert_eq!(page(SourceSortKey::State, true, 0, 1).await, (vec![0], true));
        assert_eq!(page(SourceSortKey::NextPoll, false, 0, 9).await, (vec![1, 2, 0], false), "a disabled one is last");
        let examined = std::cell::Cell::new(0);
        let some = service.collect_source_ids(&all, 2, |count| examined.set(count)).await.unwrap();
        assert_eq!((some.ids.len(), some.is_complete), (2, false));
        let every = service.collect_source_ids(&all, 3, |count| examined.set(count)).await.unwrap();
        assert_eq!((every.ids.len(), every.examined, every.is_complete, examined.get()), (3, 3, true, 3));
        api.stop().await;
    });
}
