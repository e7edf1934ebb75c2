//! Pages of the dashboard over the admin socket: hosts, supervision and fleet. They show what is stored, and their forms
//! change it.

use std::time::Duration;

use feedwarden::actors::FaultSettings;
use feedwarden::api::settings::{ApiLimits, TokenKey};
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::{HostKey, HostState, RobotsRecord};
use serde_json::{Value, json};
use url::form_urlencoded;

use crate::api::{Answer, ApiWorld, SECRET, ask};
use crate::pipeline::{World, run};
use crate::store::Engine::Sqlite;

/// Characters that a URL may have in its host, and that HTML gives a meaning.
const HOSTILE_HOST: &str = "a\"onfocus='x'&lt;.example";

async fn world() -> ApiWorld {
    ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await
}

async fn page(api: &ApiWorld, path: &str) -> String {
    let answer = ask(api.socket().await, "GET", &format!("/dashboard{path}"), &[], b"").await;
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    for never in [" style=", "<style", "onclick", "<script>"] {
        assert!(!answer.body.contains(never), "{never} in {path}: {}", answer.body);
    }
    answer.body
}

/// The page has these texts.
async fn shows(api: &ApiWorld, path: &str, texts: &[&str]) -> String {
    let page = page(api, path).await;
    for text in texts {
        assert!(page.contains(text), "{path} lacks {text:?}: {page}");
    }
    page
}

/// The page has these texts, at the latest when its counts are no longer kept.
async fn comes(api: &ApiWorld, path: &str, texts: &[&str]) {
    let has_all = async || {
        let page = page(api, path).await;
        texts.iter().all(|text| page.contains(text))
    };
    api.world.until(&format!("{texts:?}"), has_all).await;
}

async fn post(api: &ApiWorld, path: &str, fields: &[(&str, &str)]) -> Answer {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let headers = [("Content-Type", "application/x-www-form-urlencoded")];
    ask(api.socket().await, "POST", &format!("/dashboard{path}"), &headers, body.as_bytes()).await
}

/// Sends a form whose answer leads to this page.
async fn act(api: &ApiWorld, path: &str, fields: &[(&str, &str)], target: &str) {
    let answer = post(api, path, fields).await;
    assert_eq!(answer.status, 303, "{answer:?}");
    let location = answer.header("location").unwrap();
    assert!(location.starts_with(&format!("/dashboard{target}?notice=")), "{location}");
}

/// Actions of the audit records about one kind of thing, newest first.
async fn audited(api: &ApiWorld, target: &str) -> Vec<String> {
    let found = api.get(&format!("/audit?target={target}")).await.json();
    let records = found["items"].as_array().unwrap().clone();
    records.iter().map(|record| record["action"].as_str().unwrap().to_owned()).collect()
}

async fn hold(api: &ApiWorld, host: &str, reason: &str) {
    let encoded: String = form_urlencoded::byte_serialize(host.as_bytes()).collect();
    let body = json!({ "seconds": 3600, "reason": reason });
    let held = api.tell("POST", &format!("/hosts/{encoded}/hold"), body).await;
    assert_eq!(held.status, 200, "{held:?}");
}

/// The path of a host's page.
fn host_path(host: &str) -> String {
    format!("/hosts/{}", form_urlencoded::byte_serialize(host.as_bytes()).collect::<String>())
}

#[test]
fn hosts_are_listed_filtered_and_found_by_their_beginning() {
    run(async || {
        let api = world().await;
        shows(&api, "/hosts", &["No host is known yet"]).await;
        shows(&api, "/hosts?state=held", &["No host is held."]).await;
        hold(&api, "news.example", "they asked by mail").await;
        let mut open = HostState::new(HostKey::from_canonical("dead.example"));
        open.breaker.failures = 7;
        open.breaker.open_until = Some(api.world.now() + Duration::from_secs(600));
        api.world.store.record_hosts(vec![open]).await.unwrap();
        let all = ["news.example", "they asked by mail", "dead.example", "breaker open", "requests without a response"];
        shows(&api, "/hosts", &all).await;
        let held = shows(&api, "/hosts?state=held", &["news.example", "they asked by mail"]).await;
        assert!(!held.contains("dead.example"), "{held}");
        let found = shows(&api, "/hosts?prefix=DEAD", &["dead.example"]).await;
        assert!(!found.contains("news.example"), "{found}");
        shows(&api, "/hosts?prefix=news.example", &["news.example"]).await;
        shows(&api, "/hosts?prefix=x", &["No host has a name that begins so."]).await;
        let wrong = ask(api.socket().await, "GET", "/dashboard/hosts?state=odd", &[], b"").await;
        assert_eq!(wrong.status, 400, "{wrong:?}");
        // The overview names them too.
        shows(&api, "", &["news.example", "they asked by mail"]).await;
        api.stop().await;
    });
}

