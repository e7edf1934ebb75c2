//! Wire types for jobs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SourceQuery;
use crate::model::{SourceId, Timestamp};
use crate::service::{JobAction, SourceJob};

/// Action on many sources; give either `ids` or `matching`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobBody {
    /// Action: poll, enable, disable, rest, wake, add_label, remove_label or remove.
    #[schemars(extend("enum" =
        ["poll", "enable", "disable", "rest", "wake", "add_label", "remove_label", "remove"]))]
    pub action: String,
    /// Reason, for disable and rest.
    #[serde(default)]
    pub reason: Option<String>,
    /// Label, for add_label and remove_label.
    #[serde(default)]
    pub label: Option<String>,
    /// Sources, at most 10000.
    #[schemars(length(max = 10000))]
    #[serde(default)]
    pub ids: Option<Vec<i64>>,
    /// All sources that match this filter; `url`, `sort`, `cursor` and `limit` are not allowed in it.
    #[serde(default)]
    pub matching: Option<SourceQuery>,
}

/// Job with its progress. A restart of the daemon ends and forgets all jobs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct JobView {
    /// Id of the job.
    pub id: u64,
    /// Action on each source.
    pub action: String,
    /// Reason or label of the action.
    pub detail: Option<String>,
    /// State: `collecting` its sources, `ready` to be started, `running`, `done`, `cancelled` or `failed`.
    #[schemars(extend("enum" = ["collecting", "ready", "running", "done", "cancelled", "failed"]))]
    pub state: String,
    /// Caller who added the job.
    pub who: String,
    /// When the job was added.
    pub created_at: Timestamp,
    /// Number of sources that were looked at while collecting.
    pub examined: usize,
    /// Number of sources of the job.
    pub sources: usize,
    /// The first of these sources.
    pub first_sources: Vec<SourceId>,
    /// Whether more sources match than a job may have.
    pub is_cut: bool,
    /// Number of sources that are dealt with, failures included.
    pub done: usize,
    /// Number of sources for which the action failed.
    pub failed: usize,
    /// The first failures.
    pub errors: Vec<JobError>,
}

/// Failure of a job.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct JobError {
    /// Source; null if the job itself failed.
    pub source_id: Option<SourceId>,
    /// What went wrong.
    pub error: String,
}

/// Sources that a view of a job names.
const FIRST_SOURCES: usize = 10;

impl From<SourceJob> for JobView {
    fn from(job: SourceJob) -> JobView {
        let (action, detail) = match job.action {
            JobAction::Poll => ("poll", None),
            JobAction::Enable => ("enable", None),
            JobAction::Disable { reason } => ("disable", reason),
            JobAction::Rest { reason } => ("rest", Some(reason)),
            JobAction::Wake => ("wake", None),
            JobAction::AddLabel(label) => ("add_label", Some(label)),
            JobAction::RemoveLabel(label) => ("remove_label", Some(label)),
            JobAction::Remove => ("remove", None),
        };
        JobView {
            id: job.id,
            action: action.to_owned(),
            detail,
            state: job.state.name().to_owned(),
            who: job.who,
            created_at: job.created_at,
            examined: job.examined,
            sources: job.sources.len(),
            first_sources: job.sources.iter().take(FIRST_SOURCES).copied().collect(),
            is_cut: job.is_cut,
            done: job.done,
            failed: job.failed,
            errors: job.errors.into_iter().map(|(source_id, error)| JobError { source_id, error }).collect(),
        }
    }
}
