//! Child processes of the bench, one per role, so that CPU and memory are measured separately.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use feedwarden::clock::SystemClock;
use feedwarden::demo::web::{Web, WebSettings};
use feedwarden::store::settings::{EngineSettings, PostgresSettings, SqliteSettings, StoreSettings, Synchronous};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::idle::Population;
use crate::refresh::RefreshOrder;
use crate::tls_front::{self, TlsWeb};

/// What a process of the bench is there for.
#[derive(Serialize, Deserialize)]
pub(crate) enum Role {
    /// Serves a simulated web until its standard input ends.
    Web(WebSize),
    /// Does the bare parts by themselves.
    Parts { engine: Engine, urls: Vec<String> },
    /// Does the bare requests over TLS.
    TlsParts(TlsWeb),
    /// Runs the daemon over everything that is in the store.
    Refresh(RefreshOrder),
    /// Runs the daemon with many sources of which few are due.
    Idle(Population),
}

/// How large the simulated web is.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct WebSize {
    pub(crate) hosts: usize,
    pub(crate) sites: usize,
    pub(crate) entries_min: usize,
    pub(crate) entries_max: usize,
    pub(crate) entry_bytes: usize,
}

/// Where things are kept.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum Engine {
    Sqlite { path: PathBuf },
    Postgres { url: String, server: u32 },
}

impl Engine {
    /// As the daemon is configured by default.
    pub(crate) fn settings(&self) -> StoreSettings {
        let engine = match self {
            Engine::Sqlite { path } => EngineSettings::Sqlite(SqliteSettings {
                path: path.clone(),
                synchronous: Synchronous::Full,
                readers: 2,
                busy_timeout: Duration::from_secs(5),
            }),
            Engine::Postgres { url, .. } => EngineSettings::Postgres(PostgresSettings::new(url.clone().into())),
        };
        StoreSettings { engine, encryption_key: None }
    }

    /// The server whose CPU time counts.
    pub(crate) fn server(&self) -> Option<u32> {
        match self {
            Engine::Sqlite { .. } => None,
            Engine::Postgres { server, .. } => Some(*server),
        }
    }
}

/// The role that this process was started in, if it was started by another one of the bench.
pub(crate) fn own_role() -> Option<Role> {
    let mut text = String::new();
    std::env::var_os(ROLE)?;
    std::io::stdin().lock().read_line(&mut text).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

/// Reports the result to the parent process.
pub(crate) fn answer(what: &impl Serialize) {
    println!("{}", serde_json::to_string(what).unwrap());
}

/// Runs a process in a role and waits for what came of it.
pub(crate) fn run<T: DeserializeOwned>(role: &Role) -> T {
    let mut child = start(role);
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success(), "a process of the bench failed");
    serde_json::from_str(&text).unwrap()
}

/// The process that serves the simulated web.
pub(crate) struct WebProcess {
    child: Child,
    pub(crate) urls: Vec<String>,
    pub(crate) tls: TlsWeb,
}

impl WebProcess {
    pub(crate) fn start(size: WebSize) -> WebProcess {
        let mut child = start(&Role::Web(size));
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (urls, tls) = serde_json::from_str(&line).unwrap();
        WebProcess { child, urls, tls }
    }
}

impl Drop for WebProcess {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

/// The work of that process.
pub(crate) fn serve(size: WebSize) {
    let settings = WebSettings {
        hosts: size.hosts,
        sites: size.sites,
        entries: size.entries_min..=size.entries_max,
        entry_bytes: size.entry_bytes,
        first_entries: size.entries_max,
        journal_max: 0,
        ..WebSettings::default()
    };
    let web = Web::start(settings, Arc::new(SystemClock)).unwrap();
    let urls: Vec<String> = web.sites().iter().map(|site| site.url.clone()).collect();
    let tls = tls_front::start(&urls);
    answer(&(urls, tls));
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

const ROLE: &str = "FEEDWARDEN_BENCH_ROLE";

fn start(role: &Role) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .env(ROLE, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let text = serde_json::to_string(role).unwrap() + "\n";
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), text.as_bytes()).unwrap();
    child
}
