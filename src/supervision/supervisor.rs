//! A supervisor with a fixed list of children: hears their reports, asks the strategy what to do, gives orders.
//!
//! It is a task on the root's thread and itself a child of another supervisor, or of the root. It never waits: every step
//! takes one note or alarm, and is guarded, so that its own crash is its parent's business.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::crash::{Fault, guard};
use super::intensity::History;
use super::member::{Facts, Member, Note, Order, Report, Uplink};
use super::mode::Mode;
use super::slot::Slot;
use super::strategy::{Phase, Standing, Stopping, children_to_start, step_to_stop};
use super::timers::{Alarm, Timers};
use super::tree_context::TreeContext;
use super::{ChildSpec, Event, Kind, MailboxView, Restart, State, SupervisorSpec};

/// How long a child that is dropped by force may take to answer. If it does not, its thread is blocked.
pub(super) const KILL_GRACE: Duration = Duration::from_secs(1);

/// A supervisor as its parent and the tree see it.
struct SupervisorCell {
    facts: Facts,
    notes: UnboundedSender<Note>,
    roster: Mutex<Vec<Arc<dyn Member>>>,
}

/// The task.
pub(super) struct Supervisor {
    cell: Arc<SupervisorCell>,
    spec: SupervisorSpec,
    tree_context: Arc<TreeContext>,
    uplink: Uplink,
    notes: UnboundedReceiver<Note>,
    timers: Timers,
    mode: Mode,
    /// Whether the parent knows that all children are up.
    has_started: bool,
    slots: Vec<Slot>,
    history: History,
}

impl Member for SupervisorCell {
    fn order(self: Arc<Self>, order: Order) {
        let _ = self.notes.send(Note::Order(order));
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn kind(&self) -> Kind {
        Kind::Supervisor
    }

    fn mailbox(&self) -> Option<MailboxView> {
        None
    }

    fn children(&self, _: usize) -> (Vec<Arc<dyn Member>>, usize) {
        // A list that somebody wrote down is short.
        let roster = self.roster.lock().clone();
        let count = roster.len();
        (roster, count)
    }
}

impl Supervisor {
    pub(super) fn spawn(spec: SupervisorSpec, uplink: Uplink, tree_context: &Arc<TreeContext>) -> Arc<dyn Member> {
        let (sender, notes) = unbounded_channel();
        let cell =
            Arc::new(SupervisorCell { facts: Facts::new(&spec.name), notes: sender, roster: Mutex::new(Vec::new()) });
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
            history: History::default(),
        };
        actix_rt::spawn(supervisor.run());
        cell
    }

    async fn run(mut self) {
        while !self.mode.is_closed() {
            let stepped = tokio::select! {
                biased;
                Some(note) = self.notes.recv() => guard(|| self.hear(note)),
                alarm = self.timers.next() => guard(|| self.ring(alarm)),
            };
            if let Err(fault) = stepped.and_then(|()| guard(|| self.proceed())) {
                self.fail(fault.within("the supervisor itself panicked"));
                let _ = guard(|| self.proceed());
            }
        }
    }

    fn hear(&mut self, note: Note) {
        match note {
            Note::Order(order) => self.follow(order),
            Note::Report(id, report) => self.hear_report(usize::try_from(id).unwrap_or(usize::MAX), report),
            Note::Joined(..) => {}
        }
    }

    fn follow(&mut self, order: Order) {
        match order {
            Order::Start => self.start_over(),
            Order::Stop => self.mode.begin_to_stop(),
            Order::Kill => {
                self.slots.iter_mut().for_each(Slot::kill);
                self.mode = Mode::Down;
                self.uplink.report(Report::Stopped(None));
            }
            Order::Close => {
                for slot in &self.slots {
                    slot.member.clone().order(Order::Close);
                }
                self.mode = Mode::Closed;
            }
        }
    }

    fn start_over(&mut self) {
        self.has_started = false;
        self.history = History::default();
        self.mode = Mode::Running;
        if self.slots.is_empty() {
            self.make_children();
        }
        self.slots.iter_mut().for_each(Slot::start_over);
        if let Some(slot) = self.slots.iter().find(|slot| slot.is_abandoned) {
            let message = format!("{} does not answer, so it cannot be started again", slot.member.facts().name);
            self.fail(Fault::because(message));
        }
    }

    fn make_children(&mut self) {
        let specs = (self.spec.list)();
        let slot = |(id, spec): (u64, ChildSpec)| {
            let uplink = Uplink { notes: self.cell.notes.clone(), id };
            Slot::new(spec, uplink, &self.tree_context)
        };
        self.slots = (0..).zip(specs).map(slot).collect();
        *self.cell.roster.lock() = self.slots.iter().map(|slot| slot.member.clone()).collect();
    }

