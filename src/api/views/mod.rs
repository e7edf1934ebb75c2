//! What is sent and taken, as types: for the handlers, for the OpenAPI document, and for clients in Rust.

mod access;
mod actions;
mod daemon;
mod explanation;
mod people;
mod polls;
mod posts;
mod source_lists;
mod sources;
mod tree;
mod webhooks;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::model::PollOutcome;
pub use access::{AccessBody, AccessView, LoginBody};
pub use actions::{DisableBody, EnabledSources, HoldBody, PollQuery, RestBody};
pub use daemon::{
    ConfigurationRow, FaultsChange, FaultsView, HealthView, LogLevel, Reloaded, SchedulerView, StatisticsReport,
    StatusView, TreeQuery,
};
pub use explanation::{DelayView, Explanation, HostView, ScheduledView, TermView};
pub use people::{
    KeyBody, KeyView, PodcastBody, PodcastQuery, PodcastUpdate, PodcastView, UserBody, UserQuery, UserView,
};
pub use polls::{PollAnswer, PollRecord};
pub use posts::{ArticleBody, ArticleView, PostQuery, PostView, StreamQuery};
pub use source_lists::{BulkBody, BulkReport, BulkResult, ImportReport, LabelView, SourceQuery};
pub use sources::{CreatedSource, NewSourceBody, SourceChanges, SourceView};
pub use tree::{CrashView, ThreadLine, TreeNode, TreeView};
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
