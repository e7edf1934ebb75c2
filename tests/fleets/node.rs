//! One `feedwarden run` of a fleet: its process, its log and its API.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use feedwarden::clock::Stopwatch;
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::proxy::Proxy;

/// A bound on waits, not a wait.
pub(super) const PATIENCE: Duration = Duration::from_secs(90);

/// Messages of the log.
pub(super) mod records {
    pub(in super::super) const FENCED: &str = "poll fenced";
    pub(in super::super) const API_READY: &str = "api ready";
}

/// Settings that all nodes of a fleet share.
#[derive(Clone, Debug)]
pub(super) struct NodeSettings {
    pub(super) lease_seconds: u64,
    /// Pause between two requests to one host.
    pub(super) pause_seconds: u64,
    /// Maximum number of polls in flight of a node.
    pub(super) concurrency: usize,
}

/// A node, whether it runs or not. Its user agent is its name.
pub(super) struct Node {
    pub(super) name: String,
    pub(super) proxy: Proxy,
    directory: PathBuf,
    /// How far its clock is from that of the machine, with the library that makes it so.
    clock_offset: Mutex<Option<(PathBuf, String)>>,
    process: Mutex<Option<Child>>,
    /// Whether the API takes requests.
    is_ready: AtomicBool,
}

impl Node {
    pub(super) fn new(name: &str, within: &Path, database: &str, proxy: Proxy, settings: &NodeSettings) -> Node {
        let directory = within.join(name);
        fs::create_dir_all(&directory).unwrap();
        let pause = settings.pause_seconds;
        let configuration = json!({
            "fleet": { "name": name, "lease-seconds": settings.lease_seconds },
            "database": {
                "url": format!("postgres://postgres@127.0.0.1:{}/{database}", proxy.port),
                "encryption-key": crate::store::ENCRYPTION_KEY,
            },
            "http": { "allowed-networks": ["127.0.0.0/8"], "user-agent": name, "deadline-seconds": 10 },
            "fetch": { "concurrency": settings.concurrency, "threads": 2 },
            "source": {
                "default-interval-minutes": 1,
                "interval": "fixed",
                "max-failures": 1_000_000,
                "max-backoff-hours": 1,
                "poll-delay-seconds": { "rss": pause, "website": pause, "twitter": pause },
            },
            "webhooks": { "retry-first-seconds": 1, "retry-max-minutes": 1, "failures-max": 1_000_000 },
            "host": { "breaker-after-failures": 1_000_000, "spread-minutes": 0 },
            "outage": { "hosts": 1000 },
            "scheduler": { "tick-seconds": 1 },
            "api": { "socket": directory.join("api.sock") },
            "logging": { "format": "json" },
        });
        fs::write(directory.join("own.yaml"), configuration.to_string()).unwrap();
        Node {
            name: name.into(),
            proxy,
            directory,
            clock_offset: Mutex::default(),
            process: Mutex::default(),
            is_ready: AtomicBool::new(false),
        }
    }

    /// Sets a section of its configuration, for its next start.
    pub(super) fn configure(&self, section: &str, settings: Value) {
        let path = self.directory.join("own.yaml");
        let mut configuration: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        configuration[section] = settings;
        fs::write(path, configuration.to_string()).unwrap();
    }

    /// Starts the process and waits until its API answers.
    pub(super) async fn start(&self) {
        let before = self.count(records::API_READY);
        let log = OpenOptions::new().append(true).create(true).open(self.log_path()).unwrap();
        let errors = File::create(self.directory.join("errors")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_feedwarden"));
        if let Some((library, offset)) = &*self.clock_offset.lock() {
            command.env("LD_PRELOAD", library).env("FAKETIME", offset).env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        let child = crate::in_directory(&mut command, &self.directory)
            .args(["run", "--config", "own.yaml"])
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .spawn()
            .unwrap();
        assert!(self.process.lock().replace(child).is_none(), "{} runs already", self.name);
        let watch = Stopwatch::start();
        while self.count(records::API_READY) == before {
            let end = self.process.lock().as_mut().unwrap().try_wait().unwrap();
            assert!(end.is_none() && watch.elapsed() < PATIENCE, "{} does not start: {}", self.name, self.last_words());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.is_ready.store(true, Ordering::Release);
    }

    /// Starts the process with another time from now on, by libfaketime: `+60s` is a minute ahead.
    pub(super) fn set_clock(&self, offset: Option<(&Path, &str)>) {
        *self.clock_offset.lock() = offset.map(|(library, offset)| (library.to_owned(), offset.to_owned()));
    }

    /// Whether it was started and not asked to end.
    pub(super) fn is_running(&self) -> bool {
        self.is_ready.load(Ordering::Acquire)
    }

    /// Ends it in order and waits for that.
    pub(super) async fn stop(&self) {
        self.is_ready.store(false, Ordering::Release);
        self.signal(Signal::TERM);
        let watch = Stopwatch::start();
        let code = loop {
            if let Some(end) = self.process.lock().as_mut().unwrap().try_wait().unwrap() {
                break end.code();
            }
            assert!(watch.elapsed() < PATIENCE, "{} does not end: {}", self.name, self.last_words());
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        self.process.lock().take();
        assert_eq!(code, Some(0), "{}: {}", self.name, self.last_words());
    }

    pub(super) fn kill(&self) {
        self.is_ready.store(false, Ordering::Release);
        let mut child = self.process.lock().take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub(super) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(self.process.lock().as_ref().unwrap()), signal).unwrap();
    }

    /// Largest resident memory so far, in bytes.
    pub(super) fn memory_peak(&self) -> u64 {
        let id = self.process.lock().as_ref().unwrap().id();
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// How often the log has this message.
    pub(super) fn count(&self, message: &str) -> usize {
        self.log().matches(&format!("\"msg\":\"{message}\"")).count()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// Sends a request to the API; the status and the body.
    pub(super) async fn ask(&self, method: &str, path: &str, body: &Value) -> io::Result<(u16, Value)> {
        let asking = async {
            let mut stream = UnixStream::connect(self.socket()).await?;
            let body = if body.is_null() { String::new() } else { body.to_string() };
            let request = format!(
                "{method} /api/v1{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n\
                 Content-Length: {}\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(request.as_bytes()).await?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await?;
            let unusable = || io::Error::new(io::ErrorKind::InvalidData, answer.clone());
            let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(unusable)?;
            let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(unusable)?;
            Ok((status, serde_json::from_str(body).unwrap_or(Value::Null)))
        };
        tokio::time::timeout(Duration::from_secs(40), asking).await?
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.directory.join("api.sock")
    }

    fn log_path(&self) -> PathBuf {
        self.directory.join("log.json")
    }

    pub(super) fn last_words(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().filter(|line| !line.contains("\"source polled\"")).collect();
        let errors = fs::read_to_string(self.directory.join("errors")).unwrap_or_default();
        format!("{}\n{errors}", lines[lines.len().saturating_sub(15)..].join("\n"))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(mut child) = self.process.lock().take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
