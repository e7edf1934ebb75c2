//! Renews the lease, takes and releases shards, as `rules::fleet` decides.

use std::time::Duration;

use slog::{Logger, error, info, warn};

use super::hand_overs::HandOvers;
use super::{FleetShared, FleetState, NodeReport};
use crate::model::{HandOverReason, JoinOutcome, NodeId, NodeRenewal, OwnedShard, Shard, Timestamp};
use crate::rules::fleet::{CLOCK_OFFSET_MAX, CLOCK_OFFSET_TOLD, Plan, Renewal, Windows};
use crate::store::StoreError;

/// The most rounds in a row that are made without a wait.
const ROUNDS_MAX: usize = 4;

/// What the last renewals have shown.
#[derive(Default)]
pub(super) struct MemberState {
    /// By how much our clock is ahead of the database's, in seconds.
    pub(super) clock_offset: f64,
    pub(super) last_error: Option<String>,
    pub(super) nodes: usize,
    pub(super) free_shards: usize,
    pub(super) should_own: bool,
    pub(super) paused_since: Option<Timestamp>,
    pub(super) counts: MemberCounts,
    pub(super) hand_overs: HandOvers,
    is_offset_told: bool,
}

#[derive(Clone, Copy, Default)]
pub(super) struct MemberCounts {
    pub(super) taken: u64,
    pub(super) lost: u64,
    pub(super) released: u64,
    pub(super) expired: u64,
    pub(super) renewals: u64,
    pub(super) failed_renewals: u64,
}

/// What has changed for the pipeline.
#[derive(Default)]
pub(super) struct ShardChanges {
    pub(super) gained: Vec<Shard>,
    /// Lost, or being drained: no work on them begins any more.
    pub(super) left: Vec<Shard>,
}

impl ShardChanges {
    fn merge(&mut self, other: ShardChanges) {
        self.left.extend(other.left);
        self.gained.extend(other.gained);
    }
}

impl FleetShared {
    pub(super) fn windows(&self) -> Windows {
        Windows { lease: self.lease }
    }

    /// Renews the lease and does what follows from it, until nothing more follows at once.
    pub(super) async fn round(&self, report: &NodeReport, log: &Logger) -> Result<ShardChanges, StoreError> {
        let mut changes = ShardChanges::default();
        for _ in 0..ROUNDS_MAX {
            let (step, again) = match self.renew(report, log).await {
                Ok(step) => step,
                Err(cause) => {
                    let mut state = self.state.lock();
                    state.member.counts.failed_renewals += 1;
                    if state.member.last_error.replace(cause.to_string()).is_none() {
                        error!(log, "lease not renewed"; "error" => %cause,
                            "reason" => "without a renewal this node soon stops polling, and later others take its shards");
                    }
                    return Err(cause);
                }
            };
            changes.merge(step);
            if !again {
                break;
            }
        }
        Ok(changes)
    }

    /// One renewal, and whether another one should follow at once.
    async fn renew(&self, report: &NodeReport, log: &Logger) -> Result<(ShardChanges, bool), StoreError> {
        let (node, draining, is_taking) = {
            let state = self.state.lock();
            let is_taking = state.member.clock_offset.abs() <= CLOCK_OFFSET_MAX.as_secs_f64();
            (state.membership.node(), state.held.draining(), is_taking)
        };
        let (sent_at, now) = (self.clock.monotonic(), self.clock.now());
        let report = report.to_json();
        let renewing = self.store.renew(node, &report, is_taking);
        let found = match tokio::time::timeout(self.windows().dial(), renewing).await {
            Ok(found) => found?,
            Err(_) => return Err(StoreError::Unavailable("the database did not answer in time".into())),
        };
        let answered_at = self.clock.monotonic();
        // The database's time lies between sending and answer.
        let offset = clock_offset(now + answered_at.saturating_sub(sent_at) / 2, found.database_now);
        let renewal = read_renewal(&found);
        let plan = {
            let mut state = self.state.lock();
            let FleetState { membership, held, member } = &mut *state;
            let offset_size = Duration::try_from_secs_f64(offset.abs()).unwrap_or(Duration::MAX);
            let plan = membership.renewed(sent_at, answered_at, &renewal, offset_size, draining);
            held.lose(&plan.lost);
            held.gain(&plan.gained, answered_at);
            member.note(&found, &plan, offset, log);
            member.note_hand_overs(&plan, now, &self.settings.name);
            let window = membership.window();
            self.window.set(window.dial_until, window.cut_at);
            plan
        };
        self.turns.follow_nodes(found.nodes.iter().map(|(node, _)| *node).collect());
        let mut changes = ShardChanges {
            gained: plan.gained.iter().map(|owned| owned.shard).collect(),
            left: plan.lost.iter().map(|owned| owned.shard).collect(),
        };
        if !plan.lost.is_empty() {
            warn!(log, "shards lost"; "count" => plan.lost.len(),
                "reason" => "this node could not renew its lease in time, or the database lost commits");
        }
        if plan.rejoin {
            self.rejoin(&plan, &renewal.timeline, log).await?;
            return Ok((changes, true));
        }
        let node = self.state.lock().membership.node();
        let expired = self.expire(node, &plan, &renewal.timeline, log).await?;
        if !plan.release.is_empty() {
            self.store.release_shards(node, plan.release).await?;
        }
        if plan.take > 0 {
            changes.gained.extend(self.take(node, plan.take, &renewal.timeline, log).await?);
        }
        if plan.drain > 0 {
            let shards = self.state.lock().held.drain(plan.drain);
            info!(log, "shards being released"; "count" => shards.len(),
                "reason" => "other nodes have fewer; polls in flight are waited for");
            changes.left.extend(shards);
        }
        Ok((changes, expired > 0))
    }

