//! A supervisor with a fixed list of children: handles their reports, and sends the commands that the strategy returns.
//!
//! It is a task on the root's thread and itself a child of another supervisor, or of the root. It never waits: every
//! step takes one message or alarm, and is guarded: its own crash is handled by its parent.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::crash::{UndatedCrash, guard};
use super::intensity::CrashTimes;
use super::member::{ChildCommand, ChildFacts, ChildReport, Member, SupervisorMessage, Uplink};
use super::mode::Mode;
use super::slot::ChildSlot;
use super::strategy::{ChildPhase, Standing, Stopping, children_to_start, step_to_stop};
use super::timers::{Alarm, Timers};
use super::tree_context::TreeContext;
use super::{ChildSpec, Event, MailboxView, NodeKind, Restart, State, SupervisorSpec};

/// Time limit for the answer of a child that is dropped by force. Without an answer its thread is blocked.
pub(super) const KILL_GRACE: Duration = Duration::from_secs(1);

/// A supervisor as its parent and the tree see it.
struct SupervisorCell {
    facts: ChildFacts,
    notes: UnboundedSender<SupervisorMessage>,
    roster: Mutex<Vec<Arc<dyn Member>>>,
}

pub(super) struct Supervisor {
    cell: Arc<SupervisorCell>,
    spec: SupervisorSpec,
    tree_context: Arc<TreeContext>,
    uplink: Uplink,
    notes: UnboundedReceiver<SupervisorMessage>,
    timers: Timers,
    mode: Mode,
    /// Whether the parent knows that all children are up.
    has_started: bool,
    slots: Vec<ChildSlot>,
    history: CrashTimes,
}

impl Member for SupervisorCell {
    fn order(self: Arc<Self>, order: ChildCommand) {
        let _ = self.notes.send(SupervisorMessage::Command(order));
    }

    fn facts(&self) -> &ChildFacts {
        &self.facts
    }

    fn kind(&self) -> NodeKind {
        NodeKind::Supervisor
    }

    fn mailbox(&self) -> Option<MailboxView> {
        None
    }

    fn children(&self, _: usize) -> (Vec<Arc<dyn Member>>, usize) {
        // Lists written in code are short.
        let roster = self.roster.lock().clone();
        let count = roster.len();
        (roster, count)
    }
}

impl Supervisor {
    pub(super) fn spawn(spec: SupervisorSpec, uplink: Uplink, tree_context: &Arc<TreeContext>) -> Arc<dyn Member> {
        let (sender, notes) = unbounded_channel();
        let cell = Arc::new(SupervisorCell {
            facts: ChildFacts::new(&spec.name),
            notes: sender,
            roster: Mutex::new(Vec::new()),
        });
        let supervisor = Supervisor {
            cell: cell.clone(),
            spec,
            tree_context: tree_context.clone(),
            uplink,
            notes,
            timers: Timers::default(),
            mode: Mode::Down,
            has_started: false,
            slots: Vec::new(),
            history: CrashTimes::default(),
        };
        actix_rt::spawn(supervisor.run());
        cell
    }

    async fn run(mut self) {
        while !self.mode.is_closed() {
            let stepped = tokio::select! {
                biased;
                Some(note) = self.notes.recv() => guard(|| self.handle(note)),
                alarm = self.timers.next() => guard(|| self.handle_alarm(alarm)),
            };
            if let Err(fault) = stepped.and_then(|()| guard(|| self.proceed())) {
                self.fail(fault.within("the supervisor itself panicked"));
                let _ = guard(|| self.proceed());
            }
        }
    }

    fn handle(&mut self, note: SupervisorMessage) {
        match note {
            SupervisorMessage::Command(order) => self.follow(order),
            SupervisorMessage::Report(id, report) => {
                self.handle_report(usize::try_from(id).unwrap_or(usize::MAX), report)
            }
            SupervisorMessage::Joined(..) => {}
        }
    }

