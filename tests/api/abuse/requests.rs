//! Requests that are refused, each in words.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use feedwarden::api::tokens::TokenScope;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::super::client::ask;
use super::{Listeners, is_refused};

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// Each of them once at each listener.
pub(super) async fn refused_by_both(listeners: &Listeners, round: usize) {
    let token = listeners.token(&format!("mallory {round}"), TokenScope::Write, 0);
    for (what, method, path, body) in nonsense() {
        let headers = [JSON, ("Authorization", token.as_str())];
        is_refused(&what, &ask(listeners.socket().await, method, &path, &headers, &body).await);
        is_refused(&what, &ask(listeners.tcp().await, method, &path, &headers, &body).await);
    }
    for token in bad_tokens(listeners) {
        let headers = [JSON, ("Authorization", token.as_str())];
        is_refused(&token, &ask(listeners.tcp().await, "GET", "/api/v1/sources", &headers, b"").await);
    }
    endless_chunks(listeners.socket().await, &token).await;
    endless_chunks(listeners.tcp().await, &token).await;
    no_http(listeners.socket().await).await;
    no_http(listeners.tcp().await).await;
    flood(listeners, &listeners.token("flood", TokenScope::Read, 0)).await;
}

fn nonsense() -> Vec<(String, &'static str, String, Vec<u8>)> {
    let bodies = [
        ("ten megabytes", vec![b' '; 10 << 20]),
        ("half an object", b"{\"url\": ".to_vec()),
        ("very deep", [b"{\"url\": ".to_vec(), vec![b'['; 200_000]].concat()),
        ("no UTF-8", b"{\"url\": \"\xff\xfe\"}".to_vec()),
        ("another type", b"[1, 2, 3]".to_vec()),
        ("half a surrogate", b"{\"url\": \"\\ud800\"}".to_vec()),
        ("a number without end", [b"{\"podcast_id\": ".to_vec(), vec![b'9'; 100_000], b"}".to_vec()].concat()),
    ];
    let bodies = bodies.map(|(what, body)| (what.to_owned(), "POST", "/api/v1/sources".to_owned(), body));
    let paths = [
        "//api/v1/status",
        "/api//v1/status",
        "/api/v1/../../etc/passwd",
        "/api/v1/%2e%2e/%2e%2e/etc/passwd",
        "/api/v1/sources/1%00",
        "/api/v1/sources/%ff%fe",
        "/api/v1/sources/%zz",
        "/api/v1/hosts/..%2f..",
        "/api/v1/sources?limit=99999999999999999999",
        "/api/v1/sources?cursor=%00",
        "/api/v1/posts?since=never",
        "/API/V1/STATUS",
        "/feeds/../x.atom",
    ];
    let long = ["/api/v1/sources/".to_owned() + &"9".repeat(30_000), "/".to_owned() + &"a/".repeat(15_000)];
    let paths = paths.map(str::to_owned).into_iter().chain(long);
    bodies.into_iter().chain(paths.map(|path| (path.clone(), "GET", path, Vec::new()))).collect()
}

fn bad_tokens(listeners: &Listeners) -> Vec<String> {
    let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let claims = part(json!({ "exp": 9_999_999_999_i64, "scope": "read write" }));
    let good = listeners.token("eve", TokenScope::Read, 0);
    vec![
        String::new(),
        "Basic YTpi".into(),
        "Bearer".into(),
        listeners.token("eve", TokenScope::Write, 4000),
        format!("Bearer {}.{claims}.", part(json!({ "alg": "none" }))),
        format!("Bearer {}.{claims}.AAAA", part(json!({ "alg": "HS256" }))),
        good[..good.len() - 2].to_owned(),
    ]
}

/// A body over the limit, without Content-Length.
async fn endless_chunks(mut stream: impl AsyncRead + AsyncWrite + Unpin, token: &str) {
    let head = format!(
        "POST /api/v1/sources HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAuthorization: {token}\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let chunk = [b"10000\r\n".as_slice(), &[b' '; 0x10000], b"\r\n"].concat();
    for _ in 0..160 {
        if stream.write_all(&chunk).await.is_err() {
            break;
        }
    }
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
}

/// What is no HTTP never comes as far as the words: it is refused without any.
async fn no_http(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    stream.write_all(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    // A server that has not read everything may reset the connection after its answer.
    let _ = stream.read_to_string(&mut answer).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer:?}");
    assert!(answer.contains("content-length: 0\r\n"), "{answer:?}");
}

/// Many requests at once on one connection: each that is answered is let in or is too fast. The server may close in
/// between, once it has been busy with them for longer than it keeps a connection.
async fn flood(listeners: &Listeners, token: &str) {
    let request = format!("GET /api/v1/scheduler HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {token}\r\n");
    let last = format!("{request}Connection: close\r\n\r\n");
    let flood = format!("{request}\r\n").repeat(299) + &last;
    let (mut reader, mut writer) = listeners.tcp().await.into_split();
    let mut answers = String::new();
    let (_, _) = futures_util::join!(writer.write_all(flood.as_bytes()), reader.read_to_string(&mut answers));
    let statuses: Vec<&str> = answers.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
    assert!(statuses.iter().all(|status| ["200", "429"].contains(status)), "{statuses:?}");
    assert!(statuses.contains(&"429"), "the rate limit applies: {statuses:?}");
}
