//! How the program ends.

use std::process::{ExitCode, Termination};

/// How the program ends. The numbers are part of the interface: service managers and scripts read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Everything that was asked for is done.
    Success = 0,
    /// The daemon could not start or go on or do what was asked, the output could not be written, or what was looked at
    /// would not work.
    Failure = 1,
    /// The command line or the configuration is wrong. Trying again will not help.
    Usage = 2,
    /// No daemon answers.
    Unreachable = 3,
    /// What was named is not there.
    NotFound = 4,
    /// It is there already, or somebody else changed it meanwhile.
    Conflict = 5,
    /// The daemon does not do it as things stand: the source does not work, rests or is disabled, or nobody may.
    Refused = 6,
    /// A part of the daemon crashed more often than is borne. A service manager should start it again.
    Escalated = 70,
}

impl Termination for Exit {
    fn report(self) -> ExitCode {
        ExitCode::from(self as u8)
    }
}