    fn follow(&mut self, order: ChildCommand) {
        match order {
            ChildCommand::Start => self.start_over(),
            ChildCommand::Stop => self.mode.begin_to_stop(),
            ChildCommand::Kill => {
                self.slots.iter_mut().for_each(ChildSlot::kill);
                self.mode = Mode::Down;
                self.uplink.report(ChildReport::Stopped(None));
            }
            ChildCommand::Close => {
                for slot in &self.slots {
                    slot.member.clone().order(ChildCommand::Close);
                }
                self.mode = Mode::Closed;
            }
        }
    }

    fn start_over(&mut self) {
        self.has_started = false;
        self.history = CrashTimes::default();
        self.mode = Mode::Running;
        if self.slots.is_empty() {
            self.make_children();
        }
        self.slots.iter_mut().for_each(ChildSlot::start_over);
        if let Some(slot) = self.slots.iter().find(|slot| slot.is_abandoned) {
            let message = format!("{} does not answer, so it cannot be started again", slot.member.facts().name);
            self.fail(UndatedCrash::because(message));
        }
    }

    fn make_children(&mut self) {
        let specs = (self.spec.list)();
        let slot = |(id, spec): (u64, ChildSpec)| {
            let uplink = Uplink { notes: self.cell.notes.clone(), id };
            ChildSlot::new(spec, uplink, &self.tree_context)
        };
        self.slots = (0..).zip(specs).map(slot).collect();
        *self.cell.roster.lock() = self.slots.iter().map(|slot| slot.member.clone()).collect();
    }

    fn handle_report(&mut self, index: usize, report: ChildReport) {
        let Some(slot) = self.slots.get_mut(index) else { return };
        let is_running = matches!(slot.phase, ChildPhase::Starting | ChildPhase::Up);
        match report {
            ChildReport::Started if slot.phase == ChildPhase::Starting => {
                slot.phase = ChildPhase::Up;
                slot.has_run = true;
                slot.member.facts().enter(State::Up, self.tree_context.now());
                self.tree_context.observe(&Event::Started { name: &slot.member.facts().name });
            }
            ChildReport::Started => {}
            ChildReport::Crashed(fault) => {
                let fault = self.note_crash(index, fault);
                if is_running {
                    self.answer_crash(index, fault);
                }
            }
            ChildReport::Ended if is_running && slot.restart == Restart::Permanent => {
                let fault = self.note_crash(index, UndatedCrash::because("it ended, though it is permanent"));
                self.answer_crash(index, fault);
            }
            ChildReport::Ended if is_running => self.let_go(index, State::Ended),
            ChildReport::Ended => {}
            ChildReport::Stopped(fault) => {
                if let Some(fault) = fault {
                    self.note_crash(index, fault);
                }
                let slot = &mut self.slots[index];
                if slot.note_stopped(self.tree_context.now()) {
                    self.tree_context.observe(&Event::Stopped { name: &slot.member.facts().name });
                }
            }
        }
    }

    fn note_crash(&self, index: usize, fault: UndatedCrash) -> UndatedCrash {
        let facts = self.slots[index].member.facts();
        let crash = self.tree_context.record(fault);
        facts.note_crash(&crash);
        self.tree_context.observe(&Event::Crashed { name: &facts.name, crash: &crash });
        crash.to_fault()
    }

    /// A child is down that was up.
    fn answer_crash(&mut self, index: usize, fault: UndatedCrash) {
        let now = self.tree_context.now();
        let slot = &mut self.slots[index];
        if slot.restart == Restart::Temporary {
            return self.let_go(index, State::GivenUp);
        }
        if !self.mode.is_running() {
            // The supervisor would have stopped it soon.
            slot.phase = ChildPhase::Ready;
            return slot.member.facts().enter(State::Stopped, now);
        }
        let intensity = self.spec.intensity;
        slot.phase = ChildPhase::Ready;
        let nth = slot.history.add(now, &intensity);
        if self.history.add(now, &intensity) > intensity.restarts_max {
            slot.member.facts().enter(State::Stopped, now);
            let (name, most, within) = (&slot.member.facts().name, intensity.restarts_max, intensity.within);
            let reason = format!("more than {most} restarts within {within:?}, the last of {name}");
            return self.fail(fault.within(&reason));
        }
        let after = intensity.delay(nth, self.tree_context.environment().roll());
        slot.member.facts().enter(State::Delayed, now);
        if !after.is_zero() {
            slot.phase = ChildPhase::Delayed;
            slot.ticket += 1;
            let alarm = Alarm { id: index as u64, ticket: slot.ticket };
            self.timers.set(self.tree_context.environment(), after, alarm);
        }
        self.tree_context.observe(&Event::Restarting {
            supervisor: &self.spec.name,
            name: &slot.member.facts().name,
            after,
            nth,
        });
    }

