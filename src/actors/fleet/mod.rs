//! This process as a node of a fleet: several processes that share one database (docs/fleet.md). A process that shares
//! its store with no other runs the same code and owns all shards without end.
//!
//! - `ownership`: the shards of this node, and what is done by their right
//! - `joining`: joins the fleet at the start, leaves it at the end
//! - `member`: renews the lease, takes and releases shards (by `rules::fleet`)
//! - `hand_overs`: the shards that came and went recently
//! - `actor`: does that while the pipeline runs, and reads messages
//! - `turns`: requests to hosts of other nodes, at turns that their owners grant
//! - `calls`: requests of the API that another node answers
//! - `wire`: what nodes write to each other

mod actor;
mod calls;
mod hand_overs;
mod joining;
mod member;
mod ownership;
mod turns;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};

use crate::clock::{Clock, Stopwatch};
use crate::http::SendWindow;
use crate::model::{FleetRecord, HandOver, HostKey, NodeId, NodeRecord, Receiver, Shard, Timestamp};
use crate::rules::fleet::Membership;
use crate::sources::{TypeSettings, host_shard};
use crate::store::{FleetStore, StoreError};

pub(super) use actor::FleetActor;
pub use calls::{FleetCallError, IncomingCall};
pub use joining::{FleetError, NodeSettings};
pub(super) use ownership::ShardClaim;
pub(super) use turns::{BorrowEnd, BorrowedTurn};
pub use wire::{FleetAnswer, FleetRequest, NodeReport};

use calls::Calls;
use member::MemberState;
use ownership::HeldShards;
use turns::Turns;
use wire::MessageBody;

/// How often the reports of the other nodes are looked at.
const PAUSE_LOOK: Duration = Duration::from_millis(100);

/// The node that this process is. Clones are the same.
#[derive(Clone)]
pub struct Fleet(Option<Arc<FleetShared>>);

struct FleetShared {
    store: Arc<dyn FleetStore>,
    clock: Arc<dyn Clock>,
    settings: NodeSettings,
    lease: Duration,
    /// Requests are sent within it only.
    window: SendWindow,
    state: Mutex<FleetState>,
    /// Woken when something was released or the lease should be renewed at once.
    wake: Notify,
    calls: Calls,
    turns: Turns,
    outbox: mpsc::UnboundedSender<(Receiver, MessageBody)>,
    /// Taken by the actor that runs, and given back when it ends.
    sending: tokio::sync::Mutex<mpsc::UnboundedReceiver<(Receiver, MessageBody)>>,
}

struct FleetState {
    membership: Membership,
    held: HeldShards,
    member: MemberState,
}

/// What this node knows of the fleet, from its last renewal.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetView {
    pub node: NodeId,
    pub name: String,
    pub lease: Duration,
    /// Number of shards of this node, and how many of them are being released.
    pub shards: usize,
    pub shards_draining: usize,
    /// Number of shards without a live owner.
    pub free_shards: usize,
    pub live_nodes: usize,
    /// How much is left of the lease; none if it is over.
    pub lease_left: Option<Duration>,
    /// Whether no node makes requests for a while, because commits may have been lost.
    pub is_quiet: bool,
    /// Whether requests may be sent now.
    pub may_send: bool,
    /// By how much the clock of this machine is ahead of the database's, in seconds.
    pub clock_offset: f64,
    /// Whether this node ought to own a shard and owns none.
    pub should_own: bool,
    pub last_error: Option<String>,
    /// Numbers since the start.
    pub taken: u64,
    pub lost: u64,
    pub released: u64,
    pub expired_nodes: u64,
    pub renewals: u64,
    pub failed_renewals: u64,
    pub borrowed_turns: u64,
    pub lent_turns: u64,
}

impl Fleet {
    /// A process that shares its store with no other.
    pub const fn alone() -> Fleet {
        Fleet(None)
    }

    /// Whether other processes may use the store.
    pub fn is_shared(&self) -> bool {
        self.0.is_some()
    }

    /// The window within which requests may be sent.
    pub fn window(&self) -> Option<SendWindow> {
        self.0.as_ref().map(|shared| shared.window.clone())
    }

    /// Name of this node.
    pub fn name(&self) -> Option<&str> {
        self.0.as_ref().map(|shared| shared.settings.name.as_str())
    }

    /// Hash of the settings that all nodes should share.
    pub fn settings(&self) -> Option<&str> {
        self.0.as_ref().map(|shared| shared.settings.settings.as_str())
    }

    pub fn node(&self) -> Option<NodeId> {
        self.0.as_ref().map(|shared| shared.state.lock().membership.node())
    }

    /// The right to poll sources of a shard; none if another node has it.
    pub(super) fn claim(&self, shard: Shard) -> Option<ShardClaim> {
        match &self.0 {
            None => Some(ShardClaim::UNSHARED),
            Some(shared) => shared.state.lock().held.claim(shard),
        }
    }

    /// Whether this node works on a shard.
    pub fn owns(&self, shard: Shard) -> bool {
        self.claim(shard).is_some()
    }

