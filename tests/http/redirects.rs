//! Where redirects lead, and where they do not.

use super::server::{Act, Server, answer, answers, ok, unused_address};
use super::{ask, client, outcome, settings};
use feedwarden::http::{Credentials, HttpSettings, Redirect, Request};
use rstest::rstest;

pub(super) fn redirect(status: u16, location: &str) -> String {
    format!("HTTP/1.1 {status} Elsewhere\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")
}

pub(super) const END: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nend";

#[tokio::test]
async fn p21_five_redirects_are_followed() {
    let mut texts: Vec<String> = (1..=5).map(|number| redirect(302, &format!("/{number}"))).collect();
    texts.push(END.into());
    let server = Server::play(answers(&texts)).await;
    let reply = client(settings()).send(&Request::new(server.url("/0"))).await.unwrap();
    assert_eq!(reply.hops.len(), 6);
    assert_eq!(reply.url.as_str(), server.url("/5"));
    assert_eq!(outcome(Ok(reply)), "200: end");
}

#[tokio::test]
async fn p21_the_sixth_redirect_is_not_followed() {
    let texts: Vec<String> = (1..=6).map(|number| redirect(302, &format!("/{number}"))).collect();
    assert_eq!(ask(answers(&texts)).await, "Redirect: more than 5 redirects");
}

#[tokio::test]
async fn p21_a_loop_is_an_error_with_a_clear_text() {
    let one = ask(answers(&[redirect(301, "/feed")])).await;
    assert_eq!(one, "Redirect: redirect loop: http://127.0.0.1:PORT/feed leads back to itself");
    let two = ask(answers(&[redirect(301, "/other"), redirect(302, "/feed")])).await;
    assert_eq!(two, "Redirect: redirect loop: http://127.0.0.1:PORT/feed leads back to itself");
}

#[rstest]
#[case::no_location(
    "HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n\r\n",
    "Status(301): HTTP 301: redirect without a Location"
)]
#[case::empty_location(
    "HTTP/1.1 302 Found\r\nLocation:\r\n\r\n",
    "Redirect: redirect loop: http://127.0.0.1:PORT/feed leads back to itself"
)]
#[case::other_scheme(
    "HTTP/1.1 302 Found\r\nLocation: gopher://feeds.example/\r\n\r\n",
    "Redirect: redirect to gopher, which is neither http nor https"
)]
#[case::local_file(
    "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n",
    "Redirect: redirect to file, which is neither http nor https"
)]
#[case::no_url(
    "HTTP/1.1 302 Found\r\nLocation: http://[::1/\r\n\r\n",
    "Redirect: redirect to something that is no URL: invalid IPv6 address"
)]
#[tokio::test]
async fn a_redirect_that_leads_nowhere_says_so(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(ask(answer(text)).await, expected);
}

#[rstest]
#[case(301, Redirect::Permanent)]
#[case(308, Redirect::Permanent)]
#[case(302, Redirect::Temporary)]
#[case(303, Redirect::Temporary)]
#[case(307, Redirect::Temporary)]
#[tokio::test]
async fn p22_permanent_and_temporary_redirects_are_told_apart(#[case] status: u16, #[case] kind: Redirect) {
    let server = Server::play(answers(&[redirect(status, "/new"), END.into()])).await;
    let reply = client(settings()).send(&Request::new(server.url("/old"))).await.unwrap();
    assert_eq!(reply.hops[0].redirect(), Some(kind));
    assert_eq!(reply.moved_to().is_some(), kind == Redirect::Permanent);
}

#[tokio::test]
async fn p22_only_an_unbroken_permanent_chain_from_the_start_is_a_move() {
    let moved = async |statuses: [u16; 3]| {
        let mut texts: Vec<String> = (0..3).map(|number| redirect(statuses[number], &format!("/{number}"))).collect();
        texts.push(END.into());
        let server = Server::play(answers(&texts)).await;
        let reply = client(settings()).send(&Request::new(server.url("/old"))).await.unwrap();
        reply.moved_to().map(|url| url.path().to_owned())
    };
    assert_eq!(moved([301, 308, 301]).await.as_deref(), Some("/2"));
    assert_eq!(moved([301, 302, 301]).await.as_deref(), Some("/0"));
    assert_eq!(moved([302, 301, 301]).await, None);
}

