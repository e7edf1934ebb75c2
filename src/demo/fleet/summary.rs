//! Summary of the demo of a fleet, with its checks.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};

use super::settings::user_agent;
use crate::demo::audit::Audit;
use crate::demo::render::number;
use crate::demo::scene::WebLoad;
use crate::demo::web::Web;

#[derive(Clone, Debug)]
pub struct FleetDemoSummary {
    pub(super) elapsed: Duration,
    pub(super) nodes: usize,
    pub(super) sources: usize,
    /// Sources that were polled at least once.
    pub(super) polled: usize,
    pub(super) load: WebLoad,
    pub(super) visits: NodeVisits,
    pub(super) audit: Audit,
    pub(super) kills: u64,
    pub(super) suspensions: u64,
    /// How long it took, for each kill and suspension, until other nodes had all shards; none if it took too long.
    pub(super) takeovers: Vec<Option<Duration>>,
    pub(super) expired: u64,
    pub(super) taken: u64,
    pub(super) fenced: u64,
    /// Nodes that have left with exit code 0 at the end.
    pub(super) left: usize,
}

/// Which nodes the simulated web has seen, by their user agents, among the last requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NodeVisits {
    /// Requests of each node.
    pub(super) requests: BTreeMap<String, u64>,
    pub(super) hosts: usize,
    /// Hosts that got requests of several nodes.
    pub(super) hosts_of_several: usize,
}

impl NodeVisits {
    pub(super) fn seen_by<'a>(web: &Web, nodes: impl Iterator<Item = &'a str>) -> NodeVisits {
        let names: HashMap<String, &str> = nodes.map(|name| (user_agent(name), name)).collect();
        let mut visits = NodeVisits::default();
        let mut visitors = HashMap::<String, HashSet<String>>::new();
        for exchange in web.journal() {
            let agent = exchange.user_agent.unwrap_or_default();
            let name = names.get(&agent).map_or("unknown", |name| *name).to_owned();
            *visits.requests.entry(name.clone()).or_default() += 1;
            visitors.entry(exchange.host.to_string()).or_default().insert(name);
        }
        visits.hosts = visitors.len();
        visits.hosts_of_several = visitors.values().filter(|names| names.len() > 1).count();
        visits
    }
}

impl FleetDemoSummary {
    /// Whether all checks passed.
    pub fn holds_true(&self) -> bool {
        self.truths().iter().all(|(is_true, _)| *is_true)
    }

    /// The checks with their results.
    fn truths(&self) -> [(bool, String); 6] {
        let FleetDemoSummary { audit, load, .. } = self;
        let stored = format!(
            "every served entry is stored exactly once ({} of {}; {} duplicates, {} outdated, {} of unknown origin)",
            number(audit.stored_once as u64),
            number(audit.served as u64),
            audit.doubled,
            audit.outdated,
            audit.unknown
        );
        let overlaps = format!("no host got two requests at once, from whichever nodes ({} overlaps)", load.overlaps);
        let gap = match load.gap_min {
            Some(gap) => format!("the shortest was {:.2} s", gap.as_secs_f64()),
            None => "no host got two requests".to_owned(),
        };
        let gaps = format!("at least {} s between two requests to one host ({gap})", load.gap_wanted.as_secs());
        let polled = format!("every source was polled ({} of {})", self.polled, self.sources);
        let done = self.takeovers.iter().flatten().count();
        let longest = match self.takeover_max() {
            Some(time) => format!("; the longest took {:.1} s", time.as_secs_f64()),
            None => String::new(),
        };
        let takeovers = format!(
            "other nodes took all shards after each kill and suspension ({done} of {}{longest})",
            self.takeovers.len()
        );
        let left = format!("every node was back at the end and left in order ({} of {})", self.left, self.nodes);
        [
            (audit.is_right(0), stored),
            (load.overlaps == 0, overlaps),
            (load.gap_min.is_none_or(|gap| gap >= load.gap_wanted), gaps),
            (self.polled == self.sources, polled),
            (done == self.takeovers.len(), takeovers),
            (self.left == self.nodes, left),
        ]
    }

    fn takeover_max(&self) -> Option<Duration> {
        self.takeovers.iter().flatten().max().copied()
    }

    pub fn for_people(&self) -> String {
        let mut text = String::new();
        self.write_for_people(&mut text).expect("a String takes every write");
        text
    }

    fn write_for_people(&self, text: &mut String) -> std::fmt::Result {
        let visits = &self.visits;
        writeln!(
            text,
            "{} nodes polled {} sources for {:.1} seconds",
            self.nodes,
            number(self.sources as u64),
            self.elapsed.as_secs_f64()
        )?;
        let by_node: Vec<String> =
            visits.requests.iter().map(|(node, count)| format!("{node} {}", number(*count))).collect();
        writeln!(text, "requests    {} ({})", number(self.load.requests), by_node.join(", "))?;
        writeln!(
            text,
            "hosts       {}, {} of them polled by several nodes in turn",
            visits.hosts, visits.hosts_of_several
        )?;
        writeln!(
            text,
            "faults      {} kills, {} suspensions; {} nodes expired, {} shards taken, {} polls fenced",
            self.kills,
            self.suspensions,
            self.expired,
            number(self.taken),
            self.fenced
        )?;
        for (is_true, words) in self.truths() {
            writeln!(text, "{:<12}{words}", if is_true { "yes" } else { "NO" })?;
        }
        Ok(())
    }

    pub fn for_programs(&self) -> Value {
        let FleetDemoSummary { audit, load, visits, .. } = self;
        let milliseconds = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        json!({
            "elapsed_ms": milliseconds(self.elapsed),
            "nodes": self.nodes,
            "sources": self.sources,
            "sources_polled": self.polled,
            "requests": load.requests,
            "requests_by_node": visits.requests,
            "hosts": visits.hosts,
            "hosts_of_several_nodes": visits.hosts_of_several,
            "overlaps": load.overlaps,
            "gap_min_ms": load.gap_min.map(milliseconds),
            "gap_wanted_ms": milliseconds(load.gap_wanted),
            "entries_served": audit.served,
            "entries_stored_once": audit.stored_once,
            "posts_doubled": audit.doubled,
            "posts_outdated": audit.outdated,
            "posts_unknown": audit.unknown,
            "kills": self.kills,
            "suspensions": self.suspensions,
            "takeovers": self.takeovers.iter().flatten().count(),
            "takeover_max_ms": self.takeover_max().map(milliseconds),
            "nodes_expired": self.expired,
            "shards_taken": self.taken,
            "polls_fenced": self.fenced,
            "nodes_left_in_order": self.left,
            "holds_true": self.holds_true(),
        })
    }
}
