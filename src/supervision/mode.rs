//! What a supervisor or a group is about. Pure.

use super::crash::Fault;
use super::member::Report;

/// What a supervisor or a group is about.
#[derive(Debug)]
pub(super) enum Mode {
    /// Nothing: it waits for its parent.
    Down,
    /// Its children should run.
    Running,
    /// It stops its children, and then tells its parent why.
    Failing(Fault),
    /// It stops its children because its parent wants it; perhaps while it was failing.
    Stopping(Option<Fault>),
    /// It is done for good.
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

    /// Obeys the parent without forgetting a failure.
    pub(super) fn begin_to_stop(&mut self) {
        let fault = match std::mem::replace(self, Mode::Down) {
            Mode::Failing(fault) => Some(fault),
            Mode::Stopping(fault) => fault,
            Mode::Down | Mode::Running | Mode::Closed => None,
        };
        *self = Mode::Stopping(fault);
    }

    /// All children are down: what the parent is told.
    pub(super) fn end(&mut self) -> Option<Report> {
        if !self.is_ending() {
            return None;
        }
        match std::mem::replace(self, Mode::Down) {
            Mode::Failing(fault) => Some(Report::Crashed(fault)),
            Mode::Stopping(fault) => Some(Report::Stopped(fault)),
            Mode::Down | Mode::Running | Mode::Closed => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_not_forgotten_when_the_parent_wants_a_stop_meanwhile() {
        let mut mode = Mode::Failing(Fault::because("too often"));
        mode.begin_to_stop();
        mode.begin_to_stop();
        assert!(matches!(mode.end(), Some(Report::Stopped(Some(fault))) if fault.message == "too often"));
        assert!(mode.end().is_none(), "it is told once");
    }

    #[test]
    fn a_stop_and_a_failure_end_differently() {
        let mut mode = Mode::Running;
        mode.begin_to_stop();
        assert!(matches!(mode.end(), Some(Report::Stopped(None))));
        let mut mode = Mode::Failing(Fault::because("too often"));
        assert!(matches!(mode.end(), Some(Report::Crashed(_))));
        assert!(Mode::Running.end().is_none());
    }
}
