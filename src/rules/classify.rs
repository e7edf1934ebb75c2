//! Kind, class and log level of a failure, by its cause.

use crate::model::{FailureCause, FailureClass, FailureKind, Severity};

/// Classification of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classified {
    pub kind: FailureKind,
    /// Whether it can pass by itself.
    pub class: FailureClass,
    pub severity: Severity,
    /// Reason for people.
    pub reason: &'static str,
}

/// Classifies a failure by its cause.
pub fn classify(cause: FailureCause) -> Classified {
    match cause {
        FailureCause::Status(status) => classify_status(status),
        FailureCause::RateLimited(_) => transient(FailureKind::RateLimited, "the rate limit of the host is used up"),
        FailureCause::Dns => permanent(FailureKind::Network, "the host's name does not resolve"),
        FailureCause::ResolverFailed => {
            permanent(FailureKind::Network, "the resolver cannot find out the address of the host's name")
        }
        FailureCause::NoRoute => transient(FailureKind::Network, "this machine has no route to the host's addresses"),
        FailureCause::NoNetwork => {
            transient(FailureKind::Network, "this machine's network or resolver does not answer")
        }
        FailureCause::Unreachable => transient(FailureKind::Network, "the host cannot be reached"),
        FailureCause::Connection => transient(FailureKind::Network, "the connection was refused or broke off"),
        FailureCause::Stalled => transient(FailureKind::Network, "no complete answer came in time"),
        FailureCause::Unreadable => {
            transient(FailureKind::ParseError, "the answer cannot be read as this type of source")
        }
        FailureCause::Credentials => permanent(FailureKind::Unauthorized, "the credentials for it are refused"),
        FailureCause::KeyMissing => transient(FailureKind::Unauthorized, "its owner has given no key"),
        FailureCause::Robots => permanent(FailureKind::Forbidden, "the publisher's robots.txt forbids it"),
        FailureCause::Redirect => transient(FailureKind::UpstreamFailure, "the publisher's redirects lead nowhere"),
        FailureCause::MemoryShort => {
            transient(FailureKind::UpstreamFailure, "the bodies in flight use up the memory for them")
        }
        FailureCause::AddressRefused => {
            transient(FailureKind::Forbidden, "the rules of this installation refuse the host's address")
        }
        FailureCause::SourceProxy => transient(FailureKind::Network, "the source's proxy cannot be reached"),
        FailureCause::Internal | FailureCause::Lost | FailureCause::Outage => {
            loud(FailureKind::Internal, "internal fault, not counted for the source")
        }
        FailureCause::Other => loud(FailureKind::Unexpected, "an error of no known kind"),
    }
}

fn classify_status(status: u16) -> Classified {
    match status {
        401 => permanent(FailureKind::Unauthorized, "credentials are missing or rejected"),
        403 => permanent(FailureKind::Forbidden, "the server refuses the request"),
        404 => permanent(FailureKind::NotFound, "there is no document at this URL"),
        410 => permanent(FailureKind::Gone, "the document was removed for good"),
        429 => transient(FailureKind::RateLimited, "the publisher asks for fewer requests"),
        500..=599 => transient(FailureKind::UpstreamFailure, "the publisher's server is broken"),
        _ => loud(FailureKind::Unexpected, "a status of no known kind"),
    }
}

fn permanent(kind: FailureKind, reason: &'static str) -> Classified {
    Classified { kind, class: FailureClass::Permanent, severity: Severity::Warn, reason }
}

fn transient(kind: FailureKind, reason: &'static str) -> Classified {
    Classified { kind, class: FailureClass::Transient, severity: Severity::Warn, reason }
}

