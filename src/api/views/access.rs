//! Login and headers of sources: values are accepted, only names are returned.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::SourceAccess;

/// Login, headers or both for the requests of a source. Values are never returned.
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AccessBody {
    /// Headers by name, at most 16. Connection and conditional headers and User-Agent are rejected.
    pub headers: BTreeMap<String, String>,
    /// Login for HTTP basic authentication.
    pub login: Option<LoginBody>,
}

/// Login for HTTP basic authentication.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginBody {
    /// Name, without a colon.
    pub name: String,
    /// Password of the login.
    pub password: String,
}

/// Names of the login and headers stored for a source.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AccessView {
    /// Names of the headers.
    pub headers: Vec<String>,
    /// Name of the login.
    pub login: Option<String>,
    /// The only origin (scheme, host and port) that they are sent to, even if the URL of the source changes.
    pub origin: Option<String>,
}

impl fmt::Debug for AccessBody {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AccessBody(…)")
    }
}

impl From<AccessBody> for SourceAccess {
    fn from(body: AccessBody) -> SourceAccess {
        SourceAccess {
            headers: body.headers.into_iter().map(|(name, value)| (name, value.into())).collect(),
            login: body.login.map(|login| (login.name, login.password.into())),
            origin: None,
        }
    }
}

impl From<SourceAccess> for AccessView {
    fn from(access: SourceAccess) -> AccessView {
        AccessView {
            headers: access.headers.into_iter().map(|(name, _)| name).collect(),
            login: access.login.map(|(name, _)| name),
            origin: access.origin,
        }
    }
}
