//! What callers see of the log: the drain that queues records without ever waiting, the handle and the guard.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use slog::{Drain, Level, Logger, Never, OwnedKVList, Record, o};

use super::line::LogLine;
use super::output::Output;
use super::writer::{Message, Shape, Writer};
use super::{LogSettings, Telemetry};
use crate::clock::Clock;

/// The most records that may be asked to wait: the queue takes its memory at the start, about 150 bytes each.
const QUEUE_RECORDS_MAX: usize = 1 << 20;

/// How long the end of the process waits for an output that stalls.
const FLUSH_WAIT: Duration = Duration::from_secs(5);

/// Steers a running log.
#[derive(Clone)]
pub struct LogHandle {
    shared: Arc<LogState>,
    queue: SyncSender<Message>,
}

/// Records that were never written, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DroppedRecords {
    /// Made while the queue was full, or after the log had ended.
    pub queue_full: u64,
    /// Refused by the output: a full disk, a closed pipe.
    pub write_failed: u64,
}

/// Writes what is still queued when it is dropped, and waits for that, but not for ever.
#[must_use = "the log ends when this is dropped"]
pub struct FlushGuard {
    handle: LogHandle,
    /// Hangs up when the writer is done.
    done: Receiver<()>,
    finished: bool,
}

/// What the callers and the writer share.
#[derive(Debug)]
pub(super) struct LogState {
    /// The least severe level that is written, as slog's number.
    level: AtomicUsize,
    pub(super) queue_full: AtomicU64,
    pub(super) write_failed: AtomicU64,
    /// Kept beside the queue, so that a full queue cannot lose the request.
    pub(super) reopen_asked: AtomicBool,
    /// Likewise.
    pub(super) finish_asked: AtomicBool,
}

/// Starts the writer's thread.
pub(super) fn start(
    settings: &LogSettings,
    clock: Arc<dyn Clock>,
    output: Output,
    shape: Shape,
) -> io::Result<Telemetry> {
    let shared = Arc::new(LogState {
        level: AtomicUsize::new(settings.level.as_usize()),
        queue_full: AtomicU64::new(0),
        write_failed: AtomicU64::new(0),
        reopen_asked: AtomicBool::new(false),
        finish_asked: AtomicBool::new(false),
    });
    let (queue, records) = sync_channel(settings.queue_records.clamp(1, QUEUE_RECORDS_MAX));
    let (done_sender, done) = sync_channel::<()>(1);
    let writer = Writer::new(records, Arc::clone(&shared), Arc::clone(&clock), output, settings.file.clone(), shape);
    std::thread::Builder::new().name("log".into()).spawn(move || {
        writer.run();
        drop(done_sender);
    })?;
    let handle = LogHandle { shared, queue };
    let drain = QueueDrain { handle: AssertUnwindSafe(handle.clone()), clock: AssertUnwindSafe(clock) };
    let guard = FlushGuard { handle: handle.clone(), done, finished: false };
    Ok(Telemetry { logger: Logger::root(drain, o!()), handle, guard })
}

impl LogHandle {
    /// The least severe level that is written.
    pub fn level(&self) -> Level {
        Level::from_usize(self.shared.level.load(Ordering::Relaxed)).unwrap_or(Level::Info)
    }

    /// Changes the least severe level that is written, from the next record on.
    pub fn set_level(&self, level: Level) {
        self.shared.level.store(level.as_usize(), Ordering::Relaxed);
    }

    /// Asks for the log file to be opened anew by its name, after something has moved it away. Does not wait for it.
    ///
    /// The outcome is a record in the log. Nothing happens when the log goes to standard output.
    pub fn reopen(&self) {
        self.shared.reopen_asked.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// How many records were never written.
    pub fn dropped(&self) -> DroppedRecords {
        self.shared.dropped()
    }

    /// Makes an idle writer look at its flags. A full queue is no obstacle: then it is not idle.
    fn wake(&self) {
        let _ = self.queue.try_send(Message::Wake);
    }

    fn is_enabled(&self, level: Level) -> bool {
        level.as_usize() <= self.shared.level.load(Ordering::Relaxed)
    }
}

impl FlushGuard {
    /// Ends the log and waits at most this long. Tells whether everything that was queued has been handled.
    pub fn finish(mut self, wait: Duration) -> bool {
        self.finish_within(wait)
    }

    fn finish_within(&mut self, wait: Duration) -> bool {
        self.finished = true;
        self.handle.shared.finish_asked.store(true, Ordering::SeqCst);
        self.handle.wake();
        self.done.recv_timeout(wait) == Err(RecvTimeoutError::Disconnected)
    }
}

impl Drop for FlushGuard {
    fn drop(&mut self) {
        if !self.finished {
            self.finish_within(FLUSH_WAIT);
        }
    }
}

impl LogState {
    pub(super) fn dropped(&self) -> DroppedRecords {
        DroppedRecords {
            queue_full: self.queue_full.load(Ordering::SeqCst),
            write_failed: self.write_failed.load(Ordering::SeqCst),
        }
    }
}

/// The drain behind the root logger.
struct QueueDrain {
    handle: AssertUnwindSafe<LogHandle>,
    clock: AssertUnwindSafe<Arc<dyn Clock>>,
}

impl Drain for QueueDrain {
    type Ok = ();
    type Err = Never;

