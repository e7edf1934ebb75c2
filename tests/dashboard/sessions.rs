//! Ways into the dashboard and out of it.

use std::time::Duration;

use feedwarden::api::SITE;
use feedwarden::api::tokens::TokenScope;
use rstest::rstest;

use super::world::FORM;
use super::{DashboardWorld, Visit};
use crate::pipeline::run;
use crate::store::Engine::{self, Postgres, Sqlite};

#[rstest]
fn a_token_opens_a_session_and_signing_out_ends_it(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let world = DashboardWorld::of(engine).await;
        let visit = Visit::to(&world.origin()).await;
        visit.open("").await;
        assert_eq!(visit.text("h1").await, "Sign in");
        assert_eq!(visit.count(".problem").await, 0, "nothing has gone wrong yet");
        visit.sign_in("nonsense").await;
        visit.wait_for_text(".problem[role=alert]", "token").await;
        visit.sign_in(&world.api.token(TokenScope::Write)).await;
        visit.wait_for_text("h1", "Overview").await;
        assert!(visit.text(".who").await.contains("ada"));
        visit.is_clean(&[401]).await;
        let secret = visit.cookies().await[0].to_string();
        visit.click(".session form button").await;
        visit.wait_for_text("h1", "Sign in").await;
        assert!(visit.cookies().await.is_empty());
        visit.open("").await;
        assert_eq!(visit.text("h1").await, "Sign in");
        // The cookie is worthless, whoever kept it.
        let (_, secret) = secret.split(';').next().unwrap().split_once('=').unwrap();
        let cookie = format!("feedwarden-session={secret}");
        assert_eq!(world.send("GET", "", &[("Cookie", &cookie)], "").await.status, 401);
        drop(visit);
        world.api.stop().await;
    });
}

#[test]
fn the_form_token_comes_back_after_a_wrong_one_and_an_expired_token_is_named() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let old = world.api.token(TokenScope::Write);
        world.api.world.advance(Duration::from_secs(3601));
        let visit = Visit::to(&world.origin()).await;
        visit.open("?from=here").await;
        visit.sign_in(&old).await;
        visit.wait_for_text(".problem[role=alert]", "expired").await;
        visit.sign_in(&world.api.token(TokenScope::Read)).await;
        visit.wait_for_text("h1", "Overview").await;
        assert_eq!(visit.path().await, format!("{SITE}?from=here"), "the page that was asked for first");
        drop(visit);
        world.api.stop().await;
    });
}

#[test]
fn a_session_that_ends_says_so_and_the_next_one_returns_to_the_page() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let visit = world.sign_in(TokenScope::Write).await;
        visit.open("/?from=here").await;
        visit.wait_for_text("#live-state", "live").await;
        world.api.world.advance(Duration::from_secs(3601));
        // Nobody touches the page: it learns of it by its stream.
        visit.wait_for_text(".problem[role=alert]", "Your session has ended").await;
        visit.sign_in(&world.api.token(TokenScope::Write)).await;
        visit.wait_for_text("h1", "Overview").await;
        assert_eq!(visit.path().await, format!("{SITE}/?from=here"));
        visit.is_clean(&[401]).await;
        drop(visit);
        world.api.stop().await;
    });
}

#[test]
fn a_link_is_good_once_and_for_two_minutes_and_its_session_for_twelve_hours() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let (link, late) = (world.link().await, world.link().await);
        let visit = Visit::to(link.split_once(SITE).unwrap().0).await;
        visit.goto(&link).await;
        visit.wait_for_text("h1", "Overview").await;
        assert_eq!(visit.path().await, SITE, "the code is not left in the address");
        visit.goto(&link).await;
        visit.wait_for_text(".problem", "used already").await;
        world.api.world.advance(Duration::from_secs(121));
        visit.goto(&late).await;
        visit.wait_for_text(".problem", "too old").await;
        visit.open("").await;
        assert_eq!(visit.text("h1").await, "Overview", "the session of the first link goes on");
        world.api.world.advance(Duration::from_secs(12 * 3600));
        visit.open("").await;
        visit.wait_for_text(".problem", "Your session has ended").await;
        drop(visit);
        world.api.stop().await;
    });
}

#[test]
fn the_cookie_stays_with_the_pages_of_the_dashboard() {
    run(async || {
        let mut world = DashboardWorld::of(Sqlite).await;
        let visit = world.sign_in(TokenScope::Write).await;
        let cookies = visit.cookies().await;
        assert_eq!(cookies.len(), 1, "{cookies:?}");
        let cookie = &cookies[0];
        assert_eq!((cookie.http_only(), cookie.path()), (Some(true), Some(SITE)), "{cookie}");
        assert_eq!(cookie.same_site().map(|it| it.to_string()).as_deref(), Some("Strict"), "{cookie}");
        assert_ne!(cookie.secure(), Some(true), "over plain HTTP the browser would not send it back");
        assert_eq!(visit.script("return document.cookie").await, "");
        drop(visit);
        let body = format!("token={}", world.api.token(TokenScope::Write));
        let https = [("Content-Type", FORM), ("X-Forwarded-Proto", "https"), ("X-Forwarded-For", "192.0.2.7")];
        let set = async |world: &DashboardWorld, headers: &[(&str, &str)]| {
            let answer = world.send("POST", "/sign-in", headers, &body).await;
            answer.header("set-cookie").unwrap_or_else(|| panic!("{answer:?}")).to_owned()
        };
        assert!(!set(&world, &https).await.contains("Secure"), "anybody can send the header");
        world.api.reload(|settings| settings.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()]);
        let cookie = set(&world, &https).await;
        assert!(cookie.contains("; Secure"), "{cookie}");
        let plain = set(&world, &[("Content-Type", FORM), ("X-Forwarded-Proto", "http")]).await;
        assert!(!plain.contains("Secure"), "{plain}");
        world.api.stop().await;
    });
}

#[test]
fn only_pages_of_the_dashboard_are_returned_to() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let token = world.api.token(TokenScope::Read);
        for next in ["https://evil.example", "//evil.example", "/dashboardx", "/dashboard\\..", "/api/v1/status", ""] {
            let next = url::form_urlencoded::byte_serialize(next.as_bytes()).collect::<String>();
            let body = format!("token={token}&next={next}");
            let answer = world.send("POST", "/sign-in", &[("Content-Type", FORM)], &body).await;
            assert_eq!((answer.status, answer.header("location")), (303, Some(SITE)), "{next}");
        }
        world.api.stop().await;
    });
}
