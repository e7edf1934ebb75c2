//! Whom the TCP listener lets in, and how often: what can be changed while it is open.

use std::sync::Arc;

use parking_lot::RwLock;

use super::settings::ApiSettings;
use super::tokens::{TokenError, Verifier};

/// The rules in force. Clones are the same.
#[derive(Clone)]
pub struct Admission(Arc<RwLock<Arc<Rules>>>);

/// What a request is judged by.
pub struct Rules {
    /// Checks tokens; nobody gets in without.
    pub(super) verifier: Option<Verifier>,
    /// How often one payer may ask in the long run.
    pub(super) requests_per_second: u32,
}

impl Admission {
    pub(super) fn new(settings: &ApiSettings) -> Result<Admission, TokenError> {
        Ok(Admission(Arc::new(RwLock::new(Arc::new(Rules::new(settings)?)))))
    }

    /// Judges by these rules from the next request on.
    pub fn follow(&self, rules: Rules) {
        *self.0.write() = Arc::new(rules);
    }

    pub(super) fn rules(&self) -> Arc<Rules> {
        self.0.read().clone()
    }
}

impl Rules {
    /// The rules that the settings make, unless their key is of no use.
    pub fn new(settings: &ApiSettings) -> Result<Rules, TokenError> {
        let verifier = settings.tokens.as_ref().map(Verifier::new).transpose()?;
        Ok(Rules { verifier, requests_per_second: settings.limits.requests_per_second })
    }
}
