//! One poll without storing anything, against servers on loopback.

use std::sync::Arc;
use std::time::Duration;

use feedwarden::clock::HeldClock;
use feedwarden::delivery::{Batch, Transports};
use feedwarden::fetch::{Answer, Document, Fetched, Fetcher, Task};
use feedwarden::http::{Client, HttpSettings};
use feedwarden::model::{
    DeliveryFormat, FailureCause, SigningSecrets, SourceAccess, SourceSettings, SourceType, Timestamp, Validators,
    WebhookId, WebhookTarget,
};
use feedwarden::sinks::SinkSettings;
use feedwarden::sources::{self, TypeSettings};

use crate::http::server::{Act, Server, answer, answers, ok};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

async fn fetch(task: &Task) -> Fetched {
    let settings = HttpSettings { allow_private_networks: true, ..HttpSettings::default() };
    let fetcher = Fetcher::new(Client::new(settings, || NOW).unwrap());
    sources::poll(&fetcher, &TypeSettings::default(), task).await
}

fn task(source_type: SourceType, server: &Server) -> Task {
    Task::new(SourceSettings::new(source_type, server.url("/feed")))
}

#[tokio::test]
async fn p01_p14_a_feed_is_read_with_its_validators_and_hints() {
    let feed = "<rss><channel><title>T</title><ttl>90</ttl><skipHours><hour>3</hour></skipHours>\
                <item><title>One</title><description>&lt;b&gt;B&lt;/b&gt;ody</description></item></channel></rss>";
    let head = "HTTP/1.1 200 OK\r\nETag: W/\"x\"\r\nCache-Control: max-age=600\r\nAge: 100\r\n";
    let server = Server::play(answer(format!("{head}Content-Length: {}\r\n\r\n{feed}", feed.len()))).await;
    let fetched = fetch(&task(SourceType::Rss, &server)).await;
    let Answer::Read(reading) = fetched.answer else { panic!("{:?}", fetched.answer) };
    assert_eq!(reading.validators.etag.as_deref(), Some("W/\"x\""));
    assert_eq!(reading.hints.fresh_until, Some(NOW + Duration::from_secs(500)));
    assert_eq!((reading.hints.update_period_minutes, reading.hints.skip_hours), (Some(90), 1 << 3));
    assert_eq!(reading.entries[0].content().text, "Body");
    assert_eq!((fetched.trace.status, fetched.trace.body_bytes), (Some(200), feed.len()));
}

#[tokio::test]
async fn p01_p05_a_304_brings_the_validators_that_it_carries() {
    let server = Server::play(answer("HTTP/1.1 304 Not Modified\r\nETag: \"new\"\r\n\r\n")).await;
    let mut task = task(SourceType::Rss, &server);
    task.validators = Validators { etag: Some("\"old\"".into()), last_modified: Some("Mon".into()) };
    let fetched = fetch(&task).await;
    let Answer::NotModified { validators, .. } = fetched.answer else { panic!("{:?}", fetched.answer) };
    assert_eq!((validators.etag.as_deref(), validators.last_modified), (Some("\"new\""), None));
    let asked = &server.requests()[0].to_ascii_lowercase();
    assert!(asked.contains("if-none-match: \"old\"\r\n") && asked.contains("if-modified-since: mon\r\n"), "{asked}");
}

#[tokio::test]
async fn a_sources_own_headers_and_login_are_sent() {
    let server = Server::play(vec![Act::Read, ok("<rss><channel><item><title>x</title></item></channel></rss>")]).await;
    let mut task = task(SourceType::Rss, &server);
    task.access = SourceAccess {
        headers: vec![("X-Token".into(), "t0ken".into())],
        login: Some(("ann".into(), "hidden".into())),
        ..SourceAccess::default()
    };
    assert!(matches!(fetch(&task).await.answer, Answer::Read(_)));
    let asked = &server.requests()[0].to_ascii_lowercase();
    assert!(asked.contains("x-token: t0ken\r\n") && asked.contains("authorization: basic yw5uomhpzgrlbg=="), "{asked}");
    assert!(!format!("{task:?}").contains("hidden") && !format!("{task:?}").contains("t0ken"));
}

#[tokio::test]
async fn s701_a_page_in_an_old_charset_becomes_one_post() {
    let words = "Привет, это довольно длинный абзац текста, который является статьёй. ".repeat(5);
    let page = format!(
        "<html><head><meta charset=windows-1251><title>T</title></head><body><article><p>{words}</p></article></body></html>"
    );
    let (bytes, ..) = encoding_rs::WINDOWS_1251.encode(&page);
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n", bytes.len());
    let server = Server::play(answer([head.as_bytes(), &bytes].concat())).await;
    let fetched = fetch(&task(SourceType::Website, &server)).await;
    let Answer::Read(reading) = fetched.answer else { panic!("{:?}", fetched.answer) };
    assert_eq!(reading.entries.len(), 1);
    assert_eq!(reading.entries[0].content().text, words.trim());
    assert_eq!(reading.document, Document::Page { charset: "windows-1251", title: Some("T".into()) });
}

#[tokio::test]
async fn s109_a_body_that_is_no_feed_is_unreadable_and_says_why() {
    let server = Server::play(vec![Act::Read, ok("just words")]).await;
    let fetched = fetch(&task(SourceType::Rss, &server)).await;
    let Answer::Failed(report) = fetched.answer else { panic!("{:?}", fetched.answer) };
    assert_eq!(report.cause, FailureCause::Unreadable);
    assert!(report.error.contains("just words"), "{}", report.error);
}

