//! What went wrong, in words: the one place that turns other people's errors into ours.

use std::error::Error as _;
use std::io;
use std::net::IpAddr;

use super::decode::DecodeError;
use super::journey::Stage;
use super::redirect::RedirectError;
use super::resolve::ResolveError;
use super::tls;
use crate::model::{FailureCause, FailureReport};

pub(super) fn report(cause: FailureCause, error: impl Into<String>) -> FailureReport {
    FailureReport { cause, error: error.into(), retry_after: None }
}

pub(super) fn connection(error: impl Into<String>) -> FailureReport {
    report(FailureCause::Connection, error)
}

pub(super) fn other(error: impl Into<String>) -> FailureReport {
    report(FailureCause::Other, error)
}

/// Only a name that is known not to exist is the source's fault.
pub(super) fn from_resolve(error: ResolveError) -> FailureReport {
    let cause = match error {
        ResolveError::NoSuchName => FailureCause::Dns,
        ResolveError::NoAnswer(_) => FailureCause::Connection,
    };
    report(cause, format!("DNS: {error}"))
}

pub(super) fn refused_address(address: IpAddr, objection: &str) -> FailureReport {
    other(format!("address {address} is refused: {objection}"))
}

pub(super) fn from_redirect(error: RedirectError, status: u16) -> FailureReport {
    match error {
        RedirectError::NoLocation => report(FailureCause::Status(status), format!("HTTP {status}: {error}")),
        error => other(error.to_string()),
    }
}

pub(super) fn from_decode(error: DecodeError, limit: usize) -> FailureReport {
    match error {
        DecodeError::TooLarge => too_large(limit),
        DecodeError::Broken(encoding) => unreadable(format!("the {} body is broken", encoding.name())),
        DecodeError::CutOff(encoding) => unreadable(format!("the {} body ends early", encoding.name())),
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

/// An answer that is neither 200 nor 304.
pub(super) fn from_status(status: hyper::StatusCode, challenged: bool) -> FailureReport {
    let code = status.as_u16();
    let error = match status.canonical_reason() {
        _ if challenged => format!("HTTP {code}: the publisher's guard asks for a browser (challenge page)"),
        Some(reason) => format!("HTTP {code} {reason}"),
        None => format!("HTTP {code}"),
    };
    report(FailureCause::Status(code), error)
}

/// An I/O error, at this stage of the request.
pub(super) fn from_io(error: &io::Error, stage: Stage) -> FailureReport {
    if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return connection(tls::describe(error));
    }
    connection(match error.kind() {
        io::ErrorKind::ConnectionRefused => format!("connection refused while {stage}"),
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::BrokenPipe => {
            format!("connection reset while {stage}")
        }
        io::ErrorKind::UnexpectedEof => format!("connection closed while {stage}"),
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => format!("no route while {stage}"),
        io::ErrorKind::TimedOut => format!("timed out while {stage}"),
        _ => format!("{error} while {stage}"),
    })
}

/// An error of the HTTP machinery, at this stage of the request; `spoke_tls` if the other side's first byte was TLS.
pub(super) fn from_hyper(error: &hyper::Error, stage: Stage, spoke_tls: bool) -> FailureReport {
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

fn unreadable(error: String) -> FailureReport {
    report(FailureCause::Unreadable, error)
}
