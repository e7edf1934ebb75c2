//! Where lines go, one write(2) each: standard output or a file that is appended to.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Group members may read the log; strangers may not, since it names sources and their addresses.
const LOG_FILE_MODE: u32 = 0o640;

/// The place that lines are written to.
pub(super) struct Output {
    /// Unbuffered, so that a write here is a write(2).
    target: Box<dyn Write + Send>,
    /// Whether the last thing written is the beginning of a line whose rest could not be written.
    torn: bool,
}

/// A buffer for one line, with a line end in front of it that is written only after a torn line.
///
/// Both go out in the same write, so that a record stays one write(2) whatever came before it.
#[derive(Debug)]
pub(super) struct LineBuffer(Vec<u8>);

impl LineBuffer {
    /// A buffer with nothing in it.
    pub(super) fn new() -> LineBuffer {
        LineBuffer(vec![b'\n'])
    }

    /// Empties the buffer and gives it out to be appended to.
    pub(super) fn restart(&mut self) -> &mut Vec<u8> {
        // One enormous record must not hold its memory for ever.
        if self.0.capacity() > 1024 * 1024 {
            self.0 = Vec::new();
        }
        self.0.clear();
        self.0.push(b'\n');
        &mut self.0
    }
}

impl Output {
    /// Writes to this, which must not buffer.
    pub(super) fn to(target: impl Write + Send + 'static) -> Output {
        Output { target: Box::new(target), torn: false }
    }

    /// Writes to standard output, past the buffer of [`io::stdout`], which cuts large records into pieces.
    pub(super) fn stdout() -> io::Result<Output> {
        Ok(Output::to(File::from(io::stdout().as_fd().try_clone_to_owned()?)))
    }

    /// The same for standard error.
    pub(super) fn stderr() -> io::Result<Output> {
        Ok(Output::to(File::from(io::stderr().as_fd().try_clone_to_owned()?)))
    }

    /// Writes one line.
    ///
    /// The system may take only a part, when a signal arrives or the disk fills up; then the rest is offered again, as
    /// long as it goes on taking some. After a failure the next line starts on a line of its own.
    pub(super) fn write_line(&mut self, line: &LineBuffer) -> io::Result<()> {
        let bytes = if self.torn { &line.0[..] } else { &line.0[1..] };
        let mut written = 0;
        let result = loop {
            match self.target.write(&bytes[written..]) {
                Ok(0) => break Err(ErrorKind::WriteZero.into()),
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
            if written >= bytes.len() {
                break Ok(());
            }
        };
        if let Some(last) = written.checked_sub(1).and_then(|index| bytes.get(index)) {
            self.torn = *last != b'\n';
        }
        result
    }
}

/// Opens a log file for appending and creates it where it is missing.
pub(super) fn open_log_file(path: &Path) -> io::Result<Output> {
    let file = OpenOptions::new().append(true).create(true).mode(LOG_FILE_MODE).open(path)?;
    // A process that was killed, or a machine that lost its power, may have left half a line behind.
    let torn = file.metadata()?.is_file() && ends_within_a_line(path).unwrap_or(false);
    Ok(Output { target: Box::new(file), torn })
}

fn ends_within_a_line(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::{Arc, Mutex};

    /// Takes at most so many bytes a write, as scripted, then everything; keeps what it took and counts the writes.
    #[derive(Clone, Default)]
    struct Scripted {
        script: Arc<Mutex<Vec<Result<usize, ErrorKind>>>>,
        writes: Arc<Mutex<Vec<Vec<u8>>>>,
    }

    impl Scripted {
        fn new(script: &[Result<usize, ErrorKind>]) -> Scripted {
            let script = Arc::new(Mutex::new(script.iter().rev().copied().collect()));
            Scripted { script, ..Scripted::default() }
        }

        fn writes(&self) -> Vec<String> {
            self.writes.lock().unwrap().iter().map(|bytes| String::from_utf8(bytes.clone()).unwrap()).collect()
        }
    }

    impl Write for Scripted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = self.script.lock().unwrap().pop().unwrap_or(Ok(usize::MAX))?.min(bytes.len());
            self.writes.lock().unwrap().push(bytes[..count].to_vec());
            Ok(count)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn write(output: &mut Output, text: &str) -> io::Result<()> {
        let mut buffer = LineBuffer::new();
        buffer.restart().extend_from_slice(text.as_bytes());
        output.write_line(&buffer)
    }

    #[test]
    fn a_line_is_one_write_however_long_it_is() {
        let target = Scripted::default();
        let mut output = Output::to(target.clone());
        let long = "x".repeat(300_000) + "\n";
        write(&mut output, "a\n").unwrap();
        write(&mut output, &long).unwrap();
        write(&mut output, "b\n").unwrap();
        assert_eq!(target.writes(), ["a\n", &long, "b\n"]);
    }

    #[test]
    fn a_line_taken_in_parts_is_completed() {
        let target = Scripted::new(&[Ok(3), Err(ErrorKind::Interrupted), Ok(2)]);
        let mut output = Output::to(target.clone());
        write(&mut output, "abcdefg\n").unwrap();
        write(&mut output, "next\n").unwrap();
        assert_eq!(target.writes(), ["abc", "de", "fg\n", "next\n"]);
    }

    #[test]
    fn a_torn_line_is_not_glued_to_the_next_one_and_the_next_one_is_still_one_write() {
        let full = Err(ErrorKind::StorageFull);
        let target = Scripted::new(&[Ok(3), full, full, Ok(usize::MAX)]);
        let mut output = Output::to(target.clone());
        assert_eq!(write(&mut output, "abcdefg\n").unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(write(&mut output, "lost\n").unwrap_err().kind(), ErrorKind::StorageFull);
        write(&mut output, "next\n").unwrap();
        write(&mut output, "after\n").unwrap();
        assert_eq!(target.writes(), ["abc", "\nnext\n", "after\n"]);
    }

    #[test]
    fn a_target_that_takes_nothing_is_a_failure_and_not_a_loop() {
        let mut output = Output::to(Scripted::new(&[Ok(0)]));
        assert_eq!(write(&mut output, "a\n").unwrap_err().kind(), ErrorKind::WriteZero);
    }

    #[test]
    fn a_file_that_ends_within_a_line_is_continued_on_a_new_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        std::fs::write(&path, "whole\nhal").unwrap();
        write(&mut open_log_file(&path).unwrap(), "new\n").unwrap();
        write(&mut open_log_file(&path).unwrap(), "newer\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "whole\nhal\nnew\nnewer\n");
    }

    #[test]
    fn a_new_file_is_closed_to_strangers() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        open_log_file(&path).unwrap();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let umask = status.lines().find_map(|line| line.strip_prefix("Umask:")).unwrap().trim();
        let umask = u32::from_str_radix(umask, 8).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640 & !umask);
    }

    #[test]
    fn one_enormous_line_does_not_hold_its_memory_for_ever() {
        let mut buffer = LineBuffer::new();
        buffer.restart().resize(4 * 1024 * 1024, b'x');
        assert!(buffer.restart().capacity() < 1024);
    }
}
