//! Who is let in, and what is not.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use feedwarden::actors::FaultSettings;
use feedwarden::api::settings::{ApiLimits, TokenKey};
use feedwarden::api::tokens::{Signer, TokenRequest, TokenScope, issue};
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::SourceId;
use rustix::process::Uid;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::ApiWorld;
use super::client::ask;
use super::world::SECRET;
use crate::pipeline::{World, run};
use crate::store::Engine::Sqlite;

#[test]
fn s1004_without_a_good_token_nothing_is_told_and_nothing_changes() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let id = api.add_quiet("http://a.example/feed").await;
        let path = format!("/sources/{id}/feed-disable");
        let body = r#"{"reason":"evil"}"#;
        let now = api.world.now();
        let signed = |secret: &str, audience: Option<&str>, ago: u64| {
            let audience = audience.map(str::to_owned);
            let lifetime = Duration::from_secs(60);
            let request = TokenRequest { subject: "eve".into(), scope: TokenScope::Write, lifetime, audience };
            issue(&request, &Signer::Secret(secret.into()), now - Duration::from_secs(ago)).unwrap()
        };
        let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let claims = json!({ "exp": 9_999_999_999_i64, "aud": "feeds", "scope": "write" });
        let none = format!("{}.{}.", part(json!({ "alg": "none", "typ": "JWT" })), part(claims.clone()));
        let good = signed(SECRET, Some("feeds"), 0);
        let parts: Vec<&str> = good.split('.').collect();
        let tampered = format!("{}.{}.{}", parts[0], part(claims), parts[2]);
        let tokens = [
            ("nothing", None),
            ("no token", Some("x".to_owned())),
            ("expired", Some(signed(SECRET, Some("feeds"), 61))),
            ("another secret", Some(signed("fedcba9876543210fedcba9876543210", Some("feeds"), 0))),
            ("another audience", Some(signed(SECRET, Some("mails"), 0))),
            ("no audience", Some(signed(SECRET, None, 0))),
            ("no algorithm", Some(none)),
            ("tampered with", Some(tampered)),
            ("far too long", Some("x".repeat(20_000))),
        ];
        for (what, token) in tokens {
            let answer = api.tell_tcp("PATCH", &path, body, token.as_deref()).await;
            assert_eq!(answer.status, 401, "{what}: {answer:?}");
            answer.is_problem(401, "unauthorized", None);
            assert_eq!(answer.header("www-authenticate"), Some("Bearer, Basic realm=\"feedwarden\""));
            assert!(!answer.body.contains(SECRET));
        }
        let read = api.token(TokenScope::Read);
        api.tell_tcp("PATCH", &path, body, Some(&read)).await.is_problem(403, "forbidden", None);
        assert_eq!(api.tell_tcp("GET", "/status", "", Some(&read)).await.status, 200);
        assert_eq!(api.world.source(SourceId(id)).await.state.rest, None, "nothing changed");
        assert_eq!(api.tell_tcp("PATCH", &path, body, Some(&good)).await.status, 200);
        api.stop().await;
    });
}

#[test]
fn a_reader_of_feeds_sends_its_token_as_a_password_and_only_looks() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let id = api.add_quiet("http://ann:word@a.example/feed").await;
        let ask_as = async |credentials: &str, method: &str, path: &str| {
            let authorization = format!("Basic {}", STANDARD.encode(credentials));
            ask(api.tcp().await, method, path, &[("Authorization", &authorization)], b"").await
        };
        let (read, write) = (api.token(TokenScope::Read), api.token(TokenScope::Write));
        let source = format!("/api/v1/sources/{id}");
        for credentials in [format!("ada:{read}"), format!(":{write}")] {
            for path in ["/feeds/all.atom", "/feeds/all.json", "/metrics", "/api/v1/status", &source] {
                assert_eq!(ask_as(&credentials, "GET", path).await.status, 200, "{path}");
            }
            assert!(!ask_as(&credentials, "GET", &source).await.body.contains("word"));
            // A page in a browser that knows the password could send this along.
            ask_as(&credentials, "POST", &format!("{source}/disable")).await.is_problem(403, "forbidden", None);
        }
        assert!(api.world.source(SourceId(id)).await.state.enabled, "nothing changed");
        for credentials in ["", ":", "ada", "ada:", "ada:secret", &format!("{read}:"), &format!("ada:x{read}")] {
            ask_as(credentials, "GET", "/feeds/all.atom").await.is_problem(401, "unauthorized", None);
        }
        let noise = [("Authorization", "Basic %%%")];
        let answer = ask(api.tcp().await, "GET", "/feeds/all.atom", &noise, b"").await;
        answer.is_problem(401, "unauthorized", None);
        api.stop().await;
    });
}

