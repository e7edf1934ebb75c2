//! Telemetry.
mod settings;
pub use settings::{LogFormat, LogSettings};
