//! Hosts in all their spellings, and which addresses are dialled for them.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use super::server::{Act, Server, answers, ok, unused_address};
use super::{client, now, outcome, settings};
use feedwarden::http::{Client, HttpSettings, Request, Resolve, ResolveError};
use futures_util::future::BoxFuture;
use rstest::rstest;

fn public_only() -> HttpSettings {
    HttpSettings { allow_private_networks: false, ..settings() }
}

#[rstest]
#[case::loopback("http://127.0.0.1/", "address 127.0.0.1 is refused: loopback; see http.allowed-networks")]
#[case::decimal("http://2130706433/", "address 127.0.0.1 is refused: loopback; see http.allowed-networks")]
#[case::octal("http://0177.0.0.01/", "address 127.0.0.1 is refused: loopback; see http.allowed-networks")]
#[case::hexadecimal("http://0x7f000001/", "address 127.0.0.1 is refused: loopback; see http.allowed-networks")]
#[case::short("http://127.1/", "address 127.0.0.1 is refused: loopback; see http.allowed-networks")]
#[case::full_width(
    "http://\u{ff11}\u{ff12}\u{ff17}.0.0.1/",
    "address 127.0.0.1 is refused: loopback; see http.allowed-networks"
)]
#[case::trailing_dot("http://127.0.0.1./", "address 127.0.0.1 is refused: loopback; see http.allowed-networks")]
#[case::zero("http://0/", "address 0.0.0.0 is refused: unspecified; see http.allowed-networks")]
#[case::ipv6_loopback("http://[::1]/", "address ::1 is refused: loopback; see http.allowed-networks")]
#[case::ipv6_mapped(
    "http://[::ffff:7f00:1]/",
    "address ::ffff:127.0.0.1 is refused: embedded IPv4 (mapped); see http.allowed-networks"
)]
#[case::ipv6_unique_local("https://[fd00::1]/", "address fd00::1 is refused: unique local; see http.allowed-networks")]
#[case::metadata(
    "http://169.254.169.254/",
    "address 169.254.169.254 is refused: cloud metadata; see http.allowed-networks"
)]
#[case::credentials_before(
    "http://example.com@127.0.0.1/",
    "address 127.0.0.1 is refused: loopback; see http.allowed-networks"
)]
#[tokio::test]
async fn p36_no_spelling_of_a_private_address_gets_through(#[case] url: &str, #[case] expected: &str) {
    let failure = client(public_only()).send(&Request::new(url)).await.unwrap_err();
    assert_eq!(failure.to_string(), expected);
    assert_eq!(failure.hops[0].address, None, "nothing may have been dialled");
}

#[tokio::test]
async fn an_ipv6_literal_is_dialled_and_named_in_brackets() {
    let server = Server::play_at("[::1]:0", vec![Act::Read, ok("six")]).await;
    let result = client(settings()).send(&Request::new(server.url("/"))).await;
    assert_eq!(outcome(result), "200: six");
    assert!(server.requests()[0].contains(&format!("\r\nHost: {}\r\n", server.address)));
}

#[tokio::test]
async fn decimal_and_octal_hosts_are_dialled_where_loopback_is_allowed() {
    let end = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned();
    let server = Server::play(answers(&[end.clone(), end])).await;
    let client = client(settings());
    for host in ["2130706433", "0177.0.0.1"] {
        let url = format!("http://{host}:{}/", server.address.port());
        assert_eq!(outcome(client.send(&Request::new(url)).await), "200: ok");
    }
    assert!(server.requests().iter().all(|head| head.contains("\r\nHost: 127.0.0.1:")));
}

#[tokio::test]
async fn an_idn_host_is_resolved_and_named_in_its_ascii_form() {
    let server = Server::play(vec![Act::Read, ok("ok")]).await;
    let static_hosts = HashMap::from([("xn--bcher-kva.example".to_owned(), server.address.ip())]);
    let client = client(HttpSettings { static_hosts, ..settings() });
    let url = format!("http://B\u{fc}cher.example:{}/", server.address.port());
    assert_eq!(outcome(client.send(&Request::new(url)).await), "200: ok");
    assert!(server.requests()[0].contains("\r\nHost: xn--bcher-kva.example:"), "{}", server.requests()[0]);
}

#[tokio::test]
async fn p36_a_static_host_is_vetted_like_any_other() {
    let static_hosts = HashMap::from([("feeds.example".to_owned(), "10.1.2.3".parse().unwrap())]);
    let failure =
        client(HttpSettings { static_hosts, ..public_only() }).send(&Request::new("http://feeds.example/")).await;
    assert_eq!(outcome(failure), "AddressRefused: address 10.1.2.3 is refused: private; see http.allowed-networks");
}

/// Answers each lookup with the next of its answers, and counts them.
struct Script(Mutex<VecDeque<Result<Vec<IpAddr>, ResolveError>>>);

impl Script {
    fn new(answers: impl IntoIterator<Item = Result<Vec<&'static str>, ResolveError>>) -> Arc<Script> {
        let parse = |addresses: Vec<&str>| addresses.into_iter().map(|text| text.parse().unwrap()).collect();
        Arc::new(Script(Mutex::new(answers.into_iter().map(|answer| answer.map(parse)).collect())))
    }

