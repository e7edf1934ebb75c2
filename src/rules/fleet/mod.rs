//! Membership of a node in a fleet: when it may send requests, which nodes have expired, and how many shards it takes
//! or releases.
//!
//! Every time is a reading of the machine's clock that goes on during suspend (CLOCK_BOOTTIME). A node reads only its
//! own clock; times of two machines are never compared. `docs/testing.md` describes the simulation that tests these
//! rules.
//!
//! What the caller has to do for the rules to hold:
//! - Check [`Window::dial_until`] right before a connection is made and right before a request is written, and cut all
//!   requests at [`Window::cut_at`]; look the window up again each time.
//! - Read the clock before a renewal is sent, and hand in that time.
//! - Call [`Membership::give_up`] before the statement that releases a shard is sent. The statement compares node *and
//!   epoch*: a repeated statement that arrives late must not release a shard that the node has taken again.
//! - Hand [`Membership::timeline`] to the statements that expire nodes and take shards; they do nothing if the server
//!   has another timeline, or the stored one is another.
//! - Count the pause of every host of a gained shard from the moment of the gain.
//! - For [`Plan::rejoin`], cut all requests before the join is sent: the join ends the former run.
//! - Renew at once after a join, and after a statement that has ended a node.

mod ownership;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::model::{NodeId, OwnedShard, SHARDS, Shard};

use ownership::Ownership;

/// Offset between the clocks of node and database above which the operator is told.
pub const CLOCK_OFFSET_TOLD: Duration = Duration::from_secs(1);
/// Offset above which a node takes no shards: it would misread the times that other nodes have stored.
pub const CLOCK_OFFSET_MAX: Duration = Duration::from_secs(10);
/// The most shards that a node drains at once.
pub const DRAINING_MAX: usize = 32;
/// Renewals in a row that must show the same nodes before shards are drained.
const STABLE_ROUNDS: u32 = 2;

/// Times that follow from the length of the lease.
///
/// The clocks of a node and of a watcher may run apart by 9 % before a request could outlast the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    pub lease: Duration,
}

impl Windows {
    /// 5 s of a lease of 30 s.
    pub fn renew_every(self) -> Duration {
        self.lease / 6
    }

    /// How long after a renewal requests may begin: 10 s of 30 s.
    pub fn dial(self) -> Duration {
        self.lease / 3
    }

    /// How long after a renewal requests may last: 25 s of 30 s.
    pub fn cut(self) -> Duration {
        self.lease.saturating_sub(self.lease / 6)
    }

    /// Without a successful renewal for longer than this, the watch over other nodes begins anew: they may have been
    /// as unable to renew as this one. 15 s of 30 s, so that two renewals in a row may fail.
    pub fn watch_gap(self) -> Duration {
        self.lease / 2
    }
}

/// A node's right to send requests, in readings of its own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Requests may begin before this time. Zero: none may.
    pub dial_until: Duration,
    /// All requests are cut at this time.
    pub cut_at: Duration,
    /// Other nodes may have taken the shards from this time on.
    pub lost_at: Duration,
}

/// What a renewal found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// None: the node has been ended, or its row is lost.
    pub beat: Option<i64>,
    /// Shards of this node.
    pub shards: Vec<OwnedShard>,
    /// Nodes that have not ended with their beats, this one included.
    pub nodes: Vec<(NodeId, i64)>,
    /// How many of these nodes take shards. A node whose clock is wrong takes none: if it counted, its share of the
    /// shards would never have an owner.
    pub taking: usize,
    /// Shards without a live owner.
    pub free: usize,
    /// Timeline of the server.
    pub timeline: String,
    /// Whether the stored timeline is another one.
    pub is_new_timeline: bool,
    /// For how much longer the whole fleet makes no requests.
    pub quiet_for: Duration,
}

/// What to do after a renewal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Give everything up and join anew as another node: this one has ended, or the database has lost commits.
    pub rejoin: bool,
    /// The database may have lost commits. The new timeline has to be stored before the node joins.
    pub is_new_timeline: bool,
    /// Shards that are owned from now on. The pause of their hosts begins now.
    pub gained: Vec<OwnedShard>,
    /// Shards that are no longer owned. Their requests are cut now.
    pub lost: Vec<OwnedShard>,
    /// Shards whose release has to be sent again.
    pub release: Vec<OwnedShard>,
    /// Nodes and beats that stood still for a whole lease.
    pub expire: Vec<(NodeId, i64)>,
    /// Free shards to take.
    pub take: usize,
    /// Further shards to drain and release.
    pub drain: usize,
    /// Whether this node ought to own a shard and owns none.
    pub should_own: bool,
}

