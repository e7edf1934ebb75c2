//! Rules of the TCP listener for tokens, rate, hosts and proxies, which can change while it is open.

use std::sync::Arc;

use ipnet::IpNet;
use tokio::sync::watch;

use super::host_names::HostNames;
use super::settings::ApiSettings;
use super::tokens::{TokenError, Verifier};

/// The current rules. Clones share them.
#[derive(Clone)]
pub struct SharedAccessRules(Arc<watch::Sender<Arc<AccessRules>>>);

pub struct AccessRules {
    pub(super) verifier: Option<Verifier>,
    /// Requests per second of one client.
    pub(super) requests_per_second: u32,
    /// Networks of proxies that name the client.
    pub(super) trusted_proxies: Vec<IpNet>,
    pub(super) host_names: HostNames,
}

impl SharedAccessRules {
    pub(super) fn new(settings: &ApiSettings) -> Result<SharedAccessRules, TokenError> {
        Ok(SharedAccessRules(Arc::new(watch::Sender::new(Arc::new(AccessRules::new(settings)?)))))
    }

    /// Applies new rules from the next request on, and to open streams at once.
    pub fn follow(&self, rules: AccessRules) {
        self.0.send_replace(Arc::new(rules));
    }

    pub(super) fn rules(&self) -> Arc<AccessRules> {
        self.0.borrow().clone()
    }

    /// Notifies of every later change.
    pub(super) fn changes(&self) -> watch::Receiver<Arc<AccessRules>> {
        self.0.subscribe()
    }
}

impl AccessRules {
    /// Creates the rules; fails if the key is invalid.
    pub fn new(settings: &ApiSettings) -> Result<AccessRules, TokenError> {
        Ok(AccessRules {
            verifier: settings.tokens.as_ref().map(Verifier::new).transpose()?,
            requests_per_second: settings.limits.requests_per_second,
            trusted_proxies: settings.trusted_proxies.clone(),
            host_names: HostNames::new(&settings.allowed_hosts),
        })
    }
}
