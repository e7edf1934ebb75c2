//! Actions on sources and hosts as they are asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::Timestamp;

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
