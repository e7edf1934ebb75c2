//! The simulated world: true time, messages, faults.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use crate::model::{NodeId, OwnedShard};
use crate::rules::fleet::{Renewal, share};

use super::checks::{Checks, SimulatedCounts};
use super::database::SimulatedDatabase;
use super::dice::SplitMix;
use super::process::{Machine, ProcessState};
use super::{HOT, LEASE, Mutation, SECOND};

const MACHINES_MAX: usize = 16;
/// Faults end at this time.
const CALM_AT: u64 = 200 * SECOND;
/// Lease, two renewals, a round for taking; a second for messages.
const OWNED_AFTER: u64 = LEASE + LEASE / 6 * 3 + SECOND;
/// One renewal, and a second for messages.
const ROUND: u64 = LEASE / 6 + SECOND;
/// All 256 shards of a node in batches of 32, and some rounds to notice, each of two renewals.
const BALANCED_AFTER: u64 = 12 * (LEASE / 3);

pub(super) struct Simulation {
    pub(super) dice: SplitMix,
    pub(super) now: u64,
    queue: BinaryHeap<Scheduled>,
    pub(super) database: SimulatedDatabase,
    pub(super) machines: Vec<Machine>,
    pub(super) checks: Checks,
    pub(super) mutation: Option<Mutation>,
    pub(super) calm_at: u64,
    /// All shards have owners by then.
    owned_at: u64,
    /// Number of nodes that have ever joined: ids are unique, also across lost commits.
    pub(super) nodes: i64,
    /// When each shard got its last request.
    pub(super) dialled_at: [u64; HOT],
    faults: Vec<FaultKind>,
    is_finished: bool,
}

pub(super) enum FleetStatement {
    Join { node: NodeId, joined_at: Duration },
    Renew { node: NodeId, takes: bool },
    Expire { still: Vec<(NodeId, i64)>, timeline: String },
    Take { node: NodeId, count: usize, timeline: String },
    Release { node: NodeId, shards: Vec<OwnedShard> },
    Leave { node: NodeId },
    Settle { node: NodeId, id: usize },
    Turn,
}

pub(super) enum SimulatedAnswer {
    Joined(NodeId),
    Renewed(NodeId, Renewal),
    Expired(usize),
    Took(NodeId, Vec<OwnedShard>),
    Turned,
}

pub(super) enum Happening {
    // At the process; they wait while it is stopped.
    Renew,
    Dial,
    Cut,
    Response(usize),
    Answer { sent_at: Duration, answer: SimulatedAnswer, offset: Duration },
    // Elsewhere.
    Published(usize),
    Arrival { sent_at: Duration, server: u32, statement: FleetStatement },
    Start,
    Fault,
    DatabaseUp,
    Calm,
    CheckOwned,
    CheckBalanced,
}

