//! The daemon: starts every room with its settings, and ends them in reverse.

use std::error::Error;

use crate::config::Settings;

/// Runs until the daemon is told to stop.
pub async fn run(_settings: Settings) -> Result<(), Box<dyn Error + Send + Sync>> {
    Err("this build has no daemon yet".into())
}
