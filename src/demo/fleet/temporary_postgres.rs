//! A PostgreSQL server for the time of the demo: on a Unix socket in a temporary directory and nowhere else.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::demo::world::DemoError;

/// The oldest version that Feedwarden supports.
pub(in crate::demo) const POSTGRES_VERSION_MIN: u32 = 15;
/// Users that run the server if this process runs as root, which the server refuses.
const SERVER_USERS: [&str; 2] = ["postgres", "nobody"];
/// The longest base directory: the path of a socket has 107 bytes at most.
const BASE_BYTES_MAX: usize = 60;

/// A running server. Dropping it stops the server; the directory is the caller's.
pub(super) struct TemporaryPostgres {
    programs: PathBuf,
    directory: PathBuf,
    user: Option<ServerUser>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ServerUser {
    uid: u32,
    gid: u32,
}

/// Creates the directory of a demo, where the server can use a subdirectory of it.
pub(super) fn make_directory(user: Option<ServerUser>) -> Result<TempDir, DemoError> {
    let bases = [std::env::temp_dir(), "/tmp".into(), "/var/tmp".into()];
    for base in bases.iter().filter(|base| base.as_os_str().len() <= BASE_BYTES_MAX) {
        let Ok(directory) = tempfile::Builder::new().prefix("feedwarden-demo-").tempdir_in(base) else { continue };
        if user.is_some() {
            // The server's user passes through, and reads nothing.
            fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o711))?;
        }
        let of_server = directory.path().join("postgres");
        fs::create_dir(&of_server)?;
        fs::set_permissions(&of_server, fs::Permissions::from_mode(0o700))?;
        if let Some(ServerUser { uid, gid }) = user {
            chown(&of_server, Some(uid), Some(gid))?;
        }
        let is_usable = command(user, "test").arg("-w").arg(&of_server).status();
        if is_usable.is_ok_and(|status| status.success()) {
            return Ok(directory);
        }
    }
    Err(DemoError::Postgres("no temporary directory that the server can use; set TMPDIR".to_owned()))
}

impl ServerUser {
    /// The user that runs the server; none if this process can do so itself.
    pub(super) fn choose() -> Result<Option<ServerUser>, DemoError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let user = SERVER_USERS.iter().find_map(|name| Some(ServerUser { uid: id("-u", name)?, gid: id("-g", name)? }));
        user.map(Some).ok_or_else(|| {
            let words = "PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody";
            DemoError::Postgres(words.to_owned())
        })
    }
}

impl TemporaryPostgres {
    /// Starts a server in the subdirectory that [`make_directory`] has made.
    pub(super) fn start(directory: &Path, user: Option<ServerUser>) -> Result<TemporaryPostgres, DemoError> {
        let programs = find_programs().ok_or(DemoError::NoPostgres)?;
        let directory = directory.join("postgres");
        let data = directory.join("data");
        let mut initialize = command(user, programs.join("initdb"));
        initialize.arg("--pgdata").arg(&data).args(["--username=postgres", "--auth=trust", "--encoding=UTF8"]);
        done("initdb", initialize.args(["--locale=C", "--no-sync", "--no-instructions"]).output())?;
        let mut configuration = fs::OpenOptions::new().append(true).open(data.join("postgresql.conf"))?;
        // Quotes in strings are doubled.
        let socket_directory = directory.display().to_string().replace('\'', "''");
        writeln!(
            configuration,
            "listen_addresses = ''\nunix_socket_directories = '{socket_directory}'\nport = 5432\nmax_connections = 300\n\
             fsync = off\nfull_page_writes = off\ntimezone = 'UTC'\nlog_timezone = 'UTC'"
        )?;
        drop(configuration);
        let server = TemporaryPostgres { programs, directory, user };
        let log = server.directory.join("log");
        let mut start = server.control("start");
        start.arg("--log").arg(&log);
        match done("pg_ctl", start.output()) {
            Ok(()) => Ok(server),
            Err(error) => {
                let log = fs::read_to_string(&log).unwrap_or_default();
                Err(log.lines().last().map_or(error, |line| DemoError::Postgres(line.to_owned())))
            }
        }
    }

