//! A request that stopped at a redirect, so that the next hop can wait for its own host.

use std::fmt;

use url::Url;

use super::reply::Hop;
use super::request::without_credentials;

/// Target of a redirect, and the requests so far: all that the next request needs to continue.
#[derive(Clone, PartialEq, Eq)]
pub struct PendingRedirect {
    target: Url,
    shown: Url,
    hops: Vec<Hop>,
    trusted: bool,
}

impl PendingRedirect {
    pub(super) fn new(target: Url, hops: Vec<Hop>, trusted: bool) -> PendingRedirect {
        PendingRedirect { shown: without_credentials(&target), target, hops, trusted }
    }

    /// Next URL, without credentials.
    pub fn url(&self) -> &Url {
        &self.shown
    }

    /// Requests so far. They count towards the limit of redirects, and none is repeated (p21).
    pub fn hops(&self) -> &[Hop] {
        &self.hops
    }

    /// Next URL, with credentials.
    pub(super) fn target(&self) -> &Url {
        &self.target
    }

    /// Whether all hops had the first origin, so that secrets may still be sent (p23).
    pub(super) fn trusted(&self) -> bool {
        self.trusted
    }
}

impl fmt::Debug for PendingRedirect {
    /// Omits the credentials.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Taken apart, so that a new field cannot be forgotten here.
        let PendingRedirect { target: _, shown, hops, trusted } = self;
        formatter
            .debug_struct("PendingRedirect")
            .field("url", &shown.as_str())
            .field("hops", hops)
            .field("trusted", trusted)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p37_the_credentials_of_a_redirects_target_do_not_show() {
        let target = Url::parse("https://ann:hidden@feeds.example/new#part").unwrap();
        let pending_redirect = PendingRedirect::new(target, Vec::new(), true);
        assert_eq!(pending_redirect.url().as_str(), "https://feeds.example/new");
        let printed = format!("{pending_redirect:?}");
        assert!(printed.contains("https://feeds.example/new"), "{printed}");
        assert!(!printed.contains("hidden") && !printed.contains("ann"), "{printed}");
    }
}
