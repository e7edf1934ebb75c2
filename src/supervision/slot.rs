//! A child in the list of its supervisor.

use std::sync::Arc;
use std::time::Duration;

use super::intensity::CrashTimes;
use super::member::{ChildCommand, Member, Uplink};
use super::strategy::{ChildPhase, Standing};
use super::tree_context::TreeContext;
use super::{ChildSpec, Restart, State};

/// A child with the state that its supervisor keeps for it.
pub(super) struct ChildSlot {
    pub(super) member: Arc<dyn Member>,
    pub(super) restart: Restart,
    pub(super) stop_within: Option<Duration>,
    pub(super) phase: ChildPhase,
    /// Whether it was up since its supervisor started.
    pub(super) has_run: bool,
    /// Its own crashes, by which its delay grows.
    pub(super) history: CrashTimes,
    /// Number of the alarm that is valid for it.
    pub(super) ticket: u64,
    /// Whether it is being dropped by force.
    pub(super) is_killed: bool,
    /// Dropped by force without an answer: the child may still run, so it is not replaced.
    pub(super) is_abandoned: bool,
}

impl ChildSlot {
    pub(super) fn new(spec: ChildSpec, uplink: Uplink, tree_context: &Arc<TreeContext>) -> ChildSlot {
        ChildSlot {
            restart: spec.restart,
            stop_within: spec.stop_within,
            member: spec.make(uplink, tree_context),
            phase: ChildPhase::Ready,
            has_run: false,
            history: CrashTimes::default(),
            ticket: 0,
            is_killed: false,
            is_abandoned: false,
        }
    }

    pub(super) fn standing(&self) -> Standing {
        Standing { phase: self.phase, has_run: self.has_run }
    }

    /// Forgets what happened before its supervisor was started again.
    pub(super) fn start_over(&mut self) {
        self.has_run = false;
        self.history = CrashTimes::default();
        if self.phase != ChildPhase::Gone {
            self.phase = ChildPhase::Ready;
        }
    }

    pub(super) fn start(&mut self, now: Duration) {
        self.phase = ChildPhase::Starting;
        self.member.facts().enter(State::Starting, now);
        self.member.clone().order(ChildCommand::Start);
    }

    pub(super) fn stop(&mut self, now: Duration) {
        self.phase = ChildPhase::Stopping;
        self.ticket += 1;
        self.member.facts().enter(State::Stopping, now);
        self.member.clone().order(ChildCommand::Stop);
    }

    /// Notes that the child has stopped; returns whether its supervisor waited for that.
    pub(super) fn note_stopped(&mut self, now: Duration) -> bool {
        let is_awaited = self.phase == ChildPhase::Stopping || self.is_abandoned;
        if is_awaited {
            self.phase = ChildPhase::Ready;
            self.is_killed = false;
            self.is_abandoned = false;
            self.ticket += 1;
            self.member.facts().enter(State::Stopped, now);
        }
        is_awaited
    }

    /// Drops it without waiting for an answer.
    pub(super) fn kill(&mut self) {
        self.member.clone().order(ChildCommand::Kill);
        if self.phase != ChildPhase::Gone {
            self.phase = ChildPhase::Ready;
        }
    }
}
