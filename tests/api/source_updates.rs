//! `PATCH /sources/{id}` with `enabled`, and what it refuses (s406).

use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::{
    FailureClass, FailureKind, FailureRun, FailureState, LastFailure, Rest, RestCause, SourceId, SourceState,
};
use feedwarden::store::settings::EngineSettings;
use rstest::rstest;
use serde_json::{Value, json};

use super::ApiWorld;
use crate::pipeline::run;
use crate::store::Engine::{self, Postgres, Sqlite};
use crate::store::connect;

const REASON: &str = "Auto-disabled after 5 consecutive 404 errors";

/// A source as failures left it, whose polling is paused; with its path.
async fn troubled(api: &ApiWorld, enabled: bool) -> (SourceId, String) {
    let id = SourceId(api.add_quiet(&api.url(0)).await);
    let mut source = api.world.source(id).await;
    let last = LastFailure { class: FailureClass::Permanent, kind: FailureKind::NotFound, error: "HTTP 404".into() };
    source.state = SourceState {
        enabled,
        disabled_reason: (!enabled).then(|| REASON.to_owned()),
        first_polled_at: Some(api.world.now()),
        last_polled: Some(api.world.now()),
        failures: FailureState {
            consecutive: 5,
            consecutive_permanent: 5,
            run: Some(FailureRun { kind: FailureKind::NotFound, length: 5 }),
            last: Some(last),
        },
        rest: Some(Rest { since: api.world.now(), cause: RestCause::Failures(FailureKind::NotFound) }),
        ..SourceState::default()
    };
    api.world.store.save_source(source, api.world.now()).await.unwrap();
    (id, format!("/sources/{id}"))
}

#[rstest]
#[case::patch("PATCH", "", json!({ "enabled": true }))]
#[case::action("POST", "/enable", Value::Null)]
fn s406_from_false_to_true_clears_the_failures_and_polls_at_once_by_any_way(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[case] method: &str,
    #[case] action: &str,
    #[case] body: Value,
) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let (id, path) = troubled(&api, false).await;
        api.world.advance(std::time::Duration::from_secs(1));
        let enabled = api.tell(method, &format!("{path}{action}"), body).await;
        assert_eq!(enabled.status, 200, "{enabled:?}");
        let source = enabled.json();
        assert_eq!((&source["enabled"], &source["state"]), (&json!(true), &json!("active")));
        assert_eq!(
            (&source["consecutive_failures"], &source["consecutive_permanent_failures"]),
            (&json!(0), &json!(0))
        );
        for field in ["last_failure_type", "last_error", "disabled_reason", "feed_disabled_at", "feed_disable_reason"] {
            assert_eq!(source[field], Value::Null, "{field}");
        }
        assert_eq!(api.world.source(id).await.state.failures, FailureState::default());
        assert_eq!(api.get(&format!("{path}/explain")).await.json()["is_due"], true);
        api.tell("POST", "/scheduler/resume", Value::Null).await;
        api.world.settled(1).await;
        assert_eq!(api.get(&path).await.json()["last_success_at"], json!(api.world.now()));
        api.stop().await;
    });
}

#[rstest]
fn s406_enabled_and_other_fields_are_one_versioned_change(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let other = api.add_quiet("http://b.example/feed").await;
        let (_, path) = troubled(&api, false).await;
        let before = api.get(&path).await;
        let version = before.json()["version"].as_i64().unwrap();
        // What is refused for one field changes no other.
        let duplicate = json!({ "enabled": true, "url": "http://b.example/feed" });
        api.tell("PATCH", &path, duplicate).await.is_problem(409, "duplicate", Some("url"));
        let wrong = json!({ "enabled": true, "max_failures": 0 });
        api.tell("PATCH", &path, wrong).await.is_problem(400, "invalid", Some("max_failures"));
        let stale = json!({ "enabled": true, "title": "Late" });
        api.tell_if("PATCH", &path, stale, Some("\"1\"")).await.is_problem(412, "conflict", None);
        assert_eq!(api.get(&path).await.json(), before.json());
        let all = json!({ "enabled": true, "title": "Back", "max_failures": 9, "labels": ["news"] });
        let changed = api.tell_if("PATCH", &path, all, before.header("etag")).await;
        let source = changed.json();
        assert_eq!((changed.status, &source["version"]), (200, &json!(version + 1)), "{source}");
        assert_eq!((&source["title"], &source["max_failures"]), (&json!("Back"), &json!(9)));
        assert_eq!((&source["enabled"], &source["labels"]), (&json!(true), &json!(["news"])));
        assert_eq!(source["consecutive_failures"], 0);
        assert_eq!(
            api.get(&format!("/sources/{other}")).await.json()["enabled"],
            true,
            "the other source is unchanged"
        );
        api.stop().await;
    });
}

