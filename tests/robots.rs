//! Fetching robots.txt from servers on loopback: present, missing and unknown.

use std::time::Duration;

use feedwarden::fetch::{Fetcher, RobotsAnswer, RobotsFetched, RobotsTask, robots_url};
use feedwarden::http::{Client, HttpSettings};
use feedwarden::model::{FailureCause, Timestamp};
use feedwarden::parse::robots::{FILE_BYTES_MAX, Robots};
use rstest::rstest;

use crate::http::server::{Act, Server, answer, answers, unused_address};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

async fn ask(task: &RobotsTask) -> RobotsFetched {
    let settings = HttpSettings { allow_private_networks: true, ..HttpSettings::default() };
    Fetcher::new(Client::new(settings, || NOW).unwrap()).robots(task).await
}

fn task(page: &str) -> RobotsTask {
    RobotsTask {
        url: robots_url(page).unwrap(),
        pending_redirect: None,
        keep_alive: false,
        time_used: Duration::ZERO,
        user_agent: None,
        proxy: None,
    }
}

/// What comes of asking a server that plays these acts.
async fn outcome(acts: Vec<Act>) -> RobotsAnswer {
    let server = Server::play(acts).await;
    ask(&task(&server.url("/page?x#y"))).await.answer
}

/// Goes on until something else than a redirect comes.
async fn follow(mut task: RobotsTask) -> RobotsFetched {
    loop {
        let fetched = ask(&task).await;
        match fetched.answer {
            RobotsAnswer::PendingRedirect(pending_redirect) => task.pending_redirect = Some(pending_redirect),
            _ => return fetched,
        }
    }
}

