//! Forced polls: every one is made in spite of holds, however many there are and whatever crashes on the way (p20).

use std::sync::Arc;
use std::time::Duration;

use feedwarden::actors::FaultSettings;
use feedwarden::api::settings::{ApiLimits, TokenKey};
use feedwarden::demo::web::{Mix, SiteBehaviour, WebSettings};
use feedwarden::dice::HeldDice;
use feedwarden::model::{HostState, SourceId, Timestamp};
use feedwarden::rules::host_key::host_key;
use feedwarden::rules::hours;
use rstest::rstest;
use serde_json::Value;

use super::ApiWorld;
use super::world::SECRET;
use crate::pipeline::{World, run};
use crate::store::Engine::Sqlite;

/// Adds a source for every site and holds every host, before anything runs. Returns the end of the holds.
async fn hold_all(world: &mut World) -> (Vec<SourceId>, Timestamp) {
    // First polls come half an interval after the start: before that, only what is forced is polled.
    world.dice = Arc::new(HeldDice(0.5));
    let until = world.now() + hours(5);
    let held = world.web.sites().iter().map(|site| {
        let host = HostState::new(host_key(&site.url).unwrap());
        HostState { held_until: Some(until), held_reason: Some("for a test".into()), ..host }
    });
    world.store.record_hosts(held.collect()).await.unwrap();
    (world.add_all().await, until)
}

/// Starts pipeline and API a little later: a request at the moment of the last poll is no request.
async fn open(world: World) -> ApiWorld {
    let api = ApiWorld::around(world, TokenKey::Secret(SECRET.into()), ApiLimits::default());
    api.world.quiet().await;
    api.world.advance(Duration::from_secs(1));
    api
}

async fn force(api: &ApiWorld, id: SourceId) {
    let answer = api.tell("POST", &format!("/sources/{id}/poll?force=true"), Value::Null).await;
    assert_eq!(answer.status, 202, "{answer:?}");
}

#[test]
fn p20_a_thousand_forced_polls_at_once_are_all_made_in_spite_of_holds() {
    const SITES: usize = 1100;
    run(async || {
        let mix = Mix::InTurn(vec![SiteBehaviour::Healthy]);
        let mut world =
            World::with(Sqlite, WebSettings { hosts: 8, sites: SITES, mix, ..WebSettings::default() }).await;
        let (ids, until) = hold_all(&mut world).await;
        let api = open(world).await;
        api.tell("POST", "/scheduler/pause", Value::Null).await;
        for id in ids {
            force(&api, id).await;
        }
        api.tell("POST", "/scheduler/resume", Value::Null).await;
        api.world.settled(SITES as u64).await;
        assert_eq!(api.world.web.journal().len(), SITES);
        assert!(api.world.now() < until, "the hosts are still held");
        api.stop().await;
    });
}

#[rstest]
fn p20_a_forced_poll_is_made_whatever_crashes_on_its_way(
    #[values(
        "scheduler/SourcesChanged=panic@1",
        "scheduler/PollCompleted=panic@1",
        "host/PollSource=panic@1",
        "host/PollSource=drop@1",
        "host/FetchFinished=panic@1",
        "fetch/FetchSource=panic@1",
        "post-sink/PollSucceeded=panic@1",
        "post-sink/PollSucceeded=drop@1"
    )]
    fault: &str,
) {
    run(async || {
        let mut world = World::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let faults = vec![fault.parse().unwrap()];
        world.settings.faults = FaultSettings { is_enabled: true, seed: 1, limit: Some(1), faults };
        let (ids, until) = hold_all(&mut world).await;
        let api = open(world).await;
        force(&api, ids[0]).await;
        // A poll that was lost is made again about a minute later.
        let is_polled = async || {
            api.world.advance(Duration::from_secs(1));
            !api.world.records.of("source polled").is_empty()
        };
        api.world.until("the source is polled", is_polled).await;
        assert!(api.world.now() < until, "the host is still held");
        assert_eq!(api.world.handle().faults(), 1);
        api.stop().await;
    });
}