    /// URL of the server, for a superuser without a password. The directory admits its owner and root only.
    pub(super) fn url(&self) -> String {
        let mut host = String::new();
        for byte in self.directory.as_os_str().as_encoded_bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => host.push(char::from(*byte)),
                _ => host.push_str(&format!("%{byte:02X}")),
            }
        }
        format!("postgres://postgres@{host}:5432/postgres")
    }

    fn control(&self, action: &str) -> Command {
        let mut control = command(self.user, self.programs.join("pg_ctl"));
        control.arg(action).arg("--pgdata").arg(self.directory.join("data"));
        control.args(["--wait", "--timeout=60", "--silent"]);
        control
    }
}

impl Drop for TemporaryPostgres {
    fn drop(&mut self) {
        // If it has ended before, there is nothing to do.
        let _ = self.control("stop").arg("--mode=immediate").output();
    }
}

/// A command of the server's user, away from our terminal: Ctrl-C is for the demo alone.
fn command(user: Option<ServerUser>, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/").env("LC_ALL", "C").process_group(0);
    // Settings of another server.
    for name in ["PGDATA", "PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGOPTIONS", "PGSERVICE"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(ServerUser { uid, gid }) = user {
        command.uid(uid).gid(gid);
    }
    command
}

fn done(name: &str, output: io::Result<Output>) -> Result<(), DemoError> {
    let output = output.map_err(|error| DemoError::Postgres(format!("{name}: {error}")))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let words = String::from_utf8_lossy(&output.stderr);
            Err(DemoError::Postgres(format!("{name} failed ({}): {}", output.status, words.trim())))
        }
    }
}

/// The directory of the newest server programs that are new enough.
fn find_programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut candidates: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if let Ok(versions) = fs::read_dir("/usr/lib/postgresql") {
        candidates.extend(versions.flatten().map(|version| version.path().join("bin")));
    }
    let asked = Command::new("pg_config").arg("--bindir").stderr(Stdio::null()).output();
    candidates.extend(asked.ok().map(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())));
    let versions = candidates.into_iter().filter_map(|candidate| {
        // Programs in PATH may be links to where the server's other files are.
        let programs = fs::canonicalize(candidate.join("initdb")).ok()?.parent()?.to_owned();
        let is_whole = ["initdb", "pg_ctl", "postgres"].iter().all(|name| programs.join(name).is_file());
        let version = if is_whole { version(&programs.join("postgres"))? } else { return None };
        (version >= POSTGRES_VERSION_MIN).then_some((version, programs))
    });
    versions.max_by_key(|(version, _)| *version).map(|(_, programs)| programs)
}

fn version(postgres: &Path) -> Option<u32> {
    let output = Command::new(postgres).arg("--version").output().ok()?;
    version_in(&String::from_utf8_lossy(&output.stdout))
}

/// The major version in text such as `postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)`.
fn version_in(text: &str) -> Option<u32> {
    let (_, after) = text.split_once("(PostgreSQL) ")?;
    let digits = after.find(|char: char| !char.is_ascii_digit()).unwrap_or(after.len());
    after[..digits].parse().ok()
}

/// Number of a user (`-u`) or of its group (`-g`).
fn id(option: &str, user: &str) -> Option<u32> {
    let output = Command::new("id").args([option, user]).stderr(Stdio::null()).output().ok()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_a_server_is_found_whatever_the_packager_adds() {
        for (text, version) in [
            ("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\n", Some(15)),
            ("postgres (PostgreSQL) 18beta1\n", Some(18)),
            ("postgres (PostgreSQL) 17\n", Some(17)),
            ("no server\n", None),
        ] {
            assert_eq!(version_in(text), version, "{text}");
        }
    }
}
