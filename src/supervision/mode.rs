//! Mode of a supervisor or a group. Pure.

use super::crash::UndatedCrash;
use super::member::ChildReport;

#[derive(Debug)]
pub(super) enum Mode {
    /// Waits for its parent.
    Down,
    /// Its children should run.
    Running,
    /// Stops its children, then reports the failure to its parent.
    Failing(UndatedCrash),
    /// Stops its children on command of its parent, perhaps after a failure.
    Stopping(Option<UndatedCrash>),
    Closed,
}

impl Mode {
    pub(super) fn is_running(&self) -> bool {
        matches!(self, Mode::Running)
    }

    pub(super) fn is_ending(&self) -> bool {
        matches!(self, Mode::Failing(_) | Mode::Stopping(_))
    }

    pub(super) fn is_closed(&self) -> bool {
        matches!(self, Mode::Closed)
    }

    /// Stops on command of the parent; keeps a failure.
    pub(super) fn begin_to_stop(&mut self) {
        let fault = match std::mem::replace(self, Mode::Down) {
            Mode::Failing(fault) => Some(fault),
            Mode::Stopping(fault) => fault,
            Mode::Down | Mode::Running | Mode::Closed => None,
        };
        *self = Mode::Stopping(fault);
    }

    /// The report to the parent when all children are down.
    pub(super) fn end(&mut self) -> Option<ChildReport> {
        if !self.is_ending() {
            return None;
        }
        match std::mem::replace(self, Mode::Down) {
            Mode::Failing(fault) => Some(ChildReport::Crashed(fault)),
            Mode::Stopping(fault) => Some(ChildReport::Stopped(fault)),
            Mode::Down | Mode::Running | Mode::Closed => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_not_forgotten_when_the_parent_wants_a_stop_meanwhile() {
        let mut mode = Mode::Failing(UndatedCrash::because("too often"));
        mode.begin_to_stop();
        mode.begin_to_stop();
        assert!(matches!(mode.end(), Some(ChildReport::Stopped(Some(fault))) if fault.message == "too often"));
        assert!(mode.end().is_none(), "it is told once");
    }

    #[test]
    fn a_stop_and_a_failure_end_differently() {
        let mut mode = Mode::Running;
        mode.begin_to_stop();
        assert!(matches!(mode.end(), Some(ChildReport::Stopped(None))));
        let mut mode = Mode::Failing(UndatedCrash::because("too often"));
        assert!(matches!(mode.end(), Some(ChildReport::Crashed(_))));
        assert!(Mode::Running.end().is_none());
    }
}
