//! What a user does with hosts, webhooks, settings and injected faults.

use feedwarden::api::tokens::TokenScope;
use feedwarden::model::{HostKey, HostState};
use serde_json::{Value, json};
use std::time::Duration;

use super::DashboardWorld;
use crate::pipeline::{Receiver, run};
use crate::store::Engine::Sqlite;

#[test]
fn a_host_is_held_released_and_its_breaker_reset() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let mut open = HostState::new(HostKey::from_canonical("b.example"));
        (open.breaker.failures, open.breaker.open_until) = (7, Some(world.api.world.now() + Duration::from_secs(600)));
        world.api.world.store.record_hosts(vec![open]).await.unwrap();
        let visit = world.sign_in(TokenScope::Write).await;
        let state = async |host: &str| world.api.get(&format!("/hosts/{host}")).await.json()["state"].clone();
        let host = world.fill_in("{host}").await;
        visit.open("/hosts").await;
        visit.click(&format!("td a[href$='/hosts/{host}']")).await;
        visit.wait_for_text("h1", &host).await;
        visit.fill("#hold-length", "2").await;
        visit.choose("#hold-unit", "hours").await;
        visit.fill("#hold-reason", "they asked by mail").await;
        visit.press_button("Hold").await;
        visit.wait_for_text(".notice", "The host is held.").await;
        assert_eq!(state(&host).await, "held");
        visit.open("").await;
        visit.wait_for_text("main", "they asked by mail").await;
        visit.open(&format!("/hosts/{host}")).await;
        visit.press_button("Release").await;
        visit.wait_for_text(".notice", "The hold has ended.").await;
        assert_eq!(state(&host).await, "available");
        world.api.tell("POST", &format!("/sources/{}/disable", world.sources[0]), json!({ "reason": "noise" })).await;
        visit.open(&format!("/hosts/{host}")).await;
        visit.press_button("Enable all its disabled sources").await;
        visit.wait_for_text(".notice", "1 source was enabled.").await;
        assert_eq!(world.source(world.sources[0]).await["enabled"], true);
        assert_eq!(state("b.example").await, "breaker_open");
        visit.open("/hosts/b.example").await;
        visit.press_button("Reset the breaker").await;
        visit.wait_for_text(".notice", "The breaker is closed.").await;
        assert_eq!(state("b.example").await, "available");
        let actions = ["host.reset-breaker", "host.enable-sources", "host.release", "host.hold"];
        assert_eq!(world.audited_by_browser().await, actions);
        visit.is_clean(&[401]).await;
        drop(visit);
        world.api.stop().await;
    });
}

#[test]
fn webhooks_are_added_changed_tested_switched_and_removed() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let receiver = Receiver::start(&[]).await;
        let visit = world.sign_in(TokenScope::Write).await;
        visit.open("/webhooks").await;
        visit.fill("#add #url", &receiver.url()).await;
        visit.fill("#add #label", "press").await;
        visit.press_button("Add").await;
        visit.wait_for_text("h1", "Webhook added").await;
        let secret = visit.text("pre").await;
        assert!(secret.len() >= 16, "{secret}");
        visit.click("main a").await;
        visit.wait_for_text("h1", "Webhook ").await;
        assert!(!visit.source().await.contains(&secret), "it is shown once");
        let path = visit.path().await.strip_prefix("/dashboard").unwrap().to_owned();
        let field = async |name: &str| world.api.get(&path).await.json()[name].clone();
        assert_eq!(field("label").await, "press");
        visit.press_button("Send a test delivery").await;
        visit.wait_for_text(".notice", "The receiver accepted the test delivery.").await;
        visit.fill("#label", "daily").await;
        visit.press_button("Change").await;
        visit.wait_for_text(".notice", "The webhook was changed.").await;
        assert_eq!(field("label").await, "daily");
        visit.fill("#reason", "moves").await;
        visit.press_button("Disable").await;
        visit.wait_for_text(".notice", "The webhook is disabled.").await;
        assert_eq!(field("enabled").await, false);
        visit.press_button("Enable").await;
        visit.wait_for_text(".notice", "The webhook is enabled.").await;
        assert_eq!(field("enabled").await, true);
        visit.click("input[name=confirmed]").await;
        visit.press_button("Remove").await;
        visit.wait_for_text(".notice", "The webhook was removed.").await;
        assert_eq!(world.api.get(&path).await.status, 404);
        let actions = ["remove", "enable", "disable", "edit", "test", "add"].map(|name| format!("webhook.{name}"));
        assert_eq!(world.audited_by_browser().await, actions);
        visit.is_clean(&[401]).await;
        drop(visit);
        world.api.stop().await;
    });
}

#[test]
fn polling_is_paused_and_resumed_and_the_log_level_and_the_configuration_change() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let visit = world.sign_in(TokenScope::Write).await;
        let paused = async || world.api.get("/scheduler").await.json()["is_paused"].clone();
        visit.open("/settings").await;
        visit.press_button("Pause polling").await;
        visit.wait_for_text(".notice", "Polling is paused.").await;
        assert_eq!(paused().await, true);
        visit.open("").await;
        visit.wait_for_text(".verdict", "paused").await;
        visit.open("/settings").await;
        visit.press_button("Resume polling").await;
        visit.wait_for_text(".notice", "Polling goes on.").await;
        assert_eq!(paused().await, false);
        visit.choose("#level", "debug").await;
        visit.press_button("Change").await;
        visit.wait_for_text(".notice", "The log level is debug.").await;
        assert_eq!(world.api.get("/log-level").await.json()["level"], "debug");
        visit.press_button("Reload the configuration").await;
        visit.wait_for_text(".notice", "no value changed").await;
        let actions = ["settings.reload", "log.level", "polling.resume", "polling.pause"];
        assert_eq!(world.audited_by_browser().await, actions);
        drop(visit);
        world.api.stop().await;
    });
}

#[test]
fn an_injected_fault_crashes_an_actor_and_the_tree_shows_it() {
    run(async || {
        let world = DashboardWorld::with(Sqlite, |world| world.settings.faults.is_enabled = true).await;
        let visit = world.enter().await;
        visit.open("/supervision").await;
        visit.wait_for_text("#live-state", "live").await;
        visit.fill("#fault-rules", "post-sink/PollSucceeded=panic@1").await;
        visit.click("#faults button[type=submit]").await;
        visit.wait_for_text("#faults", "post-sink/PollSucceeded=panic@1").await;
        assert_eq!(world.api.get("/faults").await.json()["rules"], json!(["post-sink/PollSucceeded=panic@1"]));
        assert_eq!(world.api.get("/faults").await.json()["is_enabled"], true);
        world.api.world.web.publish(0, 1);
        world.api.world.advance(Duration::from_secs(1));
        let path = format!("/sources/{}/poll?force=true", world.sources[0]);
        let asked = world.api.tell("POST", &path, Value::Null).await;
        assert!(asked.status < 300, "{asked:?}");
        visit.wait_for_text("#tree", "Last crash").await;
        visit.wait_for_text("#tree", "src/actors/faults.rs").await;
        visit.click("#tree details summary").await;
        visit.wait_for_text("#tree details pre", "faults").await;
        visit.click("#faults input[type=checkbox]").await;
        visit.click("#faults button[type=submit]").await;
        visit.wait_for_text("#faults", "off").await;
        assert_eq!(world.api.get("/faults").await.json()["is_enabled"], false);
        drop(visit);
        world.api.stop().await;
    });
}
