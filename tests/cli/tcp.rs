//! The same commands over TCP with a token, in the clear and encrypted.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::sync::Arc;

use feedwarden::demo::web::SiteBehaviour;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

use super::{Console, JWT_SECRET_FILE, feedwarden, seen};

/// A daemon that listens on TCP, and where.
fn listening() -> (Console, String) {
    listening_with(&[])
}

fn listening_with(more: &[&str]) -> (Console, String) {
    let address = crate::http::server::unused_address();
    let listen = format!("api.listen={address}");
    let arguments = [&["--set", &listen, "--set", JWT_SECRET_FILE], more].concat();
    (Console::with(&[SiteBehaviour::Healthy], &arguments), format!("http://{address}"))
}

fn token(console: &Console, scope: &str) -> String {
    console.works(&["token", "--scope", scope, "--hours", "1", "--set", JWT_SECRET_FILE]).trim().to_owned()
}

#[test]
fn a_token_opens_the_door_as_far_as_it_says() {
    let (console, url) = listening();
    let run = |token: Option<&str>, words: &[&str]| {
        let mut command = console.feedwarden(&[words, &["--url", &url]].concat());
        let output = command.envs(token.map(|token| ("FEEDWARDEN_TOKEN", token))).output().unwrap();
        let said = seen(&output);
        assert!(token.is_none_or(|token| !said.contains(token)), "the token is echoed: {said}");
        (output.status.code(), said)
    };
    let (code, said) = run(None, &["status"]);
    assert!(code == Some(6) && said.contains("feedwarden token"), "{said}");
    let (code, said) = run(Some("nonsense"), &["status"]);
    assert!(code == Some(6), "{said}");
    let read = token(&console, "read");
    assert_eq!(run(Some(&read), &["status"]).0, Some(0));
    assert_eq!(run(Some(&read), &["pause"]).0, Some(6));
    assert_eq!(run(Some(&token(&console, "write")), &["pause"]).0, Some(0));
    assert_eq!(console.json(&["status", "--url", &url, "--token", &read])["scheduler"]["is_paused"], true);
    assert_eq!(run(Some("two words\u{7f}"), &["status"]).0, Some(2));
    let file = console.directory.path().join("token");
    std::fs::write(&file, format!("{read}\n")).unwrap();
    assert_eq!(run(None, &["status", "--token-file", file.to_str().unwrap()]).0, Some(0));
    let (code, said) = run(None, &["status", "--token-file", "nowhere"]);
    assert!(code == Some(2) && said.contains("--token-file nowhere"), "{said}");
}

#[test]
fn a_tail_reads_its_token_anew_when_the_keys_are_rotated_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let (secret_file, token_file) = (file("secret"), file("token"));
    std::fs::write(&secret_file, "0123456789abcdef0123456789abcdef").unwrap();
    let address = crate::http::server::unused_address();
    let (listen, secret) = (format!("api.listen={address}"), format!("api.jwt-secret-file={secret_file}"));
    let console = Console::with(&[SiteBehaviour::Healthy], &["--set", &listen, "--set", &secret]);
    let url = format!("http://{address}");
    let issue = || console.works(&["token", "--scope", "read", "--set", &secret]).trim().to_owned();
    std::fs::write(&token_file, issue()).unwrap();
    console.works(&["source", "add", &console.url(SiteBehaviour::Healthy)]);
    let known = console.json(&["post", "list"])["items"].as_array().unwrap().len();
    let words = ["post", "tail", "--url", &url, "--after", "0", "--json"];
    let tail = |more: &[&str]| {
        let mut command = console.feedwarden(&[&words[..], more].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).env("FEEDWARDEN_TOKEN", issue()).spawn().unwrap()
    };
    // One has its token in a file, the other one in the environment.
    let count = (known + 1).to_string();
    let (mut renewed, mut ended) = (tail(&["--token-file", &token_file, "--count", &count]), tail(&[]));
    let mut lines = BufReader::new(renewed.stdout.take().unwrap()).lines();
    let mut other_lines = BufReader::new(ended.stdout.take().unwrap()).lines();
    assert_eq!(lines.by_ref().take(known).count(), known);
    assert_eq!(other_lines.by_ref().take(known).count(), known);
    std::fs::write(&secret_file, "fedcba9876543210fedcba9876543210").unwrap();
    std::fs::write(&token_file, issue()).unwrap();
    console.works(&["reload"]);
    let said = |tail: &mut std::process::Child| {
        let mut said = String::new();
        tail.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        said
    };
    let refusal = said(&mut ended);
    assert!(
        refusal.contains("the token is not signed by our key") && refusal.contains("feedwarden token"),
        "{refusal}"
    );
    assert_eq!(ended.wait().unwrap().code(), Some(6));
    console.web.publish(0, 1);
    console.works(&["source", "poll", "1", "--force"]);
    assert_eq!(lines.count(), 1, "the next post, with the new token");
    assert_eq!(renewed.wait().unwrap().code(), Some(0));
    let note = said(&mut renewed);
    assert!(note.contains("the daemon ended the stream: the token is not signed by our key"), "{note}");
    assert!(note.contains(&format!("reading {token_file} again")), "{note}");
}

