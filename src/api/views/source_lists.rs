//! Lists of sources as they are asked for, sent and taken.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NewSourceBody;
use crate::model::{SourceId, SourceType};

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
