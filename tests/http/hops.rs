//! Redirects one hop at a time lead to the same result as following them at once.

use super::redirects::{END, redirect};
use super::server::{Server, answers, unused_address};
use super::{client, outcome, settings};
use feedwarden::http::{Client, Content, Credentials, Failure, PendingRedirect, Reply, Request};
use rstest::rstest;

/// The redirect that the request is handed; it may not have followed it.
fn pending_redirect(reply: Reply) -> PendingRedirect {
    match reply.content {
        Content::Redirect(pending_redirect) => pending_redirect,
        other => panic!("no redirect: {other:?}"),
    }
}

/// Goes on by hand until something else than a redirect comes, one request each time.
async fn by_hand(client: &Client, request: &Request) -> Result<Reply, Failure> {
    let mut request = Request { follows: false, ..request.clone() };
    for hops in 1.. {
        let reply = client.send(&request).await?;
        assert_eq!(reply.hops.len(), hops, "one more request each time");
        if !matches!(reply.content, Content::Redirect(_)) {
            return Ok(reply);
        }
        let (asked, told) = (reply.url.clone(), reply.hops.clone());
        let pending_redirect = pending_redirect(reply);
        assert_eq!((told.last().map(|hop| &hop.url), pending_redirect.hops()), (Some(&asked), told.as_slice()));
        request.pending_redirect = Some(pending_redirect);
    }
    unreachable!("redirects end")
}

/// Plays the answers twice: to a request that follows them and to one that is led by hand. Both must see the same,
/// and the server as well.
async fn check_same(texts: &[String], request: impl FnOnce(&Server) -> Request) -> String {
    let server = Server::play(answers(&[texts, texts].concat())).await;
    let request = request(&server);
    let client = client(settings());
    let followed = client.send(&request).await;
    let led = by_hand(&client, &request).await;
    assert_eq!(led, followed);
    let heads = server.requests();
    let (first, second) = heads.split_at(heads.len() / 2);
    assert_eq!(first, second, "the publisher sees no difference");
    let moved_to = led.as_ref().ok().and_then(|reply| reply.moved_to()).map(|url| url.path().to_owned());
    format!("{}, moved to {moved_to:?}", outcome(led))
}

/// Redirects with these statuses to `/1`, `/2` and so on, and then the end.
fn chain(statuses: &[u16]) -> Vec<String> {
    let hop = |(number, status): (usize, &u16)| redirect(*status, &format!("/{}", number + 1));
    statuses.iter().enumerate().map(hop).chain([END.into()]).collect()
}

#[rstest]
#[case(chain(&[]), "200: end, moved to None")]
#[case(chain(&[301, 308, 301]), "200: end, moved to Some(\"/3\")")]
#[case(chain(&[301, 302, 301]), "200: end, moved to Some(\"/1\")")]
#[case(chain(&[302, 301]), "200: end, moved to None")]
#[case(chain(&[301, 302, 303, 307, 308]), "200: end, moved to Some(\"/1\")")]
#[case(chain(&[302; 6])[..6].to_vec(), "Redirect: more than 5 redirects, moved to None")]
#[case(
    vec![redirect(301, "/1"), redirect(302, "/2"), redirect(301, "/1")],
    "Redirect: redirect loop: http://127.0.0.1:PORT/1 leads back to itself, moved to None"
)]
#[case(
    vec![redirect(301, "/1"), redirect(302, "ftp://feeds.example/")],
    "Redirect: redirect to ftp, which is neither http nor https, moved to None"
)]
#[case(
    vec![redirect(301, "/1"), "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n".into()],
    "Status(302): HTTP 302: redirect without a Location, moved to None"
)]
#[case(
    vec![redirect(301, "/1"), "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n".into()],
    "Status(410): HTTP 410 Gone, moved to None"
)]
#[tokio::test]
async fn p21_p25_hop_by_hop_leads_where_following_leads(#[case] texts: Vec<String>, #[case] expected: &str) {
    assert_eq!(check_same(&texts, |server| Request::new(server.url("/0"))).await, expected);
}

#[tokio::test]
async fn p01_p23_credentials_headers_and_validators_go_along_within_an_origin() {
    let request = |server: &Server| {
        let mut request = Request::new(server.url("/0").replace("://", "://ann:secret@"));
        request.headers = vec![("X-Key".into(), "secret".into())];
        request.validators.etag = Some("\"1\"".into());
        request
    };
    assert_eq!(check_same(&chain(&[302, 301]), request).await, "200: end, moved to None");
    let server = Server::play(answers(&chain(&[302, 301]))).await;
    by_hand(&client(settings()), &request(&server)).await.unwrap();
    for head in server.requests() {
        assert!(head.contains("Authorization: Basic YW5uOnNlY3JldA=="), "{head}");
        assert!(head.contains("X-Key: secret") && head.contains("If-None-Match: \"1\""), "{head}");
    }
}

#[tokio::test]
async fn p23_secrets_stay_at_home_once_another_origin_was_asked_even_if_the_way_leads_back() {
    let home_address = unused_address().to_string();
    let stranger = Server::play(answers(&[redirect(302, &format!("http://{home_address}/back"))])).await;
    let texts = [redirect(302, "/within"), redirect(302, &stranger.url("/")), redirect(302, "/again"), END.into()];
    let home = Server::play_at(&home_address, answers(&texts)).await;
    let request = Request {
        headers: vec![("X-Key".into(), "secret".into())],
        credentials: Some(Credentials::Bearer("token".into())),
        ..Request::new(home.url("/").replace("://", "://ann:secret@"))
    };
    let reply = by_hand(&client(settings()), &request).await.unwrap();
    assert_eq!(reply.url.as_str(), home.url("/again"));
    let told = |head: &String| head.contains("token") && head.contains("X-Key: secret");
    assert_eq!(home.requests().iter().map(told).collect::<Vec<_>>(), [true, true, false, false]);
    for head in [&home.requests()[2], &home.requests()[3], &stranger.requests()[0]] {
        assert!(!head.contains("secret") && !head.contains("Authorization"), "{head}");
    }
}

#[tokio::test]
async fn p25_the_next_host_is_not_asked_before_somebody_goes_on() {
    let other = Server::play(answers(&[END.into()])).await;
    let home = Server::play(answers(&[redirect(301, &other.url("/new"))])).await;
    let client = client(settings());
    let request = Request { follows: false, ..Request::new(home.url("/old")) };
    let pending_redirect = pending_redirect(client.send(&request).await.unwrap());
    assert_eq!(pending_redirect.url().as_str(), other.url("/new"));
    assert_eq!(other.requests(), [""; 0], "no redirect was followed yet");
    let request = Request { pending_redirect: Some(pending_redirect), ..request };
    let reply = client.send(&request).await.unwrap();
    assert_eq!((other.requests().len(), home.requests().len()), (1, 1));
    assert_eq!(reply.moved_to().map(|url| url.as_str()), Some(other.url("/new").as_str()));
}

#[tokio::test]
async fn p37_a_redirect_in_hand_does_not_show_the_credentials_it_carries() {
    let server = Server::play(answers(&[redirect(302, "/1")])).await;
    let url = server.url("/0").replace("://", "://ann:hidden@");
    let reply = client(settings()).send(&Request { follows: false, ..Request::new(url) }).await.unwrap();
    let printed = format!("{reply:?}");
    assert!(printed.contains("/1") && !printed.contains("hidden"), "{printed}");
    let request = Request { pending_redirect: Some(pending_redirect(reply)), ..Request::new("http://feeds.example/") };
    assert!(!format!("{request:?}").contains("hidden"), "{request:?}");
}
