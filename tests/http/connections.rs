//! Connections that are kept, and those that must not be.

use std::time::Duration;

use super::server::{Act, Server, ok, send};
use super::{client, outcome, settings};
use feedwarden::http::{HttpSettings, Request};

fn kept(url: String) -> Request {
    Request { keep_alive: true, ..Request::new(url) }
}

#[tokio::test]
async fn a_kept_connection_is_asked_again_and_says_nothing_about_closing() {
    // The server accepts one connection only: a second one would never be answered.
    let server = Server::play(vec![Act::Read, ok("one"), Act::Read, ok("two"), Act::Read, ok("three")]).await;
    let client = client(settings());
    assert_eq!(outcome(client.send(&kept(server.url("/1"))).await), "200: one");
    assert_eq!(client.idle_connections(), 1);
    let reply = client.send(&kept(server.url("/2"))).await.unwrap();
    assert_eq!(reply.hops[0].address, Some(server.address));
    assert_eq!(outcome(Ok(reply)), "200: two");
    assert_eq!(outcome(client.send(&Request::new(server.url("/3"))).await), "200: three");
    assert_eq!(client.idle_connections(), 0);
    let heads = server.requests();
    assert!(!heads[0].contains("Connection:") && !heads[1].contains("Connection:"));
    assert!(heads[2].contains("\r\nConnection: close\r\n"));
}

#[tokio::test]
async fn a_304_keeps_the_connection_too() {
    let server = Server::play(vec![Act::Read, send("HTTP/1.1 304 Not Modified\r\n\r\n"), Act::Read, ok("two")]).await;
    let client = client(settings());
    assert_eq!(outcome(client.send(&kept(server.url("/"))).await), "304");
    assert_eq!(outcome(client.send(&kept(server.url("/"))).await), "200: two");
}

#[tokio::test]
async fn a_kept_connection_that_the_server_closed_or_reset_is_replaced() {
    for ending in [send(""), Act::Reset] {
        let acts = vec![Act::Read, ok("one"), ending, Act::NextConnection, Act::Read, ok("two")];
        let server = Server::play(acts).await;
        let client = client(settings());
        assert_eq!(outcome(client.send(&kept(server.url("/"))).await), "200: one");
        assert_eq!(outcome(client.send(&kept(server.url("/"))).await), "200: two");
    }
}

#[tokio::test]
async fn a_kept_connection_that_closes_on_the_second_request_is_replaced() {
    let acts = vec![Act::Read, ok("one"), Act::Read, Act::NextConnection, Act::Read, ok("two")];
    let server = Server::play(acts).await;
    let client = client(settings());
    assert_eq!(outcome(client.send(&kept(server.url("/"))).await), "200: one");
    assert_eq!(outcome(client.send(&kept(server.url("/"))).await), "200: two");
}

#[tokio::test]
async fn a_connection_that_says_more_than_its_answer_is_not_asked_again() {
    // The rest would be taken for the answer to the next request, and with it a stranger's words.
    for first in [
        "HTTP/1.1 304 Not Modified\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\noneHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged",
    ] {
        let acts = vec![Act::Read, send(first), Act::Mute, Act::NextConnection, Act::Read, ok("two")];
        let server = Server::play(acts).await;
        let client = client(settings());
        client.send(&kept(server.url("/"))).await.unwrap();
        assert_eq!(outcome(client.send(&kept(server.url("/"))).await), "200: two");
    }
}

#[tokio::test]
async fn a_connection_with_an_unread_or_unending_answer_is_not_kept() {
    for text in [
        "HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nnot found",
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\n\r\nuntil the end",
    ] {
        let server = Server::play(vec![Act::Read, send(text)]).await;
        let client = client(settings());
        let _ = client.send(&kept(server.url("/"))).await;
        assert_eq!(client.idle_connections(), 0, "{text}");
    }
}

#[tokio::test]
async fn a_kept_connection_is_let_go_after_a_while() {
    let server = Server::play(vec![Act::Read, ok("one"), Act::Mute]).await;
    let client = client(HttpSettings { idle_timeout: Duration::from_millis(50), ..settings() });
    client.send(&kept(server.url("/"))).await.unwrap();
    assert_eq!(client.idle_connections(), 1);
    let let_go = async {
        while client.idle_connections() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), let_go).await.expect("the connection is let go");
}

#[tokio::test]
async fn no_more_than_a_bounded_number_of_connections_is_kept() {
    let client = client(settings());
    let mut servers = Vec::new();
    for _ in 0..260 {
        let server = Server::play(vec![Act::Read, ok("one"), Act::Mute]).await;
        client.send(&kept(server.url("/"))).await.unwrap();
        servers.push(server);
    }
    assert_eq!(client.idle_connections(), 256);
}

#[tokio::test]
async fn connections_to_different_origins_are_not_mixed_up() {
    let one = Server::play(vec![Act::Read, ok("one"), Act::Mute]).await;
    let two = Server::play(vec![Act::Read, ok("two"), Act::Mute]).await;
    let client = client(settings());
    assert_eq!(outcome(client.send(&kept(one.url("/"))).await), "200: one");
    assert_eq!(outcome(client.send(&kept(two.url("/"))).await), "200: two");
    assert_eq!(client.idle_connections(), 2);
}
