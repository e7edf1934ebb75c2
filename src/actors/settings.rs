//! The settings of the pipeline.

use std::net::SocketAddr;
use std::time::Duration;

use super::FaultSettings;
use crate::sinks::SinkSettings;
use crate::supervision::Intensity;

/// Settings of the pipeline, apart from the rules.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PipelineSettings {
    /// Times of the scheduler.
    pub scheduler: SchedulerSettings,
    /// Size of the fetch pool.
    pub fetch: FetchSettings,
    /// Limits on restarts, and the delays before them.
    pub intensity: Intensity,
    pub faults: FaultSettings,
    /// None if hubs cannot reach this program.
    pub websub: Option<WebSubSettings>,
    /// Where events go that are not sent to webhooks.
    pub sinks: SinkSettings,
}

/// Where hubs push to (WebSub).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebSubSettings {
    /// URL under which hubs reach the listener, without a slash at its end.
    pub public_url: String,
    /// Address of the listener for callbacks.
    pub listen: SocketAddr,
}

/// Times of the scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerSettings {
    /// Time between two ticks. A source that falls due between them does not wait for the next one.
    pub tick: Duration,
    /// Least time between two checks for due sources, which bounds their cost.
    pub look_gap: Duration,
}

/// A node of a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetSettings {
    /// By default the name of the machine.
    pub name: Option<String>,
    /// A node that has not renewed its lease for this long has ended.
    pub lease: Duration,
}

impl Default for FleetSettings {
    fn default() -> FleetSettings {
        FleetSettings { name: None, lease: Duration::from_secs(30) }
    }
}

/// Size of the fetch pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchSettings {
    /// Number of threads; by default one for each core.
    pub threads: Option<usize>,
    /// Polls in flight at once, over all threads, until they are settled: a slow store slows the requests down.
    pub concurrency: usize,
}

impl Default for SchedulerSettings {
    fn default() -> SchedulerSettings {
        SchedulerSettings { tick: Duration::from_secs(60), look_gap: Duration::from_millis(100) }
    }
}

impl Default for FetchSettings {
    fn default() -> FetchSettings {
        FetchSettings { threads: None, concurrency: 128 }
    }
}

impl FetchSettings {
    /// Number of threads on this machine.
    pub(super) fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(cores).clamp(1, 64)
    }
}