    fn left(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

impl Resolve for Script {
    fn addresses<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, ResolveError>> {
        let answer = self.0.lock().unwrap().pop_front().unwrap_or(Err(ResolveError::NoSuchName));
        Box::pin(std::future::ready(answer))
    }
}

fn scripted(settings: HttpSettings, script: &Arc<Script>) -> Client {
    let resolver: Arc<Script> = Arc::clone(script);
    Client::with_resolver(settings, now, resolver).unwrap()
}

#[tokio::test]
async fn p36_a_name_that_is_rebound_between_two_lookups_does_not_get_through() {
    // One lookup for each dial: what was vetted is what is dialled, and the second answer is vetted again.
    let end = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned();
    let server = Server::play(answers(&[end.clone(), end])).await;
    let script = Script::new([Ok(vec!["127.0.0.1"]), Ok(vec!["127.0.0.2"]), Ok(vec!["127.0.0.1"])]);
    let settings = HttpSettings { allowed_networks: vec!["127.0.0.1/32".parse().unwrap()], ..public_only() };
    let client = scripted(settings, &script);
    let request = Request::new(format!("http://rebound.example:{}/", server.address.port()));
    assert_eq!(outcome(client.send(&request).await), "200: ok");
    assert_eq!(script.left(), 2, "one lookup a request, no second one after vetting");
    assert_eq!(
        outcome(client.send(&request).await),
        "AddressRefused: address 127.0.0.2 is refused: loopback; see http.allowed-networks"
    );
    assert_eq!(outcome(client.send(&request).await), "200: ok");
}

#[tokio::test]
async fn p36_a_redirect_back_to_a_rebound_name_is_vetted_again() {
    let server = Server::play(answers(&["HTTP/1.1 302 Found\r\nLocation: /again\r\n\r\n".into()])).await;
    let script = Script::new([Ok(vec!["127.0.0.1"]), Ok(vec!["169.254.169.254"])]);
    let settings = HttpSettings { allowed_networks: vec!["127.0.0.1/32".parse().unwrap()], ..public_only() };
    let request = Request::new(format!("http://rebound.example:{}/", server.address.port()));
    let result = scripted(settings, &script).send(&request).await;
    assert_eq!(
        outcome(result),
        "AddressRefused: address 169.254.169.254 is refused: cloud metadata; see http.allowed-networks"
    );
}

#[tokio::test]
async fn p36_of_mixed_addresses_only_the_allowed_ones_are_dialled() {
    let server = Server::play(vec![Act::Read, ok("ok")]).await;
    let script = Script::new([Ok(vec!["10.0.0.1", "127.0.0.1", "fe80::1"])]);
    let settings = HttpSettings { allowed_networks: vec!["127.0.0.1/32".parse().unwrap()], ..public_only() };
    let request = Request::new(format!("http://mixed.example:{}/", server.address.port()));
    let reply = scripted(settings, &script).send(&request).await.unwrap();
    assert_eq!(reply.hops[0].address, Some(server.address));
}

#[tokio::test]
async fn a_further_address_is_tried_when_the_first_refuses() {
    let server = Server::play(vec![Act::Read, ok("ok")]).await;
    let script = Script::new([Ok(vec!["127.0.0.3", "127.0.0.4", "127.0.0.1"])]);
    let request = Request::new(format!("http://many.example:{}/", server.address.port()));
    let reply = scripted(settings(), &script).send(&request).await.unwrap();
    assert_eq!(reply.hops[0].address, Some(server.address));
}

#[tokio::test]
async fn s103_a_port_where_nobody_listens_refuses() {
    let url = format!("http://{}/", unused_address());
    let expected = "Connection: connection refused while connecting to 127.0.0.1:PORT";
    assert_eq!(outcome(client(settings()).send(&Request::new(url)).await), expected);
}

#[tokio::test]
async fn many_dead_addresses_of_one_family_do_not_hide_the_other() {
    let server = Server::play(vec![Act::Read, ok("ok")]).await;
    let script = Script::new([Ok(vec!["::1", "::1", "::1", "::1", "::1", "127.0.0.1"])]);
    let request = Request::new(format!("http://many.example:{}/", server.address.port()));
    assert_eq!(outcome(scripted(settings(), &script).send(&request).await), "200: ok");
}

#[tokio::test]
async fn s103_when_every_address_refuses_the_last_one_is_named() {
    let port = unused_address().port();
    let script = Script::new([Ok(vec!["127.0.0.3", "127.0.0.4"])]);
    let request = Request::new(format!("http://many.example:{port}/"));
    let expected = "Connection: connection refused while connecting to 127.0.0.4:PORT (one of 2 addresses)";
    assert_eq!(outcome(scripted(settings(), &script).send(&request).await), expected);
}

#[rstest]
#[case::s104_no_such_name(ResolveError::NoSuchName, "Dns: DNS: name does not resolve")]
#[case::s104_server_failure(
    ResolveError::Refused("Server Failure".into()),
    "ResolverFailed: DNS: name does not resolve: the resolver says Server Failure"
)]
#[case::p31_resolver_down(
    ResolveError::NoAnswer("the resolver did not answer".into()),
    "NoNetwork: DNS: name could not be looked up: the resolver did not answer"
)]
#[tokio::test]
async fn s104_any_answer_of_the_resolver_is_a_dns_failure_and_its_silence_is_not(
    #[case] error: ResolveError,
    #[case] expected: &str,
) {
    let client = scripted(settings(), &Script::new([Err(error)]));
    assert_eq!(outcome(client.send(&Request::new("http://gone.example/")).await), expected);
}

#[tokio::test]
async fn a_long_list_of_addresses_is_not_walked_to_its_end() {
    let server = Server::play_at("127.0.0.9:0", vec![Act::Read, ok("ok")]).await;
    let script = Script::new([Ok(vec!["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.9"])]);
    let request = Request::new(format!("http://many.example:{}/", server.address.port()));
    let expected = "Connection: connection refused while connecting to 127.0.0.5:PORT (one of 4 addresses)";
    assert_eq!(outcome(scripted(settings(), &script).send(&request).await), expected);
}
