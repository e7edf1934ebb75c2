//! The task of a group: handles the reports of its children, restarts them and gives them up, each on its own.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;

use super::crash::{UndatedCrash, guard};
use super::group::GroupCell;
use super::intensity::CrashTimes;
use super::member::{ChildCommand, ChildReport, Member, SupervisorMessage, Uplink};
use super::mode::Mode;
use super::strategy::ChildPhase;
use super::supervisor::KILL_GRACE;
use super::timers::{Alarm, Timers};
use super::tree_context::TreeContext;
use super::{Event, GroupSettings, Restart, State, WhenGivenUp};

/// The alarm of the whole group; children have smaller ids.
const GROUP_ALARM: u64 = u64::MAX;

/// Supervises the children of a group, on the root's thread.
pub(super) struct GroupTask {
    cell: Arc<GroupCell>,
    tree_context: Arc<TreeContext>,
    uplink: Uplink,
    notes: UnboundedReceiver<SupervisorMessage>,
    timers: Timers,
    mode: Mode,
    slots: HashMap<u64, MemberSlot>,
    /// Which alarm of the whole group is meant.
    ticket: u64,
}

struct MemberSlot {
    member: Arc<dyn Member>,
    phase: ChildPhase,
    history: CrashTimes,
    ticket: u64,
}

impl GroupTask {
    pub(super) fn spawn(
        cell: Arc<GroupCell>,
        notes: UnboundedReceiver<SupervisorMessage>,
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
                Some(note) = self.notes.recv() => guard(|| self.handle(note)),
                alarm = self.timers.next() => guard(|| self.handle_alarm(alarm)),
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
            if let SupervisorMessage::Joined(_, member) = note {
                member.order(ChildCommand::Close);
            }
        }
    }

    fn handle(&mut self, note: SupervisorMessage) {
        match note {
            SupervisorMessage::Command(order) => self.follow(order),
            SupervisorMessage::Joined(id, member) => self.welcome(id, member),
            SupervisorMessage::Report(id, report) => self.handle_report(id, report),
        }
    }

    fn follow(&mut self, order: ChildCommand) {
        match order {
            ChildCommand::Start => {
                self.mode = Mode::Running;
                self.cell.is_open.store(true, Ordering::Release);
                self.uplink.report(ChildReport::Started);
            }
            ChildCommand::Stop => {
                self.mode.begin_to_stop();
                self.stop_all();
            }
            ChildCommand::Kill => {
                self.close_all();
                self.mode = Mode::Down;
                self.uplink.report(ChildReport::Stopped(None));
            }
            ChildCommand::Close => {
                self.close_all();
                self.mode = Mode::Closed;
            }
        }
    }

    fn welcome(&mut self, id: u64, member: Arc<dyn Member>) {
        if !self.mode.is_running() {
            // It was started while the group was being closed.
            self.cell.count.fetch_sub(1, Ordering::AcqRel);
            member.order(ChildCommand::Close);
            return;
        }
        member.facts().enter(State::Starting, self.tree_context.now());
        self.cell.roster.lock().insert(id, member.clone());
        self.slots
            .insert(id, MemberSlot { member, phase: ChildPhase::Starting, history: CrashTimes::default(), ticket: 0 });
    }

    fn handle_report(&mut self, id: u64, report: ChildReport) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        let is_running = matches!(slot.phase, ChildPhase::Starting | ChildPhase::Up);
        match report {
            ChildReport::Started if slot.phase == ChildPhase::Starting => {
                slot.phase = ChildPhase::Up;
                slot.member.facts().enter(State::Up, self.tree_context.now());
                self.tree_context.observe(&Event::Started { name: &slot.member.facts().name });
            }
            ChildReport::Started => {}
            ChildReport::Crashed(fault) => {
                let fault = self.note_crash(id, fault);
                if is_running {
                    self.answer_crash(id, fault);
                }
            }
            ChildReport::Ended if is_running && self.cell.settings.restart == Restart::Permanent => {
                let fault = self.note_crash(id, UndatedCrash::because("it ended, though it is permanent"));
                self.answer_crash(id, fault);
            }
            ChildReport::Ended if is_running => {
                if let Some(member) = self.remove(id) {
                    self.tree_context.observe(&Event::Ended { name: &member.facts().name });
                }
            }
            ChildReport::Ended => {}
            ChildReport::Stopped(fault) => {
                if let Some(fault) = fault {
                    self.note_crash(id, fault);
                }
                self.remove(id);
            }
        }
    }

    fn note_crash(&self, id: u64, fault: UndatedCrash) -> UndatedCrash {
        let crash = self.tree_context.record(fault);
        if let Some(slot) = self.slots.get(&id) {
            let facts = slot.member.facts();
            facts.note_crash(&crash);
            self.tree_context.observe(&Event::Crashed { name: &facts.name, crash: &crash });
        }
        crash.to_fault()
    }

    fn answer_crash(&mut self, id: u64, fault: UndatedCrash) {
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
            slot.phase = ChildPhase::Delayed;
            slot.ticket += 1;
            self.timers.set(self.tree_context.environment(), after, Alarm { id, ticket: slot.ticket });
        }
    }

    /// Takes a child off the list and closes its mailbox.
    fn remove(&mut self, id: u64) -> Option<Arc<dyn Member>> {
        let slot = self.slots.remove(&id)?;
        self.cell.roster.lock().remove(&id);
        self.cell.count.fetch_sub(1, Ordering::AcqRel);
        slot.member.clone().order(ChildCommand::Close);
        Some(slot.member)
    }

    fn give_up(&mut self, id: u64, fault: UndatedCrash) {
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

    fn handle_alarm(&mut self, alarm: Alarm) {
        if alarm.id != GROUP_ALARM {
            let slot = self.slots.get_mut(&alarm.id);
            if let Some(slot) = slot.filter(|slot| slot.ticket == alarm.ticket && slot.phase == ChildPhase::Delayed) {
                slot.restart(self.tree_context.now());
            }
            return;
        }
        if alarm.ticket != self.ticket || !self.mode.is_ending() {
            return;
        }
        // The first alarm drops the remaining children by force, the second ends the wait for them.
        if self.slots.values().all(|slot| slot.phase != ChildPhase::Stopping) {
            return self.close_all();
        }
        let limit = self.cell.settings.stop_within;
        for slot in self.slots.values_mut() {
            slot.phase = ChildPhase::Gone;
            slot.member.clone().order(ChildCommand::Kill);
            self.tree_context.observe(&Event::Overran { name: &slot.member.facts().name, limit });
        }
        self.timers.set(self.tree_context.environment(), KILL_GRACE, alarm);
    }

    fn fail(&mut self, fault: UndatedCrash) {
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
            slot.phase = ChildPhase::Stopping;
            slot.member.facts().enter(State::Stopping, now);
            slot.member.clone().order(ChildCommand::Stop);
        }
    }

    fn close_all(&mut self) {
        self.cell.is_open.store(false, Ordering::Release);
        self.cell.roster.lock().clear();
        self.cell.count.fetch_sub(self.slots.len(), Ordering::AcqRel);
        for (_, slot) in self.slots.drain() {
            slot.member.order(ChildCommand::Close);
        }
    }
}

impl MemberSlot {
    fn restart(&mut self, now: Duration) {
        self.phase = ChildPhase::Starting;
        self.member.facts().enter(State::Starting, now);
        self.member.clone().order(ChildCommand::Start);
    }
}
