//! Converts all errors of a request into failures.

use std::error::Error as _;
use std::io;
use std::net::IpAddr;

use super::decode::DecodeError;
use super::memory::MemoryRefusal;
use super::progress::RequestStage;
use super::redirect::RedirectError;
use super::resolve::ResolveError;
use super::tls;
use crate::model::{FailureCause, FailureReport, RateLimit, Timestamp};

/// Maximum length of a message; a publisher could otherwise make it arbitrarily long.
const ERROR_CHARACTERS_MAX: usize = 500;

/// "Too many open files", for this process and for the machine; the same numbers on every Unix.
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

pub(super) fn report(cause: FailureCause, error: impl Into<String>) -> FailureReport {
    let mut error = error.into();
    if let Some((place, _)) = error.char_indices().nth(ERROR_CHARACTERS_MAX) {
        error.truncate(place);
        error.push('…');
    }
    FailureReport { cause, error, retry_after: None }
}

pub(super) fn connection(error: impl Into<String>) -> FailureReport {
    report(FailureCause::Connection, error)
}

/// This node may send no requests now: it has not renewed its lease in the database in time.
pub(super) fn window_closed() -> FailureReport {
    let error =
        "this node lost touch with the database, so it may send no requests: another node may have its hosts by now";
    report(FailureCause::Internal, error)
}

pub(super) fn no_network(error: impl Into<String>) -> FailureReport {
    report(FailureCause::NoNetwork, error)
}

/// A connection for which there is no route. If there is one to the other kind of addresses, the network is up, and only
/// hosts of this kind cannot be reached from here.
pub(super) fn no_route(failure: FailureReport, has_other_route: bool) -> FailureReport {
    match failure.cause {
        FailureCause::NoNetwork if has_other_route => FailureReport { cause: FailureCause::NoRoute, ..failure },
        _ => failure,
    }
}

/// Timeout. Before the connection is established it counts as no response; afterwards the host is known to be there.
pub(super) fn timed_out(error: impl Into<String>, stage: RequestStage) -> FailureReport {
    let cause = match stage {
        RequestStage::Resolving => FailureCause::NoNetwork,
        RequestStage::Connecting(_) => FailureCause::Unreachable,
        RequestStage::Securing | RequestStage::Waiting | RequestStage::Reading { .. } => FailureCause::Stalled,
        RequestStage::WaitingForMemory => FailureCause::MemoryShort,
    };
    report(cause, error)
}

pub(super) fn other(error: impl Into<String>) -> FailureReport {
    report(FailureCause::Other, error)
}

/// A name that does not resolve is a failure of the source, whatever the resolver returned (s104); a resolver without a
/// response indicates our own network, and one that cannot find out may (p31).
pub(super) fn from_resolve(error: ResolveError) -> FailureReport {
    let cause = match error {
        ResolveError::NoSuchName => FailureCause::Dns,
        ResolveError::Refused(_) => FailureCause::ResolverFailed,
        ResolveError::NoAnswer(_) => FailureCause::NoNetwork,
    };
    report(cause, format!("DNS: {error}"))
}

pub(super) fn refused_address(address: IpAddr, objection: &str) -> FailureReport {
    let error = format!("address {address} is refused: {objection}; see http.allowed-networks");
    report(FailureCause::AddressRefused, error)
}

pub(super) fn from_redirect(error: RedirectError, status: u16) -> FailureReport {
    match error {
        RedirectError::NoLocation => report(FailureCause::Status(status), format!("HTTP {status}: {error}")),
        error => report(FailureCause::Redirect, error.to_string()),
    }
}

pub(super) fn from_decode(error: DecodeError, limit: usize) -> FailureReport {
    match error {
        DecodeError::TooLarge => too_large(limit),
        DecodeError::Broken(encoding) => unreadable(format!("the {encoding} body is broken")),
        DecodeError::CutOff(encoding) => unreadable(format!("the {encoding} body ends early")),
        DecodeError::Unsupported(name) => unreadable(format!("content encoding {name:?} is not supported")),
    }
}

pub(super) fn too_large(limit: usize) -> FailureReport {
    const MEBIBYTE: usize = 1024 * 1024;
    other(match limit {
        limit if limit >= MEBIBYTE && limit.is_multiple_of(MEBIBYTE) => format!("body over {} MiB", limit / MEBIBYTE),
        limit if limit >= 1024 && limit.is_multiple_of(1024) => format!("body over {} KiB", limit / 1024),
        limit => format!("body over {limit} bytes"),
    })
}

/// The body was refused because others wait for memory.
pub(super) fn memory_short(refusal: MemoryRefusal) -> FailureReport {
    report(FailureCause::MemoryShort, refusal.to_string())
}

/// A response that is neither 200 nor 304, or a challenge page.
pub(super) fn from_status(status: hyper::StatusCode, challenged: bool) -> FailureReport {
    let code = status.as_u16();
    let error = match status.canonical_reason() {
        _ if challenged => format!("HTTP {code}: the publisher's guard asks for a browser (challenge page)"),
        Some(reason) => format!("HTTP {code} {reason}"),
        None => format!("HTTP {code}"),
    };
    report(FailureCause::Status(code), error)
}

