//! Children that are made on demand and leave when they are done: many, alike, and independent of each other.
//!
//! Each has a patience of its own, so that one that crashes again and again is given up without hurting its siblings.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use actix::dev::channel::channel;
use actix::{Actor, Addr, Context};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::child::{Seat, SeatParts};
use super::crash::{Fault, guard};
use super::house::{House, lock};
use super::intensity::History;
use super::member::{Facts, Member, Note, Order, Report, Uplink};
use super::strategy::Phase;
use super::supervisor::KILL_GRACE;
use super::timers::{Alarm, Timers};
use super::{Event, Intensity, Kind, MailboxView, Restart, State, Thread};

/// How many children that were given up the tree still shows.
const GIVEN_UP_SHOWN_MAX: usize = 64;

/// The alarm of the whole group; children have smaller ids.
const GROUP_ALARM: u64 = u64::MAX;

/// How a group treats its children.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupSettings {
    /// When a child that ended is started again.
    pub restart: Restart,
    /// How many crashes of each single child are borne.
    pub intensity: Intensity,
    /// What happens when a child crashes more often than that.
    pub when_given_up: WhenGivenUp,
    /// How many children there may be at once.
    pub children_max: usize,
    /// How long all of them together may take to stop.
    pub stop_within: Duration,
}

impl Default for GroupSettings {
    fn default() -> GroupSettings {
        GroupSettings {
            restart: Restart::Transient,
            intensity: Intensity::default(),
            when_given_up: WhenGivenUp::Leave,
            children_max: 1_000_000,
            stop_within: Duration::from_secs(5),
        }
    }
}

/// What follows when a child of a group has crashed too often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenGivenUp {
    /// It alone is given up: its address closes, and its siblings notice nothing.
    #[default]
    Leave,
    /// The group has failed, and its supervisor decides.
    Escalate,
}

/// Why a child could not join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// The group does not run: not yet, not now or no longer.
    #[error("the group does not run")]
    Closed,
    /// There are as many children as there may be.
    #[error("the group is full")]
    Full,
}

/// A group of children that come and go. Clones are the same group; they can be used from any thread.
#[derive(Clone)]
pub struct Group(Arc<GroupSeat>);

struct GroupSeat {
    facts: Facts,
    settings: GroupSettings,
    notes: UnboundedSender<Note>,
    /// Until the group is made.
    unheard: Mutex<Option<UnboundedReceiver<Note>>>,
    house: OnceLock<Arc<House>>,
    is_open: AtomicBool,
    id_next: AtomicU64,
    count: AtomicUsize,
    /// For the tree.
    roster: Mutex<HashMap<u64, Arc<dyn Member>>>,
    given_up: Mutex<VecDeque<Arc<dyn Member>>>,
}

struct Slot {
    member: Arc<dyn Member>,
    phase: Phase,
    history: History,
    ticket: u64,
}

impl Group {
    /// A group. It takes children as soon as its supervisor has started it.
    pub fn new(name: &str, settings: GroupSettings) -> Group {
        let (notes, receiver) = unbounded_channel();
        Group(Arc::new(GroupSeat {
            facts: Facts::new(name),
            settings,
            notes,
            unheard: Mutex::new(Some(receiver)),
            house: OnceLock::new(),
            is_open: AtomicBool::new(false),
            id_next: AtomicU64::new(0),
            count: AtomicUsize::new(0),
            roster: Mutex::default(),
            given_up: Mutex::default(),
        }))
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0.facts.name
    }

