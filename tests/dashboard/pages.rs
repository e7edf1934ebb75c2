//! What all pages have in common.

use std::collections::BTreeSet;

use feedwarden::api::SITE;
use feedwarden::api::tokens::TokenScope;
use rstest::rstest;

use super::DashboardWorld;
use crate::pipeline::run;
use crate::store::Engine::{self, Postgres, Sqlite};

/// All pages, below the dashboard; `DashboardWorld::fill_in` puts the names of things that exist.
pub(super) const PAGES: &[&str] = &[
    "",
    "/sources",
    "/sources/{source}",
    "/sources/{failing}",
    "/sources/new",
    "/opml",
    "/hosts",
    "/hosts/{host}",
    "/posts",
    "/posts/{post}",
    "/supervision",
    "/webhooks",
    "/webhooks/{webhook}",
    "/fleet",
    "/settings",
    "/audit",
    "/jobs",
    "/jobs/{job}",
];

#[rstest]
fn pages_load_nothing_from_elsewhere_and_break_no_rule(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let world = DashboardWorld::of(engine).await;
        let visit = world.sign_in(TokenScope::Write).await;
        visit.is_clean(&[401]).await;
        for page in PAGES {
            visit.open(&world.fill_in(page).await).await;
            assert_eq!(visit.count("h1").await, 1, "{page}");
            assert_eq!(visit.count("h1 + p.problem[role=alert]").await, 0, "{page}: {}", visit.text("main").await);
            assert_eq!(visit.count("nav a[aria-current=page]").await, 1, "{page}: its section is marked");
            visit.is_clean(&[]).await;
        }
        drop(visit);
        let cookie = world.cookie(TokenScope::Write).await;
        for page in PAGES {
            let answer = world.send("GET", &world.fill_in(page).await, &[("Cookie", &cookie)], "").await;
            let policy = answer.header("content-security-policy").unwrap().to_owned();
            for rule in ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"] {
                assert!(policy.contains(rule), "{page}: {policy}");
            }
            assert!(!policy.contains("unsafe"), "{page}: {policy}");
            assert_eq!(answer.header("cache-control"), Some("no-store"), "{page}");
        }
        world.api.stop().await;
    });
}

#[test]
fn every_link_of_the_navigation_and_of_the_pages_leads_somewhere() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let cookie = world.cookie(TokenScope::Write).await;
        let pattern = regex::Regex::new(&format!("href=\"{SITE}([^\"#]*)")).unwrap();
        let mut seen = BTreeSet::new();
        for page in PAGES {
            let answer = world.send("GET", &world.fill_in(page).await, &[("Cookie", &cookie)], "").await;
            let links: Vec<String> =
                pattern.captures_iter(&answer.body).map(|link| link[1].replace("&amp;", "&")).collect();
            assert!(!links.is_empty(), "{page}");
            for link in links {
                if seen.insert(link.clone()) {
                    let status = world.send("GET", &link, &[("Cookie", &cookie)], "").await.status;
                    assert_eq!(status, 200, "{page} links to {link}");
                }
            }
        }
        assert!(seen.len() > 60, "{seen:?}");
        world.api.stop().await;
    });
}

#[test]
fn an_unknown_page_is_a_page_with_advice() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let visit = world.sign_in(TokenScope::Write).await;
        visit.requests().await;
        visit.open("/nonsense").await;
        assert_eq!(visit.count("p.problem[role=alert]").await, 1);
        visit.wait_for_text("main", "the address is wrong").await;
        visit.is_clean(&[401, 404]).await;
        visit.click("main a").await;
        visit.wait_for_text("h1", "Overview").await;
        drop(visit);
        world.api.stop().await;
    });
}

#[test]
fn pages_work_without_javascript() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let visit = super::Visit::to(&world.origin()).await;
        visit.javascript(false).await;
        visit.open("").await;
        visit.sign_in(&world.api.token(TokenScope::Write)).await;
        visit.wait_for_text("h1", "Overview").await;
        for page in PAGES {
            visit.open(&world.fill_in(page).await).await;
            assert_eq!(visit.count("h1").await, 1, "{page}");
            // WebDriver leaves `noscript` out of the text of an element, though it is shown.
            let footer = visit.script("return document.querySelector('footer').innerText").await;
            assert!(footer.as_str().unwrap().contains("Times are UTC"), "{page}: scripts are off: {footer}");
            assert!(!visit.text(".session").await.contains("Pause updates"), "{page}: only what works is shown");
        }
        // An action on many sources, with its preview.
        visit.open("/sources").await;
        visit.choose("#scope", "matching").await;
        visit.choose("#action", "disable").await;
        visit.press_button("Preview").await;
        visit.wait_for_text("main", "Nothing has happened yet").await;
        visit.press_button("Start").await;
        visit.wait_for_text("p[role=status]", "5 of 5 sources done").await;
        assert_eq!(world.source(world.sources[0]).await["enabled"], false);
        visit.click(".session form button").await;
        visit.wait_for_text("h1", "Sign in").await;
        drop(visit);
        world.api.stop().await;
    });
}

#[test]
fn pages_fit_telephones_and_large_screens() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let visit = world.sign_in(TokenScope::Write).await;
        let wider = "return [...document.querySelectorAll('body *')].filter((it) => \
                     it.getBoundingClientRect().right > innerWidth + 1 && !it.closest('.scroll, .top ul, pre, svg')) \
                     .slice(0, 5).map((it) => it.outerHTML.slice(0, 120))";
        for width in [320, 390, 1280, 2560] {
            visit.width(width).await;
            for page in PAGES.iter().chain(&["/nonsense"]) {
                visit.open(&world.fill_in(page).await).await;
                assert_eq!(visit.script("return innerWidth").await, width);
                let scroll = visit.script("return document.documentElement.scrollWidth").await.as_u64().unwrap();
                assert!(scroll <= width.into(), "{page} at {width}: {scroll} {}", visit.script(wider).await);
            }
        }
        drop(visit);
        world.api.stop().await;
    });
}
