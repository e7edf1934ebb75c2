//! Clients that stall: each is let go of in a bounded time, and those who move are not.

use std::time::Duration;

use feedwarden::api::settings::{ApiLimits, TokenKey};
use feedwarden::api::tokens::TokenScope;
use feedwarden::clock::Stopwatch;
use feedwarden::demo::web::SiteBehaviour;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

use super::ApiWorld;
use super::client::{Answer, read_answer, read_head};
use super::world::SECRET;
use crate::pipeline::{World, run};
use crate::store::Sqlite;

/// An answer's time. Everything that is waited for follows from it. The HTTP layer's clock moves twice a second, so it
/// cannot be much shorter.
const ANSWER_WITHIN: Duration = Duration::from_millis(1500);
/// Far longer than anything takes: a bound, not a wait.
const PATIENCE: Duration = Duration::from_secs(30);

fn limits() -> ApiLimits {
    ApiLimits { answer_within: ANSWER_WITHIN, ..ApiLimits::default() }
}

async fn send_raw(stream: &mut (impl AsyncWrite + Unpin), text: &str) {
    stream.write_all(text.as_bytes()).await.unwrap();
}

/// What comes until the other side has closed.
async fn until_closed(mut stream: impl AsyncRead + Unpin) -> String {
    let mut all = Vec::new();
    let reading = stream.read_to_end(&mut all);
    // A reset closes as well.
    let _ = tokio::time::timeout(PATIENCE, reading).await.expect("the connection is closed");
    String::from_utf8_lossy(&all).into_owned()
}

fn is_closed_to_browsers(answer: &Answer) {
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{answer:?}");
}

#[test]
fn a_body_that_never_comes_is_waited_for_a_while() {
    run(async || {
        let api = ApiWorld::with_limits(limits()).await;
        let head = "POST /api/v1/sources HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
        let refused = async |rest: &str| {
            let mut stream = BufReader::new(api.socket().await);
            send_raw(&mut stream, &format!("{head}{rest}")).await;
            let answer = read_answer(&mut stream).await;
            answer.is_problem(408, "too-slow", None);
            is_closed_to_browsers(&answer);
            assert_eq!(until_closed(stream).await, "");
        };
        futures_util::join!(
            refused("Content-Length: 1000\r\n\r\n"),
            refused("Content-Length: 1000\r\n\r\n{"),
            refused("Transfer-Encoding: chunked\r\n\r\n"),
        );
        api.stop().await;
    });
}

#[test]
fn a_list_may_take_long_as_long_as_it_comes() {
    run(async || {
        let api = ApiWorld::with_limits(limits()).await;
        api.tell("POST", "/scheduler/pause", Value::Null).await;
        let head = "POST /api/v1/opml HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/x-opml\r\nTransfer-Encoding: chunked\r\n\r\n";
        let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
        let outline = |number: u32| format!("<outline xmlUrl=\"http://a.example/{number}/{}\"/>", "x".repeat(1000));
        let watch = Stopwatch::start();
        let mut stream = BufReader::new(api.socket().await);
        send_raw(&mut stream, &format!("{head}{}", chunk("<opml><body>"))).await;
        for number in 0..6 {
            send_raw(&mut stream, &chunk(&outline(number))).await;
            tokio::time::sleep(ANSWER_WITHIN / 3).await;
        }
        send_raw(&mut stream, &(chunk("</body></opml>") + "0\r\n\r\n")).await;
        let answer = read_answer(&mut stream).await;
        assert_eq!(answer.json()["added"], 6, "{answer:?}");
        assert!(watch.elapsed() > ANSWER_WITHIN * 3 / 2, "longer than any other answer may take");

        let mut stream = BufReader::new(api.socket().await);
        send_raw(&mut stream, &format!("{head}{}{}", chunk("<opml><body>"), chunk(&outline(7)))).await;
        let answer = read_answer(&mut stream).await;
        answer.is_problem(408, "too-slow", None);
        assert!(answer.body.contains("1 sources were added"), "{answer:?}");
        is_closed_to_browsers(&answer);
        assert_eq!(until_closed(stream).await, "");
        api.stop().await;
    });
}

