//! What the API shows of a wait that was cut, and of a publisher who seems to have moved (p13, p22).

use feedwarden::demo::web::{Elsewhere, SiteBehaviour};
use feedwarden::model::SourceId;
use rstest::rstest;
use serde_json::{Value, json};

use super::ApiWorld;
use crate::pipeline::run;
use crate::store::Engine::{self, Postgres, Sqlite};

/// Adds the first site as a source, and waits for its first poll.
async fn add(api: &ApiWorld) -> Value {
    let created = api.tell("POST", "/sources", json!({ "url": api.url(0), "first_poll": true })).await;
    assert_eq!(created.status, 201, "{created:?}");
    created.json()["source"]["id"].clone()
}

#[rstest]
fn p13_a_wait_that_is_cut_to_its_ceiling_says_so(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::CacheFor(30 * 86_400)]).await;
        let id = add(&api).await;
        let explained = api.get(&format!("/sources/{id}/explain")).await.json();
        let summary = explained["summary"].as_str().unwrap();
        assert!(summary.ends_with("the last answer is still fresh, cut to the configured ceiling"), "{explained}");
        let polled = api.world.source(SourceId(id.as_i64().unwrap())).await.state.last_polled.unwrap();
        assert_eq!(explained["next_poll_at"], json!(polled + api.world.policy.freshness_max));
        api.stop().await;
    });
}

#[rstest]
fn p22_a_permanent_redirect_is_shown_before_it_is_believed(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Moved(Elsewhere::SameHost)]).await;
        let id = add(&api).await;
        let source = api.get(&format!("/sources/{id}")).await.json();
        assert_eq!(source["url"], api.url(0));
        let target = format!("http://{}:{}/0/moved", api.world.web.hosts()[0], api.world.web.port());
        assert_eq!(source["moved_to"], target);
        api.stop().await;
    });
}

#[rstest]
fn the_reason_for_which_a_person_disabled_or_rested_a_source_is_told(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let id = add(&api).await;
        let summary =
            async || api.get(&format!("/sources/{id}/explain")).await.json()["summary"].as_str().unwrap().to_owned();
        let reason = json!({ "reason": "moved to a newsletter" });
        api.tell("POST", &format!("/sources/{id}/disable"), reason.clone()).await;
        let disabled = "not polled: it is disabled until an operator enables it; reason: moved to a newsletter";
        assert_eq!(summary().await, disabled);
        api.tell("POST", &format!("/sources/{id}/enable"), Value::Null).await;
        api.tell("PATCH", &format!("/sources/{id}/feed-disable"), reason).await;
        assert!(summary().await.ends_with("; reason: moved to a newsletter"), "{}", summary().await);
        api.stop().await;
    });
}
