//! Wire types, for the handlers, the OpenAPI document and clients in Rust.

mod access;
mod daemon;
mod people;
mod posts;
mod sources;
mod webhooks;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::actors::control::{
    Explanation, HostView, PollAnswer, PollOutcome, PollRecord, ThreadLine, TreeNode, TreeView,
};
pub use access::{AccessBody, AccessView, LoginBody};
pub use daemon::{
    ConfigurationRow, FaultsChange, FaultsView, HealthView, LogLevel, Reloaded, SchedulerView, StatisticsReport,
    StatusView, TreeQuery,
};
pub use people::{
    KeyBody, KeyView, PodcastBody, PodcastQuery, PodcastUpdate, PodcastView, UserBody, UserQuery, UserView,
};
pub use posts::{ArticleBody, ArticleView, PostQuery, PostView, StreamQuery};
pub use sources::{
    BulkBody, BulkReport, BulkResult, CreatedSource, DisableBody, EnabledSources, HoldBody, ImportReport, LabelView,
    NewSourceBody, PollQuery, RestBody, SourceChanges, SourceQuery, SourceView,
};
pub use webhooks::{WebhookBody, WebhookChanges, WebhookTest, WebhookView};

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
