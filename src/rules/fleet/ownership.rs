//! Shards that a node owns, put together from answers that may be late, repeated or out of order.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::model::{OwnedShard, Shard};

/// Within one timeline the epoch of a shard never repeats, so a shard that was given up can be told from the same shard
/// taken again.
#[derive(Clone, Debug, Default)]
pub(super) struct Ownership {
    owned: BTreeMap<Shard, HeldShard>,
    /// The last epoch in which each shard was given up. An answer that still shows it is older than the release, or the
    /// release is lost or still on its way: the shard must not be used either way.
    given_up: BTreeMap<Shard, i64>,
}

#[derive(Clone, Copy, Debug)]
struct HeldShard {
    epoch: i64,
    /// When the answer that showed it had arrived.
    since: Duration,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OwnershipChange {
    pub(super) gained: Vec<OwnedShard>,
    pub(super) lost: Vec<OwnedShard>,
    /// Given up, and yet still this node's.
    pub(super) release: Vec<OwnedShard>,
}

impl Ownership {
    pub(super) fn renewed(
        &mut self,
        sent_at: Duration,
        answered_at: Duration,
        shards: &[OwnedShard],
    ) -> OwnershipChange {
        let mut change = OwnershipChange::default();
        let mut kept = BTreeMap::new();
        for &shown in shards {
            if self.is_given_up(shown) {
                change.release.push(shown);
                continue;
            }
            match self.owned.get(&shown.shard) {
                Some(held) if held.epoch >= shown.epoch => {
                    kept.insert(shown.shard, *held);
                }
                _ => {
                    change.gained.push(shown);
                    kept.insert(shown.shard, HeldShard { epoch: shown.epoch, since: answered_at });
                }
            }
        }
        for (&shard, held) in &self.owned {
            match kept.get(&shard) {
                Some(now) if now.epoch == held.epoch => {}
                // Taken after this renewal was sent, so it may be older than the taking.
                None if held.since > sent_at => {
                    kept.insert(shard, *held);
                }
                _ => change.lost.push(OwnedShard { shard, epoch: held.epoch }),
            }
        }
        self.owned = kept;
        change
    }

    pub(super) fn took(&mut self, answered_at: Duration, shards: &[OwnedShard]) -> Vec<OwnedShard> {
        let is_news = |shown: &OwnedShard| {
            !self.is_given_up(*shown) && self.owned.get(&shown.shard).is_none_or(|held| held.epoch < shown.epoch)
        };
        let gained: Vec<OwnedShard> = shards.iter().copied().filter(is_news).collect();
        for shown in &gained {
            self.owned.insert(shown.shard, HeldShard { epoch: shown.epoch, since: answered_at });
        }
        gained
    }

    pub(super) fn give_up(&mut self, shard: Shard) -> Option<OwnedShard> {
        let epoch = self.owned.remove(&shard)?.epoch;
        self.given_up.insert(shard, epoch);
        Some(OwnedShard { shard, epoch })
    }

    pub(super) fn clear(&mut self) -> Vec<OwnedShard> {
        let lost = self.iter().collect();
        self.owned.clear();
        lost
    }

    pub(super) fn get(&self, shard: Shard) -> Option<OwnedShard> {
        self.owned.get(&shard).map(|held| OwnedShard { shard, epoch: held.epoch })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = OwnedShard> {
        self.owned.iter().map(|(&shard, held)| OwnedShard { shard, epoch: held.epoch })
    }

    pub(super) fn len(&self) -> usize {
        self.owned.len()
    }

    fn is_given_up(&self, shown: OwnedShard) -> bool {
        self.given_up.get(&shown.shard).is_some_and(|&epoch| shown.epoch <= epoch)
    }
}
