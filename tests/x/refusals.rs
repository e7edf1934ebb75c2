//! Whatever goes wrong is a failure with its reason, never an empty success.

use super::server::{Act, XServer, answer, ok};
use super::*;
use rstest::rstest;

async fn check(act: Act, wanted: &str) {
    let server = XServer::play([act]).await;
    // The first poll asks for the account first: what X objects to may come with either request.
    assert_eq!(failure(&poll(&server, &first_poll()).await), wanted);
    assert_eq!(server.lines(), [LOOK_UP]);
}

#[rstest]
#[case::suspended(
    problem("Forbidden", "resource-not-found", "User has been suspended: [XDevelopers]."),
    "Status(403): X does not show @XDevelopers: User has been suspended: [XDevelopers]."
)]
#[case::deleted(
    problem("Not Found Error", "resource-not-found", "Could not find user with username: [XDevelopers]."),
    "Status(404): X has no account @XDevelopers: Could not find user with username: [XDevelopers]."
)]
#[case::strange(problem("Disagreement", "about:blank", "No."), "Other: X gives nothing of @XDevelopers: No.")]
#[case::nothing(ok("{}"), "Unreadable: X's answer cannot be read: it holds neither an account nor a problem")]
#[case::empty(ok(""), "Unreadable: X's answer cannot be read: its JSON ends early (line 1, column 0)")]
#[case::page(
    ok("<!DOCTYPE html><title>Log in</title>"),
    "Unreadable: X's answer cannot be read: it is not JSON (line 1, column 1)"
)]
#[case::path(
    ok(r#"{"data":{"id":"../../evil"}}"#),
    "Unreadable: X's answer cannot be read: the account's id is not a number"
)]
#[tokio::test]
async fn an_account_that_gives_nothing_is_a_failure(#[case] act: Act, #[case] wanted: &str) {
    check(act, wanted).await;
}

#[rstest]
#[case::not_enrolled(
    answer("403 Forbidden", &[], r#"{"client_id":"1","detail":"You must use keys from a Project.","reason":"client-not-enrolled","title":"Client Forbidden","type":"https://api.twitter.com/2/problems/client-forbidden"}"#),
    "Status(403): HTTP 403 Forbidden: You must use keys from a Project."
)]
#[case::no_credits(
    answer("402 Payment Required", &[], r#"{"title":"CreditsDepleted","detail":"No credits left.","type":"https://api.x.com/2/problems/credits"}"#),
    "Status(402): HTTP 402 Payment Required: No credits left."
)]
#[case::bad_request(
    answer("400 Bad Request", &[], r#"{"errors":[{"parameters":{"username":["x"]},"message":"The username is wrong"}],"title":"","type":""}"#),
    "Status(400): HTTP 400 Bad Request: The username is wrong"
)]
#[case::no_reason(answer("403 Forbidden", &[], "<html>"), "Status(403): HTTP 403 Forbidden")]
#[case::no_such_place(answer("404 Not Found", &[], ""), "Status(404): HTTP 404 Not Found")]
#[case::broken(answer("500 Internal Server Error", &[], "oops"), "Status(500): HTTP 500 Internal Server Error")]
#[case::unchanged(
    Act::Send("HTTP/1.1 304 Not Modified\r\n\r\n".into()),
    "Unreadable: X answers 304 to an unconditional request"
)]
#[tokio::test]
async fn a_refusal_carries_xs_own_words(#[case] act: Act, #[case] wanted: &str) {
    check(act, wanted).await;
}

