//! What must hold at every step. The checks see everything: true time, all processes, the publisher.

use crate::model::{NodeId, OwnedShard};

use super::{HOT, LEASE, PAUSE};

/// Clocks run apart by at most 1,000 ppm each.
const DRIFT_PER_MILLE: u64 = 2;

#[derive(Clone, Copy, Debug)]
pub(super) struct SimulatedRequest {
    pub(super) machine: usize,
    pub(super) node: NodeId,
    pub(super) owned: OwnedShard,
    pub(super) began_at: u64,
    pub(super) is_open: bool,
}

/// Figures of a run, to see that it has shown anything.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SimulatedCounts {
    pub(super) requests: u64,
    pub(super) cuts: u64,
    pub(super) taken: u64,
    pub(super) expired: u64,
    pub(super) rejoined: u64,
    pub(super) released: u64,
    pub(super) writes: u64,
    pub(super) fenced: u64,
    pub(super) failovers: u64,
    /// Requests at a shard whose former owner is stopped with a request that is still open.
    pub(super) beside_stopped: u64,
}

impl SimulatedCounts {
    pub(super) fn add(&mut self, other: &SimulatedCounts) {
        self.requests += other.requests;
        self.cuts += other.cuts;
        self.taken += other.taken;
        self.expired += other.expired;
        self.rejoined += other.rejoined;
        self.released += other.released;
        self.writes += other.writes;
        self.fenced += other.fenced;
        self.failovers += other.failovers;
        self.beside_stopped += other.beside_stopped;
    }

    /// Whether everything happened that the rules are for.
    pub(super) fn is_telling(&self) -> bool {
        let counts = [self.requests, self.cuts, self.taken, self.expired, self.rejoined, self.released];
        counts.iter().chain(&[self.writes, self.fenced, self.failovers]).all(|&count| count >= 100)
    }
}

#[derive(Default)]
pub(super) struct Checks {
    pub(super) requests: Vec<SimulatedRequest>,
    open: [Vec<usize>; HOT],
    /// Machine and time of the last end of a request that was not excused, by shard.
    last_end: [Option<(usize, u64)>; HOT],
    /// True time of the last renewal of each node that the database executed.
    renewed_at: Vec<u64>,
    pub(super) counts: SimulatedCounts,
    pub(super) violation: Option<String>,
}

impl Checks {
    pub(super) fn fail(&mut self, now: u64, what: String) {
        self.violation.get_or_insert_with(|| format!("at {:.3} s: {what}", now as f64 / 1e6));
    }

    /// Begins a request. `is_stopped` tells of a machine whether its process is stopped.
    pub(super) fn dial(
        &mut self,
        machine: usize,
        node: NodeId,
        owned: OwnedShard,
        now: u64,
        is_stopped: impl Fn(usize) -> bool,
    ) -> usize {
        let shard = usize::from(owned.shard.0);
        for place in 0..self.open[shard].len() {
            let other = self.requests[self.open[shard][place]].machine;
            if other != machine && is_stopped(other) {
                self.counts.beside_stopped += 1;
            } else {
                self.fail(now, format!("machines {other} and {machine} have requests at shard {shard}"));
            }
        }
        if let Some((other, ended_at)) = self.last_end[shard]
            && other != machine
            && now - ended_at < shortest(PAUSE)
        {
            let gap = now - ended_at;
            self.fail(now, format!("machine {machine} asks shard {shard} {gap} us after machine {other}"));
        }
        self.counts.requests += 1;
        let id = self.requests.len();
        self.requests.push(SimulatedRequest { machine, node, owned, began_at: now, is_open: true });
        self.open[shard].push(id);
        id
    }

    /// Ends a request; does nothing if it has ended.
    pub(super) fn end(&mut self, id: usize, now: u64, is_excused: bool) {
        let request = &mut self.requests[id];
        if std::mem::take(&mut request.is_open) {
            let (shard, machine) = (usize::from(request.owned.shard.0), request.machine);
            self.open[shard].retain(|&open| open != id);
            if !is_excused {
                self.last_end[shard] = Some((machine, now));
            }
        }
    }

    pub(super) fn took_long_enough_ago(&mut self, machine: usize, shard: usize, taken_at: u64, now: u64) {
        if now - taken_at < shortest(PAUSE) {
            self.fail(now, format!("machine {machine} asks shard {shard} {} us after it was taken", now - taken_at));
        }
    }

    pub(super) fn renewed(&mut self, node: NodeId, now: u64) {
        let place = node.0 as usize;
        if self.renewed_at.len() <= place {
            self.renewed_at.resize(place + 1, 0);
        }
        self.renewed_at[place] = now;
    }

    pub(super) fn expired(&mut self, node: NodeId, now: u64) {
        self.counts.expired += 1;
        let renewed_at = self.renewed_at.get(node.0 as usize).copied().unwrap_or_default();
        if now - renewed_at < shortest(LEASE) {
            self.fail(now, format!("{node:?} was ended {} us after its renewal", now - renewed_at));
        }
    }
}

fn shortest(duration: u64) -> u64 {
    duration - duration * DRIFT_PER_MILLE / 1000
}
