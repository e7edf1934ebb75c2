//! A real server in a directory of its own, in a process group that ends with the test.

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use feedwarden::clock::Stopwatch;
use rustix::process::{Pid, Signal, kill_process_group};

/// Ends the whole group when the test's end of standard input closes, however the test ends.
const GUARD: &str = r#"exec 3<&0; (read _ <&3; kill -KILL 0) & exec "$@" </dev/null 3<&-"#;

pub(crate) struct Server {
    child: Child,
    command: Vec<String>,
    pub(super) directory: tempfile::TempDir,
    pub(crate) port: u16,
}

/// The path of a program; without it the test says that it is skipped, or fails if the servers were promised.
pub(super) fn program(name: &str) -> Option<PathBuf> {
    let places = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/lib/rabbitmq/bin"];
    let found = places.iter().map(|place| Path::new(place).join(name)).find(|path| path.exists());
    if found.is_none() {
        assert!(std::env::var_os("FEEDWARDEN_TEST_SINKS").is_none(), "there is no {name}");
        eprintln!("skipped: there is no {name}; run the tests with tests/with-sinks");
    }
    found
}

pub(super) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Server {
    /// Starts the command and waits until its port answers. `@DIR` and `@PORT` in its words are replaced.
    pub(super) async fn start(directory: tempfile::TempDir, command: &[&str]) -> Server {
        Server::start_at(directory, free_port(), command).await
    }

    pub(super) async fn start_at(directory: tempfile::TempDir, port: u16, command: &[&str]) -> Server {
        let place = directory.path().to_str().unwrap();
        let word = |word: &&str| word.replace("@DIR", place).replace("@PORT", &port.to_string());
        let command: Vec<String> = command.iter().map(word).collect();
        let child = spawn(&command, directory.path());
        let server = Server { child, command, directory, port };
        server.wait_until_up().await;
        server
    }

    async fn wait_until_up(&self) {
        let begun = Stopwatch::start();
        while tokio::net::TcpStream::connect(("127.0.0.1", self.port)).await.is_err() {
            let log = || std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
            assert!(begun.elapsed() < Duration::from_secs(90), "{:?} does not start: {}", self.command, log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn group(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// As a crash would.
    pub(crate) fn kill(&mut self) {
        let _ = kill_process_group(self.group(), Signal::KILL);
        let _ = self.child.wait();
        let begun = Stopwatch::start();
        while running_threads(self.group()) > 0 && begun.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Starts it again with its data, on its port.
    pub(crate) async fn restart(&mut self) {
        self.child = spawn(&self.command, self.directory.path());
        self.wait_until_up().await;
    }

    /// Stops all its processes, and waits until they stand still.
    pub(super) fn freeze(&self) {
        kill_process_group(self.group(), Signal::STOP).unwrap();
        let begun = Stopwatch::start();
        while running_threads(self.group()) > 0 {
            assert!(begun.elapsed() < Duration::from_secs(10), "{:?} does not stop", self.command);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(super) fn thaw(&self) {
        kill_process_group(self.group(), Signal::CONT).unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Threads of a process group that are not stopped.
fn running_threads(group: Pid) -> usize {
    let group = group.as_raw_nonzero().to_string();
    // `PID (NAME) STATE PARENT GROUP …`; the name may hold anything.
    let state_in_group = |stat: PathBuf| {
        let stat = std::fs::read_to_string(stat).ok()?;
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        let state = fields.next()?.to_owned();
        (fields.nth(1)? == group).then_some(state)
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let threads = processes.filter_map(|process| std::fs::read_dir(process.path().join("task")).ok()).flatten();
    let states = threads.flatten().filter_map(|thread| state_in_group(thread.path().join("stat")));
    states.filter(|state| !matches!(state.as_str(), "T" | "t" | "Z" | "X")).count()
}

fn spawn(command: &[String], directory: &Path) -> Child {
    let log = std::fs::File::options().create(true).append(true).open(directory.join("log")).unwrap();
    Command::new("sh")
        .args(["-c", GUARD, "server"])
        .args(command)
        .current_dir(directory)
        .env("HOME", directory)
        .stdin(Stdio::piped())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .process_group(0)
        .spawn()
        .unwrap()
}
