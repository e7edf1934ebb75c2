//! PostgreSQL servers of a run's own, which can be stopped, copied to a standby and promoted.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Directory of the socket of the server that `tests/with-postgres` runs.
pub(super) fn shared_socket_directory() -> PathBuf {
    let url = crate::store::server();
    let encoded = url.split_once('@').and_then(|(_, rest)| rest.split_once(':')).expect("a URL with a directory").0;
    PathBuf::from(encoded.replace("%2F", "/"))
}

/// The socket in this directory, for programs that connect to files.
pub(super) fn socket_in(directory: &Path) -> PathBuf {
    directory.join(".s.PGSQL.5432")
}

/// The URL of a database of the server with its socket in this directory.
pub(super) fn url_of(directory: &Path, database: &str) -> String {
    format!("postgres://postgres@{}:5432/{database}", directory.display().to_string().replace('/', "%2F"))
}

/// A server, as primary or as standby. It is stopped and removed at the end.
pub(super) struct Server {
    directory: TempDir,
}

impl Server {
    /// A new, empty server that allows standbys.
    pub(super) fn create() -> Server {
        let server = Server { directory: server_directory() };
        server.run("initdb", &["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]);
        server.configure(
            "listen_addresses = ''\nmax_connections = 200\nfsync = off\nfull_page_writes = off\nwal_level = replica\n\
             max_wal_senders = 4\nhot_standby = on\ntimezone = 'UTC'\n",
        );
        server.start();
        server
    }

    /// A copy of this server that follows it.
    pub(super) fn standby(&self) -> Server {
        let standby = Server { directory: server_directory() };
        let from = self.socket_directory().display().to_string();
        let arguments = ["-R", "-X", "stream", "--checkpoint=fast", "-U", "postgres", "-p", "5432", "-h", &from];
        standby.run("pg_basebackup", &arguments);
        standby.configure("");
        standby.start();
        standby
    }

    pub(super) fn socket_directory(&self) -> PathBuf {
        self.directory.path().to_owned()
    }

    pub(super) fn start(&self) {
        let log = format!("--log={}", self.directory.path().join("log").display());
        self.run("pg_ctl", &["start", "--wait", "--silent", "--timeout=60", &log]);
    }

    /// Ends it as a crash would.
    pub(super) fn crash(&self) {
        self.run("pg_ctl", &["stop", "--wait", "--silent", "--mode=immediate"]);
    }

    /// Ends it in order: a standby that follows has everything then.
    pub(super) fn stop(&self) {
        self.run("pg_ctl", &["stop", "--wait", "--silent", "--mode=fast"]);
    }

    pub(super) fn promote(&self) {
        self.run("pg_ctl", &["promote", "--wait", "--silent", "--timeout=60"]);
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// Adds settings; those of the place are the server's own.
    fn configure(&self, settings: &str) {
        let path = self.data().join("postgresql.conf");
        let before = fs::read_to_string(&path).unwrap();
        let socket = self.socket_directory().display().to_string();
        fs::write(&path, format!("{before}\n{settings}\nport = 5432\nunix_socket_directories = '{socket}'\n")).unwrap();
    }

    /// Runs a program of the server on its data, as its user.
    fn run(&self, program: &str, arguments: &[&str]) {
        let bin = std::env::var("FEEDWARDEN_TEST_POSTGRES_BIN").expect("the tests run in tests/with-postgres");
        let program = format!("{bin}/{program}");
        let data = self.data().display().to_string();
        let log = fs::OpenOptions::new().append(true).create(true).open(self.directory.path().join("output")).unwrap();
        let mut command = match is_root() {
            true => Command::new("setpriv"),
            false => Command::new(&program),
        };
        if is_root() {
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--", &program]);
        }
        // A server inherits what its starter has open: a pipe would never end.
        let status = command
            .args(["-D", &data])
            .args(arguments)
            .current_dir("/")
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .status()
            .unwrap();
        let output = || fs::read_to_string(self.directory.path().join("output")).unwrap_or_default();
        assert!(status.success(), "{program} {arguments:?}: {}", output());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.data().join("postmaster.pid").exists() && !std::thread::panicking() {
            self.crash();
        } else if let Ok(pid) = fs::read_to_string(self.data().join("postmaster.pid"))
            && let Some(pid) =
                pid.lines().next().and_then(|pid| pid.parse().ok()).and_then(rustix::process::Pid::from_raw)
        {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::QUIT);
        }
    }
}

/// Short, since the path of a socket has at most 107 bytes, and open for the server's user.
fn server_directory() -> TempDir {
    let directory = tempfile::Builder::new().prefix("fw-fl.").tempdir_in("/tmp").unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    if is_root() {
        let path = directory.path().display().to_string();
        assert!(Command::new("chown").args(["postgres:postgres", &path]).status().unwrap().success());
    }
    directory
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
