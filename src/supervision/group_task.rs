//! Looks after the children of a group, each for itself: hears their reports, restarts them, gives them up.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;

use super::crash::{Fault, guard};
use super::group::GroupCell;
use super::intensity::History;
use super::member::{Member, Note, Order, Report, Uplink};
use super::mode::Mode;
use super::strategy::Phase;
use super::supervisor::KILL_GRACE;
use super::timers::{Alarm, Timers};
use super::tree_context::TreeContext;
use super::{Event, GroupSettings, Restart, State, WhenGivenUp};

/// The alarm of the whole group; children have smaller ids.
const GROUP_ALARM: u64 = u64::MAX;

/// The task that looks after the children of a group, on the root's thread.
pub(super) struct GroupTask {
    cell: Arc<GroupCell>,
    tree_context: Arc<TreeContext>,
    uplink: Uplink,
    notes: UnboundedReceiver<Note>,
    timers: Timers,
    mode: Mode,
    slots: HashMap<u64, Slot>,
    /// Which alarm of the whole group is meant.
    ticket: u64,
}

struct Slot {
    member: Arc<dyn Member>,
    phase: Phase,
    history: History,
    ticket: u64,
}

impl GroupTask {
    pub(super) fn spawn(
        cell: Arc<GroupCell>,
        notes: UnboundedReceiver<Note>,
        uplink: Uplink,
        tree_context: &Arc<TreeContext>,
    ) {
        let task = GroupTask {
            cell,
            tree_context: tree_context.clone(),
            uplink,
            notes,
            timers: Timers::default(),
            mode: Mode::Down,
            slots: HashMap::new(),
            ticket: 0,
        };
        actix_rt::spawn(task.run());
    }

    async fn run(mut self) {
        while !self.mode.is_closed() {
            let stepped = tokio::select! {
                biased;
                Some(note) = self.notes.recv() => guard(|| self.hear(note)),
                alarm = self.timers.next() => guard(|| self.ring(alarm)),
            };
            if let Err(fault) = stepped {
                let _ = guard(|| self.fail(fault.within("the group itself panicked")));
            }
            if self.slots.is_empty()
                && let Some(report) = self.mode.end()
            {
                self.uplink.report(report);
            }
        }
        // A child that was started at the last moment must not run unsupervised.
        self.notes.close();
        while let Ok(note) = self.notes.try_recv() {
            if let Note::Joined(_, member) = note {
                member.order(Order::Close);
            }
        }
    }

    fn hear(&mut self, note: Note) {
        match note {
            Note::Order(order) => self.follow(order),
            Note::Joined(id, member) => self.welcome(id, member),
            Note::Report(id, report) => self.hear_report(id, report),
        }
    }

    fn follow(&mut self, order: Order) {
        match order {
            Order::Start => {
                self.mode = Mode::Running;
                self.cell.is_open.store(true, Ordering::Release);
                self.uplink.report(Report::Started);
            }
            Order::Stop => {
                self.mode.begin_to_stop();
                self.stop_all();
            }
            Order::Kill => {
                self.close_all();
                self.mode = Mode::Down;
                self.uplink.report(Report::Stopped(None));
            }
            Order::Close => {
                self.close_all();
                self.mode = Mode::Closed;
            }
        }
    }

    fn welcome(&mut self, id: u64, member: Arc<dyn Member>) {
        if !self.mode.is_running() {
            // It was started while the group was being closed.
            self.cell.count.fetch_sub(1, Ordering::AcqRel);
            member.order(Order::Close);
            return;
        }
        member.facts().enter(State::Starting, self.tree_context.now());
        self.cell.roster.lock().insert(id, member.clone());
        self.slots.insert(id, Slot { member, phase: Phase::Starting, history: History::default(), ticket: 0 });
    }