    /// How many children there are.
    pub fn len(&self) -> usize {
        self.0.count.load(Ordering::Relaxed)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Starts a child on the calling thread, which must run actix. It leaves when it stops its own context, or when nobody
    /// holds its address any more and it has nothing left to do.
    pub fn start<A>(
        &self,
        name: &str,
        mailbox_capacity: usize,
        factory: impl FnMut() -> A + Send + 'static,
    ) -> Result<Addr<A>, JoinError>
    where
        A: Actor<Context = Context<A>>,
    {
        self.join(name, mailbox_capacity, None, Box::new(factory))
    }

    /// Starts a child on another thread.
    pub fn start_on<A>(
        &self,
        thread: &Thread,
        name: &str,
        mailbox_capacity: usize,
        factory: impl FnMut() -> A + Send + 'static,
    ) -> Result<Addr<A>, JoinError>
    where
        A: Actor<Context = Context<A>>,
    {
        self.join(name, mailbox_capacity, Some(thread.clone()), Box::new(factory))
    }

    fn join<A>(
        &self,
        name: &str,
        mailbox_capacity: usize,
        thread: Option<Thread>,
        factory: Box<dyn FnMut() -> A + Send>,
    ) -> Result<Addr<A>, JoinError>
    where
        A: Actor<Context = Context<A>>,
    {
        let group = &self.0;
        if !group.is_open.load(Ordering::Acquire) {
            return Err(JoinError::Closed);
        }
        if group.count.fetch_add(1, Ordering::AcqRel) >= group.settings.children_max {
            group.count.fetch_sub(1, Ordering::AcqRel);
            return Err(JoinError::Full);
        }
        if let (Some(thread), Some(house)) = (&thread, group.house.get()) {
            house.look_after(thread);
        }
        let (sender, receiver) = channel(mailbox_capacity.max(1));
        let id = group.id_next.fetch_add(1, Ordering::Relaxed);
        let uplink = Uplink { notes: group.notes.clone(), id };
        let member =
            Seat::new(SeatParts { name: name.into(), uplink, thread, ends_unaddressed: true, factory, receiver });
        if group.notes.send(Note::Joined(id, member.clone())).is_err() {
            return Err(JoinError::Closed);
        }
        member.order(Order::Start);
        Ok(Addr::new(sender))
    }

    /// # Panics
    /// If the group already belongs to a supervisor.
    pub(super) fn spawn(self, uplink: Uplink, house: &Arc<House>) -> Arc<dyn Member> {
        let notes = lock(&self.0.unheard).take().expect("a group belongs to one supervisor only");
        let _ = self.0.house.set(house.clone());
        let task = GroupTask {
            seat: self.0.clone(),
            house: house.clone(),
            uplink,
            notes,
            timers: Timers::default(),
            mode: Mode::Down,
            slots: HashMap::new(),
            ticket: 0,
        };
        actix_rt::spawn(task.run());
        self.0
    }
}

impl Member for GroupSeat {
    fn order(self: Arc<Self>, order: Order) {
        let _ = self.notes.send(Note::Order(order));
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn kind(&self) -> Kind {
        Kind::Group
    }

    fn mailbox(&self) -> Option<MailboxView> {
        None
    }

    fn children(&self, children_max: usize) -> (Vec<Arc<dyn Member>>, usize) {
        let mut children: Vec<Arc<dyn Member>> = lock(&self.given_up).iter().cloned().collect();
        children.extend(lock(&self.roster).values().cloned());
        let total = children.len();
        children.sort_by_cached_key(|child| (std::cmp::Reverse(child.facts().restarts()), child.facts().name.clone()));
        children.truncate(children_max);
        (children, total)
    }
}

/// The task that looks after the children of a group, on the root's thread.
struct GroupTask {
    seat: Arc<GroupSeat>,
    house: Arc<House>,
    uplink: Uplink,
    notes: UnboundedReceiver<Note>,
    timers: Timers,
    mode: Mode,
    slots: HashMap<u64, Slot>,
    /// Which alarm of the whole group is meant.
    ticket: u64,
}

/// What a group is about; like the modes of a supervisor.
enum Mode {
    Down,
    Running,
    Failing(Fault),
    Stopping(Option<Fault>),
    Closed,
}

impl GroupTask {
    async fn run(mut self) {
        while !matches!(self.mode, Mode::Closed) {
            let stepped = tokio::select! {
                biased;
                Some(note) = self.notes.recv() => guard(|| self.hear(note)),
                alarm = self.timers.next() => guard(|| self.ring(alarm)),
            };
            if let Err(fault) = stepped {
                let _ = guard(|| self.fail(fault.within("the group itself panicked")));
            }
            if self.is_ending() && self.slots.is_empty() {
                self.finish();
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
                self.seat.is_open.store(true, Ordering::Release);
                self.uplink.report(Report::Started);
            }
            Order::Stop => {
                let fault = match std::mem::replace(&mut self.mode, Mode::Down) {
                    Mode::Failing(fault) => Some(fault),
                    _ => None,
                };
                self.mode = Mode::Stopping(fault);
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
        if !matches!(self.mode, Mode::Running) {
            // It came through the door while that was being closed.
            self.seat.count.fetch_sub(1, Ordering::AcqRel);
            member.order(Order::Close);
            return;
        }
        member.facts().enter(State::Starting, self.house.now());
        lock(&self.seat.roster).insert(id, member.clone());
        self.slots.insert(id, Slot { member, phase: Phase::Starting, history: History::default(), ticket: 0 });
    }

    fn hear_report(&mut self, id: u64, report: Report) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        let is_running = matches!(slot.phase, Phase::Starting | Phase::Up);
        match report {
            Report::Started if slot.phase == Phase::Starting => {
                slot.phase = Phase::Up;
                slot.member.facts().enter(State::Up, self.house.now());
                self.house.observe(&Event::Started { name: &slot.member.facts().name });
            }
            Report::Started => {}
            Report::Crashed(fault) => {
                let fault = self.note_crash(id, fault);
                if is_running {
                    self.answer_crash(id, fault);
                }
            }
            Report::Ended if is_running && self.seat.settings.restart == Restart::Permanent => {
                let fault = self.note_crash(id, Fault::because("it ended, though it is permanent"));
                self.answer_crash(id, fault);
            }
            Report::Ended if is_running => {
                if let Some(member) = self.remove(id) {
                    self.house.observe(&Event::Ended { name: &member.facts().name });
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
        let crash = self.house.record(fault);
        if let Some(slot) = self.slots.get(&id) {
            let facts = slot.member.facts();
            facts.note_crash(&crash);
            self.house.observe(&Event::Crashed { name: &facts.name, crash: &crash });
        }
        crash.to_fault()
    }

    fn answer_crash(&mut self, id: u64, fault: Fault) {
        let GroupSettings { restart, intensity, .. } = self.seat.settings;
        let Some(slot) = self.slots.get_mut(&id) else { return };
        let now = self.house.now();
        let nth = slot.history.add(now, &intensity);
        if restart == Restart::Temporary || nth > intensity.restarts_max {
            return self.give_up(id, fault);
        }
        let after = intensity.delay(nth, self.house.environment().roll());
        let facts = slot.member.facts();
        self.house.observe(&Event::Restarting { name: &facts.name, after, nth });
        if after.is_zero() {
            slot.restart(now);
        } else {
            facts.enter(State::Delayed, now);
            slot.phase = Phase::Delayed;
            slot.ticket += 1;
            self.timers.set(self.house.environment(), after, Alarm { id, ticket: slot.ticket });
        }
    }

    /// Takes a child off the list and closes its mailbox.
    fn remove(&mut self, id: u64) -> Option<Arc<dyn Member>> {
        let slot = self.slots.remove(&id)?;
        lock(&self.seat.roster).remove(&id);
        self.seat.count.fetch_sub(1, Ordering::AcqRel);
        slot.member.clone().order(Order::Close);
        Some(slot.member)
    }

    fn give_up(&mut self, id: u64, fault: Fault) {
        let Some(member) = self.remove(id) else { return };
        let crash = self.house.record(fault);
        member.facts().enter(State::GivenUp, self.house.now());
        self.house.observe(&Event::GaveUp { name: &member.facts().name, crash: &crash });
        let reason = format!("{} crashed too often", member.facts().name);
        let mut given_up = lock(&self.seat.given_up);
        given_up.truncate(GIVEN_UP_SHOWN_MAX - 1);
        given_up.push_front(member);
        drop(given_up);
        if self.seat.settings.when_given_up == WhenGivenUp::Escalate {
            self.fail(crash.to_fault().within(&reason));
        }
    }

    fn ring(&mut self, alarm: Alarm) {
        if alarm.id != GROUP_ALARM {
            let slot = self.slots.get_mut(&alarm.id);
            if let Some(slot) = slot.filter(|slot| slot.ticket == alarm.ticket && slot.phase == Phase::Delayed) {
                slot.restart(self.house.now());
            }
            return;
        }
        if alarm.ticket != self.ticket || !self.is_ending() {
            return;
        }
        // The first time those that are left are dropped by force, the second time nobody waits for them any longer.
        if self.slots.values().all(|slot| slot.phase != Phase::Stopping) {
            return self.close_all();
        }
        let limit = self.seat.settings.stop_within;
        for slot in self.slots.values_mut() {
            slot.phase = Phase::Gone;
            slot.member.clone().order(Order::Kill);
            self.house.observe(&Event::Overran { name: &slot.member.facts().name, limit });
        }
        self.timers.set(self.house.environment(), KILL_GRACE, alarm);
    }

    fn fail(&mut self, fault: Fault) {
        if !matches!(self.mode, Mode::Running) {
            return;
        }
        let crash = self.house.record(fault);
        self.house.observe(&Event::GaveUp { name: &self.seat.facts.name, crash: &crash });
        self.mode = Mode::Failing(crash.to_fault());
        self.stop_all();
    }

    fn is_ending(&self) -> bool {
        matches!(self.mode, Mode::Failing(_) | Mode::Stopping(_))
    }

    /// All at once: they are independent of each other.
    fn stop_all(&mut self) {
        self.seat.is_open.store(false, Ordering::Release);
        self.ticket += 1;
        let alarm = Alarm { id: GROUP_ALARM, ticket: self.ticket };
        self.timers.set(self.house.environment(), self.seat.settings.stop_within, alarm);
        let now = self.house.now();
        for slot in self.slots.values_mut() {
            slot.phase = Phase::Stopping;
            slot.member.facts().enter(State::Stopping, now);
            slot.member.clone().order(Order::Stop);
        }
    }

    fn close_all(&mut self) {
        self.seat.is_open.store(false, Ordering::Release);
        lock(&self.seat.roster).clear();
        self.seat.count.fetch_sub(self.slots.len(), Ordering::AcqRel);
        for (_, slot) in self.slots.drain() {
            slot.member.order(Order::Close);
        }
    }

    fn finish(&mut self) {
        self.uplink.report(match std::mem::replace(&mut self.mode, Mode::Down) {
            Mode::Failing(fault) => Report::Crashed(fault),
            Mode::Stopping(fault) => Report::Stopped(fault),
            Mode::Down | Mode::Running | Mode::Closed => return,
        });
    }
}

impl Slot {
    fn restart(&mut self, now: Duration) {
        self.phase = Phase::Starting;
        self.member.facts().enter(State::Starting, now);
        self.member.clone().order(Order::Start);
    }
}
