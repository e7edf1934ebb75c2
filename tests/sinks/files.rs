//! Files with one event on each line.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use feedwarden::model::FailureCause;
use feedwarden::sinks::{Sink, SinkSettings};

use super::{LIMIT, NOW, assert_complete, deliver, message, messages, sink_with, with_text};

fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("events.ndjson");
    (directory, file)
}

fn sink_at(root: &Path, file: &Path, options: &str) -> Sink {
    let settings = SinkSettings { directory: Some(root.to_owned()), authorities: None };
    sink_with(&format!("file:{}{options}", file.display()), settings)
}

fn lines(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(str::to_owned).collect()
}

/// The renamed files, oldest first, and the file itself.
fn files(file: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(file.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let mut old: Vec<PathBuf> = entries.filter(|path| path != file).collect();
    old.sort();
    old.push(file.to_owned());
    old
}

#[tokio::test]
async fn a_file_gets_one_line_for_each_event_whatever_publishers_write() {
    let (root, file) = place();
    let mut sink = sink_at(root.path(), &file, "");
    sink.check(LIMIT).await.unwrap();
    deliver(&mut sink, 1..=50).await.unwrap();
    let mut broken = message(51);
    broken.payload = broken.payload.replacen(',', ",\n\r", 1);
    sink.deliver(&[broken], NOW, LIMIT).await.unwrap();
    let lines = lines(&file);
    assert_complete(&lines[..50], 50);
    let sent: serde_json::Value = serde_json::from_str(&message(51).payload).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&lines[50]).unwrap(), sent);
    assert_eq!(lines.len(), 51);
}

#[tokio::test]
async fn a_half_line_that_a_kill_left_is_cut_off() {
    let (root, file) = place();
    let mut sink = sink_at(root.path(), &file, "");
    deliver(&mut sink, 1..=3).await.unwrap();
    let whole = fs::read(&file).unwrap();
    for half in [&b"{\"type\":\"po"[..], &[b'x'; 20_000][..]] {
        fs::File::options().append(true).open(&file).unwrap().write_all(half).unwrap();
        sink.check(LIMIT).await.unwrap();
        deliver(&mut sink, 4..=5).await.unwrap();
        assert_complete(&lines(&file), 5);
        fs::write(&file, &whole).unwrap();
    }
    // Nothing but a half line.
    fs::write(&file, [b'x'; 9_000]).unwrap();
    deliver(&mut sink, 1..=2).await.unwrap();
    assert_complete(&lines(&file), 2);
}

#[tokio::test]
async fn files_rotate_by_size_and_only_so_many_are_kept() {
    let (root, file) = place();
    fs::write(root.path().join("events.ndjson.1"), "of another program").unwrap();
    let mut sink = sink_at(root.path(), &file, "?bytes-max=5000&files-max=3");
    for first in (1..=400).step_by(5) {
        deliver(&mut sink, first..=first + 4).await.unwrap();
        assert!(fs::metadata(&file).unwrap().len() <= 5000);
    }
    let files = files(&file);
    assert_eq!(files.len(), 5, "{files:?}");
    assert_eq!(fs::read_to_string(&files[0]).unwrap(), "of another program");
    let kept: Vec<String> = files[1..].iter().flat_map(|each| lines(each)).collect();
    let first = 401 - kept.len() as i64;
    assert!(first > 100 && kept.len() > 100, "{first}");
    let expected: Vec<String> = messages(first..=400).into_iter().map(|each| each.payload).collect();
    assert!(kept == expected, "{} lines from {first} on are not the last ones", kept.len());
    // A batch that is larger than a file is written whole.
    sink.deliver(&[with_text(401, &"x".repeat(20_000))], NOW, LIMIT).await.unwrap();
    assert_eq!(lines(&file).len(), 1);
}

#[tokio::test]
async fn files_rotate_by_age() {
    let (root, file) = place();
    let mut sink = sink_at(root.path(), &file, "?age-max-hours=24");
    deliver(&mut sink, 1..=2).await.unwrap();
    let made = fs::metadata(&file).unwrap().created().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap();
    let made = feedwarden::model::Timestamp::from_micros(made.as_micros() as i64);
    sink.deliver(&messages(3..=3), made + Duration::from_secs(23 * 3600), LIMIT).await.unwrap();
    assert_eq!(files(&file).len(), 1);
    sink.deliver(&messages(4..=4), made + Duration::from_secs(24 * 3600), LIMIT).await.unwrap();
    let files = files(&file);
    assert_eq!(files.len(), 2);
    assert_eq!((lines(&files[0]).len(), lines(&file).len()), (3, 1));
}

