//! Wire types for actions on sources and hosts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::Timestamp;

/// Reason for a rest.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RestBody {
    /// Kind of failure with a cooldown in `source.rest` of the configuration, such as `not_found`: the rest lasts for
    /// that cooldown. Any other text: it lasts until `feed-enable`.
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