    /// A child is done for good.
    fn let_go(&mut self, index: usize, state: State) {
        let slot = &mut self.slots[index];
        slot.phase = ChildPhase::Gone;
        slot.member.clone().order(ChildCommand::Close);
        slot.member.facts().enter(state, self.tree_context.now());
        self.tree_context.observe(&Event::Ended { name: &slot.member.facts().name });
    }

    fn handle_alarm(&mut self, alarm: Alarm) {
        let index = usize::try_from(alarm.id).unwrap_or(usize::MAX);
        let Some(slot) = self.slots.get_mut(index).filter(|slot| slot.ticket == alarm.ticket) else { return };
        match slot.phase {
            ChildPhase::Delayed => slot.phase = ChildPhase::Ready,
            ChildPhase::Stopping if slot.is_killed => self.abandon(index),
            ChildPhase::Stopping => {
                let limit = slot.stop_within.unwrap_or_default();
                self.tree_context.observe(&Event::Overran { name: &slot.member.facts().name, limit });
                slot.is_killed = true;
                slot.member.clone().order(ChildCommand::Kill);
                self.timers.set(self.tree_context.environment(), KILL_GRACE, alarm);
            }
            ChildPhase::Ready | ChildPhase::Starting | ChildPhase::Up | ChildPhase::Gone => {}
        }
    }

    /// Not even force helps: goes on without the child. The supervisor cannot be started again after that.
    fn abandon(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        slot.phase = ChildPhase::Gone;
        slot.is_abandoned = true;
        slot.member.facts().enter(State::Abandoned, self.tree_context.now());
    }

    /// Begins to fail, unless it is already ending.
    fn fail(&mut self, fault: UndatedCrash) {
        if !self.mode.is_running() {
            return;
        }
        let crash = self.tree_context.record(fault);
        self.tree_context.observe(&Event::GaveUp { name: &self.spec.name, crash: &crash });
        self.mode = Mode::Failing(crash.to_fault());
    }

    /// Carries out the next steps of the strategy.
    fn proceed(&mut self) {
        let standings: Vec<Standing> = self.slots.iter().map(ChildSlot::standing).collect();
        match self.mode {
            Mode::Down | Mode::Closed => {}
            Mode::Running => {
                for index in children_to_start(&standings) {
                    self.slots[index].start(self.tree_context.now());
                }
                let is_up = |slot: &ChildSlot| slot.has_run || slot.phase == ChildPhase::Gone;
                if !self.has_started && self.slots.iter().all(is_up) {
                    self.has_started = true;
                    self.uplink.report(ChildReport::Started);
                }
            }
            Mode::Failing(_) | Mode::Stopping(_) => match step_to_stop(&standings) {
                Stopping::Stop(index) => self.stop(index),
                Stopping::Wait => {}
                Stopping::Done => self.finish(),
            },
        }
    }

    fn stop(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        slot.stop(self.tree_context.now());
        if let Some(limit) = slot.stop_within {
            let alarm = Alarm { id: index as u64, ticket: slot.ticket };
            self.timers.set(self.tree_context.environment(), limit, alarm);
        }
    }

    /// All children are down.
    fn finish(&mut self) {
        for slot in self.slots.iter_mut().filter(|slot| slot.phase == ChildPhase::Delayed) {
            // A child that waits for its restart is not started any more.
            slot.phase = ChildPhase::Ready;
            slot.member.facts().enter(State::Stopped, self.tree_context.now());
        }
        if let Some(report) = self.mode.end() {
            self.uplink.report(report);
        }
    }
}
