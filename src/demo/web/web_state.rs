//! State shared by the server and the handle of the simulated web: hosts, sites and journal.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};

use super::content::{SiteContent, SiteForm};
use super::entry_page;
use super::habits::Habits;
use super::journal::{HostLoad, Journal};
use super::listener::{Order, Reaction};
use super::prose::Prose;
use super::render::FeedSyntax;
use super::settings::WebSettings;
use super::site_behaviour::{RobotsPolicy, SiteBehaviour};
use crate::clock::{Clock, Stopwatch};
use crate::dice::{Dice, SeededDice};

pub(super) struct WebState {
    pub(super) settings: WebSettings,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) watch: Stopwatch,
    pub(super) prose: Prose,
    /// Those that listen first, then those of the dead sites.
    pub(super) hosts: Vec<Host>,
    pub(super) sites: Vec<Mutex<SiteContent>>,
    /// The host of each site.
    pub(super) host_of: Vec<usize>,
    pub(super) journal: Mutex<Journal>,
    /// Whether every connection is reset.
    pub(super) network_down: watch::Sender<bool>,
}

pub(super) struct Host {
    pub(super) address: SocketAddrV4,
    /// The address without the port.
    pub(super) name: Arc<str>,
    pub(super) sites: Vec<usize>,
    pub(super) robots: Mutex<RobotsPolicy>,
    pub(super) load: Mutex<HostLoad>,
    pub(super) is_down: watch::Sender<bool>,
    /// Whether nothing comes back from it, not even a refusal.
    pub(super) is_silent: AtomicBool,
    /// Held while its listener is being opened or shut, so that orders come one at a time.
    pub(super) listener: Mutex<mpsc::Sender<Order>>,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WebRoute {
    Robots,
    Site(usize, SitePart),
    /// The page of an entry of a site.
    Entry(usize, u64),
    Nowhere,
}

/// The part of a site that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SitePart {
    Front,
    /// Where redirects lead; it is there on every host.
    Arrival,
    /// Where redirects lead that go in a circle.
    Round(u8),
}

/// Which site has which behaviour and host.
pub(super) struct SitePlan {
    pub(super) behaviours: Vec<SiteBehaviour>,
    pub(super) host_of: Vec<usize>,
    pub(super) addresses: Vec<Ipv4Addr>,
}

impl SitePlan {
    pub(super) fn of(settings: &WebSettings) -> io::Result<SitePlan> {
        let invalid = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        let behaviours = settings.mix.deal(settings.sites, settings.seed);
        if settings.hosts == 0 || behaviours.len() != settings.sites {
            return invalid("a simulated web needs a host, and a mix that names a behaviour");
        }
        if settings.entries.is_empty() || *settings.entries.start() == 0 {
            return invalid("a feed shows one entry at least");
        }
        let mut hosts = settings.hosts;
        let host_of = behaviours.iter().enumerate().map(|(site, behaviour)| match behaviour {
            SiteBehaviour::Dead => {
                hosts += 1;
                hosts - 1
            }
            _ => site % settings.hosts,
        });
        let host_of: Vec<usize> = host_of.collect();
        let first = u32::from(settings.first_address);
        let addresses: Vec<Ipv4Addr> = (0..hosts)
            .map(|host| Ipv4Addr::from(first.wrapping_add(u32::try_from(host).unwrap_or(u32::MAX))))
            .collect();
        if !addresses.iter().all(Ipv4Addr::is_loopback) {
            return invalid("the simulated web stays within 127.0.0.0/8");
        }
        Ok(SitePlan { behaviours, host_of, addresses })
    }
}

