//! Wire types for the dashboard.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How to open the dashboard.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DashboardBody {
    /// Port on loopback; by default any free one.
    pub port: Option<u16>,
}

/// Way into the dashboard.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DashboardLink {
    /// URL that signs a browser in, once.
    pub url: String,
    /// Seconds in which the URL can be used.
    pub valid_seconds: u64,
}
