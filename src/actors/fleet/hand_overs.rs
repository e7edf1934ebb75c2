//! Shards that came to this node or left it recently, in memory, for people who look at the fleet.

use std::collections::VecDeque;

use crate::model::{HandOver, HandOverReason, Shard, Timestamp};

/// Hand-overs that are kept. Each has at most 256 shards.
const HAND_OVERS_MAX: usize = 200;

/// The last hand-overs, newest first, and the reason for which the next free shards are taken.
pub(super) struct HandOvers {
    list: VecDeque<HandOver>,
    next: (HandOverReason, Option<String>),
}

impl Default for HandOvers {
    fn default() -> HandOvers {
        HandOvers { list: VecDeque::new(), next: (HandOverReason::Joined, None) }
    }
}

impl HandOvers {
    /// Notes why shards became free, for the hand-over that follows. The first reason counts.
    pub(super) fn expect(&mut self, reason: HandOverReason, from: Option<String>) {
        if self.next.0 == HandOverReason::Rebalanced || reason == HandOverReason::Expired {
            self.next = (reason, from);
        }
    }

    /// This node has joined again: what it takes next, it takes for that reason.
    pub(super) fn begin_again(&mut self) {
        self.next = (HandOverReason::Joined, None);
    }

    pub(super) fn came(&mut self, at: Timestamp, shards: Vec<Shard>, node: &str) {
        let (reason, from) = self.next.clone();
        self.push(HandOver { at, shards, from, to: Some(node.to_owned()), reason });
    }

    /// All free shards are taken: later ones come for another reason.
    pub(super) fn settle(&mut self) {
        self.next = (HandOverReason::Rebalanced, None);
    }

    pub(super) fn went(&mut self, at: Timestamp, shards: Vec<Shard>, node: &str, reason: HandOverReason) {
        self.push(HandOver { at, shards, from: Some(node.to_owned()), to: None, reason });
    }

    pub(super) fn list(&self) -> Vec<HandOver> {
        self.list.iter().cloned().collect()
    }

    fn push(&mut self, hand_over: HandOver) {
        if !hand_over.shards.is_empty() {
            self.list.truncate(HAND_OVERS_MAX - 1);
            self.list.push_front(hand_over);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_come_for_the_reason_that_made_them_free() {
        let (mut hand_overs, at) = (HandOvers::default(), Timestamp::EPOCH);
        hand_overs.came(at, vec![Shard(1)], "one");
        hand_overs.settle();
        hand_overs.came(at, vec![Shard(2)], "one");
        hand_overs.expect(HandOverReason::Left, None);
        hand_overs.expect(HandOverReason::Expired, Some("two".to_owned()));
        hand_overs.expect(HandOverReason::Left, None);
        hand_overs.came(at, vec![Shard(3), Shard(4)], "one");
        hand_overs.went(at, vec![Shard(1)], "one", HandOverReason::LeaseLost);
        hand_overs.went(at, Vec::new(), "one", HandOverReason::GivenUp);
        let list = hand_overs.list();
        let told: Vec<_> = list.iter().map(|one| (one.reason, one.shards.len(), one.from.as_deref())).collect();
        assert_eq!(
            told,
            [
                (HandOverReason::LeaseLost, 1, Some("one")),
                (HandOverReason::Expired, 2, Some("two")),
                (HandOverReason::Rebalanced, 1, None),
                (HandOverReason::Joined, 1, None),
            ]
        );
    }

    #[test]
    fn old_hand_overs_are_dropped() {
        let mut hand_overs = HandOvers::default();
        (0..300).for_each(|_| hand_overs.came(Timestamp::EPOCH, vec![Shard(1)], "one"));
        assert_eq!(hand_overs.list().len(), HAND_OVERS_MAX);
    }
}