impl WebState {
    /// A web_state and, for each host, what its listener is told.
    pub(super) fn build(
        settings: WebSettings,
        plan: SitePlan,
        port: u16,
        clock: Arc<dyn Clock>,
    ) -> (WebState, Vec<mpsc::Receiver<Order>>) {
        // Not the dice that dealt the behaviours: forms would follow them.
        let dice = SeededDice::new(settings.seed.wrapping_add(1));
        let (mut hosts, mut orders) = (Vec::new(), Vec::new());
        for address in &plan.addresses {
            let (sender, receiver) = mpsc::channel(1);
            orders.push(receiver);
            hosts.push(Host {
                address: SocketAddrV4::new(*address, port),
                name: address.to_string().into(),
                sites: Vec::new(),
                robots: Mutex::new(settings.robots.unwrap_or(robots_by(dice.roll()))),
                load: Mutex::new(HostLoad::default()),
                is_down: watch::Sender::new(false),
                is_silent: AtomicBool::new(false),
                listener: Mutex::new(sender),
            });
        }
        let now = clock.now();
        let mut sites = Vec::with_capacity(settings.sites);
        let mut habits = settings.habits.iter().copied().cycle();
        for (site, (behaviour, host)) in plan.behaviours.iter().zip(&plan.host_of).enumerate() {
            hosts[*host].sites.push(site);
            let is_feed = behaviour.publishes() && *behaviour != SiteBehaviour::Website;
            let habits = if is_feed { habits.next().unwrap_or_default() } else { Habits::NONE };
            let form = form(site, &hosts[*host], &settings.entries, habits, &dice);
            sites.push(Mutex::new(SiteContent::new(form, *behaviour, &settings, now)));
        }
        let web_state = WebState {
            prose: Prose::new(settings.seed, settings.entry_bytes),
            journal: Mutex::new(Journal::new(settings.journal_max)),
            watch: Stopwatch::start(),
            network_down: watch::Sender::new(false),
            host_of: plan.host_of,
            settings,
            clock,
            hosts,
            sites,
        };
        (web_state, orders)
    }

    /// What a path of this host leads to.
    pub(super) fn route(&self, host: usize, path: &str) -> WebRoute {
        if path == "/robots.txt" {
            return WebRoute::Robots;
        }
        let mut parts = path.trim_start_matches('/').splitn(2, '/');
        let site = parts.next().and_then(|part| part.parse::<usize>().ok()).filter(|site| *site < self.sites.len());
        let (Some(site), Some(rest)) = (site, parts.next()) else { return WebRoute::Nowhere };
        let is_home = self.host_of[site] == host;
        match rest {
            "moved" => WebRoute::Site(site, SitePart::Arrival),
            "feed" | "page" if is_home => WebRoute::Site(site, SitePart::Front),
            "round/1" if is_home => WebRoute::Site(site, SitePart::Round(1)),
            "round/2" if is_home => WebRoute::Site(site, SitePart::Round(2)),
            _ => match entry_page::number_in(rest).filter(|_| is_home) {
                Some(number) => WebRoute::Entry(site, number),
                None => WebRoute::Nowhere,
            },
        }
    }

    /// The beginning of all URLs of a host.
    pub(super) fn home(&self, host: usize) -> String {
        format!("http://{}", self.hosts[host].address)
    }

    /// The host that a site's redirects lead to.
    pub(super) fn neighbour(&self, site: usize) -> usize {
        (self.host_of[site] + 1) % self.settings.hosts
    }

    pub(super) fn reaction(&self, host: usize) -> Reaction {
        let host = &self.hosts[host];
        let is_alive = |site: &usize| self.sites[*site].lock().behaviour != SiteBehaviour::Dead;
        if *self.network_down.borrow() || host.is_silent.load(Ordering::Acquire) {
            Reaction::Mute
        } else if !*host.is_down.borrow() && (host.sites.is_empty() || host.sites.iter().any(is_alive)) {
            Reaction::Open
        } else {
            Reaction::Shut
        }
    }
}

fn form(site: usize, host: &Host, entries: &RangeInclusive<usize>, habits: Habits, dice: &SeededDice) -> SiteForm {
    let format = match dice.roll() {
        roll if roll < 0.45 => FeedSyntax::Rss,
        roll if roll < 0.9 => FeedSyntax::Atom,
        _ => FeedSyntax::JsonFeed,
    };
    let (has_etag, has_last_modified) = match dice.roll() {
        roll if roll < 0.3 => (true, false),
        roll if roll < 0.5 => (false, true),
        _ => (true, true),
    };
    let is_weak = dice.roll() < 0.3;
    let choices = entries.end() - entries.start() + 1;
    let window = entries.start() + (dice.roll() * choices as f64) as usize;
    let home = format!("http://{}", host.address);
    SiteForm { site, home, format, has_etag, is_weak, has_last_modified, window, habits }
}

fn robots_by(roll: f64) -> RobotsPolicy {
    match roll {
        roll if roll < 0.5 => RobotsPolicy::Allowing,
        roll if roll < 0.7 => RobotsPolicy::Forbidding,
        roll if roll < 0.9 => RobotsPolicy::Missing,
        _ => RobotsPolicy::Broken,
    }
}
