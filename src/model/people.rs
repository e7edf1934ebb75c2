//! Who sources are polled for: users, their podcasts, and the keys they lend us.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::VariantArray;

use super::{Timestamp, UnknownName};

/// Id of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct UserId(pub i64);

/// Id of a podcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PodcastId(pub i64);

/// Someone who owns podcasts and keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub id: UserId,
    /// A name for people, unique.
    pub name: String,
    /// When it was added.
    pub created_at: Timestamp,
    /// When its X key was given or last renewed; none without one.
    pub x_key_at: Option<Timestamp>,
}

/// What sources are gathered for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Podcast {
    pub id: PodcastId,
    /// Whose keys its sources use.
    pub user_id: UserId,
    /// A name for people.
    pub title: String,
    /// When it was added.
    pub created_at: Timestamp,
}

/// What is to be changed about a podcast; what is not said stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodcastChanges {
    /// Whose keys its sources use from now on.
    pub user_id: Option<UserId>,
    /// A name for people.
    pub title: Option<String>,
}

/// The service that a key opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum KeyProvider {
    /// X, for sources of type `twitter`.
    X,
}

impl KeyProvider {
    /// The name used in the database.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl FromStr for KeyProvider {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<KeyProvider, UnknownName> {
        UnknownName::find("key provider", name, KeyProvider::VARIANTS, KeyProvider::name)
    }
}

impl fmt::Display for UserId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl fmt::Display for PodcastId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}