fn loud(kind: FailureKind, reason: &'static str) -> Classified {
    Classified { kind, class: FailureClass::Transient, severity: Severity::Error, reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FailureClass::{Permanent, Transient};
    use Severity::{Error, Warn};

    fn check(
        causes: impl IntoIterator<Item = FailureCause>,
        kind: FailureKind,
        class: FailureClass,
        severity: Severity,
    ) {
        for cause in causes {
            let found = classify(cause);
            assert_eq!((found.kind, found.class, found.severity), (kind, class, severity), "{cause:?}");
            assert!(!found.reason.is_empty());
        }
    }

    #[test]
    fn s101_http_404_is_not_found_and_permanent() {
        check([FailureCause::Status(404)], FailureKind::NotFound, Permanent, Warn);
    }

    #[test]
    fn s102_http_5xx_is_an_upstream_failure_and_transient() {
        check((500..=599).map(FailureCause::Status), FailureKind::UpstreamFailure, Transient, Warn);
    }

    #[test]
    fn s103_a_failed_connection_is_network_and_transient() {
        let causes =
            [FailureCause::NoNetwork, FailureCause::Unreachable, FailureCause::Connection, FailureCause::Stalled];
        check(causes.into_iter().chain([FailureCause::NoRoute]), FailureKind::Network, Transient, Warn);
    }

    #[test]
    fn s104_dns_failure_is_network_and_permanent() {
        check([FailureCause::Dns, FailureCause::ResolverFailed], FailureKind::Network, Permanent, Warn);
    }

    #[test]
    fn s105_http_401_is_unauthorized_and_permanent() {
        check([FailureCause::Status(401), FailureCause::Credentials], FailureKind::Unauthorized, Permanent, Warn);
    }

    #[test]
    fn s106_http_403_is_forbidden_and_permanent() {
        check([FailureCause::Status(403)], FailureKind::Forbidden, Permanent, Warn);
    }

    #[test]
    fn p29_a_page_that_robots_forbid_is_forbidden() {
        check([FailureCause::Robots], FailureKind::Forbidden, Permanent, Warn);
        assert_eq!(classify(FailureCause::Robots).reason, "the publisher's robots.txt forbids it");
    }

    #[test]
    fn p21_redirects_that_lead_nowhere_are_the_publishers_fault_and_may_pass() {
        check([FailureCause::Redirect, FailureCause::MemoryShort], FailureKind::UpstreamFailure, Transient, Warn);
    }

    #[test]
    fn p36_a_refused_address_is_forbidden_and_may_pass() {
        check([FailureCause::AddressRefused], FailureKind::Forbidden, Transient, Warn);
    }

    #[test]
    fn s107_http_410_is_gone_and_permanent() {
        check([FailureCause::Status(410)], FailureKind::Gone, Permanent, Warn);
    }

    #[test]
    fn s108_http_429_is_rate_limited_and_transient() {
        check([FailureCause::Status(429)], FailureKind::RateLimited, Transient, Warn);
    }

    #[test]
    fn p38_a_refusal_because_of_the_rate_limit_is_rate_limited_and_transient() {
        check([FailureCause::RateLimited(403)], FailureKind::RateLimited, Transient, Warn);
    }

    #[test]
    fn s109_an_unreadable_body_is_a_parse_error_and_transient() {
        check([FailureCause::Unreadable], FailureKind::ParseError, Transient, Warn);
    }

    #[test]
    fn s110_everything_else_is_unexpected_transient_and_loud() {
        let named = [401, 403, 404, 410, 429];
        let others = (0..500).chain(600..=u16::MAX).filter(|status| !named.contains(status)).map(FailureCause::Status);
        check(others.chain([FailureCause::Other]), FailureKind::Unexpected, Transient, Error);
    }

    #[test]
    fn s111_our_own_fault_is_internal_transient_and_loud() {
        let causes = [FailureCause::Internal, FailureCause::Lost, FailureCause::Outage];
        check(causes, FailureKind::Internal, Transient, Error);
    }

    #[test]
    fn s113_a_missing_key_is_unauthorized_and_transient() {
        check([FailureCause::KeyMissing], FailureKind::Unauthorized, Transient, Warn);
    }
}
