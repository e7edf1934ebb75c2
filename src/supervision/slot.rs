//! One place in the list of a supervisor.

use std::sync::Arc;
use std::time::Duration;

use super::intensity::History;
use super::member::{Member, Order, Uplink};
use super::strategy::{Phase, Standing};
use super::tree_context::TreeContext;
use super::{ChildSpec, Restart, State};

/// A child and what its supervisor has to remember about it.
pub(super) struct Slot {
    pub(super) member: Arc<dyn Member>,
    pub(super) restart: Restart,
    pub(super) stop_within: Option<Duration>,
    pub(super) phase: Phase,
    /// Whether it was up since its supervisor started.
    pub(super) has_run: bool,
    /// Its own crashes, by which its delay grows.
    pub(super) history: History,
    /// Which alarm is meant for it.
    pub(super) ticket: u64,
    /// Whether it is being dropped by force.
    pub(super) is_killed: bool,
    /// It was dropped by force and did not answer: it may still be running, so no other may take its place.
    pub(super) is_abandoned: bool,
}

impl Slot {
    pub(super) fn new(spec: ChildSpec, uplink: Uplink, tree_context: &Arc<TreeContext>) -> Slot {
        Slot {
            restart: spec.restart,
            stop_within: spec.stop_within,
            member: spec.make(uplink, tree_context),
            phase: Phase::Ready,
            has_run: false,
            history: History::default(),
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
        self.history = History::default();
        if self.phase != Phase::Gone {
            self.phase = Phase::Ready;
        }
    }

    pub(super) fn start(&mut self, now: Duration) {
        self.phase = Phase::Starting;
        self.member.facts().enter(State::Starting, now);
        self.member.clone().order(Order::Start);
    }

    pub(super) fn stop(&mut self, now: Duration) {
        self.phase = Phase::Stopping;
        self.ticket += 1;
        self.member.facts().enter(State::Stopping, now);
        self.member.clone().order(Order::Stop);
    }

    /// It says that it has stopped; whether somebody waited for that.
    pub(super) fn note_stopped(&mut self, now: Duration) -> bool {
        let is_awaited = self.phase == Phase::Stopping || self.is_abandoned;
        if is_awaited {
            self.phase = Phase::Ready;
            self.is_killed = false;
            self.is_abandoned = false;
            self.ticket += 1;
            self.member.facts().enter(State::Stopped, now);
        }
        is_awaited
    }

    /// Drops it without waiting for an answer.
    pub(super) fn kill(&mut self) {
        self.member.clone().order(Order::Kill);
        if self.phase != Phase::Gone {
            self.phase = Phase::Ready;
        }
    }
}
