//! `logging.*`.

use std::path::Path;

use super::super::effective::Effective;
use super::super::kind::KeyKind;
use super::super::schema::SchemaKey;
use crate::telemetry::{LogFormat, LogSettings, LogStream};

pub(super) const KEYS: &[SchemaKey] = &[
    SchemaKey::new(
        "logging.level",
        KeyKind::Choice(&["critical", "error", "warn", "info", "debug", "trace"]),
        "the least severe level that is written",
    ),
    SchemaKey::new("logging.format", KeyKind::Choice(&["auto", "json", "human"]), "the format of records"),
    SchemaKey::new("logging.file", KeyKind::Path, "the file to append to"),
    SchemaKey::count("logging.queue-records", 1, 1 << 20, "records in the queue at most"),
];

pub(in crate::config) fn log(values: &Effective) -> LogSettings {
    LogSettings {
        level: match values.choice("logging.level") {
            "critical" => slog::Level::Critical,
            "error" => slog::Level::Error,
            "warn" => slog::Level::Warning,
            "debug" => slog::Level::Debug,
            "trace" => slog::Level::Trace,
            _ => slog::Level::Info,
        },
        format: match values.choice("logging.format") {
            "json" => LogFormat::Json,
            "human" => LogFormat::Human,
            _ => LogFormat::Auto,
        },
        file: values.path("logging.file").map(Path::to_owned),
        stream: LogStream::Output,
        queue_records: values.count_usize("logging.queue-records"),
    }
}