fn whole(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn redirect(to: &str) -> String {
    format!("HTTP/1.1 301 Moved\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
}

#[tokio::test]
async fn p29_a_file_is_asked_for_at_the_root_without_credentials() {
    let server = Server::play(answer(whole("User-agent: *\nDisallow: /x\n"))).await;
    let page = server.url("/deep/page?query#part").replace("://", "://ann:hidden@");
    let fetched = ask(&task(&page)).await;
    assert_eq!(fetched.answer, RobotsAnswer::Found("User-agent: *\nDisallow: /x\n".into()));
    assert_eq!((fetched.trace.status, fetched.trace.body_bytes), (Some(200), 27));
    let head = &server.requests()[0];
    assert!(head.starts_with("GET /robots.txt HTTP/1.1\r\n") && !head.contains("Authorization"), "{head}");
}

#[rstest]
#[case("https://site.example/a/b?c#d", Some("https://site.example/robots.txt"))]
#[case(" http://ann:word@site.example:8080 ", Some("http://site.example:8080/robots.txt"))]
#[case("ftp://site.example/", None)]
#[case("mailto:ann@site.example", None)]
#[case("site.example", None)]
fn p29_a_file_speaks_for_scheme_host_and_port(#[case] page: &str, #[case] expected: Option<&str>) {
    assert_eq!(robots_url(page).as_ref().map(url::Url::as_str), expected);
}

#[tokio::test]
async fn p29_a_4xx_means_that_there_is_none() {
    for status in ["400 Bad", "401 Unauthorized", "403 Forbidden", "404 Not Found", "410 Gone", "451 No", "499 Odd"] {
        let answer = outcome(answer(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"))).await;
        assert_eq!(answer, RobotsAnswer::Absent, "{status}");
    }
    assert_eq!(outcome(answer("HTTP/1.1 204 No Content\r\n\r\n")).await, RobotsAnswer::Absent);
}

#[tokio::test]
async fn p29_a_5xx_a_429_and_a_dead_network_mean_that_nobody_can_say() {
    for (status, code) in
        [("500 Broken", 500), ("503 Busy\r\nRetry-After: 60", 503), ("429 Slow\r\nRetry-After: 60", 429)]
    {
        let answer = outcome(answer(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"))).await;
        let RobotsAnswer::Unreachable(report) = answer else { panic!("{status}: {answer:?}") };
        assert_eq!(report.cause, FailureCause::Status(code));
        assert_eq!(report.retry_after.is_some(), status.contains("Retry-After"), "{status}");
    }
    for acts in
        [vec![Act::Reset], vec![Act::Read, Act::Reset], answer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nUser")]
    {
        let answer = outcome(acts).await;
        assert!(
            matches!(&answer, RobotsAnswer::Unreachable(report) if report.cause == FailureCause::Connection),
            "{answer:?}"
        );
    }
    let answer = ask(&task(&format!("http://{}/", unused_address()))).await.answer;
    assert!(matches!(answer, RobotsAnswer::Unreachable(_)), "{answer:?}");
    let answer = outcome(answer_of_304()).await;
    assert!(matches!(answer, RobotsAnswer::Unreachable(_)), "{answer:?}");
}

fn answer_of_304() -> Vec<Act> {
    answer("HTTP/1.1 304 Not Modified\r\n\r\n")
}

#[tokio::test]
async fn p25_p29_redirects_are_handed_back_even_to_another_site() {
    let other = Server::play(answers(&[whole("User-agent: *")])).await;
    let home = Server::play(answers(&[redirect("/1"), redirect(&other.url("/robots.txt"))])).await;
    let first = ask(&task(&home.url("/"))).await;
    let RobotsAnswer::PendingRedirect(pending_redirect) = first.answer else { panic!("{:?}", first.answer) };
    assert_eq!((pending_redirect.url().as_str(), home.requests().len()), (home.url("/1").as_str(), 1));
    let fetched = follow(RobotsTask { pending_redirect: Some(pending_redirect), ..task(&home.url("/")) }).await;
    assert_eq!(fetched.answer, RobotsAnswer::Found("User-agent: *".into()));
    assert_eq!(fetched.trace.hops.len(), 3);
}

#[tokio::test]
async fn p29_redirects_without_an_end_mean_that_there_is_none() {
    let chain: Vec<String> = (1..=6).map(|number| redirect(&format!("/{number}"))).collect();
    for texts in [chain, vec![redirect("/1"), redirect("/robots.txt")], vec![redirect("http://")]] {
        let server = Server::play(answers(&texts)).await;
        let fetched = follow(task(&server.url("/"))).await;
        assert_eq!(fetched.answer, RobotsAnswer::Absent);
        assert_eq!(fetched.trace.hops.len(), texts.len());
    }
    let five: Vec<String> = (1..=5).map(|number| redirect(&format!("/{number}"))).chain([whole("#")]).collect();
    let server = Server::play(answers(&five)).await;
    assert_eq!(follow(task(&server.url("/"))).await.answer, RobotsAnswer::Found("#".into()));
}

#[tokio::test]
async fn p29_a_large_file_is_cut_after_a_whole_line() {
    let line = "Disallow: /0123456789\n";
    let file = format!("User-agent: *\n{}", line.repeat(2 * FILE_BYTES_MAX / line.len()));
    let RobotsAnswer::Found(text) = outcome(answer(whole(&file))).await else { panic!("a large file is a file") };
    assert!(text.len() <= FILE_BYTES_MAX && text.len() > FILE_BYTES_MAX - line.len(), "{}", text.len());
    assert!(text.ends_with("/0123456789"), "no line is cut in two");
    // In another charset every letter takes more room once it is decoded.
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Length: {FILE_BYTES_MAX}\r\n\r\n"
    );
    let latin = b"Disallow: /\xe4\xe4\xe4\n".repeat(FILE_BYTES_MAX / 15 + 1);
    let RobotsAnswer::Found(text) = outcome(answer([head.as_bytes(), &latin[..FILE_BYTES_MAX]].concat())).await else {
        panic!("a large file is a file")
    };
    assert!(text.len() <= FILE_BYTES_MAX && text.ends_with("/äää"), "{}", text.len());
}

#[tokio::test]
async fn p29_a_file_in_another_charset_speaks_of_the_paths_that_browsers_ask_for() {
    let utf_16: Vec<u8> =
        "\u{feff}User-agent: *\r\nDisallow: /ä\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", utf_16.len());
    let RobotsAnswer::Found(text) = outcome(answer([head.as_bytes(), &utf_16].concat())).await else {
        panic!("a file")
    };
    let page = "https://site.example/ä".parse().unwrap();
    assert!(!Robots::parse(text.as_bytes()).allows("feedwarden", &page).is_allowed);
}
