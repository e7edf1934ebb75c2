//! The listeners of a real process: who gets the socket, who has to go, and what is read anew.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use feedwarden::model::{NewPost, NewSource, PostContent, Settlement, SourceSettings, SourceType, Timestamp};
use feedwarden::store;
use feedwarden::store::settings::{EngineSettings, SqliteSettings, StoreSettings, Synchronous};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::tempdir;

/// A daemon that is stopped at the end.
pub(super) struct Daemon(pub(super) Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_feedwarden"));
    crate::in_directory(&mut command, directory).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts a daemon and waits until its listeners are open.
pub(super) fn start(directory: &Path, arguments: &[&str]) -> (Daemon, Value) {
    let mut child = command(directory, &[&["run"], arguments].concat()).spawn().unwrap();
    let mut records = BufReader::new(child.stdout.take().unwrap()).lines();
    let ready = records.find_map(|line| {
        let record: Value = serde_json::from_str(&line.unwrap()).unwrap();
        (record["msg"] == "api ready").then_some(record)
    });
    // A process that writes to a pipe without a reader would block.
    std::thread::spawn(move || records.for_each(drop));
    (Daemon(child), ready.expect("the listeners open"))
}

fn ask(socket: &Path, method: &str, path: &str) -> Value {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
    write!(stream, "{method} /api/v1{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

#[test]
fn the_socket_is_private_a_live_one_is_respected_and_a_stale_one_replaced() {
    let directory = tempdir().unwrap();
    let socket = directory.path().join("feedwarden.sock");
    // What a killed daemon leaves behind.
    drop(UnixListener::bind(&socket).unwrap());
    let (mut first, ready) = start(directory.path(), &[]);
    assert_eq!(ready["socket"], directory.path().canonicalize().unwrap().join("feedwarden.sock").to_str().unwrap());
    assert_eq!(ready["listen"], Value::Null);
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(ask(&socket, "GET", "/status")["store_trouble"], Value::Null);

    let other = ["run", "--set", "database.url=sqlite:other.db"];
    let second = command(directory.path(), &other).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(said.contains("another feedwarden serves the admin socket feedwarden.sock"), "{said}");
    assert_eq!(ask(&socket, "GET", "/status")["store_trouble"], Value::Null, "the first was not disturbed");

    kill_process(Pid::from_child(&first.0), Signal::KILL).unwrap();
    first.0.wait().unwrap();
    assert!(socket.exists());
    let (mut again, _) = start(directory.path(), &[]);
    assert_eq!(ask(&socket, "GET", "/status")["store_trouble"], Value::Null);
    kill_process(Pid::from_child(&again.0), Signal::TERM).unwrap();
    assert_eq!(again.0.wait().unwrap().code(), Some(0));
    assert!(!socket.exists(), "who ends in order leaves nothing behind");
}

#[test]
fn the_configuration_is_shown_masked_and_read_anew() {
    let directory = tempdir().unwrap();
    let secret = "0123456789abcdef0123456789abcdef";
    let file = directory.path().join("own.yaml");
    let write = |failures: &str| {
        let text = format!(
            "source: {{max-failures: {failures}}}\nwebhooks: {{failures-max: {failures}}}\napi: {{jwt-secret: {secret}, listen: \"127.0.0.1:0\"}}\n"
        );
        std::fs::write(&file, text).unwrap();
    };
    write("5");
    let (_daemon, ready) = start(directory.path(), &["--config", "own.yaml"]);
    assert!(ready["listen"].as_str().unwrap().starts_with("127.0.0.1:"), "{ready}");
    let socket = directory.path().join("feedwarden.sock");
    let value = |key: &str| {
        let rows = ask(&socket, "GET", "/configuration");
        rows.as_array().unwrap().iter().find(|row| row["key"] == key).unwrap()["value"].clone()
    };
    assert_eq!(value("source.max-failures"), 5);
    assert!(!ask(&socket, "GET", "/configuration").to_string().contains(secret));
    write("7");
    let reloaded = ask(&socket, "POST", "/configuration/reload");
    assert_eq!(reloaded["changed"], serde_json::json!(["source.max-failures", "webhooks.failures-max"]));
    assert_eq!(value("source.max-failures"), 7);
    write("many");
    let refused = ask(&socket, "POST", "/configuration/reload");
    assert_eq!(refused["status"], 400);
    assert!(refused["detail"].as_str().unwrap().contains("source.max-failures"), "{refused}");
    assert_eq!(value("source.max-failures"), 7, "a wrong configuration changes nothing");
    write("7");
    let issued = command(directory.path(), &["token", "--config", "own.yaml", "--scope", "write"]).output().unwrap();
    assert_eq!(String::from_utf8(issued.stdout).unwrap().trim().split('.').count(), 3);
}

#[test]
fn s1005_a_daemon_runs_on_the_seeds_configuration_and_reads_it_anew() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("application.yaml");
    let write = |delay: &str| {
        let text = format!(
            "app:\n  source:\n    poll-delay-seconds:\n      rss: 0\n      website: 2\n      twitter: 0\n    \
             host-overrides:\n      nitter.net:\n        poll-delay-seconds: {delay}\n"
        );
        std::fs::write(&file, text).unwrap();
    };
    write("3");
    let set = ["--config", "application.yaml", "--set", "app.source.max-failures=15"];
    let (_daemon, _) = start(directory.path(), &set);
    let socket = directory.path().join("feedwarden.sock");
    let value = |key: &str| {
        let rows = ask(&socket, "GET", "/configuration");
        assert!(!rows.to_string().contains("\"app."), "{rows}");
        rows.as_array().unwrap().iter().find(|row| row["key"] == key).unwrap()["value"].clone()
    };
    let delay = "source.host-overrides.nitter.net.poll-delay-seconds";
    assert_eq!((value(delay), value("source.max-failures")), (3.into(), 15.into()));
    write("4");
    assert_eq!(ask(&socket, "POST", "/configuration/reload")["changed"], serde_json::json!([delay]));
    assert_eq!(value(delay), 4);
    write("soon");
    let refused = ask(&socket, "POST", "/configuration/reload");
    let told = format!("app.{delay} (file application.yaml line 9)");
    assert!(refused["detail"].as_str().unwrap().contains(&told), "{refused}");
}

#[test]
fn a_secret_is_replaced_while_the_daemon_runs_and_old_tokens_open_nothing_any_more() {
    let directory = tempdir().unwrap();
    let (file, secret) = (directory.path().join("own.yaml"), directory.path().join("secret"));
    std::fs::write(&file, "api: {jwt-secret-file: secret, listen: \"127.0.0.1:0\"}\n").unwrap();
    let issue = |text: &str| {
        std::fs::write(&secret, text.repeat(32)).unwrap();
        let issued = command(directory.path(), &["token", "--config", "own.yaml"]).output().unwrap();
        String::from_utf8(issued.stdout).unwrap().trim().to_owned()
    };
    let old = issue("a");
    let (_daemon, ready) = start(directory.path(), &["--config", "own.yaml"]);
    let url = format!("http://{}", ready["listen"].as_str().unwrap());
    let opens = |token: &str| {
        let mut status = command(directory.path(), &["status", "--url", &url]);
        status.env("FEEDWARDEN_TOKEN", token).output().unwrap().status.code() == Some(0)
    };
    assert!(opens(&old));
    let new = issue("b");
    assert!(opens(&old) && !opens(&new), "the new secret is not loaded yet");
    let reloaded = ask(&directory.path().join("feedwarden.sock"), "POST", "/configuration/reload");
    assert_eq!(reloaded, serde_json::json!({ "changed": ["api.jwt-secret-file"], "needs_restart": [] }));
    assert!(!opens(&old) && opens(&new));
}

#[tokio::test]
async fn a_page_of_large_posts_takes_little_memory_and_leads_to_the_rest() {
    const POSTS: usize = 30;
    const POST_BYTES: usize = 3 << 20;
    let directory = tempdir().unwrap();
    add_posts(&directory.path().join("feedwarden.db"), POSTS, POST_BYTES).await;
    let (daemon, _) = start(directory.path(), &[]);
    let socket = directory.path().join("feedwarden.sock");
    let peak = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.0.id())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
    };
    let before = peak();
    let (mut read, mut pages, mut cursor) = (0, 0, String::new());
    loop {
        let page = ask(&socket, "GET", &format!("/posts?limit=100{cursor}"));
        read += page["items"].as_array().unwrap().len();
        pages += 1;
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    let grown = peak() - before;
    println!("{POSTS} posts of {POST_BYTES} bytes in {pages} pages: {} MB more at the peak", grown >> 20);
    assert_eq!(read, POSTS);
    assert!(pages >= POSTS * POST_BYTES / (9 << 20), "{pages} pages");
    // All posts in one page take more than a gigabyte.
    assert!(grown < 192 << 20, "{grown} bytes");
}

/// A database with one source and so many posts of so many bytes.
async fn add_posts(path: &Path, count: usize, bytes: usize) {
    let now = Timestamp::from_seconds(1_800_000_000);
    let engine = EngineSettings::Sqlite(SqliteSettings {
        path: path.to_owned(),
        synchronous: Synchronous::Normal,
        readers: 1,
        busy_timeout: std::time::Duration::from_secs(5),
    });
    let store = store::open(&StoreSettings { engine, encryption_key: None }, now).await.unwrap();
    let settings = SourceSettings::new(SourceType::Rss, "http://a.example/feed");
    store.add_sources(vec![NewSource { settings, created_at: now }]).await.unwrap();
    for number in 0..count {
        let mut source = store.list_sources(None, 1).await.unwrap().remove(0);
        source.state.enabled = false;
        let text = format!("{number} {}", "word ".repeat(bytes / 5));
        let post = NewPost::new(PostContent { text, ..PostContent::default() }, None);
        let settlement = Settlement { posts: vec![post], ..Settlement::of_state(&source, now) };
        store.settle(vec![settlement]).await.unwrap();
    }
    store.close().await;
}
