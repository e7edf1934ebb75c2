//! Reads the configuration anew while the daemon runs: what can change at once does, the rest is told.

use std::sync::{Arc, Mutex, MutexGuard};

use slog::{Logger, info, warn};

use crate::actors::PipelineHandle;
use crate::api::ConfigurationDoor;
use crate::api::views::{ConfigurationRow, Reloaded};
use crate::config::{Effective, Problems, Request, load};
use crate::http::Client;
use crate::telemetry::LogHandle;

/// Keys that hold as soon as they are read: those of the rules, those of requests, and the level of the log.
const AT_ONCE: [&str; 5] = ["source.", "host.", "outage.", HTTP, LEVEL];
const HTTP: &str = "http.";
const LEVEL: &str = "logging.level";

/// Knows the configuration in force. Clones are the same.
#[derive(Clone)]
pub(super) struct Reloader(Arc<Inner>);

struct Inner {
    request: Request,
    /// What the daemon follows now; a key that waits for a restart is as it was at the start.
    in_force: Mutex<Effective>,
    followers: Followers,
}

/// Who can follow another configuration while they run.
pub(super) struct Followers {
    pub(super) handle: PipelineHandle,
    pub(super) client: Client,
    pub(super) log_handle: LogHandle,
    pub(super) log: Logger,
}

impl Reloader {
    pub(super) fn new(in_force: Effective, request: Request, followers: Followers) -> Reloader {
        Reloader(Arc::new(Inner { request, in_force: Mutex::new(in_force), followers }))
    }

    /// What the doors may do with it.
    pub(super) fn door(&self) -> ConfigurationDoor {
        let (shown, again) = (self.clone(), self.clone());
        ConfigurationDoor { effective: Box::new(move || shown.rows()), reload: Box::new(move || again.reload()) }
    }

    /// Reads all layers anew. With any mistake in them, nothing changes.
    pub(super) fn reload(&self) -> Result<Reloaded, Vec<String>> {
        let log = &self.0.followers.log;
        match self.follow() {
            Ok(reloaded) => {
                info!(log, "configuration reloaded";
                    "changed" => reloaded.changed.join(", "), "needs_restart" => reloaded.needs_restart.join(", "));
                Ok(reloaded)
            }
            Err(mistakes) => {
                warn!(log, "configuration not reloaded"; "error" => mistakes.join("; "));
                Err(mistakes)
            }
        }
    }

    fn follow(&self) -> Result<Reloaded, Vec<String>> {
        let new = load(&self.0.request)
            .map_err(|Problems(problems)| problems.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        let mut in_force = self.in_force();
        let (changed, needs_restart): (Vec<String>, Vec<String>) =
            in_force.differences(&new.effective).into_iter().partition(|key| holds_at_once(key));
        let Followers { handle, client, log_handle, .. } = &self.0.followers;
        // The one follower who may refuse comes first.
        if changed.iter().any(|key| key.starts_with(HTTP)) {
            client.reconfigure(new.settings.http).map_err(|error| vec![error.to_string()])?;
        }
        if changed.iter().any(|key| key == LEVEL) {
            log_handle.set_level(new.settings.log.level);
        }
        if changed.iter().any(|key| !key.starts_with(HTTP) && key != LEVEL) {
            handle.set_policy(new.settings.policy);
        }
        in_force.adopt(&changed, &new.effective);
        Ok(Reloaded { changed, needs_restart })
    }

    fn rows(&self) -> Vec<ConfigurationRow> {
        let row = |shown: crate::config::Shown<'_>| ConfigurationRow {
            key: shown.key.to_owned(),
            value: shown.value,
            origin: shown.origin.to_string(),
        };
        self.in_force().shown().map(row).collect()
    }

    fn in_force(&self) -> MutexGuard<'_, Effective> {
        self.0.in_force.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Whether a key needs no restart. Those that end in a dot are whole sections.
fn holds_at_once(key: &str) -> bool {
    AT_ONCE.iter().any(|known| key == *known || (known.ends_with('.') && key.starts_with(known)))
}
