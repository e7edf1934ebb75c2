//! The dashboard without a mouse.

use fantoccini::key::Key;
use feedwarden::api::tokens::TokenScope;

use super::DashboardWorld;
use super::pages::PAGES;
use crate::pipeline::run;
use crate::store::Engine::Sqlite;

/// More than any page has.
const STOPS_MAX: usize = 400;
/// What the reader can operate and see, numbered.
const NUMBER: &str = "const found = [...document.querySelectorAll('a[href], button, input, select, textarea, summary')] \
                      .filter((it) => it.type !== 'hidden' && !it.disabled && !it.closest('[hidden]') && \
                      (it.classList.contains('skip') || it.checkVisibility())); \
                      found.forEach((it, place) => { it.dataset.place = place; }); return found.length";
const FOCUSED: &str = "const it = document.activeElement; return it.dataset.place ?? null";

#[test]
fn the_tab_key_reaches_everything_and_the_way_to_the_content_first() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let visit = world.sign_in(TokenScope::Write).await;
        for page in PAGES {
            visit.open(&world.fill_in(page).await).await;
            // A live part that is replaced would lose its numbers.
            visit.click("#live-pause:not([hidden]), .brand ~ *, h1").await;
            visit.script("document.activeElement.blur(); getSelection().removeAllRanges(); scrollTo(0, 0)").await;
            let count = visit.script(NUMBER).await.as_u64().unwrap();
            assert!(count > 5, "{page}: {count}");
            let mut reached = Vec::new();
            for _ in 0..STOPS_MAX {
                visit.press(Key::Tab).await;
                match visit.script(FOCUSED).await.as_str() {
                    Some(place) if reached.iter().any(|it| it == place) => break,
                    Some(place) => reached.push(place.to_owned()),
                    // Areas that scroll take the focus, too.
                    None if visit.script("return document.activeElement === document.body").await == true => break,
                    None => {}
                }
            }
            let missed: Vec<u64> = (0..count).filter(|place| !reached.contains(&place.to_string())).collect();
            let script =
                format!("return {missed:?}.map((it) => document.querySelector(`[data-place='${{it}}']`).outerHTML)");
            assert!(missed.is_empty(), "{page}: {}", visit.script(&script).await);
        }
        drop(visit);
        world.api.stop().await;
    });
}

#[test]
fn the_first_stop_leads_to_the_content() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let visit = world.sign_in(TokenScope::Write).await;
        for page in PAGES {
            visit.open(&world.fill_in(page).await).await;
            visit.press(Key::Tab).await;
            assert_eq!(visit.script("return document.activeElement.textContent").await, "Skip to content", "{page}");
            let seen = "return document.activeElement.getBoundingClientRect().left >= 0";
            assert_eq!(visit.script(seen).await, true, "{page}: it is visible while it has the focus");
            visit.press(Key::Enter).await;
            assert_eq!(visit.script("return document.activeElement.id").await, "main", "{page}");
        }
        drop(visit);
        world.api.stop().await;
    });
}
