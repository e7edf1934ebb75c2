//! What is sent and taken, as types: for the handlers, for the OpenAPI document, and for clients in Rust.

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
    /// Ask for the next ones with this as `cursor`; null if there are none. A page can be short and still have a next one.
    pub next_cursor: Option<String>,
}

/// Position and size of a page.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PageQuery {
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
    /// At most so many, 1 to 1000; 100 unless said otherwise.
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<usize>,
}
