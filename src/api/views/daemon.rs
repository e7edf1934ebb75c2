//! The daemon itself as it is shown.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::Timestamp;

/// Status of the daemon.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StatusView {
    /// Version of the program.
    pub version: String,
    /// When the API began to serve.
    pub started_at: Timestamp,
    /// What time it is for the daemon.
    pub now: Timestamp,
    /// Database engine: sqlite or postgres.
    pub database_engine: String,
    /// The version of the schema.
    pub schema_version: i64,
    /// What keeps the store from being used; polling pauses meanwhile.
    pub store_trouble: Option<String>,
    /// What suspends requests to all hosts: a pause, an outage of our own network, a store that is away.
    #[serde(default)]
    pub held_up_by: Vec<String>,
    /// Status of the scheduler; null if it does not answer.
    pub scheduler: Option<SchedulerView>,
    /// What was done so far.
    pub statistics: StatisticsReport,
}

/// Whether the daemon is well.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HealthView {
    /// `ok` or `not ready`.
    pub status: String,
    /// Everything that keeps it from its work.
    pub reasons: Vec<String>,
}

impl HealthView {
    pub(in crate::api) fn of(reasons: Vec<String>) -> HealthView {
        let status = if reasons.is_empty() { "ok" } else { "not ready" };
        HealthView { status: status.to_owned(), reasons }
    }
}

/// Status of the scheduler.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SchedulerView {
    /// Whether all sources have been read since its start.
    pub is_loaded: bool,
    /// Whether a person paused it.
    pub is_paused: bool,
    /// When the pause began; null while not paused.
    pub paused_since: Option<Timestamp>,
    /// Sources that have a time to be polled at.
    pub scheduled: usize,
    /// Sources that are due and wait: for their host, or for the end of a pause.
    pub waiting: usize,
    /// Sources that are under way.
    pub under_way: usize,
    /// When the one that waits longest was due.
    pub oldest_due_at: Option<Timestamp>,
    /// Time of the last tick.
    pub last_tick_at: Option<Timestamp>,
}

/// Counters since the start; they only grow.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StatisticsReport {
    /// Number of settled polls.
    pub polls: u64,
    /// Polls that were answered with entries.
    pub read: u64,
    /// Polls that were answered with "nothing new".
    pub unchanged: u64,
    /// Polls that failed, by kind.
    pub failed: BTreeMap<String, u64>,
    /// Sources that were due and could not be asked yet.
    pub deferred: u64,
    /// Posts that were not known before.
    pub new_posts: u64,
    /// Bytes of body that crossed the wire.
    pub wire_bytes: u64,
    /// Polls whose source had changed by the time they ended.
    pub superseded: u64,
    /// Number of times a source became due.
    pub due: u64,
    /// Number of actor crashes.
    pub crashes: u64,
    /// Actors that were started again.
    pub restarts: u64,
    /// Number of injected faults.
    pub faults: u64,
    /// Hosts that somebody has to do with now.
    pub hosts: usize,
    /// Number of polls in flight.
    pub under_way: usize,
    /// Log records that were never written.
    pub log_records_dropped: u64,
}

/// How much of the tree.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TreeQuery {
    /// At most so many hosts, up to 1000; 50 unless said otherwise.
    #[schemars(range(max = 1000))]
    pub hosts: Option<usize>,
}

/// One key of the configuration.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ConfigurationRow {
    /// Name of the key.
    pub key: String,
    /// The value in force, or a mask.
    pub value: serde_json::Value,
    /// Where it came from, in words.
    pub origin: String,
}

/// What a new reading of the configuration did.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Reloaded {
    /// Keys whose new values hold from now on.
    pub changed: Vec<String>,
    /// Keys whose new values hold after a restart.
    pub needs_restart: Vec<String>,
}

/// The least severe level that is written.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogLevel {
    /// critical, error, warn, info, debug or trace.
    #[schemars(extend("enum" = ["critical", "error", "warn", "info", "debug", "trace"]))]
    pub level: String,
}

/// What goes wrong on purpose.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FaultsView {
    /// Whether faults are injected.
    pub is_enabled: bool,
    /// Rules, each ACTOR/MESSAGE=ACTION@PROBABILITY.
    pub rules: Vec<String>,
    /// Number of faults injected so far.
    pub struck: u64,
}

/// What is to go wrong on purpose.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultsChange {
    /// Whether to inject faults.
    pub is_enabled: bool,
    /// Rules to use from now on; unchanged if absent.
    #[serde(default)]
    pub rules: Option<Vec<String>>,
}