/// One node's membership, from its join to its end. A node that joins anew is another node.
#[derive(Clone, Debug)]
pub struct Membership {
    node: NodeId,
    windows: Windows,
    /// When the last successful renewal, or before the first one the join, was sent.
    sent_at: Duration,
    /// The last successful renewal. None before the first one.
    renewed: Option<LastRenewal>,
    ownership: Ownership,
    /// Other nodes, as the last renewal showed them.
    watched: BTreeMap<NodeId, WatchedBeat>,
    /// Renewals in a row that showed the same nodes.
    stable_rounds: u32,
    quiet_until: Duration,
    /// Later answers do not move the end of the quiet time: the clock of the database may jump meanwhile.
    quiet_was_seen: bool,
    should_own: bool,
    /// Set once the node has to join anew.
    ended: Option<Ended>,
}

#[derive(Clone, Debug)]
struct LastRenewal {
    answered_at: Duration,
    beat: i64,
    timeline: String,
}

#[derive(Clone, Copy, Debug)]
struct WatchedBeat {
    beat: i64,
    /// When the first answer with this beat had arrived.
    since: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Ended {
    is_new_timeline: bool,
}

impl Membership {
    /// Joined by a statement that was sent at this time.
    pub fn new(node: NodeId, windows: Windows, sent_at: Duration) -> Membership {
        Membership {
            node,
            windows,
            sent_at,
            renewed: None,
            ownership: Ownership::default(),
            watched: BTreeMap::new(),
            stable_rounds: 0,
            quiet_until: Duration::ZERO,
            quiet_was_seen: false,
            should_own: true,
            ended: None,
        }
    }

    /// The next membership of the same process. It makes no requests for a lease after lost commits were noticed,
    /// whatever the clock of the database says.
    pub fn rejoin(&self, node: NodeId, sent_at: Duration) -> Membership {
        Membership { quiet_until: self.quiet_until, ..Membership::new(node, self.windows, sent_at) }
    }

    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Takes over the answer to a renewal. Answers to earlier renewals than the last one change nothing, unless they
    /// say that the node has ended.
    ///
    /// `clock_offset` is the absolute difference between the clocks of this machine and of the database; `draining` is
    /// the number of owned shards that are being drained.
    pub fn renewed(
        &mut self,
        sent_at: Duration,
        answered_at: Duration,
        renewal: &Renewal,
        clock_offset: Duration,
        draining: usize,
    ) -> Plan {
        let answered_at = answered_at.max(sent_at);
        if let Some(ended) = self.ended {
            return Plan { rejoin: true, is_new_timeline: ended.is_new_timeline, should_own: true, ..Plan::default() };
        }
        let is_new_timeline = self.has_lost_commits(sent_at, renewal);
        let Some(beat) = renewal.beat.filter(|_| !is_new_timeline) else {
            return self.end(answered_at, is_new_timeline);
        };
        if self.renewed.is_some() && sent_at <= self.sent_at {
            return Plan { should_own: self.should_own, ..Plan::default() };
        }

        self.watch(sent_at, answered_at, renewal);
        self.sent_at = sent_at;
        self.renewed = Some(LastRenewal { answered_at, beat, timeline: renewal.timeline.clone() });
        if renewal.quiet_for > Duration::ZERO && !self.quiet_was_seen {
            self.quiet_was_seen = true;
            self.quiet_until = self.quiet_until.max(answered_at + renewal.quiet_for.min(self.windows.lease));
        }
        let change = self.ownership.renewed(sent_at, answered_at, &renewal.shards);
        let ours = self.ownership.len();
        let nodes = renewal.taking.max(1);
        let is_quiet = self.is_quiet();
        let can_take = !is_quiet && clock_offset <= CLOCK_OFFSET_MAX;
        self.should_own = ours == 0 && (renewal.free > 0 || !may_be_surplus(nodes));
        Plan {
            gained: change.gained,
            lost: change.lost,
            release: change.release,
            expire: self.expired(),
            take: if can_take { share(nodes).saturating_sub(ours).min(renewal.free) } else { 0 },
            drain: if is_quiet || self.stable_rounds < STABLE_ROUNDS { 0 } else { excess(ours, nodes, draining) },
            should_own: self.should_own,
            ..Plan::default()
        }
    }

    /// Takes over the answer to a statement that took shards. Returns those that are owned from now on.
    pub fn took(&mut self, answered_at: Duration, shards: &[OwnedShard]) -> Vec<OwnedShard> {
        if self.ended.is_some() { Vec::new() } else { self.ownership.took(answered_at, shards) }
    }