    fn hear_report(&mut self, id: u64, report: Report) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        let is_running = matches!(slot.phase, Phase::Starting | Phase::Up);
        match report {
            Report::Started if slot.phase == Phase::Starting => {
                slot.phase = Phase::Up;
                slot.member.facts().enter(State::Up, self.tree_context.now());
                self.tree_context.observe(&Event::Started { name: &slot.member.facts().name });
            }
            Report::Started => {}
            Report::Crashed(fault) => {
                let fault = self.note_crash(id, fault);
                if is_running {
                    self.answer_crash(id, fault);
                }
            }
            Report::Ended if is_running && self.cell.settings.restart == Restart::Permanent => {
                let fault = self.note_crash(id, Fault::because("it ended, though it is permanent"));
                self.answer_crash(id, fault);
            }
            Report::Ended if is_running => {
                if let Some(member) = self.remove(id) {
                    self.tree_context.observe(&Event::Ended { name: &member.facts().name });
                }
            }
            Report::Ended => {}
            Report::Stopped(fault) => {
                if let Some(fault) = fault {
                    self.note_crash(id, fault);
                }
                self.remove(id);
            }
        }
    }

    fn note_crash(&self, id: u64, fault: Fault) -> Fault {
        let crash = self.tree_context.record(fault);
        if let Some(slot) = self.slots.get(&id) {
            let facts = slot.member.facts();
            facts.note_crash(&crash);
            self.tree_context.observe(&Event::Crashed { name: &facts.name, crash: &crash });
        }
        crash.to_fault()
    }

    fn answer_crash(&mut self, id: u64, fault: Fault) {
        let GroupSettings { restart, intensity, .. } = self.cell.settings;
        let Some(slot) = self.slots.get_mut(&id) else { return };
        let now = self.tree_context.now();
        let nth = slot.history.add(now, &intensity);
        if restart == Restart::Temporary || nth > intensity.restarts_max {
            return self.give_up(id, fault);
        }
        let after = intensity.delay(nth, self.tree_context.environment().roll());
        let facts = slot.member.facts();
        self.tree_context.observe(&Event::Restarting {
            supervisor: &self.cell.facts.name,
            name: &facts.name,
            after,
            nth,
        });
        if after.is_zero() {
            slot.restart(now);
        } else {
            facts.enter(State::Delayed, now);
            slot.phase = Phase::Delayed;
            slot.ticket += 1;
            self.timers.set(self.tree_context.environment(), after, Alarm { id, ticket: slot.ticket });
        }
    }

    /// Takes a child off the list and closes its mailbox.
    fn remove(&mut self, id: u64) -> Option<Arc<dyn Member>> {
        let slot = self.slots.remove(&id)?;
        self.cell.roster.lock().remove(&id);
        self.cell.count.fetch_sub(1, Ordering::AcqRel);
        slot.member.clone().order(Order::Close);
        Some(slot.member)
    }

    fn give_up(&mut self, id: u64, fault: Fault) {
        let Some(member) = self.remove(id) else { return };
        let crash = self.tree_context.record(fault);
        member.facts().enter(State::GivenUp, self.tree_context.now());
        self.tree_context.observe(&Event::GaveUp { name: &member.facts().name, crash: &crash });
        let reason = format!("{} crashed too often", member.facts().name);
        self.cell.remember(member);
        if self.cell.settings.when_given_up == WhenGivenUp::Escalate {
            self.fail(crash.to_fault().within(&reason));
        }
    }

    fn ring(&mut self, alarm: Alarm) {
        if alarm.id != GROUP_ALARM {
            let slot = self.slots.get_mut(&alarm.id);
            if let Some(slot) = slot.filter(|slot| slot.ticket == alarm.ticket && slot.phase == Phase::Delayed) {
                slot.restart(self.tree_context.now());
            }
            return;
        }
        if alarm.ticket != self.ticket || !self.mode.is_ending() {
            return;
        }
        // The first time those that are left are dropped by force, the second time nobody waits for them any longer.
        if self.slots.values().all(|slot| slot.phase != Phase::Stopping) {
            return self.close_all();
        }
        let limit = self.cell.settings.stop_within;
        for slot in self.slots.values_mut() {
            slot.phase = Phase::Gone;
            slot.member.clone().order(Order::Kill);
            self.tree_context.observe(&Event::Overran { name: &slot.member.facts().name, limit });
        }
        self.timers.set(self.tree_context.environment(), KILL_GRACE, alarm);
    }

    fn fail(&mut self, fault: Fault) {
        if !self.mode.is_running() {
            return;
        }
        let crash = self.tree_context.record(fault);
        self.tree_context.observe(&Event::GaveUp { name: &self.cell.facts.name, crash: &crash });
        self.mode = Mode::Failing(crash.to_fault());
        self.stop_all();
    }

    /// All at once: they are independent of each other.
    fn stop_all(&mut self) {
        self.cell.is_open.store(false, Ordering::Release);
        self.ticket += 1;
        let alarm = Alarm { id: GROUP_ALARM, ticket: self.ticket };
        self.timers.set(self.tree_context.environment(), self.cell.settings.stop_within, alarm);
        let now = self.tree_context.now();
        for slot in self.slots.values_mut() {
            slot.phase = Phase::Stopping;
            slot.member.facts().enter(State::Stopping, now);
            slot.member.clone().order(Order::Stop);
        }
    }

    fn close_all(&mut self) {
        self.cell.is_open.store(false, Ordering::Release);
        self.cell.roster.lock().clear();
        self.cell.count.fetch_sub(self.slots.len(), Ordering::AcqRel);
        for (_, slot) in self.slots.drain() {
            slot.member.order(Order::Close);
        }
    }
}

impl Slot {
    fn restart(&mut self, now: Duration) {
        self.phase = Phase::Starting;
        self.member.facts().enter(State::Starting, now);
        self.member.clone().order(Order::Start);
    }
}
