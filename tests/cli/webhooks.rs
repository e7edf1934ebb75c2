//! Webhooks on the command line.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};

use feedwarden::demo::web::SiteBehaviour;

use super::{Console, ENCRYPTION_KEY_FILE};

/// Takes whatever it is sent.
fn receiver() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream);
            let mut length = 0;
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) <= 2 {
                    break;
                }
                if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
                    length = value.trim().parse().unwrap();
                }
            }
            let _ = reader.read_exact(&mut vec![0; length]);
            let _ = reader.into_inner().write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
        }
    });
    address
}

#[test]
fn a_webhook_is_added_shown_changed_tested_and_removed() {
    let console = Console::with(&[SiteBehaviour::Healthy], &["--set", ENCRYPTION_KEY_FILE]);
    std::fs::write(console.directory.path().join("secret"), "a secret to sign with\n").unwrap();
    std::fs::write(console.directory.path().join("short"), "short\n").unwrap();
    let mut told = String::new();
    let mut tell = |words: &[&str]| told += &format!("$ feedwarden {}\n{}\n", words.join(" "), console.session(words));
    let url = "http://ann:word@127.0.0.1:9/hook";
    tell(&["webhook", "add", url, "--label", "news", "--format", "classic", "--secret-file", "secret"]);
    tell(&["webhook", "list"]);
    tell(&["webhook", "show", "1"]);
    tell(&["webhook", "edit", "1", "--move-to", "http://127.0.0.1:9/other", "--no-label"]);
    tell(&["webhook", "disable", "1", "--reason", "it moves"]);
    tell(&["webhook", "show", "1"]);
    tell(&["webhook", "list"]);
    tell(&["webhook", "enable", "1"]);
    tell(&["webhook", "test", "1"]);
    tell(&["webhook", "remove", "1"]);
    // What cannot be done.
    tell(&["webhook", "show", "1"]);
    tell(&["webhook", "test", "1"]);
    tell(&["webhook", "add", "ftp://a.example/"]);
    tell(&["webhook", "add", url, "--secret-file", "short"]);
    tell(&["webhook", "add", url, "--format", "classic", "--secret-file", "short"]);
    tell(&["webhook", "add", url, "--format", "classic", "--event", "source.gap"]);
    tell(&["webhook", "rotate", "1"]);
    tell(&["webhook", "add", url, "--secret-file", "missing"]);
    tell(&["webhook", "edit", "1"]);
    super::snapshot("webhook_life", &told);
}

#[test]
fn a_secret_that_is_made_is_shown_once_and_a_test_is_taken() {
    let console = Console::with(&[SiteBehaviour::Healthy], &["--set", ENCRYPTION_KEY_FILE]);
    let url = format!("http://{}/hook", receiver());
    let added = console.works(&["webhook", "add", &url]);
    let secret = |shown: &str| {
        let line = shown.lines().find_map(|line| line.strip_prefix("secret")).unwrap_or_default();
        line.split_whitespace().next().unwrap_or_default().to_owned()
    };
    let first = secret(&added);
    assert!(first.starts_with("whsec_") && first.len() == 50, "{added}");
    assert!(!console.works(&["webhook", "show", "1"]).contains(&first));
    let second = secret(&console.works(&["webhook", "edit", "1", "--new-secret"]));
    assert!(second.len() == 50 && second != first);
    let third = secret(&console.works(&["webhook", "rotate", "1"]));
    assert!(third.len() == 50 && third != second);
    assert!(console.works(&["webhook", "show", "1"]).contains("two secrets sign since"));
    assert!(!console.works(&["webhook", "end-rotation", "1"]).contains("two secrets sign"));
    assert_eq!(console.works(&["webhook", "test", "1"]), "webhook 1 took a test delivery\n");
    assert_eq!(console.json(&["webhook", "test", "1"])["is_taken"], true);
    assert_eq!(console.json(&["webhook", "list"])["items"][0]["url"], url);
}

#[test]
fn without_a_key_for_secrets_it_is_said_what_to_set() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    console.check("webhook_add_without_key", &["webhook", "add", "http://127.0.0.1:9/"]);
}
