//! What there is to see at one moment.

use std::time::Duration;

use super::census::{HostCensus, SourceCensus};
use super::chronicle::Event;
use super::web::Web;
use crate::actors::StatisticsView;
use crate::model::Timestamp;

/// What there is to see at one moment.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The fast clock.
    pub now: Timestamp,
    /// How much of its time has passed.
    pub passed: Duration,
    /// How many of its seconds pass in one of the machine's.
    pub speed: f64,
    /// Where the show stands.
    pub phase: Phase,
    /// Sources by state.
    pub sources: SourceCensus,
    /// Hosts by state.
    pub hosts: HostCensus,
    /// What was done so far.
    pub done: StatisticsView,
    /// Settled polls in the last moments, by the machine's second.
    pub polls_per_second: f64,
    /// The same for the last moments one by one, oldest first.
    pub pulse: Vec<f64>,
    /// How the web was treated.
    pub manners: Manners,
    /// How many crashes were injected.
    pub injected: u64,
    /// The last events, oldest first.
    pub events: Vec<Event>,
}

/// Where the show stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It goes on.
    Running,
    /// No more crashes, and what they cost is polled once more.
    Healing,
    /// Polls under way end.
    Draining,
    /// The store is compared with what was served.
    Comparing,
}

/// How the web was treated, as the web saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manners {
    /// All requests.
    pub requests: u64,
    /// Requests that reached a host while it served another one.
    pub overlaps: u64,
    /// The shortest time between the end of one request and the beginning of the next to the same host, by the fast clock.
    pub gap_min: Option<Duration>,
    /// How long it should be at least.
    pub gap_wanted: Duration,
}

impl Manners {
    /// What the web saw, if its time passes so fast.
    pub(super) fn seen_by(web: &Web, speed: f64, gap_wanted: Duration) -> Manners {
        let mut manners = Manners { gap_wanted, ..Manners::default() };
        for host in web.manners() {
            manners.requests += host.requests;
            manners.overlaps += host.overlaps;
            let gap = host.gap_min.map(|gap| gap.mul_f64(speed));
            manners.gap_min = manners.gap_min.into_iter().chain(gap).min();
        }
        manners
    }
}

impl Phase {
    /// What to tell a person who waits.
    pub fn words(self) -> &'static str {
        match self {
            Phase::Running => "Ctrl-C ends the demo with a summary",
            Phase::Healing => "stopping: repeating polls that were lost in crashes …",
            Phase::Draining => "stopping: waiting for polls in flight …",
            Phase::Comparing => "stopping: comparing the database with the served entries …",
        }
    }
}
