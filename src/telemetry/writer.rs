//! The thread that takes records from the queue and writes them. Nothing that goes wrong here ends it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use serde_json::Value;
use slog::{Key, Level};

use super::DroppedRecords;
use super::line::LogLine;
use super::output::{LineBuffer, Output, open_log_file};
use super::queue::LogState;
use super::{human, json};
use crate::clock::Clock;

/// How often an idle log tries to write that records were lost, after a failed write.
const REPORT_RETRY: Duration = Duration::from_secs(1);

/// While records are being dropped all the time, every so many records say so: not every second line.
const RECORDS_BETWEEN_REPORTS: u32 = 1000;

pub(super) enum Message {
    Record(LogLine),
    /// A value of a record panicked: the record is lost.
    Panicked,
    /// Look at the flags.
    Wake,
}

/// How a record is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Json,
    Human { colours: bool },
}

pub(super) struct Writer {
    queue: Receiver<Message>,
    shared: Arc<LogState>,
    clock: Arc<dyn Clock>,
    output: Output,
    /// The file to open when asked to reopen.
    path: Option<PathBuf>,
    shape: Shape,
    buffer: LineBuffer,
    /// What has been written about dropped records so far.
    reported: DroppedRecords,
    records_since_report: u32,
    /// Why the last record could not be written.
    last_error: String,
}

impl Writer {
    pub(super) fn new(
        queue: Receiver<Message>,
        shared: Arc<LogState>,
        clock: Arc<dyn Clock>,
        output: Output,
        path: Option<PathBuf>,
        shape: Shape,
    ) -> Writer {
        Writer {
            queue,
            shared,
            clock,
            output,
            path,
            shape,
            buffer: LineBuffer::new(),
            reported: DroppedRecords::default(),
            records_since_report: RECORDS_BETWEEN_REPORTS,
            last_error: String::new(),
        }
    }

    /// Writes until the log is asked to finish and the queue is empty, or no logger is left.
    pub(super) fn run(mut self) {
        while let Some(message) = self.next() {
            self.reopen_if_asked();
            // A report of a failed write comes before the next record, to mark the gap where it is.
            if self.reported.write_failed < self.shared.dropped().write_failed || self.report_is_due() {
                self.report_dropped();
            }
            let result = match message {
                Message::Record(line) => self.write(&line),
                Message::Panicked => Err(io::Error::other("a value of the record panicked")),
                Message::Wake => continue,
            };
            self.records_since_report = self.records_since_report.saturating_add(1);
            if let Err(error) = result {
                self.last_error = error.to_string();
                self.shared.write_failed.fetch_add(1, Ordering::SeqCst);
            }
        }
        self.reopen_if_asked();
        self.report_dropped();
    }

    /// The next message; none at the end.
    fn next(&mut self) -> Option<Message> {
        loop {
            match self.queue.try_recv() {
                Ok(message) => return Some(message),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) if self.shared.finish_asked.load(Ordering::SeqCst) => return None,
                Err(TryRecvError::Empty) => {}
            }
            if self.report_dropped() {
                return self.queue.recv().ok();
            }
            match self.queue.recv_timeout(REPORT_RETRY) {
                Ok(message) => return Some(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    fn report_is_due(&self) -> bool {
        self.records_since_report >= RECORDS_BETWEEN_REPORTS && self.reported != self.shared.dropped()
    }

    /// Writes how many records were dropped since the last report. Tells whether nothing is left to report.
    fn report_dropped(&mut self) -> bool {
        let dropped = self.shared.dropped();
        let queue_full = dropped.queue_full - self.reported.queue_full;
        if queue_full > 0 {
            let keys = vec![("count", Value::from(queue_full)), ("reason", Value::from("queue_full"))];
            if self.write_own(Level::Warning, "log records dropped", keys).is_err() {
                return false;
            }
            self.reported.queue_full = dropped.queue_full;
            self.records_since_report = 0;
        }
        let write_failed = dropped.write_failed - self.reported.write_failed;
        if write_failed > 0 {
            let keys = vec![
                ("count", Value::from(write_failed)),
                ("reason", Value::from("write_failed")),
                ("error", Value::from(self.last_error.as_str())),
            ];
            if self.write_own(Level::Error, "log records dropped", keys).is_err() {
                return false;
            }
            self.reported.write_failed = dropped.write_failed;
        }
        true
    }

    fn reopen_if_asked(&mut self) {
        if !self.shared.reopen_asked.swap(false, Ordering::SeqCst) {
            return;
        }
        let Some(path) = &self.path else { return };
        let path_value = Value::from(path.display().to_string());
        // Losing one of these two to a full disk loses nothing that the next report would not show.
        let _ = match open_log_file(path) {
            Ok(output) => {
                self.output = output;
                self.write_own(Level::Info, "log file reopened", vec![("path", path_value)])
            }
            Err(error) => {
                let keys = vec![("path", path_value), ("error", Value::from(error.to_string()))];
                self.write_own(Level::Error, "log file not reopened", keys)
            }
        };
    }

    /// Writes a record of the log about itself. These are few, and they are written at every level.
    fn write_own(&mut self, level: Level, message: &str, keys: Vec<(Key, Value)>) -> io::Result<()> {
        self.write(&LogLine { moment: self.clock.now(), level, message: message.into(), keys })
    }

    fn write(&mut self, line: &LogLine) -> io::Result<()> {
        let buffer = self.buffer.restart();
        match self.shape {
            Shape::Json => json::append(line, buffer)?,
            Shape::Human { colours } => human::append(line, colours, buffer)?,
        }
        self.output.write_line(&self.buffer)
    }
}
