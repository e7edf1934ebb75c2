//! Changes: who may make them, and from which pages.

use feedwarden::api::SITE;
use feedwarden::api::tokens::TokenScope;
use serde_json::Value;

use super::DashboardWorld;
use super::browser::REBOUND;
use super::pages::PAGES;
use super::world::FORM;
use crate::pipeline::run;
use crate::store::Engine::Sqlite;

/// Forms of a page that change something: path below the dashboard and content type.
const FORMS: &str = "return [...document.querySelectorAll('form[method=post], button[formaction]')].map((it) => \
                     [new URL(it.getAttribute('formaction') ?? it.getAttribute('action'), location).pathname, \
                     (it.form ?? it).enctype])";

#[test]
fn a_reader_sees_no_buttons_and_changes_nothing() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let visit = world.sign_in(TokenScope::Read).await;
        assert!(visit.text(".who").await.ends_with("(read only)"));
        for page in PAGES {
            visit.open(&world.fill_in(page).await).await;
            let forms = visit.script(FORMS).await;
            let paths: Vec<&str> = forms.as_array().unwrap().iter().map(|form| form[0].as_str().unwrap()).collect();
            assert_eq!(paths, [format!("{SITE}/sign-out")], "{page}");
        }
        let before = world.audit().await;
        // With the right form token, and whether or not the path exists.
        let script = format!(
            "const token = document.querySelector('input[name=form_token]').value; \
             return fetch('{SITE}/sources', {{ method: 'POST', headers: {{ 'Content-Type': '{FORM}' }}, \
             body: 'form_token=' + token }}).then(async (answer) => [answer.status, await answer.text()])"
        );
        let answer = visit.script(&script).await;
        assert_eq!(answer[0], 403, "{answer}");
        assert!(answer[1].as_str().unwrap().contains("may read only"), "{answer}");
        assert_eq!(world.audit().await, before);
        drop(visit);
        world.api.stop().await;
    });
}

/// Walks all pages, collects the forms and sends each without the form token, and with that of another session.
#[test]
fn every_form_needs_the_token_of_its_session() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let visit = world.sign_in(TokenScope::Write).await;
        let mut forms: Vec<(String, String)> = Vec::new();
        for page in PAGES {
            visit.open(&world.fill_in(page).await).await;
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            let found = visit.script(FORMS).await;
            forms.extend(found.as_array().unwrap().iter().map(|form| (text(&form[0]), text(&form[1]))));
        }
        let other = visit.script("return document.querySelector('input[name=form_token]').value").await;
        let other = other.as_str().unwrap();
        drop(visit);
        forms.sort();
        forms.dedup();
        assert!(forms.iter().any(|(path, _)| path.ends_with("/sign-out")), "{forms:?}");
        let cookie = world.cookie(TokenScope::Write).await;
        let before = world.audit().await;
        for (path, kind) in &forms {
            let path = path.strip_prefix(SITE).unwrap();
            for token in [None, Some(""), Some("guess"), Some(other)] {
                let (kind, body) = body(kind, token);
                let answer = world.send("POST", path, &[("Cookie", &cookie), ("Content-Type", kind)], &body).await;
                assert_eq!(answer.status, 403, "{path} with the form token {token:?}: {answer:?}");
                assert!(answer.body.contains("form_token"), "{path}: {answer:?}");
            }
        }
        assert_eq!(world.audit().await, before, "nothing was changed");
        assert_eq!(world.send("GET", "", &[("Cookie", &cookie)], "").await.status, 200, "the session goes on");
        world.api.stop().await;
    });
}

/// A form with this form token only: content type and body.
fn body(kind: &str, token: Option<&str>) -> (&'static str, String) {
    if kind != "multipart/form-data" {
        return (FORM, token.map(|token| format!("form_token={token}")).unwrap_or_default());
    }
    let field = |token: &str| format!("--x\r\nContent-Disposition: form-data; name=\"form_token\"\r\n\r\n{token}\r\n");
    ("multipart/form-data; boundary=x", token.map(field).unwrap_or_default() + "--x--\r\n")
}

#[test]
fn pages_of_other_sites_cannot_act_for_the_reader() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let visit = world.sign_in(TokenScope::Write).await;
        let token = visit.script("return document.querySelector('input[name=form_token]').value").await;
        let (origin, token) = (world.origin(), token.as_str().unwrap().to_owned());
        // Even one that knows the form token.
        let page = format!(
            "data:text/html,<form method=post action={origin}{SITE}/sign-out><input name=form_token value={token}>\
             <button>x</button></form>"
        );
        visit.goto(&page).await;
        visit.click("button").await;
        visit.wait_for_text(".problem", "may not change anything").await;
        visit.open("").await;
        assert_eq!(visit.text("h1").await, "Overview", "still signed in");
        let rebound = origin.replace("127.0.0.1", REBOUND);
        visit.goto(&format!("{rebound}{SITE}")).await;
        visit.wait_for_text(".problem", "does not answer for the host").await;
        assert_eq!(visit.count("nav a").await, 0, "it shows nothing of the daemon");
        drop(visit);
        let cookie = world.cookie(TokenScope::Write).await;
        for foreign in ["https://evil.example", "null", "http://127.0.0.1:1"] {
            let headers = [("Cookie", cookie.as_str()), ("Content-Type", FORM), ("Origin", foreign)];
            let answer = world.send("POST", "/sign-out", &headers, &format!("form_token={token}")).await;
            assert_eq!(answer.status, 403, "{foreign}: {answer:?}");
        }
        world.api.stop().await;
    });
}
