//! Users, podcasts and keys as they are sent and taken.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Podcast, PodcastId, Timestamp, User, UserId};

/// A user: owns podcasts, and lends the keys that their sources are read with.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct UserView {
    /// Id of the user.
    pub id: UserId,
    /// A name for people, unique.
    pub name: String,
    /// When the user was added.
    pub created_at: Timestamp,
    /// When its X key was given or last renewed; null without one. The key itself is never shown.
    pub x_key_at: Option<Timestamp>,
}

/// A user to be added, or the new name of one.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserBody {
    /// A name for people: 1 to 100 characters, not all of them digits. No two users have the same.
    pub name: String,
}

/// Filter for users.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UserQuery {
    /// Only the user with exactly this name.
    pub name: Option<String>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
    /// At most so many, 1 to 1000; 100 unless said otherwise.
    pub limit: Option<usize>,
}

/// A key to be kept.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyBody {
    /// A bearer token, or an OAuth 2.0 user token as the text of a JSON object: access_token, refresh_token, client_id and,
    /// for a confidential app, client_secret. It is never shown again.
    pub key: String,
}

/// That there is a key.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct KeyView {
    /// Provider of the key, such as x.
    pub provider: String,
    /// When it was given or last renewed.
    pub updated_at: Timestamp,
}

/// A podcast: what sources are gathered for. Its owner's keys are used.
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

/// A podcast to be added.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PodcastBody {
    /// Owner of the podcast.
    pub user_id: UserId,
    /// A name for people, 1 to 500 characters.
    pub title: String,
}

/// What is to be changed about a podcast; what is left out stays.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PodcastUpdate {
    /// Another owner: their keys are used from the next poll on.
    pub user_id: Option<UserId>,
    /// A name for people, 1 to 500 characters.
    pub title: Option<String>,
}

/// Filter for podcasts.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PodcastQuery {
    /// Only podcasts of this user.
    pub user_id: Option<UserId>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
    /// At most so many, 1 to 1000; 100 unless said otherwise.
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
