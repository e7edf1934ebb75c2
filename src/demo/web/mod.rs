//! Simulated web on loopback: working, slow, broken and missing hosts, deterministic for a
//! seed. The demo, the tests and the benchmarks poll it; it records all requests.
//!
//! It uses real sockets and none of the code of Feedwarden's HTTP client (`wire`, `conversation`), so that neither can
//! hide the other's mistakes. One thread serves all hosts, so the records of two requests are in the order in which it
//! happened. [`SiteBehaviour`] says how a site behaves, [`EntryHabit`] what it does to its entries, [`EntryPage`] how
//! their pages answer, `content` what it has published, `listener` how hosts go down and come back, `journal` what was seen, `comparison` what a store should
//! have of it.

mod answer;
mod comparison;
mod content;
mod conversation;
mod entry_page;
mod entry_view;
mod habits;
pub mod hub;
mod journal;
mod listener;
mod prose;
mod render;
mod served;
mod server;
mod settings;
mod site_behaviour;
mod web_state;
mod wire;

pub use comparison::SiteComparison;
pub use entry_page::EntryPage;
pub use habits::{EntryHabit, Habits};
pub use journal::{Deed, Exchange, HostLoadView};
pub use served::{EntryVersion, ServedEntry};
pub use settings::{Mix, Publishing, WebSettings};
pub use site_behaviour::{Elsewhere, RetryAfter, RobotsPolicy, SiteBehaviour};

use std::io;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc as answers};
use std::time::Duration;

use crate::clock::Clock;
use crate::model::{Post, PostContent, SourceType};
use listener::Order;
use server::Server;
use web_state::{SitePlan, WebState};

/// A running simulated web, until it is dropped.
pub struct Web {
    web_state: Arc<WebState>,
    sites: Vec<Site>,
    server: Server,
}

/// Something that can be added as a source. Its place in [`Web::sites`] is its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    pub url: String,
    /// How it is read.
    pub source_type: SourceType,
    /// The address of its host, without the port.
    pub host: String,
    /// How it behaved at the start.
    pub behaviour: SiteBehaviour,
    pub habits: Habits,
}

impl Web {
    /// Builds a web and serves it. `clock` dates what is published.
    pub fn start(settings: WebSettings, clock: Arc<dyn Clock>) -> io::Result<Web> {
        let plan = SitePlan::of(&settings)?;
        let (port, sockets) = listener::bind_all(&plan.addresses, settings.port)?;
        let (web_state, orders) = WebState::build(settings, plan, port, clock);
        let web_state = Arc::new(web_state);
        let sites = (0..web_state.sites.len()).map(|site| site_of(&web_state, site)).collect();
        let server = Server::start(&web_state, sockets, orders)?;
        Ok(Web { web_state, sites, server })
    }

    /// All sites, in an order that the seed decides.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// The addresses of all hosts, those where nothing listens included.
    pub fn hosts(&self) -> Vec<String> {
        self.web_state.hosts.iter().map(|host| host.name.to_string()).collect()
    }

    /// The port of all hosts.
    pub fn port(&self) -> u16 {
        self.web_state.hosts[0].address.port()
    }

    /// Publishes so many entries on a site, dated now. What does not fit the feed any more was never seen.
    pub fn publish(&self, site: usize, count: usize) {
        self.web_state.sites[site].lock().publish(count, self.web_state.clock.now());
    }

    /// Ends the habits of a site: from the next request on it shows all entries that fit its window, changes none, and
    /// publishes only when told to.
    /// What an answer showed that was lost can be read again then.
    pub fn calm(&self, site: usize) {
        self.web_state.sites[site].lock().calm(self.web_state.clock.now());
    }

    /// All entries of a site that were sent whole in a 200.
    pub fn served(&self, site: usize) -> Vec<ServedEntry> {
        self.server.catch_up();
        self.web_state.sites[site].lock().served(&self.web_state.settings).collect()
    }

    /// Compares what a site has served with all posts that are stored of it.
    pub fn compare(&self, site: usize, posts: &[Post]) -> SiteComparison {
        self.compare_posts(site, posts, None)
    }

    /// The same for a site whose posts get the texts of their pages (full text).
    pub fn compare_with_pages(&self, site: usize, posts: &[Post]) -> SiteComparison {
        let page_of = |number| {
            let has_article = EntryPage::of(site, number).has_article();
            has_article.then(|| entry_page::text(&self.web_state.prose, site, number))
        };
        self.compare_posts(site, posts, Some(&page_of))
    }

    fn compare_posts(&self, site: usize, posts: &[Post], page_of: Option<comparison::PageText<'_>>) -> SiteComparison {
        let habits = self.sites[site].habits;
        let number_of = |content: &PostContent| entry_view::number_of(site, content);
        let body_of = |number, version| entry_view::body(&self.web_state.prose, site, habits, number, version);
        comparison::compare(&self.served(site), posts, number_of, body_of, page_of)
    }

    /// The bodies of all entries that were sent whole in a 200, in the newest version that was sent, site by site.
    pub fn served_entries(&self) -> Vec<Vec<String>> {
        self.server.catch_up();
        (0..self.sites.len()).map(|site| self.served_texts(site)).collect()
    }

