//! A process of the simulation: does with the rules what the actors do.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::model::{NodeId, OwnedShard, Shard};
use crate::rules::fleet::{CLOCK_OFFSET_MAX, Membership, Plan, Renewal, Windows};

use super::world::{FleetStatement, Happening, SimulatedAnswer, Simulation};
use super::{HOT, LEASE, Mutation, PAUSE, micros};

pub(super) struct Machine {
    pub(super) name: usize,
    pub(super) boot: u32,
    /// Counts the processes; what happens to an earlier one is ignored.
    pub(super) run: u32,
    pub(super) is_running: bool,
    pub(super) is_leaving: bool,
    pub(super) stopped_until: u64,
    /// No connection to the database until then.
    pub(super) away_until: u64,
    /// Statements and answers are delayed and lost until then.
    pub(super) slow_until: u64,
    pub(super) clock_start: u64,
    pub(super) drift_ppm: i64,
    pub(super) wall_offset: i64,
    pub(super) process: ProcessState,
}

#[derive(Default)]
pub(super) struct ProcessState {
    /// Joining as this node since the first attempt.
    joining: Option<(NodeId, Duration)>,
    /// The new timeline is to be stored before the join.
    is_turning: bool,
    pub(super) membership: Option<Membership>,
    ended: Option<Membership>,
    ready_at: [Duration; HOT],
    draining: BTreeSet<Shard>,
    requests: [Option<usize>; HOT],
    clock_offset: Duration,
    /// What answers showed, for the process that believes every list.
    shown: BTreeMap<Shard, i64>,
}

impl Machine {
    pub(super) fn clock(&self, now: u64) -> Duration {
        micros(self.clock_start + (now as i64 + now as i64 * self.drift_ppm / 1_000_000) as u64)
    }

    /// True time at which the clock reads this.
    pub(super) fn true_time(&self, clock: Duration) -> u64 {
        let passed = (clock.as_micros() as u64).saturating_sub(self.clock_start);
        (passed as i128 * 1_000_000 / (1_000_000 + self.drift_ppm) as i128) as u64
    }

    pub(super) fn node(&self) -> Option<NodeId> {
        self.process.membership.as_ref().filter(|_| self.is_running).map(Membership::node)
    }

    /// Whether this process believes now that it may use the shard until some later time.
    pub(super) fn has_right(&self, shard: Shard, now: u64) -> bool {
        self.is_running
            && self.process.membership.as_ref().is_some_and(|membership| {
                membership.owned(shard).is_some() && self.true_time(membership.window().cut_at) > now
            })
    }
}

impl Simulation {
    /// A renewal is due.
    pub(super) fn renew(&mut self, machine: usize) {
        self.renew_now(machine);
        let jitter = self.dice.between(0, 20_000);
        let every = windows().renew_every().as_micros() as u64;
        self.after(every + jitter, machine, Happening::Renew);
    }

    fn renew_now(&mut self, machine: usize) {
        let sent_at = self.machines[machine].clock(self.now);
        let process = &mut self.machines[machine].process;
        if process.is_turning {
            return self.send(machine, FleetStatement::Turn);
        }
        if let Some(membership) = &process.membership {
            let takes = process.clock_offset <= CLOCK_OFFSET_MAX;
            let statement = FleetStatement::Renew { node: membership.node(), takes };
            return self.send(machine, statement);
        }
        let node = match process.joining {
            Some((node, _)) => node,
            None => {
                self.nodes += 1;
                NodeId(self.nodes)
            }
        };
        let joined_at = self.machines[machine].process.joining.get_or_insert((node, sent_at)).1;
        self.send(machine, FleetStatement::Join { node, joined_at });
    }

    pub(super) fn answered(&mut self, machine: usize, sent_at: Duration, answer: SimulatedAnswer, offset: Duration) {
        let now = self.machines[machine].clock(self.now);
        let process = &mut self.machines[machine].process;
        process.clock_offset = offset;
        match answer {
            SimulatedAnswer::Turned if process.is_turning => {
                process.is_turning = false;
                self.renew_now(machine);
            }
            SimulatedAnswer::Joined(node) if process.joining.is_some_and(|(joining, _)| joining == node) => {
                let membership = match process.ended.take() {
                    Some(ended) if self.mutation != Some(Mutation::NoQuietTime) => ended.rejoin(node, sent_at),
                    _ => Membership::new(node, windows(), sent_at),
                };
                *process =
                    ProcessState { membership: Some(membership), clock_offset: offset, ..ProcessState::default() };
                self.renew_now(machine);
            }
            SimulatedAnswer::Renewed(node, renewal) if self.is_member(machine, node) => {
                self.renewed(machine, sent_at, now, renewal, offset);
            }
            SimulatedAnswer::Took(node, shards) if self.is_member(machine, node) => {
                let process = &mut self.machines[machine].process;
                process.shown.extend(shards.iter().map(|owned| (owned.shard, owned.epoch)));
                let gained = process.membership.as_mut().unwrap().took(now, &shards);
                self.gained(machine, now, &gained);
            }
            SimulatedAnswer::Expired(count) if count > 0 => self.renew_now(machine),
            _ => {}
        }
    }