/// The failure with the wait that its answer asks for: the later of `Retry-After` and the reset of a rate limit that is
/// the reason for a 429, or that is used up for a 503 (p38). A 403 is a refusal for the rate limit if that is used up, as
/// GitHub documents.
pub(super) fn with_waits(
    failure: FailureReport,
    retry_after: Option<Timestamp>,
    rate_limit: Option<RateLimit>,
) -> FailureReport {
    let used_up = rate_limit.filter(|limit| limit.is_used_up);
    let (cause, reason) = match failure.cause {
        FailureCause::Status(429) => (failure.cause, rate_limit),
        FailureCause::Status(503) => (failure.cause, used_up),
        FailureCause::Status(status @ 403) if used_up.is_some() => (FailureCause::RateLimited(status), used_up),
        cause => (cause, None),
    };
    let error = match cause {
        FailureCause::RateLimited(_) => format!("{}: the rate limit is used up", failure.error),
        _ => failure.error,
    };
    FailureReport { cause, error, retry_after: retry_after.max(reason.map(|limit| limit.resets_at)) }
}

/// An I/O error, at this stage of the request.
pub(super) fn from_io(error: &io::Error, stage: RequestStage) -> FailureReport {
    if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return connection(tls::describe(error));
    }
    if is_our_fault(error) {
        return report(FailureCause::Internal, format!("this machine ran out of something: {error}"));
    }
    match error.kind() {
        io::ErrorKind::ConnectionRefused => connection(format!("connection refused while {stage}")),
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::BrokenPipe => {
            connection(format!("connection reset while {stage}"))
        }
        io::ErrorKind::UnexpectedEof => connection(format!("connection closed while {stage}")),
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::NetworkDown
            if matches!(stage, RequestStage::Connecting(_)) =>
        {
            no_network(format!("no route while {stage}"))
        }
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable | io::ErrorKind::NetworkDown => {
            timed_out(format!("no route while {stage}"), stage)
        }
        io::ErrorKind::TimedOut => timed_out(format!("timed out while {stage}"), stage),
        _ => connection(format!("{error} while {stage}")),
    }
}

/// An HTTP error at this stage of the request; `spoke_tls` if the server's first byte was TLS.
pub(super) fn from_hyper(error: &hyper::Error, stage: RequestStage, spoke_tls: bool) -> FailureReport {
    if error.is_parse() {
        return other(if spoke_tls {
            "the server speaks TLS on this port, but the URL says http".to_owned()
        } else {
            format!("the answer cannot be read as HTTP: {error}")
        });
    }
    if error.is_incomplete_message() {
        return connection(format!("connection closed while {stage}"));
    }
    match error.source().and_then(|source| source.downcast_ref::<io::Error>()) {
        Some(source) if source.kind() == io::ErrorKind::InvalidInput || source.kind() == io::ErrorKind::InvalidData => {
            match source.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                Some(error) => connection(tls::describe(error)),
                None => other("the chunked body is broken"),
            }
        }
        Some(source) => from_io(source, stage),
        None => connection(format!("{error} while {stage}")),
    }
}

/// Exhausted resources of this process or machine do not count for a source.
fn is_our_fault(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(EMFILE | ENFILE))
        || matches!(error.kind(), io::ErrorKind::OutOfMemory | io::ErrorKind::AddrNotAvailable)
}

fn unreadable(error: String) -> FailureReport {
    report(FailureCause::Unreadable, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s111_running_out_of_descriptors_ports_or_memory_is_our_own_fault() {
        let causes = |code| from_io(&io::Error::from_raw_os_error(code), RequestStage::Waiting).cause;
        assert_eq!([EMFILE, ENFILE, 99, 12].map(causes), [FailureCause::Internal; 4]);
        assert_eq!(causes(111), FailureCause::Connection);
    }

    #[test]
    fn p31_no_route_and_no_connection_in_time_are_silence_and_a_refused_connection_is_an_answer() {
        let connecting = RequestStage::Connecting("192.0.2.1:80".parse().unwrap());
        let cause = |code| from_io(&io::Error::from_raw_os_error(code), connecting).cause;
        // Network is down, network is unreachable.
        assert_eq!([100, 101].map(cause), [FailureCause::NoNetwork; 2]);
        // Connection timed out, no route to host.
        assert_eq!([110, 113].map(cause), [FailureCause::Unreachable; 2]);
        // Connection reset, connection refused.
        assert_eq!([104, 111].map(cause), [FailureCause::Connection; 2]);
    }

    #[test]
    fn p31_a_host_of_a_kind_of_addresses_that_this_machine_cannot_reach_is_no_outage() {
        let unreachable = || no_network("no route while connecting to [2001:db8::1]:80");
        assert_eq!(no_route(unreachable(), true).cause, FailureCause::NoRoute);
        assert_eq!(no_route(unreachable(), false).cause, FailureCause::NoNetwork);
        assert_eq!(no_route(connection("reset"), true).cause, FailureCause::Connection);
    }

    #[test]
    fn a_text_is_bounded_whatever_a_publisher_puts_into_it() {
        let error = other("ä".repeat(10_000)).error;
        assert_eq!(error.chars().count(), ERROR_CHARACTERS_MAX + 1);
    }

    #[test]
    fn limits_are_named_in_round_units() {
        let name = |limit| too_large(limit).error;
        assert_eq!(name(10 * 1024 * 1024), "body over 10 MiB");
        assert_eq!(name(64 * 1024), "body over 64 KiB");
        assert_eq!(name(1_000_000), "body over 1000000 bytes");
    }
}
