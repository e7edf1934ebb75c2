//! Wire types for audit records.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{AuditFields, AuditRecord, Timestamp};

/// Selects audit records.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AuditQuery {
    /// Only this action, such as `source.edit`.
    pub action: Option<String>,
    /// Only changes of things of this kind, such as `source`.
    pub target: Option<String>,
    /// Only changes of the thing with this id; needs `target`.
    pub target_id: Option<String>,
    /// Only changes by this caller, such as `token:ann` or `uid:1000`.
    pub who: Option<String>,
    /// Only changes at or after this time.
    pub since: Option<Timestamp>,
    /// `next_cursor` of the previous page.
    pub cursor: Option<String>,
    /// Maximum number of items, 1 to 1000 (default 100).
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<usize>,
}

/// Change that a user or program made.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AuditView {
    /// Id of the record; later records have larger ids.
    pub id: i64,
    /// Time of the change.
    pub at: Timestamp,
    /// Caller: `token:SUBJECT` over TCP, `uid:NUMBER` over the admin socket or for a command, `signal:SIGHUP`.
    pub who: String,
    /// Name of the system's user with this uid.
    pub user_name: Option<String>,
    /// IP address of a client over TCP.
    pub address: Option<String>,
    /// Node that made the change, in a fleet.
    pub node: Option<String>,
    /// What was done, such as `source.edit`.
    pub action: String,
    /// Kind of the changed thing, such as `source`.
    pub target: String,
    /// Id of the changed thing, or its name if it has none; null for the daemon as a whole.
    pub target_id: Option<String>,
    /// Name of the changed thing at that time, such as the URL of a source without credentials.
    pub target_name: Option<String>,
    /// Changed fields with their values before the change.
    pub before: AuditFields,
    /// Changed fields with their values after the change; a secret is `changed`.
    pub after: AuditFields,
}

impl From<AuditRecord> for AuditView {
    fn from(record: AuditRecord) -> AuditView {
        AuditView {
            id: record.id,
            at: record.at,
            who: record.actor.who,
            user_name: record.actor.user_name,
            address: record.actor.address,
            node: record.node,
            action: record.action,
            target: record.target,
            target_id: record.target_id,
            target_name: record.target_name,
            before: record.before,
            after: record.after,
        }
    }
}
