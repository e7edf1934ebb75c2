//! The bytes that are sent.

use super::server::{Act, Server, answers, ok};
use super::{client, settings};
use feedwarden::http::{Credentials, HttpSettings, Method, Request};
use feedwarden::model::Validators;
use rstest::rstest;

/// Sends the request to a server and returns what the server was asked.
async fn sent(request: impl FnOnce(&Server) -> Request) -> String {
    let server = Server::play(vec![Act::Read, ok("")]).await;
    client(settings()).send(&request(&server)).await.unwrap();
    server.requests().remove(0).replace(&server.address.to_string(), "HOST")
}

#[tokio::test]
async fn p26_p27_a_request_is_exactly_these_bytes() {
    assert_eq!(
        sent(|server| Request::new(server.url("/feed?a=1&b=%20#part"))).await,
        "GET /feed?a=1&b=%20 HTTP/1.1\r\n\
         Host: HOST\r\n\
         User-Agent: feedwarden-test/1 (+https://feedwarden.example/contact)\r\n\
         Accept: */*\r\n\
         Accept-Encoding: gzip, br, zstd\r\n\
         Connection: close\r\n\r\n"
    );
}

#[test]
fn p27_the_default_user_agent_has_name_and_version_and_makes_up_no_contact() {
    let settings = HttpSettings::default();
    assert_eq!(settings.user_agent, format!("feedwarden/{}", env!("CARGO_PKG_VERSION")));
    assert!(!settings.has_contact());
    for user_agent in ["feedwarden/1 (+https://example.org/bot)", "feedwarden/1 (+mailto:me@example.org)"] {
        assert!(HttpSettings { user_agent: user_agent.into(), ..HttpSettings::default() }.has_contact());
    }
}

#[tokio::test]
async fn other_settings_hold_from_the_next_request_on_in_every_clone() {
    let server = Server::play(vec![Act::Read, ok(""), Act::NextConnection, Act::Read, ok("")]).await;
    let client = client(settings());
    let clone = client.clone();
    let request = Request::new(server.url("/"));
    clone.send(&request).await.unwrap();
    let wrong = HttpSettings { user_agent: "two\nlines".into(), ..settings() };
    assert!(client.reconfigure(wrong).is_err());
    assert_eq!(client.deadline(), settings().deadline, "settings that cannot be followed change nothing");
    let other = HttpSettings { user_agent: "another-agent/2".into(), ..settings() };
    client.reconfigure(other).unwrap();
    clone.send(&request).await.unwrap();
    let [first, second] = &server.requests()[..] else { panic!("two requests") };
    assert!(first.contains("feedwarden-test/1") && second.contains("User-Agent: another-agent/2\r\n"));
}

#[rstest]
#[case::weak("W/\"abc\"")]
#[case::no_quotes("abc")]
#[case::odd_spaces("\"a  b\"")]
#[case::outside_ascii("\"caf\u{e9}\u{80}\u{ff}\"")]
#[case::backslashes(r#""a\"b""#)]
#[tokio::test]
async fn p01_validators_go_back_exactly_as_they_came(#[case] etag: &str) {
    let bytes: Vec<u8> = etag.chars().map(|character| u8::try_from(u32::from(character)).unwrap()).collect();
    let head =
        [b"HTTP/1.1 200 OK\r\nLast-Modified: Mon, 1 Jan 24 01:02:03 +0100\r\nETag: ".as_slice(), &bytes].concat();
    let first = [head.as_slice(), b"\r\nContent-Length: 0\r\n\r\n"].concat();
    let server = Server::play(vec![
        Act::Read,
        Act::Send(first),
        Act::NextConnection,
        Act::Read,
        Act::Send(b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec()),
    ])
    .await;
    let client = client(settings());
    let mut request = Request::new(server.url("/"));
    request.validators = client.send(&request).await.unwrap().validators;
    client.send(&request).await.unwrap();
    let second = &server.requests()[1];
    // The server's record has one character for each byte, as validators have.
    assert!(second.contains(&format!("\r\nIf-None-Match: {etag}\r\n")), "{second}");
    assert!(second.contains("\r\nIf-Modified-Since: Mon, 1 Jan 24 01:02:03 +0100\r\n"), "{second}");
}

#[tokio::test]
async fn p02_without_validators_nothing_conditional_is_sent() {
    assert!(!sent(|server| Request::new(server.url("/"))).await.contains("If-"));
}

