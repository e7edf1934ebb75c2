//! Data of one frame.

use std::time::Duration;

use super::counts::{HostsByState, SourcesByState};
use super::event_log::DemoEvent;
use super::web::Web;
use crate::actors::StatisticsView;
use crate::model::Timestamp;

/// Data of one frame.
#[derive(Clone, Debug)]
pub struct Scene {
    pub now: Timestamp,
    /// Time passed by the fast clock.
    pub passed: Duration,
    /// Speed of the fast clock.
    pub speed: f64,
    pub phase: Phase,
    pub sources: SourcesByState,
    pub hosts: HostsByState,
    pub done: StatisticsView,
    /// Settled polls per second of real time.
    pub polls_per_second: f64,
    /// The same for each of the last frames, oldest first.
    pub pulse: Vec<f64>,
    pub load: WebLoad,
    pub injected: u64,
    /// The last events, oldest first.
    pub events: Vec<DemoEvent>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Running,
    /// Crashes have stopped; lost polls are repeated.
    Healing,
    /// Polls in flight finish.
    Draining,
    /// The store is compared with the served entries.
    Comparing,
}

/// Load on the simulated web, as recorded by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WebLoad {
    pub requests: u64,
    /// Requests that reached a host while it served another one.
    pub overlaps: u64,
    /// The shortest time between the end of one request and the beginning of the next to the same host, by the fast
    /// clock.
    pub gap_min: Option<Duration>,
    /// Minimum pause.
    pub gap_wanted: Duration,
}

impl WebLoad {
    pub(super) fn seen_by(web: &Web, speed: f64, gap_wanted: Duration) -> WebLoad {
        let mut load = WebLoad { gap_wanted, ..WebLoad::default() };
        for host in web.load() {
            load.requests += host.requests;
            load.overlaps += host.overlaps;
            let gap = host.gap_min.map(|gap| gap.mul_f64(speed));
            load.gap_min = load.gap_min.into_iter().chain(gap).min();
        }
        load
    }
}

impl Phase {
    /// Text for the last line.
    pub fn words(self) -> &'static str {
        match self {
            Phase::Running => "q ends the demo with a summary",
            Phase::Healing => "stopping: repeating polls that were lost in crashes …",
            Phase::Draining => "stopping: waiting for polls in flight …",
            Phase::Comparing => "stopping: comparing the database with the served entries …",
        }
    }
}
