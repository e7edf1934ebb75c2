//! What the simulated web is made of.

use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::habits::Habits;
use super::site_behaviour::{Elsewhere, RetryAfter, RobotsPolicy, SiteBehaviour};
use crate::dice::{Dice, SeededDice};

/// How large the simulated web is and how it behaves. The same settings make the same web.
#[derive(Clone, Debug)]
pub struct WebSettings {
    /// How many hosts there are: addresses that listen. Dead sites have further addresses behind these.
    pub hosts: usize,
    /// How many sites there are, dealt to the hosts in turn.
    pub sites: usize,
    /// What everything that looks random comes from.
    pub seed: u64,
    /// Which behaviours the sites have.
    pub mix: Mix,
    /// What the robots.txt of every host says; if none is given, hosts differ by the seed.
    pub robots: Option<RobotsPolicy>,
    /// The address of the first host; the others follow it. Within 127.0.0.0/8.
    pub first_address: Ipv4Addr,
    /// The port of all hosts; 0 takes one that is free.
    pub port: u16,
    /// How many entries a feed shows: each site has a number of its own from this range.
    pub entries: RangeInclusive<usize>,
    /// How long the text of an entry is, more or less.
    pub entry_bytes: usize,
    /// How many entries a feed starts with that are dated now, which is when it is asked for the first time: a source
    /// that was added before takes them all. Never more than the feed shows.
    pub first_entries: usize,
    /// How many more it starts with that are dated before, one for each hour and the newest of them an hour before the
    /// start. A feed shows them while there is room.
    pub backlog: usize,
    /// When a site publishes without being told to.
    pub publishing: Publishing,
    /// What the feeds do to their entries, dealt in turn to the sites that publish feeds. With none of them, entries
    /// never change.
    pub habits: Vec<Habits>,
    /// The share of requests at which the habits of a site change something.
    pub habit_chance: f64,
    /// How long every answer is held back, as a distance would.
    pub latency: Duration,
    /// How long [`SiteBehaviour::Slow`] waits.
    pub slow: Duration,
    /// How long [`SiteBehaviour::Dripping`] waits between two drops.
    pub drip: Duration,
    /// How many drops a dripped body has.
    pub drops: usize,
    /// How long the body of [`SiteBehaviour::Huge`] is, unless the client hangs up.
    pub huge_bytes: usize,
    /// How many exchanges the journal keeps: the last ones. With 0 there is none.
    pub journal_max: usize,
    /// How many connections are served at once; further ones wait.
    pub connections_max: usize,
    /// When an idle connection is closed.
    pub idle_max: Duration,
}

impl Default for WebSettings {
    fn default() -> WebSettings {
        WebSettings {
            hosts: 1,
            sites: 1,
            seed: 1,
            mix: Mix::only(SiteBehaviour::Healthy),
            robots: None,
            first_address: Ipv4Addr::new(127, 1, 0, 1),
            port: 0,
            entries: 10..=10,
            entry_bytes: 300,
            first_entries: 1,
            backlog: 0,
            publishing: Publishing::Never,
            habits: Vec::new(),
            habit_chance: 1.0,
            latency: Duration::ZERO,
            slow: Duration::from_secs(2),
            drip: Duration::from_millis(100),
            drops: 10,
            huge_bytes: 64 * 1024 * 1024,
            journal_max: 100_000,
            connections_max: 4096,
            idle_max: Duration::from_secs(60),
        }
    }
}

/// When a site publishes without being told to. Time is the handed-in clock's; what is due by then is made, and dated,
/// when the site is next asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Publishing {
    /// Only when told to.
    Never,
    /// One entry at every so many requests to the site.
    EveryRequests(u32),
    /// One entry each time this much has passed since the first request.
    Every(Duration),
    /// One entry at this share of requests, by the seed.
    Chance(f64),
}

/// Which behaviours the sites of a web have.
#[derive(Clone, Debug, PartialEq)]
pub enum Mix {
    /// These in turn: the first site has the first one.
    InTurn(Vec<SiteBehaviour>),
    /// Each as often as its weight says, in an order by the seed.
    Weighted(Vec<(SiteBehaviour, u32)>),
}

impl Mix {
    pub fn only(behaviour: SiteBehaviour) -> Mix {
        Mix::InTurn(vec![behaviour])
    }

    /// One of each in turn.
    pub fn every() -> Mix {
        Mix::InTurn(SiteBehaviour::EVERY.to_vec())
    }

