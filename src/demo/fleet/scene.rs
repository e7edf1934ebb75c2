//! Data of one frame of the demo of a fleet.

use std::time::Duration;

use super::node_process::NodeProcessState;
use super::observer::FleetDemoEvent;
use crate::demo::scene::WebLoad;

#[derive(Clone, Debug)]
pub struct FleetDemoScene {
    pub elapsed: Duration,
    pub lease: Duration,
    pub phase: FleetDemoPhase,
    pub sources: usize,
    pub nodes: Vec<FleetDemoNode>,
    /// Index in `nodes` of the live owner of each shard.
    pub owners: Vec<Option<usize>>,
    pub load: WebLoad,
    pub requests_per_second: f64,
    pub posts: u64,
    pub kills: u64,
    pub suspensions: u64,
    /// The longest time until all shards of a node that was killed or suspended had other owners.
    pub takeover_max: Option<Duration>,
    /// The last events, oldest first.
    pub events: Vec<FleetDemoEvent>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FleetDemoNode {
    pub name: String,
    pub process: NodeProcessState,
    /// Whether it is a live member, by the tables of the fleet.
    pub is_live: bool,
    /// Number of its shards.
    pub shards: usize,
    /// Number of its sources, by its last report.
    pub sources: usize,
    pub polls_per_second: f64,
    /// Polls of its present run whose result was not stored.
    pub fenced: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FleetDemoPhase {
    /// The nodes take their shards.
    Starting,
    Running,
    /// All nodes are back; lost polls are repeated.
    Healing,
    /// The nodes settle their polls and leave.
    Leaving,
    /// The store is compared with the served entries.
    Comparing,
}

impl FleetDemoNode {
    /// What is the matter with it, in a word or two.
    pub fn state(&self) -> &'static str {
        match (self.process, self.is_live) {
            (NodeProcessState::Running, true) => "live",
            (NodeProcessState::Running, false) => "joining",
            (NodeProcessState::Suspended, true) => "suspended",
            (NodeProcessState::Suspended, false) => "suspended, expired",
            (NodeProcessState::Killed, true) => "killed",
            (NodeProcessState::Killed, false) => "killed, expired",
            (NodeProcessState::Ended, _) => "left",
        }
    }
}

impl FleetDemoPhase {
    /// Text for the last line.
    pub fn words(self) -> &'static str {
        match self {
            FleetDemoPhase::Starting => "starting: the nodes join and take their shards …",
            FleetDemoPhase::Running => "q ends the demo with a summary",
            FleetDemoPhase::Healing => "stopping: all nodes come back, polls that were lost are repeated …",
            FleetDemoPhase::Leaving => "stopping: the nodes settle their polls and leave …",
            FleetDemoPhase::Comparing => "stopping: comparing the database with the served entries …",
        }
    }
}
