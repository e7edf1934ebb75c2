//! Summary of the demo of a fleet, with its checks.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};

use super::render::counted;
use super::settings::user_agent;
use crate::demo::audit::Audit;
use crate::demo::render::number;
use crate::demo::scene::WebLoad;
use crate::demo::web::{Exchange, Web};

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
    /// The shortest pause, if it is among the last requests.
    pub(super) shortest: Option<ShortestPause>,
}

/// Which requests had the shortest pause between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShortestPause {
    host: String,
    /// Node and path of the request before and of the one after it.
    before: (String, String),
    after: (String, String),
}

impl NodeVisits {
    pub(super) fn seen_by<'a>(
        web: &Web,
        nodes: impl Iterator<Item = &'a str>,
        gap_min: Option<Duration>,
    ) -> NodeVisits {
        let names: HashMap<String, &str> = nodes.map(|name| (user_agent(name), name)).collect();
        let name_of = |exchange: &Exchange| {
            let agent = exchange.user_agent.as_deref().unwrap_or_default();
            names.get(agent).map_or("unknown", |name| *name).to_owned()
        };
        let mut visits = NodeVisits::default();
        let mut by_host = BTreeMap::<String, Vec<Exchange>>::new();
        for exchange in web.journal() {
            *visits.requests.entry(name_of(&exchange)).or_default() += 1;
            by_host.entry(exchange.host.to_string()).or_default().push(exchange);
        }
        visits.hosts = by_host.len();
        for (host, exchanges) in by_host {
            let visitors: HashSet<String> = exchanges.iter().map(name_of).collect();
            visits.hosts_of_several += usize::from(visitors.len() > 1);
            let is_shortest = |before: &Exchange, after: &Exchange| {
                let gap = after.began_micros.saturating_sub(before.ended_micros);
                gap_min == Some(Duration::from_micros(gap))
            };
            let mut pairs = exchanges.iter().zip(exchanges.iter().skip(1));
            if let Some((before, after)) = pairs.find(|(before, after)| is_shortest(before, after)) {
                let of = |exchange: &Exchange| (name_of(exchange), exchange.path.clone());
                visits.shortest = Some(ShortestPause { host, before: of(before), after: of(after) });
            }
        }
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
        let gap = match (load.gap_min, &self.visits.shortest) {
            (Some(gap), Some(pause)) if gap < load.gap_wanted => {
                let ShortestPause { host, before, after } = pause;
                let requests = format!("{} by {}, then {} by {}", before.1, before.0, after.1, after.0);
                format!("the shortest was {:.3} s at {host}: {requests}", gap.as_secs_f64())
            }
            (Some(gap), _) => format!("the shortest was {:.3} s", gap.as_secs_f64()),
            (None, _) => "no host got two requests".to_owned(),
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
            "faults      {}, {}; {} expired, {} taken, {} fenced",
            counted(self.kills, "kill"),
            counted(self.suspensions, "suspension"),
            counted(self.expired, "node"),
            counted(self.taken, "shard"),
            counted(self.fenced, "poll")
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