#[test]
fn the_overview_says_what_needs_a_person_and_what_does_not() {
    run(async || {
        let api =
            ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy, SiteBehaviour::NotFound, SiteBehaviour::Healthy]).await;
        comes(&api, "", &["Everything is well", "verdict good"]).await;
        for (site, polls) in [(1, 1), (0, 2), (2, 3)] {
            api.tell("POST", "/sources", json!({ "url": api.url(site) })).await;
            api.world.settled(polls).await;
            let expected: &[&str] = match polls {
                1 => &["verdict warn", "Ready, but one thing needs you", "1 source fails"],
                2 => &["verdict good", "Nothing needs you", "1 source fails", "recover by themselves"],
                _ => &["verdict good", "Nothing needs you"],
            };
            comes(&api, "", expected).await;
        }
        hold(&api, "a.example", "moves").await;
        comes(&api, "", &["Nothing needs you", "1 host is held"]).await;
        // Hosts are forgotten by the pipeline when they are idle, and stay held.
        api.world.advance(Duration::from_secs(600));
        comes(&api, "", &["1 host is held"]).await;
        shows(&api, "/hosts", &["Held <data value=\"1\""]).await;
        api.tell("POST", "/sources/1/disable", json!({ "reason": "noise <b>" })).await;
        comes(&api, "", &["Ready, but one thing needs you", "1 source is disabled", "noise &lt;b&gt;"]).await;
        api.stop().await;
    });
}

#[test]
fn many_hosts_are_listed_page_by_page() {
    run(async || {
        let api = world().await;
        let hosts = (0..101).map(|place| HostState::new(HostKey::from_canonical(&format!("h{place:03}.example"))));
        api.world.store.record_hosts(hosts.collect()).await.unwrap();
        for (first, rest) in [("/hosts", "/hosts?cursor="), ("/hosts?prefix=h", "/hosts?prefix=h&amp;cursor=")] {
            let shown = shows(&api, first, &["h000.example", "h099.example", &format!("{rest}h099.example")]).await;
            assert!(!shown.contains("h100.example"), "{shown}");
            let last = page(&api, &rest.replace("&amp;", "&").replace("cursor=", "cursor=h099.example")).await;
            assert!(last.contains("h100.example") && !last.contains("Next page"), "{last}");
        }
        api.stop().await;
    });
}

#[test]
fn a_host_shows_its_queue_sources_requests_and_robots() {
    run(async || {
        let api = world().await;
        let created = api.tell("POST", "/sources", json!({ "url": api.url(0), "title": "<b>News</b>" })).await.json();
        let id = created["source"]["id"].as_i64().unwrap();
        api.world.settled(1).await;
        let host = url::Url::parse(&api.url(0)).unwrap().host_str().unwrap().to_owned();
        let rules = Some("User-agent: *\nDisallow: /<private>".to_owned());
        let origin = url::Url::parse(&api.url(0)).unwrap().origin().ascii_serialization();
        let record = RobotsRecord { origin: origin.clone(), fetched_at: api.world.now(), rules };
        api.world.store.put_robots(record).await.unwrap();
        api.world
            .until("the poll is over", async || {
                api.get(&format!("/hosts/{host}")).await.json()["queue"]["under_way"] == json!([])
            })
            .await;
        let source = format!("/dashboard/sources/{id}");
        let shown = [
            "available",
            &source,
            "&lt;b&gt;News&lt;/b&gt;",
            "status 200",
            "<rect class=\"read\"",
            "No poll is in flight.",
            &origin,
            "Disallow: /&lt;private&gt;",
        ];
        let page = shows(&api, &host_path(&host), &shown).await;
        assert!(!page.contains("<b>News") && !page.contains("<private>"), "{page}");
        let missing = ask(api.socket().await, "GET", "/dashboard/hosts/nobody.example", &[], b"").await;
        assert_eq!((missing.status, missing.header("content-type")), (404, Some("text/html; charset=utf-8")));
        api.add_quiet("http://new.example/feed").await;
        shows(&api, "/hosts/new.example", &["No request was sent to this host yet", "http://new.example/feed"]).await;
        api.stop().await;
    });
}

