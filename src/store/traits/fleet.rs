//! Nodes that share the database.

use async_trait::async_trait;

use crate::model::{FleetRecord, JoinOutcome, NewNode, NodeId, NodeMessage, NodeRenewal, OwnedShard, Receiver, Shard};

use super::super::Result;

/// Nodes that share the database. Its statements have connections of their own: a busy pipeline does not delay them.
#[async_trait]
pub trait FleetStore: Send + Sync {
    /// What tells this database from all others.
    async fn place(&self) -> Result<String>;

    /// Registers a run of this process. Earlier runs under the same name in the same place (`boot`) are declared ended:
    /// the caller holds the lock that they held.
    async fn join(&self, node: &NewNode) -> Result<JoinOutcome>;

    /// Renews the lease of a node, with what it reports of itself, and whether it takes shards.
    async fn renew(&self, node: NodeId, report: &str, is_taking: bool) -> Result<NodeRenewal>;

    /// Declares nodes ended whose beats stood still, if the server still has this timeline; returns the names of those that
    /// were.
    async fn expire(&self, by: NodeId, still: Vec<(NodeId, i64)>, timeline: &str) -> Result<Vec<String>>;

    /// Takes up to so many shards that have no live owner, if the server still has this timeline.
    async fn take_shards(&self, node: NodeId, count: usize, timeline: &str) -> Result<Vec<OwnedShard>>;

    async fn release_shards(&self, node: NodeId, released: Vec<OwnedShard>) -> Result<()>;

    /// Releases all shards of a node and declares it ended.
    async fn leave(&self, node: NodeId) -> Result<()>;

    /// Notes that the server has this timeline: no node makes requests for a lease, and numbers of posts are skipped.
    /// False if another node was first.
    async fn begin_timeline(&self, timeline: &str) -> Result<bool>;

    /// All live nodes, and those that ended lately.
    async fn fleet(&self) -> Result<FleetRecord>;

    async fn send_messages(&self, sender: NodeId, messages: Vec<(Receiver, String)>) -> Result<()>;

    /// Takes messages to this node and to these shards, oldest first.
    async fn take_messages(&self, node: NodeId, shards: Vec<Shard>, limit: u32) -> Result<Vec<NodeMessage>>;

    /// Seals what nodes compare their keys by with the current key.
    async fn reseal_key_check(&self) -> Result<()>;

    /// Removes ended nodes and old messages.
    async fn clean_fleet(&self) -> Result<()>;

    /// Waits for news. The first call, and one after the connection was lost, returns [`FleetNews::Missed`] once it
    /// listens. To be called by one task.
    async fn news(&self) -> FleetNews;
}

/// What other nodes have announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FleetNews {
    /// There is a message to a node.
    Message(Receiver),
    /// Shards have no owner any more.
    Free,
    /// Posts were stored or changed.
    Posts,
    /// Announcements may have been missed.
    Missed,
}
