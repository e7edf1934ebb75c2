//! The log: records go into a bounded queue, and a thread of its own writes each of them as one line.
//!
//! No caller ever waits for the log, and no failure of the log ever stops the caller or the log: what cannot be queued
//! or written is counted, and the count is written as soon as that is possible again. `docs/logging.md` is the
//! operator's view. Uses `clock` and `model` only.
//!
//! The queue and the thread are our own: `slog_async`'s thread ends for good when its drain fails or panics, takes the
//! time when it writes instead of when it is called, and waits without a bound for a stalled output at exit. A record
//! is built once, by its caller, as the line that the thread writes.

mod human;
mod json;
mod line;
mod output;
mod process;
mod queue;
mod settings;
mod writer;

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;

use slog::Logger;

use crate::clock::Clock;

pub use line::level_name;
pub use process::ProcessFigures;
pub use queue::{DroppedRecords, FlushGuard, LogHandle};
pub use settings::{LogFormat, LogSettings, LogStream};

use output::{Output, open_log_file};
use writer::Shape;

#[derive(Debug)]
pub struct Telemetry {
    /// The root of all loggers.
    pub logger: Logger,
    /// Steers the log while it runs.
    pub handle: LogHandle,
    /// Writes what is still queued when it is dropped; to be kept until the very end.
    pub guard: FlushGuard,
}

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configured file cannot be appended to.
    #[error("cannot open the log file {}: {source}", path.display())]
    File {
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system refuses a thread or a descriptor.
    #[error("cannot start the log: {0}")]
    System(#[from] io::Error),
}

pub fn start(settings: &LogSettings, clock: Arc<dyn Clock>) -> Result<Telemetry, StartError> {
    let is_terminal = match settings.stream {
        LogStream::Output => io::stdout().is_terminal(),
        LogStream::Error => io::stderr().is_terminal(),
    };
    let on_terminal = settings.file.is_none() && is_terminal;
    let output = match (&settings.file, settings.stream) {
        (Some(path), _) => open_log_file(path).map_err(|source| StartError::File { path: path.clone(), source })?,
        (None, LogStream::Output) => Output::stdout()?,
        (None, LogStream::Error) => Output::stderr()?,
    };
    let shape = shape_for(settings.format, on_terminal);
    Ok(queue::start(settings, clock, output, shape)?)
}

fn shape_for(format: LogFormat, on_terminal: bool) -> Shape {
    match format {
        LogFormat::Json => Shape::Json,
        LogFormat::Auto if !on_terminal => Shape::Json,
        LogFormat::Auto | LogFormat::Human => Shape::Human { colours: on_terminal },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_colours_and_every_other_output_json_unless_the_settings_say_otherwise() {
        assert_eq!(shape_for(LogFormat::Auto, true), Shape::Human { colours: true });
        assert_eq!(shape_for(LogFormat::Auto, false), Shape::Json);
        assert_eq!(shape_for(LogFormat::Human, true), Shape::Human { colours: true });
        assert_eq!(shape_for(LogFormat::Human, false), Shape::Human { colours: false });
        assert_eq!(shape_for(LogFormat::Json, true), Shape::Json);
        assert_eq!(shape_for(LogFormat::Json, false), Shape::Json);
    }
}
