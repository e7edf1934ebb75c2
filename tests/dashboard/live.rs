//! Pages that follow what happens.

use rstest::rstest;

use super::DashboardWorld;
use crate::pipeline::run;
use crate::store::Engine::{self, Postgres, Sqlite};

/// The number of posts on the overview.
const POSTS: &str = ".tiles a[href='/dashboard/posts'] .value";

#[rstest]
fn a_stored_post_appears_without_a_reload(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let world = DashboardWorld::of(engine).await;
        let visit = world.enter().await;
        visit.wait_for_text("#live-state", "live").await;
        let before: u32 = visit.text(POSTS).await.parse().unwrap();
        visit.script("window.unchanged = true; document.querySelector('#polls-day-table').open = true").await;
        world.publish().await;
        visit.wait_until(POSTS, |text| text == (before + 1).to_string()).await;
        assert_eq!(visit.script("return window.unchanged").await, true, "the page was not loaded again");
        assert_eq!(visit.script("return document.querySelector('#polls-day-table').open").await, true);
        visit.is_clean(&[]).await;
        drop(visit);
        world.api.stop().await;
    });
}

#[test]
fn the_focus_and_what_is_open_survive_an_update() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let visit = world.enter().await;
        visit.wait_for_text("#live-state", "live").await;
        let before: u32 = visit.text(POSTS).await.parse().unwrap();
        visit.script("document.querySelector('#posts-week-table').open = true").await;
        visit.script("document.querySelector(\".tiles a[href='/dashboard/hosts']\").focus()").await;
        world.publish().await;
        visit.wait_until(POSTS, |text| text == (before + 1).to_string()).await;
        assert_eq!(visit.script("return document.activeElement.getAttribute('href')").await, "/dashboard/hosts");
        assert_eq!(visit.script("return document.querySelector('#posts-week-table').open").await, true);
        drop(visit);
        world.api.stop().await;
    });
}

#[test]
fn updates_wait_for_a_selection_and_for_a_pause() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let visit = world.enter().await;
        visit.wait_for_text("#live-state", "live").await;
        let before: u32 = visit.text(POSTS).await.parse().unwrap();
        visit.script("getSelection().selectAllChildren(document.querySelector('.verdict'))").await;
        world.publish().await;
        visit.wait_for_text("#live-state", "waiting for a selection").await;
        assert_eq!(visit.text(POSTS).await, before.to_string());
        assert_ne!(visit.script("return getSelection().toString()").await, "", "the selection is still there");
        visit.script("getSelection().removeAllRanges()").await;
        visit.wait_until(POSTS, |text| text == (before + 1).to_string()).await;
        visit.click("#live-pause").await;
        visit.wait_for_text("#live-state", "paused").await;
        visit.requests().await;
        world.publish().await;
        // The stream tells of it; the page loads nothing.
        tokio::time::sleep(std::time::Duration::from_secs(3)).await;
        assert_eq!(visit.requests().await, Vec::<String>::new());
        visit.click("#live-pause").await;
        visit.wait_until(POSTS, |text| text == (before + 2).to_string()).await;
        drop(visit);
        world.api.stop().await;
    });
}