#[test]
fn long_robots_files_are_cut_at_a_character() {
    run(async || {
        let api = world().await;
        hold(&api, "a.example", "x").await;
        assert_eq!(api.get("/hosts/a.example/robots").await.json()["items"], json!([]));
        let rules = format!("#{}", "ä".repeat(40_000));
        let record =
            RobotsRecord { origin: "https://a.example".into(), fetched_at: api.world.now(), rules: Some(rules) };
        api.world.store.put_robots(record).await.unwrap();
        let record = RobotsRecord { origin: "http://a.example".into(), fetched_at: api.world.now(), rules: None };
        api.world.store.put_robots(record).await.unwrap();
        let found = api.get("/hosts/a.example/robots").await.json();
        let files = found["items"].as_array().unwrap();
        assert_eq!((files.len(), &files[0]["is_cut"], &files[1]["is_cut"]), (2, &json!(true), &json!(false)));
        assert_eq!(files[0]["rules"].as_str().unwrap().len(), (64 << 10) - 1);
        assert_eq!(files[1]["rules"], Value::Null);
        let shown = ["Only the beginning is shown.", "everything is allowed"];
        shows(&api, "/hosts/a.example", &shown).await;
        api.get("/hosts/nobody.example/robots").await.is_problem(404, "not-found", None);
        api.stop().await;
    });
}

#[test]
fn a_host_is_held_released_reset_and_its_sources_enabled() {
    run(async || {
        let api = world().await;
        let id = api.add_quiet("http://a.example/feed").await;
        let host = async || api.get("/hosts/a.example").await.json();
        let fields = [("length", "5"), ("unit", "minutes"), ("reason", "a <move>")];
        act(&api, "/hosts/a.example/hold", &fields, "/hosts/a.example").await;
        assert_eq!(host().await["held_reason"], "by an operator: a <move>");
        let until = (api.world.now() + Duration::from_secs(300)).to_string();
        assert_eq!(host().await["held_until"].as_str(), Some(until.as_str()));
        shows(&api, "/hosts/a.example", &["a &lt;move&gt;", "Release", "Change the hold"]).await;
        for wrong in [
            [("length", "5"), ("unit", "years"), ("reason", "x")],
            [("length", "x"), ("unit", "hours"), ("reason", "x")],
        ] {
            assert_eq!(post(&api, "/hosts/a.example/hold", &wrong).await.status, 400);
        }
        act(&api, "/hosts/a.example/release", &[], "/hosts/a.example").await;
        assert_eq!(host().await["state"], "available");
        let mut open = HostState::new(HostKey::from_canonical("b.example"));
        (open.breaker.failures, open.breaker.open_until) = (7, Some(api.world.now() + Duration::from_secs(600)));
        api.world.store.record_hosts(vec![open]).await.unwrap();
        shows(&api, "/hosts/b.example", &["breaker open", "Reset the breaker"]).await;
        act(&api, "/hosts/b.example/reset-breaker", &[], "/hosts/b.example").await;
        assert_eq!(api.get("/hosts/b.example").await.json()["silent_requests"], 0);
        api.tell("POST", &format!("/sources/{id}/disable"), json!({ "reason": "noise" })).await;
        shows(&api, "/hosts/a.example", &["Enable all its disabled sources"]).await;
        act(&api, "/hosts/a.example/enable-sources", &[], "/hosts/a.example").await;
        assert_eq!(api.get(&format!("/sources/{id}")).await.json()["enabled"], true);
        let actions = ["host.enable-sources", "host.reset-breaker", "host.release", "host.hold"];
        assert_eq!(audited(&api, "host").await, actions);
        api.stop().await;
    });
}