    async fn expire(&self, node: NodeId, plan: &Plan, timeline: &str, log: &Logger) -> Result<usize, StoreError> {
        if plan.expire.is_empty() {
            return Ok(0);
        }
        let names = self.store.expire(node, plan.expire.clone(), timeline).await?;
        for name in &names {
            warn!(log, "node expired"; "node" => name, "reason" => "it has not renewed its lease for a whole lease");
        }
        let member = &mut self.state.lock().member;
        member.counts.expired += names.len() as u64;
        if !names.is_empty() {
            member.hand_overs.expect(HandOverReason::Expired, Some(names.join(", ")));
        }
        Ok(names.len())
    }

    async fn take(&self, node: NodeId, count: usize, timeline: &str, log: &Logger) -> Result<Vec<Shard>, StoreError> {
        let taken = self.store.take_shards(node, count, timeline).await?;
        let (answered_at, mut state) = (self.clock.monotonic(), self.state.lock());
        let gained = state.membership.took(answered_at, &taken);
        state.held.gain(&gained, answered_at);
        let member = &mut state.member;
        member.counts.taken += gained.len() as u64;
        member.hand_overs.came(self.clock.now(), gained.iter().map(|owned| owned.shard).collect(), &self.settings.name);
        // Fewer than this node would take: no more are free.
        if gained.len() < count {
            member.hand_overs.settle();
        }
        if !gained.is_empty() {
            info!(log, "shards taken"; "count" => gained.len(), "shards" => state.held.len());
        }
        Ok(gained.into_iter().map(|owned| owned.shard).collect())
    }

    /// Joins anew as another node: this one has ended, or the database has lost commits.
    async fn rejoin(&self, plan: &Plan, timeline: &str, log: &Logger) -> Result<(), StoreError> {
        // The join ends what is left of this node, so nothing may be under way.
        self.window.close();
        if plan.is_new_timeline && self.store.begin_timeline(timeline).await? {
            warn!(log, "database failed over"; "timeline" => timeline, "quiet_seconds" => self.lease.as_secs_f64(),
                "reason" => "commits may be lost with the old server: no node polls for a lease, and numbers of posts jump");
        }
        let sent_at = self.clock.monotonic();
        let new = self.settings.new_node(sent_at);
        match self.store.join(&new).await? {
            JoinOutcome::Joined { .. } => {
                let mut state = self.state.lock();
                state.membership = state.membership.rejoin(new.id, sent_at);
                state.member.hand_overs.begin_again();
                info!(log, "node joined"; "node" => &self.settings.name, "lease_seconds" => self.lease.as_secs_f64(),
                    "reason" => if plan.is_new_timeline { "the database failed over" } else { "others declared it ended" });
                Ok(())
            }
            JoinOutcome::NameTaken { .. } => Err(StoreError::Unavailable(format!(
                "a node of another machine has the name {:?} by now: give each node a name of its own (fleet.name)",
                self.settings.name
            ))),
        }
    }

