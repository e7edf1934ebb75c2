//! What sources need to be let in, as it is taken; of what is kept, names are sent and nothing else.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::SourceAccess;

/// A login, headers or both for the requests of one source. No value of theirs is ever shown again.
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AccessBody {
    /// Headers by name, at most 16. Those of the connection, conditional ones and User-Agent are refused.
    pub headers: BTreeMap<String, String>,
    /// A name and a password (basic authentication).
    pub login: Option<LoginBody>,
}

/// A name and a password.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginBody {
    /// The name; it has no colon.
    pub name: String,
    /// Password of the login.
    pub password: String,
}

/// What is kept for a source: names only.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AccessView {
    /// The names of its headers.
    pub headers: Vec<String>,
    /// The name of its login.
    pub login: Option<String>,
    /// Where it is sent to: scheme, host and port. A source that moves elsewhere does not take it along.
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