#[test]
fn nonsense_is_answered_and_the_daemon_goes_on() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let json = [("Content-Type", "application/json")];
        let post = async |body: &[u8]| ask(api.socket().await, "POST", "/api/v1/sources", &json, body).await;
        for body in [&b"{"[..], b"[]", b"null", b"{\"url\":\"http://a.example/\"} x", b"\xff\xfe", &[b'['; 100_000]] {
            let answer = post(body).await;
            assert_eq!(answer.status, 400, "{answer:?}");
        }
        post(&vec![b' '; 10 << 20]).await.is_problem(413, "too-large", None);
        let form = [("Content-Type", "application/x-www-form-urlencoded")];
        let answer = ask(api.socket().await, "POST", "/api/v1/sources", &form, b"url=x").await;
        answer.is_problem(415, "wrong-content-type", Some("Content-Type"));
        for path in [
            "/api",
            "/api/v1/",
            "/api/v1/nothing",
            "/api/v2/sources",
            "/api/v1/sources/../status",
            "/api/v1/sources/%2e%2e/status",
            "//api/v1/status",
            "/api/v1/sources/1%00",
            "/api/v1/sources/-1",
            "/api/v1/sources/99999999999999999999",
            "/api/v1/hosts/a%2Fb",
            "/api/v1/hosts/%20",
        ] {
            let answer = ask(api.socket().await, "GET", path, &[], b"").await;
            assert_eq!(answer.status, 404, "{path}: {answer:?}");
            answer.is_problem(404, "not-found", None);
        }
        let wrong = api.tell("PUT", "/sources", Value::Null).await;
        wrong.is_problem(405, "wrong-method", None);
        assert_eq!(wrong.header("allow"), Some("GET, HEAD, POST"));
        let bad = api.tell_if("PATCH", "/sources/1", json!({}), Some("7")).await;
        bad.is_problem(400, "invalid", Some("If-Match"));
        // Half a request, and bytes that are none.
        let mut half = api.socket().await;
        half.write_all(b"POST /api/v1/sources HTTP/1.1\r\nContent-Le").await.unwrap();
        let mut noise = api.tcp().await;
        noise.write_all(&[0, 255, 13, 10, 13, 10]).await.unwrap();
        let mut answer = Vec::new();
        let _ = noise.read_to_end(&mut answer).await;
        assert_eq!(api.get("/status").await.json()["store_trouble"], Value::Null);
        api.stop().await;
    });
}

#[test]
fn every_answer_is_closed_to_browsers_and_caches() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let refused = api.tell_tcp("GET", "/status", "", None).await;
        for answer in [api.get("/status").await, api.get("/nothing").await, refused] {
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{answer:?}");
            assert_eq!(answer.header("cache-control"), Some("no-store"));
            assert_eq!(answer.header("x-frame-options"), Some("DENY"));
            assert!(answer.header("content-security-policy").unwrap().contains("default-src 'none'"));
        }
        api.stop().await;
    });
}

#[test]
fn nobody_can_ask_without_end_and_each_token_has_a_rate_of_its_own() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let signer = Signer::Secret(SECRET.into());
        let [ada, bob, eve] = ["ada", "bob", "eve"].map(|name| api.token_of(name, TokenScope::Read, &signer));
        let ask = async |token: &str| api.tell_tcp("GET", "/scheduler", "", Some(token)).await;
        // The clock stands still, so nothing is refilled: twice fifty are let in.
        for number in 0..100 {
            assert_eq!(ask(&ada).await.status, 200, "request {number}");
        }
        let refused = ask(&ada).await;
        refused.is_problem(429, "too-fast", None);
        assert_eq!(refused.header("retry-after"), Some("1"));
        assert_eq!(ask(&bob).await.status, 200, "another program at the same address");
        // Those who guess are counted by their address. The first requests of ada and bob were, too.
        let guesses = (0..99).map(|number| format!("guess-{number}"));
        let mut statuses = Vec::new();
        for guess in guesses {
            statuses.push(ask(&guess).await.status);
        }
        assert_eq!(statuses.iter().filter(|status| **status == 401).count(), 98, "{statuses:?}");
        assert_eq!(statuses.last(), Some(&429), "no matter with what");
        assert_eq!(ask(&eve).await.status, 429, "a valid token is rejected as well");
        assert_eq!(ask(&bob).await.status, 200, "whose token was good before is let in");
        assert_eq!(api.get("/scheduler").await.status, 200, "the socket is another listener");
        api.world.advance(Duration::from_secs(1));
        for token in [ada, eve] {
            assert_eq!(ask(&token).await.status, 200);
        }
        api.stop().await;
    });
}

