//! Wire types for users, podcasts and keys.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Podcast, PodcastId, Timestamp, User, UserId};

/// User whose X key reads the X accounts of their podcasts; feeds and websites need no user.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct UserView {
    /// Id of the user.
    pub id: UserId,
    /// Unique name.
    pub name: String,
    /// When the user was added.
    pub created_at: Timestamp,
    /// When the X key was set or last renewed; null without one. The key itself is never returned.
    pub x_key_at: Option<Timestamp>,
}

/// Name of a user to add or rename.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserBody {
    /// Unique name: 1 to 100 characters, not only digits.
    pub name: String,
}

/// Filter for users.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UserQuery {
    /// Only the user with exactly this name.
    pub name: Option<String>,
    /// `next_cursor` of the previous page.
    pub cursor: Option<String>,
    /// Maximum number of items, 1 to 1000 (default 100).
    pub limit: Option<usize>,
}

/// Key to store.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyBody {
    /// Bearer token, or OAuth 2.0 user token as the text of a JSON object: access_token, refresh_token, client_id and,
    /// for a confidential app, client_secret. Never returned.
    pub key: String,
}

/// Stored key, without its value.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct KeyView {
    /// Provider of the key, such as x.
    pub provider: String,
    /// When the key was set or last renewed.
    pub updated_at: Timestamp,
}

/// Podcast, a group of sources that are read with the X key of its owner; feeds and websites need no podcast.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PodcastView {
    /// Id of the podcast.
    pub id: PodcastId,
    /// Owner of the podcast.
    pub user_id: UserId,
    /// Title of the podcast.
    pub title: String,
    /// When the podcast was added.
    pub created_at: Timestamp,
}

/// Podcast to add.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PodcastBody {
    /// Owner of the podcast.
    pub user_id: UserId,
    /// Title, 1 to 500 characters.
    pub title: String,
}

/// Changes of a podcast; absent fields stay unchanged.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PodcastUpdate {
    /// New owner, whose keys are used from the next poll on.
    pub user_id: Option<UserId>,
    /// Title, 1 to 500 characters.
    pub title: Option<String>,
}

/// Filter for podcasts.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PodcastQuery {
    /// Only podcasts of this user.
    pub user_id: Option<UserId>,
    /// `next_cursor` of the previous page.
    pub cursor: Option<String>,
    /// Maximum number of items, 1 to 1000 (default 100).
    pub limit: Option<usize>,
}

impl From<User> for UserView {
    fn from(user: User) -> UserView {
        UserView { id: user.id, name: user.name, created_at: user.created_at, x_key_at: user.x_key_at }
    }
}

impl From<Podcast> for PodcastView {
    fn from(podcast: Podcast) -> PodcastView {
        let Podcast { id, user_id, title, created_at } = podcast;
        PodcastView { id, user_id, title, created_at }
    }
}
