//! Reads the configuration anew while the daemon runs: what can change at once does, the rest is told.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use slog::{Logger, info, warn};

use crate::actors::PipelineHandle;
use crate::api::ConfigurationDoor;
use crate::api::views::{ConfigurationRow, Reloaded};
use crate::config::{Effective, Loaded, Problems, Request, load};
use crate::telemetry::LogHandle;

/// Keys that hold as soon as they are read: those of the rules, and the level of the log.
const AT_ONCE: [&str; 4] = ["source.", "host.", "outage.", "logging.level"];

/// Knows the configuration in force. Clones are the same.
#[derive(Clone)]
pub(super) struct Reloader(Arc<Inner>);

struct Inner {
    request: Request,
    loaded: Mutex<Loaded>,
    handle: PipelineHandle,
    log_handle: LogHandle,
    log: Logger,
}

impl Reloader {
    pub(super) fn new(
        loaded: Loaded,
        request: Request,
        handle: PipelineHandle,
        log_handle: LogHandle,
        log: Logger,
    ) -> Reloader {
        Reloader(Arc::new(Inner { request, loaded: Mutex::new(loaded), handle, log_handle, log }))
    }

    /// What the doors may do with it.
    pub(super) fn door(&self) -> ConfigurationDoor {
        let (shown, again) = (self.clone(), self.clone());
        ConfigurationDoor { effective: Box::new(move || shown.rows()), reload: Box::new(move || again.reload()) }
    }

    /// Reads all layers anew. With any mistake in them, nothing changes.
    pub(super) fn reload(&self) -> Result<Reloaded, Vec<String>> {
        let inner = &self.0;
        let new = match load(&inner.request) {
            Ok(new) => new,
            Err(Problems(problems)) => {
                let mistakes: Vec<String> = problems.iter().map(ToString::to_string).collect();
                warn!(inner.log, "configuration not reloaded"; "error" => mistakes.join("; "));
                return Err(mistakes);
            }
        };
        let mut loaded = inner.loaded.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (before, after) = (values(&loaded.effective), values(&new.effective));
        let differing = after.iter().filter(|(key, value)| before.get(*key) != Some(*value)).map(|(key, _)| key);
        let gone = before.keys().filter(|key| !after.contains_key(*key));
        let (changed, needs_restart): (Vec<String>, Vec<String>) = differing.chain(gone).cloned().partition(|key| {
            AT_ONCE.iter().any(|start| key == start || (start.ends_with('.') && key.starts_with(start)))
        });
        if loaded.settings.policy != new.settings.policy {
            inner.handle.set_policy(new.settings.policy.clone());
        }
        if changed.iter().any(|key| key == "logging.level") {
            inner.log_handle.set_level(new.settings.log.level);
        }
        *loaded = new;
        info!(inner.log, "configuration reloaded";
            "changed" => changed.join(", "), "needs_restart" => needs_restart.join(", "));
        Ok(Reloaded { changed, needs_restart })
    }

    fn rows(&self) -> Vec<ConfigurationRow> {
        let loaded = self.0.loaded.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let row = |shown: crate::config::Shown<'_>| ConfigurationRow {
            key: shown.key.to_owned(),
            value: shown.value,
            origin: shown.origin.to_string(),
        };
        loaded.effective.shown().map(row).collect()
    }
}

fn values(effective: &Effective) -> BTreeMap<String, Value> {
    effective.shown().map(|shown| (shown.key.to_owned(), shown.value)).collect()
}