    fn log(&self, record: &Record<'_>, logger_values: &OwnedKVList) -> Result<(), Never> {
        // Before anything is formatted or copied: a disabled record costs one load.
        if !self.handle.is_enabled(record.level()) {
            return Ok(());
        }
        let moment = self.clock.now();
        // Values are evaluated here, and the code behind them may panic.
        let line = catch_unwind(AssertUnwindSafe(|| LogLine::of(moment, record, logger_values)));
        let message = line.map_or(Message::Panicked, Message::Record);
        if self.handle.queue.try_send(message).is_err() {
            self.handle.shared.queue_full.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    }

    fn is_enabled(&self, level: Level) -> bool {
        self.handle.is_enabled(level)
    }
}

impl fmt::Debug for LogHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LogHandle").field("shared", &self.shared).finish_non_exhaustive()
    }
}

impl fmt::Debug for FlushGuard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FlushGuard").field("finished", &self.finished).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::HeldClock;
    use crate::model::Timestamp;
    use slog::info;
    use std::io::Write;
    use std::sync::mpsc::{Sender, channel};

    /// Hands each write to the test; refuses the first ones.
    struct Watched {
        refusals: usize,
        writes: Sender<String>,
    }

    impl Write for Watched {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.refusals > 0 {
                self.refusals -= 1;
                return Err(io::ErrorKind::StorageFull.into());
            }
            // The test may have seen enough and gone.
            let _ = self.writes.send(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn start_watched(refusals: usize, shape: Shape) -> (Telemetry, Receiver<String>) {
        let (writes, seen) = channel();
        let output = Output::to(Watched { refusals, writes });
        let clock = Arc::new(HeldClock::at(Timestamp::EPOCH));
        (start(&LogSettings::default(), clock, output, shape).unwrap(), seen)
    }

    #[test]
    fn every_record_is_one_write_in_either_shape() {
        for shape in [Shape::Json, Shape::Human { colours: false }, Shape::Human { colours: true }] {
            let (log, seen) = start_watched(0, shape);
            let long = "x".repeat(200_000);
            for count in 0..10 {
                info!(log.logger, "poll finished"; "count" => count, "url" => "https://a.example/", "error" => &long);
            }
            assert!(log.guard.finish(FLUSH_WAIT));
            let writes: Vec<String> = seen.try_iter().collect();
            assert_eq!(writes.len(), 10);
            for write in writes {
                assert!(write.len() > 200_000 && write.ends_with('\n') && write.matches('\n').count() == 1);
            }
        }
    }

    #[test]
    fn losses_are_reported_once_writing_works_again_even_without_new_records() {
        // The record is refused, and so is the first attempt to report that.
        let (log, seen) = start_watched(2, Shape::Json);
        info!(log.logger, "this one is lost");
        let report = seen.recv_timeout(Duration::from_secs(60)).unwrap();
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["msg"], "log records dropped");
        assert_eq!((&report["count"], &report["reason"]), (&1.into(), &"write_failed".into()));
        assert_eq!(report["level"], "error");
        assert_eq!(log.handle.dropped(), DroppedRecords { queue_full: 0, write_failed: 1 });
        info!(log.logger, "this one is not");
        let record = seen.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(record.contains("this one is not"));
    }

    /// Waits for a permit before each write, until the test gives no more and lets everything pass.
    struct Gated {
        permits: Receiver<()>,
        writes: Sender<String>,
    }

    impl Write for Gated {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.permits.recv();
            let _ = self.writes.send(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn while_records_are_dropped_all_the_time_few_of_the_lines_say_so() {
        let (permit, permits) = sync_channel(0);
        let (writes, seen) = channel();
        let settings = LogSettings { queue_records: 4, ..LogSettings::default() };
        let clock = Arc::new(HeldClock::at(Timestamp::EPOCH));
        let log = start(&settings, clock, Output::to(Gated { permits, writes }), Shape::Json).unwrap();
        for _ in 0..100 {
            // More than the queue holds, so that it is never empty while a permit is out.
            for _ in 0..6 {
                info!(log.logger, "poll finished");
            }
            permit.send(()).unwrap();
        }
        let reports = |seen: &Receiver<String>| seen.try_iter().filter(|line| line.contains("dropped")).count();
        assert_eq!(reports(&seen), 1);
        drop(permit);
        assert!(log.guard.finish(FLUSH_WAIT));
        assert_eq!(reports(&seen), 1);
    }
}