#[test]
fn a_hostile_host_name_is_escaped_and_its_forms_reach_it() {
    run(async || {
        let api = world().await;
        hold(&api, HOSTILE_HOST, "<img src=x>").await;
        let path = host_path(HOSTILE_HOST);
        for path in ["/hosts", "/hosts?state=held", &path] {
            let page = shows(&api, path, &["a&quot;onfocus=", "&amp;lt;.example", "&lt;img src=x&gt;"]).await;
            assert!(!page.contains("a\"onfocus") && !page.contains("<img"), "{page}");
        }
        let page = page(&api, &path).await;
        let action = page.split("action=\"/dashboard").find_map(|part| part.split_once("/release\"")).unwrap().0;
        assert!(action.starts_with("/hosts/a%22onfocus"), "{action}");
        act(&api, &format!("{action}/release"), &[], action).await;
        assert_eq!(api.get("/hosts?limit=1").await.json()["items"][0]["state"], "available");
        api.stop().await;
    });
}

#[test]
fn supervision_shows_the_tree_crashes_and_threads() {
    run(async || {
        let mut world = World::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let faults = vec!["post-sink/PollSucceeded=panic@1".parse().unwrap()];
        world.settings.faults = FaultSettings { is_enabled: true, seed: 1, limit: Some(1), faults };
        let api = ApiWorld::around(world, TokenKey::Secret(SECRET.into()), ApiLimits::default());
        api.tell("POST", "/sources", json!({ "url": api.url(0) })).await;
        api.world.until("a restart", async || api.get("/statistics").await.json()["restarts"] != 0).await;
        let shown = ["scheduler", "post-sink", "<meter", "1</data> restart", "Last crash", "src/actors/faults.rs"];
        shows(&api, "/supervision", &shown).await;
        shows(&api, "/supervision", &["Backtrace", "feedwarden::actors::faults", "responsive"]).await;
        shows(&api, "/supervision", &["post-sink/PollSucceeded=panic@1", "Every row of the database can be read."])
            .await;
        api.stop().await;
    });
}

#[test]
fn faults_are_switched_by_a_form() {
    run(async || {
        let api = world().await;
        shows(&api, "/supervision", &["Fault injection is not enabled", "faults.enabled"]).await;
        let fields = [("rules", "host/PollSource=drop@1"), ("is_enabled", "true")];
        assert_eq!(post(&api, "/supervision/faults", &fields).await.status, 404);
        api.stop().await;

        let mut world = World::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        world.settings.faults.is_enabled = true;
        let api = ApiWorld::around(world, TokenKey::Secret(SECRET.into()), ApiLimits::default());
        let rules = "host/PollSource=drop@1\r\n\r\n fetch/*=stall:5@0.5 ";
        act(&api, "/supervision/faults", &[("rules", rules), ("is_enabled", "true")], "/supervision").await;
        let now = api.get("/faults").await.json();
        assert_eq!(now["rules"], json!(["host/PollSource=drop@1", "fetch/*=stall:5@0.5"]));
        assert_eq!(now["is_enabled"], true);
        shows(&api, "/supervision", &["host/PollSource=drop@1\nfetch/*=stall:5@0.5", "checked"]).await;
        act(&api, "/supervision/faults", &[("rules", rules)], "/supervision").await;
        assert_eq!(api.get("/faults").await.json()["is_enabled"], false);
        let refused = post(&api, "/supervision/faults", &[("rules", "<loud>")]).await;
        assert_eq!(refused.status, 400);
        assert!(refused.body.contains("&lt;loud&gt;"), "{refused:?}");
        assert_eq!(audited(&api, "daemon").await, ["faults.edit", "faults.edit"]);
        api.stop().await;
    });
}

#[test]
fn rows_that_cannot_be_read_are_listed() {
    run(async || {
        let world = World::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let ids = world.add_all().await;
        world.store.raw(&format!("UPDATE sources SET type = '<i>gopher' WHERE id = {}", ids[0].0)).await;
        let api = ApiWorld::around(world, TokenKey::Secret(SECRET.into()), ApiLimits::default());
        api.world.until("the row is found", async || api.get("/quarantine").await.json()["total"] != 0).await;
        let page = shows(&api, "/supervision", &["id=\"quarantine\"", "&lt;i&gt;gopher", "type"]).await;
        assert!(!page.contains("<i>"), "{page}");
        api.stop().await;
    });
}

#[test]
fn a_daemon_with_sqlite_says_that_it_has_its_database_to_itself() {
    run(async || {
        let api = world().await;
        shows(&api, "/fleet", &["This daemon has its database to itself"]).await;
        api.stop().await;
    });
}