    /// Leaves the fleet for a while; returns the shards that this node had. The next renewal joins again.
    pub(super) async fn give_up(&self, log: &Logger) -> Option<Vec<Shard>> {
        let node = self.state.lock().membership.node();
        self.window.close();
        match self.store.leave(node).await {
            Ok(()) => {
                let mut state = self.state.lock();
                let left: Vec<OwnedShard> = state.membership.shards().collect();
                state.held.lose(&left);
                state.member.counts.lost += left.len() as u64;
                let shards = left.iter().map(|owned| owned.shard).collect();
                let (at, name) = (self.clock.now(), &self.settings.name);
                state.member.hand_overs.went(at, shards, name, HandOverReason::GivenUp);
                warn!(log, "shards given up"; "count" => left.len(),
                    "reason" => "the database refuses polls of this node, although it takes its renewals");
                Some(left.into_iter().map(|owned| owned.shard).collect())
            }
            Err(cause) => {
                error!(log, "lease not renewed"; "error" => %cause,
                    "reason" => "without a renewal this node soon stops polling, and later others take its shards");
                None
            }
        }
    }

    /// Releases the shards that are drained.
    pub(super) async fn release_drained(&self, log: &Logger) -> Result<(), StoreError> {
        let (node, released) = {
            let mut state = self.state.lock();
            let drained = state.held.drained();
            let FleetState { membership, held, .. } = &mut *state;
            let released: Vec<OwnedShard> =
                drained.iter().filter_map(|owned| membership.give_up(owned.shard)).collect();
            held.lose(&drained);
            (membership.node(), released)
        };
        if released.is_empty() {
            return Ok(());
        }
        let count = released.len();
        let shards = released.iter().map(|owned| owned.shard).collect();
        self.store.release_shards(node, released).await?;
        let mut state = self.state.lock();
        state.member.counts.released += count as u64;
        let (at, name) = (self.clock.now(), &self.settings.name);
        state.member.hand_overs.went(at, shards, name, HandOverReason::Rebalanced);
        info!(log, "shards released"; "count" => count, "shards" => state.held.len());
        Ok(())
    }
}

impl MemberState {
    /// Notes the shards that a renewal has shown to be gained or lost.
    fn note_hand_overs(&mut self, plan: &Plan, at: Timestamp, node: &str) {
        let shards = |owned: &[OwnedShard]| owned.iter().map(|owned| owned.shard).collect();
        self.hand_overs.went(at, shards(&plan.lost), node, HandOverReason::LeaseLost);
        self.hand_overs.came(at, shards(&plan.gained), node);
        if plan.take == 0 && !plan.rejoin && plan.expire.is_empty() {
            self.hand_overs.settle();
        }
    }

    fn note(&mut self, found: &NodeRenewal, plan: &Plan, offset: f64, log: &Logger) {
        if found.nodes.len() < self.nodes {
            self.hand_overs.expect(HandOverReason::Left, None);
        }
        (self.nodes, self.free_shards) = (found.nodes.len(), found.free);
        (self.should_own, self.clock_offset) = (plan.should_own, offset);
        self.paused_since = found.paused_since;
        self.counts.renewals += 1;
        self.counts.lost += plan.lost.len() as u64;
        self.counts.taken += plan.gained.len() as u64;
        if self.last_error.take().is_some() {
            info!(log, "lease renewed again");
        }
        let is_off = offset.abs() > CLOCK_OFFSET_TOLD.as_secs_f64();
        if is_off && !self.is_offset_told {
            let reason = match offset.abs() > CLOCK_OFFSET_MAX.as_secs_f64() {
                true => {
                    "waits that other nodes have stored would be misread: this node takes no shards until it is set"
                }
                false => "set the clocks of all machines by NTP",
            };
            warn!(log, "clock differs from the database's"; "offset_seconds" => offset, "reason" => reason);
        }
        self.is_offset_told = is_off;
    }
}

fn read_renewal(found: &NodeRenewal) -> Renewal {
    let (stored, present) = &found.timeline;
    Renewal {
        beat: found.beat,
        shards: found.shards.clone(),
        nodes: found.nodes.clone(),
        taking: found.taking,
        free: found.free,
        timeline: present.clone(),
        is_new_timeline: stored != present,
        quiet_for: found.quiet_for,
    }
}

fn clock_offset(ours: Timestamp, database: Timestamp) -> f64 {
    (ours.as_micros() - database.as_micros()) as f64 / 1e6
}
