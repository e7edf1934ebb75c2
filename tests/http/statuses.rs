//! What each status becomes, and what its headers say about coming back.

use std::time::Duration;

use super::server::{Act, Server, answer, send};
use super::{ask, client, now, outcome, settings};
use feedwarden::http::{Content, HttpSettings, Request};
use feedwarden::model::{FailureCause, Validators};
use rstest::rstest;

#[rstest]
#[case::s112_not_modified("304 Not Modified", "304")]
#[case::s110_no_content("204 No Content", "Status(204): HTTP 204 No Content")]
#[case::s110_partial("206 Partial Content", "Status(206): HTTP 206 Partial Content")]
#[case::s110_choices("300 Multiple Choices", "Status(300): HTTP 300 Multiple Choices")]
#[case::s110_bad_request("400 Bad Request", "Status(400): HTTP 400 Bad Request")]
#[case::s105_unauthorized("401 Unauthorized", "Status(401): HTTP 401 Unauthorized")]
#[case::s106_forbidden("403 Forbidden", "Status(403): HTTP 403 Forbidden")]
#[case::s101_not_found("404 Not Found", "Status(404): HTTP 404 Not Found")]
#[case::s107_gone("410 Gone", "Status(410): HTTP 410 Gone")]
#[case::s108_too_many("429 Slow Down", "Status(429): HTTP 429 Too Many Requests")]
#[case::s102_server_error("500 Oops", "Status(500): HTTP 500 Internal Server Error")]
#[case::s102_unavailable("503 Service Unavailable", "Status(503): HTTP 503 Service Unavailable")]
#[case::s110_unknown("799 What", "Status(799): HTTP 799")]
#[case::s102_unknown("599 What", "Status(599): HTTP 599")]
#[tokio::test]
async fn a_status_is_told_as_it_is(#[case] status: &str, #[case] expected: &str) {
    assert_eq!(ask(answer(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"))).await, expected);
}

#[tokio::test]
async fn s110_s112_no_status_but_200_and_304_is_a_success() {
    let client = client(settings());
    let redirects = [301, 302, 303, 307, 308];
    for status in (200..=599).chain([600, 799, 999]).filter(|status| !redirects.contains(status)) {
        let server = Server::play(answer(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"))).await;
        match client.send(&Request::new(server.url("/"))).await {
            Ok(_) => assert!([200, 304].contains(&status), "{status} is taken for a success"),
            Err(failure) => assert_eq!(failure.report.cause, FailureCause::Status(status)),
        }
    }
}

#[tokio::test]
async fn s112_a_304_with_a_body_is_still_a_304() {
    assert_eq!(ask(answer("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello")).await, "304");
    assert_eq!(ask(answer("HTTP/1.1 304 Not Modified\r\n\r\n<html>hello</html>")).await, "304");
}

#[tokio::test]
async fn p15_retry_after_reaches_the_failure_measured_by_the_publishers_clock() {
    let text = "HTTP/1.1 503 Busy\r\nDate: Sun, 06 Nov 1994 08:00:00 GMT\r\nRetry-After: Sun, 06 Nov 1994 09:00:00 GMT\r\n\r\n";
    let server = Server::play(answer(text)).await;
    let failure = client(settings()).send(&Request::new(server.url("/"))).await.unwrap_err();
    assert_eq!(failure.report.cause, FailureCause::Status(503));
    assert_eq!(failure.report.retry_after, Some(now() + Duration::from_secs(3600)));

    let server = Server::play(answer("HTTP/1.1 429 Slow\r\nRetry-After: 90\r\nX-Rate-Limit-Reset: 7\r\n\r\n")).await;
    let failure = client(settings()).send(&Request::new(server.url("/"))).await.unwrap_err();
    assert_eq!(failure.report.retry_after, Some(now() + Duration::from_secs(90)));
    assert_eq!(failure.headers.get("x-rate-limit-reset").as_deref(), Some("7"));
}

#[rstest]
#[case::whole("Content-Length: 5\r\n\r\nno!!!", "no!!!")]
#[case::to_the_end("\r\nno", "no")]
#[case::cut_off("Content-Length: 9\r\n\r\nno", "")]
#[case::too_large("Content-Length: 65537\r\n\r\n", "")]
#[case::no_gzip("Content-Encoding: squeeze\r\nContent-Length: 2\r\n\r\nno", "")]
#[tokio::test]
async fn the_body_of_a_refusal_is_handed_over_if_it_is_wanted(#[case] rest: &str, #[case] body: &str) {
    for wants_refusal in [true, false] {
        let server = Server::play(answer(format!("HTTP/1.1 403 Forbidden\r\nX-Who: me\r\n{rest}"))).await;
        let request = Request { wants_refusal, ..Request::new(server.url("/")) };
        let failure = client(settings()).send(&request).await.unwrap_err();
        assert_eq!(failure.report.cause, FailureCause::Status(403));
        assert_eq!(failure.headers.get("x-who").as_deref(), Some("me"));
        assert_eq!(String::from_utf8(failure.body).unwrap(), if wants_refusal { body } else { "" });
    }
}

#[tokio::test]
async fn s108_p15_p35_a_refusal_whose_body_never_ends_is_still_that_refusal() {
    let server = Server::play(vec![
        Act::Read,
        send("HTTP/1.1 429 Slow\r\nRetry-After: 90\r\nContent-Length: 9\r\n\r\nno"),
        Act::Mute,
    ])
    .await;
    let settings = HttpSettings { deadline: Duration::from_secs(1), ..settings() };
    let request = Request { wants_refusal: true, ..Request::new(server.url("/")) };
    let failure = client(settings).send(&request).await.unwrap_err();
    assert_eq!(failure.report.cause, FailureCause::Status(429));
    assert_eq!(failure.report.retry_after, Some(now() + Duration::from_secs(90)));
}

#[tokio::test]
async fn p30_a_challenge_page_is_named_as_one() {
    // Also with 200: its page would be stored as an article, or refused as a broken feed.
    for (status, code) in [("403 Forbidden", 403), ("503 Service Unavailable", 503), ("200 OK", 200)] {
        let text = format!("HTTP/1.1 {status}\r\nCF-Mitigated: challenge\r\nContent-Length: 13\r\n\r\n<html></html>");
        let expected =
            format!("Status({code}): HTTP {code}: the publisher's guard asks for a browser (challenge page)");
        assert_eq!(ask(answer(text)).await, expected);
    }
}

#[tokio::test]
async fn p01_p05_p11_validators_and_freshness_are_read_from_a_200_and_from_a_304() {
    for status in ["200 OK", "304 Not Modified"] {
        let text = format!(
            "HTTP/1.1 {status}\r\nETag: W/\"a\"\r\nLast-Modified: yesterday, about noon\r\n\
             Cache-Control: max-age=600\r\nAge: 60\r\nContent-Type: text/xml\r\nContent-Length: 0\r\n\r\n"
        );
        let server = Server::play(answer(text)).await;
        let reply = client(settings()).send(&Request::new(server.url("/"))).await.unwrap();
        let expected = Validators { etag: Some("W/\"a\"".into()), last_modified: Some("yesterday, about noon".into()) };
        assert_eq!(reply.validators, expected);
        assert_eq!(reply.answered_at, now());
        assert_eq!(reply.caching.fresh_for(now()), Some(Duration::from_secs(540)));
    }
}

#[tokio::test]
async fn a_reply_says_what_was_asked_where_and_how_much_came() {
    let server = Server::play(answer("HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: 2\r\n\r\nok")).await;
    let reply = client(settings()).send(&Request::new(server.url("/feed#top"))).await.unwrap();
    assert_eq!(reply.url.as_str(), server.url("/feed"));
    assert_eq!(reply.hops.len(), 1);
    assert_eq!(reply.hops[0].address, Some(server.address));
    assert_eq!(reply.hops[0].status, Some(200));
    assert_eq!(
        reply.content,
        Content::Body { bytes: b"ok".to_vec(), content_type: Some("text/xml".into()), wire_bytes: 2, is_cut: false }
    );
}

#[tokio::test]
async fn s506_a_text_that_is_no_url_or_no_web_url_fails_without_a_request() {
    let client = client(settings());
    let mut outcomes = Vec::new();
    for url in
        ["not a URL", "", "ftp://ann:hidden@feeds.example/", "file:///etc/passwd", "http://", "mailto:a@b.example"]
    {
        outcomes.push(outcome(client.send(&Request::new(url)).await));
    }
    assert_eq!(
        outcomes,
        [
            "Other: the URL begins with neither https:// nor http://",
            "Other: the URL begins with neither https:// nor http://",
            "Other: the URL says ftp, which is neither http nor https",
            "Other: the URL says file, which is neither http nor https",
            "Other: the URL cannot be read: empty host",
            "Other: the URL says mailto, which is neither http nor https",
        ]
    );
}
