//! Serious faults by the rules of axe-core, in light and dark.

use feedwarden::api::tokens::TokenScope;

use super::DashboardWorld;
use super::pages::PAGES;
use crate::pipeline::run;
use crate::store::Engine::Sqlite;

#[test]
fn pages_have_no_serious_faults_in_light_and_dark() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let visit = world.sign_in(TokenScope::Write).await;
        let mut faults = Vec::new();
        for is_dark in [false, true] {
            visit.dark(is_dark).await;
            let colour = "return getComputedStyle(document.documentElement).backgroundColor";
            let background = visit.script(colour).await.to_string();
            assert_eq!(background.contains("rgb(246"), !is_dark, "{background}");
            for (width, pages) in [(1280, PAGES), (390, PAGES), (1280, &["/nonsense"])] {
                visit.width(width).await;
                for page in pages {
                    visit.open(&world.fill_in(page).await).await;
                    // With everything that can be opened.
                    visit.script("for (const it of document.querySelectorAll('details')) it.open = true").await;
                    let found = visit.accessibility_faults().await.into_iter();
                    faults.extend(found.map(|fault| format!("{page:?}, {width} px, dark {is_dark}: {fault}")));
                }
            }
        }
        visit.click(".session form button").await;
        visit.wait_for_text("h1", "Sign in").await;
        faults.extend(visit.accessibility_faults().await.into_iter().map(|fault| format!("sign-in: {fault}")));
        assert!(faults.is_empty(), "{}", faults.join("\n\n"));
        drop(visit);
        world.api.stop().await;
    });
}
