//! The commands that need no daemon, as the real program carries them out.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::http::server::{Act, Server, answer, answers, ok, unused_address};

const FEED: &str = r#"<rss version="2.0"><channel><title>A &amp; B</title><item><title>One</title><link>/1</link>
    <pubDate>Mon, 16 Nov 2026 01:00:00 GMT</pubDate><description>&lt;p&gt;Hi&lt;/p&gt;</description></item>
    <item><guid>http://x.example/2</guid><description>No date</description></item></channel></rss>"#;

const PAGE: &str = r#"<html lang="en"><head><title>Page</title><meta name="author" content="Ada">
    <link rel="alternate" type="application/rss+xml" title="News" href="/feed.xml"></head><body><article><h1>Head</h1>
    <p>A longer paragraph of text that is an article, really, with commas, and sentences. It goes on and on, and on.</p>
    </article></body></html>"#;

fn feedwarden(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_feedwarden"));
    command.env_clear().args(arguments);
    command
}

/// The exit code, and what was printed as JSON.
fn answer_of(output: &Output) -> (Option<i32>, Value) {
    let printed = String::from_utf8_lossy(&output.stdout);
    let value = serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed} {output:?}"));
    (output.status.code(), value)
}

/// Runs `check --json` against a server that plays these acts.
async fn check(acts: Vec<Act>, arguments: &[&str]) -> (Option<i32>, Value) {
    let server = Server::play(acts).await;
    check_url(&server.url("/feed.xml"), arguments).await
}

async fn check_url(url: &str, arguments: &[&str]) -> (Option<i32>, Value) {
    let mut command = feedwarden(&["check", "--json", "--set", "http.allow-private-networks=true", url]);
    command.args(arguments);
    answer_of(&tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap())
}

/// A whole answer of 200 with this body, as text.
fn whole(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn status(line: &str) -> String {
    format!("HTTP/1.1 {line}\r\nContent-Length: 0\r\n\r\n")
}

/// The paths that a server was asked for.
fn paths(server: &Server) -> Vec<String> {
    let path = |head: &String| head.split(' ').nth(1).unwrap_or_default().to_owned();
    server.requests().iter().map(path).collect()
}

#[tokio::test]
async fn check_says_what_a_good_feed_would_do() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nETag: \"a\"\r\nCache-Control: max-age=7200\r\n";
    let reply = format!("{head}Content-Length: {}\r\n\r\n{FEED}", FEED.len());
    let moved = "HTTP/1.1 301 Moved\r\nLocation: /new.xml\r\nContent-Length: 0\r\n\r\n".to_owned();
    let (code, said) = check(answers(&[moved, reply]), &[]).await;
    assert_eq!(code, Some(0), "{said:#}");
    assert_eq!(said["hops"].as_array().unwrap().iter().map(|hop| &hop["status"]).collect::<Vec<_>>(), [301, 200]);
    assert!(said["moved_to"].as_str().unwrap().ends_with("/new.xml"));
    let document = &said["document"];
    assert_eq!(
        (&document["format"], &document["charset"], &document["title"]),
        (&json!("RSS 2.0"), &json!("UTF-8"), &json!("A & B"))
    );
    assert_eq!((&document["etag"], document["fresh_until"].is_string()), (&json!("\"a\""), true));
    let entries: Vec<_> =
        document["entries"].as_array().unwrap().iter().map(|entry| (&entry["title"], &entry["stored"])).collect();
    assert_eq!(entries, [(&json!("One"), &json!(false)), (&json!("No date"), &json!(true))]);
    assert!(said["next_poll_reason"].as_str().unwrap().ends_with("the last answer is still fresh"), "{said:#}");
}

#[tokio::test]
async fn p38_check_shows_the_rate_limit_and_the_hold_that_would_follow() {
    let head = "HTTP/1.1 200 OK\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 86000\r\n";
    let reply = format!("{head}Content-Length: {}\r\n\r\n{FEED}", FEED.len());
    let (code, said) = check(answers(&[reply]), &[]).await;
    assert_eq!((code, &said["rate_limit"]["is_used_up"]), (Some(0), &json!(true)), "{said:#}");
    assert_eq!(said["next_poll_at"], said["rate_limit"]["resets_at"]);
    assert!(said["next_poll_reason"].as_str().unwrap().ends_with("its host is held"), "{said:#}");
}

