//! The settings of the log.

use std::path::PathBuf;

/// What is logged, how and where to.
#[derive(Clone, Debug, PartialEq)]
pub struct LogSettings {
    /// The least severe level that is written.
    pub level: slog::Level,
    /// The shape of a record.
    pub format: LogFormat,
    /// A file to append to; one of the standard streams without one.
    pub file: Option<PathBuf>,
    pub stream: LogStream,
    /// How many records may wait to be written before new ones are dropped and counted.
    pub queue_records: usize,
}

/// Where records go that go into no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogStream {
    /// Standard output, where the log is all that the program has to say.
    Output,
    /// Standard error, where standard output is for data.
    Error,
}

/// The shape of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people on a terminal, JSON everywhere else.
    Auto,
    /// One JSON object a line.
    Json,
    /// One line for a person to read.
    Human,
}

impl Default for LogSettings {
    fn default() -> LogSettings {
        LogSettings {
            level: slog::Level::Info,
            format: LogFormat::Auto,
            file: None,
            stream: LogStream::Output,
            queue_records: 8192,
        }
    }
}
