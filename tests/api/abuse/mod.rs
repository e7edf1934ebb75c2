//! Clients that mean harm, or that are broken in ways that look like it, at both listeners of a real process that
//! polls.

mod crowd;
mod requests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use feedwarden::api::tokens::{Signer, TokenRequest, TokenScope, issue};
use feedwarden::clock::{Clock, Stopwatch, SystemClock};
use feedwarden::demo::web::{Mix, SiteBehaviour, Web, WebSettings};
use serde_json::json;
use tokio::net::{TcpStream, UnixStream};

use super::Answer;
use super::client::ask;
use super::process::{Daemon, start};
use super::world::SECRET;
use crate::pipeline::run;

const HOSTS: usize = 60;
/// Enough for every host to be asked one thing a second for as long as the test takes, on a slow machine too.
const SITES: usize = 3_000;
/// How long polls are counted, without abuse and with it.
const WINDOW: Duration = Duration::from_secs(3);
/// What the listeners may take for some 500 connections with their buffers and bodies. 10 MB bodies alone, if they were
/// kept, would be four times that.
const GROWTH_KB_MAX: u64 = 96 * 1024;

#[test]
fn abuse_at_both_doors_disturbs_neither_polling_nor_others() {
    run(async || {
        let directory = tempfile::tempdir().unwrap();
        let web = WebSettings {
            hosts: HOSTS,
            sites: SITES,
            mix: Mix::only(SiteBehaviour::Healthy),
            ..WebSettings::default()
        };
        let web = Web::start(web, Arc::new(SystemClock)).unwrap();
        let listeners = Listeners::open(directory.path());
        listeners.add_all(&web).await;
        // What follows is the pace of the hosts' pauses, and nothing of the start.
        while asked(&web) < 2 * HOSTS as u64 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        // Whose token was good before is not kept out by those who guess tokens from the same address.
        let token = listeners.token("ada", TokenScope::Read, 0);
        assert!(listeners.ask_both(&token).await.iter().all(|answer| answer.status == 200));
        let undisturbed = pace(&web, tokio::time::sleep(WINDOW)).await;
        let memory_before = listeners.peak_kb();

        let crowd = crowd::gather(&listeners).await;
        let abused = pace(&web, async {
            let watch = Stopwatch::start();
            for round in 0.. {
                requests::refused_by_both(&listeners, round).await;
                if watch.elapsed() >= WINDOW {
                    break;
                }
            }
        })
        .await;
        let grown = listeners.peak_kb().saturating_sub(memory_before);
        println!("polls a second: {undisturbed:.1} undisturbed, {abused:.1} under abuse; {grown} KB more memory");
        // Pauses and not the processor set the pace, so nothing should be lost; but those who do the abuse share the
        // machine with the daemon, the publishers and other tests.
        assert!(abused > undisturbed / 2.0, "{undisturbed:.1} polls a second became {abused:.1}");
        assert!(grown < GROWTH_KB_MAX, "{grown} KB more");

        // The crowd is still there, and others get in all the same.
        for answer in listeners.ask_both(&token).await {
            assert_eq!(answer.status, 200, "{answer:?}");
            assert_eq!(answer.json()["store_trouble"], serde_json::Value::Null);
            assert_eq!(answer.json()["statistics"]["crashes"], 0);
        }
        assert!(web.load().iter().all(|host| host.overlaps == 0), "publishers noticed nothing");
        drop(crowd);
    });
}

/// The listeners of a process that polls on loopback, each host once a second.
struct Listeners {
    daemon: Daemon,
    socket: PathBuf,
    listen: String,
}

impl Listeners {
    fn open(directory: &Path) -> Listeners {
        let configuration = json!({
            "http": { "allowed-networks": ["127.0.0.0/8"] },
            "source": { "poll-delay-seconds": { "rss": 1 } },
            "api": { "listen": "127.0.0.1:0", "jwt-secret": SECRET },
        });
        std::fs::write(directory.join("own.yaml"), configuration.to_string()).unwrap();
        let (daemon, ready) = start(directory, &["--config", "own.yaml"]);
        let socket = directory.join(ready["socket"].as_str().unwrap());
        Listeners { daemon, socket, listen: ready["listen"].as_str().unwrap().to_owned() }
    }

    async fn add_all(&self, web: &Web) {
        let sources: Vec<_> = web.sites().iter().map(|site| json!({ "url": site.url })).collect();
        for some in sources.chunks(1000) {
            let body = json!({ "sources": some }).to_string();
            let headers = [("Content-Type", "application/json")];
            let added = ask(self.socket().await, "POST", "/api/v1/sources/bulk", &headers, body.as_bytes()).await;
            assert_eq!(added.json()["added"], some.len(), "{added:?}");
        }
    }

    async fn socket(&self) -> UnixStream {
        UnixStream::connect(&self.socket).await.unwrap()
    }

    async fn tcp(&self) -> TcpStream {
        TcpStream::connect(&self.listen).await.unwrap()
    }

    async fn ask_both(&self, token: &str) -> [Answer; 2] {
        let (path, headers) = ("/api/v1/status", [("Authorization", token)]);
        [ask(self.socket().await, "GET", path, &[], b"").await, ask(self.tcp().await, "GET", path, &headers, b"").await]
    }

    /// What stands in `Authorization`: a token for an hour that was issued so long ago.
    fn token(&self, subject: &str, scope: TokenScope, seconds_ago: u64) -> String {
        let lifetime = Duration::from_secs(3600);
        let request = TokenRequest { subject: subject.into(), scope, lifetime, audience: None };
        let issued_at = SystemClock.now() - Duration::from_secs(seconds_ago);
        format!("Bearer {}", issue(&request, &Signer::Secret(SECRET.into()), issued_at).unwrap())
    }

    /// The most memory that the process ever had.
    fn peak_kb(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.daemon.0.id())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

fn asked(web: &Web) -> u64 {
    web.load().iter().map(|host| host.requests).sum()
}

/// How many requests a second publishers get meanwhile.
async fn pace(web: &Web, meanwhile: impl Future<Output = ()>) -> f64 {
    let (before, watch) = (asked(web), Stopwatch::start());
    meanwhile.await;
    (asked(web) - before) as f64 / watch.elapsed().as_secs_f64()
}

/// It was refused as everything is refused: in words, and closed to browsers and caches.
fn is_refused(what: &str, answer: &Answer) {
    assert!((400..500).contains(&answer.status), "{what}: {answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{what}: {answer:?}");
    assert_eq!(answer.json()["status"], answer.status, "{what}");
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{what}");
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{what}");
    assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{what}");
    assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{what}");
    assert!(answer.header("content-security-policy").unwrap().contains("default-src 'none'"), "{what}");
}
