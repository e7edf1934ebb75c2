//! Nodes that share one database, and the shards of its hosts.

use std::time::Duration;

use sha2::{Digest, Sha256};

use super::{HostKey, SourceSettings, Timestamp};

/// Number of shards. Every host belongs to one of them, and every shard to one node at a time.
pub const SHARDS: u16 = 256;

/// One run of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub i64);

/// A part of all hosts, from 0 to [`SHARDS`] - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard(pub u16);

impl Shard {
    /// Shard of cleanup and other work that one node does for all.
    pub const COMMON: Shard = Shard(0);

    pub fn all() -> impl Iterator<Item = Shard> {
        (0..SHARDS).map(Shard)
    }

    /// Shard of a host. Sources without a host share one.
    pub fn of_host(host: Option<&HostKey>) -> Shard {
        Shard::of_slot(slot_of_host(host))
    }

    /// Shard of a source: that of the host in its row.
    pub fn of_source(settings: &SourceSettings) -> Shard {
        Shard::of_slot(slot_of_source(settings))
    }

    /// Shard of something that is no host, by its name.
    pub fn of_name(name: &str) -> Shard {
        Shard::of_slot(slot_of_name(name))
    }

    const fn of_slot(slot: u16) -> Shard {
        Shard(slot >> 8)
    }

    /// The last slot of the shard.
    pub const fn last_slot(self) -> u16 {
        (self.0 << 8) | 0xff
    }
}

fn slot_of_name(name: &str) -> u16 {
    let hash = Sha256::digest(name.as_bytes());
    u16::from_be_bytes([hash[0], hash[1]])
}

fn slot_of_host(host: Option<&HostKey>) -> u16 {
    let name = host.map_or("", HostKey::as_str);
    // The commonest redirect then stays on one node.
    slot_of_name(name.strip_prefix("www.").unwrap_or(name))
}

fn slot_of_source(settings: &SourceSettings) -> u16 {
    match settings.source_type.shared_host() {
        Some(shared) => slot_of_name(shared),
        None => slot_of_host(HostKey::of_url(&settings.url).as_ref()),
    }
}

/// A position in the order of sources by slot, which is the first 16 bits of the hash of their host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotCursor {
    pub slot: u16,
    /// The last source that was read; 0 before the first one.
    pub source: i64,
}

impl SlotCursor {
    /// Before the first source of a shard.
    pub const fn before(shard: Shard) -> SlotCursor {
        SlotCursor { slot: shard.0 << 8, source: 0 }
    }
}

/// A shard that a node owns, and the number of times that the shard has changed hands until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnedShard {
    pub shard: Shard,
    pub epoch: i64,
}

/// What a process says of itself when it joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewNode {
    pub id: NodeId,
    pub name: String,
    /// The same for all processes that can see each other's locks on this machine.
    pub boot: String,
    /// Time since the machine was started. A join that arrives late does not end a run that joined after it.
    pub booted_for: Duration,
    pub version: String,
    /// Hash of the settings that all nodes should share.
    pub settings: String,
    /// The lease to use if no other node is live.
    pub lease: Duration,
}

/// What became of an attempt to join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoinOutcome {
    /// The length of the fleet's lease.
    Joined { lease: Duration },
    /// A live node of another machine has this name; its beat tells whether it is alive.
    NameTaken { node: NodeId, beat: i64, lease: Duration, timeline: String },
}

/// What one renewal of a node's lease reads.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeRenewal {
    /// None if the node was declared ended.
    pub beat: Option<i64>,
    pub database_now: Timestamp,
    /// Shards of the node.
    pub shards: Vec<OwnedShard>,
    /// Live nodes with their beats, this one included.
    pub nodes: Vec<(NodeId, i64)>,
    /// Number of these nodes that take shards.
    pub taking: usize,
    /// Number of shards without a live owner.
    pub free: usize,
    /// The timeline on which the fleet was seen last, and the present one.
    pub timeline: (String, String),
    /// How long no node makes requests yet.
    pub quiet_for: Duration,
    pub paused_since: Option<Timestamp>,
}

/// A node as the others see it.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeRecord {
    pub id: NodeId,
    pub name: String,
    pub version: String,
    pub settings: String,
    pub joined_at: Timestamp,
    /// What the node reports of itself, as JSON.
    pub report: String,
    /// Seconds left of its lease; negative if it is over.
    pub lease_left: f64,
    pub ended_at: Option<Timestamp>,
    /// Name of the node that declared it ended; none if it left by itself or its end is not known.
    pub ended_by: Option<String>,
    pub has_left: bool,
    pub shards: usize,
}

/// All nodes and shards.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetRecord {
    pub lease: Duration,
    pub quiet_for: Duration,
    pub free_shards: usize,
    pub messages_waiting: usize,
    /// Owner of each shard, in order.
    pub owners: Vec<Option<NodeId>>,
    pub nodes: Vec<NodeRecord>,
}

/// Shards that came to a node or left it together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandOver {
    pub at: Timestamp,
    pub shards: Vec<Shard>,
    /// Name of the node that had them; none if this node does not know it.
    pub from: Option<String>,
    /// Name of the node that has them from then on; none if they became free.
    pub to: Option<String>,
    pub reason: HandOverReason,
}

/// Why shards changed hands, as far as this node knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum HandOverReason {
    /// This node joined and took free shards.
    Joined,
    /// The node that had them left, or another node declared it ended.
    Left,
    /// This node declared the node that had them ended: it did not renew its lease.
    Expired,
    /// Nodes with more shards release some for those with fewer.
    Rebalanced,
    /// This node did not renew its lease in time, or the database lost commits.
    LeaseLost,
    /// This node gave its shards up, because the database refuses its polls.
    GivenUp,
}

impl HandOverReason {
    /// Name in the API.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The receiver of a message: a node, or the node that owns a shard when the message arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Receiver {
    Shard(Shard),
    Node(NodeId),
}

/// A message from another node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeMessage {
    pub sender: NodeId,
    pub body: String,
    /// Time since it was sent, by the clock of the database.
    pub age: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p28_a_host_and_its_www_are_in_one_shard() {
        let shard = |name: &str| Shard::of_host(Some(&HostKey::from_canonical(name)));
        assert_eq!(shard("example.org"), shard("www.example.org"));
        assert_ne!(shard("example.org"), shard("example.com"));
        assert_eq!(Shard::of_host(None), Shard::of_name(""));
        // The first byte of the hash, with 256 shards.
        assert_eq!(Shard::of_name(""), Shard(0xe3));
    }

    #[test]
    fn p28_hosts_are_spread_over_all_shards() {
        let mut counts = [0; SHARDS as usize];
        for number in 0..100_000 {
            counts[usize::from(Shard::of_name(&format!("host-{number}.example")).0)] += 1;
        }
        let (least, most) = (counts.iter().min(), counts.iter().max());
        assert!(least > Some(&300) && most < Some(&490), "{least:?} to {most:?}, 390 on average");
    }
}
