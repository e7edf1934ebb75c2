//! Sources and hosts as they are sent and taken.

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
    /// Grows with every write; also the ETag.
    pub version: i64,
    /// Where it is. Without its password for those who may only look.
    pub url: String,
    /// How the source is read.
    #[serde(rename = "type")]
    pub source_type: SourceType,
    /// Title given by a person.
    pub title: Option<String>,
    /// The podcast whose owner's keys are used.
    pub podcast_id: Option<PodcastId>,
    /// Interval of this source in minutes; null uses the configured one.
    pub poll_interval_minutes: Option<u32>,
    /// Its own pause after the previous request to its host.
    pub poll_delay_seconds: Option<u32>,
    /// Its own number of permanent failures that disable it.
    pub max_failures: Option<u32>,
    /// Its own ceiling on backoff.
    pub max_backoff_hours: Option<u32>,
    /// Labels of the source.
    pub labels: Vec<String>,
    /// Whether a login or headers of its own are sent with its requests.
    pub has_access: bool,
    /// The host that it is at.
    pub host: Option<String>,
    /// Where it stands: active, backing_off, resting or disabled.
    pub state: String,
    /// Whether it is enabled and not resting.
    pub feed_active: bool,
    /// False once a person or failures disabled it; `PATCH` and `enable` enable it again.
    pub enabled: bool,
    /// Why it is not enabled.
    pub disabled_reason: Option<String>,
    /// When the rest began; null while not resting.
    pub feed_disabled_at: Option<Timestamp>,
    /// Why it rests: a kind of failure, or a person's words.
    pub feed_disable_reason: Option<String>,
    /// Who put it to rest: failures, or a person or program by `feed-disable`.
    #[schemars(extend("enum" = ["failures", "person", null]))]
    pub feed_disabled_by: Option<String>,
    /// End of the cooldown, after which it is polled again; null if it does not rest or only a person ends the rest.
    pub feed_disabled_until: Option<Timestamp>,
    /// When the source was added.
    pub created_at: Timestamp,
    /// When it was last written.
    pub updated_at: Timestamp,
    /// Time of the first poll.
    pub first_polled_at: Option<Timestamp>,
    /// The last poll; none before the first.
    pub last_polled: Option<Timestamp>,
    /// When a person last asked for a poll.
    pub poll_requested_at: Option<Timestamp>,
    /// The last answer that was of use.
    pub last_success_at: Option<Timestamp>,
    /// The last answer with entries.
    pub last_read_at: Option<Timestamp>,
    /// No request before this moment, says the publisher.
    pub retry_after: Option<Timestamp>,
    /// The last answer stays fresh until then.
    pub fresh_until: Option<Timestamp>,
    /// Failures since the last success.
    pub consecutive_failures: u32,
    /// Permanent ones in a row.
    pub consecutive_permanent_failures: u32,
    /// Whether the last failure may pass by itself.
    pub last_failure_type: Option<FailureClass>,
    /// What kind of failure the last one was.
    pub last_error_type: Option<FailureKind>,
    /// The last failure in words.
    pub last_error: Option<String>,
    /// Where permanent redirects lead, as long as that is not believed yet.
    pub moved_to: Option<String>,
}

/// Filter for sources.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SourceQuery {
    /// State: active, backing_off, resting or disabled.
    #[schemars(extend("enum" = ["active", "backing_off", "resting", "disabled"]))]
    pub state: Option<String>,
    /// Only sources on this host.
    pub host: Option<String>,
    /// Only sources of this type.
    #[serde(rename = "type")]
    pub source_type: Option<SourceType>,
    /// Whether they are enabled and not resting.
    pub feed_active: Option<bool>,
    /// Only sources with this label.
    pub label: Option<String>,
    /// With this text in the URL or title, whatever the case.
    pub text: Option<String>,
    /// With this URL, in any form that means the same source.
    pub url: Option<String>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
    /// At most so many, 1 to 1000; 100 unless said otherwise.
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<usize>,
}

/// A source to be added.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSourceBody {
    /// Where it is: http or https; for X accounts also a bare name.
    pub url: String,
    /// How it is read; without it, as an X account if it is at x.com, else as a feed (rss).
    #[serde(rename = "type", default)]
    pub source_type: Option<SourceType>,
    /// Title given by a person.
    #[serde(default)]
    pub title: Option<String>,
    /// The podcast whose owner's keys are used.
    #[serde(default)]
    pub podcast_id: Option<PodcastId>,
    /// Its own interval, 1 to 525600.
    #[serde(default)]
    pub poll_interval_minutes: Option<u32>,
    /// Its own pause after the previous request to its host, 0 to 86400.
    #[serde(default)]
    pub poll_delay_seconds: Option<u32>,
    /// Its own number of permanent failures that disable it, 1 to 1000000.
    #[serde(default)]
    pub max_failures: Option<u32>,
    /// Its own ceiling on backoff, 1 to 8760.
    #[serde(default)]
    pub max_backoff_hours: Option<u32>,
    /// Its labels, the outermost folder first.
    #[serde(default)]
    pub labels: Vec<String>,
    /// What it needs to be let in.
    #[serde(default)]
    pub access: Option<AccessBody>,
    /// Poll it at once and keep what is found; if that fails, do not add it.
    #[serde(default)]
    pub first_poll: bool,
    /// Add it although its first poll fails.
    #[serde(default)]
    pub anyway: bool,
}

