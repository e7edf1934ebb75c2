//! The shards that this node owns, and what is being done by their right.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::model::{OwnedShard, Shard};

/// The right to poll sources of a shard. It keeps the shard from being released until it is dropped.
#[derive(Clone)]
pub(in crate::actors) struct ShardClaim(Option<Arc<ClaimedShard>>);

impl ShardClaim {
    /// The claim of a process that shares its store with no other.
    pub(super) const UNSHARED: ShardClaim = ShardClaim(None);

    /// What the store compares before it writes.
    pub(in crate::actors) fn owned(&self) -> Option<OwnedShard> {
        self.0.as_ref().map(|held| held.owned)
    }

    /// Whether the shard was lost since.
    pub(in crate::actors) fn is_lost(&self) -> bool {
        self.0.as_ref().is_some_and(|held| held.is_lost.load(Ordering::Acquire))
    }

    /// Whether work may begin by this right: the shard is neither lost nor to be released.
    pub(in crate::actors) fn is_usable(&self) -> bool {
        self.0.as_ref().is_none_or(|held| held.is_usable())
    }
}

struct ClaimedShard {
    owned: OwnedShard,
    /// When it was taken, by the monotonic clock.
    since: Duration,
    is_draining: AtomicBool,
    is_lost: AtomicBool,
}

impl ClaimedShard {
    fn is_usable(&self) -> bool {
        !self.is_draining.load(Ordering::Acquire) && !self.is_lost.load(Ordering::Acquire)
    }
}

#[derive(Default)]
pub(super) struct HeldShards(BTreeMap<Shard, Arc<ClaimedShard>>);

impl HeldShards {
    pub(super) fn gain(&mut self, shards: &[OwnedShard], since: Duration) {
        for owned in shards {
            let held = ClaimedShard {
                owned: *owned,
                since,
                is_draining: AtomicBool::new(false),
                is_lost: AtomicBool::new(false),
            };
            self.0.insert(owned.shard, Arc::new(held));
        }
    }

    pub(super) fn lose(&mut self, shards: &[OwnedShard]) {
        for owned in shards {
            if self.0.get(&owned.shard).is_some_and(|held| held.owned == *owned)
                && let Some(held) = self.0.remove(&owned.shard)
            {
                held.is_lost.store(true, Ordering::Release);
            }
        }
    }

    pub(super) fn claim(&self, shard: Shard) -> Option<ShardClaim> {
        let held = self.0.get(&shard).filter(|held| held.is_usable())?;
        Some(ShardClaim(Some(held.clone())))
    }

    /// The right to send one request to a host of a shard that may be about to be released.
    pub(super) fn claim_also_draining(&self, shard: Shard) -> Option<ShardClaim> {
        self.0.get(&shard).map(|held| ShardClaim(Some(held.clone())))
    }

    /// When a shard was taken.
    pub(super) fn since(&self, shard: Shard) -> Option<Duration> {
        self.0.get(&shard).map(|held| held.since)
    }

    /// Shards that can be worked on.
    pub(super) fn usable(&self) -> impl Iterator<Item = Shard> + '_ {
        self.0.values().filter(|held| held.is_usable()).map(|held| held.owned.shard)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = Shard> + '_ {
        self.0.keys().copied()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn draining(&self) -> usize {
        self.0.values().filter(|held| held.is_draining.load(Ordering::Acquire)).count()
    }

    /// Begins to drain so many further shards, and returns them.
    pub(super) fn drain(&mut self, count: usize) -> Vec<Shard> {
        // The last ones: shard 0 has work that is done for all.
        let chosen: Vec<&Arc<ClaimedShard>> =
            self.0.values().rev().filter(|held| held.is_usable()).take(count).collect();
        let shards = chosen.iter().map(|held| held.owned.shard).collect();
        for held in chosen {
            held.is_draining.store(true, Ordering::Release);
        }
        shards
    }

    /// Shards that are drained: nothing is done by their right any more.
    pub(super) fn drained(&self) -> Vec<OwnedShard> {
        let is_drained =
            |held: &&Arc<ClaimedShard>| held.is_draining.load(Ordering::Acquire) && Arc::strong_count(held) == 1;
        self.0.values().filter(is_drained).map(|held| held.owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(shard: u16, epoch: i64) -> OwnedShard {
        OwnedShard { shard: Shard(shard), epoch }
    }

    #[test]
    fn p28_a_shard_is_drained_when_nothing_is_done_by_its_right() {
        let mut held = HeldShards::default();
        held.gain(&[owned(1, 5), owned(2, 9)], Duration::from_secs(7));
        let claim = held.claim(Shard(2)).unwrap();
        assert!(claim.is_usable());
        assert_eq!(claim.owned(), Some(owned(2, 9)));
        assert_eq!(held.drain(1), [Shard(2)]);
        assert!(!claim.is_usable() && held.claim(Shard(2)).is_none());
        assert_eq!(held.usable().collect::<Vec<_>>(), [Shard(1)]);
        assert_eq!(held.drained(), []);
        drop(claim);
        let of_request = held.claim_also_draining(Shard(2)).unwrap();
        assert_eq!(held.drained(), [], "a redirect of another shard has led here");
        drop(of_request);
        assert_eq!(held.drained(), [owned(2, 9)]);
    }

    #[test]
    fn p28_what_is_lost_gives_no_right_any_more() {
        let mut held = HeldShards::default();
        held.gain(&[owned(1, 5)], Duration::ZERO);
        let claim = held.claim(Shard(1)).unwrap();
        held.lose(&[owned(1, 4)]);
        assert!(claim.is_usable(), "another epoch");
        held.lose(&[owned(1, 5)]);
        assert!(!claim.is_usable() && held.claim(Shard(1)).is_none());
        held.gain(&[owned(1, 6)], Duration::from_secs(1));
        assert!(!claim.is_usable() && claim.is_lost(), "taken again, by another right");
        assert_eq!(held.since(Shard(1)), Some(Duration::from_secs(1)));
        assert!(ShardClaim::UNSHARED.is_usable() && ShardClaim::UNSHARED.owned().is_none());
    }
}
