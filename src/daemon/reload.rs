//! Reloads the configuration: applies what can change at once, and reports the rest.

use std::sync::Arc;

use parking_lot::Mutex;
use slog::{Logger, info, warn};

use crate::actors::PipelineHandle;
use crate::api::views::{ConfigurationRow, Reloaded};
use crate::api::{AccessRules, ConfigHandle, SharedAccessRules};
use crate::config::{ConfigRequest, Effective, Problems, Settings, load};
use crate::http::Client;
use crate::telemetry::LogHandle;

/// Keys, or prefixes of keys, that apply at once, and the part of the program that uses them.
const AT_ONCE: [(&str, Follower); 8] = [
    ("source.", Follower::Rules),
    ("host.", Follower::Rules),
    ("outage.", Follower::Rules),
    ("webhooks.", Follower::Rules),
    ("http.", Follower::Requests),
    ("api.jwt-", Follower::AccessRules),
    ("api.requests-per-second", Follower::AccessRules),
    ("logging.level", Follower::Log),
];

/// The current configuration. Clones share it.
#[derive(Clone)]
pub(super) struct Reloader(Arc<ReloaderState>);

struct ReloaderState {
    request: ConfigRequest,
    /// Effective values; a key that needs a restart keeps its old value.
    in_force: Mutex<Effective>,
    followers: Followers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follower {
    Rules,
    Requests,
    AccessRules,
    Log,
}

/// Parts of the program that can be reconfigured.
pub(super) struct Followers {
    pub(super) handle: PipelineHandle,
    pub(super) client: Client,
    pub(super) access_rules: SharedAccessRules,
    pub(super) log_handle: LogHandle,
    pub(super) log: Logger,
}

impl Reloader {
    pub(super) fn new(in_force: Effective, request: ConfigRequest, followers: Followers) -> Reloader {
        Reloader(Arc::new(ReloaderState { request, in_force: Mutex::new(in_force), followers }))
    }

    pub(super) fn listener(&self) -> ConfigHandle {
        let (shown, again) = (self.clone(), self.clone());
        ConfigHandle { effective: Box::new(move || shown.rows()), reload: Box::new(move || again.reload()) }
    }

    /// Reads all layers again. With any error, nothing changes.
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
        let mut in_force = self.0.in_force.lock();
        let (changed, needs_restart): (Vec<String>, Vec<String>) =
            in_force.differences(&new.effective).into_iter().partition(|key| follower(key).is_some());
        let concerns = |who| changed.iter().any(|key| follower(key) == Some(who));
        let Followers { handle, client, access_rules, log_handle, .. } = &self.0.followers;
        let Settings { policy, http, api, log, .. } = new.settings;
        // Steps that can fail come first, so that a failure changes nothing.
        let rules = concerns(Follower::AccessRules).then(|| AccessRules::new(&api)).transpose();
        let rules = rules.map_err(|error| vec![format!("api.jwt-public-key-file: {error}")])?;
        if concerns(Follower::Requests) {
            client.reconfigure(http).map_err(|error| vec![error.to_string()])?;
        }
        rules.into_iter().for_each(|rules| access_rules.follow(rules));
        if concerns(Follower::Log) {
            log_handle.set_level(log.level);
        }
        if concerns(Follower::Rules) {
            handle.set_policy(policy);
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
        self.0.in_force.lock().shown().map(row).collect()
    }
}

/// None if the key needs a restart.
fn follower(key: &str) -> Option<Follower> {
    AT_ONCE.iter().find(|(beginning, _)| key.starts_with(beginning)).map(|(_, follower)| *follower)
}
