//! `source add` takes what people write, and says what helps when it does not work.

use feedwarden::demo::web::SiteBehaviour;
use serde_json::{Value, json};

use super::{Console, seen};
use crate::http::server::{Act, Server, ok, send, unused_address};
use crate::http::tls::Authority;

const FEED: &str = r#"<?xml version="1.0"?><rss version="2.0"><channel><title>A feed</title></channel></rss>"#;

/// What a console without sources says about `source add` with these arguments, and the URLs that it has afterwards.
async fn added(words: Vec<String>) -> (String, Vec<Value>) {
    let asking = move || {
        let console = Console::new(&[SiteBehaviour::Healthy]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let text = seen(&console.run(&[&["source", "add"], &words[..]].concat()));
        let listed = console.json(&["source", "list"])["items"].clone();
        (text, listed.as_array().unwrap().iter().map(|source| source["url"].clone()).collect())
    };
    tokio::task::spawn_blocking(asking).await.unwrap()
}

#[tokio::test]
async fn a_host_name_is_asked_over_https_first_and_over_http_if_there_is_no_https() {
    let plain = send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    let server = Server::play(vec![plain, Act::Mute, Act::NextConnection, Act::Read, ok(FEED)]).await;
    let place = server.address.to_string();
    let (text, urls) = added(vec![format!("{place}/feed"), "--delay-seconds".into(), "0".into()]).await;
    assert_eq!(urls, [json!(format!("http://{place}/feed"))], "{text}");
    assert!(
        text.contains(&format!("{place}/feed is taken as http://{place}/feed, unencrypted: https was tried first")),
        "{text}"
    );
    assert!(text.ends_with("exit 0\n"), "{text}");
}

#[tokio::test]
async fn a_bad_certificate_is_no_reason_to_give_up_encryption() {
    let server = Server::play(vec![Authority::new().certified("127.0.0.1"), Act::Read, ok(FEED)]).await;
    let place = server.address.to_string();
    let (text, urls) = added(vec![format!("{place}/feed")]).await;
    assert_eq!(urls, [json!(null); 0], "{text}");
    assert!(
        text.contains("TLS certificate is not signed by a known authority") && text.contains("http.tls-ca-file"),
        "{text}"
    );
    assert!(!text.contains("is taken as") && text.ends_with("exit 6\n"), "{text}");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_host_without_any_answer_is_told_with_both_tries_behind_it() {
    let (text, urls) = added(vec![unused_address().to_string()]).await;
    assert_eq!(urls, [json!(null); 0], "{text}");
    assert!(text.contains("connection refused") && text.contains("Check the host name and the port"), "{text}");
}

#[test]
fn hints_fit_what_happened() {
    let console = Console::new(&[
        SiteBehaviour::Unauthorized,
        SiteBehaviour::Forbidden,
        SiteBehaviour::Website,
        SiteBehaviour::NotFound,
    ]);
    for (behaviour, hint) in [
        (SiteBehaviour::Unauthorized, "--login-file FILE`"),
        (SiteBehaviour::Forbidden, "--header-file FILE"),
        (SiteBehaviour::Website, "--type website`"),
        (SiteBehaviour::NotFound, "home page"),
    ] {
        let url = console.url(behaviour);
        let text = seen(&console.run(&["source", "add", &url]));
        assert!(text.contains(hint) && text.ends_with("exit 6\n"), "{text}");
        let checked = seen(&console.run(&["check", &url, "--set", "http.allow-private-networks=true"]));
        assert!(checked.contains("\ntry        ") && checked.contains(hint), "{checked}");
    }
    let text = seen(&console.run(&["source", "add", "http://no-such-host.invalid/"]));
    assert!(text.contains("Check the spelling of the host name"), "{text}");
    let text = seen(&console.run(&["source", "add", "nasa"]));
    assert!(text.contains("@name for an X account") && text.ends_with("exit 2\n"), "{text}");
    let text = seen(&console.run(&["source", "add", "@nasa"]));
    assert!(text.contains("feedwarden user add NAME --key-file FILE --podcast TITLE"), "{text}");
    console.works(&["source", "add", &console.url(SiteBehaviour::Unauthorized), "--anyway"]);
    console.until_scheduled(1);
    let id = console.json(&["source", "list"])["items"][0]["id"].to_string();
    let text = seen(&console.run(&["source", "poll", &id, "--force"]));
    assert!(text.contains(&format!("feedwarden source access {id} --login-file FILE`")), "{text}");
}

#[test]
fn several_sources_are_added_by_one_command() {
    let console = Console::new(&[SiteBehaviour::Healthy, SiteBehaviour::NotFound, SiteBehaviour::Healthy]);
    let urls: Vec<String> = console.web.sites().iter().map(|site| site.url.clone()).collect();
    let output = console.run(&["source", "add", &urls[0], &urls[1], &urls[2], "--label", "all"]);
    let text = seen(&output);
    assert_eq!(output.status.code(), Some(6), "{text}");
    assert!(text.contains("source 1 is added") && text.contains("HTTP 404"), "{text}");
    assert!(text.contains("1 of 3 sources were not added"), "{text}");
    let listed = console.json(&["source", "list", "--label", "all"]);
    assert_eq!(listed["items"].as_array().unwrap().len(), 2);
    let output = console.run(&["source", "add", &urls[0], &urls[1], "--json"]);
    let told: Vec<Value> =
        String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&told[0]["problem"]["status"], &told[1]["problem"]["status"]), (&json!(409), &json!(422)));
    assert_eq!((&told[0]["url"], told.len()), (&json!(urls[0]), 2));
}

