//! The log as the daemon uses it: through real files and pipes, full disks and readers that stall.

use std::fs;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, pipe};
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use feedwarden::clock::HeldClock;
use feedwarden::model::Timestamp;
use feedwarden::telemetry::{LogFormat, LogSettings, Telemetry, start};
use serde_json::Value;
use slog::{Drain, FnValue, Level, debug, error, info, o, warn};

/// More than any machine needs to write what these tests log; nothing waits for it unless it fails.
const PATIENCE: Duration = Duration::from_secs(60);

fn clock() -> Arc<HeldClock> {
    Arc::new(HeldClock::at("2026-11-16T08:30:00Z".parse::<Timestamp>().unwrap()))
}

fn start_file(path: &Path) -> Telemetry {
    start(&LogSettings { file: Some(path.into()), ..LogSettings::default() }, clock()).unwrap()
}

/// A log into a pipe; the pipe has no other writer.
fn start_pipe(queue_records: usize) -> (Telemetry, PipeReader) {
    let (reader, writer): (PipeReader, PipeWriter) = pipe().unwrap();
    let path = PathBuf::from(format!("/proc/self/fd/{}", writer.as_raw_fd()));
    let settings = LogSettings { file: Some(path), queue_records, ..LogSettings::default() };
    (start(&settings, clock()).unwrap(), reader)
}

fn parse(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line:?}"))).collect()
}

fn records(path: &Path) -> Vec<Value> {
    parse(&fs::read_to_string(path).unwrap())
}

fn messages(records: &[Value]) -> Vec<&str> {
    records.iter().map(|record| record["msg"].as_str().unwrap()).collect()
}

/// Waits until the file holds this many records.
fn wait_for_records(path: &Path, count: usize) {
    for _ in 0..6000 {
        if fs::read_to_string(path).is_ok_and(|text| text.lines().count() >= count) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{} never held {count} records", path.display());
}

#[test]
fn a_record_is_a_json_line_with_the_moment_at_which_it_was_made() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let clock = clock();
    let settings = LogSettings { file: Some(path.clone()), ..LogSettings::default() };
    let log = start(&settings, clock.clone()).unwrap();
    let child = log.logger.new(o!("actor" => "host", "host" => "a.example"));
    info!(child, "poll finished"; "source_id" => 7, "host" => "b.example");
    clock.advance(Duration::from_millis(1500));
    warn!(log.logger, "second");
    drop(log);
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        concat!(
            r#"{"ts":"2026-11-16T08:30:00.000000Z","level":"info","msg":"poll finished","#,
            r#""actor":"host","source_id":7,"host":"b.example"}"#,
            "\n",
            r#"{"ts":"2026-11-16T08:30:01.500000Z","level":"warn","msg":"second"}"#,
            "\n",
        )
    );
}

#[test]
fn the_human_format_in_a_file_has_no_colours() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let settings = LogSettings { file: Some(path.clone()), format: LogFormat::Human, ..LogSettings::default() };
    let log = start(&settings, clock()).unwrap();
    error!(log.logger, "database lost"; "error" => "gone\nfor good");
    drop(log);
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "2026-11-16T08:30:00.000Z ERROR database lost error=\"gone\\nfor good\"\n"
    );
}

/// Runs itself in a second process, since the standard output of this one belongs to the test harness.
#[test]
fn without_a_file_records_go_to_standard_output_and_are_json_when_that_is_a_pipe() {
    if std::env::var_os("FEEDWARDEN_TEST_LOG_CHILD").is_some() {
        let log = start(&LogSettings::default(), clock()).unwrap();
        info!(log.logger, "from the child"; "error" => "x".repeat(100_000));
        log.handle.reopen();
        return;
    }
    let name = "telemetry::without_a_file_records_go_to_standard_output_and_are_json_when_that_is_a_pipe";
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env("FEEDWARDEN_TEST_LOG_CHILD", "1")
        .output()
        .unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let start = text.find("{\"ts\"").expect("a record on standard output");
    let records = parse(text[start..].lines().next().unwrap());
    assert_eq!(messages(&records), ["from the child"]);
    assert_eq!(records[0]["error"].as_str().unwrap().len(), 100_000);
}

