//! The daemon as a process: it starts on nothing, says what it does, and ends when told to.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use rstest::rstest;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::tempdir;

/// A running daemon and the records it writes to standard output.
struct Daemon {
    process: Child,
    records: std::io::Lines<BufReader<ChildStdout>>,
}

impl Daemon {
    fn start(directory: &Path, arguments: &[&str]) -> Daemon {
        let mut process = crate::in_directory(&mut Command::new(env!("CARGO_BIN_EXE_feedwarden")), directory)
            .arg("run")
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let records = BufReader::new(process.stdout.take().unwrap()).lines();
        Daemon { process, records }
    }

    /// Reads records up to and including the one with this message.
    fn wait_for(&mut self, message: &str) -> Value {
        for line in self.records.by_ref() {
            let record: Value = serde_json::from_str(&line.unwrap()).unwrap();
            if record["msg"] == message {
                return record;
            }
        }
        panic!("the log ended without {message:?}: {}", self.finish().1);
    }

    fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    /// Waits for the end, and returns it with what was said on standard error.
    fn finish(&mut self) -> (ExitStatus, String) {
        let mut said = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.process.wait().unwrap(), said)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[rstest]
#[case(Signal::TERM, "SIGTERM")]
#[case(Signal::INT, "SIGINT")]
fn it_starts_on_an_empty_directory_and_ends_cleanly_on_a_signal(#[case] signal: Signal, #[case] name: &str) {
    let directory = tempdir().unwrap();
    let mut daemon = Daemon::start(directory.path(), &["--set", "fleet.name=alpha"]);
    let starting = daemon.wait_for("daemon starting");
    assert_eq!((&starting["node"], &starting["database_engine"]), (&"alpha".into(), &"sqlite".into()));
    let database = directory.path().canonicalize().unwrap().join("feedwarden.db");
    assert_eq!(starting["database"], database.to_str().unwrap());
    assert_eq!(daemon.wait_for("store ready")["engine"], "sqlite");
    daemon.wait_for("user agent without contact");
    daemon.wait_for("daemon ready");
    let mode = std::fs::metadata(directory.path().join("feedwarden.db")).unwrap().permissions().mode();
    assert_eq!(mode & 0o027, 0, "others can read it, or the group write it: {mode:o}");
    daemon.send(signal);
    assert_eq!(daemon.wait_for("signal received")["signal"], name);
    daemon.wait_for("daemon stopped");
    let (status, said) = daemon.finish();
    assert_eq!((status.code(), said.as_str()), (Some(0), ""));
    assert!(!directory.path().join("feedwarden.db-wal").exists(), "the file was closed properly");
}

#[test]
fn it_runs_on_postgresql_too() {
    let directory = tempdir().unwrap();
    let server = crate::store::server();
    let mut daemon = Daemon::start(directory.path(), &["--set", &format!("database.url={server}")]);
    assert_eq!(daemon.wait_for("store ready")["engine"], "postgres");
    daemon.wait_for("daemon ready");
    daemon.send(Signal::TERM);
    daemon.wait_for("daemon stopped");
    assert_eq!(daemon.finish().0.code(), Some(0));
}

#[test]
fn a_hangup_reopens_the_log_file_and_changes_nothing_else() {
    let directory = tempdir().unwrap();
    let log = directory.path().join("feedwarden.log");
    let mut daemon = Daemon::start(directory.path(), &["--set", "logging.file=feedwarden.log"]);
    let wait_for = |path: &Path, message: &str| {
        let holds = || std::fs::read_to_string(path).is_ok_and(|text| text.contains(message));
        for _ in 0..3000 {
            if holds() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("{message:?} never came: {:?}", std::fs::read_to_string(path));
    };
    wait_for(&log, "daemon ready");
    let rotated = directory.path().join("feedwarden.log.1");
    std::fs::rename(&log, &rotated).unwrap();
    daemon.send(Signal::HUP);
    wait_for(&log, "log file reopened");
    daemon.send(Signal::TERM);
    assert_eq!(daemon.finish().0.code(), Some(0));
    assert!(std::fs::read_to_string(&rotated).unwrap().contains("daemon ready"));
    assert!(std::fs::read_to_string(&log).unwrap().contains("daemon stopped"));
}

#[test]
fn a_store_that_cannot_be_opened_is_told_on_both_ways_out_and_fails() {
    let directory = tempdir().unwrap();
    let mut daemon = Daemon::start(directory.path(), &["--set", "database.url=sqlite:missing/feedwarden.db"]);
    let record = daemon.wait_for("daemon failed");
    assert_eq!(record["level"], "critical");
    let (status, said) = daemon.finish();
    assert_eq!(status.code(), Some(1));
    assert!(said.contains("missing/feedwarden.db") && said.starts_with("feedwarden: "), "{said}");
}

#[test]
fn a_wrong_configuration_is_refused_before_anything_is_touched() {
    let directory = tempdir().unwrap();
    let mut daemon = Daemon::start(directory.path(), &["--set", "source.max-failures=many"]);
    let (status, said) = daemon.finish();
    assert_eq!(status.code(), Some(2));
    assert!(said.contains("source.max-failures"), "{said}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn what_was_stored_survives_kill_and_restart() {
    let directory = tempdir().unwrap();
    for _ in 0..3 {
        let mut daemon = Daemon::start(directory.path(), &[]);
        daemon.wait_for("daemon ready");
        daemon.send(Signal::KILL);
        assert_eq!(daemon.finish().0.code(), None);
    }
    let mut daemon = Daemon::start(directory.path(), &[]);
    let steps = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql/sqlite/migrations");
    let number = |file: std::fs::DirEntry| file.file_name().to_str().unwrap()[..4].parse::<i64>().unwrap();
    let latest = std::fs::read_dir(steps).unwrap().map(|file| number(file.unwrap())).max().unwrap();
    assert_eq!(daemon.wait_for("store ready")["schema_version"], latest);
    daemon.send(Signal::TERM);
    daemon.wait_for("daemon stopped");
}

/// A server of its own that speaks TLS on loopback with a certificate for `localhost`.
struct TlsServer {
    directory: tempfile::TempDir,
    port: u16,
}

impl TlsServer {
    fn new() -> TlsServer {
        let directory = tempdir().unwrap();
        let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        std::fs::write(directory.path().join("server.crt"), certified.cert.pem()).unwrap();
        std::fs::write(directory.path().join("server.key"), certified.signing_key.serialize_pem()).unwrap();
        TlsServer { directory, port: lasting_port() }
    }

    /// Runs the daemon against it with these settings until it is ready or has failed, and returns the last record.
    fn run(&self, host: &str, arguments: &[&str]) -> Value {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/with-postgres");
        let mut process = crate::in_directory(&mut Command::new(tests), self.directory.path())
            .args([env!("CARGO_BIN_EXE_feedwarden"), "run"])
            .args(["--set", &format!("database.url=postgres://postgres@{host}:{}/postgres", self.port)])
            .args(arguments)
            .env("FEEDWARDEN_TEST_PG_TLS", format!("{}:{}", self.directory.path().display(), self.port))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let records = BufReader::new(process.stdout.take().unwrap()).lines();
        let is_last = |record: &Value| ["store ready", "daemon failed"].iter().any(|last| record["msg"] == *last);
        let last = records.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).find(is_last);
        kill_process(Pid::from_child(&process), Signal::TERM).unwrap();
        process.wait().unwrap();
        last.expect("the daemon says how it went")
    }
}

/// A free port below the range that the system hands out: the server is started several times, and a connection of
/// another test must not take its port in between.
fn lasting_port() -> u16 {
    let start = 20_000 + (std::process::id() % 10_000) as u16;
    let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    (start..32_000).find(is_free).expect("a free port below 32,000")
}

#[test]
fn postgresql_is_used_over_tls_with_its_certificate_and_name_checked() {
    let server = TlsServer::new();
    let authority = server.directory.path().join("server.crt");
    let authority = format!("database.postgres.tls-ca-file={}", authority.display());
    let require = ["--set", "database.postgres.tls=require"];
    let trusted = [&require[..], &["--set", &authority]].concat();
    assert_eq!(server.run("localhost", &trusted)["msg"], "store ready");
    let stranger = server.run("localhost", &require);
    assert!(stranger["error"].as_str().unwrap().contains("certificate"), "{stranger}");
    let misnamed = server.run("127.0.0.1", &trusted);
    assert!(misnamed["error"].as_str().unwrap().contains("certificate"), "{misnamed}");
    let plain = server.run("localhost", &[]);
    assert!(plain["error"].as_str().unwrap().contains("no encryption"), "{plain}");
}

#[test]
fn a_service_manager_hears_when_it_is_ready_alive_and_stopping() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("notify");
    let manager = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
    let mut heard = String::new();
    let mut hear = |word: &str| {
        while !heard.contains(word) {
            let mut bytes = [0; 512];
            let count = manager.recv(&mut bytes).expect(word);
            heard.push_str(std::str::from_utf8(&bytes[..count]).unwrap());
        }
        heard.clear();
    };
    // The watchdog is for the process that the variable names, and the shell becomes that process.
    let mut process = crate::in_directory(&mut Command::new("sh"), directory.path())
        .args(["-c", "WATCHDOG_PID=$$ exec \"$0\" run", env!("CARGO_BIN_EXE_feedwarden")])
        .env("NOTIFY_SOCKET", &path)
        .env("WATCHDOG_USEC", "300000")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    hear("READY=1");
    hear("WATCHDOG=1");
    hear("WATCHDOG=1");
    kill_process(Pid::from_child(&process), Signal::TERM).unwrap();
    hear("STOPPING=1");
    assert_eq!(process.wait().unwrap().code(), Some(0));
}

#[test]
fn a_slow_start_asks_the_service_manager_for_more_time_until_it_is_ready() {
    let directory = tempdir().unwrap();
    // A database that another process holds, so that its migrations have to wait.
    let held = rusqlite::Connection::open(directory.path().join("feedwarden.db")).unwrap();
    held.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let path = directory.path().join("notify");
    let manager = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
    let hear = || {
        let mut bytes = [0; 512];
        let count = manager.recv(&mut bytes).expect("the service manager hears something");
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    };
    let mut process = crate::in_directory(&mut Command::new(env!("CARGO_BIN_EXE_feedwarden")), directory.path())
        .args(["run", "--set", "database.sqlite.busy-timeout-seconds=30"])
        .env("NOTIFY_SOCKET", &path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    for _ in 0..2 {
        let said = hear();
        assert!(said.contains("EXTEND_TIMEOUT_USEC=30000000") && !said.contains("READY=1"), "{said}");
        assert!(said.contains("STATUS=opening the database"), "{said}");
    }
    drop(held);
    let ready = std::iter::repeat_with(hear).find(|said| !said.contains("EXTEND_TIMEOUT_USEC")).unwrap();
    assert!(ready.contains("READY=1"), "{ready}");
    kill_process(Pid::from_child(&process), Signal::TERM).unwrap();
    let stopping = hear();
    assert!(stopping.contains("STOPPING=1") && stopping.contains("EXTEND_TIMEOUT_USEC="), "{stopping}");
    assert_eq!(process.wait().unwrap().code(), Some(0));
}

#[test]
fn the_unit_waits_for_the_right_time_and_leaves_no_core_dump() {
    let unit = include_str!("../config/systemd/feedwarden.service");
    let values = |key: &str| -> Vec<&str> {
        unit.lines()
            .filter_map(|line| line.strip_prefix(key)?.strip_prefix('='))
            .flat_map(str::split_whitespace)
            .collect()
    };
    assert!(values("After").contains(&"time-sync.target") && values("Wants").contains(&"time-sync.target"));
    assert_eq!(values("LimitCORE"), ["0"]);
    assert_eq!(values("Type"), ["notify"], "only then does the manager listen to requests for more time");
}

#[test]
fn a_reload_that_hangs_on_a_file_keeps_nothing_else_from_being_done() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("own.yaml");
    std::fs::write(&file, "source:\n  max-failures: 3\n").unwrap();
    let mut daemon = Daemon::start(directory.path(), &["--config", "own.yaml"]);
    daemon.wait_for("daemon ready");
    // A file that gives nothing, as on a file server that is gone.
    std::fs::remove_file(&file).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &file, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    daemon.send(Signal::HUP);
    assert_eq!(daemon.wait_for("signal received")["signal"], "SIGHUP");
    daemon.send(Signal::TERM);
    assert_eq!(daemon.wait_for("signal received")["signal"], "SIGTERM");
    daemon.wait_for("daemon stopped");
    assert_eq!(daemon.finish().0.code(), Some(0));
}

#[test]
fn a_hangup_reads_the_configuration_anew_and_a_wrong_one_changes_nothing() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("own.yaml");
    std::fs::write(&file, "source:\n  max-failures: 3\n").unwrap();
    let mut daemon = Daemon::start(directory.path(), &["--config", "own.yaml"]);
    daemon.wait_for("daemon ready");
    std::fs::write(&file, "source:\n  max-failures: 4\nfetch:\n  concurrency: 7\nhttp:\n  deadline-seconds: 9\n")
        .unwrap();
    daemon.send(Signal::HUP);
    let reloaded = daemon.wait_for("configuration reloaded");
    assert_eq!(
        [&reloaded["changed"], &reloaded["needs_restart"]],
        ["http.deadline-seconds, source.max-failures", "fetch.concurrency"]
    );
    let change = daemon.wait_for("change");
    assert_eq!([&change["who"], &change["action"]], ["signal:SIGHUP", "settings.reload"]);
    assert!(change["after"].as_str().unwrap().contains("source.max-failures"), "{change}");
    daemon.send(Signal::HUP);
    let again = daemon.wait_for("configuration reloaded");
    assert_eq!([&again["changed"], &again["needs_restart"]], ["", "fetch.concurrency"], "it still waits for a restart");
    std::fs::write(&file, "source:\n  max-failures: none\n").unwrap();
    daemon.send(Signal::HUP);
    let refused = daemon.wait_for("configuration not reloaded");
    assert!(refused["error"].as_str().unwrap().contains("source.max-failures"), "{refused}");
    // Only the part that uses the key detects the error.
    std::fs::write(&file, "source:\n  max-failures: 6\nhttp:\n  tls-ca-file: own.yaml\n").unwrap();
    daemon.send(Signal::HUP);
    let refused = daemon.wait_for("configuration not reloaded");
    assert!(refused["error"].as_str().unwrap().contains("certificate authorities"), "{refused}");
    std::fs::write(&file, "source:\n  max-failures: 6\n").unwrap();
    daemon.send(Signal::HUP);
    let reloaded = daemon.wait_for("configuration reloaded");
    assert_eq!(reloaded["changed"], "http.deadline-seconds, source.max-failures", "nothing had changed meanwhile");
    daemon.send(Signal::TERM);
    daemon.wait_for("daemon stopped");
    assert_eq!(daemon.finish().0.code(), Some(0));
}