#[test]
fn a_long_list_waits_where_it_is_too_fast_for_the_daemon() {
    let (console, url) = listening_with(&["--set", "api.requests-per-second=2"]);
    console.works(&["pause"]);
    let outlines: String = (0..2000).map(|number| format!("<outline xmlUrl=\"http://h{number}.invalid/\"/>")).collect();
    std::fs::write(console.directory.path().join("list.opml"), format!("<opml><body>{outlines}</body></opml>"))
        .unwrap();
    console.works(&["import", "list.opml"]);
    let words = ["source", "list", "--text", "h1999.", "--url", &url, "--token", &token(&console, "read")];
    assert!(console.works(&words).contains("http://h1999.invalid/"));
}

#[test]
fn a_token_that_leaves_the_machine_in_the_clear_is_warned_of() {
    let directory = tempfile::tempdir().unwrap();
    let said = |url: &str| {
        let mut command = feedwarden(directory.path(), &["status", "--url", url]);
        let output = command.env("FEEDWARDEN_TOKEN", "t").output().unwrap();
        assert_eq!(output.status.code(), Some(3), "no daemon answers");
        seen(&output)
    };
    let warning = "the token is sent to http://feedwarden.invalid:1/ unencrypted";
    assert!(said("http://feedwarden.invalid:1").contains(warning));
    assert!(!said("https://feedwarden.invalid:1").contains("unencrypted"));
    let unused = format!("http://{}", crate::http::server::unused_address());
    assert!(!said(&unused).contains("unencrypted"), "this machine's own address");
}

/// What a reverse proxy does: ends the encryption, and hands over what is inside.
async fn proxy(directory: &std::path::Path, inner: String) -> u16 {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(directory.join("authority.pem"), certified.cert.pem()).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let configuration = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(configuration));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((outer, _)) = listener.accept().await {
            let (acceptor, inner) = (acceptor.clone(), inner.clone());
            tokio::spawn(async move {
                let Ok(mut outer) = acceptor.accept(outer).await else { return };
                let mut inner = TcpStream::connect(inner).await.unwrap();
                let _ = copy_bidirectional(&mut outer, &mut inner).await;
            });
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_encrypted_door_is_used_if_its_certificate_is_right() {
    let (console, url) = tokio::task::spawn_blocking(listening).await.unwrap();
    let port = proxy(console.directory.path(), url.trim_start_matches("http://").to_owned()).await;
    let asked = tokio::task::spawn_blocking(move || {
        let read = token(&console, "read");
        let ask = |host: &str, is_trusted: bool| {
            let mut command = console.feedwarden(&["status", "--url", &format!("https://{host}:{port}")]);
            command.env("FEEDWARDEN_TOKEN", &read);
            if is_trusted {
                command.env("SSL_CERT_FILE", console.directory.path().join("authority.pem"));
            }
            let output = command.output().unwrap();
            (output.status.code(), seen(&output))
        };
        [ask("localhost", true), ask("127.0.0.1", true), ask("localhost", false)]
    });
    let [right, misnamed, stranger] = asked.await.unwrap();
    assert_eq!(right.0, Some(0), "{}", right.1);
    assert!(misnamed.0 == Some(3) && misnamed.1.contains("TLS certificate is for localhost"), "{}", misnamed.1);
    assert!(stranger.0 == Some(3) && stranger.1.contains("not signed by a known authority"), "{}", stranger.1);
}
