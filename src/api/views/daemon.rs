//! Wire types for the daemon.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{QuarantinedRow, SourceCounts, Timestamp};
use crate::service::Overview;

/// Status of the daemon.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StatusView {
    /// Version of the program.
    pub version: String,
    /// Start time of the API.
    pub started_at: Timestamp,
    /// Current time of the daemon's clock.
    pub now: Timestamp,
    /// Whether the daemon works, as `GET /readyz` says.
    #[serde(default)]
    pub is_ready: bool,
    /// Why the daemon does not work; empty if it does.
    #[serde(default)]
    pub not_ready_because: Vec<String>,
    /// Conditions that need a person.
    #[serde(default)]
    pub problems: Vec<StatusProblem>,
    /// Counts of the whole store; null while they cannot be read. Kept for up to a minute in a large store.
    #[serde(default)]
    pub store_counts: Option<StoreCountsView>,
    /// Database engine: sqlite or postgres.
    pub database_engine: String,
    /// Version of the database schema.
    pub schema_version: i64,
    /// Why the database is unavailable; polling pauses meanwhile. Null if it is available.
    pub store_trouble: Option<String>,
    /// Time used to compute ages while the clock is not trusted because it is far ahead; null if the clock is trusted.
    #[serde(default)]
    pub ages_judged_at: Option<Timestamp>,
    /// What suspends requests to all hosts: a pause, an outage of our own network, an unavailable database.
    #[serde(default)]
    pub held_up_by: Vec<String>,
    /// Why not all sources are loaded yet; null once they are.
    #[serde(default)]
    pub not_loaded_because: Option<String>,
    /// Number of sources that are skipped because their rows in the database cannot be read.
    #[serde(default)]
    pub quarantined_sources: usize,
    /// Number of such rows in all tables; `GET /quarantine` lists them.
    #[serde(default)]
    pub quarantined_rows: usize,
    /// Number of sources whose last poll waits because another session of the database locks their row.
    #[serde(default)]
    pub locked_sources: usize,
    /// Memory of the bodies in flight, in bytes; at most `http.memory-max-megabytes`.
    #[serde(default)]
    pub http_memory_bytes: u64,
    /// Status of the scheduler; null if it does not answer.
    pub scheduler: Option<SchedulerView>,
    /// Counters since the start.
    pub statistics: StatisticsReport,
}

/// Condition that needs a person.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StatusProblem {
    /// Name of the condition: paused, disabled_sources, unauthorized_sources, quarantined_rows, locked_sources,
    /// failing_webhooks, disabled_webhooks, held_hosts, open_breakers, untrusted_clock or low_disk_space.
    pub kind: String,
    /// Number of things that are concerned.
    pub count: u64,
    /// The condition as a sentence.
    pub detail: String,
}

/// Counts of the whole store.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StoreCountsView {
    /// Number of sources.
    pub sources: u64,
    /// Number of sources by state: active, backing_off, resting, disabled.
    pub sources_by_state: BTreeMap<String, u64>,
    /// Number of enabled sources that fail, by the kind of their last failure.
    pub failing_by_kind: BTreeMap<String, u64>,
    /// Number of posts.
    pub posts: u64,
    /// Number of posts stored in the last 24 hours.
    pub posts_last_day: u64,
    /// Number of sources that are polled without failures and have published nothing new for `source.silent-days`.
    #[serde(default)]
    pub silent_sources: u64,
    /// Space left for the file of the database in bytes; null if the database is on a server.
    #[serde(default)]
    pub free_disk_bytes: Option<u64>,
}

impl From<&Overview> for StoreCountsView {
    fn from(overview: &Overview) -> StoreCountsView {
        let SourceCounts { total, disabled, resting, backing_off } = overview.sources;
        let active = total.saturating_sub(disabled + resting + backing_off);
        let states = [("active", active), ("backing_off", backing_off), ("resting", resting), ("disabled", disabled)];
        StoreCountsView {
            sources: total,
            sources_by_state: states.into_iter().map(|(state, count)| (state.to_owned(), count)).collect(),
            failing_by_kind: overview.failing.iter().map(|(kind, count)| (kind.to_string(), *count)).collect(),
            posts: overview.posts,
            posts_last_day: overview.posts_last_day,
            silent_sources: overview.silent.total,
            free_disk_bytes: overview.free_disk_bytes,
        }
    }
}

/// Rows of the database that cannot be read and are skipped.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct QuarantineView {
    /// Number of rows.
    pub total: usize,
    /// The first rows, at most 1000.
    pub rows: Vec<QuarantinedRowView>,
}

