//! Backfills as they are requested and shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::EntryCounts;
use crate::service::{BackfillEnd, BackfillReport, BackfillRequest};

/// Options of a backfill.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BackfillBody {
    /// Maximum number of pages to read, the feed itself included (default 10).
    #[schemars(range(min = 1, max = 1000))]
    pub pages: Option<u32>,
    /// Request WordPress pages (`?paged=2` and so on) if the feed links to no older page.
    pub wordpress: bool,
    /// First page, instead of the feed itself: `next_url` of an earlier backfill.
    pub from: Option<String>,
}

/// Result of a backfill.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BackfillView {
    /// Pages that were read.
    pub pages: u32,
    /// Posts that were stored.
    pub new_posts: u64,
    /// What became of the entries of all pages.
    pub entries: EntryCounts,
    /// Why the backfill ended.
    pub ended: BackfillEnded,
    /// `ended` as a sentence.
    pub reason: String,
    /// First page that was not read.
    pub next_url: Option<String>,
}

/// Why a backfill ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BackfillEnded {
    /// The last page links to no older one.
    NoOlderPage,
    /// Maximum number of pages reached.
    PageLimit,
    /// The last page links to one that was read before.
    Repeated,
    /// Maximum duration reached; another backfill can continue at `next_url`.
    OutOfTime,
    /// The next page could not be read.
    Failed,
}

impl From<BackfillBody> for BackfillRequest {
    fn from(body: BackfillBody) -> BackfillRequest {
        BackfillRequest { pages: body.pages.unwrap_or(10), wordpress: body.wordpress, from: body.from }
    }
}

impl From<BackfillReport> for BackfillView {
    fn from(report: BackfillReport) -> BackfillView {
        BackfillView {
            pages: report.pages,
            new_posts: report.posts,
            entries: report.counts,
            ended: match report.end {
                BackfillEnd::NoOlderPage => BackfillEnded::NoOlderPage,
                BackfillEnd::PageLimit => BackfillEnded::PageLimit,
                BackfillEnd::Repeated => BackfillEnded::Repeated,
                BackfillEnd::OutOfTime => BackfillEnded::OutOfTime,
                BackfillEnd::Failed(_) => BackfillEnded::Failed,
            },
            reason: report.end.to_string(),
            next_url: report.next_url,
        }
    }
}
