//! Servers that take their time. One deadline covers everything.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::server::{Act, Server, answers, send};
use super::{ask_with, client, now, outcome, settings};
use feedwarden::http::{Client, HttpSettings, Request, Resolve, ResolveError};
use futures_util::future::BoxFuture;
use rstest::rstest;
use tokio::net::{TcpSocket, TcpStream};

const PAUSE: Duration = Duration::from_millis(20);

fn hurried() -> HttpSettings {
    HttpSettings { deadline: Duration::from_millis(400), ..settings() }
}

#[rstest]
#[case::mute(vec![Act::Mute], "Stalled: timed out after 0.4 s waiting for the answer")]
#[case::mute_after_the_request(vec![Act::Read, Act::Mute], "Stalled: timed out after 0.4 s waiting for the answer")]
#[case::head_dripped(
    vec![Act::Read, send("HTTP/1.1 200 OK\r\nX-Slow: "), Act::Drip(vec![b'a'; 1000], PAUSE)],
    "Stalled: timed out after 0.4 s waiting for the answer"
)]
#[case::interim_answers_for_ever(
    vec![Act::Read, Act::Drip("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1000).into_bytes(), Duration::from_millis(1))],
    "Stalled: timed out after 0.4 s waiting for the answer"
)]
#[case::interim_flood(
    vec![Act::Read, send("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(200_000)), Act::Mute],
    "Stalled: timed out after 0.4 s waiting for the answer"
)]
#[case::body_mute(
    vec![Act::Read, send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"), Act::Mute],
    "Stalled: timed out after 0.4 s reading the body (5 bytes so far)"
)]
#[tokio::test]
async fn p35_the_deadline_covers_every_stage(#[case] acts: Vec<Act>, #[case] expected: &str) {
    assert_eq!(ask_with(hurried(), acts).await, expected);
}

#[tokio::test]
async fn p35_a_body_dripped_slowly_ends_with_the_deadline() {
    for head in ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n"] {
        let acts = vec![Act::Read, send(head), Act::Drip(vec![b'a'; 900], PAUSE)];
        let outcome = ask_with(hurried(), acts).await;
        assert!(outcome.starts_with("Stalled: timed out after 0.4 s reading the body ("), "{outcome}");
        assert_ne!(outcome, "Stalled: timed out after 0.4 s reading the body (0 bytes so far)");
    }
}

#[tokio::test]
async fn p35_a_body_dripped_within_the_deadline_is_whole() {
    let acts = vec![Act::Read, send("HTTP/1.1 200 OK\r\n\r\n"), Act::Drip(b"hello".to_vec(), Duration::from_millis(1))];
    assert_eq!(ask_with(settings(), acts).await, "200: hello");
}

#[tokio::test]
async fn p35_redirects_share_one_deadline() {
    let mut acts = answers(&["HTTP/1.1 302 Found\r\nLocation: /slow\r\n\r\n".into()]);
    acts.extend([Act::Read, Act::Mute]);
    let server = Server::play(acts).await;
    let failure = client(hurried()).send(&Request::new(server.url("/"))).await.unwrap_err();
    assert_eq!(failure.hops.len(), 2);
    assert_eq!(failure.hops[0].status, Some(302));
    assert_eq!(failure.hops[1].status, None);
    assert_eq!(outcome(Err(failure)), "Stalled: timed out after 0.4 s waiting for the answer");
}

#[tokio::test]
async fn s103_a_handshake_that_never_ends_is_cut_by_the_connect_timeout() {
    let server = Server::play(vec![Act::Mute]).await;
    let settings = HttpSettings { connect_timeout: Duration::from_millis(200), ..settings() };
    let url = server.url("/").replace("http:", "https:");
    let outcome = outcome(client(settings).send(&Request::new(url)).await);
    assert_eq!(outcome, "Stalled: timed out after 0.2 s in the TLS handshake");
}

struct NeverAnswers;

impl Resolve for NeverAnswers {
    fn addresses<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, ResolveError>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn p35_the_deadline_covers_the_lookup_of_the_name() {
    let client = Client::with_resolver(hurried(), now, Arc::new(NeverAnswers)).unwrap();
    let outcome = outcome(client.send(&Request::new("http://feeds.example/")).await);
    assert_eq!(outcome, "NoNetwork: DNS: timed out after 0.4 s looking up the name");
}

/// A listener so full of connections that it no longer reacts to new ones, and what fills it.
async fn full_listener() -> (tokio::net::TcpListener, Vec<TcpStream>) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut filling = Vec::new();
    while let Ok(stream) = tokio::time::timeout(Duration::from_millis(200), TcpStream::connect(address)).await {
        filling.push(stream.unwrap());
        assert!(filling.len() < 100, "the listener never fills up");
    }
    (listener, filling)
}

#[tokio::test]
async fn s103_an_address_that_does_not_react_is_given_up() {
    let (listener, _filling) = full_listener().await;
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let patient = HttpSettings { connect_timeout: Duration::from_millis(200), ..settings() };
    let connect = outcome(client(patient).send(&Request::new(url.clone())).await);
    assert_eq!(connect, "Unreachable: timed out after 0.2 s connecting to 127.0.0.1:PORT");
    let deadline = outcome(client(hurried()).send(&Request::new(url)).await);
    assert_eq!(deadline, "Unreachable: timed out after 0.4 s connecting to 127.0.0.1:PORT");
}
