//! A file with one event on each line (NDJSON). It is opened for every batch, so that programs such as logrotate may
//! move it away at any time, and locked while it is written, so that two writers do not mix their lines.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use async_trait::async_trait;
use rustix::fs::FlockOperation;
use url::Url;

use super::address::decoded;
use super::directory::Directory;
use super::options::Options;
use super::{AddressError, SinkConnection, SinkMessage, SinkSettings, failure};
use crate::model::{FailureCause, FailureReport, Timestamp};

const BYTES_MAX: u64 = 100_000_000;
const FILES_MAX: u64 = 10;
/// Tries to open the file while another program replaces it.
const OPENINGS_MAX: usize = 10;
/// Times a lock is asked for before a batch fails, and the wait between them.
const LOCK_TRIES_MAX: usize = 50;
const LOCK_WAIT: Duration = Duration::from_millis(20);

/// `file:/PATH?bytes-max=N&age-max-hours=N&files-max=N`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileAddress {
    pub path: PathBuf,
    /// The file is renamed before it grows beyond this, unless a single batch is larger.
    pub bytes_max: u64,
    /// The file is renamed when it is older.
    pub age_max: Option<Duration>,
    /// Renamed files that are kept.
    pub files_max: usize,
}

impl FileAddress {
    pub(super) fn new(url: &Url, options: &mut Options) -> Result<FileAddress, AddressError> {
        if url.host().is_some() {
            return Err(AddressError::Part { what: "the host", why: "files are on this machine; write file:/PATH" });
        }
        let path = PathBuf::from(decoded("the path", url.path())?);
        if path.file_name().is_none() || url.path().ends_with('/') {
            return Err(AddressError::Part { what: "the path", why: "it names no file" });
        }
        let age = options.number("age-max-hours", 1)?;
        let files = options.number("files-max", 1)?.unwrap_or(FILES_MAX);
        Ok(FileAddress {
            path,
            bytes_max: options.number("bytes-max", 1000)?.unwrap_or(BYTES_MAX),
            age_max: age.map(|hours| Duration::from_secs(hours.saturating_mul(3600))),
            files_max: usize::try_from(files).unwrap_or(usize::MAX),
        })
    }
}

/// The directory that files lie below.
pub(super) fn root(settings: &SinkSettings) -> Result<&Path, String> {
    let missing = "sinks that are files need the key sinks.directory, below which they lie";
    settings.directory.as_deref().ok_or_else(|| missing.to_owned())
}

/// Writes on a thread of its own: a file system may take any time.
pub(super) struct FileTransport {
    writer: Arc<FileWriter>,
}

struct FileWriter {
    address: FileAddress,
    root: PathBuf,
}

impl FileTransport {
    pub(super) fn new(address: &FileAddress, settings: &SinkSettings) -> Result<FileTransport, FailureReport> {
        let root = root(settings).map_err(|error| failure(FailureCause::Other, error))?;
        Ok(FileTransport { writer: Arc::new(FileWriter { address: address.clone(), root: root.to_owned() }) })
    }

    async fn run(
        &self,
        work: impl FnOnce(&FileWriter) -> Result<(), String> + Send + 'static,
    ) -> Result<(), FailureReport> {
        let writer = self.writer.clone();
        let result = tokio::task::spawn_blocking(move || work(&writer)).await;
        let result = result.unwrap_or_else(|_| Err("writing crashed".to_owned()));
        result.map_err(|error| failure(FailureCause::Other, error))
    }
}

#[async_trait]
impl SinkConnection for FileTransport {
    async fn deliver(&mut self, messages: &[SinkMessage], now: Timestamp) -> Result<(), FailureReport> {
        let mut lines = String::with_capacity(messages.iter().map(|message| message.payload.len() + 1).sum());
        for message in messages {
            // A line break in JSON is white space: those in texts are escaped.
            lines.extend(message.payload.chars().map(|each| if matches!(each, '\n' | '\r') { ' ' } else { each }));
            lines.push('\n');
        }
        self.run(move |writer| writer.append(lines.as_bytes(), now)).await
    }

    async fn check(&mut self) -> Result<(), FailureReport> {
        self.run(|writer| {
            let (directory, name) = Directory::of_file(&writer.root, &writer.address.path)?;
            writer.open(&directory, name).map(drop)
        })
        .await
    }
}

impl FileWriter {
    fn append(&self, lines: &[u8], now: Timestamp) -> Result<(), String> {
        let (directory, name) = Directory::of_file(&self.root, &self.address.path)?;
        let mut file = self.open(&directory, name)?;
        let in_words = |what: &str| {
            let path = directory.path_of(name);
            let what = what.to_owned();
            move |error: io::Error| format!("{} cannot be {what}: {error}", path.display())
        };
        let mut bytes = repaired(&mut file).map_err(in_words("repaired"))?;
        let age = || file.metadata().map(|metadata| age(&metadata, now));
        let is_full = bytes > 0 && bytes + lines.len() as u64 > self.address.bytes_max;
        let is_old = match self.address.age_max {
            Some(max) if bytes > 0 => age().map_err(in_words("read"))? >= max,
            _ => false,
        };
        if is_full || is_old {
            self.rotate(&directory, name, now).map_err(in_words("renamed"))?;
            file = self.open(&directory, name)?;
            bytes = repaired(&mut file).map_err(in_words("repaired"))?;
        }
        let written = file.write_all(lines).and_then(|()| file.sync_data());
        if let Err(error) = written {
            // The batch is written again, whole.
            let _ = file.set_len(bytes);
            return Err(in_words("written")(error));
        }
        if bytes == 0 {
            directory.sync().map_err(in_words("made durable"))?;
        }
        Ok(())
    }