    fn is_member(&self, machine: usize, node: NodeId) -> bool {
        self.machines[machine].node() == Some(node)
    }

    fn renewed(&mut self, machine: usize, sent_at: Duration, now: Duration, mut renewal: Renewal, offset: Duration) {
        let sent_at = if self.mutation == Some(Mutation::LeaseFromAnswer) { now } else { sent_at };
        if self.mutation == Some(Mutation::TimelineIgnored) {
            renewal.is_new_timeline = false;
            renewal.timeline.clear();
            renewal.quiet_for = Duration::ZERO;
        }
        let process = &mut self.machines[machine].process;
        process.shown = renewal.shards.iter().map(|owned| (owned.shard, owned.epoch)).collect();
        let draining = process.draining.len();
        let membership = process.membership.as_mut().unwrap();
        let node = membership.node();
        let mut plan = membership.renewed(sent_at, now, &renewal, offset, draining);
        let timeline = membership.timeline().unwrap_or_default().to_owned();
        if self.mutation == Some(Mutation::ExpiryByClock) {
            plan.expire = renewal.nodes.iter().copied().filter(|(other, _)| *other != node).collect();
        }
        if plan.rejoin {
            return self.rejoin(machine, &plan);
        }
        for owned in &plan.lost {
            self.lost(machine, owned.shard);
        }
        self.gained(machine, now, &plan.gained);
        if !plan.release.is_empty() {
            self.send(machine, FleetStatement::Release { node, shards: plan.release });
        }
        if !plan.expire.is_empty() {
            self.send(machine, FleetStatement::Expire { still: plan.expire, timeline: timeline.clone() });
        }
        if self.machines[machine].is_leaving {
            return self.release_drained(machine);
        }
        if plan.take > 0 {
            self.send(machine, FleetStatement::Take { node, count: plan.take, timeline });
        }
        let process = &mut self.machines[machine].process;
        let shards: Vec<Shard> = process.membership.as_ref().unwrap().shards().map(|owned| owned.shard).collect();
        let mut left: Vec<Shard> = shards.into_iter().filter(|shard| !process.draining.contains(shard)).collect();
        for _ in 0..plan.drain.min(left.len()) {
            let shard = left.swap_remove(self.dice.below(left.len()));
            self.machines[machine].process.draining.insert(shard);
        }
        self.release_drained(machine);
    }

    fn rejoin(&mut self, machine: usize, plan: &Plan) {
        self.checks.counts.rejoined += 1;
        self.cut_all(machine);
        let process = &mut self.machines[machine].process;
        let ended = process.membership.take();
        *process = ProcessState { ended, is_turning: plan.is_new_timeline, ..ProcessState::default() };
        self.renew_now(machine);
    }

    fn gained(&mut self, machine: usize, now: Duration, shards: &[OwnedShard]) {
        let pause = if self.mutation == Some(Mutation::NoPause) { Duration::ZERO } else { micros(PAUSE) };
        for owned in shards {
            if let Some(ready_at) = self.machines[machine].process.ready_at.get_mut(usize::from(owned.shard.0)) {
                *ready_at = now + pause;
            }
        }
    }

    fn lost(&mut self, machine: usize, shard: Shard) {
        self.machines[machine].process.draining.remove(&shard);
        if usize::from(shard.0) < HOT {
            self.finish(machine, usize::from(shard.0));
        }
    }

    /// Sends requests to all hosts that are ready.
    pub(super) fn dial(&mut self, machine: usize) {
        let clock = self.machines[machine].clock(self.now);
        for shard in 0..HOT {
            let process = &self.machines[machine].process;
            let Some(membership) = &process.membership else { break };
            let window = membership.window();
            if clock >= window.dial_until || self.machines[machine].is_leaving {
                break;
            }
            let key = Shard(shard as u16);
            let epoch = match self.mutation {
                Some(Mutation::EveryListBelieved) => process.shown.get(&key).copied(),
                _ => membership.owned(key).map(|owned| owned.epoch),
            };
            let is_busy = process.requests[shard].is_some() || process.draining.contains(&key);
            if let Some(epoch) = epoch.filter(|_| !is_busy && clock >= process.ready_at[shard]) {
                self.begin_request(machine, membership.node(), OwnedShard { shard: key, epoch });
                let cut_at = self.machines[machine].true_time(window.cut_at) + 1;
                self.at(cut_at, machine, Happening::Cut);
            }
        }
        let wait = self.dice.between(200_000, 800_000);
        self.after(wait, machine, Happening::Dial);
    }