/// The heads that two origins see when the first sends the request on to the second.
async fn across(request: impl FnOnce(&Server) -> Request) -> (String, String) {
    let second = Server::play(vec![Act::Read, ok("")]).await;
    let first = Server::play(answers(&[redirect(302, "/within"), redirect(302, &second.url("/"))])).await;
    client(settings()).send(&request(&first)).await.unwrap();
    (first.requests()[1].clone(), second.requests()[0].clone())
}

#[tokio::test]
async fn p23_credentials_stay_within_the_origin() {
    let (within, beyond) = across(|first| Request::new(first.url("/").replace("://", "://ann:secret@"))).await;
    assert!(within.contains("Authorization: Basic"), "{within}");
    assert!(!beyond.contains("Authorization"), "{beyond}");
    let (within, beyond) = across(|first| Request {
        credentials: Some(Credentials::Bearer("token".into())),
        ..Request::new(first.url("/"))
    })
    .await;
    assert!(within.contains("Authorization: Bearer token"), "{within}");
    assert!(!beyond.contains("token"), "{beyond}");
}

#[tokio::test]
async fn p23_a_sources_own_headers_stay_within_the_origin() {
    let (within, beyond) = across(|first| Request {
        headers: ["Cookie", "Authorization", "X-Key"].map(|name| (name.into(), "secret".into())).to_vec(),
        ..Request::new(first.url("/"))
    })
    .await;
    assert_eq!(within.matches("secret").count(), 3, "{within}");
    assert!(!beyond.contains("secret"), "{beyond}");
}

#[tokio::test]
async fn p23_what_was_dropped_is_not_sent_again_on_the_way_back() {
    let home_address = unused_address().to_string();
    let stranger = Server::play(answers(&[redirect(302, &format!("http://{home_address}/back"))])).await;
    let texts = [redirect(302, &stranger.url("/")), redirect(302, "/again"), END.into()];
    let home = Server::play_at(&home_address, answers(&texts)).await;
    let request = Request {
        credentials: Some(Credentials::Bearer("token".into())),
        ..Request::new(home.url("/").replace("://", "://ann:secret@"))
    };
    client(settings()).send(&request).await.unwrap();
    assert!(home.requests()[0].contains("Authorization"));
    for head in &home.requests()[1..] {
        assert!(!head.contains("Authorization"), "{head}");
    }
    assert_eq!(home.requests().len(), 3);
}

#[tokio::test]
async fn p01_validators_travel_along_a_redirect() {
    let mut acts = answers(&[redirect(302, "/new")]);
    acts.extend(answer("HTTP/1.1 304 Not Modified\r\n\r\n"));
    let server = Server::play(acts).await;
    let mut request = Request::new(server.url("/old"));
    request.validators.etag = Some("\"1\"".into());
    assert_eq!(outcome(client(settings()).send(&request).await), "304");
    assert!(server.requests().iter().all(|head| head.contains("If-None-Match: \"1\"")));
}

#[tokio::test]
async fn p36_a_redirect_to_a_private_address_is_refused_at_that_hop() {
    for (location, expected) in [
        ("http://127.0.0.2:9/", "AddressRefused: address 127.0.0.2 is refused: loopback; see http.allowed-networks"),
        ("http://10.0.0.1/", "AddressRefused: address 10.0.0.1 is refused: private; see http.allowed-networks"),
        (
            "http://169.254.169.254/latest/meta-data/",
            "AddressRefused: address 169.254.169.254 is refused: cloud metadata; see http.allowed-networks",
        ),
        (
            "http://[::ffff:127.0.0.1]/",
            "AddressRefused: address ::ffff:127.0.0.1 is refused: embedded IPv4 (mapped); see http.allowed-networks",
        ),
        ("http://0x7f.2/", "AddressRefused: address 127.0.0.2 is refused: loopback; see http.allowed-networks"),
    ] {
        let server = Server::play(answers(&[redirect(302, location)])).await;
        let settings = HttpSettings {
            allow_private_networks: false,
            allowed_networks: vec!["127.0.0.1/32".parse().unwrap()],
            ..settings()
        };
        let failure = client(settings).send(&Request::new(server.url("/"))).await.unwrap_err();
        assert_eq!(failure.hops.len(), 2);
        assert_eq!(failure.hops[1].address, None, "nothing may have been dialled");
        assert_eq!(outcome(Err(failure)), expected);
    }
}
