//! The TCP listener behind a reverse proxy: whose requests count, what is always answered, and for which hosts.

use std::time::Duration;

use feedwarden::api::tokens::TokenScope;
use feedwarden::demo::web::SiteBehaviour;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::client::ask;
use super::{Answer, ApiWorld};
use crate::pipeline::run;
use crate::store::Engine::Sqlite;

/// Asks without a token, as a proxy does for this client.
async fn ask_for(api: &ApiWorld, client: &str, path: &str) -> Answer {
    ask(api.tcp().await, "GET", path, &[("X-Forwarded-For", client)], b"").await
}

#[test]
fn a_flood_without_tokens_does_not_starve_health_checks() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        // The clock stands still, so nothing is refilled.
        while api.tell_tcp("GET", "/status", "", None).await.status != 429 {}
        for path in ["/healthz", "/readyz"] {
            for _ in 0..120 {
                let answer = ask(api.tcp().await, "GET", path, &[], b"").await;
                assert_ne!(answer.status, 429, "{path}: {answer:?}");
                assert!(answer.json()["status"].is_string(), "{answer:?}");
            }
        }
        assert_eq!(api.tell_tcp("GET", "/status", "", None).await.status, 429, "the flood goes on");
        api.stop().await;
    });
}

#[test]
fn behind_a_trusted_proxy_each_client_has_a_rate_of_its_own() {
    run(async || {
        let mut api = ApiWorld::with_settings(|settings| {
            settings.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
            settings.limits.requests_per_second = 5;
        })
        .await;
        let path = "/api/v1/status";
        while ask_for(&api, "192.0.2.7", path).await.status != 429 {}
        assert_eq!(ask_for(&api, "192.0.2.8", path).await.status, 401, "another client");
        let spoofed = ask_for(&api, "192.0.2.9, 192.0.2.7", path).await;
        assert_eq!(spoofed.status, 429, "the proxy has appended the address of the same client");
        let forwarded = [("Forwarded", "for=192.0.2.7;proto=https")];
        assert_eq!(ask(api.tcp().await, "GET", path, &forwarded, b"").await.status, 429);
        // Without trust the address is the proxy's, whatever the header says.
        api.reload(|settings| settings.trusted_proxies.clear());
        while ask_for(&api, "192.0.2.10", path).await.status != 429 {}
        assert_eq!(ask_for(&api, "192.0.2.11", path).await.status, 429);
        api.world.advance(Duration::from_secs(2));
        let records = || api.world.records.of("request refused");
        assert_eq!(records()[0]["client"], "192.0.2.7");
        ask_for(&api, "192.0.2.12", path).await.is_problem(401, "unauthorized", None);
        let last = records().pop().unwrap();
        assert_eq!((&last["client"], &last["path"]), (&"127.0.0.1".into(), &path.into()));
        assert!(last["count"].as_u64().unwrap() > 10, "{last}");
        let metrics = ask(api.socket().await, "GET", "/metrics", &[], b"").await.body;
        assert!(metrics.contains("feedwarden_api_refused_total{reason=\"too-fast\"}"), "{metrics}");
        api.stop().await;
    });
}

#[test]
fn a_host_name_that_nobody_configured_is_refused_over_tcp_and_not_on_the_socket() {
    run(async || {
        let mut api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let token = api.token(TokenScope::Write);
        let get = async |api: &ApiWorld, host: &str, path: &str| {
            let mut stream = api.tcp().await;
            let head = format!(
                "GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            answer
        };
        assert!(get(&api, "rebound.example", "/readyz").await.starts_with("HTTP/1.1 200"));
        for path in ["/api/v1/status", "/metrics"] {
            let refused = get(&api, "rebound.example", path).await;
            assert!(refused.starts_with("HTTP/1.1 421"), "{path}: {refused}");
            assert!(refused.contains("urn:feedwarden:problem:misdirected") && refused.contains("api.allowed-hosts"));
            assert!(get(&api, "localhost:8080", path).await.starts_with("HTTP/1.1 200"), "{path}");
            assert!(get(&api, "[::1]", path).await.starts_with("HTTP/1.1 200"), "{path}");
        }
        api.reload(|settings| settings.allowed_hosts = vec!["feeds.example.org".into()]);
        assert!(get(&api, "Feeds.example.org:443", "/api/v1/status").await.starts_with("HTTP/1.1 200"));
        let mut socket = api.socket().await;
        socket.write_all(b"GET /api/v1/status HTTP/1.1\r\nHost: any\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        // A page of another host changes nothing, whatever the browser attaches.
        let authorization = format!("Bearer {token}");
        for (origin, status) in [("https://evil.example", 403), ("null", 403), ("http://127.0.0.1", 200)] {
            let headers = [("Authorization", authorization.as_str()), ("Origin", origin)];
            let answer = ask(api.tcp().await, "POST", "/api/v1/scheduler/pause", &headers, b"").await;
            assert_eq!(answer.status, status, "{origin}: {answer:?}");
        }
        api.stop().await;
    });
}

#[test]
fn readiness_is_checked_once_for_all_who_wait() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let asking = (0..64).map(async |_| ask(api.tcp().await, "GET", "/readyz", &[], b"").await.status);
        let statuses = futures_util::future::join_all(asking).await;
        assert!(statuses.iter().all(|status| [200, 503].contains(status)), "{statuses:?}");
        api.stop().await;
    });
}
