//! The fleet's tables in memory, with the meaning of the SQL. A statement is one transaction.

use std::collections::VecDeque;
use std::time::Duration;

use crate::model::{NodeId, OwnedShard, SHARDS, Shard};
use crate::rules::fleet::Renewal;

use super::dice::SplitMix;
use super::{LEASE, Mutation, micros};

/// Commits that a failover may lose.
const LOST_COMMITS_MAX: usize = 60;

pub(super) struct SimulatedDatabase {
    pub(super) tables: Tables,
    history: VecDeque<Tables>,
    /// Timeline of the server, another one after each failover.
    pub(super) timeline: u32,
    /// Another one after each restart, too: connections end with it.
    pub(super) server: u32,
    pub(super) is_up: bool,
    /// By how much its clock is wrong, in microseconds.
    pub(super) clock_offset: i64,
    pub(super) mutation: Option<Mutation>,
}

#[derive(Clone)]
pub(super) struct Tables {
    /// By node id. None: joined in lost commits.
    pub(super) nodes: Vec<Option<NodeRow>>,
    pub(super) shards: Vec<ShardRow>,
    timeline: u32,
    quiet_until: i64,
}

#[derive(Clone, Copy)]
pub(super) struct NodeRow {
    name: usize,
    boot: u32,
    /// Reading of the machine's clock when the join was sent: orders the runs since a boot.
    joined_at: Duration,
    beat: i64,
    expires_at: i64,
    takes: bool,
    pub(super) has_ended: bool,
}

#[derive(Clone, Copy, Default)]
pub(super) struct ShardRow {
    pub(super) node: Option<NodeId>,
    pub(super) epoch: i64,
    /// For the checks: the true times at which it was taken and released.
    pub(super) taken_at: u64,
    pub(super) released_at: u64,
}

impl SimulatedDatabase {
    pub(super) fn new(mutation: Option<Mutation>) -> SimulatedDatabase {
        let shards = vec![ShardRow::default(); usize::from(SHARDS)];
        let tables = Tables { nodes: Vec::new(), shards, timeline: 1, quiet_until: i64::MIN };
        let history = VecDeque::new();
        SimulatedDatabase { tables, history, timeline: 1, server: 1, is_up: true, clock_offset: 0, mutation }
    }

    pub(super) fn clock(&self, now: u64) -> i64 {
        now as i64 + self.clock_offset
    }

    /// To be called before every statement that writes.
    pub(super) fn begin(&mut self) {
        self.history.push_back(self.tables.clone());
        if self.history.len() > LOST_COMMITS_MAX {
            self.history.pop_front();
        }
    }

    /// Promotes a standby that had not received the last commits.
    pub(super) fn fail_over(&mut self, lost_commits: usize) {
        if lost_commits > 0 && !self.history.is_empty() {
            let place = self.history.len().saturating_sub(lost_commits);
            self.tables = self.history[place].clone();
            self.history.truncate(place);
        }
        self.timeline += 1;
    }

    pub(super) fn is_live(&self, node: NodeId) -> bool {
        self.row(node).is_some_and(|row| !row.has_ended)
    }

    pub(super) fn is_free(&self, shard: &ShardRow) -> bool {
        shard.node.is_none_or(|node| !self.is_live(node))
    }

    /// Ends earlier runs on this machine and returns them. A repeated join changes nothing and returns none.
    pub(super) fn join(
        &mut self,
        node: NodeId,
        name: usize,
        boot: u32,
        joined_at: Duration,
        now: u64,
    ) -> Option<Vec<NodeId>> {
        let place = node.0 as usize;
        if self.tables.nodes.len() <= place {
            self.tables.nodes.resize(place + 1, None);
        }
        if self.tables.nodes[place].is_some() {
            return None;
        }
        let any_run = self.mutation == Some(Mutation::JoinEndsLaterRuns);
        let mut ended = Vec::new();
        for (other, row) in self.tables.nodes.iter_mut().enumerate() {
            let Some(row) = row.as_mut().filter(|row| !row.has_ended && row.name == name && row.boot == boot) else {
                continue;
            };
            if row.joined_at < joined_at || any_run {
                row.has_ended = true;
                ended.push(NodeId(other as i64));
            }
        }
        let expires_at = self.clock(now) + LEASE as i64;
        let row = NodeRow { name, boot, joined_at, beat: 0, expires_at, takes: true, has_ended: false };
        self.tables.nodes[place] = Some(row);
        Some(ended)
    }

