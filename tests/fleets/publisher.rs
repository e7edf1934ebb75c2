//! What publishers see of a fleet: who asked which host, when, and whether two requests met.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use feedwarden::clock::SystemClock;
use feedwarden::demo::web::{Elsewhere, Exchange, Mix, Publishing, RobotsPolicy, SiteBehaviour, Web, WebSettings};
use feedwarden::model::Timestamp;

/// How long a slow publisher takes to answer: a poll of it is in flight for a while.
pub(super) const SLOW: Duration = Duration::from_millis(1000);

/// What kind of sources the hosts have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Publishers {
    /// Feeds, slow ones, pages behind a robots.txt, and redirects to another host: some of each at every host.
    Mixed,
    /// Slow feeds only.
    Slow,
}

pub(super) fn start_web(publishers: Publishers, hosts: usize, sources_per_host: usize, seed: u64) -> Web {
    let mixed = vec![
        SiteBehaviour::Healthy,
        SiteBehaviour::Slow,
        SiteBehaviour::Busy,
        SiteBehaviour::Found(Elsewhere::OtherHost),
        SiteBehaviour::NoValidators,
        SiteBehaviour::Website,
        SiteBehaviour::Gzip,
    ];
    assert_ne!(hosts % mixed.len(), 0, "a host would have publishers of one kind only");
    let behaviours = if publishers == Publishers::Mixed { mixed } else { vec![SiteBehaviour::Slow] };
    let entries = if publishers == Publishers::Mixed { 500 } else { 5 };
    let settings = WebSettings {
        hosts,
        sites: hosts * sources_per_host,
        seed,
        mix: Mix::InTurn(behaviours),
        robots: Some(RobotsPolicy::Allowing),
        // No entry leaves its feed before it could be read.
        entries: entries..=entries,
        entry_bytes: 100,
        publishing: Publishing::Chance(0.3),
        slow: SLOW,
        journal_max: 2_000_000,
        ..WebSettings::default()
    };
    Web::start(settings, Arc::new(SystemClock)).unwrap()
}

/// What a publisher can complain about.
#[derive(Debug, Default)]
pub(super) struct Politeness {
    pub(super) requests: usize,
    /// Requests by user agent.
    pub(super) by_node: BTreeMap<String, usize>,
    /// Consecutive requests to one host by different nodes.
    pub(super) handovers: usize,
    /// Shortest pause of any host.
    pub(super) pause_min: Option<Duration>,
    pub(super) complaints: Vec<String>,
}

/// Looks at all requests, host by host: no two at once, and no pause shorter than this one. The mix has no redirects
/// within a host, which would need none.
pub(super) fn judge(journal: &[Exchange], pause: Duration) -> Politeness {
    let mut politeness = Politeness { requests: journal.len(), ..Politeness::default() };
    let mut hosts = BTreeMap::<&str, Vec<&Exchange>>::new();
    for exchange in journal {
        hosts.entry(&exchange.host).or_default().push(exchange);
        *politeness.by_node.entry(agent(exchange).to_owned()).or_default() += 1;
    }
    for (host, mut exchanges) in hosts {
        exchanges.sort_by_key(|exchange| exchange.began_micros);
        for pair in exchanges.windows(2) {
            let [before, after] = pair else { continue };
            politeness.handovers += usize::from(agent(before) != agent(after));
            let between = i128::from(after.began_micros) - i128::from(before.ended_micros);
            let told = |what: &str| {
                format!(
                    "{host}: {what}: {} asked for {} from {} to {} ({:?}), {} for {} from {} to {} ({:?})",
                    agent(before),
                    before.path,
                    before.began_at,
                    before.ended_at,
                    before.deed,
                    agent(after),
                    after.path,
                    after.began_at,
                    after.ended_at,
                    after.deed,
                )
            };
            match u64::try_from(between) {
                Err(_) => politeness.complaints.push(told("two requests at once")),
                Ok(micros) => {
                    let gap = Duration::from_micros(micros);
                    if gap < pause {
                        politeness.complaints.push(told(&format!("a pause of {gap:?} only")));
                    }
                    politeness.pause_min = Some(politeness.pause_min.map_or(gap, |least| least.min(gap)));
                }
            }
        }
    }
    politeness
}

/// When this host was first asked after this moment by another node than this one.
pub(super) fn first_request(journal: &[Exchange], host: &str, after: Timestamp, not_by: &str) -> Option<Timestamp> {
    let by_others = journal.iter().filter(|exchange| &*exchange.host == host && agent(exchange) != not_by);
    by_others.map(|exchange| exchange.began_at).filter(|began| *began > after).min()
}

/// The longest time between two requests for the front of each site until this moment, if any is longer than the bound.
pub(super) fn longest_waits(journal: &[Exchange], until: Timestamp, bound: Duration) -> Vec<String> {
    let mut sites = BTreeMap::<usize, Vec<Timestamp>>::new();
    for exchange in journal.iter().filter(|exchange| !exchange.is_hop && !exchange.path.ends_with("robots.txt")) {
        if let Some(site) = exchange.site {
            sites.entry(site).or_default().push(exchange.began_at);
        }
    }
    let mut waits = Vec::new();
    for (site, mut times) in sites {
        times.push(until);
        times.sort();
        for pair in times.windows(2) {
            let wait = pair[1].since(pair[0]);
            if wait > bound {
                waits.push(format!("site {site} was not asked for {wait:?} after {}", pair[0]));
            }
        }
    }
    waits
}

pub(super) fn agent(exchange: &Exchange) -> &str {
    exchange.user_agent.as_deref().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use feedwarden::demo::web::Deed;

    use super::*;

    fn request(host: &str, node: &str, began_millis: u64, ended_millis: u64) -> Exchange {
        Exchange {
            host: host.into(),
            site: None,
            path: "/feed".into(),
            began_micros: began_millis * 1000,
            ended_micros: ended_millis * 1000,
            began_at: Timestamp::from_micros(began_millis as i64 * 1000),
            ended_at: Timestamp::from_micros(ended_millis as i64 * 1000),
            overlapped: false,
            is_hop: false,
            if_none_match: None,
            if_modified_since: None,
            user_agent: Some(node.into()),
            deed: Deed::Answered(200),
            entries: Arc::default(),
        }
    }

    #[test]
    fn the_judge_sees_requests_at_once_and_short_pauses_of_one_host() {
        let pause = Duration::from_secs(1);
        let polite = [request("a", "x", 0, 10), request("b", "y", 5, 20), request("a", "y", 1010, 1020)];
        let judged = judge(&polite, pause);
        assert_eq!((judged.complaints.len(), judged.handovers, judged.pause_min), (0, 1, Some(pause)));
        // In the order of their ends, as the journal has them.
        let at_once = [request("a", "y", 5, 10), request("a", "x", 0, 20)];
        assert!(judge(&at_once, pause).complaints[0].contains("two requests at once"));
        let hasty = [request("a", "x", 0, 10), request("a", "y", 1009, 1020)];
        assert!(judge(&hasty, pause).complaints[0].contains("a pause of 999ms only"));
    }

    #[test]
    fn takeover_times_count_requests_of_other_nodes_only() {
        let journal = [request("a", "x", 0, 10), request("a", "x", 2000, 2010), request("a", "y", 3000, 3010)];
        let first = first_request(&journal, "a", Timestamp::from_micros(1_000_000), "x");
        assert_eq!(first, Some(Timestamp::from_micros(3_000_000)));
        assert_eq!(first_request(&journal, "b", Timestamp::EPOCH, "x"), None);
    }
}