#[test]
fn a_reader_that_stalls_blocks_no_caller_and_every_drop_is_counted_and_reported() {
    let (log, reader) = start_pipe(16);
    let total: u64 = 1000;
    for number in 0..total {
        // Would hang here for ever if a caller had to wait: the first record alone is more than the pipe holds.
        info!(log.logger, "poll finished"; "number" => number, "padding" => "x".repeat(200_000));
    }
    let dropped = log.handle.dropped();
    assert!((total - 17..total).contains(&dropped.queue_full), "{dropped:?}");

    let Telemetry { logger, handle, guard } = log;
    let reading = std::thread::spawn(move || BufReader::new(reader).lines().map(Result::unwrap).collect::<Vec<_>>());
    assert!(guard.finish(PATIENCE));
    drop(logger);
    let records = parse(&reading.join().unwrap().join("\n"));
    let (reports, polls): (Vec<&Value>, Vec<&Value>) =
        records.iter().partition(|record| record["msg"] == "log records dropped");
    let reported: u64 = reports.iter().map(|report| report["count"].as_u64().unwrap()).sum();
    assert!(reports.iter().all(|report| report["reason"] == "queue_full" && report["level"] == "warn"));
    assert_eq!(reported, handle.dropped().queue_full);
    assert_eq!(polls.len() as u64 + reported, total);
    let numbers: Vec<u64> = polls.iter().map(|record| record["number"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted());
}

#[test]
fn the_end_of_the_process_waits_for_a_stalled_reader_but_not_for_ever() {
    let (log, _reader) = start_pipe(16);
    info!(log.logger, "more than a pipe holds"; "padding" => "x".repeat(200_000));
    assert!(!log.guard.finish(Duration::from_millis(50)));
}

#[test]
fn a_record_larger_than_a_pipe_arrives_whole() {
    let (log, reader) = start_pipe(16);
    let reading = std::thread::spawn(move || BufReader::new(reader).lines().map(Result::unwrap).collect::<Vec<_>>());
    let large = "é".repeat(500_000);
    info!(log.logger, "large"; "error" => &large);
    info!(log.logger, "small");
    drop(log);
    let records = parse(&reading.join().unwrap().join("\n"));
    assert_eq!(messages(&records), ["large", "small"]);
    assert_eq!(records[0]["error"], large.as_str());
}

#[test]
fn a_closed_pipe_loses_records_and_counts_them_but_ends_nothing() {
    let (log, reader) = start_pipe(16);
    drop(reader);
    for _ in 0..3 {
        info!(log.logger, "this is not read");
    }
    assert!(log.guard.finish(PATIENCE));
    assert_eq!((log.handle.dropped().write_failed, log.handle.dropped().queue_full), (3, 0));
}

#[test]
fn a_full_disk_ends_nothing_and_its_losses_are_reported_when_there_is_room_again() {
    let directory = tempfile::tempdir().unwrap();
    let (path, room) = (directory.path().join("log"), directory.path().join("room"));
    symlink("/dev/full", &path).unwrap();
    let log = start_file(&path);
    for _ in 0..5 {
        info!(log.logger, "lost");
    }
    // The log is asked to reopen only once it has failed five times.
    for _ in 0..6000 {
        if log.handle.dropped().write_failed == 5 {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(log.handle.dropped().write_failed, 5);
    fs::remove_file(&path).unwrap();
    symlink(&room, &path).unwrap();
    log.handle.reopen();
    info!(log.logger, "kept");
    drop(log);
    let records = records(&room);
    assert_eq!(messages(&records), ["log file reopened", "log records dropped", "kept"]);
    assert_eq!(records[1]["count"], 5);
    assert_eq!(records[1]["reason"], "write_failed");
    assert!(records[1]["error"].as_str().unwrap().contains("No space left on device"), "{}", records[1]);
}

#[test]
fn rotation_loses_no_record_and_new_ones_go_to_the_new_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let settings = LogSettings { file: Some(path.clone()), queue_records: 100_000, ..LogSettings::default() };
    let log = start(&settings, clock()).unwrap();
    let logger = log.logger.clone();
    let logging = std::thread::spawn(move || (0..20_000).for_each(|number| info!(logger, "n"; "number" => number)));
    let mut files = vec![path.clone()];
    for rotation in 1..=5 {
        wait_for_records(&path, 1);
        let rotated = directory.path().join(format!("log.{rotation}"));
        fs::rename(&path, &rotated).unwrap();
        files.push(rotated);
        log.handle.reopen();
    }
    logging.join().unwrap();
    wait_for_records(&path, 1);
    info!(log.logger, "after the last rotation");
    assert_eq!(log.handle.dropped(), Default::default());
    drop(log);

    let all: Vec<Value> = files.iter().flat_map(|file| records(file)).collect();
    let mut numbers: Vec<u64> = all.iter().filter_map(|record| record["number"].as_u64()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..20_000).collect::<Vec<_>>());
    let newest = records(&path);
    assert_eq!(newest.first().unwrap()["msg"], "log file reopened");
    assert_eq!(newest.first().unwrap()["path"], path.to_str().unwrap());
    assert_eq!(newest.last().unwrap()["msg"], "after the last rotation");
}

#[test]
fn when_reopening_fails_the_old_file_stays_in_use_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let (folder, moved) = (directory.path().join("folder"), directory.path().join("moved"));
    fs::create_dir(&folder).unwrap();
    let log = start_file(&folder.join("log"));
    fs::rename(&folder, &moved).unwrap();
    log.handle.reopen();
    wait_for_records(&moved.join("log"), 1);
    info!(log.logger, "still here");
    drop(log);
    let records = records(&moved.join("log"));
    assert_eq!(messages(&records), ["log file not reopened", "still here"]);
    assert_eq!(records[0]["level"], "error");
    assert_eq!(records[0]["path"], folder.join("log").to_str().unwrap());
    assert!(records[0]["error"].as_str().unwrap().contains("No such file"), "{}", records[0]);
}

