//! Reloads the configuration: applies what can change at once, and reports the rest.

use std::sync::Arc;

use parking_lot::Mutex;
use slog::{Logger, info, warn};

use crate::actors::PipelineHandle;
use crate::api::views::{ConfigurationRow, Reloaded};
use crate::api::{AccessRules, ConfigHandle, SharedAccessRules};
use crate::config::{ConfigRequest, Effective, Problems, Settings, load};
use crate::http::Client;
use crate::service::Service;
use crate::telemetry::LogHandle;

/// Keys, or prefixes of keys, that apply at once, and the part of the program that uses them.
const AT_ONCE: [(&str, Follower); 14] = [
    ("source.", Follower::Rules),
    ("posts.", Follower::Rules),
    ("history.", Follower::Rules),
    ("host.", Follower::Rules),
    ("outage.", Follower::Rules),
    ("webhooks.", Follower::Rules),
    ("audit.", Follower::Rules),
    ("events.", Follower::Rules),
    ("http.", Follower::Requests),
    ("api.jwt-", Follower::AccessRules),
    ("api.requests-per-second", Follower::AccessRules),
    ("api.trusted-proxies", Follower::AccessRules),
    ("api.allowed-hosts", Follower::AccessRules),
    ("logging.level", Follower::Log),
];

/// The current configuration. Clones share it.
#[derive(Clone)]
pub(super) struct Reloader(Arc<ReloaderState>);

struct ReloaderState {
    request: ConfigRequest,
    /// Held during a reload, so that an earlier one cannot overwrite a later one.
    reloading: Mutex<()>,
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
        Reloader(Arc::new(ReloaderState {
            request,
            reloading: Mutex::new(()),
            in_force: Mutex::new(in_force),
            followers,
        }))
    }

    pub(super) fn listener(&self) -> ConfigHandle {
        let (shown, again) = (self.clone(), self.clone());
        ConfigHandle { effective: Box::new(move || shown.rows()), reload: Box::new(move || again.reload()) }
    }

    /// Reloads on a thread of its own, because files are read. The log has the outcome. A file system that hangs delays
    /// neither the actors nor the end of the process.
    pub(super) fn reload_apart(&self, service: Service) {
        let (reloader, runtime) = (self.clone(), tokio::runtime::Handle::current());
        let reload = move || {
            let _entered = runtime.enter();
            if let Ok(Reloaded { changed, needs_restart }) = reloader.reload() {
                runtime.spawn(async move { service.note_reload(&changed, &needs_restart).await });
            }
        };
        if let Err(error) = std::thread::Builder::new().name("reload".to_owned()).spawn(reload) {
            warn!(self.0.followers.log, "configuration not reloaded"; "error" => format!("no thread: {error}"));
        }
    }

    /// Reads all layers again. With any error, nothing changes. Blocks.
    pub(super) fn reload(&self) -> Result<Reloaded, Vec<String>> {
        let log = &self.0.followers.log;
        let _reloading = self.0.reloading.lock();
        // Whatever changed: the operator has asked for the present state of things.
        self.0.followers.client.refresh_resolver();
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

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::config::Loaded;

    fn loaded(assignments: Vec<String>) -> Option<Loaded> {
        let secret = ("FEEDWARDEN__API__JWT_SECRET".into(), "a secret that is long enough for HS256".into());
        load(&ConfigRequest { file: None, environment: vec![secret], assignments }).ok()
    }

    /// Values that may be another one for a key that has this one.
    fn others(value: &Value) -> Vec<String> {
        match value {
            Value::Bool(flag) => vec![(!flag).to_string()],
            Value::Number(number) => {
                let number = number.as_u64().unwrap();
                vec![(number + 1).to_string(), number.saturating_sub(1).to_string()]
            }
            _ => [
                "http://192.0.2.1/",
                "http://192.0.2.1:3128",
                "mailto:me@example.org",
                "192.0.2.1",
                "10.0.0.0/8",
                "2001:db8::/96",
                "keep",
                "new",
                "always",
                "fixed",
                "debug",
                "Other/1.0",
                "1000",
            ]
            .map(str::to_owned)
            .to_vec(),
        }
    }

    /// Another configuration in which only this key differs.
    fn with_another(base: &Loaded, key: &str, value: &Value) -> Option<Loaded> {
        let candidates = others(value).into_iter().filter_map(|other| loaded(vec![format!("{key}={other}")]));
        candidates.into_iter().find(|other| base.effective.differences(&other.effective) == [key])
    }

    #[test]
    fn every_key_that_is_reported_as_reloaded_changes_what_its_follower_gets_and_no_other_key_does() {
        let base = loaded(Vec::new()).unwrap();
        let mut keys: Vec<(String, Value)> =
            base.effective.shown().map(|shown| (shown.key.to_owned(), shown.value)).collect();
        keys.push(("source.host-overrides.a.example.poll-delay-seconds".into(), 7.into()));
        keys.push(("http.static-hosts.a.example".into(), "".into()));
        let mut followed = Vec::new();
        for (key, value) in keys {
            let Some(other) = with_another(&base, &key, &value) else {
                // Keys that name files, and secrets, of which nothing can be compared.
                let is_special =
                    ["file", "secret", "key", "socket", "url", "algorithm"].iter().any(|word| key.contains(word));
                assert!(follower(&key).is_none() || is_special, "no other value of {key} is known");
                continue;
            };
            let (old, new) = (&base.settings, &other.settings);
            let access = |settings: &Settings| {
                let (tokens, limits) = (&settings.api.tokens, &settings.api.limits);
                let tokens = tokens.as_ref().map(|tokens| (tokens.audience.clone(), tokens.leeway));
                let names = (settings.api.trusted_proxies.clone(), settings.api.allowed_hosts.clone());
                (tokens, limits.requests_per_second, names)
            };
            let changed = [
                (Follower::Rules, old.policy != new.policy),
                (Follower::Requests, old.http != new.http),
                (Follower::AccessRules, access(old) != access(new)),
                (Follower::Log, old.log.level != new.log.level),
            ];
            let changed: Vec<Follower> =
                changed.into_iter().filter_map(|(who, is_changed)| is_changed.then_some(who)).collect();
            assert_eq!(changed, Vec::from_iter(follower(&key)), "{key}");
            followed.extend(changed);
        }
        for (who, at_least) in
            [(Follower::Rules, 40), (Follower::Requests, 10), (Follower::AccessRules, 2), (Follower::Log, 1)]
        {
            let count = followed.iter().filter(|other| **other == who).count();
            assert!(count >= at_least, "{who:?} follows {count} keys");
        }
    }
}