#[rstest]
#[case::reset(&[("x-rate-limit-remaining", "0"), ("x-rate-limit-reset", "1800000000")], " until 2027-01-15T08:00:00Z")]
#[case::reset_alone(&[("x-rate-limit-reset", "1800000000")], " until 2027-01-15T08:00:00Z")]
#[case::retry_after(&[("Retry-After", "900")], " until 2026-11-16T08:15:00Z")]
#[case::the_later(&[("Retry-After", "900"), ("x-rate-limit-reset", "1800000000")], " until 2027-01-15T08:00:00Z")]
#[case::the_day(
    &[("x-rate-limit-remaining", "899"), ("x-rate-limit-reset", "1800000900"),
      ("x-user-limit-24hour-remaining", "0"), ("x-user-limit-24hour-reset", "1800000000")],
    " until 2027-01-15T08:00:00Z"
)]
#[case::nonsense(&[("x-rate-limit-reset", "soon")], "")]
#[case::nothing(&[], "")]
#[tokio::test]
async fn s108_p15_a_rate_limit_says_when_to_come_back(#[case] headers: &[(&str, &str)], #[case] until: &str) {
    let body = r#"{"title":"Too Many Requests","detail":"Too Many Requests","type":"about:blank","status":429}"#;
    let wanted = format!("Status(429): HTTP 429 Too Many Requests: Too Many Requests{until}");
    check(answer("429 Too Many Requests", headers, body), &wanted).await;
}

/// The reason is a courtesy: a body that never ends must not turn the limit into a time-out.
#[tokio::test]
async fn s108_a_refusal_stays_one_if_its_body_never_ends() {
    let head = "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 100\r\nx-rate-limit-reset: 1800000000\r\n\r\n{";
    let server = XServer::play([Act::SendAndHang(head.into())]).await;
    let settings = HttpSettings { deadline: Duration::from_secs(1), ..settings() };
    let fetched = poll_with(settings, &server, &first_poll()).await;
    assert_eq!(failure(&fetched), "Status(429): HTTP 429 Too Many Requests until 2027-01-15T08:00:00Z");
}

#[rstest]
#[case::suspended(
    problem("Forbidden", "resource-not-found", "User has been suspended: [7]."),
    "Status(403): X does not show @XDevelopers: User has been suspended: [7]."
)]
#[case::protected(
    problem(
        "Authorization Error",
        "not-authorized-for-resource",
        "Sorry, you are not authorized to see the user with id: [7]."
    ),
    "Status(403): X does not show @XDevelopers: Sorry, you are not authorized to see the user with id: [7]."
)]
#[case::lost(
    ok(r#"{"meta":{"result_count":3}}"#),
    "Unreadable: X's answer cannot be read: it counts 3 posts and holds none"
)]
#[case::nothing(
    ok(r#"{"data":[]}"#),
    "Unreadable: X's answer cannot be read: it holds neither a count of posts nor a problem"
)]
#[case::cut_off(
    ok(r#"{"data":[{"id":"1","text":"x"}"#),
    "Unreadable: X's answer cannot be read: its JSON ends early (line 1, column 30)"
)]
#[case::another_shape(
    ok(r#"{"data":{"id":"1"}}"#),
    "Unreadable: X's answer cannot be read: its JSON has another shape than documented (line 1, column 8)"
)]
#[tokio::test]
async fn a_timeline_that_gives_nothing_is_a_failure(#[case] act: Act, #[case] wanted: &str) {
    let server = XServer::play([act]).await;
    assert_eq!(failure(&poll(&server, &known_account()).await), wanted);
    assert_eq!(server.lines(), [TIMELINE]);
}

#[tokio::test]
async fn posts_with_problems_beside_them_are_posts() {
    let timeline = r#"{"data":[{"id":"5","text":"x"}],"meta":{"result_count":1},
        "errors":[{"title":"Not Found Error","detail":"Could not find tweet with referenced_tweets.id: [9].",
        "type":"https://api.twitter.com/2/problems/resource-not-found"}]}"#;
    let server = XServer::play([ok(timeline)]).await;
    assert_eq!(numbers(&poll(&server, &known_account()).await), [5]);
}

#[tokio::test]
async fn p34_a_huge_page_is_refused() {
    let many: Vec<u64> = (1..=101).rev().collect();
    let server = XServer::play([page(&many, None)]).await;
    assert_eq!(
        failure(&poll(&server, &known_account()).await),
        "Unreadable: X's answer cannot be read: it holds 101 posts on one page"
    );
    let server = XServer::play([page(&[1], None)]).await;
    let settings = HttpSettings { body_bytes_max: 64, ..settings() };
    assert_eq!(failure(&poll_with(settings, &server, &known_account()).await), "Other: body over 64 bytes");
}
