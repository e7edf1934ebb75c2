//! Wire types for lists of sources.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NewSourceBody;
use crate::model::{Backlog, FailureKind, SourceId, SourceType};

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
    /// Only sources that fail, with this kind of their last failure.
    pub failure: Option<FailureKind>,
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

/// Label with its number of sources.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LabelView {
    /// Name of the label.
    pub label: String,
    /// Number of sources with the label.
    pub sources: u64,
}

/// Options of an import.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ImportQuery {
    /// Which entries older than the added sources are stored: `skip`, `keep` or `all`; absent uses the configured choice.
    pub backlog: Option<Backlog>,
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
