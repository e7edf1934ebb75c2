//! An article: what the pipeline downstream makes of posts.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PodcastId, Timestamp};

/// Id of an article.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ArticleId(pub i64);

/// An article that is about to be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewArticle {
    /// The podcast it is meant for.
    pub podcast_id: Option<PodcastId>,
    pub title: String,
    pub body: String,
    /// Where it can be read.
    pub url: Option<String>,
    /// When it was published; what is older than the age limit and unprocessed is cleaned up.
    pub published_at: Option<Timestamp>,
    /// When it is added.
    pub created_at: Timestamp,
}

/// An article as it stands in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Article {
    pub id: ArticleId,
    /// What it was made of.
    pub content: NewArticle,
    /// True once it is part of history, and so never cleaned up.
    pub is_processed: bool,
}

impl fmt::Display for ArticleId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}
