//! Token and rate rules of the TCP listener, which can change while it is open.

use std::sync::Arc;

use parking_lot::RwLock;

use super::settings::ApiSettings;
use super::tokens::{TokenError, Verifier};

/// The current rules. Clones share them.
#[derive(Clone)]
pub struct SharedAccessRules(Arc<RwLock<Arc<AccessRules>>>);

pub struct AccessRules {
    pub(super) verifier: Option<Verifier>,
    /// Requests per second of one client.
    pub(super) requests_per_second: u32,
}

impl SharedAccessRules {
    pub(super) fn new(settings: &ApiSettings) -> Result<SharedAccessRules, TokenError> {
        Ok(SharedAccessRules(Arc::new(RwLock::new(Arc::new(AccessRules::new(settings)?)))))
    }

    /// Applies new rules from the next request on.
    pub fn follow(&self, rules: AccessRules) {
        *self.0.write() = Arc::new(rules);
    }

    pub(super) fn rules(&self) -> Arc<AccessRules> {
        self.0.read().clone()
    }
}

impl AccessRules {
    /// Creates the rules; fails if the key is invalid.
    pub fn new(settings: &ApiSettings) -> Result<AccessRules, TokenError> {
        let verifier = settings.tokens.as_ref().map(Verifier::new).transpose()?;
        Ok(AccessRules { verifier, requests_per_second: settings.limits.requests_per_second })
    }
}
