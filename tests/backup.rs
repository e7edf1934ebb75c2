//! Backups and what comes after them, with the real program: restore on both engines, wrong and changed keys.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use feedwarden::model::{DeliveryFormat, KeyProvider, NewWebhook, SourceAccess};
use feedwarden::store::settings::{EngineSettings, StoreSettings};
use feedwarden::store::{self, Store};
use rstest::rstest;
use rustix::process::{Pid, Signal, kill_process};
use secrecy::ExposeSecret;
use serde_json::Value;
use tempfile::TempDir;

use crate::store::Engine::{self, Postgres, Sqlite};
use crate::store::{ENCRYPTION_KEY, NOW, at, rss, run_postgres_tool};

const OTHER_KEY: &str = "ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=";

/// A publisher whose feed has this many entries, none of which it ever drops, and which knows no validators.
fn publisher() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/feed", listener.local_addr().unwrap());
    let entries = Arc::new(AtomicUsize::new(0));
    let count = entries.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream);
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|bytes| bytes > 2) {
                line.clear();
            }
            let item = |number| format!("<item><guid>{number}</guid><description>entry {number}</description></item>");
            let items: String = (1..=count.load(Ordering::SeqCst)).map(item).collect();
            let body = format!("<rss version=\"2.0\"><channel><title>A feed</title>{items}</channel></rss>");
            let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
            let _ = reader.into_inner().write_all(format!("{head}{body}").as_bytes());
        }
    });
    (url, entries)
}

/// A store and the program on it.
struct Place {
    directory: TempDir,
    settings: StoreSettings,
}

impl Place {
    fn new(engine: Engine) -> Place {
        let directory = tempfile::tempdir().unwrap();
        let settings = block_on(engine.settings(&directory));
        Place { directory, settings }
    }

    fn database(&self) -> PathBuf {
        self.directory.path().join("feedwarden.db")
    }