#[test]
fn an_x_account_is_added_by_its_name() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    console.works(&["source", "add", "@NASA", "x.com/esa", "--unseen"]);
    let listed = console.json(&["source", "list", "--type", "twitter"]);
    let urls: Vec<&Value> = listed["items"].as_array().unwrap().iter().map(|source| &source["url"]).collect();
    assert_eq!(urls, [&json!("https://x.com/nasa"), &json!("https://x.com/esa")]);
    assert_eq!(console.json(&["source", "show", "@nasa"])["id"], 1);
}

#[test]
fn the_status_says_first_what_an_operator_wants_to_know() {
    let console = Console::new(&[SiteBehaviour::Healthy, SiteBehaviour::Unauthorized, SiteBehaviour::Healthy]);
    let empty = console.works(&["status"]);
    assert!(
        empty.contains("\nready       yes\n") && empty.contains("none yet: `feedwarden source add URL` adds one"),
        "{empty}"
    );
    for site in console.web.sites() {
        console.works(&["source", "add", &site.url, "--anyway"]);
    }
    console.until_scheduled(3);
    console.works(&["source", "disable", "3"]);
    console.works(&["host", "hold", &console.web.sites()[0].host, "--for", "1h", "--reason", "calm"]);
    console.until(&["status"], |status| status["store_counts"]["sources_by_state"]["disabled"] == 1);
    let status = console.json(&["status"]);
    assert_eq!(status["is_ready"], true);
    let counts = &status["store_counts"];
    assert_eq!((&counts["sources"], &counts["posts"], &counts["posts_last_day"]), (&json!(3), &json!(2), &json!(2)));
    assert_eq!(counts["failing_by_kind"], json!({ "unauthorized": 1 }));
    let kinds: Vec<&Value> = status["problems"].as_array().unwrap().iter().map(|problem| &problem["kind"]).collect();
    assert_eq!(kinds, [&json!("unauthorized_sources"), &json!("disabled_sources"), &json!("held_hosts")]);
    let text = console.works(&["status"]);
    for line in [
        "1 source fails because its login or key is missing or refused: `feedwarden source list --failure unauthorized`",
        "1 source is disabled: `feedwarden source list --state disabled`",
        "1 host is held: `feedwarden host list`",
        "2 stored, 2 of them today",
        "oldest due",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let listed = console.json(&["source", "list", "--failure", "unauthorized"]);
    assert_eq!((listed["items"].as_array().unwrap().len(), &listed["items"][0]["id"]), (1, &json!(2)));
    console.works(&["pause"]);
    let text = console.works(&["status"]);
    assert!(text.contains("polling is paused: `feedwarden resume`"), "{text}");
}
