//! The types of source, by name. What is particular to a type is in its file in `sources/`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::UnknownName;

/// How a source is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceType {
    /// RSS, Atom, RDF or JSON Feed.
    Rss,
    /// Web page whose article is stored.
    Website,
    /// X account, read with the key of the podcast's owner.
    Twitter,
}

impl SourceType {
    /// Every type, in the order of their declaration.
    pub const ALL: [SourceType; 3] = [SourceType::Rss, SourceType::Website, SourceType::Twitter];

    /// The type of nearly all sources.
    pub const COMMON: SourceType = SourceType::Rss;

    /// The name used in configuration, database, logs and API.
    pub const fn name(self) -> &'static str {
        match self {
            SourceType::Rss => "rss",
            SourceType::Website => "website",
            SourceType::Twitter => "twitter",
        }
    }

    /// What stands in the store for the host of all sources of the type, where all are asked at one configured host:
    /// that setting may change. `None` if the host follows from the URL.
    pub const fn shared_host(self) -> Option<&'static str> {
        match self {
            SourceType::Rss | SourceType::Website => None,
            SourceType::Twitter => Some("(x)"),
        }
    }
}

impl fmt::Display for SourceType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for SourceType {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<SourceType, UnknownName> {
        UnknownName::find("type of source", name, &SourceType::ALL, SourceType::name)
    }
}