#[tokio::test]
async fn s506_what_is_no_url_fails_as_unexpected() {
    for url in ["", "not a url", "/feed.xml", "ftp://a.example/feed"] {
        let fetched = fetch(&Task::new(SourceSettings::new(SourceType::Rss, url))).await;
        let Answer::Failed(report) = fetched.answer else { panic!("{:?}", fetched.answer) };
        assert_eq!(report.cause, FailureCause::Other, "{url}: {}", report.error);
    }
}

#[tokio::test]
async fn p25_a_task_is_handed_each_redirect_and_goes_on_from_there() {
    let feed = "<rss><channel><item><title>x</title></item></channel></rss>";
    let end = format!("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: {}\r\n\r\n{feed}", feed.len());
    let other = Server::play(answers(&[end])).await;
    let redirect = |to: &str| format!("HTTP/1.1 301 Moved\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
    let home = Server::play(answers(&[redirect("/within"), redirect(&other.url("/new"))])).await;
    let mut task = Task { follows: false, ..task(SourceType::Rss, &home) };
    task.access.login = Some(("ann".into(), "hidden".into()));
    for next in [home.url("/within"), other.url("/new")] {
        let fetched = fetch(&task).await;
        let Answer::PendingRedirect(pending_redirect) = fetched.answer else { panic!("{:?}", fetched.answer) };
        assert_eq!((pending_redirect.url().as_str(), fetched.trace.status), (next.as_str(), Some(301)));
        assert_eq!(fetched.trace.hops, pending_redirect.hops());
        assert_eq!(other.requests(), [""; 0]);
        task.pending_redirect = Some(pending_redirect);
    }
    let fetched = fetch(&task).await;
    let Answer::Read(reading) = fetched.answer else { panic!("{:?}", fetched.answer) };
    assert_eq!((reading.entries.len(), reading.validators.etag.as_deref()), (1, Some("\"1\"")));
    let statuses: Vec<_> = fetched.trace.hops.iter().map(|hop| hop.status).collect();
    assert_eq!(statuses, [Some(301), Some(301), Some(200)]);
    assert_eq!(fetched.trace.moved_to.map(String::from), Some(other.url("/new")));
    assert!(home.requests().iter().all(|head| head.contains("Authorization")));
    assert!(!other.requests()[0].contains("Authorization"), "{}", other.requests()[0]);
}

#[tokio::test]
async fn p21_a_task_that_is_handed_redirects_still_ends_at_a_loop() {
    let redirect = "HTTP/1.1 302 Found\r\nLocation: /feed\r\nContent-Length: 0\r\n\r\n".to_owned();
    let server = Server::play(answers(&[redirect.replace("/feed", "/b"), redirect])).await;
    let mut task = Task { follows: false, ..task(SourceType::Website, &server) };
    let Answer::PendingRedirect(pending_redirect) = fetch(&task).await.answer else {
        panic!("the first redirect may be followed")
    };
    task.pending_redirect = Some(pending_redirect);
    let fetched = fetch(&task).await;
    let Answer::Failed(report) = fetched.answer else { panic!("{:?}", fetched.answer) };
    assert!(report.error.contains("redirect loop"), "{}", report.error);
    assert_eq!(fetched.trace.hops.len(), 2);
}

/// Webhooks are held to the same rule as sources: what is not on the open internet is asked only if the operator says
/// so.
#[tokio::test]
async fn a_webhook_at_a_private_address_is_not_asked_unless_it_is_allowed() {
    let deliver = async |settings: HttpSettings, url: String| {
        let transports = Transports::new(
            Client::new(settings, || NOW).unwrap(),
            SinkSettings::default(),
            Arc::new(HeldClock::at(NOW)),
        );
        let secrets = SigningSecrets { current: "a secret to sign with".into(), previous: None };
        let target = WebhookTarget { url, secrets, format: DeliveryFormat::Classic, enabled: true };
        let batch = Batch {
            receiver: WebhookId(1),
            events: Vec::new(),
            sources: Default::default(),
            timeout: Duration::from_secs(10),
            body_bytes_max: 1024,
            is_test: true,
        };
        transports.deliver(&target, &batch).await.failure.map_or(Ok(()), Err)
    };
    let server = Server::play(vec![Act::Read, ok("")]).await;
    let refused = deliver(HttpSettings::default(), server.url("/hook")).await.unwrap_err();
    assert!(refused.error.contains("http.allow"), "{}", refused.error);
    for url in
        ["http://10.0.0.1/", "http://[::1]/", "http://169.254.169.254/", "http://localhost/", "http://2130706433/"]
    {
        let refused = deliver(HttpSettings::default(), url.to_owned()).await.unwrap_err();
        assert!(refused.error.contains("http.allow"), "{url}: {}", refused.error);
    }
    assert_eq!(server.requests().len(), 0);
    let allowed_networks = vec!["127.0.0.0/8".parse().unwrap()];
    let allowed = HttpSettings { allowed_networks, ..HttpSettings::default() };
    assert!(deliver(allowed, server.url("/hook")).await.is_ok());
    assert_eq!(server.requests().len(), 1);
}