    /// The lists are those of before the statement, as in a snapshot.
    pub(super) fn renew(&mut self, node: NodeId, takes: bool, now: u64) -> Renewal {
        let clock = self.clock(now);
        let mut renewal = Renewal {
            beat: None,
            shards: Vec::new(),
            nodes: Vec::new(),
            taking: 0,
            free: 0,
            timeline: self.timeline.to_string(),
            is_new_timeline: self.tables.timeline != self.timeline,
            quiet_for: Duration::from_micros(self.tables.quiet_until.saturating_sub(clock).max(0) as u64),
        };
        let all_take = self.mutation == Some(Mutation::AllNodesTake);
        for (place, row) in self.tables.nodes.iter().enumerate() {
            if let Some(row) = row.filter(|row| !row.has_ended) {
                renewal.nodes.push((NodeId(place as i64), row.beat));
                renewal.taking += usize::from(row.takes || all_take);
            }
        }
        for (place, shard) in self.tables.shards.iter().enumerate() {
            match shard.node {
                Some(owner) if owner == node => {
                    renewal.shards.push(OwnedShard { shard: Shard(place as u16), epoch: shard.epoch });
                    renewal.free += usize::from(!self.is_live(owner));
                }
                _ => renewal.free += usize::from(self.is_free(shard)),
            }
        }
        if let Some(row) = self.row_mut(node).filter(|row| !row.has_ended) {
            row.beat += 1;
            row.expires_at = clock + LEASE as i64;
            row.takes = takes;
            renewal.beat = Some(row.beat);
        }
        renewal
    }

    /// Returns the nodes that were ended.
    pub(super) fn expire(&mut self, still: &[(NodeId, i64)], timeline: &str, now: u64) -> Vec<NodeId> {
        if !self.is_on(timeline) {
            return Vec::new();
        }
        let clock = self.clock(now);
        let mutation = self.mutation;
        let mut ended = Vec::new();
        for &(node, beat) in still {
            let Some(row) = self.row_mut(node).filter(|row| !row.has_ended) else { continue };
            // A time further ahead than a lease was written before the clock was set back.
            let is_stepped = row.expires_at > clock + LEASE as i64 && mutation != Some(Mutation::ExpiryTrustsClock);
            let is_beat_same = row.beat == beat || mutation == Some(Mutation::ExpiryByClock);
            if is_beat_same && (row.expires_at <= clock || is_stepped) {
                row.has_ended = true;
                ended.push(node);
            }
        }
        ended
    }

    pub(super) fn take(
        &mut self,
        node: NodeId,
        count: usize,
        timeline: &str,
        now: u64,
        dice: &mut SplitMix,
    ) -> Vec<OwnedShard> {
        let quiet_for = self.tables.quiet_until.saturating_sub(self.clock(now));
        if !self.is_live(node) || !self.is_on(timeline) || (quiet_for > 0 && quiet_for <= LEASE as i64) {
            return Vec::new();
        }
        let mut free: Vec<usize> =
            (0..self.tables.shards.len()).filter(|&place| self.is_free(&self.tables.shards[place])).collect();
        let mut taken = Vec::new();
        while taken.len() < count && !free.is_empty() {
            let place = free.swap_remove(dice.below(free.len()));
            let row = &mut self.tables.shards[place];
            *row = ShardRow { node: Some(node), epoch: row.epoch + 1, taken_at: now, ..*row };
            taken.push(OwnedShard { shard: Shard(place as u16), epoch: row.epoch });
        }
        taken
    }

    pub(super) fn release(&mut self, node: NodeId, shards: &[OwnedShard], now: u64) {
        let any_epoch = self.mutation == Some(Mutation::ReleaseOfAnyEpoch);
        for owned in shards {
            let row = &mut self.tables.shards[usize::from(owned.shard.0)];
            if row.node == Some(node) && (row.epoch == owned.epoch || any_epoch) {
                row.node = None;
                row.released_at = now;
            }
        }
    }

    pub(super) fn leave(&mut self, node: NodeId) {
        if let Some(row) = self.row_mut(node) {
            row.has_ended = true;
        }
    }

    /// Whether the fence lets a write through.
    pub(super) fn settle(&self, node: NodeId, owned: OwnedShard) -> bool {
        let row = &self.tables.shards[usize::from(owned.shard.0)];
        match self.mutation {
            Some(Mutation::NoFence) => true,
            Some(Mutation::FenceOfEpochAlone) => row.epoch == owned.epoch,
            _ => self.is_live(node) && row.node == Some(node) && row.epoch == owned.epoch,
        }
    }

    pub(super) fn turn(&mut self, now: u64) {
        if self.tables.timeline != self.timeline {
            self.tables.timeline = self.timeline;
            if self.mutation != Some(Mutation::NoQuietTime) {
                self.tables.quiet_until = self.clock(now) + LEASE as i64;
            }
        }
    }

    /// Difference to a machine's clock.
    pub(super) fn offset_to(&self, wall: i64, now: u64) -> Duration {
        micros(self.clock(now).abs_diff(wall))
    }

    /// Whether a plan that was made on this timeline may be carried out.
    fn is_on(&self, timeline: &str) -> bool {
        let is_current = self.tables.timeline == self.timeline && self.timeline.to_string() == timeline;
        is_current || matches!(self.mutation, Some(Mutation::PlansOutliveTimeline | Mutation::TimelineIgnored))
    }

    fn row(&self, node: NodeId) -> Option<&NodeRow> {
        self.tables.nodes.get(node.0 as usize)?.as_ref()
    }

    fn row_mut(&mut self, node: NodeId) -> Option<&mut NodeRow> {
        self.tables.nodes.get_mut(node.0 as usize)?.as_mut()
    }
}