#[tokio::test]
async fn p26_cookies_are_not_kept_and_there_is_no_referer() {
    let server = Server::play(answers(&[
        "HTTP/1.1 302 Found\r\nSet-Cookie: a=b\r\nLocation: /two\r\n\r\n".into(),
        "HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n".into(),
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".into(),
    ]))
    .await;
    let client = client(settings());
    client.send(&Request::new(server.url("/one"))).await.unwrap();
    client.send(&Request::new(server.url("/three"))).await.unwrap();
    let all = server.requests().concat().to_lowercase();
    assert_eq!(server.requests().len(), 3);
    assert!(!all.contains("cookie") && !all.contains("referer"), "{all}");
}

#[tokio::test]
async fn p37_credentials_in_the_url_become_a_header_and_leave_the_url() {
    let head = sent(|server| Request::new(server.url("/feed").replace("://", "://ann:s%3Acret@"))).await;
    assert!(head.starts_with("GET /feed HTTP/1.1\r\nHost: HOST\r\n"), "{head}");
    assert!(head.contains("\r\nAuthorization: Basic YW5uOnM6Y3JldA==\r\n"), "{head}");
}

#[tokio::test]
async fn given_credentials_win_over_those_in_the_url() {
    let head = sent(|server| Request {
        credentials: Some(Credentials::Basic { name: "bob".into(), password: "word".into() }),
        ..Request::new(server.url("/").replace("://", "://ann:secret@"))
    })
    .await;
    assert_eq!(head.matches("Authorization").count(), 1);
    assert!(head.contains("\r\nAuthorization: Basic Ym9iOndvcmQ=\r\n"), "{head}");
    let head = sent(|server| Request {
        credentials: Some(Credentials::Bearer("token".into())),
        ..Request::new(server.url("/"))
    })
    .await;
    assert!(head.contains("\r\nAuthorization: Bearer token\r\n"), "{head}");
}

#[tokio::test]
async fn a_sources_own_headers_are_added_or_replace_ours() {
    let head = sent(|server| Request {
        headers: vec![("X-Key".into(), "abc".into()), ("accept".into(), "text/xml".into())],
        ..Request::new(server.url("/"))
    })
    .await;
    assert!(head.contains("\r\nX-Key: abc\r\n") && head.contains("\r\nAccept: text/xml\r\n"), "{head}");
    assert!(!head.contains("*/*"), "{head}");
}

#[rstest]
#[case("Host", "elsewhere.example", "one of the source's headers has a name that cannot be used")]
#[case("no name", "x", "one of the source's headers has a name that cannot be used")]
#[case("X-Key", "hidden\r\nX-Injected: 1", "header x-key has a value that cannot be sent")]
#[tokio::test]
async fn a_header_that_cannot_be_sent_fails_without_showing_its_value(
    #[case] name: &str,
    #[case] value: &str,
    #[case] expected: &str,
) {
    let request = Request { headers: vec![(name.into(), value.into())], ..Request::new("http://127.0.0.1:9/") };
    let failure = client(settings()).send(&request).await.unwrap_err();
    assert_eq!(failure.to_string(), expected);
}

#[tokio::test]
async fn a_validator_that_no_server_can_have_sent_is_left_out() {
    for impossible in ["\u{65e5}", "a\r\nX-Injected: 1", "\0"] {
        let validators = Validators { etag: Some(impossible.into()), last_modified: Some("fine".into()) };
        let head = sent(|server| Request { validators, ..Request::new(server.url("/")) }).await;
        assert!(!head.contains("If-None-Match") && !head.contains("Injected"), "{head}");
        assert!(head.contains("\r\nIf-Modified-Since: fine\r\n"), "{head}");
    }
}

#[tokio::test]
async fn a_form_is_posted_once_and_never_sent_on() {
    let form = |server: &Server| Request {
        method: Method::PostForm("grant_type=refresh_token".into()),
        ..Request::new(server.url("/token"))
    };
    let head = sent(form).await;
    assert!(head.starts_with("POST /token HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("\r\nContent-Type: application/x-www-form-urlencoded\r\n"), "{head}");
    assert!(head.contains("\r\nContent-Length: 24\r\n"), "{head}");
    let server = Server::play(answers(&["HTTP/1.1 307 Elsewhere\r\nLocation: /other\r\n\r\n".into()])).await;
    let failure = client(settings()).send(&form(&server)).await.unwrap_err();
    assert_eq!(failure.to_string(), "redirect of a POST refused");
    assert_eq!(server.requests().len(), 1);
}