#[tokio::test]
async fn check_names_the_feeds_of_a_page_and_would_follow_it_as_a_website() {
    let (code, said) =
        check(answer(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{PAGE}", PAGE.len())), &[]).await;
    assert_eq!((code, &said["failure"]["error_type"]), (Some(1), &json!("parse_error")));
    assert!(said["linked_feeds"][0]["url"].as_str().unwrap().ends_with("/feed.xml"), "{said:#}");
    let (code, said) = check(answers(&[status("404 Not Found"), whole(PAGE)]), &["--type", "website"]).await;
    assert_eq!((code, said["document"]["entries"].as_array().unwrap().len()), (Some(0), 1), "{said:#}");
    assert!(said["linked_feeds"][0]["url"].as_str().unwrap().ends_with("/feed.xml"));
    assert_eq!(said["robots"][0]["reason"], "allowed, since there is none");
}

#[tokio::test]
async fn s703_s704_check_would_store_a_page_whatever_its_date_and_shows_who_wrote_it() {
    let dated = PAGE.replace("<head>", "<head><meta property='article:published_time' content='2001-11-16T08:00:00Z'>");
    let dated = dated.replace("<h1>Head</h1>", "<h1>Head</h1><p class='byline'>By Bob Reed</p>");
    let (code, said) = check(answers(&[status("404 Not Found"), whole(&dated)]), &["--type", "website"]).await;
    let entry = &said["document"]["entries"][0];
    assert_eq!((code, &entry["stored"], &entry["published"]), (Some(0), &json!(true), &json!("2001-11-16T08:00:00Z")));
    assert_eq!((&entry["author"], &entry["byline"]), (&json!("Ada"), &json!("Bob Reed")), "{said:#}");
}

#[tokio::test]
async fn p29_check_asks_the_robots_txt_of_a_page_and_not_that_of_a_feed() {
    let rules = "User-agent: *\nDisallow: /\n\nUser-agent: feedwarden\nDisallow: /feed\nAllow: /feed.xml\n";
    let server = Server::play(answers(&[whole(rules), whole(PAGE)])).await;
    let (code, said) = check_url(&server.url("/feed.xml"), &["--type", "website"]).await;
    assert_eq!(code, Some(0), "{said:#}");
    assert_eq!(said["robots"][0]["reason"], "allowed by line 6, Allow: /feed.xml");
    assert_eq!(paths(&server), ["/robots.txt", "/feed.xml"]);
    let server = Server::play(answers(&[whole(FEED)])).await;
    let (code, said) = check_url(&server.url("/feed.xml"), &[]).await;
    assert_eq!((code, &said["robots"]), (Some(0), &json!([])));
    assert_eq!(paths(&server), ["/feed.xml"]);
}

#[tokio::test]
async fn p29_check_does_not_ask_for_a_page_that_robots_txt_refuses() {
    let server = Server::play(answers(&[whole("User-agent: *\nDisallow: /"), whole(PAGE)])).await;
    let url = server.url("/page").replace("http://", "http://ann:hidden@");
    let (code, said) = check_url(&url, &["--type", "website"]).await;
    assert_eq!((code, &said["failure"]["error_type"]), (Some(1), &json!("forbidden")), "{said:#}");
    assert_eq!(said["failure"]["error"], "robots.txt: refused by line 2, Disallow: /");
    assert_eq!((&said["robots"][0]["allowed"], &said["url"]), (&json!(false), &json!(server.url("/page"))));
    assert!(!said.to_string().contains("hidden"), "{said:#}");
    assert_eq!(paths(&server), ["/robots.txt"]);
    let server = Server::play(answers(&[status("503 Busy")])).await;
    let (code, said) = check_url(&server.url("/page"), &["--type", "website"]).await;
    assert_eq!((code, &said["failure"]["error_type"]), (Some(1), &json!("upstream_failure")), "{said:#}");
    assert!(said["failure"]["error"].as_str().unwrap().starts_with("robots.txt cannot be had: HTTP 503"), "{said:#}");
}

#[tokio::test]
async fn p29_check_asks_each_site_on_the_way_and_each_once() {
    let other = Server::play(answers(&[whole("User-agent: *\nDisallow: /new"), whole(PAGE)])).await;
    let moved = |to: &str| format!("HTTP/1.1 301 Moved\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
    let home =
        Server::play(answers(&[moved("/elsewhere.txt"), whole(""), moved("/within"), moved(&other.url("/new"))])).await;
    let (code, said) = check_url(&home.url("/page"), &["--type", "website"]).await;
    assert_eq!((code, &said["failure"]["error_type"]), (Some(1), &json!("forbidden")), "{said:#}");
    assert_eq!(paths(&home), ["/robots.txt", "/elsewhere.txt", "/page", "/within"]);
    assert_eq!(paths(&other), ["/robots.txt"]);
    let hops: Vec<_> = said["hops"].as_array().unwrap().iter().map(|hop| &hop["status"]).collect();
    assert_eq!((hops, said["robots"].as_array().unwrap().len()), (vec![&json!(301); 2], 3), "{said:#}");
}

#[tokio::test]
async fn check_says_what_kind_of_failure_it_is_and_what_would_follow() {
    for (status, kind, class, then) in [
        ("404 Not Found", "not_found", "permanent", "failure 1 in a row: backs off"),
        ("410 Gone", "gone", "permanent", "rests for 72 h after 1 gone in a row"),
        ("503 Busy", "upstream_failure", "transient", "failure 1 in a row: backs off"),
    ] {
        let (code, said) = check(answer(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n")), &[]).await;
        let failure = &said["failure"];
        assert_eq!((code, &failure["error_type"]), (Some(1), &json!(kind)));
        assert_eq!((&failure["failure_type"], &failure["decision"]), (&json!(class), &json!(then)));
    }
    let (code, said) = check_url(&format!("http://{}/", unused_address()), &[]).await;
    assert_eq!((code, &said["failure"]["error_type"]), (Some(1), &json!("network")));
}

#[tokio::test]
async fn p36_check_refuses_private_addresses_and_says_how_to_allow_them() {
    let server = Server::play(vec![Act::Read, ok(FEED)]).await;
    let url = server.url("/feed.xml");
    let run = move || feedwarden(&["check", "--json", &url]).output().unwrap();
    let (code, said) = answer_of(&tokio::task::spawn_blocking(run).await.unwrap());
    let error = said["failure"]["error"].as_str().unwrap();
    assert!(code == Some(1) && error.contains("loopback") && error.contains("http.allowed-networks"), "{error}");
    assert_eq!(server.requests(), [""; 0], "no request was sent");
}

#[tokio::test]
async fn p37_check_does_not_print_the_credentials_of_a_url() {
    let server = Server::play(vec![Act::Read, ok(FEED)]).await;
    let url = server.url("/feed.xml").replace("http://", "http://ann:hidden@");
    for json in [true, false] {
        let mut command = feedwarden(&["check", "--set", "http.allow-private-networks=true", &url]);
        command.args(json.then_some("--json"));
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        assert!(!format!("{output:?}").contains("hidden"), "{output:?}");
    }
}

#[tokio::test]
async fn check_reads_an_x_account_with_the_key_of_a_file_and_keeps_a_renewed_one() {
    let json = |body: Value| format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.to_string().len());
    let refused = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n".to_owned();
    let post = json!({ "id": "70", "text": "Hello", "created_at": "2026-11-16T01:00:00.000Z", "author_id": "7" });
    let acts = answers(&[
        refused,
        json(json!({ "access_token": "new", "refresh_token": "later", "token_type": "bearer", "expires_in": 7200 })),
        json(json!({ "data": { "id": "7", "name": "Ada", "username": "ada" } })),
        json(json!({ "data": [post], "meta": { "result_count": 1, "newest_id": "70", "oldest_id": "70" } })),
    ]);
    let server = Server::play(acts).await;
    let directory = tempdir().unwrap();
    let key = directory.path().join("key.json");
    std::fs::write(&key, r#"{"access_token":"old","refresh_token":"once","client_id":"us"}"#).unwrap();
    let base = format!("x.base-url={}", server.url(""));
    let arguments = ["--type", "twitter", "--key-file", key.to_str().unwrap(), "--set", &base];
    let (code, said) = check_url("https://x.com/ada", &arguments).await;
    assert_eq!((code, &said["document"]["entries"][0]["title"]), (Some(0), &json!("Hello")), "{said:#}");
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&key).unwrap()).unwrap();
    assert_eq!((&kept["access_token"], &kept["refresh_token"]), (&json!("new"), &json!("later")));
}

#[test]
fn an_x_account_is_not_checked_without_a_key() {
    let output = feedwarden(&["check", "--type", "twitter", "https://x.com/ada"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("--key-file <FILE>"));
}

#[test]
fn check_refuses_what_is_no_url_as_a_source_that_would_not_work() {
    let output = feedwarden(&["check", "--json", "example.com/feed"]).output().unwrap();
    let (code, said) = answer_of(&output);
    assert_eq!((code, &said["failure"]["error_type"]), (Some(1), &json!("unexpected")));
}

#[test]
fn parse_prints_one_object_a_file_with_texts_as_found() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("feed.xml");
    std::fs::write(&path, FEED).unwrap();
    let output = feedwarden(&["parse", "--base", "http://b.example/", path.to_str().unwrap()]).output().unwrap();
    let (code, said) = answer_of(&output);
    assert_eq!(
        (code, &said["ok"], &said["error"], &said["title"]),
        (Some(0), &json!(true), &Value::Null, &json!("A & B"))
    );
    assert_eq!(
        said["entries"][0],
        json!({
            "id": null, "title": "One", "url": "http://b.example/1", "published": "2026-11-16T01:00:00Z",
            "updated": null, "author": null, "summary": "<p>Hi</p>", "content": null, "authors": [], "categories": [],
            "enclosures": [], "image_url": null, "comments_url": null, "language": null,
        })
    );
}

#[test]
fn parse_reads_years_of_two_digits_as_the_daemon_does() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("feed.xml");
    std::fs::write(&path, FEED.replace("2026", "49")).unwrap();
    let output = feedwarden(&["parse", path.to_str().unwrap()]).output().unwrap();
    assert!(FEED.contains("2026"));
    let published = answer_of(&output).1["entries"][0]["published"].clone();
    assert!(published.as_str().is_some_and(|published| published.starts_with("1949-")), "{published}");
}

#[test]
fn parse_goes_on_after_a_file_that_is_no_feed_and_fails_in_the_end() {
    let directory = tempdir().unwrap();
    let (feed, page) = (directory.path().join("feed.xml"), directory.path().join("page.html"));
    std::fs::write(&feed, FEED).unwrap();
    std::fs::write(&page, PAGE).unwrap();
    let missing = directory.path().join("missing.xml");
    let files = [&page, &missing, &feed].map(|path| path.to_str().unwrap());
    let output = feedwarden(&[&["parse"], &files[..]].concat()).output().unwrap();
    let lines: Vec<Value> = output.stdout.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert_eq!(lines.iter().map(|line| line["ok"].clone()).collect::<Vec<_>>(), [false, false, true]);
    assert!(lines[0]["error"].as_str().unwrap().contains("/feed.xml (News)"), "{}", lines[0]);
    assert!(lines[1]["error"].as_str().unwrap().contains("No such file"), "{}", lines[1]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn ndjson_takes_turns_line_by_line() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("feed.xml");
    std::fs::write(&path, FEED).unwrap();
    let mut process = feedwarden(&["parse", "--ndjson"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
    let mut lines = BufReader::new(output).lines();
    for (line, url) in
        [("\ttext/xml\thttp://b.example/", json!("http://b.example/1")), ("", json!("/1")), ("\t\t", json!("/1"))]
    {
        writeln!(input, "{}{line}", path.display()).unwrap();
        // The answer has to come before the next question: nothing may wait in a buffer.
        let said: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!((&said["ok"], &said["entries"][0]["url"]), (&json!(true), &url));
    }
    writeln!(input, "missing.xml").unwrap();
    assert_eq!(serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap()["ok"], false);
    drop(input);
    assert_eq!(process.wait().unwrap().code(), Some(0));
}

#[test]
fn extract_prints_the_article_of_a_page() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("page.html");
    std::fs::write(&path, PAGE).unwrap();
    let (code, said) = answer_of(&feedwarden(&["extract", path.to_str().unwrap()]).output().unwrap());
    assert_eq!(
        (code, &said["ok"], &said["author"], &said["published"]),
        (Some(0), &json!(true), &json!("Ada"), &Value::Null)
    );
    assert_eq!(said["byline"], Value::Null);
    assert!(said["text"].as_str().unwrap().contains("really, with commas"), "{said:#}");
    std::fs::write(&path, "<html><body><script>app()</script></body></html>").unwrap();
    let (code, said) = answer_of(&feedwarden(&["extract", path.to_str().unwrap()]).output().unwrap());
    assert_eq!((code, &said["ok"], &said["text"]), (Some(1), &json!(false), &Value::Null), "{said:#}");
}

#[test]
fn a_document_from_standard_input_is_read_too() {
    let mut process =
        feedwarden(&["parse", "--json", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    process.stdin.take().unwrap().write_all(FEED.as_bytes()).unwrap();
    let (code, said) = answer_of(&process.wait_with_output().unwrap());
    assert_eq!((code, &said["ok"]), (Some(0), &json!(true)));
}

#[test]
fn a_wrong_configuration_does_not_keep_files_from_being_read() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("feed.xml");
    std::fs::write(&path, FEED).unwrap();
    let mut command = feedwarden(&["parse", path.to_str().unwrap()]);
    assert_eq!(command.env("FEEDWARDEN__SOURCE__MAX_FAILURES", "many").output().unwrap().status.code(), Some(0));
}
