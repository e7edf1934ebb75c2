//! The settings of the pipeline.

use std::time::Duration;

use super::FaultSettings;
use crate::supervision::Intensity;

/// Everything an operator can decide about the pipeline that is no rule.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PipelineSettings {
    /// The heartbeat.
    pub scheduler: SchedulerSettings,
    /// The pool.
    pub fetch: FetchSettings,
    /// How many crashes are borne, and how long a crashed actor waits.
    pub intensity: Intensity,
    /// What is made to go wrong on purpose.
    pub faults: FaultSettings,
}

/// The heartbeat that finds due sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerSettings {
    /// The time between two ticks. A source that is due between them does not wait for the next one.
    pub tick: Duration,
    /// The least time between two looks at what is due, so that looking costs little however much is due.
    pub look_gap: Duration,
}

/// How many requests are made at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchSettings {
    /// Threads that fetch; as many as the machine has cores without one.
    pub threads: Option<usize>,
    /// Polls under way at once, over all threads, until they are settled: what a slow store cannot take is not asked for.
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
    /// How many threads that are on this machine.
    pub(super) fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(cores).clamp(1, 64)
    }
}