    fn begin_request(&mut self, machine: usize, node: NodeId, owned: OwnedShard) {
        let now = self.now;
        let shard = usize::from(owned.shard.0);
        let row = self.database.tables.shards[shard];
        if row.node == Some(node) {
            self.checks.took_long_enough_ago(machine, shard, row.taken_at, now);
        }
        let machines = &self.machines;
        let id = self.checks.dial(machine, node, owned, now, |other| machines[other].stopped_until >= now);
        self.dialled_at[shard] = now;
        self.machines[machine].process.requests[shard] = Some(id);
        let is_slow = now < self.calm_at && self.dice.chance(25);
        let lasts = self.dice.between(10_000, if is_slow { 60_000_000 } else { 2_000_000 });
        self.at(now + lasts, machine, Happening::Published(id));
    }

    /// The publisher has sent the whole response, whether or not the process runs.
    pub(super) fn published(&mut self, machine: usize, id: usize) {
        let is_stopped = self.machines[machine].stopped_until >= self.now;
        self.checks.end(id, self.now, is_stopped);
        self.at(self.now, machine, Happening::Response(id));
    }

    pub(super) fn response(&mut self, machine: usize, id: usize) {
        let shard = usize::from(self.checks.requests[id].owned.shard.0);
        if self.machines[machine].process.requests[shard] == Some(id) {
            self.finish(machine, shard);
        }
    }

    pub(super) fn cut(&mut self, machine: usize) {
        let clock = self.machines[machine].clock(self.now);
        let process = &self.machines[machine].process;
        let Some(membership) = process.membership.as_ref() else { return };
        let cut_at = membership.window().cut_at;
        if self.mutation == Some(Mutation::NoCut) || process.requests.iter().all(Option::is_none) {
            return;
        }
        if clock >= cut_at {
            self.cut_all(machine);
        } else {
            let again_at = self.machines[machine].true_time(cut_at) + 1;
            self.at(again_at.max(self.now + 1), machine, Happening::Cut);
        }
    }

    fn cut_all(&mut self, machine: usize) {
        for shard in 0..HOT {
            if self.machines[machine].process.requests[shard].is_some() {
                self.checks.counts.cuts += 1;
                self.finish(machine, shard);
            }
        }
    }

    /// Ends the request at the shard, if there is one, and settles it.
    fn finish(&mut self, machine: usize, shard: usize) {
        let Some(id) = self.machines[machine].process.requests[shard].take() else { return };
        // The process was stopped until now.
        let is_excused = self.machines[machine].stopped_until >= self.now;
        self.checks.end(id, self.now, is_excused);
        let clock = self.machines[machine].clock(self.now);
        self.machines[machine].process.ready_at[shard] = clock + micros(PAUSE);
        self.settle(machine, id);
        self.release_drained(machine);
    }

    fn settle(&mut self, machine: usize, id: usize) {
        let node = self.checks.requests[id].node;
        self.send(machine, FleetStatement::Settle { node, id });
    }

    /// Releases the drained shards, and leaves if that was asked for and no request is left.
    fn release_drained(&mut self, machine: usize) {
        let is_leaving = self.machines[machine].is_leaving;
        let process = &mut self.machines[machine].process;
        let Some(membership) = process.membership.as_mut() else { return };
        let node = membership.node();
        if is_leaving && process.requests.iter().all(Option::is_none) {
            self.send(machine, FleetStatement::Leave { node });
            return self.end_process(machine);
        }
        let requests = &process.requests;
        let is_idle = |shard: &Shard| requests.get(usize::from(shard.0)).is_none_or(Option::is_none);
        let drained: Vec<Shard> = process.draining.iter().copied().filter(is_idle).collect();
        let shards: Vec<OwnedShard> = drained.iter().filter_map(|&shard| membership.give_up(shard)).collect();
        process.draining.retain(|shard| !drained.contains(shard));
        if !shards.is_empty() {
            self.checks.counts.released += shards.len() as u64;
            self.send(machine, FleetStatement::Release { node, shards });
        }
    }

    pub(super) fn leave(&mut self, machine: usize) {
        self.machines[machine].is_leaving = true;
        self.release_drained(machine);
    }

    /// The process ends with its connections, at once.
    pub(super) fn end_process(&mut self, machine: usize) {
        for id in std::mem::take(&mut self.machines[machine].process.requests).into_iter().flatten() {
            let is_excused = self.machines[machine].stopped_until >= self.now;
            self.checks.end(id, self.now, is_excused);
        }
        let machine = &mut self.machines[machine];
        machine.is_running = false;
        machine.is_leaving = false;
        machine.run += 1;
        machine.process = ProcessState::default();
    }
}

pub(super) fn windows() -> Windows {
    Windows { lease: micros(LEASE) }
}
