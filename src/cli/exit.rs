//! Exit codes.

use std::process::{ExitCode, Termination};

/// Exit codes, which are part of the interface for service managers and scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Success = 0,
    /// The daemon could not start or continue, the output could not be written, or a checked document or source does
    /// not work.
    Failure = 1,
    /// Invalid command line or configuration; a retry does not help.
    Usage = 2,
    Unreachable = 3,
    NotFound = 4,
    /// It exists already, or its version has changed.
    Conflict = 5,
    /// The source does not work, rests or is disabled, or access is denied.
    Refused = 6,
    /// An actor crashed more often than `supervision.restarts-max` allows; a service manager should restart the daemon.
    Escalated = 70,
}

impl Termination for Exit {
    fn report(self) -> ExitCode {
        ExitCode::from(self as u8)
    }
}