#[test]
fn what_takes_too_long_is_refused_like_everything_else() {
    run(async || {
        let world = World::of(Sqlite, &[SiteBehaviour::Hanging]).await;
        let api = ApiWorld::around(world, TokenKey::Secret(SECRET.into()), limits());
        let created = api.tell("POST", "/sources", json!({ "url": api.url(0) })).await.json();
        let id = &created["source"]["id"];
        let answer = api.tell("POST", &format!("/sources/{id}/poll?wait=50"), Value::Null).await;
        answer.is_problem(503, "unavailable", None);
        is_closed_to_browsers(&answer);
        api.stop().await;
    });
}

#[test]
fn a_second_head_that_never_ends_does_not_hold_its_place() {
    run(async || {
        let api = ApiWorld::with_limits(limits()).await;
        let mut stream = BufReader::new(api.socket().await);
        send_raw(&mut stream, "GET /api/v1/scheduler HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /api/v1/sche").await;
        assert_eq!(read_answer(&mut stream).await.status, 200);
        let (reader, mut writer) = tokio::io::split(stream);
        let trickle = async {
            while writer.write_all(b"d").await.is_ok() {
                tokio::time::sleep(ANSWER_WITHIN / 10).await;
            }
        };
        let (rest, ()) = futures_util::join!(until_closed(reader), trickle);
        assert_eq!(rest, "");
        api.stop().await;
    });
}

#[test]
fn a_client_that_never_takes_its_answers_is_let_go_of() {
    run(async || {
        let api = ApiWorld::with_limits(ApiLimits { requests_per_second: 1_000_000, ..limits() }).await;
        let token = api.token(TokenScope::Read);
        let request =
            format!("GET /api/v1/openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n");
        let flood = async |mut stream: Box<dyn AsyncWriteAlone>| {
            // The system buffers some megabytes of responses before writes block.
            while stream.write_all(request.repeat(100).as_bytes()).await.is_ok() {}
        };
        let both = async { futures_util::join!(flood(Box::new(api.socket().await)), flood(Box::new(api.tcp().await))) };
        tokio::time::timeout(PATIENCE, both).await.expect("both are let go of");
        assert_eq!(api.get("/scheduler").await.status, 200);
        api.stop().await;
    });
}

/// A stream of either sort that is only written to.
trait AsyncWriteAlone: AsyncWrite + Unpin {}
impl<S: AsyncWrite + Unpin> AsyncWriteAlone for S {}

#[test]
fn a_reader_of_a_quiet_stream_is_kept() {
    run(async || {
        let api = ApiWorld::with_limits(limits()).await;
        let mut stream = BufReader::new(api.socket().await);
        send_raw(&mut stream, "GET /api/v1/posts/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").await;
        assert!(read_head(&mut stream).await.starts_with("HTTP/1.1 200"));
        let watch = Stopwatch::start();
        let mut line = String::new();
        while watch.elapsed() < 3 * ANSWER_WITHIN {
            line.clear();
            assert!(stream.read_line(&mut line).await.unwrap() > 0, "it goes on");
        }
        api.stop().await;
    });
}

#[test]
fn those_who_take_every_place_at_one_door_lose_them_and_keep_nobody_from_the_other() {
    run(async || {
        let api = ApiWorld::with_limits(ApiLimits { connections: 4, ..limits() }).await;
        let token = api.token(TokenScope::Read);
        let mut silent = Vec::new();
        for _ in 0..8 {
            silent.push(api.tcp().await);
        }
        assert_eq!(api.get("/scheduler").await.status, 200, "the socket has places of its own");
        // A new client waits only until the silent connections are closed.
        let asking = api.tell_tcp("GET", "/scheduler", "", Some(&token));
        let answer = tokio::time::timeout(PATIENCE, asking).await.expect("there is a place again");
        assert_eq!(answer.status, 200);
        let said = until_closed(silent.remove(0)).await;
        assert!(said.starts_with("HTTP/1.1 408 "), "{said:?}");
        api.stop().await;
    });
}
