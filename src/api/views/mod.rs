//! Wire types, for the handlers, the OpenAPI document and clients in Rust.

mod access;
mod actions;
mod audit;
mod backfill;
mod daemon;
mod dashboard;
mod events;
mod explanation;
mod fleet;
mod host_requests;
mod jobs;
mod people;
mod polls;
mod posts;
mod robots;
mod source_lists;
mod sources;
mod stream;
mod tree;
mod webhooks;
mod websub;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use access::{AccessBody, AccessView, LoginBody};
pub use actions::{DisableBody, EnabledSources, HoldBody, PollQuery, RestBody};
pub use audit::{AuditQuery, AuditView};
pub use backfill::{BackfillBody, BackfillEnded, BackfillView};
pub use daemon::{
    ConfigurationRow, FaultsChange, FaultsView, HealthView, IndexView, LogLevel, QuarantineView, QuarantinedRowView,
    Reloaded, SchedulerView, StatisticsReport, StatusProblem, StatusView, StoreCountsView, TreeQuery,
};
pub use dashboard::{DashboardBody, DashboardLink};
pub use events::{EventList, EventQuery, EventStreamQuery, MissedEvents};
pub use explanation::{DelayView, Explanation, HostView, ScheduledView, TermView};
pub use fleet::{FleetReport, FleetTotals, HandOverView, NodeView};
pub use host_requests::{HostQueueView, HostRequestView, HostRequestsQuery, HostsQuery};
pub use jobs::{JobBody, JobError, JobView};
pub use people::{
    KeyBody, KeyView, PodcastBody, PodcastQuery, PodcastUpdate, PodcastView, UserBody, UserQuery, UserView,
};
pub use polls::{PollAnswer, PollHourView, PollHoursQuery, PollRecord};
pub use posts::{
    ArticleBody, ArticleView, PostCount, PostCountQuery, PostQuery, PostRevisionView, PostView, StreamQuery,
};
pub use robots::RobotsView;
pub use source_lists::{
    BulkBody, BulkReport, BulkResult, ImportQuery, ImportReport, LabelView, SilentSourceView, SilentSourcesView,
    SourcePage, SourceQuery,
};
pub use sources::{CreatedSource, LabelRename, NewSourceBody, SourceChanges, SourceView};
pub use stream::{STREAM_END, StreamEnd};
pub use tree::{CrashView, ThreadLine, TreeNode, TreeView};
pub use webhooks::{RotationBody, WebhookBody, WebhookChanges, WebhookTest, WebhookView};
pub use websub::SubscriptionView;

/// Page of a list.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Page<T> {
    /// Items of this page.
    pub items: Vec<T>,
    /// `cursor` of the next page; null on the last page. A short page can have a next one.
    pub next_cursor: Option<String>,
}

/// Position and size of a page.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PageQuery {
    /// `next_cursor` of the previous page.
    pub cursor: Option<String>,
    /// Maximum number of items, 1 to 1000 (default 100).
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<usize>,
}
