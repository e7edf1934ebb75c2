//! `scheduler.*`, `fetch.*`, `sinks.*`, `daemon.*`, `supervision.*` and `faults.*`.

use std::path::Path;
use std::time::Duration;

use super::super::effective::Effective;
use super::super::kind::KeyKind;
use super::super::problem::ConfigProblem;
use super::super::schema::SchemaKey;
use super::DAY_SECONDS;
use super::websub::websub;
use crate::actors::{FaultSettings, FetchSettings, PipelineSettings, SchedulerSettings};
use crate::sinks::SinkSettings;
use crate::supervision::Intensity;

pub(super) const KEYS: &[SchemaKey] = &[
    SchemaKey::count("scheduler.tick-seconds", 1, 3_600, "seconds between two ticks of the scheduler"),
    SchemaKey::count("fetch.concurrency", 1, 10_000, "polls in flight at most"),
    SchemaKey::count("fetch.threads", 0, 64, "number of fetch threads"),
    SchemaKey::new("sinks.directory", KeyKind::Path, "the directory for files with events"),
    SchemaKey::count("daemon.drain-seconds", 0, 3_600, "seconds that polls in flight may take at shutdown"),
    SchemaKey::count("supervision.restarts-max", 0, 1_000_000, "restarts within the window at most"),
    SchemaKey::count("supervision.within-seconds", 1, DAY_SECONDS, "the window, in seconds"),
    SchemaKey::count("supervision.delay-first-milliseconds", 0, 60_000, "milliseconds before the first restart"),
    SchemaKey::count("supervision.delay-max-milliseconds", 0, 3_600_000, "milliseconds before a restart at most"),
    SchemaKey::new("faults.enabled", KeyKind::Flag, "whether faults are injected"),
    SchemaKey::count("faults.seed", 0, u64::MAX, "seed of the injected faults"),
    SchemaKey::count("faults.limit", 0, u64::MAX, "number of faults at most"),
    SchemaKey::new("faults.rules", KeyKind::Faults, "rules of the injected faults"),
];

pub(in crate::config) fn pipeline(values: &Effective, problems: &mut Vec<ConfigProblem>) -> PipelineSettings {
    let milliseconds = |key| Duration::from_millis(values.count(key));
    PipelineSettings {
        scheduler: SchedulerSettings { tick: values.seconds("scheduler.tick-seconds"), ..SchedulerSettings::default() },
        fetch: FetchSettings {
            threads: Some(values.count_usize("fetch.threads")).filter(|threads| *threads > 0),
            concurrency: values.count_usize("fetch.concurrency"),
        },
        intensity: Intensity {
            restarts_max: values.count_u32("supervision.restarts-max"),
            within: values.seconds("supervision.within-seconds"),
            delay_first: milliseconds("supervision.delay-first-milliseconds"),
            delay_max: milliseconds("supervision.delay-max-milliseconds"),
            ..Intensity::default()
        },
        faults: FaultSettings {
            is_enabled: values.flag("faults.enabled"),
            seed: values.count("faults.seed"),
            limit: Some(values.count("faults.limit")).filter(|limit| *limit > 0),
            faults: values.faults("faults.rules").to_vec(),
        },
        websub: websub(values, problems),
        sinks: SinkSettings {
            directory: values.path("sinks.directory").map(Path::to_owned),
            authorities: values.path("http.tls-ca-file").map(Path::to_owned),
        },
    }
}

/// Grace period for polls in flight at shutdown.
pub(in crate::config) fn drain(values: &Effective) -> Duration {
    values.seconds("daemon.drain-seconds")
}
