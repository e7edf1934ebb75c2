//! Settings of the demo of a fleet, and the settings of its parts that follow from them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use crate::demo::web::{Elsewhere, Habits, Mix, Publishing, RetryAfter, SiteBehaviour, WebSettings};

/// The pause between two requests to one host: the shortest that the configuration has.
pub(super) const HOST_PAUSE: Duration = Duration::from_secs(1);
/// Lease of the nodes: the shortest that the configuration allows.
pub(super) const LEASE: Duration = Duration::from_secs(3);
/// How often each source should be polled.
const POLL_EVERY: Duration = Duration::from_secs(10);
/// The longest time that a poll takes if the node is killed that should grant it a turn at another host.
const LOST_POLL_MAX: Duration = Duration::from_secs(90);
/// Polls per second that a host can take: a request and the pause, and some room for sources that wait.
const POLLS_PER_HOST: f64 = 0.6;

#[derive(Clone, Debug, PartialEq)]
pub struct FleetDemoSettings {
    /// Number of nodes.
    pub nodes: usize,
    /// Duration from the moment at which the nodes have taken all shards; none until a signal.
    pub duration: Option<Duration>,
    /// Seed of the web and of the kills.
    pub seed: u64,
    /// How many sources there are.
    pub sources: usize,
    /// How many hosts they are on, apart from the dead ones.
    pub hosts: usize,
    /// Log file; each node appends its name. Without one, the logs are removed at the end.
    pub log: Option<PathBuf>,
}

impl FleetDemoSettings {
    pub(super) fn web(&self) -> WebSettings {
        WebSettings {
            hosts: self.hosts,
            sites: self.sources,
            seed: self.seed,
            mix: mix(),
            entries: 10..=30,
            publishing: Publishing::Chance(0.15),
            habits: Habits::lifelike(),
            habit_chance: 0.3,
            // Long enough that a killed node has polls in flight.
            latency: Duration::from_millis(200),
            slow: Duration::from_millis(500),
            drip: Duration::from_millis(20),
            ..WebSettings::default()
        }
    }

    /// Poll requests per second.
    pub(super) fn polls_per_second(&self) -> f64 {
        (self.sources as f64 / POLL_EVERY.as_secs_f64()).min(self.hosts as f64 * POLLS_PER_HOST)
    }

    /// How long it may take to poll sources again that a kill has left incomplete: a poll that waits for its end, and
    /// then each host twice, one source after the other.
    pub(super) fn heal_within(&self) -> Duration {
        let per_host = self.sources.div_ceil(self.hosts.max(1));
        LOST_POLL_MAX + HOST_PAUSE * u32::try_from(per_host * 4).unwrap_or(u32::MAX)
    }

    pub(super) fn log_of(&self, directory: &Path, node: &str) -> PathBuf {
        match &self.log {
            Some(log) => {
                let mut path = log.clone().into_os_string();
                path.push(format!(".{node}"));
                path.into()
            }
            None => directory.join(format!("{node}.log")),
        }
    }

    /// Configuration file of a node. JSON is YAML, too.
    pub(super) fn node_configuration(&self, directory: &Path, node: &str, database: &str) -> String {
        let pause = HOST_PAUSE.as_secs();
        let configuration = json!({
            "database": { "url": database },
            "fleet": { "name": node, "lease-seconds": LEASE.as_secs() },
            "api": { "socket": directory.join(format!("{node}.sock")) },
            "logging": { "file": self.log_of(directory, node), "format": "json" },
            "scheduler": { "tick-seconds": 1 },
            "fetch": { "threads": 1 },
            "host": { "spread-minutes": 0 },
            "source": {
                "default-interval-minutes": 1,
                "interval": "fixed",
                // Nothing is cleaned up, so that the store can be compared with what was served.
                "max-article-age-days": 0,
                "poll-delay-seconds": { "rss": pause, "website": pause },
            },
            "http": {
                "user-agent": user_agent(node),
                "allowed-networks": ["127.0.0.0/8"],
                "deadline-seconds": 10,
                "connect-timeout-seconds": 1,
                // A request that breaks off on a kept connection is made again at once; see the other demo.
                "idle-timeout-seconds": 0,
            },
        });
        format!("{configuration:#}\n")
    }
}

/// By this the simulated web tells the nodes apart.
pub(super) fn user_agent(node: &str) -> String {
    format!("feedwarden-demo ({node})")
}

/// Feeds only: a page shows one article, and what a kill loses of it cannot be read again. No site keeps a connection
/// open: a suspended node cannot close it, which the web would see as a request that goes on beside the next owner's.
fn mix() -> Mix {
    Mix::Weighted(vec![
        (SiteBehaviour::Healthy, 420),
        (SiteBehaviour::NoValidators, 60),
        (SiteBehaviour::Busy, 20),
        (SiteBehaviour::Titleless, 30),
        (SiteBehaviour::Gzip, 60),
        (SiteBehaviour::CacheFor(600), 40),
        (SiteBehaviour::NotFound, 20),
        (SiteBehaviour::Gone, 10),
        (SiteBehaviour::Forbidden, 10),
        (SiteBehaviour::RateLimited(RetryAfter::Seconds(5)), 8),
        (SiteBehaviour::Unavailable(RetryAfter::Seconds(5)), 8),
        (SiteBehaviour::Broken(500), 15),
        (SiteBehaviour::Slow, 20),
        (SiteBehaviour::Dripping, 10),
        (SiteBehaviour::Reset, 8),
        (SiteBehaviour::BrokenXml, 10),
        (SiteBehaviour::Moved(Elsewhere::SameHost), 15),
        (SiteBehaviour::Moved(Elsewhere::OtherHost), 40),
        (SiteBehaviour::Found(Elsewhere::OtherHost), 40),
        (SiteBehaviour::Flaky, 36),
        (SiteBehaviour::Dead, 10),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(sources: usize, hosts: usize) -> FleetDemoSettings {
        FleetDemoSettings { nodes: 3, duration: None, seed: 1, sources, hosts, log: None }
    }

    #[test]
    fn no_more_polls_are_requested_than_the_hosts_can_take() {
        assert_eq!(settings(300, 60).polls_per_second(), 30.0);
        assert_eq!(settings(300, 10).polls_per_second(), 6.0);
    }

    #[test]
    fn each_node_has_a_log_of_its_own() {
        let mut settings = settings(1, 1);
        assert_eq!(settings.log_of(Path::new("/tmp/x"), "node-2"), Path::new("/tmp/x/node-2.log"));
        settings.log = Some("demo.log".into());
        assert_eq!(settings.log_of(Path::new("/tmp/x"), "node-2"), Path::new("demo.log.node-2"));
    }
}