    /// As on the real web: most are well, and there is some of everything.
    pub fn lifelike() -> Mix {
        Mix::Weighted(vec![
            (SiteBehaviour::Healthy, 480),
            (SiteBehaviour::NoValidators, 80),
            (SiteBehaviour::Busy, 20),
            (SiteBehaviour::Titleless, 30),
            (SiteBehaviour::Gzip, 60),
            (SiteBehaviour::CacheFor(60), 40),
            (SiteBehaviour::NotFound, 40),
            (SiteBehaviour::Gone, 10),
            (SiteBehaviour::Forbidden, 20),
            (SiteBehaviour::Unauthorized, 5),
            (SiteBehaviour::RateLimited(RetryAfter::Seconds(60)), 5),
            (SiteBehaviour::RateLimited(RetryAfter::Date(60)), 5),
            (SiteBehaviour::RateLimited(RetryAfter::Unsaid), 5),
            (SiteBehaviour::Unavailable(RetryAfter::Seconds(60)), 5),
            (SiteBehaviour::Unavailable(RetryAfter::Unsaid), 10),
            (SiteBehaviour::Broken(500), 10),
            (SiteBehaviour::Broken(502), 10),
            (SiteBehaviour::Slow, 20),
            (SiteBehaviour::Dripping, 10),
            (SiteBehaviour::Hanging, 5),
            (SiteBehaviour::Cut, 5),
            (SiteBehaviour::Reset, 5),
            (SiteBehaviour::BrokenXml, 10),
            (SiteBehaviour::NotAFeed, 10),
            (SiteBehaviour::Huge, 2),
            (SiteBehaviour::Moved(Elsewhere::SameHost), 10),
            (SiteBehaviour::Moved(Elsewhere::OtherHost), 10),
            (SiteBehaviour::Found(Elsewhere::SameHost), 5),
            (SiteBehaviour::Found(Elsewhere::OtherHost), 3),
            (SiteBehaviour::Loop, 2),
            (SiteBehaviour::Website, 20),
            (SiteBehaviour::Flaky, 30),
            (SiteBehaviour::Dead, 18),
        ])
    }

    /// The behaviour of each site.
    pub(super) fn deal(&self, sites: usize, seed: u64) -> Vec<SiteBehaviour> {
        match self {
            Mix::InTurn(behaviours) => behaviours.iter().copied().cycle().take(sites).collect(),
            Mix::Weighted(weights) => shuffled(proportional(weights, sites), seed),
        }
    }
}

/// So many behaviours, each as near to its share as whole numbers allow.
fn proportional(weights: &[(SiteBehaviour, u32)], sites: usize) -> Vec<SiteBehaviour> {
    let total: u64 = weights.iter().map(|(_, weight)| u64::from(*weight)).sum();
    let mut dealt = Vec::with_capacity(sites);
    let mut reached = 0;
    for (behaviour, weight) in weights {
        reached += u64::from(*weight);
        // Rounding the sum up to here, and not each share, makes the last one come out even.
        let until = (sites as u64 * reached + total / 2) / total.max(1);
        while (dealt.len() as u64) < until {
            dealt.push(*behaviour);
        }
    }
    dealt
}

fn shuffled(mut behaviours: Vec<SiteBehaviour>, seed: u64) -> Vec<SiteBehaviour> {
    let dice = SeededDice::new(seed);
    for last in (1..behaviours.len()).rev() {
        behaviours.swap(last, (dice.roll() * (last + 1) as f64) as usize);
    }
    behaviours
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_become_numbers_and_the_seed_their_order() {
        let mix = Mix::Weighted(vec![(SiteBehaviour::Healthy, 3), (SiteBehaviour::Gone, 1)]);
        let dealt = mix.deal(100, 7);
        assert_eq!(dealt.len(), 100);
        assert_eq!(dealt.iter().filter(|behaviour| **behaviour == SiteBehaviour::Gone).count(), 25);
        assert_eq!(dealt, mix.deal(100, 7));
        assert_ne!(dealt, mix.deal(100, 8));
        for sites in [0, 1, 3, 2000] {
            assert_eq!(Mix::lifelike().deal(sites, 1).len(), sites);
        }
    }

    #[test]
    fn a_lifelike_web_of_2000_sites_has_some_of_everything() {
        let dealt = Mix::lifelike().deal(2000, 1);
        for behaviour in SiteBehaviour::EVERY {
            let is_alike = |dealt: &&SiteBehaviour| dealt.name() == behaviour.name();
            assert!(dealt.iter().any(|dealt| is_alike(&dealt)), "{behaviour}");
        }
    }
}