struct Scheduled {
    /// Time, and then by chance: what happens at the same time has no order.
    at: Reverse<(u64, u64)>,
    machine: usize,
    run: u32,
    happening: Happening,
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Scheduled) -> bool {
        self.at == other.at
    }
}
impl Eq for Scheduled {}
impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Scheduled) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Scheduled {
    fn cmp(&self, other: &Scheduled) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaultKind {
    Stop,
    Kill,
    Leave,
    Away,
    Slow,
    Restart,
    Failover,
    DatabaseClock,
    MachineClock,
}

const FAULTS: [FaultKind; 9] = [
    FaultKind::Stop,
    FaultKind::Kill,
    FaultKind::Leave,
    FaultKind::Away,
    FaultKind::Slow,
    FaultKind::Restart,
    FaultKind::Failover,
    FaultKind::DatabaseClock,
    FaultKind::MachineClock,
];

/// Plays a seed to its end, or to the first violation. Without a list of faults the seed chooses them.
pub(super) fn play(seed: u64, faults: &[FaultKind], mutation: Option<Mutation>) -> Result<SimulatedCounts, String> {
    let mut simulation = Simulation::new(seed, faults, mutation);
    while let Some(next) = simulation.queue.pop() {
        simulation.now = next.at.0.0;
        simulation.happen(next);
        if let Some(violation) = simulation.checks.violation {
            return Err(violation);
        }
        if simulation.is_finished {
            break;
        }
    }
    Ok(simulation.checks.counts)
}

impl Simulation {
    fn new(seed: u64, faults: &[FaultKind], mutation: Option<Mutation>) -> Simulation {
        let mut dice = SplitMix::new(seed);
        let is_small = !faults.is_empty() || dice.chance(60);
        let count = if is_small { dice.between(2, 5) as usize } else { 2 + dice.below(MACHINES_MAX - 1) };
        let machines = (0..count).map(|name| Machine {
            name,
            boot: 0,
            run: 0,
            is_running: false,
            is_leaving: false,
            stopped_until: 0,
            away_until: 0,
            slow_until: 0,
            clock_start: dice.between(0, 10_000 * SECOND),
            drift_ppm: dice.between(0, 2000) as i64 - 1000,
            wall_offset: dice.between(0, 1_000_000) as i64 - 500_000,
            process: ProcessState::default(),
        });
        let machines: Vec<Machine> = machines.collect();
        // Few kinds of faults at a time reach deeper than all of them.
        let mut faults = faults.to_vec();
        while faults.is_empty() {
            faults = FAULTS.into_iter().filter(|_| dice.chance(40)).collect();
        }
        let mut simulation = Simulation {
            dice,
            now: 0,
            queue: BinaryHeap::new(),
            database: SimulatedDatabase::new(mutation),
            machines,
            checks: Checks::default(),
            mutation,
            calm_at: CALM_AT,
            owned_at: 0,
            nodes: 0,
            dialled_at: [0; HOT],
            faults,
            is_finished: false,
        };
        for machine in 0..count {
            let start = simulation.dice.between(0, if machine < 2 { SECOND } else { 60 * SECOND });
            simulation.at(start, machine, Happening::Start);
        }
        simulation.at(20 * SECOND, 0, Happening::Fault);
        simulation.at(CALM_AT, 0, Happening::Calm);
        simulation
    }

    pub(super) fn at(&mut self, at: u64, machine: usize, happening: Happening) {
        let run = self.machines[machine].run;
        self.queue.push(Scheduled { at: Reverse((at, self.dice.next())), machine, run, happening });
    }

    /// After so many microseconds of the machine's clock.
    pub(super) fn after(&mut self, wait: u64, machine: usize, happening: Happening) {
        let at = self.now as i64 + wait as i64 - wait as i64 * self.machines[machine].drift_ppm / 1_000_000;
        self.at(at as u64, machine, happening);
    }

    fn happen(&mut self, next: Scheduled) {
        let machine = next.machine;
        let here = &self.machines[machine];
        let is_current = here.is_running && here.run == next.run;
        match next.happening {
            Happening::Published(id) => self.published(machine, id),
            Happening::Arrival { sent_at, server, statement } => {
                if self.database.is_up && self.database.server == server {
                    self.execute(machine, next.run, sent_at, statement);
                }
            }
            Happening::Start => self.start(machine),
            Happening::Fault => self.fault(),
            Happening::DatabaseUp => self.database.is_up = true,
            Happening::Calm => self.calm(),
            Happening::CheckOwned => self.check_owned(),
            Happening::CheckBalanced => self.check_balanced(),
            _ if !is_current => {}
            waiting if here.stopped_until > self.now => self.at(here.stopped_until, machine, waiting),
            Happening::Renew => self.renew(machine),
            Happening::Dial => self.dial(machine),
            Happening::Cut => self.cut(machine),
            Happening::Response(id) => self.response(machine, id),
            Happening::Answer { sent_at, answer, offset } => self.answered(machine, sent_at, answer, offset),
        }
    }

    fn start(&mut self, machine: usize) {
        if !self.machines[machine].is_running {
            self.machines[machine].is_running = true;
            self.renew(machine);
            self.dial(machine);
        }
    }

    /// Sends a statement to the database; it may be late or lost.
    pub(super) fn send(&mut self, machine: usize, statement: FleetStatement) {
        let sent_at = self.machines[machine].clock(self.now);
        let server = self.database.server;
        if let Some(at) = self.arrival(machine) {
            self.at(at, machine, Happening::Arrival { sent_at, server, statement });
        }
    }

    fn arrival(&mut self, machine: usize) -> Option<u64> {
        let here = &self.machines[machine];
        let (is_away, is_slow) = (here.away_until > self.now, here.slow_until > self.now);
        if is_away || (is_slow && self.dice.chance(30)) {
            return None;
        }
        let is_late = is_slow && self.dice.chance(60);
        let at = self.now + self.dice.between(1_000, if is_late { 30 * SECOND } else { 30_000 });
        Some(if self.now < self.calm_at && is_slow { at.min(self.calm_at) } else { at })
    }

    fn execute(&mut self, machine: usize, run: u32, sent_at: Duration, statement: FleetStatement) {
        let now = self.now;
        if !matches!(statement, FleetStatement::Settle { .. }) {
            self.database.begin();
        }
        let answer = match statement {
            FleetStatement::Join { node, joined_at } => {
                let Machine { name, boot, .. } = self.machines[machine];
                if let Some(ended) = self.database.join(node, name, boot, joined_at, now) {
                    self.checks.renewed(node, now);
                    self.check_ended(&ended);
                }
                SimulatedAnswer::Joined(node)
            }
            FleetStatement::Renew { node, takes } => {
                let renewal = self.database.renew(node, takes, now);
                if renewal.beat.is_some() {
                    self.checks.renewed(node, now);
                }
                SimulatedAnswer::Renewed(node, renewal)
            }
            FleetStatement::Expire { still, timeline } => {
                let ended = self.database.expire(&still, &timeline, now);
                ended.iter().for_each(|&node| self.checks.expired(node, now));
                self.check_ended(&ended);
                SimulatedAnswer::Expired(ended.len())
            }
            FleetStatement::Take { node, count, timeline } => {
                let taken = self.database.take(node, count, &timeline, now, &mut self.dice);
                self.check_taken(node, &taken);
                SimulatedAnswer::Took(node, taken)
            }
            FleetStatement::Release { node, shards } => return self.database.release(node, &shards, now),
            FleetStatement::Leave { node } => return self.database.leave(node),
            FleetStatement::Settle { node, id } => return self.settled(node, id),
            FleetStatement::Turn => {
                self.database.turn(now);
                SimulatedAnswer::Turned
            }
        };
        let offset = self.database.offset_to(now as i64 + self.machines[machine].wall_offset, now);
        if self.machines[machine].run == run
            && let Some(at) = self.arrival(machine)
        {
            self.at(at, machine, Happening::Answer { sent_at, answer, offset });
        }
    }

    /// No node is ended that may use its shards yet.
    fn check_ended(&mut self, ended: &[NodeId]) {
        for machine in self.machines.iter().filter(|machine| machine.node().is_some_and(|node| ended.contains(&node))) {
            let mut shards = machine.process.membership.iter().flat_map(|membership| membership.shards());
            if shards.any(|owned| machine.has_right(owned.shard, self.now)) {
                self.checks.fail(self.now, format!("machine {} was ended and may use its shards", machine.name));
            }
        }
    }

    /// Nothing is taken that another process may use yet.
    fn check_taken(&mut self, node: NodeId, taken: &[OwnedShard]) {
        self.checks.counts.taken += taken.len() as u64;
        for machine in &self.machines {
            if machine.node() == Some(node) {
                continue;
            }
            if let Some(robbed) = taken.iter().find(|owned| machine.has_right(owned.shard, self.now)) {
                let what = format!("{node:?} took {robbed:?} from machine {}, which may use it", machine.name);
                self.checks.fail(self.now, what);
            }
        }
    }

    /// A write goes through only if no other node has taken the shard since the request began.
    fn settled(&mut self, node: NodeId, id: usize) {
        let request = self.checks.requests[id];
        if !self.database.settle(node, request.owned) {
            self.checks.counts.fenced += 1;
            return;
        }
        self.checks.counts.writes += 1;
        let row = self.database.tables.shards[usize::from(request.owned.shard.0)];
        let was_taken = row.node.is_some_and(|owner| owner != node) || row.taken_at > request.began_at;
        if was_taken {
            let what = format!("{node:?} wrote for {:?}, which belongs to {:?}", request.owned, row.node);
            self.checks.fail(self.now, what);
        }
    }

    fn fault(&mut self) {
        let kind = self.faults[self.dice.below(self.faults.len())];
        let machine = self.dice.below(self.machines.len());
        let lasts = |most: u64, simulation: &mut Simulation| {
            let end = simulation.now + simulation.dice.between(SECOND / 10, most * SECOND);
            end.min(simulation.calm_at)
        };
        match kind {
            FaultKind::Stop => {
                let until = lasts(90, self);
                self.machines[machine].stopped_until = until.max(self.machines[machine].stopped_until);
            }
            FaultKind::Kill | FaultKind::Leave => {
                let again_at = self.now + self.dice.between(SECOND / 10, 60 * SECOND);
                let is_gone = self.dice.chance(20);
                if self.machines[machine].is_running {
                    let is_stopped = self.machines[machine].stopped_until > self.now;
                    if kind == FaultKind::Kill {
                        self.end_process(machine);
                        self.machines[machine].boot += u32::from(self.dice.chance(20));
                    } else if !is_stopped {
                        self.leave(machine);
                    }
                }
                if !is_gone && again_at < self.calm_at {
                    self.at(again_at, machine, Happening::Start);
                }
            }
            FaultKind::Away => self.machines[machine].away_until = lasts(60, self),
            FaultKind::Slow => self.machines[machine].slow_until = lasts(90, self),
            FaultKind::Restart | FaultKind::Failover => {
                self.database.is_up = false;
                self.database.server += 1;
                if kind == FaultKind::Failover {
                    let lost_commits = self.dice.below(61);
                    self.database.fail_over(lost_commits);
                    self.checks.counts.failovers += 1;
                }
                let until = lasts(if self.dice.chance(30) { 60 } else { 5 }, self);
                self.at(until, machine, Happening::DatabaseUp);
            }
            FaultKind::DatabaseClock => {
                let hours = self.dice.chance(50);
                let by = self.dice.between(0, if hours { 4000 * SECOND } else { 20 * SECOND }) as i64;
                self.database.clock_offset = if self.dice.chance(50) { by } else { -by };
            }
            FaultKind::MachineClock => {
                self.machines[machine].wall_offset = if self.dice.chance(50) { 0 } else { 15_000_000 };
            }
        }
        let wait = self.dice.between(SECOND / 2, 15 * SECOND);
        if self.now + wait < self.calm_at {
            self.at(self.now + wait, 0, Happening::Fault);
        }
    }

    /// Ends all faults. Some processes stay down, and some clocks of machines wrong, but never all.
    fn calm(&mut self) {
        self.database.is_up = true;
        self.database.clock_offset = 0;
        let sound = self.dice.below(self.machines.len());
        self.machines[sound].wall_offset = 0;
        for machine in 0..self.machines.len() {
            self.machines[machine].is_leaving = false;
            if machine == sound || self.dice.chance(40) {
                self.start(machine);
            }
        }
        // Times that were stored by a wrong clock may be in force for one more lease.
        self.owned_at = self.now + OWNED_AFTER + if self.has_fault(FaultKind::DatabaseClock) { LEASE } else { 0 };
        self.at(self.owned_at, 0, Happening::CheckOwned);
    }

    fn has_fault(&self, kind: FaultKind) -> bool {
        self.faults.contains(&kind)
    }

    fn check_owned(&mut self) {
        let is_owned = |node: Option<NodeId>| {
            let Some(node) = node.filter(|node| self.database.is_live(*node)) else { return false };
            self.machines.iter().any(|machine| machine.node() == Some(node))
        };
        let shards = &self.database.tables.shards;
        // A shard that was released just now is on its way to its next owner.
        let is_moving = |released_at: u64| released_at + ROUND > self.now;
        let ownerless = shards.iter().filter(|row| !is_owned(row.node) && !is_moving(row.released_at)).count();
        if ownerless > 0 {
            self.checks.fail(self.now, format!("{ownerless} shards have no live owner"));
        }
        self.check_balanced();
    }

    /// Finishes as soon as no node owns too much and all shards get requests again.
    fn check_balanced(&mut self) {
        let is_taking = |machine: &&Machine| machine.node().is_some() && machine.wall_offset.abs() < 10_000_000;
        let most = share(self.machines.iter().filter(is_taking).count()) + 1;
        let owned = |node: NodeId| self.database.tables.shards.iter().filter(|row| row.node == Some(node)).count();
        let is_balanced = self.machines.iter().filter_map(Machine::node).all(|node| owned(node) <= most);
        let are_asked = self.dialled_at.iter().all(|&at| at > self.owned_at - LEASE);
        let has_owners = self.database.tables.shards.iter().all(|row| !self.database.is_free(row));
        if is_balanced && are_asked && has_owners {
            self.is_finished = true;
        } else if self.now > self.owned_at + BALANCED_AFTER {
            let what = format!("balanced: {is_balanced}, all asked: {are_asked}, all owned: {has_owners}");
            self.checks.fail(self.now, what);
        } else {
            self.at(self.now + SECOND, 0, Happening::CheckBalanced);
        }
    }
}
