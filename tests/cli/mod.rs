//! The command line against a real daemon that polls the simulated web.

mod access;
mod audit;
mod daemon;
mod errors;
mod events;
mod lists;
mod new_sources;
mod people;
mod reference;
mod several;
mod sources;
mod store_faults;
mod tcp;
mod terminal;
mod webhooks;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use feedwarden::clock::SystemClock;
use feedwarden::demo::web::{EntryHabit, Habits, Mix, SiteBehaviour, Web, WebSettings};
use serde_json::Value;
use tempfile::TempDir;

/// A daemon on a simulated web, and its command line.
struct Console {
    web: Web,
    directory: TempDir,
    daemon: Child,
}

/// A web of these behaviours, each on a host of its own.
fn web(behaviours: &[SiteBehaviour]) -> WebSettings {
    let (count, mix) = (behaviours.len(), Mix::InTurn(behaviours.to_vec()));
    WebSettings { hosts: count, sites: count, mix, ..WebSettings::default() }
}

impl Console {
    /// A web of these behaviours, each on a host of its own.
    fn new(behaviours: &[SiteBehaviour]) -> Console {
        Console::with(behaviours, &[])
    }

    fn with(behaviours: &[SiteBehaviour], arguments: &[&str]) -> Console {
        Console::started_by(behaviours, |directory| start(directory, arguments))
    }

    /// With a site whose publisher has this habit.
    fn of_habit(habit: EntryHabit) -> Console {
        let habits = vec![Habits::of(&[habit])];
        Console::on(WebSettings { habits, ..web(&[SiteBehaviour::Healthy]) }, |directory| start(directory, &[]))
    }

    /// With a daemon that this function starts in a directory.
    fn started_by(behaviours: &[SiteBehaviour], start: impl FnOnce(&Path) -> Child) -> Console {
        Console::on(web(behaviours), start)
    }

    fn on(settings: WebSettings, start: impl FnOnce(&Path) -> Child) -> Console {
        let web = Web::start(settings, Arc::new(SystemClock)).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let daemon = start(directory.path());
        let console = Console { web, directory, daemon };
        console.until(&["status"], |status| status["scheduler"]["is_loaded"] == true);
        console
    }

    /// Waits until the scheduler has a time for this many sources and none of them is under way.
    fn until_scheduled(&self, sources: u64) {
        self.until(&["status"], |status| {
            let scheduler = &status["scheduler"];
            scheduler["scheduled"] == sources && scheduler["under_way"] == 0 && scheduler["waiting"] == 0
        });
    }

