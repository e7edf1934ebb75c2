//! The first start: where files are, what is found there, what is refused.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::{TempDir, tempdir};

/// A user with a home directory and nothing else.
struct User {
    home: TempDir,
}

struct RunningDaemon(Child);

impl User {
    fn new() -> User {
        User { home: tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// A directory below the home directory.
    fn directory(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    fn command(&self, directory: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_feedwarden"));
        crate::in_directory(&mut command, directory).env("HOME", self.home.path()).args(arguments).stdin(Stdio::null());
        command
    }

    fn run(&self, directory: &Path, arguments: &[&str]) -> Output {
        self.command(directory, arguments).output().unwrap()
    }

    /// Starts a daemon; returns the records until it is ready.
    fn start(&self, directory: &Path, arguments: &[&str]) -> (RunningDaemon, Vec<Value>) {
        let mut command = self.command(directory, &[&["run"], arguments].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut records: Vec<Value> = Vec::new();
        while records.last().is_none_or(|record| record["msg"] != "daemon ready") {
            let line = lines.next().unwrap_or_else(|| panic!("it ended: {records:?}")).unwrap();
            records.push(serde_json::from_str(&line).unwrap());
        }
        std::thread::spawn(move || lines.for_each(drop));
        (RunningDaemon(child), records)
    }
}

impl Drop for RunningDaemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn find<'a>(records: &'a [Value], message: &str) -> Option<&'a Value> {
    records.iter().find(|record| record["msg"] == message)
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The status of this daemon's database, or the error.
fn database(records: &[Value]) -> &str {
    find(records, "daemon starting").unwrap()["database"].as_str().unwrap()
}

#[test]
fn data_is_in_the_users_state_directory_and_commands_work_from_everywhere() {
    let user = User::new();
    let (one, other) = (user.directory("one"), user.directory("other"));
    let (_daemon, records) = user.start(&one, &[]);
    let state = user.path(".local/state/feedwarden");
    assert_eq!(Path::new(database(&records)), state.join("feedwarden.db"));
    assert_eq!(std::fs::read_dir(&one).unwrap().count(), 0, "nothing is left in the working directory");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&state).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o700);
    for directory in [&one, &other] {
        let status = user.run(directory, &["status"]);
        assert_eq!(status.status.code(), Some(0), "{}", errors(&status));
    }
}

#[test]
fn a_state_directory_that_cannot_be_made_is_named() {
    let user = User::new();
    std::fs::write(user.path(".local"), "a file").unwrap();
    let refused = user.run(user.home.path(), &["run"]);
    assert_eq!(refused.status.code(), Some(1));
    let said = errors(&refused);
    assert!(said.contains("/.local/state/feedwarden") && said.contains("database.url"), "{said}");
}

#[test]
fn a_database_of_an_earlier_version_in_the_working_directory_is_used_and_named() {
    let user = User::new();
    let place = user.directory("place");
    drop(user.start(&place, &["--set", "database.url=sqlite:feedwarden.db"]));
    assert!(place.join("feedwarden.db").exists());

    let (daemon, records) = user.start(&place, &[]);
    assert_eq!(Path::new(database(&records)), place.join("feedwarden.db"));
    let notice = find(&records, "configuration notice").unwrap()["reason"].as_str().unwrap();
    assert!(notice.contains(&place.join("feedwarden.db").display().to_string()), "{notice}");
    assert!(notice.contains(&user.path(".local/state/feedwarden").display().to_string()), "{notice}");
    let status = user.run(user.home.path(), &["status"]);
    assert_eq!(status.status.code(), Some(0), "its socket is found from everywhere: {}", errors(&status));
    drop(daemon);

    // Once there is one in the usual place, that one is used, and the other one is named.
    drop(user.start(user.home.path(), &[]));
    let (_daemon, records) = user.start(&place, &[]);
    assert_eq!(Path::new(database(&records)), user.path(".local/state/feedwarden/feedwarden.db"));
    let notice = find(&records, "configuration notice").unwrap()["reason"].as_str().unwrap();
    assert!(notice.contains("is not used") && notice.contains("place/feedwarden.db"), "{notice}");
    let checked = user.run(&place, &["store", "check"]);
    assert!(
        errors(&checked).contains("is not used"),
        "commands that open the database say so, too: {}",
        errors(&checked)
    );
}

#[test]
fn a_database_of_another_program_is_refused_and_left_as_it_is() {
    for table in ["CREATE TABLE moz_bookmarks (id INTEGER)", "CREATE TABLE schema_migrations (version TEXT)"] {
        let user = User::new();
        let file = user.path("places.sqlite");
        rusqlite::Connection::open(&file).unwrap().execute_batch(table).unwrap();
        let before = std::fs::read(&file).unwrap();
        for command in [&["run"][..], &["run", "--once"], &["store", "check"], &["backup", "copy.db"]] {
            let refused =
                user.run(user.home.path(), &[command, &["--set", "database.url=sqlite:places.sqlite"]].concat());
            assert!(!refused.status.success(), "{command:?}");
            let said = errors(&refused);
            assert!(said.contains("places.sqlite: it is the database of another program"), "{command:?}: {said}");
        }
        assert!(std::fs::read(&file).unwrap() == before, "{table}: the file has changed");
        assert_eq!(std::fs::read_dir(user.home.path()).unwrap().count(), 1, "{table}: nothing is put beside it");
    }
}

#[test]
fn a_file_that_is_no_database_is_refused_and_nothing_is_put_beside_it() {
    let user = User::new();
    std::fs::write(user.path("notes.txt"), "milk and bread, ".repeat(99)).unwrap();
    let refused = user.run(user.home.path(), &["run", "--set", "database.url=sqlite:notes.txt"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(errors(&refused).contains("notes.txt: file is not a database; set database.url"), "{}", errors(&refused));
    assert_eq!(std::fs::read_dir(user.home.path()).unwrap().count(), 1);
}

#[test]
fn an_empty_file_is_a_new_database() {
    let user = User::new();
    std::fs::write(user.path("empty.db"), "").unwrap();
    let done = user.run(user.home.path(), &["run", "--once", "--set", "database.url=sqlite:empty.db"]);
    assert_eq!(done.status.code(), Some(0), "{}", errors(&done));
}
