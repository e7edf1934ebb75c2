//! Wire types for sources and hosts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::input::nullable;
use super::AccessBody;
use crate::actors::control::PollAnswer;
use crate::model::{FailureClass, FailureKind, PodcastId, SourceId, SourceType, Timestamp};

/// Source with its settings and current state.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SourceView {
    /// Id of the source.
    pub id: SourceId,
    /// Version of the source, incremented by every change; also its ETag.
    pub version: i64,
    /// URL; without its password for clients with the scope `read`.
    pub url: String,
    /// Type of the source: rss, website or twitter.
    #[serde(rename = "type")]
    pub source_type: SourceType,
    /// Title set by an operator.
    pub title: Option<String>,
    /// Podcast of the source; the keys of its owner are used.
    pub podcast_id: Option<PodcastId>,
    /// Interval of this source in minutes; null uses the configured one.
    pub poll_interval_minutes: Option<u32>,
    /// Pause after the previous request to its host in seconds; null uses the configured one.
    pub poll_delay_seconds: Option<u32>,
    /// Number of permanent failures that disables the source; null uses the configured one.
    pub max_failures: Option<u32>,
    /// Maximum backoff in hours; null uses the configured one.
    pub max_backoff_hours: Option<u32>,
    /// Labels of the source.
    pub labels: Vec<String>,
    /// Whether requests for the source carry a login or headers.
    pub has_access: bool,
    /// Host of the source.
    pub host: Option<String>,
    /// State: `active`, `backing_off`, `resting` or `disabled`.
    #[schemars(extend("enum" = ["active", "backing_off", "resting", "disabled"]))]
    pub state: String,
    /// Whether the source is enabled and not resting.
    pub feed_active: bool,
    /// False if an operator or failures disabled the source; `PATCH` and `enable` enable it again.
    pub enabled: bool,
    /// Reason for being disabled.
    pub disabled_reason: Option<String>,
    /// When the rest began; null while not resting.
    pub feed_disabled_at: Option<Timestamp>,
    /// Reason for the rest: a kind of failure, or the reason given to `feed-disable`.
    pub feed_disable_reason: Option<String>,
    /// Origin of the rest: `failures`, or `person` for `feed-disable`.
    #[schemars(extend("enum" = ["failures", "person", null]))]
    pub feed_disabled_by: Option<String>,
    /// End of the cooldown; null if the source does not rest, or rests until `feed-enable`.
    pub feed_disabled_until: Option<Timestamp>,
    /// When the source was added.
    pub created_at: Timestamp,
    /// When the source was last changed.
    pub updated_at: Timestamp,
    /// Time of the first poll.
    pub first_polled_at: Option<Timestamp>,
    /// Time of the last poll.
    pub last_polled: Option<Timestamp>,
    /// When a poll was last requested.
    pub poll_requested_at: Option<Timestamp>,
    /// Time of the last successful poll.
    pub last_success_at: Option<Timestamp>,
    /// Time of the last poll with a new document.
    pub last_read_at: Option<Timestamp>,
    /// No request before this time, from `Retry-After`.
    pub retry_after: Option<Timestamp>,
    /// End of the freshness of the last response (`Cache-Control`, `Expires`).
    pub fresh_until: Option<Timestamp>,
    /// Failures since the last success.
    pub consecutive_failures: u32,
    /// Consecutive permanent failures.
    pub consecutive_permanent_failures: u32,
    /// Class of the last failure: `transient` or `permanent`.
    pub last_failure_type: Option<FailureClass>,
    /// Kind of the last failure.
    pub last_error_type: Option<FailureKind>,
    /// Message of the last failure.
    pub last_error: Option<String>,
    /// Target of permanent redirects that has not become the source's URL yet.
    pub moved_to: Option<String>,
}

/// Filter for sources.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SourceQuery {
    /// Only sources in this state.
    #[schemars(extend("enum" = ["active", "backing_off", "resting", "disabled"]))]
    pub state: Option<String>,
    /// Only sources on this host.
    pub host: Option<String>,
    /// Only sources of this type.
    #[serde(rename = "type")]
    pub source_type: Option<SourceType>,
    /// Only sources that are (true) or are not (false) enabled and not resting.
    pub feed_active: Option<bool>,
    /// Only sources with this label.
    pub label: Option<String>,
    /// Only sources with this text in URL or title, ignoring case.
    pub text: Option<String>,
    /// Only sources with this URL, in any form.
    pub url: Option<String>,
    /// `next_cursor` of the previous page.
    pub cursor: Option<String>,
    /// Maximum number of items, 1 to 1000 (default 100).
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<usize>,
}

