//! Wire types for the nodes of a fleet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{HandOver, Timestamp};

/// The nodes that share the database.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FleetReport {
    /// Whether several nodes can share the database; false with SQLite, where everything below is empty.
    pub is_shared: bool,
    /// Name of the node that answers.
    pub node: Option<String>,
    /// Seconds after which a node without a renewal has ended.
    pub lease_seconds: f64,
    /// Number of shards; each host belongs to one.
    pub shards: usize,
    /// Number of shards without a live owner. Their sources are not polled.
    pub free_shards: usize,
    /// Number of messages between nodes that wait to be read.
    pub messages_waiting: usize,
    /// Seconds for which no node makes requests yet, after a failover of the database.
    pub quiet_seconds: f64,
    /// Nodes that are live, and those that ended in the last day.
    pub nodes: Vec<NodeView>,
    /// Sums over the live nodes since their starts.
    pub totals: FleetTotals,
    /// Index in `nodes` of the owner of each shard, in order; null without an owner.
    pub owners: Vec<Option<usize>>,
    /// The last 200 hand-overs of shards to and from the node that answers, since its start, newest first.
    #[serde(default)]
    pub hand_overs: Vec<HandOverView>,
}

/// Shards that came to a node or left it together.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HandOverView {
    /// Time of the hand-over.
    pub at: Timestamp,
    /// Numbers of the shards.
    pub shards: Vec<u16>,
    /// Name of the node that had them; null if it is not known.
    pub from: Option<String>,
    /// Name of the node that has them from then on; null if they became free.
    pub to: Option<String>,
    /// `joined` (the node joined and took free shards), `left` (the node that had them left, or another one declared it
    /// ended), `expired` (it did not renew its lease), `rebalanced` (nodes with more shards release some), `lease_lost`
    /// or `given_up` (the database refuses polls of the node).
    #[schemars(extend("enum" = ["joined", "left", "expired", "rebalanced", "lease_lost", "given_up"]))]
    pub reason: String,
}

impl From<HandOver> for HandOverView {
    fn from(hand_over: HandOver) -> HandOverView {
        HandOverView {
            at: hand_over.at,
            shards: hand_over.shards.into_iter().map(|shard| shard.0).collect(),
            from: hand_over.from,
            to: hand_over.to,
            reason: hand_over.reason.name().to_owned(),
        }
    }
}

/// A node of the fleet.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NodeView {
    /// Name, from `fleet.name`.
    pub name: String,
    /// `live`, `late` (its lease is over, and no other node has noticed yet), `left`, `expired` (another node declared it
    /// ended) or `replaced` (by a later run under its name).
    pub state: String,
    /// When it joined.
    pub joined_at: Timestamp,
    /// When it ended; null while it is live.
    pub ended_at: Option<Timestamp>,
    /// The node that declared it ended; null if it left by itself.
    pub ended_by: Option<String>,
    /// Version of the program.
    pub version: String,
    /// Whether its settings are those of the node that answers, apart from those that may differ.
    pub has_same_settings: bool,
    /// Seconds that are left of its lease.
    pub lease_left_seconds: f64,
    /// Number of its shards.
    pub shards: usize,
    /// Number of these that it is about to release.
    pub shards_draining: usize,
    /// Number of its sources.
    pub sources: usize,
    /// Number of its sources that are due and wait.
    pub waiting: usize,
    /// Polls in flight.
    pub under_way: usize,
    /// Polls per second at its last report.
    pub polls_per_second: f64,
    /// Seconds for which the source that waits longest has been due.
    pub lag_seconds: f64,
    /// By how much its clock is ahead of the database's.
    pub clock_offset_seconds: f64,
    /// Whether it has stopped polling because of a pause.
    pub is_paused: bool,
    /// Polls whose result it could not store because another node had their source by then.
    pub fenced: u64,
}

/// Sums over nodes.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct FleetTotals {
    /// Number of live nodes.
    pub nodes: usize,
    /// Number of sources on their schedules.
    pub sources: usize,
    /// Number of polls with a new document.
    pub read: u64,
    /// Number of polls answered with 304 Not Modified.
    pub unchanged: u64,
    /// Number of failed polls.
    pub failed: u64,
    /// Number of new posts.
    pub new_posts: u64,
    /// Polls per second.
    pub polls_per_second: f64,
}