#[test]
fn the_socket_is_for_the_daemons_own_user_even_if_its_file_is_open_to_all() {
    if !rustix::process::geteuid().is_root() {
        println!("not tested: only root can change the user");
        return;
    }
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let socket = api.socket_path();
        for (path, mode) in [(socket.parent().unwrap(), 0o755), (socket.as_path(), 0o666)] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        // The user of a connection is that of the thread that made it, and this thread does nothing else.
        let connect = move || {
            rustix::thread::set_thread_uid(Uid::from_raw(65_534)).unwrap();
            std::os::unix::net::UnixStream::connect(socket).unwrap()
        };
        let stream = std::thread::spawn(connect).join().unwrap();
        stream.set_nonblocking(true).unwrap();
        let stream = tokio::net::UnixStream::from_std(stream).unwrap();
        let answer = ask(stream, "GET", "/api/v1/status", &[], b"").await;
        answer.is_problem(403, "forbidden", None);
        assert_eq!(api.get("/status").await.status, 200);
        api.stop().await;
    });
}

#[test]
fn faults_are_switched_over_the_api_if_the_configuration_allows_for_any() {
    run(async || {
        let mut world = World::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        world.settings.faults.is_enabled = true;
        let api = ApiWorld::around(world, TokenKey::Secret(SECRET.into()), ApiLimits::default());
        let rule = "host/PollSource=drop@1";
        let switched = api.tell("PUT", "/faults", json!({ "is_enabled": true, "rules": [rule] })).await.json();
        assert_eq!(switched, json!({ "is_enabled": true, "rules": [rule], "struck": 0 }));
        let created = api.tell("POST", "/sources", json!({ "url": api.url(0) })).await.json();
        let id = created["source"]["id"].as_i64().unwrap();
        api.world.until("a fault", async || api.get("/faults").await.json()["struck"] != 0).await;
        assert_eq!(api.world.source(SourceId(id)).await.state.last_polled, None, "it never got through");
        let switched = api.tell("PUT", "/faults", json!({ "is_enabled": false })).await.json();
        assert_eq!((&switched["is_enabled"], &switched["rules"]), (&json!(false), &json!([rule])));
        let polled = api.tell("POST", &format!("/sources/{id}/poll?wait=30"), Value::Null).await;
        assert_eq!(polled.status, 200, "{polled:?}");
        let wrong = api.tell("PUT", "/faults", json!({ "is_enabled": true, "rules": ["loud"] })).await;
        wrong.is_problem(400, "invalid", Some("rules"));
        let read = api.token(TokenScope::Read);
        let answer = api.tell_tcp("PUT", "/faults", r#"{"is_enabled":true}"#, Some(&read)).await;
        answer.is_problem(403, "forbidden", None);
        assert_eq!(api.get("/faults").await.json()["is_enabled"], false);
        api.stop().await;
    });
}

#[test]
fn the_tree_shows_the_backtrace_of_the_last_crash_on_request() {
    run(async || {
        let mut world = World::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let faults = vec!["post-sink/PollSucceeded=panic@1".parse().unwrap()];
        world.settings.faults = FaultSettings { is_enabled: true, seed: 1, limit: Some(1), faults };
        let api = ApiWorld::around(world, TokenKey::Secret(SECRET.into()), ApiLimits::default());
        api.tell("POST", "/sources", json!({ "url": api.url(0) })).await;
        api.world.until("a crash", async || api.get("/statistics").await.json()["crashes"] != 0).await;
        let crash = async |path| {
            let tree = api.get(path).await.json();
            let nodes = tree["root"]["children"].as_array().unwrap();
            nodes.iter().map(|node| node["last_crash"].clone()).find(|crash| !crash.is_null()).unwrap_or_default()
        };
        assert!(crash("/tree").await["place"].is_string());
        assert!(crash("/tree").await.get("backtrace").is_none());
        let shown = crash("/tree?backtraces=true").await;
        let backtrace = shown["backtrace"].as_str().unwrap();
        assert!(backtrace.lines().next().unwrap().contains("feedwarden::actors::faults"), "{backtrace}");
        api.stop().await;
    });
}

#[test]
fn the_daemon_shows_itself_and_is_steered() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        assert_eq!(api.tell("POST", "/scheduler/pause", Value::Null).await.json()["is_paused"], true);
        assert_eq!(api.tell("POST", "/scheduler/resume", Value::Null).await.json()["is_paused"], false);
        let tree = api.get("/tree").await.json();
        let names: Vec<_> = tree["root"]["children"].as_array().unwrap().iter().map(|node| &node["name"]).collect();
        assert!(names.contains(&&json!("scheduler")), "{tree}");
        assert_eq!(api.tell("PUT", "/log-level", json!({ "level": "debug" })).await.json()["level"], "debug");
        assert_eq!(api.get("/log-level").await.json()["level"], "debug");
        let wrong = api.tell("PUT", "/log-level", json!({ "level": "loud" })).await;
        wrong.is_problem(400, "invalid", Some("level"));
        api.get("/faults").await.is_problem(404, "not-found", None);
        let faults = api.tell("PUT", "/faults", json!({ "is_enabled": true })).await;
        faults.is_problem(404, "not-found", None);
        assert_eq!(api.get("/statistics").await.json()["polls"], 0);
        api.stop().await;
    });
}