    fn hear_report(&mut self, index: usize, report: Report) {
        let Some(slot) = self.slots.get_mut(index) else { return };
        let is_running = matches!(slot.phase, Phase::Starting | Phase::Up);
        match report {
            Report::Started if slot.phase == Phase::Starting => {
                slot.phase = Phase::Up;
                slot.has_run = true;
                slot.member.facts().enter(State::Up, self.tree_context.now());
                self.tree_context.observe(&Event::Started { name: &slot.member.facts().name });
            }
            Report::Started => {}
            Report::Crashed(fault) => {
                let fault = self.note_crash(index, fault);
                if is_running {
                    self.answer_crash(index, fault);
                }
            }
            Report::Ended if is_running && slot.restart == Restart::Permanent => {
                let fault = self.note_crash(index, Fault::because("it ended, though it is permanent"));
                self.answer_crash(index, fault);
            }
            Report::Ended if is_running => self.let_go(index, State::Ended),
            Report::Ended => {}
            Report::Stopped(fault) => {
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

    fn note_crash(&self, index: usize, fault: Fault) -> Fault {
        let facts = self.slots[index].member.facts();
        let crash = self.tree_context.record(fault);
        facts.note_crash(&crash);
        self.tree_context.observe(&Event::Crashed { name: &facts.name, crash: &crash });
        crash.to_fault()
    }

    /// A child is down that was up.
    fn answer_crash(&mut self, index: usize, fault: Fault) {
        let now = self.tree_context.now();
        let slot = &mut self.slots[index];
        if slot.restart == Restart::Temporary {
            return self.let_go(index, State::GivenUp);
        }
        if !self.mode.is_running() {
            // Its turn to be stopped would have come soon.
            slot.phase = Phase::Ready;
            return slot.member.facts().enter(State::Stopped, now);
        }
        let intensity = self.spec.intensity;
        slot.phase = Phase::Ready;
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
            slot.phase = Phase::Delayed;
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
        slot.phase = Phase::Gone;
        slot.member.clone().order(Order::Close);
        slot.member.facts().enter(state, self.tree_context.now());
        self.tree_context.observe(&Event::Ended { name: &slot.member.facts().name });
    }

    fn ring(&mut self, alarm: Alarm) {
        let index = usize::try_from(alarm.id).unwrap_or(usize::MAX);
        let Some(slot) = self.slots.get_mut(index).filter(|slot| slot.ticket == alarm.ticket) else { return };
        match slot.phase {
            Phase::Delayed => slot.phase = Phase::Ready,
            Phase::Stopping if slot.is_killed => self.abandon(index),
            Phase::Stopping => {
                let limit = slot.stop_within.unwrap_or_default();
                self.tree_context.observe(&Event::Overran { name: &slot.member.facts().name, limit });
                slot.is_killed = true;
                slot.member.clone().order(Order::Kill);
                self.timers.set(self.tree_context.environment(), KILL_GRACE, alarm);
            }
            Phase::Ready | Phase::Starting | Phase::Up | Phase::Gone => {}
        }
    }

    /// Not even force helps: goes on without the child. The supervisor cannot be started again after that.
    fn abandon(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        slot.phase = Phase::Gone;
        slot.is_abandoned = true;
        slot.member.facts().enter(State::Abandoned, self.tree_context.now());
    }

    /// Begins to fail, unless it is already ending.
    fn fail(&mut self, fault: Fault) {
        if !self.mode.is_running() {
            return;
        }
        let crash = self.tree_context.record(fault);
        self.tree_context.observe(&Event::GaveUp { name: &self.spec.name, crash: &crash });
        self.mode = Mode::Failing(crash.to_fault());
    }

    /// Does what the strategy asks for now.
    fn proceed(&mut self) {
        let standings: Vec<Standing> = self.slots.iter().map(Slot::standing).collect();
        match self.mode {
            Mode::Down | Mode::Closed => {}
            Mode::Running => {
                for index in children_to_start(&standings) {
                    self.slots[index].start(self.tree_context.now());
                }
                let is_up = |slot: &Slot| slot.has_run || slot.phase == Phase::Gone;
                if !self.has_started && self.slots.iter().all(is_up) {
                    self.has_started = true;
                    self.uplink.report(Report::Started);
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
        for slot in self.slots.iter_mut().filter(|slot| slot.phase == Phase::Delayed) {
            // Nobody waits any more for a child that waited out its delay.
            slot.phase = Phase::Ready;
            slot.member.facts().enter(State::Stopped, self.tree_context.now());
        }
        if let Some(report) = self.mode.end() {
            self.uplink.report(report);
        }
    }
}