    /// Gives up a shard that has been drained. It is not owned from now on, whether or not the release arrives; only
    /// taking it again, which raises its epoch, changes that. Returns what is to be released.
    pub fn give_up(&mut self, shard: Shard) -> Option<OwnedShard> {
        self.ownership.give_up(shard)
    }

    /// The shard with its epoch, if this node owns it. Requests need an open [`Window`], too.
    pub fn owned(&self, shard: Shard) -> Option<OwnedShard> {
        self.ownership.get(shard)
    }

    pub fn shards(&self) -> impl Iterator<Item = OwnedShard> {
        self.ownership.iter()
    }

    /// Timeline of the renewals so far. Statements that expire nodes or take shards are to be executed on this timeline
    /// only, once it is the stored one: a plan made before a failover must not be carried out after it.
    pub fn timeline(&self) -> Option<&str> {
        self.renewed.as_ref().map(|renewed| renewed.timeline.as_str())
    }

    /// Right to send requests, counted from before the last successful renewal was sent.
    pub fn window(&self) -> Window {
        if self.ended.is_some() {
            return Window::default();
        }
        // A join alone says nothing about shards or quiet times.
        let may_dial = self.renewed.is_some() && !self.is_quiet();
        Window {
            dial_until: if may_dial { self.sent_at + self.windows.dial() } else { Duration::ZERO },
            cut_at: self.sent_at + self.windows.cut(),
            lost_at: self.sent_at + self.windows.lease,
        }
    }

    /// The time up to which this node makes no requests after lost commits. Zero if there is none.
    pub fn quiet_until(&self) -> Duration {
        self.quiet_until
    }

    fn is_quiet(&self) -> bool {
        self.sent_at < self.quiet_until
    }

    /// Whether the database is not the one of the last renewal. Another node may have stored the new timeline before,
    /// so the timeline is also compared with the one that this node has seen. Beats that go backwards show a restored
    /// backup, which has no other timeline.
    fn has_lost_commits(&self, sent_at: Duration, renewal: &Renewal) -> bool {
        let is_other = self.renewed.as_ref().is_some_and(|last| {
            let is_later = sent_at >= last.answered_at;
            last.timeline != renewal.timeline || (is_later && renewal.beat.is_some_and(|beat| beat <= last.beat))
        });
        renewal.is_new_timeline || is_other
    }

    fn end(&mut self, answered_at: Duration, is_new_timeline: bool) -> Plan {
        self.ended = Some(Ended { is_new_timeline });
        if is_new_timeline {
            self.quiet_until = self.quiet_until.max(answered_at + self.windows.lease);
        }
        let lost = self.ownership.clear();
        Plan { rejoin: true, is_new_timeline, lost, should_own: true, ..Plan::default() }
    }

    fn watch(&mut self, sent_at: Duration, answered_at: Duration, renewal: &Renewal) {
        let is_gap = sent_at.saturating_sub(self.sent_at) > self.windows.watch_gap();
        let others = renewal.nodes.iter().filter(|(node, _)| *node != self.node);
        let watched: BTreeMap<NodeId, WatchedBeat> = others
            .map(|&(node, beat)| {
                let before = self.watched.get(&node).filter(|before| before.beat == beat && !is_gap);
                (node, WatchedBeat { beat, since: before.map_or(answered_at, |before| before.since) })
            })
            .collect();
        let is_stable = !is_gap && self.renewed.is_some() && watched.keys().eq(self.watched.keys());
        self.stable_rounds = if is_stable { self.stable_rounds.saturating_add(1) } else { 1 };
        self.watched = watched;
    }

    fn expired(&self) -> Vec<(NodeId, i64)> {
        let is_still = |watched: &WatchedBeat| self.sent_at.saturating_sub(watched.since) >= self.windows.lease;
        let still = self.watched.iter().filter(|(_, watched)| is_still(watched));
        still.map(|(&node, watched)| (node, watched.beat)).collect()
    }
}

/// Shards that each of so many nodes owns at most.
pub fn share(nodes: usize) -> usize {
    usize::from(SHARDS).div_ceil(nodes.max(1))
}

/// Shards to drain, besides those that are being drained. One more than the share is kept, so that small changes of the
/// fleet move nothing.
fn excess(ours: usize, nodes: usize, draining: usize) -> usize {
    let excess = ours.saturating_sub(share(nodes) + 1).saturating_sub(draining);
    excess.min(DRAINING_MAX.saturating_sub(draining))
}

/// Whether all shards may belong to the other nodes without any of them having to release one.
fn may_be_surplus(nodes: usize) -> bool {
    nodes.saturating_sub(1).saturating_mul(share(nodes) + 1) >= usize::from(SHARDS)
}
