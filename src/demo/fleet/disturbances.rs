//! Which node is killed or suspended when. One at a time, so that others can take its shards.

use std::time::Duration;

use crate::dice::{Dice, SeededDice};

/// When the first node is killed.
const FIRST: Duration = Duration::from_secs(4);
/// Time between two disturbances.
const EVERY: Duration = Duration::from_secs(12);
/// How long a node is away: two leases, so that the others notice.
const AWAY: Duration = Duration::from_secs(6);
/// How much longer it stays away if others have not taken its shards by then.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disturbance {
    Kill,
    Suspend,
}

/// What to do now with the node of this index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DisturbanceStep {
    Begin(Disturbance, usize),
    /// Start or resume the node.
    End(Disturbance, usize),
}

/// A node that is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AwayNode {
    pub(super) disturbance: Disturbance,
    pub(super) node: usize,
    pub(super) since: Duration,
    /// How long it took until other nodes had taken all of its shards.
    pub(super) taken_after: Option<Duration>,
}

pub(super) struct Disturbances {
    dice: SeededDice,
    next: Duration,
    count: usize,
    pub(super) away: Option<AwayNode>,
}

impl Disturbances {
    pub(super) fn new(seed: u64) -> Disturbances {
        Disturbances { dice: SeededDice::new(seed), next: FIRST, count: 0, away: None }
    }

    /// What to do now, if anything; kills and suspensions alternate.
    pub(super) fn step(&mut self, elapsed: Duration, nodes: usize) -> Option<DisturbanceStep> {
        match self.away {
            Some(away) => {
                let time = elapsed.saturating_sub(away.since);
                let is_over = time >= AWAY && (away.taken_after.is_some() || time >= AWAY + PATIENCE);
                is_over.then(|| DisturbanceStep::End(away.disturbance, away.node))
            }
            None if elapsed >= self.next && nodes > 1 => {
                self.next = elapsed + EVERY;
                let disturbance = if self.count.is_multiple_of(2) { Disturbance::Kill } else { Disturbance::Suspend };
                self.count += 1;
                let node = ((self.dice.roll() * nodes as f64) as usize).min(nodes - 1);
                self.away = Some(AwayNode { disturbance, node, since: elapsed, taken_after: None });
                Some(DisturbanceStep::Begin(disturbance, node))
            }
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn one_node_at_a_time_is_away_until_others_have_its_shards() {
        let mut disturbances = Disturbances::new(1);
        assert_eq!(disturbances.step(at(3), 3), None);
        let Some(DisturbanceStep::Begin(Disturbance::Kill, node)) = disturbances.step(at(4), 3) else { panic!() };
        assert_eq!(disturbances.step(at(10), 3), None, "its shards are not taken yet");
        disturbances.away.as_mut().unwrap().taken_after = Some(at(4));
        assert_eq!(disturbances.step(at(9), 3), None, "not for long enough");
        assert_eq!(disturbances.step(at(10), 3), Some(DisturbanceStep::End(Disturbance::Kill, node)));
        disturbances.away = None;
        assert_eq!(disturbances.step(at(15), 3), None);
        let next = disturbances.step(at(16), 3);
        let Some(DisturbanceStep::Begin(Disturbance::Suspend, node)) = next else { panic!("{next:?}") };
        let late = at(16) + AWAY + PATIENCE;
        assert_eq!(disturbances.step(late, 3), Some(DisturbanceStep::End(Disturbance::Suspend, node)), "given up");
    }

    #[test]
    fn a_node_that_is_alone_is_left_alone() {
        assert_eq!(Disturbances::new(1).step(at(100), 1), None);
    }
}