#[test]
fn the_level_changes_while_running_and_a_disabled_record_evaluates_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = start_file(&path);
    let evaluated = AtomicUsize::new(0);
    let log_once = || {
        debug!(log.logger, "detail"; "value" => FnValue(|_| evaluated.fetch_add(1, Ordering::SeqCst)));
        evaluated.load(Ordering::SeqCst)
    };
    assert_eq!((log.handle.level(), log.logger.is_debug_enabled()), (Level::Info, false));
    assert_eq!(log_once(), 0);
    log.handle.set_level(Level::Debug);
    assert_eq!((log.handle.level(), log.logger.is_debug_enabled()), (Level::Debug, true));
    assert_eq!(log_once(), 1);
    log.handle.set_level(Level::Error);
    warn!(log.logger, "not written");
    error!(log.logger, "written");
    drop(log);
    assert_eq!(messages(&records(&path)), ["detail", "written"]);
}

#[test]
fn what_the_log_says_about_itself_is_written_at_every_level() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = start_file(&path);
    log.handle.set_level(Level::Critical);
    info!(log.logger, "not written");
    log.handle.reopen();
    drop(log);
    assert_eq!(messages(&records(&path)), ["log file reopened"]);
}

#[test]
fn a_value_that_panics_costs_its_own_record_only() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = start_file(&path);
    let poisoned = log.logger.new(o!("value" => FnValue(|_| -> u32 { panic!("this panic is part of the test") })));
    info!(poisoned, "lost");
    info!(log.logger, "lost, too"; "value" => FnValue(|_| -> u32 { panic!("this panic is part of the test") }));
    info!(log.logger, "kept");
    drop(log);
    let records = records(&path);
    assert_eq!(messages(&records), ["log records dropped", "log records dropped", "kept"]);
    assert!(records[..2].iter().all(|record| record["error"] == "a value of the record panicked"), "{records:?}");
}

#[test]
fn a_record_made_after_the_end_is_counted_and_harms_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let Telemetry { logger, handle, guard } = start_file(&path);
    info!(logger, "before");
    assert!(guard.finish(PATIENCE));
    info!(logger, "after");
    assert_eq!(handle.dropped().queue_full, 1);
    assert_eq!(messages(&records(&path)), ["before"]);
}

#[test]
fn a_file_that_cannot_be_opened_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("absent/log");
    let settings = LogSettings { file: Some(path.clone()), ..LogSettings::default() };
    let error = start(&settings, clock()).unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot open the log file {}: No such file", path.display())), "{error}");
}