/// A row of the database that cannot be read.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct QuarantinedRowView {
    /// Table of the row: sources, hosts, webhooks or posts.
    pub table: String,
    /// Id of the source, webhook or post, name of the host.
    pub key: String,
    /// URL in the row, if it can be read.
    pub url: Option<String>,
    /// Column that cannot be read.
    pub column: String,
    /// Value of that column, shortened.
    pub value: String,
    /// Why it cannot be read.
    pub reason: String,
}

impl From<QuarantinedRow> for QuarantinedRowView {
    fn from(row: QuarantinedRow) -> QuarantinedRowView {
        let QuarantinedRow { table, key, url, column, value, reason } = row;
        QuarantinedRowView { table: table.to_owned(), key: key.to_string(), url, column, value, reason }
    }
}

/// Where the API is described.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct IndexView {
    /// Name of the program.
    pub name: String,
    /// Version of the program.
    pub version: String,
    /// Path that all paths of the API begin with.
    pub api: String,
    /// Path of the OpenAPI document.
    pub openapi: String,
    /// Path of the metrics.
    pub metrics: String,
    /// Path of the health check.
    pub health: String,
}

/// Result of a health check.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HealthView {
    /// `ok` or `not ready`.
    pub status: String,
    /// Reasons for `not ready`.
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
    /// Whether all sources have been loaded since the start.
    pub is_loaded: bool,
    /// Whether an operator paused polling.
    pub is_paused: bool,
    /// When the pause began; null while not paused.
    pub paused_since: Option<Timestamp>,
    /// Number of sources with a scheduled poll.
    pub scheduled: usize,
    /// Number of due sources that wait for their host or for the end of a pause.
    pub waiting: usize,
    /// Number of polls in flight.
    pub under_way: usize,
    /// Due time of the source that has waited longest.
    pub oldest_due_at: Option<Timestamp>,
    /// Time of the last tick.
    pub last_tick_at: Option<Timestamp>,
    /// After a pause or resume: nodes of the fleet that have not followed it yet. They do with their next renewal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes_pending: Vec<String>,
}

/// Counters since the start; they only grow.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StatisticsReport {
    /// Number of settled polls.
    pub polls: u64,
    /// Number of polls with a new document.
    pub read: u64,
    /// Number of polls answered with 304 Not Modified.
    pub unchanged: u64,
    /// Number of failed polls by kind of failure.
    pub failed: BTreeMap<String, u64>,
    /// Number of times a due source was postponed.
    pub deferred: u64,
    /// Number of new posts.
    pub new_posts: u64,
    /// Body bytes received.
    pub wire_bytes: u64,
    /// Number of polls whose source changed before they were stored.
    pub superseded: u64,
    /// Number of times a source became due.
    pub due: u64,
    /// Number of actor crashes.
    pub crashes: u64,
    /// Number of actor restarts.
    pub restarts: u64,
    /// Number of injected faults.
    pub faults: u64,
    /// Number of hosts with a running actor.
    pub hosts: usize,
    /// Number of polls in flight.
    pub under_way: usize,
    /// Number of lost log records.
    pub log_records_dropped: u64,
}

/// Size of the tree.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TreeQuery {
    /// Maximum number of hosts, 0 to 1000 (default 50).
    #[schemars(range(max = 1000))]
    pub hosts: Option<usize>,
    /// Whether the last crashes have their backtraces (default false).
    pub backtraces: bool,
}

/// One key of the configuration.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ConfigurationRow {
    /// Name of the key.
    pub key: String,
    /// Effective value; secrets are masked.
    pub value: serde_json::Value,
    /// Origin of the value.
    pub origin: String,
}

/// Result of a reload.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Reloaded {
    /// Keys whose new values apply now.
    pub changed: Vec<String>,
    /// Keys whose new values apply after a restart.
    pub needs_restart: Vec<String>,
}

/// Minimum level of log records.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogLevel {
    /// Level: critical, error, warn, info, debug or trace.
    #[schemars(extend("enum" = ["critical", "error", "warn", "info", "debug", "trace"]))]
    pub level: String,
}

/// Injected faults.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FaultsView {
    /// Whether faults are injected.
    pub is_enabled: bool,
    /// Rules, each ACTOR/MESSAGE=ACTION@PROBABILITY.
    pub rules: Vec<String>,
    /// Number of faults injected so far.
    pub struck: u64,
}

/// Change of the injected faults.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultsChange {
    /// Whether to inject faults.
    pub is_enabled: bool,
    /// Rules to use from now on; unchanged if absent.
    #[serde(default)]
    pub rules: Option<Vec<String>>,
}
