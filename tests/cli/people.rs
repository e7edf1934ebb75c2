//! `feedwarden user` and `podcast`: from nothing to a followed X account, and what is refused on the way.

use feedwarden::demo::web::SiteBehaviour;
use serde_json::json;

use super::{Console, ENCRYPTION_KEY_FILE, fed, seen, snapshot};
use crate::x::server::{XServer, ok};

const NO_X: &str = "x.base-url=http://127.0.0.1:1";
const KEY: &str = "AAAA-canary-key";

/// A console whose daemon can keep secrets, and finds X nowhere unless it is told where.
pub(super) fn console(arguments: &[&str]) -> Console {
    let console =
        Console::with(&[SiteBehaviour::Healthy], &[&["--set", ENCRYPTION_KEY_FILE, "--set", NO_X], arguments].concat());
    std::fs::write(console.directory.path().join("x.key"), format!("{KEY}\n")).unwrap();
    console
}

/// Types these commands one after the other.
pub(super) fn transcript(console: &Console, commands: &[&[&str]]) -> String {
    let told = |words: &&[&str]| format!("$ feedwarden {}\n{}\n", words.join(" "), console.session(words));
    commands.iter().map(told).collect()
}

#[tokio::test]
async fn s510_two_commands_lead_from_nothing_to_a_followed_x_account() {
    let account = ok(r#"{"data":{"id":"7","name":"NASA","username":"nasa"}}"#);
    let posts = ok(r#"{"data":[{"id":"12","text":"Lift-off"}],"meta":{"result_count":1}}"#);
    let server = XServer::play([account, posts]).await;
    let base = format!("x.base-url={}", server.url());
    let (told, titles) = tokio::task::spawn_blocking(move || {
        let console = console(&["--set", &base]);
        let told = transcript(
            &console,
            &[
                &["source", "add", "https://x.com/nasa"],
                &["user", "add", "ada", "--key-file", "x.key", "--podcast", "Space news"],
                &["source", "add", "https://x.com/nasa"],
            ],
        );
        (told, console.json(&["post", "list"])["items"][0]["title"].clone())
    })
    .await
    .unwrap();
    snapshot("x_account", &told);
    assert_eq!(titles, "Lift-off");
    assert!(server.asked().iter().all(|asked| asked.authorization.as_deref() == Some(&format!("Bearer {KEY}"))));
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn users_podcasts_and_keys_in_words() {
    let console = console(&[]);
    console.works(&["pause"]);
    let told = transcript(
        &console,
        &[
            &["podcast", "add", "Nobody's"],
            &["user", "add", "ada"],
            &["user", "list"],
            &["user", "key", "ada", "--key-file", "x.key"],
            &["user", "show", "ada"],
            &["user", "rename", "ada", "Ada"],
            &["podcast", "add", "Engines"],
            &["podcast", "show", "1"],
            &["user", "add", "bob", "--podcast", "Bob's"],
            &["podcast", "add", "Whose"],
            &["podcast", "list"],
            &["podcast", "list", "--user", "bob"],
            &["podcast", "edit", "2", "--title", "Bobs", "--user", "Ada"],
            &["source", "add", "https://x.com/nasa", "--unseen"],
            &["source", "add", "https://x.com/nasa", "--unseen", "--podcast", "1"],
            &["user", "key", "1", "--remove"],
            &["source", "add", "@esa", "--type", "twitter", "--podcast", "1"],
            &["source", "add", "@esa", "--type", "twitter", "--podcast", "1", "--unseen"],
            &["podcast", "remove", "1"],
            &["user", "remove", "Ada"],
            &["user", "remove", "bob"],
            &["podcast", "remove", "2"],
        ],
    );
    snapshot("people", &told);
    assert!(!told.contains("canary"));
}

#[test]
fn what_is_refused_about_people_has_its_words_and_its_exit_code() {
    let console = console(&[]);
    std::fs::write(console.directory.path().join("wrong.key"), "two canaries\n").unwrap();
    console.works(&["user", "add", "ada"]);
    let told = transcript(
        &console,
        &[
            &["user", "add", "ada"],
            &["user", "add", "12"],
            &["user", "add", "bob", "--key-file", "wrong.key"],
            &["user", "add", "bob", "--key-file", "missing.key"],
            &["user", "add", "bob", "--podcast", ""],
            &["user", "show", "bob"],
            &["user", "show", "99"],
            &["user", "key", "ada"],
            &["user", "key", "ada", "--remove"],
            &["podcast", "show", "9"],
            &["podcast", "add", "x", "--user", "nobody"],
            &["podcast", "edit", "1"],
            &["source", "add", "http://a.example/", "--podcast", "9"],
        ],
    );
    snapshot("people_refused", &told);
    assert_eq!(
        console.json(&["user", "list"])["items"].as_array().unwrap().len(),
        1,
        "who cannot be equipped goes again"
    );
}

#[test]
fn a_key_comes_from_standard_input_too() {
    let console = console(&[]);
    console.works(&["user", "add", "ada"]);
    let output = fed(console.feedwarden(&["user", "key", "ada", "--key-file", "-"]), KEY);
    assert_eq!(output.status.code(), Some(0), "{}", seen(&output));
    assert_ne!(console.json(&["user", "show", "ada"])["x_key_at"], json!(null));
}

#[test]
fn without_an_encryption_key_it_is_said_which_setting_is_missing() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    std::fs::write(console.directory.path().join("x.key"), KEY).unwrap();
    console.check("key_without_encryption", &["user", "add", "ada", "--key-file", "x.key"]);
    assert_eq!(console.json(&["user", "list"])["items"], json!([]));
}
