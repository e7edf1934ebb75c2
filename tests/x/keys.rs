//! The key: missing, refused, renewed.

use super::server::{Act, XServer, answer, late, ok};
use super::*;
use rstest::rstest;
use secrecy::ExposeSecret;

const RENEWABLE: &str = r#"{"access_token":"old-access","refresh_token":"old-refresh","client_id":"app"}"#;
const RENEWED: &str = r#"{"token_type":"bearer","expires_in":7200,"access_token":"new-access",
    "scope":"tweet.read users.read offline.access","refresh_token":"new-refresh"}"#;
const ADVICE: &str = "(X does not take the key: it is wrong or was revoked; its owner has to store another)";

fn with_key(key: &str) -> Task {
    Task { key: Some(key.into()), ..known_account() }
}

fn unauthorized() -> Act {
    let body = r#"{"title":"Unauthorized","type":"about:blank","status":401,"detail":"Unauthorized"}"#;
    answer("401 Unauthorized", &[], body)
}

fn stored(fetched: &Fetched) -> Option<&str> {
    fetched.learned.key.as_ref().map(|key| key.expose_secret())
}

#[tokio::test]
async fn s510_no_key_is_a_failure_that_says_what_to_do_and_nobody_is_asked() {
    let server = XServer::play([]).await;
    let mut task = Task { key: None, ..first_poll() };
    assert_eq!(
        failure(&poll(&server, &task).await),
        "KeyMissing: the owner of podcast 1 has no X key; set one with `feedwarden user key USER --key-file FILE`"
    );
    task.settings.podcast_id = None;
    assert_eq!(
        failure(&poll(&server, &task).await),
        "KeyMissing: an X account needs the X key of a podcast's owner, but the source has no podcast; \
         set one with --podcast ID (`feedwarden user add NAME --key-file FILE --podcast TITLE` creates one)"
    );
    assert_eq!(server.asked(), []);
}

#[rstest]
#[case::bearer("token-1")]
#[case::nothing_to_renew_with(r#"{"access_token":"token-1"}"#)]
#[case::no_app(r#"{"access_token":"token-1","refresh_token":"b"}"#)]
#[tokio::test]
async fn s105_s510_a_key_that_is_refused_and_cannot_be_renewed_is_unauthorized(#[case] key: &str) {
    let server = XServer::play([unauthorized()]).await;
    let fetched = poll(&server, &with_key(key)).await;
    assert_eq!(failure(&fetched), format!("Status(401): HTTP 401 Unauthorized: Unauthorized {ADVICE}"));
    assert_eq!(server.asked().len(), 1);
    assert_eq!(server.asked()[0].authorization.as_deref(), Some("Bearer token-1"));
}

#[tokio::test]
async fn an_expired_token_is_renewed_once_and_handed_back() {
    let server = XServer::play([unauthorized(), ok(RENEWED), page(&[5], Some("2"))]).await;
    let fetched = poll(&server, &with_key(RENEWABLE)).await;
    assert_eq!(numbers(&fetched), [5]);
    let asked = server.asked();
    assert_eq!(server.lines(), [TIMELINE, "POST /2/oauth2/token", TIMELINE]);
    assert_eq!(asked[0].authorization.as_deref(), Some("Bearer old-access"));
    assert_eq!(
        (asked[1].authorization.as_deref(), asked[1].body.as_str()),
        (None, "grant_type=refresh_token&refresh_token=old-refresh&client_id=app")
    );
    assert_eq!(asked[2].authorization.as_deref(), Some("Bearer new-access"));
    let wanted = r#"{"access_token":"new-access","refresh_token":"new-refresh","client_id":"app"}"#;
    assert_eq!(stored(&fetched), Some(wanted));
}

#[tokio::test]
async fn a_confidential_app_introduces_itself_with_its_secret() {
    let key = r#"{"access_token":"a","refresh_token":"b","client_id":"app","client_secret":"word"}"#;
    let server = XServer::play([unauthorized(), ok(RENEWED), ok(NO_POSTS)]).await;
    let fetched = poll(&server, &with_key(key)).await;
    let renewal = &server.asked()[1];
    assert_eq!(renewal.authorization.as_deref(), Some("Basic YXBwOndvcmQ="));
    assert_eq!(renewal.body, "grant_type=refresh_token&refresh_token=b");
    let wanted =
        r#"{"access_token":"new-access","refresh_token":"new-refresh","client_id":"app","client_secret":"word"}"#;
    assert_eq!(stored(&fetched), Some(wanted));
}

#[tokio::test]
async fn a_token_that_expires_between_two_pages_is_renewed_too() {
    let task = Task { last_seen: Some(feedwarden::model::LastSeen::PostNumber(1)), ..with_key(RENEWABLE) };
    let server = XServer::play([page(&[5], Some("2")), unauthorized(), ok(RENEWED), page(&[4], None)]).await;
    assert_eq!(numbers(&poll(&server, &task).await), [5, 4]);
    let page_2 = format!("{TIMELINE}&since_id=1&pagination_token=2");
    assert_eq!(server.lines()[1..], [page_2.clone(), "POST /2/oauth2/token".into(), page_2]);
}

