//! Joins the fleet at the start and leaves it at the end.

use std::sync::Arc;
use std::time::Duration;

use slog::{Logger, info, warn};
use tokio::sync::{Notify, mpsc};

use super::calls::Calls;
use super::member::MemberState;
use super::ownership::HeldShards;
use super::turns::Turns;
use super::{Fleet, FleetShared, FleetState, NodeReport};
use crate::clock::Clock;
use crate::dice::unique_number;
use crate::http::SendWindow;
use crate::model::{JoinOutcome, NewNode, NodeId, SHARDS};
use crate::rules::fleet::{Membership, Windows};
use crate::store::{FleetStore, StoreError};

/// What a node says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSettings {
    pub name: String,
    /// The same for all processes that can see each other's locks on this machine.
    pub boot: String,
    pub version: String,
    /// Hash of the settings that all nodes should share.
    pub settings: String,
    /// The lease to use if no other node is live.
    pub lease: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "another node of the fleet is named {name:?}, on another machine or in another container, and it is alive: give \
         each node a name of its own (fleet.name)"
    )]
    NameTaken { name: String },
    #[error(
        "{nodes} other nodes poll these sources now, or stopped less than a lease ago: let them poll (`feedwarden poll`), \
         or stop them first"
    )]
    Shared { nodes: usize },
}

impl Fleet {
    /// Joins the fleet and takes free shards. Waits for up to a lease if a node of the same name may be alive.
    pub async fn join(
        store: Arc<dyn FleetStore>,
        settings: NodeSettings,
        clock: Arc<dyn Clock>,
        log: &Logger,
    ) -> Result<Fleet, FleetError> {
        let (node, lease, sent_at) = first_join(store.as_ref(), &settings, clock.as_ref(), log).await?;
        if lease != settings.lease {
            warn!(log, "lease of the fleet differs"; "lease_seconds" => lease.as_secs_f64(),
                "own_seconds" => settings.lease.as_secs_f64(),
                "reason" => "the lease of the nodes that are live counts; restart all nodes to change it");
        }
        // Before any shard is read: what changes from now on is announced.
        store.news().await;
        let windows = Windows { lease };
        let (outbox, sending) = mpsc::unbounded_channel();
        let of_window = clock.clone();
        let window = SendWindow::new(move || of_window.monotonic());
        window.close();
        let fleet = Fleet(Some(Arc::new(FleetShared {
            store,
            clock,
            settings,
            lease,
            window,
            state: parking_lot::Mutex::new(FleetState {
                membership: Membership::new(node, windows, sent_at),
                held: HeldShards::default(),
                member: MemberState::default(),
            }),
            wake: Notify::new(),
            calls: Calls::default(),
            turns: Turns::default(),
            outbox,
            sending: tokio::sync::Mutex::new(sending),
        })));
        if let Some(shared) = &fleet.0 {
            info!(log, "node joined"; "node" => &shared.settings.name, "lease_seconds" => lease.as_secs_f64());
            shared.round(&NodeReport::default(), log).await?;
            shared.tell_differences(log).await;
        }
        Ok(fleet)
    }

    /// Takes all shards, for a run that polls everything once. Fails if other nodes are live.
    pub async fn own_all(&self, log: &Logger) -> Result<(), FleetError> {
        let Some(shared) = &self.0 else { return Ok(()) };
        loop {
            let (owned, nodes) = {
                let state = shared.state.lock();
                (state.held.len(), state.member.nodes)
            };
            if owned == usize::from(SHARDS) {
                return Ok(());
            }
            if nodes > 1 {
                return Err(FleetError::Shared { nodes: nodes - 1 });
            }
            tokio::time::sleep(shared.windows().renew_every()).await;
            shared.round(&NodeReport::default(), log).await?;
        }
    }

    /// Releases everything and leaves. To be called when nothing is done by the right of this node any more.
    pub async fn leave(&self, log: &Logger) {
        let Some(shared) = &self.0 else { return };
        shared.window.close();
        let node = shared.state.lock().membership.node();
        match tokio::time::timeout(shared.windows().dial(), shared.store.leave(node)).await {
            Ok(Ok(())) => info!(log, "node left"; "node" => &shared.settings.name),
            Ok(Err(cause)) => warn!(log, "node not signed off"; "error" => %cause,
                "reason" => "the other nodes take its shards when its lease is over"),
            Err(_) => warn!(log, "node not signed off"; "error" => "the database did not answer in time",
                "reason" => "the other nodes take its shards when its lease is over"),
        }
    }
}

/// Registers this process. A namesake elsewhere is watched for a lease: if its beat stands still, it has ended.
async fn first_join(
    store: &dyn FleetStore,
    settings: &NodeSettings,
    clock: &dyn Clock,
    log: &Logger,
) -> Result<(NodeId, Duration, Duration), FleetError> {
    let mut namesake: Option<(NodeId, i64, Duration)> = None;
    let mut last_timeline;
    loop {
        let sent_at = clock.monotonic();
        let new = settings.new_node(sent_at);
        let (node, beat, lease) = match store.join(&new).await? {
            JoinOutcome::Joined { lease } => return Ok((new.id, lease, sent_at)),
            JoinOutcome::NameTaken { node, beat, lease, timeline } => {
                last_timeline = timeline;
                (node, beat, lease)
            }
        };
        match namesake {
            Some((known, before, _)) if known == node && before != beat => {
                return Err(FleetError::NameTaken { name: settings.name.clone() });
            }
            Some((known, _, since)) if known == node && sent_at.saturating_sub(since) >= lease => {
                store.expire(new.id, vec![(node, beat)], &last_timeline).await?;
            }
            Some((known, ..)) if known == node => {}
            _ => {
                info!(log, "waiting for a node of the same name"; "node" => &settings.name,
                    "seconds_max" => lease.as_secs_f64(),
                    "reason" => "a node of this name has not left the fleet; if it is not alive, its lease ends soon");
                namesake = Some((node, beat, clock.monotonic()));
            }
        }
        tokio::time::sleep(lease / 6).await;
    }
}

impl NodeSettings {
    pub(super) fn new_node(&self, booted_for: Duration) -> NewNode {
        let NodeSettings { name, boot, version, settings, lease } = self.clone();
        NewNode { id: NodeId(unique_number().cast_signed()), name, boot, booted_for, version, settings, lease }
    }
}

impl FleetShared {
    /// Logs which live nodes have other settings or another version than this one.
    async fn tell_differences(&self, log: &Logger) {
        let Ok(record) = self.store.fleet().await else { return };
        let NodeSettings { version, settings, .. } = &self.settings;
        for node in record.nodes.iter().filter(|node| node.ended_at.is_none()) {
            let reason = match (&node.version == version, &node.settings == settings) {
                (true, true) => continue,
                (false, _) => "it has another version: restart the nodes one after the other until all have the same",
                (true, false) => {
                    "it has other settings: sources and hosts would be treated differently by their owners; give \
                                  all nodes the same, apart from those that docs/fleet.md lists"
                }
            };
            warn!(log, "node differs"; "node" => &node.name, "version" => &node.version, "reason" => reason);
        }
    }
}