/// Source to add.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSourceBody {
    /// URL (http or https); for an X account also its name.
    pub url: String,
    /// Type; by default twitter for a URL at x.com, otherwise rss.
    #[serde(rename = "type", default)]
    pub source_type: Option<SourceType>,
    /// Title set by an operator.
    #[serde(default)]
    pub title: Option<String>,
    /// Podcast of the source; the keys of its owner are used.
    #[serde(default)]
    pub podcast_id: Option<PodcastId>,
    /// Interval between polls in minutes, 1 to 525600; null uses the configured one.
    #[serde(default)]
    pub poll_interval_minutes: Option<u32>,
    /// Pause after the previous request to its host in seconds, 0 to 86400; null uses the configured one.
    #[serde(default)]
    pub poll_delay_seconds: Option<u32>,
    /// Number of permanent failures that disables the source, 1 to 1000000; null uses the configured one.
    #[serde(default)]
    pub max_failures: Option<u32>,
    /// Maximum backoff in hours, 1 to 8760; null uses the configured one.
    #[serde(default)]
    pub max_backoff_hours: Option<u32>,
    /// Labels, outermost folder first.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Login and headers.
    #[serde(default)]
    pub access: Option<AccessBody>,
    /// Poll the source at once and store the result; do not add it if the poll fails.
    #[serde(default)]
    pub first_poll: bool,
    /// Add the source even if its first poll fails.
    #[serde(default)]
    pub anyway: bool,
}

/// Result of adding a source.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CreatedSource {
    /// Added source.
    pub source: SourceView,
    /// Result of the first poll, if one was requested.
    pub first_poll: Option<PollAnswer>,
    /// What is missing to poll the source, such as an X key, and how to provide it.
    pub lacks: Option<String>,
}

/// Changes of a source; absent fields stay unchanged, null removes a setting.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SourceChanges {
    /// New URL; failures, validators and watermark are reset.
    pub url: Option<String>,
    /// New type; failures, validators and watermark are reset.
    #[serde(rename = "type")]
    pub source_type: Option<SourceType>,
    /// New title; null removes it.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub title: Option<Option<String>>,
    /// Podcast of the source; the keys of its owner are used.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<PodcastId>")]
    pub podcast_id: Option<Option<PodcastId>>,
    /// New interval in minutes; null uses the configured one.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u32>")]
    pub poll_interval_minutes: Option<Option<u32>>,
    /// Pause after the previous request to its host in seconds; null uses the configured one.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u32>")]
    pub poll_delay_seconds: Option<Option<u32>>,
    /// Number of permanent failures that disables the source; null uses the configured one.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u32>")]
    pub max_failures: Option<Option<u32>>,
    /// Maximum backoff in hours; null uses the configured one.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u32>")]
    pub max_backoff_hours: Option<Option<u32>>,
    /// New labels, replacing all previous ones.
    pub labels: Option<Vec<String>>,
    /// From false to true: clears failures, disabled_reason and any rest, and makes the source due at once. From true to
    /// false: disables it without a reason (`POST /sources/{id}/disable` takes one). The current value changes nothing.
    pub enabled: Option<bool>,
}

/// Sources to add.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BulkBody {
    /// Sources to add, at most 1000.
    #[schemars(length(max = 1000))]
    pub sources: Vec<NewSourceBody>,
}

/// Result of adding many sources.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct BulkReport {
    /// Number of sources added.
    pub added: usize,
    /// Number of sources that existed already.
    pub duplicates: usize,
    /// Number of invalid sources.
    pub rejected: usize,
    /// Result for each source, in the order of the request.
    pub results: Vec<BulkResult>,
}

/// Result for one source.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BulkResult {
    /// Outcome: added, duplicate or rejected.
    pub outcome: String,
    /// Id of the source, if it exists.
    pub id: Option<SourceId>,
    /// Error of a rejected source.
    pub error: Option<String>,
}

/// Reason for a rest.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RestBody {
    /// Kind of failure with a cooldown (not_found, gone, forbidden, unauthorized, upstream_failure, network,
    /// parse_error): the rest lasts for that cooldown. Any other text: it lasts until `feed-enable`.
    #[schemars(length(min = 1, max = 500), regex(pattern = r"\S"))]
    pub reason: String,
}

/// Reason for disabling a source.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DisableBody {
    /// Reason, as text.
    #[schemars(length(min = 1, max = 500), regex(pattern = r"\S"))]
    pub reason: Option<String>,
}

/// Options of a poll.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PollQuery {
    /// Seconds to wait for the result, at most 50.
    #[schemars(range(max = 50))]
    pub wait: Option<u64>,
    /// Ignore Retry-After, holds and the pause of the host.
    pub force: Option<bool>,
}

/// Length of a hold; give either `until` or `seconds`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HoldBody {
    /// End of the hold, at most source.retry-after-ceiling-days (default 7) ahead.
    #[serde(default)]
    pub until: Option<Timestamp>,
    /// Length of the hold in seconds, with the same maximum.
    #[serde(default)]
    pub seconds: Option<u64>,
    /// Reason, as text.
    #[schemars(length(min = 1, max = 500), regex(pattern = r"\S"))]
    pub reason: String,
}

/// Result of enabling the sources of a host.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EnabledSources {
    /// Number of sources enabled.
    pub enabled: usize,
}

/// Label with its number of sources.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LabelView {
    /// Name of the label.
    pub label: String,
    /// Number of sources with the label.
    pub sources: u64,
}

/// Result of an import.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ImportReport {
    /// Number of sources added.
    pub added: usize,
    /// Number of sources that existed already or are in the list twice.
    pub duplicates: usize,
    /// Number of invalid entries.
    pub rejected: usize,
    /// Errors with line numbers, at most 1000.
    pub problems: Vec<String>,
}