#[tokio::test]
async fn one_poll_renews_once() {
    let server = XServer::play([unauthorized(), ok(RENEWED), ok(ACCOUNT), unauthorized(), ok(RENEWED)]).await;
    let fetched = poll(&server, &Task { account_id: None, ..with_key(RENEWABLE) }).await;
    assert_eq!(failure(&fetched), format!("Status(401): HTTP 401 Unauthorized: Unauthorized {ADVICE}"));
    assert_eq!(server.lines(), [LOOK_UP, "POST /2/oauth2/token", LOOK_UP, TIMELINE]);
}

/// X's refresh tokens are good for one use, so the new one must survive whatever comes after it.
#[rstest]
#[case::refused(unauthorized(), &format!("Status(401): HTTP 401 Unauthorized: Unauthorized {ADVICE}"))]
#[case::limited(answer("429 Too Many Requests", &[], ""), "Status(429): HTTP 429 Too Many Requests")]
#[case::mute(Act::SendAndHang(String::new()), "Stalled: timed out after 2 s")]
#[tokio::test]
async fn a_renewed_key_is_handed_back_even_if_the_poll_fails(#[case] then: Act, #[case] wanted: &str) {
    let server = XServer::play([unauthorized(), ok(RENEWED), then]).await;
    let settings = HttpSettings { deadline: Duration::from_secs(2), ..settings() };
    let fetched = poll_with(settings, &server, &with_key(RENEWABLE)).await;
    assert!(failure(&fetched).starts_with(wanted), "{}", failure(&fetched));
    assert!(stored(&fetched).unwrap().contains("new-refresh"));
    assert_eq!(server.asked().len(), 3);
}

/// An answer given up on would hold the only key that is still good.
#[tokio::test]
async fn the_deadline_of_a_poll_does_not_cut_a_renewal_short() {
    let pause = Duration::from_millis(1500);
    let server = XServer::play([late(unauthorized(), pause), late(ok(RENEWED), pause), ok(NO_POSTS)]).await;
    let settings = HttpSettings { deadline: Duration::from_secs(2), ..settings() };
    let fetched = poll_with(settings, &server, &with_key(RENEWABLE)).await;
    assert_eq!(failure(&fetched), "Stalled: timed out after 2 s with 2 requests of the poll answered");
    assert!(stored(&fetched).unwrap().contains("new-refresh"));
}

#[rstest]
#[case::revoked(
    answer("400 Bad Request", &[], r#"{"error":"invalid_request","error_description":"Value passed for the token was invalid."}"#),
    "Credentials: X does not renew the key any more (HTTP 400 Bad Request: Value passed for the token was invalid.); \
     its owner has to log in again and store another"
)]
#[case::wrong_app(
    answer("403 Forbidden", &[], ""),
    "Credentials: X does not renew the key any more (HTTP 403 Forbidden); its owner has to log in again and store \
     another"
)]
#[case::limited(
    answer("429 Too Many Requests", &[("x-rate-limit-reset", "1800000000")], ""),
    "Status(429): renewing the X key: HTTP 429 Too Many Requests until 2027-01-15T08:00:00Z"
)]
#[case::broken(answer("503 Service Unavailable", &[], ""), "Status(503): renewing the X key: HTTP 503 Service Unavailable")]
#[case::no_token(
    ok("{}"),
    "Unreadable: renewing the X key: X's answer cannot be read: its JSON has another shape than documented (line 1, \
     column 2)"
)]
#[case::elsewhere(
    answer("307 Temporary Redirect", &[("Location", "/elsewhere")], ""),
    "Redirect: renewing the X key: redirect of a POST refused"
)]
#[tokio::test]
async fn a_key_that_is_not_renewed_says_why(#[case] renewal: Act, #[case] wanted: &str) {
    let server = XServer::play([unauthorized(), renewal]).await;
    let fetched = poll(&server, &with_key(RENEWABLE)).await;
    assert_eq!(failure(&fetched), wanted);
    assert_eq!((stored(&fetched), server.asked().len()), (None, 2));
}

#[tokio::test]
async fn no_key_shows_when_a_task_or_its_outcome_is_printed() {
    let server = XServer::play([unauthorized(), ok(RENEWED), ok(NO_POSTS)]).await;
    let task = with_key(RENEWABLE);
    let fetched = poll(&server, &task).await;
    assert!(fetched.learned.key.is_some());
    let printed = format!("{task:?} {fetched:?}");
    for secret in ["old-access", "old-refresh", "new-access", "new-refresh"] {
        assert!(!printed.contains(secret), "{printed}");
    }
}
