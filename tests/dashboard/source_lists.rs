//! Actions on many sources, from the list: for chosen rows, and for everything that matches.

use std::time::Duration;

use feedwarden::api::tokens::TokenScope;
use rstest::rstest;
use serde_json::{Value, json};

use super::{DashboardWorld, Visit};
use crate::pipeline::run;
use crate::store::Engine::{self, Postgres, Sqlite};

/// Chooses rows of the list, asks for a preview of an action, and starts it.
async fn act_on_chosen(visit: &Visit, ids: &[i64], action: &str, detail: &str) {
    visit.open("/sources").await;
    for id in ids {
        visit.click(&format!("input[name=id][value='{id}']")).await;
    }
    assert_eq!(visit.text("[data-chosen]").await, format!("{} chosen", ids.len()));
    preview(visit, "chosen", action, detail).await;
    start(visit, ids.len(), action == "remove").await;
}

async fn preview(visit: &Visit, scope: &str, action: &str, detail: &str) {
    visit.choose("#scope", scope).await;
    visit.choose("#action", action).await;
    if !detail.is_empty() {
        visit.fill("#detail", detail).await;
    }
    visit.press_button("Preview").await;
    visit.wait_for_text("main", "Nothing has happened yet").await;
}

async fn start(visit: &Visit, count: usize, is_removal: bool) {
    if is_removal {
        visit.click("input[name=sure]").await;
    }
    visit.press_button("Start").await;
    visit.wait_for_text("p[role=status]", &format!("{count} of {count} sources done, 0 failed")).await;
    let progress = visit.script("const it = document.querySelector('progress'); return it.value === it.max").await;
    assert_eq!(progress, true);
}

#[rstest]
fn every_action_changes_the_chosen_sources_and_no_others(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let world = DashboardWorld::of(engine).await;
        let visit = world.sign_in(TokenScope::Write).await;
        let (chosen, other) = (&world.sources[..2], world.sources[4]);
        let other_state = world.source(other).await["state"].clone();
        let field = async |name: &str| {
            let mut values = Vec::new();
            for id in chosen.iter().chain([&other]) {
                values.push(world.source(*id).await[name].clone());
            }
            Value::from(values)
        };
        visit.open("/sources").await;
        visit.click(&format!("input[name=id][value='{}']", chosen[0])).await;
        preview(&visit, "chosen", "disable", "not yet").await;
        assert_eq!(field("enabled").await, json!([true, true, true]), "a preview changes nothing");

        act_on_chosen(&visit, chosen, "disable", "quiet <week>").await;
        assert_eq!(field("enabled").await, json!([false, false, true]));
        assert_eq!(field("disabled_reason").await, json!(["quiet <week>", "quiet <week>", null]));
        act_on_chosen(&visit, chosen, "enable", "").await;
        assert_eq!(field("enabled").await, json!([true, true, true]));
        act_on_chosen(&visit, chosen, "rest", "holiday").await;
        assert_eq!(field("state").await, json!(["resting", "resting", other_state]));
        act_on_chosen(&visit, chosen, "wake", "").await;
        assert_eq!(field("state").await, json!(["active", "active", other_state]));
        act_on_chosen(&visit, chosen, "add_label", "press").await;
        assert_eq!(field("labels").await, json!([["press"], ["press"], []]));
        act_on_chosen(&visit, chosen, "remove_label", "press").await;
        assert_eq!(field("labels").await, json!([[], [], []]));
        let polls = async |id: i64| {
            world.api.get(&format!("/sources/{id}/history")).await.json()["items"].as_array().unwrap().len()
        };
        let before = polls(chosen[0]).await;
        world.api.world.advance(Duration::from_secs(1));
        act_on_chosen(&visit, chosen, "poll", "").await;
        world.api.world.until("the source was polled", async || polls(chosen[0]).await > before).await;
        act_on_chosen(&visit, chosen, "remove", "").await;
        let left = world.api.get("/sources").await.json();
        assert_eq!(left["items"].as_array().unwrap().len(), 3, "{left}");
        let actions = world.audited_by_browser().await;
        assert_eq!(actions.len(), 8 * chosen.len(), "one record for each change: {actions:?}");
        visit.is_clean(&[401]).await;
        drop(visit);
        world.api.stop().await;
    });
}