    /// Asks until the answer is right.
    fn until(&self, arguments: &[&str], is_right: impl Fn(&Value) -> bool) {
        for _ in 0..1000 {
            if is_right(&self.json(arguments)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it never came: {}", self.json(arguments));
    }

    /// Where the first site of this behaviour is.
    fn url(&self, behaviour: SiteBehaviour) -> String {
        self.web.sites().iter().find(|site| site.behaviour == behaviour).unwrap().url.clone()
    }

    fn feedwarden(&self, arguments: &[&str]) -> Command {
        feedwarden(self.directory.path(), arguments)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.feedwarden(arguments).output().unwrap()
    }

    /// What a person sees who types this: the output, the complaints and the exit code.
    fn session(&self, arguments: &[&str]) -> String {
        self.same_every_time(&seen(&self.run(arguments)))
    }

    /// What a command prints that has to work.
    fn works(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", seen(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let text = self.works(&[arguments, &["--json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// Without what differs from one run to the next, and as wide as before, so that tables stay in their columns.
    fn same_every_time(&self, text: &str) -> String {
        let directory = self.directory.path().display().to_string();
        let text = text.replace(&directory, "DIRECTORY").replace(&format!(":{}", self.web.port()), ":00000");
        without_times(&without_schema_version(&text))
    }

    /// Compares what comes before the last polls, whose durations differ.
    fn check_beginning(&self, name: &str, arguments: &[&str]) {
        let text = self.session(arguments);
        snapshot(name, text.split_once("POLLED").unwrap().0);
    }

    /// Compares with the snapshot of this name.
    fn check(&self, name: &str, arguments: &[&str]) {
        snapshot(name, &self.session(arguments));
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

fn feedwarden(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_feedwarden"));
    command.env_clear().args(arguments).current_dir(directory).stdin(Stdio::null());
    command
}

/// Settings that let a daemon keep secrets and sign tokens: `start` writes the files.
const ENCRYPTION_KEY_FILE: &str = "database.encryption-key-file=encryption.key";
const JWT_SECRET_FILE: &str = "api.jwt-secret-file=jwt.secret";

/// Starts a daemon in a directory and waits until it is ready.
fn start(directory: &Path, arguments: &[&str]) -> Child {
    start_command(feedwarden(directory, &[]), directory, arguments)
}

/// The same with this command, whose arguments are still to come.
fn start_command(mut command: Command, directory: &Path, arguments: &[&str]) -> Child {
    std::fs::write(directory.join("encryption.key"), "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n").unwrap();
    std::fs::write(directory.join("jwt.secret"), "0123456789abcdef0123456789abcdef\n").unwrap();
    command.args(["run", "--set", "http.allow-private-networks=true"]);
    let mut daemon = command.args(arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut records = BufReader::new(daemon.stdout.take().unwrap()).lines();
    let ready = records.by_ref().map(Result::unwrap).find(|record| record.contains("\"daemon ready\""));
    assert!(ready.is_some(), "the daemon did not start");
    // Nothing may wait for a reader of the log.
    let mut log = std::fs::File::create(directory.join("daemon.log")).unwrap();
    std::thread::spawn(move || records.map_while(Result::ok).for_each(|record| _ = writeln!(log, "{record}")));
    daemon
}

/// Runs a command with this on its standard input.
fn fed(mut command: Command, input: &str) -> Output {
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    process.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    process.wait_with_output().unwrap()
}

fn seen(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stdout);
    let complained: String =
        String::from_utf8_lossy(&output.stderr).lines().map(|line| format!("! {line}\n")).collect();
    format!("{said}{complained}exit {}\n", output.status.code().unwrap())
}

/// A migration should not change what commands are expected to print.
fn without_schema_version(text: &str) -> String {
    match text.split_once("sqlite, schema ") {
        Some((before, after)) => format!("{before}sqlite, schema 00{}", after.trim_start_matches(char::is_numeric)),
        None => text.to_owned(),
    }
}

fn snapshot(name: &str, text: &str) {
    insta::with_settings!({
        snapshot_path => "../snapshots/cli",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, text);
    });
}

/// Zeros for the digits of moments (without fractions) and of short spans.
fn without_times(text: &str) -> String {
    let mut rest: Vec<char> = text.chars().collect();
    let mut result = String::new();
    let is_at = |rest: &[char], pattern: &str| {
        rest.len() >= pattern.len()
            && pattern.chars().zip(rest).all(|(wanted, found)| match wanted {
                '0' => found.is_ascii_digit(),
                wanted => wanted == *found,
            })
    };
    while !rest.is_empty() {
        let pattern = ["0000-00-00T00:00:00", "0000-00-00 00:00:00", "0000-00-00 00:00", "up 0 s", "up 00 s"];
        match pattern.into_iter().find(|pattern| is_at(&rest, pattern)) {
            Some(pattern) => {
                result.push_str(if pattern == "up 00 s" { "up 0 s" } else { pattern });
                rest.drain(..pattern.len());
                if rest.first() == Some(&'.') {
                    let digits = rest[1..].iter().take_while(|letter| letter.is_ascii_digit()).count();
                    rest.drain(..=digits);
                }
            }
            None => result.push(rest.remove(0)),
        }
    }
    result
}