    /// The same for one site: where all of them together would be too many.
    pub fn served_entries_of(&self, site: usize) -> Vec<String> {
        self.server.catch_up();
        self.served_texts(site)
    }

    /// Waits until every answer that a client has seen the end of is in the journal, with its time.
    pub fn catch_up(&self) {
        self.server.catch_up();
    }

    /// The last exchanges, in the order of their ends. An answer that a client has seen the end of is among them; that
    /// a client has hung up is noticed a little later.
    pub fn journal(&self) -> Vec<Exchange> {
        self.server.catch_up();
        self.web_state.journal.lock().all()
    }

    /// How each host was treated since the start.
    pub fn load(&self) -> Vec<HostLoadView> {
        let load = |host: &web_state::Host| {
            let load = host.load.lock();
            HostLoadView {
                host: host.name.to_string(),
                requests: load.requests,
                overlaps: load.overlaps,
                gap_min: load.gap_min_micros.map(Duration::from_micros),
            }
        };
        self.server.catch_up();
        self.web_state.hosts.iter().map(load).collect()
    }

    /// How a site behaves now.
    pub fn behaviour(&self, site: usize) -> SiteBehaviour {
        self.web_state.sites[site].lock().behaviour
    }

    /// Changes how a site behaves, from the next request on.
    pub fn set_behaviour(&self, site: usize, behaviour: SiteBehaviour) -> io::Result<()> {
        self.web_state.sites[site].lock().set_behaviour(behaviour, self.web_state.clock.now());
        // The first or last living site of a host brings it up or takes it down.
        let host = self.web_state.host_of[site];
        self.turn_listeners(host..host + 1)
    }

    /// What the robots.txt of a host says.
    pub fn robots(&self, host: &str) -> io::Result<RobotsPolicy> {
        Ok(*self.web_state.hosts[self.host_named(host)?].robots.lock())
    }

    /// Changes what the robots.txt of a host says.
    pub fn set_robots(&self, host: &str, robots: RobotsPolicy) -> io::Result<()> {
        *self.web_state.hosts[self.host_named(host)?].robots.lock() = robots;
        Ok(())
    }

    /// Takes a host down, or brings it back. While it is down its connections are reset and new ones are refused.
    pub fn set_down(&self, host: &str, is_down: bool) -> io::Result<()> {
        let host = self.host_named(host)?;
        self.web_state.hosts[host].is_down.send_replace(is_down);
        self.turn_listeners(host..host + 1)
    }

    /// Makes a host silent, or lets it speak: while it is silent, nothing comes back to those who connect to it.
    pub fn set_silent(&self, host: &str, is_silent: bool) -> io::Result<()> {
        let host = self.host_named(host)?;
        self.web_state.hosts[host].is_silent.store(is_silent, Ordering::Release);
        self.turn_listeners(host..host + 1)
    }

    /// Takes the network away, or brings it back: while it is away, nothing comes back from any host, neither an answer
    /// nor a refusal.
    pub fn set_network_down(&self, is_down: bool) -> io::Result<()> {
        self.web_state.network_down.send_replace(is_down);
        self.turn_listeners(0..self.web_state.hosts.len())
    }

    fn served_texts(&self, site: usize) -> Vec<String> {
        let content = self.web_state.sites[site].lock();
        let body_of = |entry: ServedEntry| {
            entry_view::body(&self.web_state.prose, site, content.form.habits, entry.number, entry.version)
        };
        content.served(&self.web_state.settings).map(body_of).collect()
    }

    fn host_named(&self, name: &str) -> io::Result<usize> {
        let found = self.web_state.hosts.iter().position(|host| &*host.name == name);
        found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("the simulated web has no host {name}")))
    }

    /// Turns the listeners of these hosts as their states want them, all at once, and waits until that is done.
    fn turn_listeners(&self, hosts: Range<usize>) -> io::Result<()> {
        // One order at a time fits; if none does, or no answer comes, the server has ended.
        let is_over = || io::Error::new(io::ErrorKind::BrokenPipe, "the simulated web has ended");
        let mut outcomes = Vec::with_capacity(hosts.len());
        for host in hosts {
            let listener = self.web_state.hosts[host].listener.lock();
            let (done, outcome) = answers::sync_channel(1);
            let order = Order { reaction: self.web_state.reaction(host), done };
            listener.try_send(order).map_err(|_| is_over())?;
            outcomes.push((listener, outcome));
        }
        outcomes.into_iter().try_for_each(|(_listener, outcome)| outcome.recv().map_err(|_| is_over())?)
    }
}

fn site_of(web_state: &WebState, site: usize) -> Site {
    let host = web_state.host_of[site];
    let (behaviour, habits) = {
        let content = web_state.sites[site].lock();
        (content.behaviour, content.form.habits)
    };
    let source_type = behaviour.source_type();
    let page = if behaviour == SiteBehaviour::Website { "page" } else { "feed" };
    Site {
        url: format!("{}/{site}/{page}", web_state.home(host)),
        source_type,
        host: web_state.hosts[host].name.to_string(),
        behaviour,
        habits,
    }
}