    /// The file, locked: no other file has its name at that moment.
    fn open(&self, directory: &Directory, name: &OsStr) -> Result<File, String> {
        let path = directory.path_of(name);
        for _ in 0..OPENINGS_MAX {
            let file = directory
                .open(name)
                .map_err(|error| format!("{} cannot be opened: {error}; links are not followed", path.display()))?;
            let metadata = file.metadata().map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
            if !metadata.is_file() {
                return Err(format!("{} is no file", path.display()));
            }
            lock(&file).map_err(|error| format!("{} cannot be locked: {error}", path.display()))?;
            let named = directory.stat(name).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
            if named.is_some_and(|named| named.st_ino == metadata.ino() && named.st_dev == metadata.dev()) {
                return Ok(file);
            }
        }
        Err(format!("{} is replaced again and again by another program", path.display()))
    }

    /// Gives the file a name with the time, and removes the oldest such files beyond the number to keep.
    fn rotate(&self, directory: &Directory, name: &OsStr, now: Timestamp) -> io::Result<()> {
        let mut old: Vec<(i64, Vec<u8>)> = Vec::new();
        for each in directory.names()? {
            old.extend(old_millis(name, &each).map(|millis| (millis, each)));
        }
        old.sort_unstable();
        // After all others, also if the clock was set back: the oldest names are removed.
        let last = old.last().map_or(i64::MIN, |(millis, _)| millis.saturating_add(1));
        directory.rename(name, &old_name(name, now.as_micros().div_euclid(1000).max(last)))?;
        directory.sync()?;
        for (_, each) in old.iter().take((old.len() + 1).saturating_sub(self.address.files_max)) {
            directory.remove(OsStr::from_bytes(each))?;
        }
        Ok(())
    }
}

fn lock(file: &File) -> io::Result<()> {
    for _ in 1..LOCK_TRIES_MAX {
        match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(LOCK_WAIT),
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::new(io::ErrorKind::WouldBlock, "another program holds its lock"))
}

/// Cuts off a line without an end, which a kill or a full disk left: it was not counted as delivered. Returns the length.
fn repaired(file: &mut File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let mut end = length;
    let mut block = [0_u8; 8192];
    while end > 0 {
        let start = end.saturating_sub(block.len() as u64);
        let part = &mut block[..(end - start) as usize];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(part)?;
        if let Some(index) = part.iter().rposition(|byte| *byte == b'\n') {
            end = start + index as u64 + 1;
            break;
        }
        end = start;
    }
    if end < length {
        file.set_len(end)?;
    }
    Ok(end)
}

/// Time since the file was made, or since its last change where the file system does not keep that.
fn age(metadata: &std::fs::Metadata, now: Timestamp) -> Duration {
    let begun = metadata.created().or_else(|_| metadata.modified()).ok();
    let begun = begun.and_then(|begun| begun.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    let begun = i64::try_from(begun.as_micros()).unwrap_or(i64::MAX);
    now.since(Timestamp::from_micros(begun))
}

/// `events.ndjson.20261119T221530123Z`: names sort by time.
fn old_name(name: &OsStr, millis: i64) -> OsString {
    let second = Timestamp::from_seconds(millis.div_euclid(1000)).to_string();
    let digits: String = second.chars().filter(|each| each.is_ascii_digit() || *each == 'T').take(15).collect();
    let mut old = name.to_owned();
    old.push(format!(".{digits}{:03}Z", millis.rem_euclid(1000)));
    old
}

/// The time in the name of a renamed file; nothing for other names.
fn old_millis(name: &OsStr, candidate: &[u8]) -> Option<i64> {
    let stamp = candidate.strip_prefix(name.as_bytes())?.strip_prefix(b".")?.strip_suffix(b"Z")?;
    let (date, time) = std::str::from_utf8(stamp).ok()?.split_once('T')?;
    if date.len() != 8 || time.len() != 9 || !date.bytes().chain(time.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (day, second) = ((&date[..4], &date[4..6], &date[6..]), (&time[..2], &time[2..4], &time[4..6]));
    let text = format!("{}-{}-{}T{}:{}:{}Z", day.0, day.1, day.2, second.0, second.1, second.2);
    let moment: Timestamp = text.parse().ok()?;
    Some(moment.as_seconds() * 1000 + time[6..].parse::<i64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renamed_files_are_told_from_others_by_their_times() {
        let name = OsStr::new("events.ndjson");
        let times = [1_800_000_000_007, 1_800_000_000_123, 1_800_000_001_000];
        let old = times.map(|millis| old_name(name, millis));
        assert_eq!(old[0], "events.ndjson.20270115T080000007Z");
        assert!(old.is_sorted());
        assert_eq!(old.map(|each| old_millis(name, each.as_bytes())), times.map(Some));
        for other in
            ["events.ndjson", "events.ndjson.1", "events.ndjson.20270115T080000007Z.gz", "a.20270115T080000007Z"]
        {
            assert_eq!(old_millis(name, other.as_bytes()), None, "{other}");
        }
    }
}
