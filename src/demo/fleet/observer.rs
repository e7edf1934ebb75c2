//! What happens in the fleet, from its tables: each look is compared with the one before.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use crate::actors::NodeReport;
use crate::model::{FleetRecord, NodeId, NodeRecord};

/// Number of events kept: more than any screen shows.
const EVENTS_MAX: usize = 200;
/// Moves of shards within this time are one event,
const TOGETHER: Duration = Duration::from_secs(2);
/// if it is among so many of the last events.
const RECENT: usize = 6;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetDemoEvent {
    /// Time since the start of the demo.
    pub at: Duration,
    pub kind: FleetDemoEventKind,
    /// Name of the node.
    pub node: String,
    /// Number of shards that it is about.
    pub shards: usize,
    pub words: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum FleetDemoEventKind {
    /// By the demo: SIGKILL.
    Killed,
    /// By the demo: SIGSTOP.
    Suspended,
    /// By the demo, after a kill.
    Started,
    /// By the demo: SIGCONT.
    Resumed,
    Joined,
    Left,
    /// Another node has declared it ended.
    Expired,
    /// It has lost shards.
    Lost,
    Taken,
    Released,
    /// Results of its polls were not stored.
    Fenced,
}

impl FleetDemoEventKind {
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Events, and the last look at the fleet.
#[derive(Debug, Default)]
pub(super) struct FleetObserver {
    last: Option<FleetRecord>,
    events: VecDeque<FleetDemoEvent>,
    /// Fenced polls of the present run of each node.
    fenced_of: HashMap<String, u64>,
    pub(super) expired: u64,
    pub(super) taken: u64,
    pub(super) fenced: u64,
}

impl FleetObserver {
    pub(super) fn events(&self, count: usize) -> Vec<FleetDemoEvent> {
        self.events.iter().skip(self.events.len().saturating_sub(count)).cloned().collect()
    }

    pub(super) fn record(&self) -> Option<&FleetRecord> {
        self.last.as_ref()
    }

    pub(super) fn push(&mut self, at: Duration, kind: FleetDemoEventKind, node: &str, words: impl Into<String>) {
        self.events.push_back(FleetDemoEvent { at, kind, node: node.to_owned(), shards: 0, words: words.into() });
        while self.events.len() > EVENTS_MAX {
            self.events.pop_front();
        }
    }

    /// Compares with the look before.
    pub(super) fn look(&mut self, at: Duration, record: FleetRecord) {
        let before = self.last.take();
        self.note_nodes(at, before.as_ref(), &record);
        self.note_shards(at, before.as_ref(), &record);
        self.note_fenced(at, &record);
        self.last = Some(record);
    }

    fn note_nodes(&mut self, at: Duration, before: Option<&FleetRecord>, now: &FleetRecord) {
        let known = |node: &NodeRecord| before.and_then(|before| node_of(before, node.id));
        for node in &now.nodes {
            let Some(known) = known(node) else {
                self.push(at, FleetDemoEventKind::Joined, &node.name, "joined the fleet");
                continue;
            };
            if node.ended_at.is_none() || known.ended_at.is_some() {
                continue;
            }
            match &node.ended_by {
                _ if node.has_left => self.push(at, FleetDemoEventKind::Left, &node.name, "left the fleet"),
                Some(other) if *other != node.name => {
                    self.expired += 1;
                    let lease = now.lease.as_secs();
                    let words = format!("no renewal for {lease} s, found by {other}");
                    self.push(at, FleetDemoEventKind::Expired, &node.name, words);
                }
                _ => self.push(at, FleetDemoEventKind::Left, &node.name, "its former run is over"),
            }
        }
    }

    fn note_shards(&mut self, at: Duration, before: Option<&FleetRecord>, now: &FleetRecord) {
        let (mut losses, mut gains) = (BTreeMap::<NodeId, usize>::new(), BTreeMap::<NodeId, usize>::new());
        for (shard, owner) in now.owners.iter().enumerate() {
            let former = before.and_then(|before| before.owners.get(shard).copied().flatten());
            if former != *owner {
                former.iter().for_each(|node| *losses.entry(*node).or_default() += 1);
                owner.iter().for_each(|node| *gains.entry(*node).or_default() += 1);
            }
        }
        for (node, count) in losses {
            match node_of(now, node) {
                Some(node) if node.ended_at.is_none() => {
                    self.push_shards(at, FleetDemoEventKind::Released, &node.name, count);
                }
                Some(node) if !node.has_left => self.push_shards(at, FleetDemoEventKind::Lost, &node.name, count),
                // A node that has left has given everything up.
                _ => {}
            }
        }
        for (node, count) in gains {
            self.taken += count as u64;
            if let Some(node) = node_of(now, node) {
                self.push_shards(at, FleetDemoEventKind::Taken, &node.name, count);
            }
        }
    }

    /// Shards move in several steps, which are one event.
    fn push_shards(&mut self, at: Duration, kind: FleetDemoEventKind, node: &str, count: usize) {
        let is_same =
            |event: &&mut FleetDemoEvent| event.kind == kind && event.node == node && event.at + TOGETHER >= at;
        if let Some(event) = self.events.iter_mut().rev().take(RECENT).find(is_same) {
            event.shards += count;
            event.words = shards(event.shards);
            return;
        }
        self.push(at, kind, node, shards(count));
        if let Some(event) = self.events.back_mut() {
            event.shards = count;
        }
    }

    fn note_fenced(&mut self, at: Duration, now: &FleetRecord) {
        for node in now.nodes.iter().filter(|node| node.ended_at.is_none()) {
            let fenced = NodeReport::read(&node.report).fenced;
            let known = self.fenced_of.entry(node.name.clone()).or_default();
            let new = fenced.saturating_sub(*known);
            *known = fenced;
            if new > 0 {
                self.fenced += new;
                let polls = if new == 1 { "poll" } else { "polls" };
                let words = format!("{new} {polls} not stored: another node has the source");
                self.push(at, FleetDemoEventKind::Fenced, &node.name, words);
            }
        }
    }
}

pub(super) fn node_of(record: &FleetRecord, id: NodeId) -> Option<&NodeRecord> {
    record.nodes.iter().find(|node| node.id == id)
}

fn shards(count: usize) -> String {
    if count == 1 { "1 shard".to_owned() } else { format!("{count} shards") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Timestamp;

    fn node(id: i64, name: &str, fenced: u64) -> NodeRecord {
        NodeRecord {
            id: NodeId(id),
            name: name.into(),
            version: String::new(),
            settings: String::new(),
            joined_at: Timestamp::EPOCH,
            report: format!(r#"{{"fenced": {fenced}}}"#),
            lease_left: 3.0,
            ended_at: None,
            ended_by: None,
            has_left: false,
            shards: 2,
        }
    }

    fn record(nodes: Vec<NodeRecord>, owners: [i64; 4]) -> FleetRecord {
        FleetRecord {
            lease: Duration::from_secs(3),
            quiet_for: Duration::ZERO,
            free_shards: 0,
            messages_waiting: 0,
            owners: owners.iter().map(|id| (*id != 0).then_some(NodeId(*id))).collect(),
            nodes,
        }
    }

    fn told(records: impl IntoIterator<Item = FleetRecord>) -> Vec<String> {
        let mut observer = FleetObserver::default();
        records.into_iter().for_each(|record| observer.look(Duration::ZERO, record));
        let told = observer.events(100).into_iter();
        told.map(|event| format!("{} {}: {}", event.kind.name(), event.node, event.words)).collect()
    }

    #[test]
    fn a_takeover_is_told_from_both_sides() {
        let ended = NodeRecord { ended_at: Some(Timestamp::EPOCH), ended_by: Some("b".into()), ..node(1, "a", 0) };
        let events = told([
            record(vec![node(1, "a", 0), node(2, "b", 0)], [1, 1, 2, 2]),
            record(vec![ended.clone(), node(2, "b", 0)], [0, 1, 2, 2]),
            record(vec![ended, node(2, "b", 0)], [2, 2, 2, 2]),
        ]);
        assert_eq!(
            events,
            [
                "joined a: joined the fleet",
                "joined b: joined the fleet",
                "taken a: 2 shards",
                "taken b: 4 shards",
                "expired a: no renewal for 3 s, found by b",
                "lost a: 2 shards",
            ]
        );
    }

    #[test]
    fn fenced_polls_are_counted_for_each_run_of_a_node() {
        let events = told([
            record(vec![node(1, "a", 0)], [1; 4]),
            record(vec![node(1, "a", 3)], [1; 4]),
            record(vec![node(1, "a", 3)], [1; 4]),
            record(vec![node(1, "a", 0)], [1; 4]),
            record(vec![node(1, "a", 1)], [1; 4]),
        ]);
        let fenced: Vec<&String> = events.iter().filter(|event| event.starts_with("fenced")).collect();
        assert_eq!(fenced.len(), 2, "{events:?}");
        assert!(fenced[0].contains("3 polls") && fenced[1].contains("1 poll "), "{events:?}");
    }
}