    /// Whether requests to a host are at the turns of this node.
    pub(super) fn has_turns_of(&self, host: Option<&HostKey>, settings: &TypeSettings) -> bool {
        match &self.0 {
            None => true,
            // Sources without a host share no server.
            Some(shared) => host.is_none() || shared.state.lock().held.since(host_shard(host, settings)).is_some(),
        }
    }

    /// The right to send requests to a host, which keeps its shard from being released until it is dropped; none if
    /// another node has it.
    pub(super) fn hold_turns_of(&self, host: Option<&HostKey>, settings: &TypeSettings) -> Option<ShardClaim> {
        match &self.0 {
            Some(shared) if host.is_some() => shared.state.lock().held.hold(host_shard(host, settings)),
            // Sources without a host share no server.
            _ => Some(ShardClaim::UNSHARED),
        }
    }

    /// Shards that this node works on, in order; all of them if it is alone.
    pub fn shards(&self) -> Vec<Shard> {
        match &self.0 {
            None => Shard::all().collect(),
            Some(shared) => shared.state.lock().held.usable().collect(),
        }
    }

    /// How long ago this node took the shard of a host: its last owner may have sent a request right before. None if it
    /// is alone.
    pub(super) fn owned_for(&self, host: Option<&HostKey>, settings: &TypeSettings) -> Option<Duration> {
        let shared = self.0.as_ref()?;
        let since = shared.state.lock().held.since(host_shard(host, settings))?;
        Some(shared.clock.monotonic().saturating_sub(since))
    }

    /// The time from which on the pause of a host counts at least: the start of the process, or the moment at which its
    /// shard was taken.
    pub(super) fn turns_begin_at(
        &self,
        host: Option<&HostKey>,
        settings: &TypeSettings,
        started_at: Timestamp,
        now: Timestamp,
    ) -> Timestamp {
        self.owned_for(host, settings).map_or(started_at, |owned_for| (now - owned_for).max(started_at))
    }

    /// What this node knows of the fleet; none if it is alone.
    pub fn view(&self) -> Option<FleetView> {
        self.0.as_ref().map(|shared| shared.view())
    }

    /// The last 200 hand-overs of shards to and from this node since its start, newest first; none if it is alone.
    pub fn hand_overs(&self) -> Vec<HandOver> {
        self.0.as_ref().map(|shared| shared.state.lock().member.hand_overs.list()).unwrap_or_default()
    }

    /// All nodes, as the database has them.
    pub async fn record(&self) -> Option<Result<FleetRecord, StoreError>> {
        Some(self.0.as_ref()?.store.fleet().await)
    }

    /// Waits until all live nodes report a pause, or its end, for a little longer than they need. Returns the names of
    /// those that have not.
    pub async fn until_paused(&self, is_paused: bool) -> Vec<String> {
        let Some(shared) = &self.0 else { return Vec::new() };
        shared.wake.notify_one();
        let (watch, limit) = (Stopwatch::start(), 3 * shared.windows().renew_every());
        loop {
            let Ok(record) = shared.store.fleet().await else { return Vec::new() };
            let is_pending =
                |node: &&NodeRecord| node.ended_at.is_none() && NodeReport::read(&node.report).is_paused != is_paused;
            let pending: Vec<String> = record.nodes.iter().filter(is_pending).map(|node| node.name.clone()).collect();
            if pending.is_empty() || watch.elapsed() >= limit {
                return pending;
            }
            tokio::time::sleep(PAUSE_LOOK).await;
        }
    }

    /// Removes nodes and messages of the past.
    pub(super) async fn clean(&self) -> Result<(), StoreError> {
        match &self.0 {
            Some(shared) => shared.store.clean_fleet().await,
            None => Ok(()),
        }
    }

    fn send(&self, receiver: Receiver, body: MessageBody) {
        if let Some(shared) = &self.0 {
            // The receiver lives as long as `self`.
            let _ = shared.outbox.send((receiver, body));
        }
    }
}

impl FleetShared {
    fn view(&self) -> FleetView {
        let state = self.state.lock();
        let (window, now) = (state.membership.window(), self.clock.monotonic());
        let MemberState { clock_offset, last_error, counts, nodes, free_shards, should_own, .. } = &state.member;
        FleetView {
            node: state.membership.node(),
            name: self.settings.name.clone(),
            lease: self.lease,
            shards: state.held.len(),
            shards_draining: state.held.draining(),
            free_shards: *free_shards,
            live_nodes: *nodes,
            lease_left: window.lost_at.checked_sub(now),
            is_quiet: state.membership.quiet_until() > now,
            may_send: now < window.dial_until,
            clock_offset: *clock_offset,
            should_own: *should_own,
            last_error: last_error.clone(),
            taken: counts.taken,
            lost: counts.lost,
            released: counts.released,
            expired_nodes: counts.expired,
            renewals: counts.renewals,
            failed_renewals: counts.failed_renewals,
            borrowed_turns: self.turns.borrowed(),
            lent_turns: self.turns.lent(),
        }
    }
}