/// A source that was added.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CreatedSource {
    /// Source that was added.
    pub source: SourceView,
    /// What became of its first poll, if one was asked for.
    pub first_poll: Option<PollAnswer>,
    /// What it needs to be read and does not have, such as an X key, and how to give it.
    pub lacks: Option<String>,
}

/// What is to be changed; what is left out stays, null takes a setting away.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SourceChanges {
    /// Another URL: what was learned about the old one is forgotten.
    pub url: Option<String>,
    /// New type; what was learned about the source starts afresh.
    #[serde(rename = "type")]
    pub source_type: Option<SourceType>,
    /// New title; null removes it.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub title: Option<Option<String>>,
    /// The podcast whose owner's keys are used.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<PodcastId>")]
    pub podcast_id: Option<Option<PodcastId>>,
    /// New interval in minutes; null uses the configured one.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u32>")]
    pub poll_interval_minutes: Option<Option<u32>>,
    /// Its own pause after the previous request to its host.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u32>")]
    pub poll_delay_seconds: Option<Option<u32>>,
    /// Its own number of permanent failures that disable it.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u32>")]
    pub max_failures: Option<Option<u32>>,
    /// Its own ceiling on backoff.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u32>")]
    pub max_backoff_hours: Option<Option<u32>>,
    /// These labels and no others.
    pub labels: Option<Vec<String>>,
    /// From false to true: clears the failures, the reason of the disabling and any rest, and polls it at once. From
    /// true to false: disables it without a reason (`POST /sources/{id}/disable` takes one). Otherwise changes nothing.
    pub enabled: Option<bool>,
}

/// Sources to be added together.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BulkBody {
    /// Sources to add, at most 1000.
    #[schemars(length(max = 1000))]
    pub sources: Vec<NewSourceBody>,
}

/// What became of sources that were to be added together.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct BulkReport {
    /// Number of sources added.
    pub added: usize,
    /// How many were there already.
    pub duplicates: usize,
    /// How many make no sense.
    pub rejected: usize,
    /// Each, in the order in which they were sent.
    pub results: Vec<BulkResult>,
}

/// What became of one of them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BulkResult {
    /// Outcome: added, duplicate or rejected.
    pub outcome: String,
    /// Its number, if it is there.
    pub id: Option<SourceId>,
    /// What is wrong with it.
    pub error: Option<String>,
}

/// Why a source is to rest.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RestBody {
    /// A kind of failure that has a cooldown (not_found, gone, forbidden, unauthorized, upstream_failure, network,
    /// parse_error) rests for that cooldown; any other text until `feed-enable`.
    #[schemars(length(min = 1, max = 500), regex(pattern = r"\S"))]
    pub reason: String,
}

/// Why a source is to be disabled.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DisableBody {
    /// Reason in words.
    #[schemars(length(min = 1, max = 500), regex(pattern = r"\S"))]
    pub reason: Option<String>,
}

/// How a source is to be polled.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PollQuery {
    /// Wait so many seconds for the result, at most 50.
    #[schemars(range(max = 50))]
    pub wait: Option<u64>,
    /// Set aside what the publisher and the host asked for.
    pub force: Option<bool>,
}

/// How long a host is to be left alone.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HoldBody {
    /// Until this moment, a week ahead at the most unless source.retry-after-ceiling-days says otherwise.
    #[serde(default)]
    pub until: Option<Timestamp>,
    /// For so many seconds, instead of a moment; as many as make a week at the most, likewise.
    #[serde(default)]
    pub seconds: Option<u64>,
    /// Reason in words.
    #[schemars(length(min = 1, max = 500), regex(pattern = r"\S"))]
    pub reason: String,
}

/// How many sources of a host were enabled.
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
    /// How many sources have it.
    pub sources: u64,
}

/// What became of a list of sources.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ImportReport {
    /// Number of sources added.
    pub added: usize,
    /// How many were there already, or stand in the list twice.
    pub duplicates: usize,
    /// How many parts of the list cannot be used.
    pub rejected: usize,
    /// What is wrong with them, line by line; at most 1000 of them.
    pub problems: Vec<String>,
}