    fn feedwarden(&self, arguments: &[&str]) -> Command {
        let url = match &self.settings.engine {
            EngineSettings::Sqlite(sqlite) => format!("sqlite:{}", sqlite.path.display()),
            EngineSettings::Postgres(postgres) => postgres.url.expose_secret().to_owned(),
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_feedwarden"));
        crate::in_directory(&mut command, self.directory.path()).args(arguments);
        command.env("FEEDWARDEN__DATABASE__URL", url).env("FEEDWARDEN__HTTP__ALLOW_PRIVATE_NETWORKS", "true");
        command.env("FEEDWARDEN__DATABASE__ENCRYPTION_KEY", ENCRYPTION_KEY);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn json(&self, arguments: &[&str]) -> Value {
        json(&self.feedwarden(arguments).output().unwrap(), 0)
    }

    /// One round over all sources; returns the records of the log.
    fn poll(&self, arguments: &[&str]) -> Vec<Value> {
        let output = self.feedwarden(&[&["run", "--once", "--all", "--json"], arguments].concat()).output().unwrap();
        assert_eq!(json(&output, 0)["failed"], 0);
        let lines = String::from_utf8(output.stderr).unwrap();
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// A daemon that is ready.
    fn daemon(&self) -> Daemon {
        let mut process = self.feedwarden(&["run"]).spawn().unwrap();
        let mut records = BufReader::new(process.stdout.take().unwrap()).lines();
        records.find(|line| line.as_ref().unwrap().contains("daemon ready")).expect("it becomes ready").unwrap();
        Daemon { process, _records: records }
    }

    async fn open(&self) -> Arc<dyn Store> {
        store::open(&self.settings, at(NOW)).await.unwrap()
    }

    /// Numbers and texts of all posts.
    fn posts(&self) -> Vec<(i64, String)> {
        block_on(async {
            let store = self.open().await;
            let posts = store.list_changes(0, 1000).await.unwrap();
            store.close().await;
            posts.iter().map(|post| (post.change_number, post.content.text.clone())).collect()
        })
    }
}

struct Daemon {
    process: Child,
    /// Kept open, so that the daemon can write its log.
    _records: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Daemon {
    fn stop(mut self) {
        kill_process(Pid::from_child(&self.process), Signal::TERM).unwrap();
        assert_eq!(self.process.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn json(output: &Output, code: i32) -> Value {
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn skipped(records: &[Value]) -> Option<&Value> {
    records.iter().find(|record| record["msg"] == "post numbers skipped")
}

fn texts(posts: &[(i64, String)]) -> Vec<&str> {
    let mut texts: Vec<&str> = posts.iter().map(|(_, text)| text.as_str()).collect();
    texts.sort_unstable();
    texts
}

/// Makes a backup while a daemon runs, and returns what puts it back.
fn back_up(place: &Place) -> Box<dyn Fn(&Place)> {
    let file = place.directory.path().join("backup");
    let name = file.display().to_string();
    let daemon = place.daemon();
    let EngineSettings::Postgres(postgres) = &place.settings.engine else {
        let done = place.json(&["backup", &name, "--json"]);
        assert_eq!((&done["sources"], &done["posts"]), (&Value::from(1), &Value::from(3)));
        assert_eq!(done["bytes"], std::fs::metadata(&file).unwrap().len());
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        daemon.stop();
        return Box::new(move |place| {
            std::fs::copy(&file, place.database()).unwrap();
        });
    };
    let refused = place.feedwarden(&["backup", &name]).output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let (_, command) = said.trim().split_once("while the daemon runs: ").expect("it says which command to use");
    run_postgres_tool(command);
    daemon.stop();
    let url = postgres.url.expose_secret().to_owned();
    Box::new(move |_| {
        let (server, database) = url.rsplit_once('/').unwrap();
        run_postgres_tool(&format!("dropdb --maintenance-db='{server}/postgres' {database}"));
        run_postgres_tool(&format!("createdb --maintenance-db='{server}/postgres' {database}"));
        run_postgres_tool(&format!("pg_restore --exit-on-error --no-owner --dbname='{url}' '{name}'"));
    })
}

#[rstest]
fn a_restored_backup_loses_nothing_doubles_nothing_and_repeats_no_number(#[values(Sqlite, Postgres)] engine: Engine) {
    let place = Place::new(engine);
    let (url, entries) = publisher();
    let list = place.directory.path().join("list.opml");
    std::fs::write(&list, format!("<opml><body><outline text=\"it\" xmlUrl=\"{url}\"/></body></opml>")).unwrap();
    entries.store(3, Ordering::SeqCst);
    place.poll(&["--opml", "list.opml", "--backlog=all"]);
    assert_eq!(place.posts().iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 2, 3]);
    let restore = back_up(&place);
    entries.store(5, Ordering::SeqCst);
    assert!(skipped(&place.poll(&[])).is_none());
    let seen = place.posts();
    assert_eq!(seen.len(), 5);
    let highest = seen.last().unwrap().0;

    restore(&place);
    assert_eq!(place.posts().len(), 3);
    entries.store(6, Ordering::SeqCst);
    let records = place.poll(&[]);
    let jump = skipped(&records).expect("it says so");
    assert_eq!((&jump["level"], &jump["from"]), (&Value::from("warn"), &Value::from(3)));
    let posts = place.posts();
    assert_eq!(texts(&posts), ["entry 1", "entry 2", "entry 3", "entry 4", "entry 5", "entry 6"]);
    // A reader that goes on from the highest number it has seen gets what it may have missed.
    let new: Vec<&(i64, String)> = posts.iter().filter(|(number, _)| *number > highest).collect();
    // Their feed has the newest entry last, so the last one is stored first.
    assert_eq!(new.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ["entry 6", "entry 5", "entry 4"]);
    assert!(new[0].0 > 1_000_000, "{new:?}");

    // It is the store by now: nothing jumps again.
    entries.store(7, Ordering::SeqCst);
    assert!(skipped(&place.poll(&[])).is_none());
    assert_eq!(place.posts().last().unwrap().0, new[2].0 + 1);
    assert_eq!(place.json(&["store", "check", "--json"])["ok"], true);
}

#[test]
fn an_old_copy_of_the_file_that_is_put_back_repeats_no_number() {
    let place = Place::new(Sqlite);
    let (url, entries) = publisher();
    let list = place.directory.path().join("list.opml");
    std::fs::write(&list, format!("<opml><body><outline text=\"it\" xmlUrl=\"{url}\"/></body></opml>")).unwrap();
    entries.store(3, Ordering::SeqCst);
    place.poll(&["--opml", "list.opml", "--backlog=all"]);
    let copy = place.directory.path().join("copy");
    std::fs::copy(place.database(), &copy).unwrap();
    entries.store(5, Ordering::SeqCst);
    place.poll(&[]);
    std::fs::copy(&copy, place.database()).unwrap();
    let records = place.poll(&[]);
    let jump = skipped(&records).expect("it says so");
    assert_eq!((&jump["from"], &jump["to"], &jump["level"]), (&3.into(), &5.into(), &"warn".into()));
    assert_eq!(place.posts().iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 2, 3, 6, 7]);

    // The whole directory was rolled back, which nothing shows: a person says so.
    std::fs::remove_file(place.directory.path().join("list.opml")).unwrap();
    assert_eq!(place.json(&["store", "restored", "--json"])["restored"], true);
    let records = place.poll(&[]);
    assert!(skipped(&records).unwrap()["to"].as_i64().unwrap() > 1_000_000);
}

#[test]
fn a_killed_daemon_skips_a_few_numbers_and_repeats_none() {
    let place = Place::new(Sqlite);
    let mut daemon = place.daemon();
    kill_process(Pid::from_child(&daemon.process), Signal::KILL).unwrap();
    daemon.process.wait().unwrap();
    let records = place.poll(&[]);
    let jump = skipped(&records).expect("it says so");
    assert_eq!((&jump["from"], &jump["to"], &jump["level"]), (&0.into(), &1000.into(), &"info".into()));
}

#[test]
fn a_backup_replaces_nothing_that_it_was_not_told_to_and_leaves_nothing_behind() {
    let place = Place::new(Sqlite);
    block_on(async { place.open().await.close().await });
    let refused = |arguments: &[&str], code: i32, part: &str| {
        let output = place.feedwarden(&[&["backup"], arguments].concat()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(part), "{said}");
    };
    std::fs::write(place.directory.path().join("there"), "precious").unwrap();
    refused(&["there"], 5, "--overwrite");
    assert_eq!(std::fs::read(place.directory.path().join("there")).unwrap(), b"precious");
    for arguments in [&["feedwarden.db"][..], &["feedwarden.db", "--overwrite"], &["."], &[".", "--overwrite"]] {
        refused(arguments, 2, "name another file");
    }
    refused(&["missing/file"], 1, "No such file");
    // What a killed backup left is replaced.
    std::fs::write(place.directory.path().join("there.partial"), vec![7; 100_000]).unwrap();
    place.json(&["backup", "there", "--overwrite", "--json"]);
    let mut check = place.feedwarden(&["store", "check", "--json", "--set", "database.url=sqlite:there"]);
    assert_eq!(json(&check.output().unwrap(), 0)["ok"], true);
    std::fs::remove_file(place.database()).unwrap();
    refused(&["other"], 1, "there is no such file");
    let mut left: Vec<String> = std::fs::read_dir(place.directory.path())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["there"]);
}

/// Stores a login, a key and a webhook.
async fn store_secrets(store: &dyn Store) {
    let access = SourceAccess { login: Some(("ann".into(), "hidden".into())), ..SourceAccess::default() };
    store.add_source_with_access(rss("http://a.example/"), &access).await.unwrap();
    let user = store.add_user("ada", at(NOW)).await.unwrap();
    store.put_api_key(user, KeyProvider::X, &"bearer".into(), at(NOW)).await.unwrap();
    let secret = "a secret to sign with".into();
    let webhook = NewWebhook {
        url: "http://b.example/".into(),
        secret,
        label: None,
        format: DeliveryFormat::Classic,
        event_types: Vec::new(),
        created_at: at(NOW),
    };
    store.add_webhook(webhook).await.unwrap();
}

#[rstest]
fn a_wrong_key_stops_the_start_and_a_changed_one_is_rotated(#[values(Sqlite, Postgres)] engine: Engine) {
    let place = Place::new(engine);
    block_on(async {
        let store = place.open().await;
        store_secrets(store.as_ref()).await;
        store.close().await;
    });
    let with_keys = |arguments: &[&str], current: &str, previous: &str| {
        let mut command = place.feedwarden(arguments);
        command.env("FEEDWARDEN__DATABASE__ENCRYPTION_KEY", current);
        command.env("FEEDWARDEN__DATABASE__ENCRYPTION_KEY_PREVIOUS", previous);
        command
    };
    for key in [OTHER_KEY, ""] {
        let output = with_keys(&["run"], key, "").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        for part in
            ["1 of 1 in source_access (source 1)", "1 of 1 in api_keys (user 1)", "1 of 1 in webhooks (webhook 1)"]
        {
            assert!(said.contains(part), "{said}");
        }
        assert!(said.contains("database.accept-unreadable-secrets"), "{said}");
    }
    let accepted = ["run", "--once", "--set", "database.accept-unreadable-secrets=true"];
    let output = with_keys(&accepted, OTHER_KEY, "").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("\"secrets unreadable\""), "{said}");

    let check = |current, previous, code| {
        json(&with_keys(&["store", "check", "--json"], current, previous).output().unwrap(), code)["secrets"].clone()
    };
    assert_eq!(check(OTHER_KEY, "", 1)["webhooks"]["unreadable"], 1);
    assert_eq!(check(OTHER_KEY, ENCRYPTION_KEY, 0)["webhooks"]["previous"], 1);
    let reseal = || json(&with_keys(&["store", "reseal", "--json"], OTHER_KEY, ENCRYPTION_KEY).output().unwrap(), 0);
    assert_eq!(reseal()["resealed"], 3);
    assert_eq!(reseal(), serde_json::json!({ "resealed": 0, "unchanged": 3, "unreadable": 0, "previous": 0 }));
    for table in ["source_access", "api_keys", "webhooks"] {
        assert_eq!(check(OTHER_KEY, "", 0)[table]["current"], 1);
    }
    assert!(with_keys(&["run", "--once"], OTHER_KEY, "").output().unwrap().status.success());
}

#[test]
fn what_needs_the_file_alone_is_refused_while_a_daemon_runs() {
    let place = Place::new(Sqlite);
    let daemon = place.daemon();
    for command in ["compact", "reseal", "restored"] {
        let output = place.feedwarden(&["store", command]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(5), "{said}");
        assert!(said.contains("another feedwarden (process "), "{said}");
    }
    assert_eq!(place.json(&["store", "check", "--json"])["ok"], true);
    daemon.stop();
    let mut said = String::new();
    let mut process = place.feedwarden(&["store", "compact"]).spawn().unwrap();
    process.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(process.wait().unwrap().success() && said.contains("bytes now"), "{said}");
}

#[test]
fn a_store_that_is_not_there_is_not_made_by_a_command_for_stores() {
    let place = Place::new(Sqlite);
    for command in ["check", "compact", "reseal", "restored"] {
        let output = place.feedwarden(&["store", command]).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(!Path::new(&place.database()).exists(), "{command}");
    }
}
