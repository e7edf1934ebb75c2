//! Token and rate rules of the TCP listener, which can change while it is open.

use std::sync::Arc;

use parking_lot::RwLock;

use super::settings::ApiSettings;
use super::tokens::{TokenError, Verifier};

/// The current rules. Clones share them.
#[derive(Clone)]
pub struct Admission(Arc<RwLock<Arc<Rules>>>);

pub struct Rules {
    pub(super) verifier: Option<Verifier>,
    /// Requests per second of one client.
    pub(super) requests_per_second: u32,
}

impl Admission {
    pub(super) fn new(settings: &ApiSettings) -> Result<Admission, TokenError> {
        Ok(Admission(Arc::new(RwLock::new(Arc::new(Rules::new(settings)?)))))
    }

    /// Applies new rules from the next request on.
    pub fn follow(&self, rules: Rules) {
        *self.0.write() = Arc::new(rules);
    }

    pub(super) fn rules(&self) -> Arc<Rules> {
        self.0.read().clone()
    }
}

impl Rules {
    /// Creates the rules; fails if the key is invalid.
    pub fn new(settings: &ApiSettings) -> Result<Rules, TokenError> {
        let verifier = settings.tokens.as_ref().map(Verifier::new).transpose()?;
        Ok(Rules { verifier, requests_per_second: settings.limits.requests_per_second })
    }
}
