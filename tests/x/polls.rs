//! What is asked for, and what comes of it.

use super::server::{Act, XServer, answer, late, ok};
use super::*;
use feedwarden::fetch::Document;
use feedwarden::model::LastSeen;
use rstest::rstest;

fn since(number: u64) -> Task {
    Task { last_seen: Some(LastSeen::PostNumber(number)), ..known_account() }
}

#[tokio::test]
async fn s510_the_first_poll_looks_the_account_up_and_takes_one_page() {
    let timeline = r#"{"data":[
        {"id":"1346889436626259968","author_id":"7","created_at":"2026-11-15T18:40:40.000Z",
         "text":"One &amp; two\nhttps://t.co/56a0vZUx7i","edit_history_tweet_ids":["1346889436626259968"],
         "entities":{"urls":[{"start":12,"end":35,"url":"https://t.co/56a0vZUx7i",
         "expanded_url":"https://example.org/learn","display_url":"example.org/learn"}]}},
        {"id":"1346889436626259967","author_id":"7","text":"Long, cut of…","note_tweet":{"text":"Long, in full."}}],
        "meta":{"result_count":2,"newest_id":"1346889436626259968","oldest_id":"1346889436626259967",
        "next_token":"older"}}"#;
    let server = XServer::play([ok(ACCOUNT), ok(timeline)]).await;
    let fetched = poll(&server, &first_poll()).await;
    let asked = server.asked();
    assert_eq!(server.lines(), [LOOK_UP, TIMELINE]);
    assert!(asked.iter().all(|asked| asked.authorization.as_deref() == Some("Bearer token-1")), "{asked:?}");
    assert!(asked.iter().all(|asked| asked.body.is_empty()), "{asked:?}");
    assert_eq!(numbers(&fetched), [1_346_889_436_626_259_968, 1_346_889_436_626_259_967]);
    let post = &reading(&fetched).entries[0];
    assert_eq!(post.content().title, "One & two");
    assert_eq!(post.content().text, "One & two\nhttps://example.org/learn");
    assert_eq!(post.content().url.as_deref(), Some("https://x.com/XDevelopers/status/1346889436626259968"));
    assert_eq!(post.content().author.as_deref(), Some("@XDevelopers"));
    assert_eq!(post.published_at(), Some("2026-11-15T18:40:40Z".parse().unwrap()));
    assert_eq!(reading(&fetched).entries[1].content().text, "Long, in full.");
    assert_eq!(fetched.learned.account_id.as_deref(), Some("7"));
    assert!(fetched.learned.key.is_none());
    assert_eq!(fetched.trace.hops.len(), 2);
    assert_eq!((fetched.trace.status, fetched.trace.body_bytes), (Some(200), ACCOUNT.len() + timeline.len()));
}

#[tokio::test]
async fn s601_later_polls_of_an_account_ask_by_number_for_what_is_new() {
    let server = XServer::play([page(&[120, 110], None)]).await;
    let fetched = poll(&server, &since(100)).await;
    assert_eq!(server.lines(), [format!("{TIMELINE}&since_id=100")]);
    assert_eq!(numbers(&fetched), [120, 110]);
    assert_eq!(reading(&fetched).newest_number, Some(120));
    assert_eq!(fetched.learned.account_id, None, "nothing was looked up");
}

#[tokio::test]
async fn s603_nothing_newer_is_a_success_without_entries() {
    let server = XServer::play([ok(NO_POSTS)]).await;
    let fetched = poll(&server, &since(100)).await;
    assert_eq!(numbers(&fetched), Vec::<u64>::new());
    assert_eq!(reading(&fetched).newest_number, None);
}

#[tokio::test]
async fn pages_are_followed_to_the_last() {
    let pages = [page(&[160, 150], Some("a b&c")), page(&[140, 130], Some("3")), page(&[120], None)];
    let server = XServer::play(pages).await;
    let fetched = poll(&server, &since(100)).await;
    assert_eq!(numbers(&fetched), [160, 150, 140, 130, 120]);
    let first = format!("{TIMELINE}&since_id=100");
    assert_eq!(
        server.lines(),
        [first.clone(), format!("{first}&pagination_token=a+b%26c"), format!("{first}&pagination_token=3")]
    );
    let document =
        Document::Account { what: "an X account", name: "XDevelopers".into(), id: "7".into(), pages: 3, is_cut: false };
    assert_eq!(reading(&fetched).document, document);
}

#[tokio::test]
async fn one_poll_reads_five_pages_at_most_and_says_that_there_are_more() {
    let server = XServer::play((0..9).map(|number| page(&[900 - number], Some("same")))).await;
    let fetched = poll(&server, &since(100)).await;
    assert_eq!(server.asked().len(), 5);
    assert_eq!(numbers(&fetched), [900, 899, 898, 897, 896]);
    let document =
        Document::Account { what: "an X account", name: "XDevelopers".into(), id: "7".into(), pages: 5, is_cut: true };
    assert_eq!(reading(&fetched).document, document);
}

