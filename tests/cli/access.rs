//! `feedwarden source access`: secrets come from files, and are sent only to their publisher.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use feedwarden::demo::web::SiteBehaviour;

use super::people::{console, transcript};
use super::{Console, fed, seen, snapshot};
use crate::http::server::{Server, answers};
use crate::x::server::{XServer, answer as x_answer};

const FEED: &str = "<rss version=\"2.0\"><channel><title>Private</title></channel></rss>";

fn files(console: &Console) {
    for (name, text) in [
        ("login", "ann:canary-word\n"),
        ("headers", "X-Token: canary-token\n\nCookie: session=canary-session\n"),
        ("no-login", "canary\n"),
        ("no-headers", "X-Fine: 1\ncanary\n"),
        ("reserved", "Host: canary\n"),
    ] {
        std::fs::write(console.directory.path().join(name), text).unwrap();
    }
}

#[test]
fn a_login_is_kept_told_and_forgotten_in_words() {
    let console = console(&[]);
    files(&console);
    console.works(&["pause"]);
    let told = transcript(
        &console,
        &[
            &["source", "add", "http://a.example/", "--unseen", "--login-file", "login"],
            &["source", "access", "1"],
            &["source", "access", "1", "--header-file", "headers"],
            &["source", "show", "1"],
            &["source", "access", "1", "--login-file", "login", "--header-file", "headers", "--if-version", "9"],
            &["source", "access", "1", "--login-file", "no-login"],
            &["source", "access", "1", "--header-file", "no-headers"],
            &["source", "access", "1", "--header-file", "reserved"],
            &["source", "access", "1", "--header-file", "missing"],
            &["source", "access", "1", "--login-file", "-", "--header-file", "-"],
            &["source", "access", "1", "--clear", "--login-file", "login"],
            &["source", "access", "1", "--clear"],
            &["source", "access", "1"],
            &["source", "access", "7", "--login-file", "login"],
        ],
    );
    snapshot("source_access", &told);
    let output = fed(console.feedwarden(&["source", "access", "1", "--login-file", "-"]), "ann:a:b");
    assert_eq!(output.status.code(), Some(0), "{}", seen(&output));
}

#[test]
fn without_an_encryption_key_no_login_is_kept_and_no_source_added() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    files(&console);
    console.check(
        "login_without_encryption",
        &["source", "add", &console.url(SiteBehaviour::Healthy), "--login-file", "login"],
    );
    assert_eq!(console.json(&["source", "list"])["items"], serde_json::json!([]));
}

/// No secret is in a log, a response, an export or the database.
#[tokio::test]
async fn no_secret_is_ever_seen_by_anybody_but_its_publisher() {
    let feed = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{FEED}", FEED.len());
    let closed = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n".to_owned();
    let elsewhere = Server::play(answers(std::slice::from_ref(&feed))).await;
    let pending_redirect =
        format!("HTTP/1.1 302 Found\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n", elsewhere.url("/"));
    let server = Server::play(answers(&[feed, closed, pending_redirect, "HTTP/1.1 canary\r\n\r\n".into()])).await;
    let x = XServer::play([x_answer("401 Unauthorized", &[], r#"{"title":"Unauthorized","status":401}"#)]).await;
    let (url, x_url) = (server.url("/"), x.url().to_string());
    let everything = tokio::task::spawn_blocking(move || overheard(&url, &x_url)).await.unwrap();
    assert_eq!(x.asked()[0].authorization.as_deref(), Some("Bearer AAAA-canary-key"));
    assert_eq!(server.requests().len(), 4, "{:?}", server.requests());
    for request in server.requests() {
        assert!(request.contains("canary-token") && request.contains("canary-session"), "{request}");
        assert!(request.contains(&STANDARD.encode("ann:canary-word")), "{request}");
    }
    assert_eq!(elsewhere.requests().len(), 1);
    let (heard_elsewhere, login) = (elsewhere.requests().concat(), STANDARD.encode("ann:canary-word"));
    for (what, text) in [("elsewhere", heard_elsewhere)].into_iter().chain(everything) {
        for secret in ["canary-word", "canary-token", "canary-session", "canary-key", &login] {
            assert!(!text.contains(secret), "{what} shows {secret}");
        }
    }
}

/// Polls a source with every secret in every way, and returns everything that can be read afterwards.
fn overheard(url: &str, x: &str) -> Vec<(&'static str, String)> {
    let console = console(&["--set", "logging.level=trace", "--set", &format!("x.base-url={x}")]);
    assert_eq!(console.json(&["log-level"])["level"], "trace");
    files(&console);
    let mut told = console.works(&["user", "add", "ada", "--key-file", "x.key", "--podcast", "News"]);
    told += &console.works(&["source", "add", url, "--login-file", "login", "--header-file", "headers"]);
    for _ in 0..3 {
        told += &seen(&console.run(&["source", "poll", "1", "--force"]));
    }
    told += &seen(&console.run(&["source", "add", "https://x.com/nobody", "--anyway"]));
    for words in [
        &["source", "show", "1"][..],
        &["source", "list"],
        &["source", "explain", "1"],
        &["source", "history", "1"],
        &["source", "access", "1"],
        &["source", "explain", "2"],
        &["source", "history", "2"],
        &["user", "list"],
        &["user", "show", "ada"],
        &["status"],
        &["tree"],
        &["host", "list"],
    ] {
        told += &console.works(words);
        told += &console.json(words).to_string();
    }
    let export = console.works(&["export"]);
    let metrics = get(&console, "/metrics");
    assert!(metrics.contains("feedwarden_"), "{metrics}");
    let statistics = get(&console, "/api/v1/statistics") + &get(&console, "/api/v1/configuration");
    let read = |name: &str| {
        std::fs::read(console.directory.path().join(name)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let failures = || read("daemon.log").unwrap().matches("feed poll failed").count();
    // The log comes through a pipe, and may be a moment behind.
    for _ in 0..1000 {
        if failures() == 3 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let log = read("daemon.log").unwrap();
    assert_eq!(failures(), 3, "{log}");
    let database = read("feedwarden.db").unwrap() + &read("feedwarden.db-wal").unwrap_or_default();
    assert!(database.contains("source_access"));
    vec![
        ("a command", told),
        ("the export", export),
        ("metrics", metrics),
        ("an answer", statistics),
        ("the log", log),
        ("the database", database),
    ]
}

/// Asks the admin socket as a program would.
fn get(console: &Console, path: &str) -> String {
    use std::io::{Read, Write};
    let mut stream = std::os::unix::net::UnixStream::connect(console.directory.path().join("feedwarden.sock")).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
