//! Wire types for lists of sources.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NewSourceBody, SourceView};
use crate::model::{Backlog, FailureKind, SourceId, SourceType, Timestamp};
use crate::service::SilentSources;

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
    /// Order: id (default), url, title, state, last_polled, failures or next_poll; with `-` in front, descending. All but
    /// id sort the first 10000 matching sources.
    pub sort: Option<String>,
    /// `next_cursor` of the previous page.
    pub cursor: Option<String>,
    /// Maximum number of items, 1 to 1000 (default 100).
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<usize>,
}

/// Page of sources.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SourcePage {
    /// Sources of this page.
    pub items: Vec<SourceView>,
    /// `cursor` of the next page; null on the last page. A short page can have a next one.
    pub next_cursor: Option<String>,
    /// Whether `sort` left out sources because too many match.
    #[serde(default)]
    pub is_incomplete: bool,
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

/// Sources that are polled without failures and have published nothing new for `source.silent-days`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SilentSourcesView {
    /// Number of all of them.
    pub total: u64,
    /// The longest silent first, at most 20.
    pub items: Vec<SilentSourceView>,
}

/// A source that is polled without failures and publishes nothing new.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SilentSourceView {
    /// The source.
    pub source: SourceView,
    /// When something new last came, or when the source was added.
    pub silent_since: Timestamp,
}

impl SilentSourcesView {
    pub fn new(silent: SilentSources, sees_secrets: bool) -> SilentSourcesView {
        let items = silent.sources.into_iter().map(|silent| SilentSourceView {
            source: SourceView::new(silent.details, sees_secrets),
            silent_since: silent.silent_since,
        });
        SilentSourcesView { total: silent.total, items: items.collect() }
    }
}