/// Posts come newest first: a watermark over half of them would hide the other half for ever.
#[tokio::test]
async fn a_page_that_fails_fails_the_poll() {
    let server = XServer::play([page(&[160], Some("2")), answer("503 Service Unavailable", &[], "")]).await;
    let fetched = poll(&server, &since(100)).await;
    assert_eq!(failure(&fetched), "Status(503): HTTP 503 Service Unavailable");
    assert_eq!(fetched.trace.status, Some(503));
}

#[tokio::test]
async fn threads_are_kept_and_replies_to_others_only_move_the_watermark() {
    let timeline = r#"{"data":[
        {"id":"30","text":"@bob yes!","author_id":"7","in_reply_to_user_id":"8",
         "referenced_tweets":[{"type":"replied_to","id":"29"}]},
        {"id":"20","text":"… and so on","author_id":"7","in_reply_to_user_id":"7",
         "referenced_tweets":[{"type":"replied_to","id":"10"}]},
        {"id":"10","text":"It begins","author_id":"7"}],"meta":{"result_count":3}}"#;
    let server = XServer::play([ok(timeline)]).await;
    let fetched = poll(&server, &since(5)).await;
    assert_eq!(numbers(&fetched), [20, 10]);
    assert_eq!(reading(&fetched).newest_number, Some(30));
}

#[tokio::test]
async fn a_number_that_is_gone_is_looked_up_again_by_name() {
    let renamed = ok(r#"{"data":{"id":"8","name":"Developers","username":"XDevelopers"}}"#);
    let server = XServer::play([not_found(), renamed, page(&[120], None)]).await;
    let fetched = poll(&server, &since(100)).await;
    assert_eq!(numbers(&fetched), [120]);
    assert_eq!(fetched.learned.account_id.as_deref(), Some("8"));
    let timeline = format!("{TIMELINE}&since_id=100");
    assert_eq!(server.lines(), [timeline.clone(), LOOK_UP.into(), timeline.replace("/7/", "/8/")]);
}

#[rstest]
#[case::the_same(ok(ACCOUNT), "Status(404): X has no account @XDevelopers: Could not find user with id: [7].")]
#[case::nobody(
    problem("Not Found Error", "resource-not-found", "Could not find user with username: [XDevelopers]."),
    "Status(404): X has no account @XDevelopers: Could not find user with username: [XDevelopers]."
)]
#[tokio::test]
async fn an_account_that_is_gone_under_number_and_name_is_not_found(#[case] looked_up: Act, #[case] wanted: &str) {
    let server = XServer::play([not_found(), looked_up]).await;
    assert_eq!(failure(&poll(&server, &since(100)).await), wanted);
    assert_eq!(server.asked().len(), 2);
}

#[tokio::test]
async fn a_stored_number_that_is_none_is_looked_up() {
    let server = XServer::play([ok(ACCOUNT), ok(NO_POSTS)]).await;
    poll(&server, &Task { account_id: Some("../../x".into()), ..first_poll() }).await;
    assert_eq!(server.lines(), [LOOK_UP, TIMELINE]);
}

#[tokio::test]
async fn the_number_is_handed_back_even_if_the_posts_cannot_be_read() {
    let server = XServer::play([ok(ACCOUNT), answer("500 Internal Server Error", &[], "")]).await;
    let fetched = poll(&server, &first_poll()).await;
    assert_eq!(failure(&fetched), "Status(500): HTTP 500 Internal Server Error");
    assert_eq!(fetched.learned.account_id.as_deref(), Some("7"));
}

#[rstest]
#[case("https://nitter.net/XDevelopers")]
#[case("https://x.com/XDevelopers/status/1")]
#[case("not an account")]
#[tokio::test]
async fn s110_a_url_that_names_no_account_is_unexpected_and_nobody_is_asked(#[case] url: &str) {
    let server = XServer::play([]).await;
    let mut task = first_poll();
    task.settings.url = url.into();
    assert_eq!(
        failure(&poll(&server, &task).await),
        "Other: not an X account: write https://x.com/NAME, @NAME or NAME, where NAME is 1 to 15 letters, digits \
         or underscores"
    );
    assert_eq!(server.asked(), []);
}

/// Neither request takes too long by itself.
#[tokio::test]
async fn p35_one_deadline_covers_all_requests_of_a_poll() {
    let pause = Duration::from_millis(1500);
    let server = XServer::play([late(ok(ACCOUNT), pause), late(ok(NO_POSTS), pause)]).await;
    let settings = HttpSettings { deadline: Duration::from_secs(2), ..settings() };
    let fetched = poll_with(settings, &server, &first_poll()).await;
    assert_eq!(failure(&fetched), "Stalled: timed out after 2 s with 1 requests of the poll answered");
    assert_eq!(fetched.learned.account_id.as_deref(), Some("7"));
    assert_eq!(server.lines(), [LOOK_UP, TIMELINE]);
}