#[tokio::test]
async fn rotation_by_other_programs_under_load_loses_nothing() {
    let (root, file) = place();
    let moved = root.path().join("moved");
    let (from, to) = (file.clone(), moved.clone());
    fs::create_dir(&moved).unwrap();
    let other = std::thread::spawn(move || {
        for index in 0..40 {
            std::thread::sleep(Duration::from_millis(3));
            let _ = fs::rename(&from, to.join(format!("{index:03}")));
        }
    });
    // Two sinks write to the file at once, with different events.
    let (mut one, mut two) = (sink_at(root.path(), &file, ""), sink_at(root.path(), &file, ""));
    let odd = async {
        for number in (1..=199).step_by(2) {
            one.deliver(&messages(number..=number), NOW, LIMIT).await.unwrap();
        }
    };
    let even = async {
        for number in (2..=200).step_by(2) {
            two.deliver(&messages(number..=number), NOW, LIMIT).await.unwrap();
        }
    };
    tokio::join!(odd, even);
    other.join().unwrap();
    let mut all: Vec<String> = fs::read_dir(&moved).unwrap().flat_map(|each| lines(&each.unwrap().path())).collect();
    all.extend(if file.exists() { lines(&file) } else { Vec::new() });
    let mut expected: Vec<String> = messages(1..=200).into_iter().map(|each| each.payload).collect();
    all.sort();
    expected.sort();
    assert!(all == expected, "{} lines", all.len());
}

#[tokio::test]
async fn a_full_disk_is_an_error_that_loses_nothing_and_leaves_no_half_line() {
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("skipped: no small file system can be mounted here");
        return;
    };
    let file = disk.root.join("events.ndjson");
    let mut sink = sink_at(&disk.root, &file, "");
    let mut confirmed = 0;
    let report = loop {
        match deliver(&mut sink, confirmed + 1..=confirmed + 7).await {
            Ok(()) => confirmed += 7,
            Err(report) => break report,
        }
        assert!(confirmed < 10_000, "the disk does not fill");
    };
    assert!(confirmed > 0, "{report:?}");
    assert_eq!(report.cause, FailureCause::Other);
    assert!(report.error.contains("cannot be written: No space left on device"), "{report:?}");
    assert_complete(&lines(&file), confirmed);
    fs::remove_file(disk.root.join("ballast")).unwrap();
    deliver(&mut sink, confirmed + 1..=confirmed + 7).await.unwrap();
    assert_complete(&lines(&file), confirmed + 7);
}

#[tokio::test]
async fn no_address_leads_out_of_the_directory() {
    let (root, file) = place();
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("target");
    fs::write(&target, "precious\n").unwrap();
    std::os::unix::fs::symlink(&target, &file).unwrap();
    std::os::unix::fs::symlink(outside.path(), root.path().join("link")).unwrap();
    fs::create_dir(root.path().join("below")).unwrap();
    fs::create_dir(root.path().join("taken.ndjson")).unwrap();
    let below = root.path().display();
    for (path, part) in [
        (format!("{below}/events.ndjson"), "links are not followed"),
        (format!("{below}/link/target"), "it has to exist and be no link"),
        (format!("{below}/../x.ndjson"), "is not below"),
        (format!("{below}/below/%2e%2e/%2e%2e/x.ndjson"), "is not below"),
        (format!("{below}/..%2Fx.ndjson"), "a part such as \"..\""),
        (format!("{below}/missing/x.ndjson"), "it has to exist and be no link"),
        (format!("{below}/taken.ndjson"), "cannot be opened"),
        (target.display().to_string(), "is not below"),
        ("/etc/passwd".into(), "is not below"),
    ] {
        let report = deliver(&mut sink_at(root.path(), Path::new(&path), ""), 1..=1).await.unwrap_err();
        assert!(report.error.contains(part), "{path}: {report:?}");
    }
    assert_eq!(fs::read_to_string(&target).unwrap(), "precious\n");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    deliver(&mut sink_at(root.path(), &root.path().join("below/x.ndjson"), ""), 1..=1).await.unwrap();

    let mut nowhere = sink_with(&format!("file:{below}/x"), SinkSettings::default());
    let report = deliver(&mut nowhere, 1..=1).await.unwrap_err();
    assert!(report.error.contains("need the key sinks.directory"), "{report:?}");
}

/// A file system of 256 KiB in a namespace of a process of its own, most of it taken by the file `ballast`.
struct SmallDisk {
    keeper: std::process::Child,
    root: PathBuf,
    _directory: tempfile::TempDir,
}

impl SmallDisk {
    fn mount() -> Option<SmallDisk> {
        let directory = tempfile::tempdir().unwrap();
        let script = "mount -t tmpfs -o size=256k none \"$1\" && cd \"$1\" && head -c 120000 /dev/zero >ballast && \
                      echo ready && read _";
        let mut keeper = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"])
            .arg(directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let mut ready = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(keeper.stdout.take().unwrap()), &mut ready).unwrap();
        let root = PathBuf::from(format!("/proc/{}/root{}", keeper.id(), directory.path().display()));
        let disk = SmallDisk { keeper, root, _directory: directory };
        (ready == "ready\n" && disk.root.join("ballast").exists()).then_some(disk)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}