#[test]
fn everything_that_matches_is_counted_first_and_then_changed() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let visit = world.sign_in(TokenScope::Write).await;
        world.api.tell("PATCH", &format!("/sources/{}", world.sources[0]), json!({ "add_labels": ["press"] })).await;
        visit.open("/sources").await;
        visit.choose("#label", "press").await;
        visit.press_button("Search").await;
        visit.wait_for_text("ul.chips[aria-label=Filters]", "press").await;
        assert_eq!(visit.count("tbody tr").await, 1);
        preview(&visit, "matching", "add_label", "found").await;
        assert!(visit.text("main").await.contains("1 source would be changed"), "{}", visit.text("main").await);
        start(&visit, 1, false).await;
        assert_eq!(world.source(world.sources[0]).await["labels"], json!(["press", "found"]));
        // Without a filter it is all of them, and the list says so.
        visit.open("/sources").await;
        assert_eq!(visit.text("#scope option[value=matching]").await, "all sources");
        preview(&visit, "matching", "disable", "all").await;
        start(&visit, world.sources.len(), false).await;
        for id in &world.sources {
            assert_eq!(world.source(*id).await["enabled"], false);
        }
        // A preview that is not wanted is cancelled.
        visit.open("/sources").await;
        preview(&visit, "matching", "remove", "").await;
        visit.press_button("Cancel").await;
        visit.wait_for_text(".notice", "cancelled").await;
        assert_eq!(world.api.get("/sources").await.json()["items"].as_array().unwrap().len(), world.sources.len());
        drop(visit);
        world.api.stop().await;
    });
}

#[test]
fn an_action_without_a_choice_or_its_reason_says_what_is_missing() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let visit = world.sign_in(TokenScope::Write).await;
        visit.open("/sources").await;
        visit.press_button("Preview").await;
        visit.wait_for_text(".problem", "hoose a source").await;
        visit.open("/sources").await;
        visit.click(&format!("input[name=id][value='{}']", world.sources[0])).await;
        visit.choose("#action", "rest").await;
        visit.press_button("Preview").await;
        visit.wait_for_text(".problem", "rest needs a reason").await;
        assert!(visit.text("main").await.contains("Nothing was changed"));
        drop(visit);
        world.api.stop().await;
    });
}

#[test]
fn filters_are_in_the_url_and_chips_remove_them() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let visit = world.sign_in(TokenScope::Read).await;
        visit.open("/sources").await;
        visit.choose("#failure", "not_found").await;
        visit.press_button("Search").await;
        visit.wait_for_text("tbody", "not found").await;
        assert!(visit.path().await.contains("failure=not_found"), "{}", visit.path().await);
        assert_eq!(visit.count("tbody tr").await, 1);
        visit.click("ul.chips[aria-label=Filters] a").await;
        visit.wait_until("caption", |text| text.starts_with('5')).await;
        visit.click("th a[href*='sort=url']").await;
        visit.wait_until("th[aria-sort=ascending]", |text| text.contains("URL")).await;
        let first = visit.text("tbody tr td[data-label=URL]").await;
        visit.click("th a[href*='sort=-url']").await;
        visit.wait_until("th[aria-sort=descending]", |text| text.contains("URL")).await;
        assert_ne!(visit.text("tbody tr td[data-label=URL]").await, first);
        drop(visit);
        world.api.stop().await;
    });
}

#[test]
fn a_choice_of_rows_survives_what_happens_meanwhile() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let visit = world.enter().await;
        visit.open("/sources").await;
        visit.wait_for_text("#live-state", "live").await;
        visit.click(&format!("input[name=id][value='{}']", world.sources[1])).await;
        world.publish().await;
        visit.wait_for_text("#live-state", "waiting for chosen rows").await;
        assert_eq!(visit.count("input[name=id]:checked").await, 1);
        visit.script("document.activeElement.blur()").await;
        visit.click(&format!("input[name=id][value='{}']", world.sources[1])).await;
        visit.script("document.activeElement.blur()").await;
        visit.wait_for_text("#live-state", "live").await;
        drop(visit);
        world.api.stop().await;
    });
}