#[rstest]
fn s406_what_is_enabled_or_disabled_already_is_not_changed(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let (_, path) = troubled(&api, true).await;
        let before = api.get(&path).await;
        let same = api.tell("PATCH", &path, json!({ "enabled": true })).await;
        assert_eq!((same.status, same.json(), same.header("etag")), (200, before.json(), before.header("etag")));
        assert_eq!(same.json()["consecutive_failures"], 5);
        let same = api.tell("POST", &format!("{path}/enable"), Value::Null).await;
        assert_eq!((same.status, same.json()), (200, before.json()));
        let disabled = api.tell("PATCH", &path, json!({ "enabled": false })).await.json();
        assert_eq!((&disabled["enabled"], &disabled["state"]), (&json!(false), &json!("disabled")));
        assert_eq!((&disabled["disabled_reason"], &disabled["consecutive_failures"]), (&Value::Null, &json!(5)));
        api.tell("POST", &format!("{path}/disable"), json!({ "reason": "spam" })).await;
        let same = api.tell("PATCH", &path, json!({ "enabled": false })).await.json();
        assert_eq!(same["disabled_reason"], "spam", "the reason that was given stays");
        api.tell("PATCH", &path, json!({ "enabled": "no" })).await.is_problem(400, "invalid", Some("enabled"));
        api.stop().await;
    });
}

#[rstest]
#[case("consecutive_failures", "POST", "/reset")]
#[case("consecutiveFailures", "POST", "/reset")]
#[case("last_error", "POST", "/reset")]
#[case("feed_disabled_at", "PATCH", "/feed-disable")]
#[case("feed_disable_reason", "PATCH", "/feed-disable")]
#[case("feed-disable-reason", "PATCH", "/feed-disable")]
#[case("feed_active", "PATCH", "/feed-enable")]
#[case("disabled_reason", "POST", "/disable")]
#[case("login", "PUT", "/access")]
#[case("headers", "PUT", "/access")]
#[case("access", "PUT", "/access")]
#[case("last_polled", "POST", "/poll")]
#[case("retry_after", "POST", "/poll?force=true")]
#[case("moved_to", "PATCH", "")]
fn s406_a_field_that_is_changed_elsewhere_is_refused_with_its_endpoint(
    #[case] field: &str,
    #[case] method: &str,
    #[case] path: &str,
) {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let (id, source) = troubled(&api, false).await;
        let before = api.get(&source).await.json();
        let body = json!({ "enabled": true, field: null });
        let refused = api.tell("PATCH", &source, body).await;
        refused.is_problem(400, "invalid", Some(field));
        let (problem, path) = (refused.json(), format!("/api/v1/sources/{id}{path}"));
        let named = format!("{field} cannot be set here; {method} {path} ");
        assert!(problem["detail"].as_str().unwrap().starts_with(&named), "{problem}");
        assert_eq!(problem["context"], json!({ "method": method, "path": path }));
        assert_eq!(api.get(&source).await.json(), before, "and nothing is changed");
        api.stop().await;
    });
}

#[test]
fn s406_a_field_that_is_not_there_is_refused_with_the_one_that_was_meant() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let (_, path) = troubled(&api, false).await;
        for (field, told) in [
            ("enable", "unknown field `enable`; did you mean `enabled`?"),
            ("titel", "unknown field `titel`; did you mean `title`?"),
            ("pollDelaySeconds", "unknown field `pollDelaySeconds`; did you mean `poll_delay_seconds`?"),
            ("max-failures", "unknown field `max-failures`; did you mean `max_failures`?"),
            ("colour", "unknown field `colour`, expected one of "),
            ("created_at", "created_at cannot be changed"),
            ("createdAt", "createdAt cannot be changed"),
            ("id", "id cannot be changed"),
        ] {
            let refused = api.tell("PATCH", &path, json!({ field: 1 })).await;
            refused.is_problem(400, "invalid", Some(field));
            assert!(refused.json()["detail"].as_str().unwrap().starts_with(told), "{}", refused.json());
        }
        api.tell("PATCH", "/sources/99", json!({ "enabled": true })).await.is_problem(404, "not-found", None);
        api.stop().await;
    });
}

#[test]
fn s406_the_document_describes_enabled() {
    let document = feedwarden::api::openapi_document();
    let enabled = &document["components"]["schemas"]["SourceChanges"]["properties"]["enabled"];
    assert_eq!(enabled["type"], json!(["boolean", "null"]));
    assert!(enabled["description"].as_str().unwrap().contains("From false to true"), "{enabled}");
}

/// Another client changes the type while the change is between its reading and its writing.
#[test]
fn a_change_is_checked_on_the_row_that_it_is_written_on() {
    run(async || {
        let api = ApiWorld::of(Postgres, &[SiteBehaviour::Healthy]).await;
        let id = api.add_quiet("https://x.com/nasa").await;
        let EngineSettings::Postgres(engine) = &api.world.store.settings.engine else { unreachable!() };
        let other = connect(&engine.url).await;
        let retype = format!("BEGIN; UPDATE sources SET type = 'rss', version = version + 1 WHERE id = {id}");
        other.batch_execute(&retype).await.unwrap();
        let path = format!("/sources/{id}");
        let patch = api.tell("PATCH", &path, json!({ "url": "esa" }));
        let commit_once_it_waits = async {
            let waiting = "SELECT count(*) FROM pg_stat_activity \
                           WHERE datname = current_database() AND wait_event_type = 'Lock'";
            let watch = connect(&engine.url).await;
            while watch.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) == 0 {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            other.batch_execute("COMMIT").await.unwrap();
        };
        let (patched, ()) = futures_util::join!(patch, commit_once_it_waits);
        // A bare name is a URL of an X account, and the source is none any more.
        patched.is_problem(400, "invalid", Some("url"));
        assert_eq!(api.get(&path).await.json()["url"], "https://x.com/nasa");
        api.stop().await;
    });
}
